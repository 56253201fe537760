# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# The peer that violates the protocol (tests/peer) on h1, against the RNIC of h2.

. "$MPA_REPO/tests/integration/lib/counters.sh"
. "$MPA_REPO/tests/integration/lib/target.sh"

peer_program=$MPA_REPO/build/bin/mpa-peer
target_program=$MPA_REPO/build/bin/rnic-target
target_port=7600
control_port=7601

# Runs the peer. Its output is shown, since it contains result lines; its last line
# has the expected counters of the device. The peer's results have a separate plan.
peer_run() {
	local label=$1 status=0
	shift
	echo "+ [h1] mpa-peer run $*"
	ip netns exec h1 "$peer_program" run --target "10.77.0.2:$target_port" \
		--control "10.77.0.2:$control_port" --here 10.77.0.1 "$@" \
		| tee "$LAB_OUT/peer-$label.log" || status=$?
	lab_is "$label: every case ends as it must" "$status" 0
}

# peer_counted LABEL: refusals, errors and early placement are counted exactly, the rest at
# least.
peer_counted() {
	local line word words=()
	line=$(grep '^# counted' "$LAB_OUT/peer-$1.log") || {
		lab_not_ok "$1: the peer says what must be counted"
		return
	}
	for word in ${line#'# counted'}; do
		case " ${counters_bad[*]} conn_rejected conn_fallback rx_early \
			rx_early_left rx_early_used rx_early_redone " in
		*" ${word%%=*} "*) words+=("$word") ;;
		*) words+=("${word/=/>=}") ;;
		esac
	done
	counters_grew "of the cases as $1" mpa2 "${words[@]}"
}

# peer_terminates_traced FILE: the trace has each Terminate since the mark. TCP may have ended
# before one could be sent.
peer_terminates_traced() {
	local -A now
	local sent received
	counters_read now
	sent=$((now["mpa2 tx_terminate"] - counters_before["mpa2 tx_terminate"]))
	received=$((now["mpa2 rx_terminate"] - counters_before["mpa2 rx_terminate"]))
	lab_is "Terminates received, in the trace" "$(grep -c 'remote fault=' "$1")" "$received"
	lab_true "$sent Terminates sent are in the trace" \
		"$sent > 0 && $(grep -c 'local fault=' "$1") >= $sent"
}

# A connection may end later for the application than on the wire: at worst when a limit of
# startup is over.
peer_target_is_well() {
	lab_check "$1: the target has no connection left, and no complaint" \
		target_at_rest "$control_port" 60
	lab_check "$1: the target runs" lab_running target
}

# Starts the target on h2, as job `target`.
peer_target_start() {
	lab_spawn target h2 "$target_program" 10.77.0.2 "$target_port" "$control_port"
	lab_wait_listen h2 "$control_port" 60
	target_complaints_arrive "$control_port"
}
