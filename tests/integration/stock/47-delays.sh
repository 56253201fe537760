#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What a delay costs, of draft-elzur-iwarp-mpa-tcp-analysis-00: round trips of slow start
# with and without packing (section 6), and TCP's buffer of bandwidth times delay (section
# 7). A round trip of 100 ms must be longer than it takes to send what is in flight, which
# the debug configuration's kernel is too slow for; here time counts instructions.
# Arguments choose parts: start, buffer.
# lab run --icount --smp 1
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/packing.sh"

# --- slow start -------------------------------------------------------------------------

# Through the router, so that the capture at h1 has the order in which it sends and receives.
# A round trip takes longer than sending as many packets as are ever in flight.
start_part() {
	lab_link h1 mpa far1 eth1
	lab_link h2 mpa far2 eth1
	mpactl_in h1 set dev far1 peer-to-peer off
	lab_spawn writes h2 "$bin/writes" server "$address" 7600
	lab_wait_listen h2 7600
	packing_begin start eth1 h1
	writes_run packed write 1 6000
	both h1 segments lone
	writes_run lone write 1 6000
	both h1 segments inherit
	capture_end start
	lab_kill writes
	look start packed 1460
	row "ELZ-6-7: 4 flights, packed" "slow start suffers without packing" \
		"100 segments, 4 flights" \
		"${figure[segments]} segments, ${figure[flights]} flights"
	look start lone 1460
	row "ELZ-6-7: 10 flights, lone" "slow start suffers without packing" \
		"6000 segments, 10 flights" \
		"${figure[segments]} segments, ${figure[flights]} flights"
}

# --- TCP's buffer -----------------------------------------------------------------------

# buffer_row MBITS NAME BYTES LEAST MOST: the receiver's window has so many bytes, a share
# of bandwidth times delay; how much of the link's payload arrives then, 1460 bytes of 1514.
# A few packets less than the window are on their way: those that the receiver has not
# acknowledged yet. This matters where the window has few.
buffer_row() {
	local payload got
	payload=$(($1 * 125000 * 1460 / 1514))
	lab_spawn rate h2 "$PYTHON" "$packing" rate 7605 "$3" 2.5 2
	lab_wait_listen h2 7605
	lab_check "ELZ-7-1: $1 Mbit/s, a window of $3 bytes" ip netns exec h1 \
		"$PYTHON" "$packing" bulk "$address" 7605
	lab_join rate 60
	got=$(awk -v payload="$payload" '{ printf "%.3f", $1 / payload }' "$LAB_OUT/rate.log")
	row_within "$2 at $1 Mbit/s" "K * bandwidth * delay" "$4" "$5" "$got"
}

# The draft's links, a hundred times slower: 1 Gbit/s and 10 Gbit/s.
buffer_part() {
	local mbits product
	for mbits in 10 100; do
		product=$((mbits * 1000000 / 8 / 10))
		lab_in r tc qdisc change dev far root netem delay 50ms rate "${mbits}mbit" \
			limit 100000
		buffer_row "$mbits" "ELZ-7-1: half of the buffer" $((product / 2)) 0.46 0.53
		buffer_row "$mbits" "ELZ-7-1: the buffer" "$product" 0.93 1.01
		buffer_row "$mbits" "ELZ-7-1: twice the buffer" $((product * 2)) 0.98 1.01
	done
}

# --- all -----------------------------------------------------------------------------------

lab_hosts 2
lab_router
for host in h1 h2; do
	lab_in "$host" ethtool -K eth1 tso off gso off gro off
	lab_in "$host" sysctl -q -w net.ipv4.tcp_congestion_control=reno \
		net.ipv4.tcp_no_metrics_save=1
	# What limits the sender is not its own memory.
	lab_in "$host" sysctl -q -w "net.ipv4.tcp_wmem=4096 33554432 33554432"
done
for netdev in near far; do
	lab_in r ethtool -K "$netdev" tso off gso off gro off
	lab_in r tc qdisc add dev "$netdev" root netem delay 50ms limit 100000
done
address=10.79.2.2
tcp_options 0
for part in "${@:-start buffer}"; do
	for one in $part; do
		"${one}_part"
	done
done
