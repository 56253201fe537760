#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The startup exchange of draft-culley-iwarp-mpa-03, by Start Keys: sockets, queue pairs,
# and an implementation written from the draft; with loss from the first byte on, and as
# tshark sees it. Arguments choose cases of sockets and queue pairs by patterns of their
# names.
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/lists.sh"
. "$MPA_REPO/tests/integration/lib/objects.sh"
. "$MPA_REPO/tests/integration/lib/peer.sh"
. "$MPA_REPO/tests/integration/lib/socket.sh"

elder=$MPA_REPO/tests/integration/lib/elder.py
ulpdus=40

cases() {
	socket_cases "$@"
	lab_check "queue pairs" ip netns exec h1 "$MPA_REPO/build/bin/verbs_test" "$@"
}

# elder_passive LABEL OPTIONS OF_THE_SERVER: it connects to a server of ours.
elder_passive() {
	local -a ours theirs
	read -ra theirs <<< "$2"
	read -ra ours <<< "$3"
	lab_spawn server h2 "$socket_bin/mpa-echo" --server --start-key "${ours[@]}" 7000
	lab_check "the server listens" lab_wait_listen h2 7000
	lab_check "startkey: another implementation, Passive, $1" \
		ip netns exec h1 "$PYTHON" "$elder" passive 10.77.0.2 7000 "$ulpdus" \
		"${theirs[@]}"
	lab_check "an Initiator with frames at the same server, $1" \
		ip netns exec h1 "$socket_bin/mpa-echo" --client 10.77.0.2 7000
	lab_kill server
}

# elder_active LABEL OPTIONS OF_THE_CLIENT: a client of ours connects to it.
elder_active() {
	local -a ours theirs
	read -ra theirs <<< "$2"
	read -ra ours <<< "$3"
	lab_spawn elder h2 "$PYTHON" "$elder" active 7001 "$ulpdus" "${theirs[@]}"
	lab_check "it listens" lab_wait_listen h2 7001
	lab_check "startkey: another implementation, Active, $1" \
		ip netns exec h1 "$socket_bin/mpa-echo" --client --start-key --commands \
		"${ours[@]}" 10.77.0.2 7001 <<< "connect $ulpdus"
	lab_check "and it has seen all, $1" lab_join elder 60
}

elder_ends() {
	elder_passive "CRC" "" ""
	elder_passive "Markers in both directions" --markers --markers
	elder_passive "Markers for it" --markers ""
	elder_active "CRC" "" ""
	elder_active "Markers in both directions" --markers --markers
	elder_active "Markers for us" "" --markers
}

# wire NAME OPTION...: traffic of queue pairs in a capture.
wire() {
	local tool
	traffic_label=$1
	capture_start "$1" h2
	rping_pair h1 h2 4096 5
	for tool in ib_write_bw ib_read_bw ib_send_bw; do
		perf_pair h1 h2 "$tool" 65536 5
	done
	capture_check "$1" --start-keys --version 0 --aligned --connections 7 "${@:2}"
}

# The peer that violates the protocol, at a listener of both kinds. It makes good
# connections with frames in between.
violations() {
	lab_spawn target h2 "$target_program" 10.77.0.2 "$target_port" "$control_port"
	lab_wait_listen h2 "$control_port" 60
	device_set startup either mpa2
	counters_mark
	peer_run either --role initiator --jobs 24 'startkey/*' 'request/key-*'
	peer_counted either
	peer_target_is_well "Start Keys"
	lab_kill target
	device_set startup inherit mpa2
}

# Both ways, from TCP's handshake on.
lossy() {
	local host
	for host in h1 h2; do
		lab_in "$host" tc qdisc add dev eth0 root netem loss 2% delay 1ms reorder 30%
	done
	socket_cases 'startkey: a[tfl]*' 'startkey: the l*' 'startkey: the e*'
	lab_check "queue pairs, with loss" ip netns exec h1 \
		"$MPA_REPO/build/bin/verbs_test" 'startkey: queue pairs'
	for host in h1 h2; do
		lab_in "$host" tc qdisc del dev eth0 root
	done
}

lab_devices 2
if (($#)); then
	cases "$@"
	exit
fi
cases 'startkey:*'
elder_ends
violations
capture_real_segments h1 h2
device_set startup start-key mpa1
device_set startup start-key mpa2
wire startkey-plain --markers-from none
device_set markers on mpa2
wire startkey-markers --markers-from initiator
device_set markers on mpa1
wire startkey-both --markers-from both
lab_do ip netns exec h1 "$socket_bin/mpactl" set dev mpa1 startup inherit markers inherit
lab_do ip netns exec h2 "$socket_bin/mpactl" set dev mpa2 startup inherit markers inherit
lossy
objects_gone "at the end"
