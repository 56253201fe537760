#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Connections are made and refused as RFC 5044 section 7.1 and RFC 6581 say,
# octet by octet, and end so that each side hears of it once: with a peer of
# plain TCP that knows the frames, and between two devices of ours. Arguments
# choose cases by the beginning of their names.
#
#	+----h1----+ 10.77.0.0/24  +----h2----+
#	|     mpa1 |---------------| mpa2     |
#	|          | 10.78.0.0/24  |          |
#	|     eth1 |---------------| mpa3     |
#	+----------+               +----------+
. "$MPA_REPO/tests/lab/guest/lib.sh"

cases=$MPA_REPO/tests/integration/cm_cases.py

run() {
	local name
	for name in $("$PYTHON" "$cases" --list "$1"); do
		lab_check "$name" timeout 150 "$PYTHON" "$cases" "$name"
	done
}

second_link() {
	local n
	lab_do ip link add eth1 netns h1 type veth peer name eth1 netns h2
	for n in 1 2; do
		lab_ip "h$n" <<- END
			addr add 10.78.0.$n/24 dev eth1
			addr add fd78::$n/64 dev eth1 nodad
			link set eth1 up
		END
	done
	lab_wait 20 lab_reachable h1 10.78.0.2 fd78::2
}

[[ -d /sys/kernel/debug/tracing ]] || lab_do mount -t debugfs none /sys/kernel/debug
lab_devices 2

if (($#)); then
	[[ $* != *pair* ]] || { second_link; lab_link h1 mpa mpa4 eth1; lab_link h2 mpa mpa3 eth1; }
	for prefix in "$@"; do
		run "$prefix"
	done
	exit
fi

run responder
run initiator
run both
second_link
lab_link h1 mpa mpa4 eth1
lab_link h2 mpa mpa3 eth1
run pair
run gone
