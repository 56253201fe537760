#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The kernel's own soft RNIC as the other end, with mpa as Initiator and as
# Responder. It asks for no CRC itself, but uses CRCs if mpa does: the captures show
# that.
#
# siw of 6.1 takes a socket's callback lock in one place without turning off
# softirqs. lockdep reports that, once; a check below makes sure that the report is
# about siw. Other scripts look for leaks.
# lab run --no-kmemleak --expect 'WARNING: inconsistent lock state'
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/lists.sh"
. "$MPA_REPO/tests/integration/lib/probe.sh"

# Each packet is captured, and taken apart afterwards.
list_pings=5
list_iterations=5

# siw has no counters; the programs' own checks must show what arrived.
mixed_counted() {
	counters_grew "$1" mpa1 conn_fallback=0
}

# mixed_ping CLIENT SERVER SIZE: rping prints each ping that came back, verified.
mixed_ping() {
	local address label="rping $1 to $2 size $3"
	address=$(traffic_address "$2")
	counters_mark
	traffic_pair "$label" 7174 "$1" "$2" \
		-- rping -s -a "$address" -V -S "$3" -C "$list_pings" \
		-- rping -c -a "$address" -v -V -S "$3" -C "$list_pings" || return 0
	lab_check "$label: client's words" rping_good client
	lab_check "$label: server's words" rping_good server
	lab_is "$label: every ping came back" \
		"$(grep -c '^ping data: ' "$LAB_OUT/client.log")" "$list_pings"
	mixed_counted "of $label"
}

# mixed_stream CLIENT SERVER: rsockets, that is Sends and Writes, in both directions.
mixed_stream() {
	local label="rstream $1 to $2" address
	address=$(traffic_address "$2")
	counters_mark
	traffic_pair "$label" 7471 "$1" "$2" \
		-- rstream -b "$address" -S 65536 -C 4 -I 2 -T v -T b \
		-- rstream -s "$address" -S 65536 -C 4 -I 2 -T v -T b || return 0
	lab_check "$label: client's words" log_lacks client 'failed|rror'
	lab_check "$label: server's words" log_lacks server 'failed|rror'
	mixed_counted "of $label"
}

# mixed_perf CLIENT SERVER TOOL: perftest listens on any address, that is on every
# device it can use, which is both. siw takes its port in the server's namespace, mpa
# in the device's: the server must not be on the host of the mpa device.
mixed_perf() {
	local label="$3 $1 to $2" address command
	# As in perf_pair.
	local traffic_again='RDMA_CM_EVENT_REJECTED; error: -111' traffic_lag_ms=100
	address=$(traffic_address "$2")
	command=("$3" -R -F -s 65536 -n "$list_iterations")
	counters_mark
	traffic_pair "$label" "$perf_port" "$1" "$2" \
		-- "${command[@]}" -- "${command[@]}" "$address" || return 0
	lab_check "$label: client's figures" \
		perf_line client 65536 "$list_iterations"
	lab_check "$label: client's words" log_lacks client "$perf_bad"
	lab_check "$label: server's words" log_lacks server "$perf_bad"
	mixed_counted "of $label"
}

# mixed_run NAME CLIENT SERVER [TOOL...]
mixed_run() {
	local name=$1 from=$2 to=$3 size tool
	shift 3
	capture_start "$name" h1
	for size in "${list_rping_sizes[@]}"; do
		mixed_ping "$from" "$to" "$size"
	done
	for tool in "$@"; do
		mixed_perf "$from" "$to" "$tool"
	done
	mixed_stream "$from" "$to"
	# perftest makes a separate connection to exchange parameters.
	capture_check "$name" \
		--connections $((${#list_rping_sizes[@]} + 2 * $# + 1))
}

lab_hosts 2
capture_real_segments h1 h2
lab_link h1
lab_link h2 siw
# As Responder siw waits for the first FPDU only some time after its Reply, and waits
# forever if it came earlier; see perf_pair for the other program.
traffic_lag h1 100
traffic_lag h2 50
mixed_run initiator h1 h2 ib_write_bw ib_read_bw ib_send_bw
mixed_run responder h2 h1
fast_paths off mpa1
mixed_run initiator-slow h1 h2 ib_send_bw
mixed_run responder-slow h2 h1
fast_paths on mpa1

# siw copies the flags of a Request into its Reply, that which asks for the messages of
# RFC 7306 included: that is no answer. The captures above have none of these messages.
extensions_with_siw() {
	local label="extensions $1 to $2" address
	address=$(traffic_address "$2")
	lab_spawn server "$2" rping -s -a "$address" -V
	lab_wait_listen "$2" 7174
	lab_spawn client "$1" rping -c -a "$address" -V
	lab_check "$label: not in use" lab_wait 20 extensions_unused
	lab_kill client
	# If both are killed at once, iw_cm ends the machine at times, by BUG() in
	# cm_close_handler(): siw reports CLOSE for an identifier that is not connected.
	lab_check "$label: the server ends, too" lab_wait 20 lab_ended server
	lab_join server || true
}

extensions_unused() {
	ip netns exec h1 "$MPA_REPO/build/bin/mpactl" -j conn | "$PYTHON" -c '
import json, sys
conns = [one for one in json.load(sys.stdin) if one["phase"] == "operational"]
sys.exit(not conns or any(one["rdmap_extensions"] for one in conns))'
}

extensions_with_siw h1 h2
extensions_with_siw h2 h1

# mpactl probe of siw, and siw's connection from it.
lab_spawn probed h2 rping -s -P -a 10.77.0.2
lab_wait_listen h2 7174
probe_case "siw" 0 "r['outcome'] == 'accepted' and r['revisions'] == [2]" \
	10.77.0.2 7174 --timeout 25s
probe_case "siw, revision 1" 0 "r['revisions'] == [1]" 10.77.0.2 7174 --revision 1 --timeout 25s
lab_kill probed

# siw does not look for another source port if TCP has the one that the core has selected:
# mpa-bench does. Of 40 ports TCP has 20.
lab_in h2 sysctl -q net.ipv4.ip_local_port_range="40000 40039"
lab_spawn ports h2 "$PYTHON" -c '
import signal, socket
held = [socket.create_server(("10.77.0.2", port)) for port in range(40000, 40020)]
signal.pause()'
lab_wait_listen h2 40019
lab_spawn server h1 "$MPA_REPO/build/bin/mpa-bench" server --timeout 120 -p 7470
lab_wait_listen h1 7470
lab_check "mpa-bench over siw, with half of the source ports in use" lab_in h2 \
	"$MPA_REPO/build/bin/mpa-bench" memory --timeout 120 -q 8 -r 1 -p 7470 10.77.0.1
lab_kill server
lab_kill ports

lockdep_said=$(dmesg | grep -c 'WARNING: inconsistent lock state' || true)
lockdep_of_siw=$(dmesg | grep -A 8 'WARNING: inconsistent lock state' |
	grep -c 'at: siw_.* \[siw\]' || true)
lab_is "lockdep complains only of siw" "$lockdep_of_siw" "$lockdep_said"
