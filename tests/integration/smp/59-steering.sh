#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Receive flow steering: packets are processed where the application reads, for a stream
# of MPA as for one of TCP.
. "$MPA_REPO/tests/lab/guest/lib.sh"

lab_devices 2
bench=$MPA_REPO/build/bin/mpa-bench
echo 1024 > /proc/sys/net/core/rps_sock_flow_entries
lab_check "flows of the receiver's queue" ip netns exec h2 \
	sh -c 'for queue in /sys/class/net/*/queues/rx-0; do echo 1024 > "$queue/rps_flow_cnt"; done'

# steered: packets that processor 1 has got from others.
steered() {
	local fields
	{ read -r _; read -r -a fields; } < /proc/net/softnet_stat
	echo $((16#${fields[9]}))
}

# steered_more COUNT
steered_more() {
	(($(steered) > before + $1))
}

# streams COUNT: so many connections of the server have passed data in both directions.
streams() {
	(($(ip netns exec h2 ss -Htni state established |
		grep -c 'data_segs_out:.*data_segs_in:') >= $1))
}

# steering_case TRANSPORT: the server moves to processor 1 after the stream has begun.
steering_case() {
	local before
	lab_spawn server h2 taskset -c 0 "$bench" server --port 7620
	lab_check "$1: the server listens" lab_wait_listen h2 7620
	lab_spawn client h1 taskset -c 0 "$bench" latency --transport "$1" --wait event \
		--port 7620 --time 600 --timeout 120 10.77.0.2
	# One is for control.
	lab_check "$1: messages are exchanged" lab_wait 60 streams 2
	before=$(steered)
	lab_check "$1: the server moves" taskset -ap 2 "$(lab_pid server)"
	lab_check "$1: packets follow it" lab_wait 60 steered_more 100
	lab_kill client
	lab_kill server
}

steering_case tcp
steering_case mpa
