# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Commands that no provider sends.

# uverbs_input HOST DEVICE: the cases of uverbs_input.py, a result each.
uverbs_input() {
	local status=0 word name
	lab_spawn input "$1" "$PYTHON" -u \
		"$MPA_REPO/tests/integration/lib/uverbs_input.py" "$2"
	lab_join input 120 || status=$?
	while read -r word name; do
		case $word in
		good) lab_ok "$name" ;;
		bad) lab_not_ok "$name" ;;
		*) lab_note "$word $name" ;;
		esac
	done < "$LAB_OUT/input.log"
	lab_is "the program comes to its end" "$status" 0
}
