#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Which processes may connect a QP, and how connections end: completed messages
# arrive, however long the link is down, and no end takes forever. An argument
# chooses one of the parts below.
# lab run --no-kmemleak
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/counters.sh"

. "$MPA_REPO/tests/integration/lib/cases.sh"

closing=$MPA_REPO/build/bin/closing
mpactl=$MPA_REPO/build/bin/mpactl
port=7400
gate=/tmp/gate

owners() {
	# Accessible to other users and containers, too: there is no udev here.
	chmod 0666 /dev/infiniband/*
	cases_open "$MPA_REPO/tests/integration/owner_cases.py" 600
	cases_run owner
	cases_close
}

# Under KASAN and lockdep; 10-devices of the stock configuration has what they show.
counters() {
	cases_open "$MPA_REPO/tests/integration/counter_cases.py" 600
	cases_run race
	cases_close
}

# --- how connections end ----------------------------------------------------------

# log_has NAME REGEX
log_has() {
	grep -Eq "$2" "$LAB_OUT/$1.log"
}

# shape HOST QDISC...: for what the host sends; without QDISC: no shaping.
shape() {
	lab_in "$1" tc qdisc del dev eth0 root 2> /dev/null || true
	[[ $# == 1 ]] || lab_do lab_in "$1" tc qdisc add dev eth0 root "${@:2}"
}

# setting NAME VALUE: sets it on the client's device.
setting() {
	lab_do lab_in h1 "$mpactl" set dev mpa1 "$1" "$2"
}

# sysctl_of HOST NAME=VALUE
sysctl_of() {
	lab_in "$1" sysctl -qw "net.ipv4.$2"
}

# begin LABEL CONNECTIONS BYTES ROLE ARGUMENT...: starts a server and a client;
# returns when they are connected and the client waits for its gate file.
begin() {
	local label=$1 connections=$2 bytes=$3 role=$4 words=()
	shift 4
	rm -f "$gate"
	counters_mark
	[[ $role == read ]] || words=("$connections")
	lab_spawn server h2 "$closing" serve 10.77.0.2 "$port" "$connections" "$bytes"
	lab_check "$label: server listens" lab_wait_listen h2 "$port" 60
	lab_spawn client h1 "$closing" "$role" 10.77.0.2 "$port" "${words[@]}" \
		"$gate" "$@"
	lab_check "$label: connected" lab_wait 30 log_has client '^connected$'
}

finish() {
	local name
	for name in client server; do
		[[ ! -v lab_jobs[$name] ]] || lab_kill "$name" KILL
	done
	shape h1
	shape h2
}

# took MILLISECONDS MOST: how long the client's disconnection took.
took() {
	local ms
	ms=$(sed -n 's/^disconnected after \([0-9]*\) ms$/\1/p' "$LAB_OUT/client.log")
	echo "disconnected after ${ms:-no} ms, wanted $1 to $2"
	((${ms:-0} >= $1 && ms <= $2))
}

# The link is down for longer than TCP takes for its first five attempts.
outage() {
	local label="link out, $1"
	begin "$label" 1 4096 send 8 4096 "$1"
	shape h1 netem loss 100%
	touch "$gate"
	lab_check "$label: completed" lab_wait 20 log_has client '^completed 8$'
	sleep 8
	shape h1
	lab_check "$label: server sees the end" lab_join server 40
	lab_check "$label: server has received everything" \
		log_has server '^connection 0: 8 messages, 32768 bytes$'
	lab_check "$label: client ends" lab_join client 20
	lab_check "$label: counted" lab_wait 10 counters_hold \
		mpa1 tx_send=8 conn_reset=0 conn_close_timeout=0 \
		mpa2 rx_send=8 conn_reset=0
	finish
}

# Nothing is acknowledged any more except by data that the peer still sends.
read_in_flight() {
	local label="a Read in flight"
	begin "$label" 1 1500000 read 1500000
	shape h2 tbf rate 1mbit burst 16kb latency 2s
	touch "$gate"
	lab_check "$label: client ends" lab_join client 60
	lab_check "$label: everything was read" log_has client '^read 1500000 bytes$'
	lab_check "$label: it took longer than before" took 8000 60000
	lab_check "$label: counted" lab_wait 10 counters_hold \
		mpa1 rx_read_resp=1 conn_reset=0 conn_close_timeout=0 \
		mpa2 tx_read_resp=1 conn_reset=0
	finish
}

# Acknowledgements arrive slowly, for half a minute in all.
trickle() {
	local label="a trickle, $1"
	setting close-timeout 4s
	begin "$label" 1 4096 send 16 4096 "$1"
	shape h1 tbf rate 16kbit burst 1600 latency 60s
	touch "$gate"
	lab_check "$label: completed" lab_wait 20 log_has client '^completed 16$'
	lab_check "$label: cut short, and counted" lab_wait 10 counters_hold \
		mpa1 conn_close_timeout=1 conn_linger_drop=0
	lab_check "$label: client ends" lab_join client 10
	[[ $1 != disconnect ]] || lab_check "$label: in time" took 3500 25000
	finish
	setting close-timeout inherit
}

# TCP gives up: after 12.6 s, with five retransmissions.
dead_peer() {
	local label="a dead peer"
	sysctl_of h1 tcp_retries2=5
	begin "$label" 1 4096 send 8 4096 disconnect
	shape h1 netem loss 100%
	touch "$gate"
	lab_check "$label: client ends" lab_join client 60
	lab_check "$label: when TCP has given up" took 7000 40000
	lab_check "$label: counted" counters_hold \
		mpa1 conn_reset=1 conn_close_timeout=0
	sysctl_of h1 tcp_retries2=15
	finish
}

# sockets_that_end COUNT: sockets of the client's host that have sent a FIN.
sockets_that_end() {
	[[ $(ip netns exec h1 ss -Htn state fin-wait-1 | wc -l) == "$1" ]]
}

# The client has gone, but its connections have not: only so many may linger.
crowd() {
	local label="many that linger"
	setting linger-max 4
	begin "$label" 8 4096 send 2 4096 destroy
	shape h1 netem loss 100%
	touch "$gate"
	lab_check "$label: client ends" lab_join client 20
	lab_check "$label: the oldest ones are cut short, and counted" \
		lab_wait 10 counters_hold \
		mpa1 conn_linger_drop=4 conn_close_timeout=0
	lab_check "$label: the others continue" lab_wait 10 sockets_that_end 4
	shape h1
	for n in 4 5 6 7; do
		lab_check "$label: server has received everything of connection $n" lab_wait 30 \
			log_has server "^connection $n: 2 messages, 8192 bytes$"
	done
	finish
	setting linger-max inherit
}

# keepalive on|off: an idle QP whose peer disappears silently.
keepalive() {
	local label="keepalive $1"
	setting keepalive "$1"
	begin "$label" 1 4096 send 1 1 destroy
	shape h1 netem loss 100%
	if [[ $1 == on ]]; then
		lab_check "$label: the QP finds out" \
			lab_wait 20 counters_hold mpa1 conn_reset=1
	else
		sleep 10
		lab_check "$label: it does not" counters_hold mpa1 conn_reset=0
	fi
	finish
	setting keepalive inherit
}

# peer_timeout idle|busy: a peer disappears silently, long before TCP's own times.
peer_timeout() {
	local label="peer-timeout, $1"
	setting peer-timeout 4s
	begin "$label" 1 4096 send 8 4096 disconnect
	SECONDS=0
	shape h1 netem loss 100%
	[[ $1 == idle ]] || touch "$gate"
	lab_check "$label: the QP finds out" \
		lab_wait 20 counters_hold mpa1 conn_reset=1
	lab_check "$label: not before its time" test "$SECONDS" -ge 2
	finish
	setting peer-timeout inherit
}

# timer_of: what TCP says of the client's connection: segments sent, and the time
# after which it repeats them, ms.
timer_of() {
	ip netns exec h1 ss -Htni 'dport = :7174' | sed -En \
		's/.* rto:([0-9]+).* segs_out:([0-9]+).*/\2 \1/p' | head -n 1
}

# timer_is LEAST MOST: after so many round trips that TCP has forgotten what it began
# with.
timer_is() {
	local segments=0 ms=0
	read -r segments ms < <(timer_of)
	((segments >= 200 && ms >= $1 && ms <= $2))
}

# rto_min VALUE LEAST MOST
rto_min() {
	local label="rto-min $1"
	setting rto-min "$1"
	lab_spawn server h2 rping -s -a 10.77.0.2 -V -S 64
	lab_check "$label: server listens" lab_wait_listen h2 7174 60
	lab_spawn client h1 rping -c -a 10.77.0.2 -V -S 64
	lab_check "$label: TCP's timer" lab_wait 30 timer_is "$2" "$3"
	timer_of
	finish
	setting rto-min inherit
}

ends() {
	rto_min 20ms 20 190
	rto_min 0 200 400
	outage disconnect
	outage destroy
	read_in_flight
	trickle disconnect
	trickle destroy
	dead_peer
	crowd
	setting keepalive off
	peer_timeout idle
	peer_timeout busy
	setting keepalive inherit
	sysctl_of h1 tcp_keepalive_time=2
	sysctl_of h1 tcp_keepalive_intvl=1
	sysctl_of h1 tcp_keepalive_probes=3
	keepalive on
	keepalive off
}

lab_devices 2
if (($#)); then
	"$@"
	exit
fi
owners
counters
ends
