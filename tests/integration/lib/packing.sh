# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Runs of FPDUs, and rows of the analysis with what was measured in captures of them.

. "$MPA_REPO/tests/integration/lib/capture.sh"
. "$MPA_REPO/tests/integration/lib/settings.sh"

bin=$MPA_REPO/build/bin
packing=$MPA_REPO/tests/integration/lib/packing.py
declare -A figure=() runs=()

# --- runs ------------------------------------------------------------------------------

# Of connection number N of the current capture, the Nth run from 1 on.
nth=0
address=10.77.0.2
# 7603: that server asks for Markers.
ulpdu_port=7601

# writes_run LABEL write|send BYTES COUNT...: by queue pairs. FPDUs have 20 bytes more than
# a Write, 24 more than a Send, and the pad.
writes_run() {
	runs[$1]=$((++nth))
	lab_check "$1: $4 FPDUs were sent" ip netns exec h1 \
		"$bin/writes" client "$address" 7600 "${@:2}"
}

# ulpdus_run LABEL BYTES COUNT...: by sockets. FPDUs have 6 bytes more, and the pad.
ulpdus_run() {
	runs[$1]=$((++nth))
	lab_check "$1: $3 FPDUs were sent" ip netns exec h1 "$PYTHON" "$packing" \
		send "$address" "$ulpdu_port" "${@:2}"
}

# stream_run LABEL BYTES: plain TCP.
stream_run() {
	runs[$1]=$((++nth))
	lab_check "$1: $2 bytes were sent" ip netns exec h1 "$PYTHON" "$packing" \
		stream "$address" 7602 "$2"
}

servers_start() {
	lab_spawn writes h2 "$bin/writes" server "$address" 7600
	lab_spawn ulpdus h2 "$PYTHON" "$packing" receive 7601
	lab_spawn sink h2 "$PYTHON" "$packing" sink 7602
	lab_spawn markers h2 "$PYTHON" "$packing" receive 7603 markers
	lab_wait_listen h2 7600
	lab_wait_listen h2 7601
	lab_wait_listen h2 7602
	lab_wait_listen h2 7603
}

servers_stop() {
	lab_kill writes
	lab_kill ulpdus
	lab_kill sink
	lab_kill markers
}

# both HOST KEY VALUE...: for its sockets and its device.
both() {
	mpactl_in "$1" set "${@:2}"
}

# markers on|inherit: whether h2 asks for them. The socket's parameters say so themselves.
markers() {
	both h2 markers "$1"
	ulpdu_port=7601
	[[ $1 != on ]] || ulpdu_port=7603
}

# packing_begin NAME [NETDEV [HOST]]
packing_begin() {
	nth=0
	runs=()
	capture_start "$1" "${3:-h2}" "${2:-eth0}"
}

# tcp_options 0|1: timestamps and SACK.
tcp_options() {
	lab_in h1 sysctl -q -w net.ipv4.tcp_timestamps="$1" net.ipv4.tcp_sack="$1"
}

# --- rows ------------------------------------------------------------------------------

# look CAPTURE LABEL EMSS [SKIP COUNT]: sets figure[], from the capture.
look() {
	local name value
	figure=()
	while IFS='=' read -r name value; do
		figure[$name]=$value
	done < <("$PYTHON" "$packing" measure "$LAB_OUT/$1.pcapng" "${runs[$2]}" "${@:3}")
	lab_note "$2: $(for name in "${!figure[@]}"; do
		printf '%s %s, ' "$name" "${figure[$name]}"
	done)"
}

# row NAME CLAIM WANTED GOT: exact.
row() {
	lab_note "$1 | claim: $2 | expected: $3 | measured: $4"
	lab_is "$1" "$4" "$3"
}

# row_within NAME CLAIM LEAST MOST GOT: numbers, perhaps with a fraction.
row_within() {
	lab_note "$1 | claim: $2 | expected: $3 to $4 | measured: $5"
	lab_check "$1" awk -v got="$5" -v least="$3" -v most="$4" \
		'BEGIN { exit !(got != "" && got + 0 >= least && got + 0 <= most) }'
}
