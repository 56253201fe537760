# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Programs and devices that end during a transfer: the other side notices within
# seconds and ends, and nothing is left over.

. "$MPA_REPO/tests/integration/lib/traffic.sh"

# Pings of the programs that survive.
death_pings=${list_pings:-20}
# Seconds in which a survivor must have noticed and ended.
death_limit=40

# death_moved DEVICE COUNTER AMOUNT: true once it has grown that much.
death_moved() {
	counters_hold "$1" "$2>=$3"
}

# Messages of programs when they notice.
death_words='DISCONNECT EVENT|device removal|with error|[Ff]ailed|rror'

# death_survivor_ends NAME LABEL: it notices and ends by itself; a signal would mean
# that it crashed. rping's status is 0 after a disconnection.
death_survivor_ends() {
	local status=0
	if ! lab_wait "$death_limit" lab_ended "$1"; then
		lab_not_ok "$2: $1 ends" "after $death_limit s not"
		ps -o pid,stat,wchan:32,args -p "$(lab_pid "$1")" || true
		lab_kill "$1" KILL
		return
	fi
	lab_join "$1" 1 > "$LAB_OUT/survivor" || status=$?
	lab_true "$2: $1 ends by itself (status $status)" "$status < 128 || $status > 192"
	lab_check "$2: $1 reports why" log_has "$1" "$death_words"
}

# death_leaves_nothing LABEL
death_leaves_nothing() {
	objects_gone "$1"
	sockets_gone "$1" h1 h2
}

# death_alive: while programs run, the objects exist that must be gone afterwards.
death_alive() {
	[[ $(lab_objects_left) == *'qp: '* && $(sockets_left h1) == *ESTAB* &&
		$(sockets_left h2) == *ESTAB* ]]
}

# death_in_transfer LABEL VICTIM PORT COUNTER SERVER... -- CLIENT...: starts both,
# waits until the client's device has counted much, kills the victim.
death_in_transfer() {
	local label=$1 victim=$2 port=$3 counter=$4 server=() survivor=client
	shift 4
	while [[ $1 != -- ]]; do
		server+=("$1")
		shift
	done
	shift
	[[ $victim == server ]] || survivor=server
	counters_mark
	lab_spawn server h2 "${server[@]}"
	lab_check "$label: server listens" lab_wait_listen h2 "$port" 60
	lab_spawn client h1 "$@"
	lab_check "$label: transfer runs" \
		lab_wait 60 death_moved mpa1 "$counter" 20
	lab_check "$label: objects and sockets are seen" death_alive
	lab_kill "$victim" KILL
	death_survivor_ends "$survivor" "$label"
	death_leaves_nothing "after $label"
}

# death_of PROGRAM VICTIM
death_of() {
	local label="$1 $2 killed" counter=tx_write
	case $1 in
	ib_read_bw) counter=rx_read_resp ;;
	ib_send_bw) counter=tx_send ;;
	esac
	if [[ $1 == rping ]]; then
		death_in_transfer "$label" "$2" 7174 rx_send \
			rping -s -a 10.77.0.2 -V -S 65535 -- \
			rping -c -a 10.77.0.2 -V -S 65535
	else
		death_in_transfer "$label" "$2" "$perf_port" "$counter" \
			"$1" -R -F -D 300 -s 65536 -d mpa2 -- \
			"$1" -R -F -D 300 -s 65536 -d mpa1 10.77.0.2
	fi
}

# One of two clients of a server is killed, and the other continues.
death_spares_the_others() {
	local label="one client of two killed"
	counters_mark
	lab_spawn server h2 rping -s -P -a 10.77.0.2 -V -S 4096
	lab_check "$label: server listens" lab_wait_listen h2 7174 60
	lab_spawn doomed h1 rping -c -a 10.77.0.2 -V -S 4096
	lab_check "$label: transfer runs" \
		lab_wait 60 death_moved mpa1 rx_send 20
	lab_spawn other h1 rping -c -a 10.77.0.2 -V -S 4096 -C "$death_pings"
	lab_kill doomed KILL
	lab_check "$label: the other one's pings arrive" \
		lab_join other "$traffic_limit"
	lab_check "$label: its words" rping_good other
	lab_check "$label: server still runs" lab_running server
	lab_spawn late h1 rping -c -a 10.77.0.2 -V -S 4096 -C "$death_pings"
	lab_check "$label: a later client is served" \
		lab_join late "$traffic_limit"
	lab_kill server
	death_leaves_nothing "after $label"
}

# death_delete DEVICE LABEL: within the time limit.
death_delete() {
	lab_check "$2: device is deleted" \
		timeout "$death_limit" rdma link delete "$1"
}

# A device is deleted while its connections carry traffic: the client's, then the
# server's. Both programs end, the other device stays and works.
death_of_devices() {
	local label device
	for device in mpa1 mpa2; do
		label="$device deleted in a transfer"
		counters_mark
		lab_spawn server h2 rping -s -a 10.77.0.2 -V -S 65535
		lab_check "$label: server listens" lab_wait_listen h2 7174 60
		lab_spawn client h1 rping -c -a 10.77.0.2 -V -S 65535
		lab_check "$label: transfer runs" \
			lab_wait 60 death_moved mpa1 rx_send 20
		death_delete "$device" "$label"
		death_survivor_ends client "$label"
		death_survivor_ends server "$label"
		death_leaves_nothing "after $label"
		lab_link "h${device#mpa}"
		rping_pair h1 h2 4096 "$death_pings"
	done
}
