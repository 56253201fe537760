# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# A region is invalidated while another QP's sender is held up (mpa_hold): nothing
# that is written there afterwards may be sent.

invalidate_program=$MPA_REPO/build/bin/invalidate

# invalidate_case NAME OPERATION OCTETS COUNTED...
invalidate_case() {
	counters_mark
	lab_check "invalidation $1: no stale octet is sent" \
		lab_in h1 timeout 120 "$invalidate_program" 10.77.0.1 7600 "$2" "$3"
	counters_grew "invalidation $1" mpa1 tx_terminate=1 rx_terminate=1 "${@:4}"
}

# Written on pages of our own; gathered, since segments are longer than these; with
# CRCs and without.
invalidate_all() {
	local mtu crc
	lab_check "a sender can be held up" modprobe mpa_hold
	for mtu in 1500 65536; do
		lab_do ip -n h1 link set lo mtu "$mtu"
		for crc in required off; do
			device_set crc "$crc" mpa1
			invalidate_case "of a long Send, MTU $mtu, crc $crc" send 65536
			invalidate_case "of a short Send, MTU $mtu, crc $crc" send 64
			invalidate_case "of a Read Response, MTU $mtu, crc $crc" \
				read 65536 rx_rdmap_error=1
		done
	done
	device_set crc inherit mpa1
	lab_check "senders are held up no more" modprobe -r mpa_hold
}
