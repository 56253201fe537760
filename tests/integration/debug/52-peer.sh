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
. "$MPA_REPO/tests/integration/lib/objects.sh"
. "$MPA_REPO/tests/integration/lib/peer.sh"

lab_hosts 2
lab_link h2
peer_target_start

# Cases run by hand: a role, and patterns.
if (($#)); then
	counters_mark
	peer_run "$1" --role "$@"
	peer_counted "$1"
	peer_target_is_well "$1"
	exit
fi

faults=/sys/kernel/tracing/events/mpa_rnic/rnic_fault/enable
echo 1 > $faults
counters_mark
peer_run initiator --role initiator --jobs 24 \
	'request/*' 'fpdu/*' 'ddp/*' 'rdmap/*' 'windows/*' 'extensions/*'
peer_counted initiator
echo 0 > $faults
cat /sys/kernel/tracing/trace > "$LAB_OUT/faults"
for fault in 'local fault=1/1/01: tagged buffer: out of bounds' \
	'local fault=2/0/02: CRC mismatch'; do
	lab_check "the trace has: $fault" grep -q "$fault" "$LAB_OUT/faults"
done
peer_terminates_traced "$LAB_OUT/faults"
peer_target_is_well "initiator"

# Long enough to have as many half-open connections at a time as the case needs.
device_set startup-timeout 20s mpa2
counters_mark
peer_run half-open --role initiator 'flood/*'
peer_counted half-open
device_set startup-timeout 5s mpa2
peer_target_is_well "half-open"

counters_mark
# In full operation both roles are alike: a selection is enough.
peer_run responder --role responder --jobs 24 'reply/*' 'fpdu/c*' \
	'fpdu/length-*' 'ddp/*version*' 'ddp/write-*' 'rdmap/response-*'
peer_counted responder
peer_target_is_well "responder"

# Which counters these increase is a race.
peer_run race --role initiator 'race/*'

markers_ask on mpa2
counters_mark
peer_run markers --role initiator --markers 'marker/*' 'ddp/*'
peer_counted markers
markers_ask off mpa2
peer_target_is_well "markers"

lab_kill target
objects_gone "after the target has ended"
sockets_gone "after the target has ended" h1 h2
