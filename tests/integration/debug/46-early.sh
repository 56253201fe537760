#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Placement of what arrives behind a gap: over links that lose, reorder and duplicate
# segments, memory and completions end as without it, and the counters show that it was
# done. Without the setting, without Markers or CRCs, and on a good link it is not.
# lab run --no-kmemleak
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/lists.sh"
. "$MPA_REPO/tests/integration/lib/peer.sh"

bench=$MPA_REPO/build/bin/mpa-bench

# wire NETEM...: cuts what both hosts send into segments, and applies NETEM to them.
wire() {
	local host
	for host in h1 h2; do
		lab_in "$host" tc qdisc replace dev eth0 root handle 1: \
			tbf rate 1gbit burst 1520 limit 10m
		(($# == 0)) || lab_in "$host" tc qdisc replace dev eth0 parent 1:1 \
			netem limit 10000 "$@"
	done
}

# no_resets HOST: the host sends no RST. While the peer moves its place in the stream, there
# is no socket that takes what arrives.
no_resets() {
	lab_in "$1" tc qdisc add dev eth0 clsact
	lab_in "$1" tc filter add dev eth0 egress protocol ip u32 \
		match ip protocol 6 0xff match u8 0x04 0x04 at 33 action drop
}

early_set() {
	local device
	for device in mpa1 mpa2; do
		device_set early-placement "$1" "$device"
	done
}

# missing DEVICE: prints how many FPDUs were placed early, but did not come again.
missing() {
	echo "$(($(lab_counter "$1" rx_early) - $(lab_counter "$1" rx_early_used) -
		$(lab_counter "$1" rx_early_redone)))"
}

# all_came DEVICE: since early_mark.
all_came() {
	(($(missing "$1") == early_missing[$1]))
}

declare -A early_missing=()

early_mark() {
	counters_mark
	early_missing=([mpa1]=$(missing mpa1) [mpa2]=$(missing mpa2))
}

# early_grew LABEL DEVICE [COUNT...]
early_grew() {
	counters_grew "of $1" "$2" "rx_early>=10" "rx_early_used>=5" "${@:3}"
	lab_check "$1: each of them came again, $2" lab_wait 10 all_came "$2"
}

cases() {
	lab_check "$1" ip netns exec h1 "$MPA_REPO/build/bin/verbs_test" "$2"
}

# overlaps LABEL [COUNT...]
overlaps() {
	early_mark
	cases "$1: Writes and Sends" 'early: overlapping Writes*'
	early_grew "$1: Writes and Sends" mpa2 "${@:2}"
	early_mark
	cases "$1: Reads" 'early: overlapping Reads*'
	early_grew "$1: Reads" mpa1 "${@:2}"
}

# traffic LABEL: with both devices as receivers, and checked by the programs.
traffic() {
	traffic_label=$1
	counters_mark
	for family in ipv4 ipv6; do
		rping_pair h1 h2 65535 20
	done
	family=ipv4
}

# nothing_early LABEL: traffic, and nothing is placed early. It counts from its own marks.
nothing_early() {
	local before
	before=$(early_counts)
	traffic "$1"
	lab_is "$1: nothing is placed early" "$(early_counts)" "$before"
}

early_counts() {
	echo "$(lab_counter mpa1 rx_early) $(lab_counter mpa1 rx_early_left)" \
		"$(lab_counter mpa2 rx_early)"
}

# long_messages LABEL: of 1 MiB, every byte checked.
long_messages() {
	local operation
	early_mark
	for operation in write read; do
		lab_spawn server h2 "$bench" server --once --quiet
		lab_check "$1: the server listens" lab_wait_listen h2 7470
		lab_check "$1: $operation of 1 MiB, verified" ip netns exec h1 "$bench" \
			"$operation" --size 1M --count 40 --verify 10.77.0.2
		lab_check "$1: the server ends" lab_join server 60
	done
	early_grew "$1: long messages" mpa1
	early_grew "$1: long messages" mpa2
}

# early_offered: prints how many FPDUs were placed early or left to their turn.
early_offered() {
	local device sum=0
	for device in mpa1 mpa2; do
		sum=$((sum + $(lab_counter "$device" rx_early) +
			$(lab_counter "$device" rx_early_left)))
	done
	echo "$sum"
}

# traced LABEL: each FPDU that comes early is an event.
traced() {
	local before counted events tracing=/sys/kernel/tracing
	[[ -d $tracing/events ]] || lab_do mount -t tracefs none "$tracing"
	before=$(early_offered)
	: > "$tracing/trace"
	echo 1 > "$tracing/events/mpa/mpa_early/enable"
	cases "$1: traced" 'early: overlapping Writes*'
	echo 0 > "$tracing/events/mpa/mpa_early/enable"
	counted=$(($(early_offered) - before))
	events=$(grep -c ' mpa_early: .* behind=[1-9]' "$tracing/trace")
	lab_true "$1: every FPDU that was counted is an event" \
		"$counted > 0 && $events >= $counted"
}

# pruned: prints how often TCP has dropped what was behind a gap.
pruned() {
	lab_in h2 nstat -asz TcpExtOfoPruned | awk '$1 == "TcpExtOfoPruned" { print $2 }'
}

# Holds some megabytes of the memory for TCP.
unread='
import socket, time
listener = socket.create_server(("127.0.0.1", 0))
sender = socket.create_connection(listener.getsockname())
receiver, _ = listener.accept()
sender.setblocking(False)
try:
    while True:
        sender.send(bytes(1 << 16))
except BlockingIOError:
    print("full", flush=True)
time.sleep(600)
'

# TCP drops what it has not acknowledged when memory for all sockets runs out. Every byte
# is checked.
pruning() {
	local before limits
	limits=$(sysctl -n net.ipv4.tcp_mem)
	lab_spawn unread h2 "$PYTHON" -c "$unread"
	lab_check "$1: much is unread" lab_wait 10 grep -q full "$LAB_OUT/unread.log"
	before=$(pruned)
	early_mark
	lab_spawn server h2 "$bench" server --once --quiet
	lab_check "$1: the server listens" lab_wait_listen h2 7470
	sysctl -q net.ipv4.tcp_mem="1 1 1"
	lab_check "$1: write, verified" ip netns exec h1 "$bench" \
		write --size 64K --count 20 --verify 10.77.0.2
	sysctl -q net.ipv4.tcp_mem="$limits"
	lab_kill unread
	lab_check "$1: the server ends" lab_join server 60
	lab_true "$1: TCP has dropped early segments" "$(pruned) - $before > 0"
	counters_grew "of $1" mpa2 "rx_early>=1"
	lab_check "$1: each of them came again" lab_wait 10 all_came mpa2
}

placing() {
	(($(lab_counter mpa2 rx_early) > early_before))
}

# The device is removed, and the setting changes, while FPDUs are placed early.
removed_meanwhile() {
	local early_before
	early_before=$(lab_counter mpa2 rx_early)
	lab_spawn server h2 "$bench" server --once --quiet
	lab_check "$1: the server listens" lab_wait_listen h2 7470
	lab_spawn client h1 "$bench" write --size 1M --time 60 --timeout 5 10.77.0.2
	lab_check "$1: FPDUs are placed early" lab_wait 30 placing
	early_set off
	early_set on
	early_before=$(lab_counter mpa2 rx_early)
	lab_check "$1: and still are" lab_wait 30 placing
	lab_check "$1: the device can be removed" ip netns exec h2 rdma link delete mpa2
	lab_kill client
	lab_kill server
	lab_link h2
	markers_ask on mpa2
	device_set early-placement on mpa2
}

lab_devices 2

# None without a gap, and none without the setting.
markers_ask on mpa1 mpa2
early_set on
peer_target_start
no_resets h1
counters_mark
peer_run early --role initiator --markers 'early/*'
peer_counted early
# A connection of the target may end by a RST.
lab_in h1 tc qdisc del dev eth0 clsact
peer_target_is_well early
lab_kill target
objects_gone "after the peer"

nothing_early "a good link"
wire loss 1%
early_set off
nothing_early "off"

early_set on
# Where much is missing, some of it overlaps what was placed early.
while IFS=, read -r link counts; do
	# shellcheck disable=SC2086 # words
	wire $link
	# shellcheck disable=SC2086 # words
	overlaps "$link" $counts
	traffic "$link"
done <<- 'END'
	loss 0.5%,
	loss 5%,rx_early_redone>=1
	delay 2ms reorder 30% 50%,rx_early_redone>=1
	delay 1ms 1ms loss 1% duplicate 5%,
END

wire loss 1%
traced "loss 1%"
long_messages "loss 1%"
for ((round = 1; round <= 3; round++)); do
	removed_meanwhile "removal $round"
done
traffic "after a removal"

# Without Markers there is nothing to go by, without CRCs nothing to check it by.
wire delay 2ms reorder 30% 50%
markers_ask off mpa1 mpa2
nothing_early "without Markers"

markers_ask on mpa1 mpa2
pruning "short of memory"

early_set inherit
