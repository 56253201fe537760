#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Connections on two processors, a pair of programs on each, take no lock in common:
# the kernel's own statistics of locks show which ones messages take. A pair on one
# processor leaves the other one alone.
. "$MPA_REPO/tests/lab/guest/lib.sh"

lab_devices 2
bench=$MPA_REPO/build/bin/mpa-bench
messages=20000

# locks_pair CPU PORT ARGUMENT...: a pair of programs on that processor.
locks_pair() {
	lab_spawn "server$1" h2 taskset -c "$1" "$bench" server --port "$2"
	lab_check "processor $1: the server listens" lab_wait_listen h2 "$2"
	lab_spawn "client$1" h1 taskset -c "$1" "$bench" "${@:3}" --wait event --port "$2" \
		--count "$messages" --warm-up-count 0 --timeout 120 10.77.0.2
}

# locks_case NAME ARGUMENT...: both pairs at once.
locks_case() {
	echo 0 > /proc/lock_stat
	echo 1 > /proc/sys/kernel/lock_stat
	locks_pair 0 7610 "${@:2}"
	locks_pair 1 7611 "${@:2}"
	lab_check "$1: the client on processor 0" lab_join client0
	lab_check "$1: the client on processor 1" lab_join client1
	echo 0 > /proc/sys/kernel/lock_stat
	lab_kill server0
	lab_kill server1
	lab_check "$1: no lock in common" "$PYTHON" \
		"$MPA_REPO/tests/integration/lib/lock_stat.py" "$MPA_REPO/kernel" \
		$((2 * messages)) < /proc/lock_stat
}

locks_case "short Sends in lists" rate
locks_case "round trips" latency
locks_case "Reads" latency --op read
locks_case "long Writes" write --size 16K

# busy CPU: how long it has worked, in clock ticks.
busy() {
	awk -v cpu="cpu$1" '$1 == cpu { print $2 + $3 + $4 + $7 + $8 }' /proc/stat
}

# stays_case NAME ARGUMENT...: a pair on processor 0. Programs start, and connections are
# set up, on any.
stays_case() {
	local before=("$(busy 0)" "$(busy 1)")
	locks_pair 0 7612 "${@:2}"
	lab_check "$1: the client on processor 0" lab_join client0
	lab_kill server0
	lab_true "$1: little work on processor 1" \
		"4 * ($(busy 1) - ${before[1]}) < $(busy 0) - ${before[0]}"
}

messages=10000
stays_case "round trips" latency
# The responder sends them in work of its own.
messages=3000
stays_case "long Reads" read --size 64K
