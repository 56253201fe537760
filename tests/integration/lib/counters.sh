# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Counters of the devices, and what a test expects. A test marks the counters, does
# something, and states by how much each must have grown:
#
#	counters_mark
#	...
#	counters_grew "of a ping" mpa1 tx_send=2 mpa2 "rx_bytes>=128"
#
# Counters of errors must not have grown at all, unless they are named.

declare -gA counters_before=()

# Seconds within which the effects of a program are counted.
counters_limit=30

# Counters that change only if the peer or the device violated the protocol.
counters_bad=(rx_crc_error rx_marker_error rx_length_error rx_ddp_error
	rx_rdmap_error tx_terminate rx_terminate cq_overflow conn_startup_error
	conn_half_open_drop)

# counters_read ARRAY: every counter of every device, under "DEVICE NAME". rdma(8)
# reports an error for a device without counters, such as siw; here it is none.
counters_read() {
	local -n counters_into=$1
	local device name value
	counters_into=()
	while read -r device name value; do
		# shellcheck disable=SC2034 # it is the caller's
		counters_into["${device%/*} $name"]=$value
	done < <(lab_statistic 2> /dev/null)
}

# Growth is counted from here on; a device that comes later begins at zero.
counters_mark() {
	local device
	counters_read counters_before
	for device in /sys/class/infiniband/mpa*; do
		device=${device##*/}
		[[ $device == 'mpa*' || -v counters_before["$device rx_bytes"] ]] ||
			lab_not_ok "counters of $device before" "rdma shows none"
	done
}

# counters_hold DEVICE NAME=N|NAME>=N... [DEVICE ...]: true if each has grown by that
# since the mark, and no other error counter on any device; prints those that have
# not.
counters_hold() {
	local word device name grown good=0
	local -A now named=()
	counters_read now
	for word in "$@" $(counters_of_protocol); do
		if [[ $word != *=* ]]; then
			device=$word
			continue
		fi
		name=${word%%[>=]*}
		# Counters that the caller names come first.
		[[ ! -v named["$device $name"] ]] || continue
		named["$device $name"]=1
		if [[ ! -v now["$device $name"] ]]; then
			echo "$device has no counter $name"
			good=1
			continue
		fi
		grown=$((now["$device $name"] - ${counters_before["$device $name"]:-0}))
		if [[ $word == *'>='* ]] && ((grown >= ${word##*=})); then
			continue
		elif [[ $word != *'>='* ]] && ((grown == ${word##*=})); then
			continue
		fi
		echo "$device $name grew by $grown, wanted ${word#"$name"}"
		good=1
	done
	return "$good"
}

# Checks that no errors were counted on any mpa device. Reads the caller's array.
counters_of_protocol() {
	local key device
	for key in "${!now[@]}"; do
		if [[ $key == *' tx_terminate' ]]; then
			device=${key% *}
			echo "$device ${counters_bad[*]/%/=0}"
		fi
	done
}

# counters_grew WHAT DEVICE NAME=N|NAME>=N... [DEVICE ...]: a result line. The
# effects of a program may be counted shortly after its end.
counters_grew() {
	local what=$1
	shift
	lab_check "counters $what" lab_wait "$counters_limit" counters_hold "$@"
}
