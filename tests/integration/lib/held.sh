# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# While a sender is held up (mpa_hold), its region is invalidated by another QP: nothing
# that is written there afterwards may be sent. Or its peer ends by RST: what came whole
# before is received.

held_program=$MPA_REPO/build/bin/held

# held_invalidation NAME OPERATION OCTETS COUNTED...
held_invalidation() {
	counters_mark
	lab_check "invalidation $1: no stale octet is sent" \
		lab_in h1 timeout 120 "$held_program" 10.77.0.1 7600 "$2" "$3"
	counters_grew "invalidation $1" mpa1 tx_terminate=1 rx_terminate=1 "${@:4}"
}

# held_reset OCTETS: of the request that is held up.
held_reset() {
	counters_mark
	lab_check "RST while $1 octets are sent: what came whole is received" \
		lab_in h1 timeout 120 "$held_program" 10.77.0.1 7600 reset "$1"
	counters_grew "RST while $1 octets are sent" mpa1 conn_reset=1 rx_send=8
}

# Written on pages of our own; gathered, since segments are longer than these; with
# CRCs and without.
held_all() {
	local mtu crc
	lab_check "a sender can be held up" modprobe mpa_hold
	for mtu in 1500 65536; do
		lab_do ip -n h1 link set lo mtu "$mtu"
		for crc in required off; do
			device_set crc "$crc" mpa1
			held_invalidation "of a long Send, MTU $mtu, crc $crc" send 65536
			held_invalidation "of a short Send, MTU $mtu, crc $crc" send 64
			held_invalidation "of a Read Response, MTU $mtu, crc $crc" \
				read 65536 rx_rdmap_error=1
		done
	done
	device_set crc inherit mpa1
	held_reset 64
	held_reset 65536
	lab_check "senders are held up no more" modprobe -r mpa_hold
}
