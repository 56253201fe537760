#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Shared receive queues: the cases of srq_test, among them 1,024 queue pairs on one
# queue, and rings and indices that no provider writes; a kernel consumer; programs of
# perftest; rdma-core's Python bindings; what rdma shows. Arguments choose areas of
# srq_test, alone.
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/traffic.sh"

srq_test=$MPA_REPO/build/bin/srq_test

# What an area counts, where it is certain.
declare -A counted=(
	# One message too many, with a shared queue and without.
	[empty]="mpa1 tx_send=4 rx_terminate=2 mpa2 rx_send=2 rx_ddp_error=2 tx_terminate=2"
	# Five rounds of all queue pairs, and one without those that have ended.
	[crowd]="mpa1 tx_send=12272 conn_active=1024 mpa2 rx_send=12272 conn_passive=1024"
	# A message that is too long.
	[short]="mpa1 tx_send=2 rx_terminate=1 mpa2 rx_send=1 rx_ddp_error=1 tx_terminate=1"
)

# srq_area AREA
srq_area() {
	counters_mark
	lab_check "all cases of $1" ip netns exec h1 "$srq_test" "$1:*"
	if [[ -v counted[$1] ]]; then
		# shellcheck disable=SC2086 # words
		counters_grew "of $1" ${counted[$1]}
	fi
}

# What two programs see of a queue that they did not create.
srq_shown() {
	local shown
	lab_spawn holder h2 "$PYTHON" "$MPA_REPO/tests/integration/lib/srq_holder.py" mpa2
	lab_check "a program of Python holds a queue" \
		lab_wait 60 log_has holder '^holding'
	lab_check "created by ibv_create_srq_ex as well" \
		log_has holder '^created by ibv_create_srq_ex'
	lab_check "sizes and limit are as granted" log_has holder '^has 128 2 5$'
	lab_check "another size is refused clearly" \
		log_has holder '^resizing: .*(not supported|Errno: 95)'
	shown=$(rdma resource show srq dev mpa2)
	lab_note "$shown"
	lab_check "rdma resource: a queue, its type and its owner" \
		grep -qE "^dev mpa2 srqn [0-9]+ type BASIC .*pid $(lab_pid holder) " \
		<<< "$shown"
	lab_is "rdma resource: two queue pairs of it" \
		"$(rdma resource show qp link mpa2 type RC | grep -c " pid $(lab_pid holder) ")" 2
	lab_check "its number of receives is shown" srq_details
	kill -USR1 "$(lab_pid holder)"
	lab_check "it is released" lab_join holder
	lab_check "nothing is left" lab_gone rdma resource show srq dev mpa2
}

# The receive queue of its queue pairs.
srq_details() {
	[[ $(rdma -dd resource show qp link mpa2 type RC | tr -s '\n\t ' ' ') == \
		*' drv_rq_size 0 drv_rq_posted 0 '* ]]
}

lab_devices 2
if (($#)); then
	for area in "$@"; do
		srq_area "$area"
	done
	exit
fi
areas=$("$srq_test" --list | sed 's/:.*//' | sort -u)
lab_true "there are areas" "${#areas} > 0"
for area in $areas; do
	srq_area "$area"
done
objects_gone "after the cases"

lab_do modprobe mpa_shared device=mpa1
lab_is "a kernel consumer" "$(cat /sys/module/mpa_shared/parameters/result)" ok
lab_do modprobe -r mpa_shared

# With more queue pairs perftest sends more than it has receives for, and relies on
# InfiniBand's retries.
perf_pair h1 h2 ib_send_bw 4097 50 --use-srq
perf_pair h1 h2 ib_send_lat 64 50 --use-srq
srq_shown
