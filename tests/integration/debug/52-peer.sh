#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# A peer on plain TCP that violates the protocol in each way of the tables in
# tests/peer, against the RNIC as Responder and as Initiator: the outcome on the
# wire, that good connections are served afterwards, and the counters.
#
#	+---------h1---------+        +--------h2--------+
#	| mpa-peer           |--------| rnic-target, mpa2|
#	+--------------------+        +------------------+
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/capture.sh"
. "$MPA_REPO/tests/integration/lib/settings.sh"
. "$MPA_REPO/tests/integration/lib/counters.sh"
. "$MPA_REPO/tests/integration/lib/objects.sh"
. "$MPA_REPO/tests/integration/lib/target.sh"

peer_program=$MPA_REPO/build/bin/mpa-peer
target_program=$MPA_REPO/build/bin/rnic-target
target_port=7600
control_port=7601

# Runs the peer. Its output is shown, since it contains result lines; its last line
# has the expected counters of the device. The peer's results have a separate plan.
peer_run() {
	local label=$1 status=0
	shift
	echo "+ [h1] mpa-peer run $*"
	ip netns exec h1 "$peer_program" run --target "10.77.0.2:$target_port" \
		--control "10.77.0.2:$control_port" --here 10.77.0.1 "$@" \
		| tee "$LAB_OUT/peer-$label.log" || status=$?
	lab_true "$label: every case ends as it must" "status == 0"
}

# peer_counted LABEL: refusals and errors are counted exactly, the rest at least.
peer_counted() {
	local word words=()
	for word in $(sed -n 's/^# counted//p' "$LAB_OUT/peer-$1.log"); do
		case " ${counters_bad[*]} conn_rejected conn_fallback " in
		*" ${word%%=*} "*) words+=("$word") ;;
		*) words+=("${word/=/>=}") ;;
		esac
	done
	counters_grew "of the cases as $1" mpa2 "${words[@]}"
}

# Hosts are namespaces, so a program that connects to the target must be in one.
target_is_well() {
	lab_check "$1: the target has no complaint" \
		target_answers "$control_port" "ok *"
	lab_check "$1: the target runs" lab_running target
}

lab_hosts 2
lab_link h2
lab_spawn target h2 "$target_program" 10.77.0.2 "$target_port" "$control_port"
lab_wait_listen h2 "$control_port" 60
target_complaints_arrive "$control_port"

# Cases run by hand: a role, and patterns.
if (($#)); then
	counters_mark
	peer_run "$1" --role "$@"
	peer_counted "$1"
	target_is_well "$1"
	exit
fi

counters_mark
peer_run initiator --role initiator --jobs 24 \
	'request/*' 'fpdu/*' 'ddp/*' 'rdmap/*' 'windows/*' 'extensions/*'
peer_counted initiator
target_is_well "initiator"

# Long enough to have as many half-open connections at a time as the case needs.
device_set startup-timeout 20s mpa2
counters_mark
peer_run half-open --role initiator 'flood/*'
peer_counted half-open
device_set startup-timeout 5s mpa2
target_is_well "half-open"

counters_mark
# In full operation both roles are alike: a selection is enough.
peer_run responder --role responder --jobs 24 'reply/*' 'fpdu/c*' \
	'fpdu/length-*' 'ddp/*version*' 'ddp/write-*' 'rdmap/response-*'
peer_counted responder
target_is_well "responder"

# It is not known which counters random bytes increase.
peer_run fuzz --role initiator 'fuzz/*'

markers_ask on mpa2
counters_mark
peer_run markers --role initiator --markers
peer_counted markers
markers_ask off mpa2
target_is_well "markers"

lab_kill target
objects_gone "after the target has ended"
sockets_gone "after the target has ended" h1 h2
