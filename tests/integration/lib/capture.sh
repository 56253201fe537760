# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Captures that tests/integration/run checks with tshark once the guest has ended; a
# script gives the options here.

# capture_start NAME HOST [NETDEV]
capture_start() {
	lab_capture "$@"
}

# capture_check NAME [OPTION...]: ends the capture, and has it checked; OPTIONs are
# those of check_capture.py.
capture_check() {
	capture_end "$1"
	capture_order "$@"
}

# capture_end NAME
capture_end() {
	lab_capture_end "$1"
	lab_check "no packet is missing in capture $1" \
		grep -qE 'received/dropped .*: [1-9][0-9]*/0 ' "$LAB_OUT/$1.log"
}

# capture_order NAME [OPTION...]: has a finished capture checked, possibly in several
# ways.
capture_order() {
	printf '%s.pcapng %s\n' "$1" "${*:2}" >> "$LAB_OUT/captures.list"
}

# Without offloads the capture shows the segments of the wire.
capture_real_segments() {
	local host
	for host in "$@"; do
		lab_in "$host" ethtool -K eth0 tso off gso off gro off
	done
}
