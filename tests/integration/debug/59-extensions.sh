#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Messages of RFC 7306 between two devices: verbs of users, counters, and the wire as
# tshark and our own walk see it. Hostile input is in 52-peer, the startup bits byte by
# byte in 72-settings, a peer without these messages in 60-siw. Arguments choose cases by
# patterns of their names.
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/capture.sh"
. "$MPA_REPO/tests/integration/lib/counters.sh"
. "$MPA_REPO/tests/integration/lib/objects.sh"

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

cases 'extensions:*'
objects_gone "after the cases"
