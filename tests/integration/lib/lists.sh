# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# The lists of exchanges. The debug configuration runs them in full; emulated
# processors, on which everything takes many times longer, run the same with the
# shorter values below. A list needs two hosts with a device each and leaves them
# idle.

. "$MPA_REPO/tests/integration/lib/traffic.sh"
. "$MPA_REPO/tests/integration/lib/capture.sh"
. "$MPA_REPO/tests/integration/lib/settings.sh"
if [[ ${LAB_MACHINE:-uml} == uml ]]; then
	list_mtus=(1500 9000)
	list_families=(ipv4 ipv6)
	list_rping_sizes=(4096 65535)
	list_pings=20
	list_clients=8
	list_rcopy_mebibytes=64
	# Size, transfers in each iteration, iterations.
	list_streams=("1 1 50" "64 1 50" "1000 1 50" "16384 1 20" "65536 1 10"
		"64 100 10" "1000 100 10" "4096 50 10" "65536 10 10"
		"1048576 2 4")
	list_perf_sizes=(1 4097 1048575)
	list_perf_tools=(ib_send_bw ib_write_bw ib_read_bw
		ib_send_lat ib_write_lat ib_read_lat)
	# With several queue pairs, and in both directions.
	list_perf_wide=(ib_send_bw ib_write_bw ib_read_bw)
	list_iterations=10
	# Program and the side of it that is killed.
	list_victims=("rping client" "rping server"
		"ib_write_bw client" "ib_write_bw server"
		"ib_read_bw client" "ib_send_bw server")
else
	list_mtus=(1500)
	list_families=(ipv4 ipv6)
	list_rping_sizes=(64 65535)
	list_pings=5
	list_clients=4
	list_rcopy_mebibytes=2
	list_streams=("1000 1 10" "65536 4 2")
	list_perf_sizes=(4097)
	list_perf_tools=(ib_send_bw ib_write_bw ib_read_bw ib_send_lat)
	list_perf_wide=()
	list_iterations=5
	list_victims=("rping server" "ib_write_bw client")
fi

. "$MPA_REPO/tests/integration/lib/death.sh"

# Both devices play both roles with every size, over each family and MTU.
list_rping() {
	local mtu size
	for mtu in "${list_mtus[@]}"; do
		lab_mtu "$mtu"
		traffic_label="mtu $mtu"
		for family in "${list_families[@]}"; do
			for size in "${list_rping_sizes[@]}"; do
				rping_pair h1 h2 "$size" "$list_pings"
			done
		done
	done
	traffic_label=
	family=ipv4
	for size in "${list_rping_sizes[@]}"; do
		rping_pair h2 h1 "$size" "$list_pings"
	done
	lab_mtu 1500
	rping_many h1 h2 4096 "$list_pings" "$list_clients"
	for family in "${list_families[@]}"; do
		ucmatose_pair h1 h2 4 10 1000
	done
	family=ipv4
}

list_streams() {
	local entry modes=(bb nn ba) n=0
	rcopy_file h1 h2 "$list_rcopy_mebibytes"
	for entry in "${list_streams[@]}"; do
		# shellcheck disable=SC2086 # three words
		stream_pair rstream h1 h2 $entry "${modes[n % 3]}"
		n=$((n + 1))
	done
	family=ipv6
	stream_pair rstream h2 h1 1000 10 5 bb
	family=ipv4
	stream_pair riostream h1 h2 65536 1 5 bb
}

list_perftest() {
	local tool size
	for tool in "${list_perf_tools[@]}"; do
		for size in "${list_perf_sizes[@]}"; do
			perf_pair h1 h2 "$tool" "$size" "$list_iterations"
		done
	done
	for tool in "${list_perf_wide[@]}"; do
		perf_pair h1 h2 "$tool" 65536 "$list_iterations" -q 4
		perf_pair h1 h2 "$tool" 65536 "$list_iterations" -b
	done
	perf_pair h2 h1 ib_write_bw 65536 "$list_iterations" -q 4 -b
}

list_death() {
	local entry
	for entry in "${list_victims[@]}"; do
		# shellcheck disable=SC2086 # two words
		death_of $entry
	done
	death_spares_the_others
	death_of_devices
}

# qperf's tests of connected queue pairs, each with the counters that must have grown, of
# the client and of the server. The ends do not agree on when receives are posted: at the
# end of rc_bi_bw the server posts none for what is still on its way, and waits to be
# disconnected, which comes behind that; and a server may be slower than its client. With
# an argument, only that test.
list_qperf() {
	local test client server device only=${1-} ran=0
	for device in mpa1 mpa2; do
		device_set receive-wait 10s "$device"
	done
	while read -r test client server; do
		[ "${only:-$test}" = "$test" ] || continue
		ran=$((ran + 1))
		counters_mark
		qperf_pair h1 h2 "$test"
		counters_grew "of $test" mpa1 ${client//,/ } mpa2 ${server//,/ }
	done <<- 'END'
		rc_bw tx_send>=20 rx_send>=20,rx_receive_late=0
		rc_bi_bw tx_send>=20,rx_send>=20,rx_terminate>=0 tx_send>=20,tx_terminate>=0,rx_ddp_error>=0
		rc_lat tx_send>=20,rx_send>=20 tx_send>=20,rx_receive_late=0
		rc_rdma_read_bw tx_read_req>=20 rx_read_req>=20,rx_receive_late=0
		rc_rdma_read_lat tx_read_req>=20 rx_read_req>=20,rx_receive_late=0
		rc_rdma_write_bw tx_imm>=20 rx_imm>=20,rx_receive_late=0
		rc_rdma_write_lat tx_imm>=20,rx_imm>=20 tx_imm>=20,rx_receive_late=0
		rc_rdma_write_poll_lat tx_write>=10,rx_write>=10 tx_write>=10,rx_receive_late=0
	END
	lab_true "qperf: the tests of the list" "$ran > 0"
	for device in mpa1 mpa2; do
		device_set receive-wait inherit "$device"
	done
}
