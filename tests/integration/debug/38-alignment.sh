#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# With Markers every segment begins with an FPDU: over a good link, one that loses or
# reorders, into a small window and with messages of mixed sizes, whether TCP or the
# device cuts what is sent. check_capture.py prints the share.
#
# h1 sends. TCP makes packets of several segments in any case, and without TSO
# the kernel cuts them for the device. With it they would go through veth as
# they are: tbf, with room for one segment only, cuts them as a device does, and
# netem behind it has real segments to lose. TCP's packets are counted before that.
# lab run --no-kmemleak
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/lists.sh"

# Of 1500 bytes, 20 each for IP and TCP and 12 for timestamps.
mss=1448
# Three segments and a bit: the edge is never at the end of a segment.
small_window=5000

# Every packet longer than a segment passes a filter that counts it.
count_large() {
	lab_in h1 tc qdisc add dev eth0 clsact
	lab_in h1 tc filter add dev eth0 egress protocol ip basic \
		match 'cmp(u16 at 2 layer 1 gt 1500)' action ok
}

# large: prints how many there have been so far.
large() {
	ip netns exec h1 tc -s filter show dev eth0 egress |
		awk '$1 == "Sent" { print $4 }'
}

# wire NETEM...: cuts the packets that h1 sends, and applies NETEM to them.
wire() {
	lab_in h1 tc qdisc replace dev eth0 root handle 1: \
		tbf rate 1gbit burst 1520 limit 10m
	(($# == 0)) ||
		lab_in h1 tc qdisc replace dev eth0 parent 1:1 \
			netem limit 10000 "$@"
}

retransmitted() {
	ip netns exec h1 nstat -asz TcpRetransSegs | awk '/TcpRetrans/ { print $2 }'
}

# Neither tcp_rmem nor a route's window makes the window small: an MPA socket gets a
# receive buffer for the longest FPDU, and received data is placed at once. So a
# middlebox rewrites the window of every segment, SYN included; without scaling the
# field is in bytes.
shrink_window() {
	lab_in h2 sysctl -q -w net.ipv4.tcp_window_scaling=0
	lab_in h2 tc qdisc add dev eth0 clsact
	lab_in h2 tc filter add dev eth0 egress protocol ip u32 \
		match ip protocol 6 0xff \
		action pedit munge offset 34 u16 set "$small_window" pipe \
		action csum tcp
}

restore_window() {
	lab_in h2 tc qdisc del dev eth0 clsact
	lab_in h2 sysctl -q -w net.ipv4.tcp_window_scaling=1
}

# align_run NAME TRAFFIC [OPTION...]: OPTIONs are those of check_capture.py.
align_run() {
	traffic_label=$1
	capture_start "$1" h2
	"$2"
	capture_check "$1" --aligned --markers-from both --mss "$mss" "${@:3}"
}

# Segments of full size, and after each message a Send of 16 bytes.
long_messages() {
	rping_pair h1 h2 65535 10
}

# Of any size, and short enough that several FPDUs fit into a segment.
mixed_messages() {
	rping_pair h1 h2 333 5
	rping_pair h1 h2 30001 5
	perf_pair h1 h2 ib_send_bw 200 300 -b
}

# In both directions at once, so that SACK options take room from data.
both_ways() {
	rping_pair h1 h2 65535 20
	perf_pair h1 h2 ib_send_bw 3001 200 -b
}

# Without fast paths each packet is of one segment in any case.
large_expected() {
	lab_slow_paths || lab_true "$1" "$(large) > $2"
}

# all_runs PREFIX
all_runs() {
	local before cut
	wire
	cut=$(large)
	align_run "$1-clean" long_messages
	large_expected "$1: TCP has made packets that must be cut" "$cut"
	align_run "$1-mixed" mixed_messages --connections 4
	shrink_window
	align_run "$1-small-window" long_messages --window "$small_window"
	restore_window
	before=$(retransmitted)
	cut=$(large)
	wire loss 1%
	align_run "$1-loss" both_ways --connections 3 --behind 1
	lab_true "$1-loss: TCP has retransmitted" \
		"$(retransmitted) > $before"
	wire delay 2ms reorder 30% 50%
	align_run "$1-reorder" both_ways --connections 3 --behind 10
	large_expected "$1: and on a bad link too" "$cut"
	lab_in h1 tc qdisc del dev eth0 root
}

lab_devices 2
capture_real_segments h1 h2
markers_ask on mpa1 mpa2
count_large
all_runs gso
lab_in h1 ethtool -K eth0 gso on tso on
all_runs tso
