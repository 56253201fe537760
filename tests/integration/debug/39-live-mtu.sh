#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The path MTU changes back and forth under connections that have more queued than
# sent, for sockets and for devices: by the network device, by a route, and by a
# router that reports it with ICMP; and a peer that accepts short segments only.
# Every ULPDU that was accepted arrives, the MULPDU follows, and segments begin with
# FPDUs again. Arguments choose cases by the beginning of their names.
#
#	+--------h1---------+  10.77.0.0/24, fd77::/64  +---------h2--------+
#	| mpa1         eth0 |---------------------------| eth0         mpa2 |
#	|                   |                           |                   |
#	| mpa3         eth1 |------[near r far]---------| eth1         mpa4 |
#	+-------------------+ 10.79.1.0/24 10.79.2.0/24 +-------------------+
# lab run --no-kmemleak
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/cases.sh"

# whole_segments HOST NETDEV...: captures show the segments that TCP has cut.
whole_segments() {
	local netdev
	for netdev in "${@:2}"; do
		lab_in "$1" ethtool -K "$netdev" tso off gso off gro off
	done
}

lab_devices 2
lab_router
lab_link h1 mpa mpa3 eth1
lab_link h2 mpa mpa4 eth1
whole_segments h1 eth0 eth1
whole_segments h2 eth0 eth1
whole_segments r near far
cases_open "$MPA_REPO/tests/integration/mtu_cases.py" 400
(($#)) || set -- sockets rnic
for prefix in "$@"; do
	cases_run "$prefix"
done
