#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# TCP is short of memory (net.ipv4.tcp_mem): many connections hold parts of FPDUs, of
# applications' sockets and on an RNIC. All of that memory is charged, and the
# connections complete; afterwards nothing is left charged.
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/lists.sh"
. "$MPA_REPO/tests/integration/lib/socket.sh"

# Pages that TCP has charged to its sockets, except for the processors' caches.
tcp_pages() {
	sed -n 's/^TCP: .* mem //p' /proc/net/sockstat
}

# set_limits PAGES: the low, the pressure and the hard limit.
set_limits() {
	sysctl -qw net.ipv4.tcp_mem="$1"
	lab_is "tcp_mem" "$(sysctl -n net.ipv4.tcp_mem | tr '\t' ' ')" "$1"
}

lab_devices 2
limits=$(sysctl -n net.ipv4.tcp_mem | tr '\t' ' ')
socket_cases 'pressure:*'

# No connection fails because of the hard limit: TCP lets each have a little.
set_limits "20 40 80"
for size in 64 65535; do
	rping_pair h1 h2 "$size" 10
done
perf_pair h1 h2 ib_write_bw 65536 50
perf_pair h1 h2 ib_send_bw 4096 50
perf_pair h1 h2 ib_read_bw 65536 20
set_limits "$limits"
lab_true "little is left charged: $(tcp_pages) pages" "$(tcp_pages) < 400"
