#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# A peer on plain TCP whose streams are made, changed and divided at random, against the RNIC
# and against MPA sockets (tests/peer/random_peer.cpp). Arguments: seconds for each, and more
# options of random-peer. In the configuration random, guided by the blocks of the modules that
# streams reach.
#
#	+---------h1---------+        +-----------h2-----------+
#	| random-peer        |--------| rnic-target, mpa2      |
#	|                    |        | socket-target          |
#	+--------------------+        +------------------------+
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/settings.sh"
. "$MPA_REPO/tests/integration/lib/objects.sh"
. "$MPA_REPO/tests/integration/lib/peer.sh"

seconds=${1:-15}
shift || true

# random_peer KIND OPTION...: what it prints is in $LAB_OUT/KIND.log, the last stream of a guest
# that stops in KIND.stream.
random_peer() {
	local kind=$1 status=0
	shift
	ip netns exec h1 "$MPA_REPO/build/bin/random-peer" --kind "$kind" \
		--target "10.77.0.2:$target_port" --control "10.77.0.2:$control_port" \
		--seconds "$seconds" --log "$LAB_OUT/$kind.stream" \
		--reached "$LAB_OUT/$kind.reached" "$@" > "$LAB_OUT/$kind.log" 2>&1 || status=$?
	lab_show "$LAB_OUT/$kind.log" "$kind: "
	lab_is "$kind: each stream ends as it must, no other memory has changed" "$status" 0
	lab_check "$kind: there were streams that ended by an error" \
		grep -q ' [1-9][0-9]* ended by' "$LAB_OUT/$kind.log"
}

lab_hosts 2
lab_link h2
device_set startup-timeout 5s mpa2
peer_target_start
random_peer rnic "$@"
lab_kill target
objects_gone "after the RNIC's target has ended"
sockets_gone "after the RNIC's target has ended" h1 h2

target_program=$MPA_REPO/build/bin/socket-target
peer_target_start
random_peer socket "$@"
lab_kill target
sockets_gone "after the target with sockets has ended" h1 h2
