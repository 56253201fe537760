# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
# shellcheck shell=bash
#
# bash: what `mpactl complete` offers; it knows the names that are there.

_mpactl() {
	local line
	COMPREPLY=()
	while IFS= read -r line; do
		case $line in
		:files)
			compopt -o filenames 2> /dev/null
			mapfile -t COMPREPLY < <(compgen -f -- "$2")
			;;
		:hosts) mapfile -t COMPREPLY < <(compgen -A hostname -- "$2") ;;
		*) COMPREPLY+=("${line%%$'\t'*}") ;;
		esac
	done < <("$1" complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2> /dev/null)
}

complete -F _mpactl mpactl
