#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# mpa-bench: every measurement once; checks what it transfers, counts and writes as
# JSON, not its figures; data verified wherever possible; and its behaviour on
# errors.
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/counters.sh"
. "$MPA_REPO/tests/integration/lib/objects.sh"

program=$MPA_REPO/build/bin/mpa-bench
check_json=$MPA_REPO/tests/integration/lib/bench_json.py
to=10.77.0.2
runs=0
orders=()

# bench_run ARGUMENT... [-- WISH...]: a client in h1; its JSON must be as documented
# in the manual page, and match the WISHes: bench_check_json checks all files at
# once.
bench_run() {
	local arguments=()
	while (($#)) && [[ $1 != -- ]]; do
		arguments+=("$1")
		shift
	done
	runs=$((runs + 1))
	bench_json=$LAB_OUT/bench$runs.json
	lab_check "${arguments[*]}" bench_client "${arguments[@]}" --json "$to"
	orders+=(-- "$bench_json" "${@:2}")
}

bench_check_json() {
	lab_check "JSON of all runs" "$check_json" "${orders[@]:1}"
}

bench_client() {
	timeout 60 ip netns exec h1 "$program" "$@" > "$bench_json"
}

# bench_fails WHAT STATUS TEXT COMMAND...: the command ends with that status and
# message.
bench_fails() {
	local what=$1 wanted=$2 text=$3 status=0
	shift 3
	timeout 60 "$@" > "$LAB_OUT/fails.log" 2>&1 || status=$?
	lab_is "$what: status" "$status" "$wanted"
	lab_check "$what: reason" grep -E -- "$text" "$LAB_OUT/fails.log"
}

# bench_server OPTION... PORT
bench_server() {
	lab_spawn server h2 "$program" server "${@:1:$#-1}" -p "${!#}"
	lab_wait_listen h2 "${!#}"
}

# --- transferred data -------------------------------------------------------------

# All sizes have boundaries inside: of words of the pattern, credits, segments.
verified() {
	local op
	for op in write read send; do
		bench_run "$op" -v -s 1,16,24,4097,100000 -n 20 --warm-up-count 3 -d 8 -q 2 \
			-- results.4.runs.0.messages=40 "results.4.verify=true"
	done
	bench_run send -v -b -s 16,5000 -n 40 --warm-up-count 1 -d 4 -l 3 -q 3 -r 2 \
		-- results.1.runs.1.messages=240
	bench_run send -v -W poll -s 3000 -n 50 --warm-up-count 0 -d 16 -m 8 -l 4
	bench_run latency -v -W event -s 1,16,3000 -n 20 --warm-up-count 2 \
		-- results.2.runs.0.messages=20
	to=fd77::2
	bench_run write -v -s 4096 -n 20 --warm-up-count 0 \
		-- client.device=mpa1 server.device=mpa2 same_machine=true
	to=10.77.0.2
}

# Three connections, in a warm-up of 2 messages and two runs of 10: 66 messages. A
# greeting each; after Writes a Read of each connection in each of the three. The
# responder counts the Write of no bytes that a connection begins with.
counted() {
	local common=(-q 3 -n 10 --warm-up-count 2 -r 2 -s 3000)
	counters_mark
	bench_run write "${common[@]}" -- results.0.runs.1.messages=30
	counters_grew "of writes" mpa1 conn_active=3 tx_write=66 tx_read_req=9 tx_send=3 \
		mpa2 conn_passive=3 rx_write=69 rx_read_req=9 rx_send=3 tx_write=0
	counters_mark
	bench_run read "${common[@]}" -l 5 -- results.0.list=5
	counters_grew "of reads" mpa1 tx_read_req=66 rx_read_resp=66 tx_write=0 \
		mpa2 tx_read_resp=66 rx_read_req=66
	counters_mark
	bench_run write "${common[@]}" -b -W yield -- results.0.runs.0.messages=60
	counters_grew "of writes both ways" mpa1 tx_write=66 rx_write=66 tx_read_req=9 \
		mpa2 tx_write=66 rx_write=69 tx_read_req=9
	# Each 8 messages of a connection return credits: two times in 22.
	counters_mark
	bench_run send "${common[@]}" -d 8 -- results.0.runs.0.bytes=90000
	counters_grew "of sends" mpa1 tx_send=69 rx_send=6 mpa2 rx_send=69 tx_send=6
	counters_mark
	bench_run rate -s 8,64 -n 512 --warm-up-count 0 -i 64 \
		-- results.0.list=32 results.1.moderation=32 results.1.inline=64
	counters_grew "of lists" mpa1 "tx_send=1026" mpa2 "rx_send=1026"
	counters_mark
	bench_run write -q 128 -s 4096 -n 4 --warm-up-count 0 -d 2
	counters_grew "of many connections" mpa1 conn_active=128 tx_write=512 \
		mpa2 conn_passive=128 rx_write=640
}

measured() {
	bench_run read -T 0.3 -w 0.1 -s 64K -r 3
	bench_run send -T 0.3 -w 0 -s 64K -b -q 2
	bench_run latency -W poll -n 50 --warm-up-count 5
	counters_mark
	bench_run latency -o read -W event -n 30 --warm-up-count 0
	counters_grew "of round trips by Read" mpa1 tx_read_req=30 mpa2 tx_read_resp=30
	counters_mark
	bench_run connect -n 5 -q 4 -w 0 -- results.0.runs.0.messages=20
	counters_grew "of set-up" mpa1 conn_active=20 mpa2 conn_passive=20
	counters_mark
	bench_run memory -q 32 -r 2 -- results.0.runs.1.connections=32
	counters_grew "of idle connections" mpa1 conn_active=96 tx_send=0 mpa2 tx_send=0
}

# answered_at_once SIZE N: of 30 Reads of so many bytes, N are answered in the
# receive path, except for a few that find no working memory; all are answered.
answered_at_once() {
	counters_mark
	bench_run latency -o read -s "$1" -n 30 --warm-up-count 0
	counters_grew "of Reads of $1 bytes, $2 at once" mpa1 rx_read_resp=30 \
		mpa2 tx_read_resp=30 "tx_read_resp_at_once$2"
}

# Short Reads are, but not long ones, nor if that is switched off.
answered() {
	local fast_path=/sys/module/mpa/parameters/fast_path size all='>=25'
	! lab_slow_paths || all='=0'
	for size in 1 64 4096; do
		answered_at_once "$size" "$all"
	done
	answered_at_once 4097 =0
	if ! lab_slow_paths; then
		lab_do tee "$fast_path" <<< N
		answered_at_once 64 =0
		lab_do tee "$fast_path" <<< Y
	fi
}

plain_tcp() {
	local op
	counters_mark
	for op in write read; do
		bench_run "$op" -t tcp -v -s 1,16,100001 -n 20 --warm-up-count 3 -q 2 \
			-- results.2.runs.0.messages=40 transport=tcp
	done
	bench_run send -t tcp -v -b -s 5000 -n 40 --warm-up-count 1 -q 3
	bench_run rate -t tcp -v -W poll -s 8 -n 512 --warm-up-count 0
	bench_run write -t tcp -T 0.3 -w 0 --write-size 16K -- results.0.chunk=16384
	bench_run read -t tcp -T 0.1 -w 0 --write-size best
	for op in splice zerocopy; do
		bench_run write -t tcp -n 60 --warm-up-count 5 -s 64K --send-by "$op" \
			--discard -- results.0.runs.0.messages=60 \
			results.0.send_by="$op" results.0.discard=true
	done
	bench_run write -t tcp -v -n 60 --warm-up-count 0 -s 100 --send-by record \
		-- results.0.send_by=record results.0.discard=false
	bench_run latency -t tcp -v -W event -s 1,3000 -n 20 --warm-up-count 0
	bench_run latency -t tcp -W poll -n 20 --warm-up-count 0
	bench_run connect -t tcp -n 5 -q 4 -w 0 -- results.0.runs.0.messages=20
	bench_run memory -t tcp -q 32 -r 1
	counters_grew "of the devices, with TCP" mpa1 conn_active=0 tx_bytes=0 \
		mpa2 conn_passive=0 rx_bytes=0
}

# message_sockets TRANSPORT BYTES: each call is a message, of so many bytes at the most.
message_sockets() {
	bench_run write -t "$1" -v -s "1,16,$2" -n 40 --warm-up-count 3 -q 2 \
		-- results.2.runs.0.messages=80 results.2.chunk="$2" transport="$1"
	bench_run rate -t "$1" -s 64 -n 512 --warm-up-count 0 \
		-- results.0.runs.0.bytes=32768
	bench_run latency -t "$1" -v -W event -s 1,1400 -n 20 --warm-up-count 2 \
		-- results.1.runs.0.messages=20
}

# As long as a segment takes.
mpa_sockets() {
	message_sockets mpa 1400
	bench_fails "a message longer than the MULPDU" 1 'Message too long' \
		ip netns exec h1 "$program" write -t mpa -s 4096 -n 1 "$to"
}

# Longer than a segment, too.
kcm_sockets() {
	message_sockets kcm 65536
	bench_fails "a program that may not load BPF" 3 'BPF program: Operation not permitted' \
		ip netns exec h1 \
		setpriv --bounding-set=-bpf,-sys_admin --inh-caps=-bpf,-sys_admin \
		"$program" latency -t kcm -s 64 -n 1 "$to"
}

# Text output has figures, too.
readable() {
	local out
	out=$(ip netns exec h1 "$program" send -n 10 --warm-up-count 0 -s 4096 "$to")
	lab_check "text for a person" grep -E '4096 bytes .* Gbit/s .*CPU s/GB' <<< "$out"
}

# --- errors ------------------------------------------------------------------------

# A server with another protocol.
strangers() {
	ip netns exec h1 bash -c \
		"exec 3<> /dev/tcp/$to/7470; echo 'GET / HTTP/1.1' >&3; cat <&3" |
		grep -a 'does not speak'
}

# output_fails WHAT REDIRECTION STATUS ARGUMENT...
output_fails() {
	local what=$1 redirection=$2 wanted=$3 status=0
	shift 3
	timeout 60 ip netns exec h1 bash -c "exec \"\$@\" $redirection" - "$program" "$@" ||
		status=$?
	lab_is "$what: status" "$status" "$wanted"
}

refused() {
	local client=(ip netns exec h1 "$program")
	bench_fails "no server" 3 'no server at 10.77.0.2 port 7471' \
		"${client[@]}" write -p 7471 "$to"
	bench_fails "another device" 3 'the RDMA device is mpa1, not mpa7' \
		"${client[@]}" write -s 4096 -D mpa7 "$to"
	bench_fails "no device" 3 'no RDMA device has the address 127.0.0.1' \
		ip netns exec h2 "$program" write -s 4096 127.0.0.1
	bench_fails "no memory that can be locked" 3 \
		'cannot be registered .RLIMIT_MEMLOCK is 65536 bytes: ulimit' \
		setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock \
		prlimit --memlock=65536 "${client[@]}" write -s 64K "$to"
	bench_fails "a wrong command line" 2 'depth is 5000, not in 1 to 4096' \
		"${client[@]}" write -d 5000 "$to"
	bench_fails "more than a device can" 2 'Writes and Reads are verified' \
		"${client[@]}" write -v -b "$to"
	output_fails "no server, no room for the message" '2> /dev/full' 3 write -p 7471 "$to"
	output_fails "no server, no standard error" '2>&-' 3 write -p 7471 "$to"
	output_fails "no room for results" '> /dev/full' 1 latency -t tcp -s 1,64 -n 10 "$to"
	output_fails "no room for help" '> /dev/full' 1 --help
	lab_check "another protocol is reported" strangers
	lab_in h1 bash -c "exec 3<> /dev/tcp/$to/7470"
	lab_check "the server is still there" lab_running server
}

# bench_ends NAME STATUS WHAT
bench_ends() {
	local status=0
	lab_join "$1" 30 || status=$?
	lab_is "$3" "$status" "$2"
}

# client_in_background COUNTER ARGUMENT...: returns when it has begun to transfer.
client_in_background() {
	counters_mark
	lab_spawn client h1 "$program" "${@:2}"
	lab_wait 20 counters_hold mpa1 "$1>=5000"
}

# When one side is ended the other one notices, and the server serves the next
# client.
ended() {
	client_in_background tx_bytes write -s 64K -T 60 "$to"
	lab_do kill -INT "$(lab_pid client)"
	bench_ends client 130 "SIGINT ends a client"
	client_in_background tx_bytes send -W poll -s 64K -T 60 "$to"
	lab_do kill -KILL "$(lab_pid client)"
	bench_ends client 137 "SIGKILL ends a client"
	bench_run send -n 5 --warm-up-count 0
	client_in_background rx_bytes read -s 64K -T 60 "$to"
	lab_kill server KILL
	bench_ends client 1 "a client whose server is killed"
	bench_server 7470
	client_in_background rx_bytes latency -W poll -T 60 --timeout 2 "$to"
	lab_do kill -STOP "$(lab_pid server)"
	bench_ends client 1 "a client whose server hangs"
	lab_do kill -CONT "$(lab_pid server)"
	bench_run write -n 5 --warm-up-count 0
	lab_do kill -TERM "$(lab_pid server)"
	bench_ends server 0 "SIGTERM ends the server"
	bench_server --once 7472
	bench_run write -p 7472 -n 5 --warm-up-count 0
	bench_ends server 0 "a server for one client"
}

# Objects of finished jobs; librdmacm keeps the device open.
idle_objects() {
	local all
	all=$(lab_objects_left) || return
	grep -E '^(qp|cm_id|mr|cq):' <<< "$all" | grep -v 'state LISTEN' || true
}

# Clients that reset their connections, as port scanners do. That the server goes on is shown
# by all that follows.
resets() {
	ip netns exec h1 "$PYTHON" -c '
import socket, struct, sys
for _ in range(50):
    sock = socket.create_connection((sys.argv[1], 7470))
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()' 10.77.0.2
}

lab_devices 2
bench_server 7470
lab_check "clients reset their connections" resets
verified
counted
measured
answered
plain_tcp
mpa_sockets
kcm_sockets
readable
refused
lab_check "an idle server has no objects" lab_wait 10 lab_gone idle_objects
ended
bench_check_json
objects_gone "at the end"
sockets_gone "at the end" h1 h2
