#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Settings, made with mpactl: their effect. Their values are in tests/netlink. Bytes and
# events are in settings_cases.py; here are the packets of two devices with the settings,
# checked with tshark. Arguments choose cases by the beginning of their names; "wire" is
# all of this file.
# lab run --no-kmemleak
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/lists.sh"

. "$MPA_REPO/tests/integration/lib/cases.sh"

# shellcheck disable=SC2034 # it is read in lib.sh
lab_sets_nothing=1

# --- on the wire ------------------------------------------------------------------

# settings_of HOST KEY VALUE...: on its device; other settings are inherited.
settings_of() {
	local host=$1 device key words=()
	device=$(traffic_device "$1")
	shift
	for key in crc markers revision permissive exchange peer-to-peer rtr ird \
		ord segments; do
		[[ " $* " == *" $key "* ]] || words+=("$key" inherit)
	done
	mpactl_in "$host" set dev "$device" "${words[@]}" "$@"
}

# What tshark must find, one line of options for each connection.
wire_wanted=()

# wire_ping NAME INITIATOR_SETTINGS RESPONDER_SETTINGS OPTION...: a ping under these
# settings; OPTIONs are those of check_capture.py.
wire_ping() {
	local initiator responder
	read -r -a initiator <<< "$2"
	read -r -a responder <<< "$3"
	settings_of h1 "${initiator[@]}"
	settings_of h2 "${responder[@]}"
	traffic_label="with $1"
	rping_pair h1 h2 1000 3
	wire_wanted+=("${*:4}")
}

# rping's consumer requests depths of 1.
wire_all() {
	local nth=0 options
	capture_real_segments h1 h2
	capture_start settings h2
	wire_ping "nothing set" "" "" --revision 2 --crc-from both \
		--request 1,1,write+read --reply 1,1,write+read
	wire_ping "CRCs off" "crc off" "crc off" --revision 2 --crc-from none
	wire_ping "Markers" "markers on" "markers on" --revision 2 --crc-from both \
		--markers-from both
	wire_ping "revision 1" "revision 1" "" --revision 1 --request plain \
		--reply plain
	wire_ping "revision 2" "revision 2" "revision 2" --revision 2
	wire_ping "revision 0" "revision 0" "permissive on" --revision 0 \
		--version 0 --markers-from both
	wire_ping "a revision older" "" "revision 1" --revision 1
	wire_ping "plain exchange" "exchange plain" "" --revision 1 --request plain \
		--reply plain
	wire_ping "no peer-to-peer" "peer-to-peer off" "" --request 1,1 --reply 1,1
	wire_ping "RTR by Write" "rtr write" "" --request 1,1,write \
		--reply 1,1,write
	wire_ping "RTR by Read" "" "rtr read" --request 1,1,write+read \
		--reply 1,1,read
	capture_end settings
	for options in "${wire_wanted[@]}"; do
		# shellcheck disable=SC2086 # words
		capture_order settings --nth $((++nth)) --aligned --fallbacks 1 \
			$options
	done
	settings_of h1
	settings_of h2
}

# --- segments ------------------------------------------------------------------------

# segments_run auto|single|lone: how many DDP segments, and calls into TCP, a run of long
# messages takes.
segments_run() {
	local before
	device_set segments "$1" mpa1
	before="$(lab_counter mpa1 tx_segments) $(lab_counter mpa1 tx_batches)"
	traffic_label="segments $1"
	perf_pair h1 h2 ib_write_bw 65536 20
	read -r segments batches <<< "$before"
	segments=$(($(lab_counter mpa1 tx_segments) - segments))
	batches=$(($(lab_counter mpa1 tx_batches) - batches))
	lab_note "segments $1: $segments DDP segments in $batches calls"
}

segments_all() {
	local segments batches
	lab_in h1 ethtool -K eth0 tso on gso on
	segments_run single
	# The ends of two messages may share a segment of TCP.
	lab_true "single: a call for each segment" \
		"$batches * 20 >= $segments * 19"
	segments_run lone
	lab_true "lone: a call for each segment, tails included" \
		"$batches == $segments"
	segments_run auto
	lab_true "auto: many segments per call" "$batches * 4 < $segments"
	device_set segments inherit mpa1
}

# FPDUs of 88 bytes. Sixteen fit into a segment at this MTU, and at most fifteen if
# it had to keep room for a longer one.
segments_packed() {
	local bench=$MPA_REPO/build/bin/mpa-bench lists=100 before
	lab_spawn server h2 "$bench" server --once --quiet --timeout 120 \
		10.77.0.2 --port 7600
	lab_check "short messages: server listens" lab_wait_listen h2 7600 60
	before=$(lab_counter mpa1 tx_batches)
	lab_check "short messages: client" ip netns exec h1 "$bench" rate --op send \
		--size 64 --list 32 --count $((lists * 32)) --warm-up-count 32 \
		--timeout 120 --port 7600 10.77.0.2
	lab_check "short messages: server" lab_join server 120
	before=$(($(lab_counter mpa1 tx_batches) - before))
	lab_note "$before calls for $((lists + 1)) lists of 32 messages"
	lab_true "short messages fill their segments" "$before * 10 < $lists * 23"
}

lab_devices 2
cases_open "$MPA_REPO/tests/integration/settings_cases.py" 100

if (($#)); then
	for prefix in "$@"; do
		if [[ $prefix == wire ]]; then
			wire_all
			segments_all
			segments_packed
		else
			cases_run "$prefix"
		fi
	done
	exit
fi

cases_run initiator
cases_run responder
cases_run time
cases_run half_open
cases_run running
cases_run startup
cases_run sockets
wire_all
segments_all
segments_packed
