#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The peer of 52-peer against the socket interface, as Responder and as
# Initiator, without Markers and with: the outcome on the wire, the errors that the
# application gets, and that good connections are served afterwards. Module mpa
# alone, no RDMA device.
#
#	+---------h1---------+        +---------h2---------+
#	| mpa-peer           |--------| socket-target, two |
#	+--------------------+        +--------------------+
# lab run --no-kmemleak
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/objects.sh"
. "$MPA_REPO/tests/integration/lib/target.sh"

peer_program=$MPA_REPO/build/bin/mpa-peer
target_program=$MPA_REPO/build/bin/socket-target

# Ports of a target: for connections, and for commands.
declare -A target_port=([plain]=7600 [markers]=7610)
declare -A control_port=([plain]=7601 [markers]=7611)

# target_start NAME [OPTION...]
target_start() {
	local name=$1
	shift
	lab_spawn "$name" h2 "$target_program" "$@" 10.77.0.2 \
		"${target_port[$name]}" "${control_port[$name]}"
	lab_wait_listen h2 "${control_port[$name]}" 60
	target_complaints_arrive "${control_port[$name]}"
}

# peer_run TARGET LABEL ROLE [OPTION|GLOB...]: the peer's output is shown; its
# results have a separate plan.
peer_run() {
	local target=$1 label=$2 role=$3 status=0
	shift 3
	echo "+ [h1] mpa-peer run --kind socket --role $role $*"
	ip netns exec h1 "$peer_program" run --kind socket --role "$role" \
		--target "10.77.0.2:${target_port[$target]}" \
		--control "10.77.0.2:${control_port[$target]}" \
		--here 10.77.0.1 --jobs 32 "$@" \
		| tee "$LAB_OUT/peer-$label.log" || status=$?
	lab_true "$label: every case ends as it must" "status == 0"
	target_is_well "$target" "$label"
}

# A connection may end a little later for the application than on the wire.
target_is_well() {
	lab_check "$2: the target has no connection left, and no complaint" \
		target_at_rest "${control_port[$1]}" 60
	lab_check "$2: the target runs" lab_running "$1"
}

lab_hosts 2
lab_do modprobe mpa
target_start plain
target_start markers --markers

# Cases run by hand: a role, and patterns.
if (($#)); then
	peer_run plain "$1" "$@"
	exit
fi

peer_run plain initiator initiator
peer_run markers initiator-markers initiator --markers
# In full operation both roles are alike: a selection is enough.
peer_run plain responder responder 'reply/*' 'fpdu/c*' 'fpdu/length-*' \
	'fpdu/ulpdu*'
peer_run markers responder-markers responder --markers 'marker/[mr]*'

lab_kill plain
lab_kill markers
sockets_gone "after the targets have ended" h1 h2
lab_check "the module is unused" \
	lab_wait 15 lab_gone lab_module_users mpa
