#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The possible results of the negotiation, and the packets on the wire: revisions 1
# and 2; Markers for neither side, one or both; CRCs requested by neither side, one
# or both. One request is enough for CRCs. Revision 0 is in 35-rdmac.
# lab run --no-kmemleak
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/lists.sh"

# device_is KEY YES NO WHO: a setting of both devices, YES for the ones in WHO, NO
# for the others. h1 has the Initiator.
device_is() {
	local initiator=$3 responder=$3
	case $4 in initiator | both) initiator=$2 ;; esac
	case $4 in responder | both) responder=$2 ;; esac
	device_set "$1" "$initiator" mpa1
	device_set "$1" "$responder" mpa2
}

# The side that asks for Markers receives them.
other_than() {
	case $1 in
	initiator) echo responder ;;
	responder) echo initiator ;;
	*) echo "$1" ;;
	esac
}

# modes_run NAME REVISION FALLBACK MODE...: a ping in each mode, all in one capture.
# A MODE names the sides that ask for Markers, and those that ask for CRCs. With
# FALLBACK 1 there are Requests of revision 2 that the Responder does not answer.
modes_run() {
	local name=$1 revision=$2 fallback=$3 markers crc mode nth=0
	shift 3
	capture_start "$name" h2
	for mode in "$@"; do
		read -r markers crc <<< "$mode"
		device_is markers on off "$markers"
		device_is crc required off "$crc"
		traffic_label="$name, Markers for $markers, CRCs for $crc"
		rping_pair h1 h2 1000 4
	done
	capture_end "$name"
	for mode in "$@"; do
		read -r markers crc <<< "$mode"
		capture_order "$name" --nth $((++nth)) --aligned \
			--revision "$revision" --fallbacks $((fallback * $#)) \
			--markers-from "$(other_than "$markers")" \
			--crc-from "$crc"
	done
}

# All combinations of both.
all=()
for who in none initiator responder both; do
	all+=("$who both" "$who initiator" "$who responder" "$who none")
done
# All results for CRCs, and two modes that show whether a fallback changes anything.
each=("none none" "none both" "initiator none" "initiator both"
	"responder none" "responder initiator" "both none" "both responder")
few=("none none" "both responder")

lab_devices 2
capture_real_segments h1 h2
modes_run revision-2 2 0 "${all[@]}"
device_set revision 1 mpa1
modes_run revision-1-initiator 1 0 "${few[@]}"
device_set revision 1 mpa2
modes_run revision-1-both 1 0 "${each[@]}"
device_set revision auto mpa1
modes_run revision-1-responder 1 1 "${few[@]}"
