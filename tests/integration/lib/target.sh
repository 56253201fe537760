# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Commands for a target of mpa-peer on h2 (tests/peer/control.hpp).

# target_ask PORT COMMAND...: prints the answer to the last command, a line.
target_ask() {
	# shellcheck disable=SC2016 # expanded in h1
	ip netns exec h1 bash -c 'exec 3<> "/dev/tcp/10.77.0.2/$1"
		printf "%s\n" "${@:2}" >&3
		read -r -t 20 line <&3
		echo "$line"' - "$@"
}

# target_answers PORT PATTERN: whether the answer to a check matches.
target_answers() {
	local line
	line=$(target_ask "$1" check)
	echo "target: $line"
	# shellcheck disable=SC2053 # a pattern
	[[ $line == $2 ]]
}

# target_at_rest PORT SECONDS: whether it has no complaint, and has no connection open within
# that time. What is only found when a connection ends is among the complaints then. A check
# clears them, so none may follow one that has any.
target_at_rest() {
	local line limit=$((SECONDS + $2))
	while line=$(target_ask "$1" check) &&
		[[ $line == "ok "* && $line != "ok 0 open" ]] && ((SECONDS < limit)); do
		lab_tick
	done
	echo "target: $line"
	[[ $line == "ok 0 open" ]]
}

# Complaints of a target must arrive, otherwise "ok" would mean nothing.
target_complaints_arrive() {
	lab_is "a complaint of the target arrives" \
		"$(target_ask "$1" "complain planted" check)" "bad planted;"
	lab_check "and is cleared then" target_answers "$1" "ok 0 open"
}
