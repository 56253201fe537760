# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# The kernel consumer of the lab, connected to itself through mpa1.

consumer_parameters=/sys/module/mpa_extended/parameters

# kernel_consumer NAME [COUNTER=N...]: it reads 16 KiB of its region and 2 KiB, sends pieces
# of two regions, and does one Write with Immediate and seven atomic operations.
kernel_consumer() {
	counters_mark
	lab_do ip netns exec h1 modprobe mpa_extended address=10.77.0.1
	lab_is "a kernel consumer, $1" "$(< "$consumer_parameters/result")" ok
	lab_do modprobe -r mpa_extended
	counters_grew "of a kernel consumer, $1" mpa1 tx_read_req=2 tx_read_resp=2 \
		tx_send=1 rx_send=1 tx_imm=1 rx_imm=1 tx_atomic_req=7 rx_atomic_resp=7 "${@:2}"
}
