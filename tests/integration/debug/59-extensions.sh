#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Messages of RFC 7306 between two devices: verbs of users, counters, and the wire as
# tshark and our own walk see it. Hostile input is in 52-peer, the startup bits byte by
# byte in 72-settings, a peer without these messages in 60-siw. Arguments choose cases by
# patterns of their names.
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/capture.sh"
. "$MPA_REPO/tests/integration/lib/lists.sh"
. "$MPA_REPO/tests/integration/lib/consumer.sh"

cases() {
	lab_check "cases: $*" ip netns exec h1 "$MPA_REPO/build/bin/verbs_test" "$@"
}

lab_devices 2
if (($#)); then
	cases "$@"
	exit
fi

# One connection: 12 lengths, none of them solicited. It is opened by another Write.
capture_start immediate h1
counters_mark
cases 'extensions: a Write with Immediate of every kind of length'
counters_grew "of Immediate Data" \
	mpa1 tx_imm=12 tx_write=12 rx_imm=0 conn_active=1 \
	mpa2 rx_imm=12 rx_write=13 tx_imm=0 conn_passive=1
capture_check immediate --opcodes 8=12,9=0

capture_start solicited h1
counters_mark
cases 'extensions: only a solicited one raises a solicited event'
counters_grew "of solicited Immediate Data" mpa1 tx_imm=2 mpa2 rx_imm=2
capture_check solicited --opcodes 8=1,9=1 --seen 4

# 8 rows of 4; then 6 of each kind.
capture_start atomic h1
counters_mark
cases 'extensions: atomic operations do what they should'
counters_grew "of atomic operations" \
	mpa1 tx_atomic_req=32 rx_atomic_resp=32 tx_atomic_resp=0 \
	mpa2 rx_atomic_req=32 tx_atomic_resp=32 rx_read_req=0
capture_check atomic --opcodes a=32,b=32

capture_start order h1
counters_mark
cases 'extensions: atomic operations and Reads are answered in their order'
counters_grew "of atomic operations and Reads" \
	mpa1 tx_atomic_req=6 tx_read_req=6 rx_atomic_resp=6 rx_read_resp=6 \
	mpa2 rx_atomic_req=6 rx_read_req=6 tx_atomic_resp=6 tx_read_resp=6
capture_check order --opcodes a=6,b=6

# The others.
cases 'extensions: [!ao]*' 'extensions: a [!W]*' 'extensions: one *'

lab_do ip -n h1 link set lo mtu 1500
kernel_consumer "MTU 1500"
# One segment to a message, one before them, and the Send in two: only one region can be locked.
lab_do ip -n h1 link set lo mtu 65536
kernel_consumer "MTU 65536" tx_segments=23

# Programs that others have written.
perf_pair h1 h2 ib_atomic_bw 8 200
perf_pair h1 h2 ib_atomic_bw 8 200 -A CMP_AND_SWAP
perf_pair h1 h2 ib_atomic_lat 8 100
list_qperf rc_rdma_write_bw
objects_gone "after the cases"
