#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# A link that loses, duplicates and reorders packets, from the first one of a
# connection on: TCP repairs that, MPA notices nothing, and retransmitted segments
# begin with FPDUs as before. On a good link: as few segments as possible.
# lab run --no-kmemleak
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/lists.sh"

# fault NAME NETEM...: applies to what h1 sends, not to the other direction.
fault() {
	local name=$1 size
	shift
	lab_in h1 tc qdisc replace dev eth0 root netem "$@"
	traffic_label=$name
	capture_start "$name" h2
	for size in 64 4096 65535; do
		rping_pair h1 h2 "$size" 10
	done
	# Sends: perftest's server may exit before the last Write is retransmitted.
	perf_pair h1 h2 ib_send_bw 65536 20
	capture_check "$name" --aligned --unaligned 25 --connections 5
	lab_in h1 tc qdisc del dev eth0 root
}

# tcp_count NAME: a counter of both hosts' TCP.
tcp_count() {
	local host
	for host in h1 h2; do
		ip netns exec "$host" nstat -asz "$1"
	done | awk -v name="$1" '$1 == name { n += $2 } END { print n + 0 }'
}

retransmitted() {
	tcp_count TcpRetransSegs
}

lab_devices 2
capture_real_segments h1 h2

# Segments of 1448 bytes; at most 28 for SACK, 14 for DDP and 6 for MPA are not
# payload. 40 are for perftest's other messages.
before=$(lab_counter mpa1 tx_segments)
perf_pair h1 h2 ib_write_bw 65536 20
after=$(lab_counter mpa1 tx_segments)
lab_true "messages are cut into as few segments as possible" \
	"$after - $before <= 20 * ((65536 + 1399) / 1400) + 40"

before=$(retransmitted)
fault loss loss 3%
lab_true "loss: TCP has retransmitted" "$(retransmitted) > $before"
before=$(tcp_count TcpExtTCPOFOQueue)
fault reorder delay 4ms reorder 30% 50%
lab_true "reorder: segments overtook others" "$(tcp_count TcpExtTCPOFOQueue) > $before"
before=$(tcp_count TcpExtTCPDSACKOldSent)
fault duplicate duplicate 10%
lab_true "duplicate: segments came twice" "$(tcp_count TcpExtTCPDSACKOldSent) > $before"
