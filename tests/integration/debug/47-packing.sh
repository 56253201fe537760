#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Sections 6 and 7 of draft-elzur-iwarp-mpa-tcp-analysis-00 measured: how many FPDUs share
# a segment, what it costs when they do not, and what a receiver must hold of FPDUs that
# are not aligned. A line of each row has the claim, what is expected here, and what was
# measured (Documentation/elzur.rst); stock/47-delays has those about delays. Arguments choose
# parts: full, default, options, held.
#
# EMSS is 1460 and 536 as in the draft where TCP has no options, and what Linux makes of
# MTU 1500 otherwise: 1448 with timestamps, 1420 if room is kept for SACK options.
# lab run --no-kmemleak
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/packing.sh"

# full_is NAME CLAIM N CAPTURE LABEL EMSS: each full segment has N FPDUs, there are full
# segments, and each segment begins and ends with FPDUs.
full_is() {
	look "$4" "$5" "$6"
	row "$1" "$2" "$3, $3, 0 unaligned" \
		"${figure[full_min]}, ${figure[full_max]}, ${figure[unaligned]} unaligned"
	lab_true "$1: of several full segments" "${figure[full]} >= 3"
}

# times EMSS: how many times the segments of a stream that fills each one.
times() {
	awk -v n="${figure[segments]}" -v all="${figure[octets]}" -v emss="$1" \
		'BEGIN { best = int((all + emss - 1) / emss); printf "%.3f", n / best }'
}

ratio() {
	awk -v a="$1" -v b="$2" 'BEGIN { printf "%.3f", a / b }'
}

# --- the draft's Ethernet segments -------------------------------------------------------

full_runs() {
	local before
	packing_begin full
	writes_run plain write 1 6000
	writes_run sends send 1 600
	ulpdus_run ulpdus 1 2000
	before=$(lab_counter mpa2 rx_segments)
	markers on
	writes_run markers write 1 6000
	row "ELZ-6-8: receivers take packed FPDUs" "receivers MUST support packing" 6000 \
		$(($(lab_counter mpa2 rx_segments) - before))
	writes_run "sends, Markers" send 1 600
	ulpdus_run "ulpdus, Markers" 1 2000
	markers inherit
	both h1 segments lone
	writes_run lone write 1 6000
	ulpdus_run "lone ulpdus" 1 2000
	writes_run "lone, long" write 3000 20
	writes_run "lone, acknowledged" write 1 600 120
	both h1 segments inherit
	writes_run acknowledged write 1 600 120
	ulpdus_run worst 726 10000
	ulpdus_run "one step less" 722 2000
	writes_run "queue pairs" write 712 2000
	stream_run stream $((10000 * 732))
	capture_end full
}

full_rows() {
	look full plain 1460
	row "ELZ-6-1: 24" "smallest FPDU 24" 24 "${figure[longest_fpdu]}"
	row "ELZ-6-5: 100 segments" "6000 FPDUs, packed" 100 "${figure[segments]}"
	full_is "ELZ-6-2: 60" "60 to an Ethernet frame" 60 full plain 1460
	full_is "ELZ-6-2: 60, Markers" "60 to an Ethernet frame" 60 full markers 1460
	look full markers 1460
	row "ELZ-6-5: 100 segments, Markers" "6000 FPDUs, packed" 100 "${figure[segments]}"
	full_is "ELZ-6-4: 52 of 28 at 1460" "-" 52 full sends 1460
	row "ELZ-6-1: 28, a Send" "-" 28 "${figure[longest_fpdu]}"
	full_is "ELZ-6-4: 51 of 28 at 1460, Markers" "-" 51 full "sends, Markers" 1460
	full_is "ELZ-6-4: 182 of 8 at 1460" "-" 182 full ulpdus 1460
	row "ELZ-6-1: 8, a socket" "-" 8 "${figure[longest_fpdu]}"
	full_is "ELZ-6-4: 181 of 8 at 1460, Markers" "-" 181 full "ulpdus, Markers" 1460
	look full lone 1460
	row "ELZ-6-5: 6000 segments, lone" "60 times the packets" \
		"6000 segments, 24 bytes each" \
		"${figure[segments]} segments, ${figure[longest_segment]} bytes each"
	look full "lone ulpdus" 1460
	row "ELZ-6-5: 2000 segments of a socket, lone" "60 times the packets" \
		"2000 segments, 8 bytes each" \
		"${figure[segments]} segments, ${figure[longest_segment]} bytes each"
	look full "lone, long" 1460
	row "ELZ-6-5: tails are lone, too" "zero or one FPDU to a segment" \
		"${figure[fpdus]} segments, 0 unaligned" \
		"${figure[segments]} segments, ${figure[unaligned]} unaligned"
	lab_is "three FPDUs to a long Write" "${figure[fpdus]}" 60
	look full "lone, acknowledged" 1460 600 120
	row "ELZ-6-6: 120 segments, lone" "120 segments, up to 60 ACKs" 120 \
		"${figure[segments]}"
	row_within "ELZ-6-6: ACKs, lone" "as many as 60 ACKs" 1 60 "${figure[acks]}"
	look full acknowledged 1460 600 120
	row "ELZ-6-6: 2 segments, packed" "two segments, a single ACK" 2 \
		"${figure[segments]}"
	row "ELZ-6-6: 1 ACK, packed" "two segments, a single ACK" 1 "${figure[acks]}"
}

worst_rows() {
	local stream
	look full stream plain
	stream=${figure[segments]}
	row_within "ELZ-7.2-2: the unaligned stream" "5,014 segments, by the model" \
		5014 5064 "$stream"
	look full worst 1460
	row "ELZ-7.2-1: 732" "worst FPDU EMSS/2 + 1: 731, no multiple of 4" 732 \
		"${figure[longest_fpdu]}"
	row "ELZ-7.2-2: 10,000 segments" "segments approach twice as many" \
		"10000 segments, 0 unaligned" \
		"${figure[segments]} segments, ${figure[unaligned]} unaligned"
	row "ELZ-7.2-2: 1.994 times the segments" "approaching 2x" 1.994 "$(times 1460)"
	row "ELZ-7.2-2: fill 0.501" "average segment about 1/2 of EMSS" 0.501 \
		"$(ratio "${figure[mean_octets]}" 1460)"
	look full "queue pairs" 1460
	row_within "ELZ-7.2-2: queue pairs cut messages instead" \
		"approaching 2x, if FPDUs cannot be cut" 1.0 1.01 "$(times 1460)"
	full_is "ELZ-7.2-3: 2 to a segment" "one step less is free" 2 full \
		"one step less" 1460
	row "ELZ-7.2-3: fill 0.997" "one step less is free" 0.997 \
		"$(ratio "${figure[full_octets]}" 1460)"
}

# --- the draft's default IP packets -------------------------------------------------------

default_part() {
	lab_mtu 576
	packing_begin default
	writes_run plain write 1 6000
	markers on
	writes_run markers write 1 6000
	markers inherit
	both h1 segments lone
	writes_run lone write 1 6000
	both h1 segments inherit
	capture_end default
	# tshark checks their CRCs.
	capture_order default --aligned --nth 1 --connections 1
	capture_order default --aligned --nth 2 --connections 1 --markers-from initiator \
		--seen 0
	capture_order default --aligned --nth 3 --connections 1
	lab_mtu 1500
	full_is "ELZ-6-3: 22" "22 to a default packet" 22 default plain 536
	row "ELZ-6-5: 273 segments" "6000 FPDUs, packed" 273 "${figure[segments]}"
	full_is "ELZ-6-3: 22, Markers" "22 to a default packet" 22 default markers 536
	look default lone 536
	row "ELZ-6-5: 6000 segments at 536, lone" "more than 20 times the packets" 6000 \
		"${figure[segments]}"
}

# --- what Linux does by default -----------------------------------------------------------

options_part() {
	packing_begin options
	writes_run fast write 1 6000
	# Markers need windows that are open: no more than may be sent at once.
	markers on
	writes_run "fast, Markers" write 1 420 420 420 420 420 420 420 420 420 420
	both h1 segments single
	writes_run "base, Markers" write 1 6000
	writes_run "base, sends, Markers" send 1 600
	ulpdus_run "base, ulpdus, Markers" 1 2000
	markers inherit
	writes_run base write 1 6000
	writes_run "base, sends" send 1 600
	ulpdus_run "base, ulpdus" 1 2000
	ulpdus_run "base, worst" 706 2000
	both h1 segments inherit
	ulpdus_run "fast, worst" 722 10000
	capture_end options
	full_is "ELZ-6-4: 60 at 1448" "-" 60 options fast 1448
	look options "fast, Markers" 1448
	row_within "ELZ-6-4: at least 59 at 1448, Markers" "-" 59 60 "${figure[full_min]}"
	row_within "ELZ-6-4: at most 60 at 1448, Markers" "-" 59 60 "${figure[full_max]}"
	row_within "ELZ-6-4: mean 59.18 at 1448, Markers" "-" 59.0 59.4 \
		"${figure[full_mean]}"
	full_is "ELZ-6-4: 59 at 1420" "-" 59 options base 1420
	full_is "ELZ-6-4: 58 at 1420, Markers" "-" 58 options "base, Markers" 1420
	full_is "ELZ-6-4: 50 of 28 at 1420" "-" 50 options "base, sends" 1420
	full_is "ELZ-6-4: 50 of 28 at 1420, Markers" "-" 50 options \
		"base, sends, Markers" 1420
	full_is "ELZ-6-4: 177 of 8 at 1420" "-" 177 options "base, ulpdus" 1420
	full_is "ELZ-6-4: 176 of 8 at 1420, Markers" "-" 176 options \
		"base, ulpdus, Markers" 1420
	look options "fast, worst" 1448
	row "ELZ-7.2-1: 728 at 1448" "EMSS/2 + 1" "728, 10000 segments" \
		"${figure[longest_fpdu]}, ${figure[segments]} segments"
	row "ELZ-7.2-2: 1.989 times the segments at 1448" "approaching 2x" 1.989 \
		"$(times 1448)"
	look options "base, worst" 1420
	row "ELZ-7.2-1: 712 at 1420" "EMSS/2 + 1" "712, 2000 segments" \
		"${figure[longest_fpdu]}, ${figure[segments]} segments"
	row "ELZ-7.2-2: 1.994 times the segments at 1420" "approaching 2x" 1.994 \
		"$(times 1420)"
}

# --- receive buffers -----------------------------------------------------------------------

held_part() {
	local n
	lab_check "ELZ-7-2: K1 is 0.5 on average, 1 at worst; ELZ-7-3: 0 bytes aligned" \
		"$bin/receive-buffers"
	lab_spawn hold h2 "$PYTHON" "$packing" hold 7604
	lab_wait_listen h2 7604
	for n in 10 100 200; do
		lab_check "ELZ-7-4: $n connections" ip netns exec h1 "$PYTHON" "$packing" \
			held "$address" 7604 "$n" "$(lab_pid hold)"
	done
	lab_kill hold
}

# --- all -----------------------------------------------------------------------------------

lab_devices 2
capture_real_segments h1 h2
parts=("${@:-full default options held}")
read -ra parts <<< "${parts[*]}"
# The first FPDU is a message, not one that opens the stream.
device_set peer-to-peer off mpa1
servers_start
tcp_options 0
for part in "${parts[@]}"; do
	case $part in
	full)
		full_runs
		full_rows
		worst_rows
		;;
	default) default_part ;;
	options)
		tcp_options 1
		options_part
		tcp_options 0
		;;
	held) ;;
	*) lab_not_ok "there is a part $part" ;;
	esac
done
servers_stop
[[ " ${parts[*]} " != *" held "* ]] || held_part
