#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# TCP sockets in use that applications hand over to queue pairs, and plain TCP on the ports
# of listeners: cases, and the example mpa-kv, whose client goes from text to RDMA.
# Arguments choose cases by patterns of their names.
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/counters.sh"
. "$MPA_REPO/tests/integration/lib/objects.sh"
. "$MPA_REPO/tests/integration/lib/settings.sh"

kv=$MPA_REPO/build/bin/mpa-kv

cases() {
	lab_check "cases: $*" ip netns exec h1 "$MPA_REPO/build/bin/verbs_test" "$@"
}

# kv_client NAME PORT [OPTION]: a client of h1 that gets lines by kv_ask.
declare -A kv_pipes
kv_client() {
	local pipe
	rm -f "/run/$1.pipe"
	mkfifo "/run/$1.pipe"
	# shellcheck disable=SC2016 # arguments of the inner shell
	lab_spawn "$1" h1 bash -c 'exec "$1" "$2" 10.77.0.2 "$3" < "$4"' - \
		"$kv" "${3:---client}" "$2" "/run/$1.pipe"
	exec {pipe}> "/run/$1.pipe"
	kv_pipes[$1]=$pipe
}

# kv_ask NAME LINE PATTERN_OF_THE_ANSWER
kv_ask() {
	local before
	before=$(kv_answers "$1")
	echo "$2" >&"${kv_pipes[$1]}"
	lab_wait 60 kv_answered "$1" "$before" || return
	lab_check "$1: $2" kv_last "$1" "$3"
}

kv_last() {
	tail -n 1 "$LAB_OUT/$1.log" | tee /dev/stderr | grep -qx "$2"
}

kv_answers() {
	wc -l < "$LAB_OUT/$1.log"
}

kv_answered() {
	(($(kv_answers "$1") > $2))
}

# kv_end NAME: its input ends.
kv_end() {
	local pipe=${kv_pipes[$1]}
	exec {pipe}>&-
	lab_check "$1 ends" lab_join "$1" 60
}

# kv_connection ID PID: that of the client is shown as one object by ss, with its MPA state,
# by mpactl, with device, queue pair and the same inode, and by rdma, with the process.
kv_connection() {
	local inode=$1 pid=$2 qpn
	qpn=$(ip netns exec h1 "$MPA_REPO/build/bin/mpactl" --json conn |
		jq --argjson inode "$inode" '.[] | select(.inode == $inode and
			.dev == "mpa1" and .phase == "operational") | .qpn')
	[[ $qpn ]] &&
		ip netns exec h1 ss -HOtnie dst 10.77.0.2 | tee /dev/stderr |
			grep " ino:$inode .*tcp-ulp-mpa" &&
		ip netns exec h1 rdma resource show qp lqpn "$qpn" |
			grep " state RTS .* pid $pid "
}

# The inode of the socket of a process.
kv_inode() {
	readlink "/proc/$1"/fd/* | sed -n 's/^socket:\[\(.*\)\]$/\1/p'
}

example() {
	local inode pid
	lab_spawn server h2 "$kv" --server 7000
	lab_check "the server listens" lab_wait_listen h2 7000
	kv_client one 7000
	kv_ask one "SET color green" OK
	kv_ask one "GET color" "VALUE green"
	kv_ask one "GET taste" NONE
	pid=$(lab_pid one)
	inode=$(kv_inode "$pid")
	counters_mark
	kv_ask one "UPGRADE rdma" RDMA
	kv_ask one "GET color" "VALUE green"
	kv_ask one "GET taste" NONE
	counters_grew "of an upgrade and two Reads" \
		mpa1 conn_active=1 tx_read_req=2 rx_read_resp=2 \
		mpa2 conn_passive=1 rx_read_req=2
	lab_check "one connection for all tools" kv_connection "$inode" "$pid"
	kv_client two 7000
	kv_ask two "SET color blue" OK
	kv_ask one "GET color" "VALUE blue"
	# No text at all, on the same port.
	kv_client direct 7000 --direct
	kv_ask direct "GET color" "VALUE blue"
	kv_ask direct "SET color red" "SORRY .*"
	kv_end direct
	kv_end two
	kv_end one
	lab_check "the server has noticed" \
		lab_wait 60 grep -q 'has ended' "$LAB_OUT/server.log"
	# A program without a device of its own goes on with text.
	lab_do ip netns exec h2 rdma link delete mpa2
	kv_client three 7000
	kv_ask three "UPGRADE rdma" "SORRY .*"
	kv_ask three "GET color" "VALUE blue"
	kv_end three
	lab_do ip netns exec h2 rdma link add mpa2 type mpa netdev eth0
	lab_kill server
}

# The service manager has the listener, the program what it accepts.
activation() {
	lab_spawn server h2 systemd-socket-activate -E IBV_DRIVERS \
		-l 10.77.0.2:7001 "$kv" --server
	lab_check "its socket listens" lab_wait_listen h2 7001
	kv_client four 7001
	kv_ask four "SET a b" OK
	kv_ask four "UPGRADE rdma" RDMA
	kv_ask four "GET a" "VALUE b"
	kv_end four
	lab_kill server
}

lab_devices 2
if (($#)); then
	cases "$@"
	exit
fi
cases 'handover:*' 'plain:*'
example
activation
objects_gone "at the end"
