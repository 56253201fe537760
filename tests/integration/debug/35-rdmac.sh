#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# A device that uses only the protocols of the RDMA Consortium, and a permissive one
# (RFC 5044 appendix C): traffic in both roles, and version 0 in everything on the
# wire, with Markers in both directions.
# lab run --no-kmemleak
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/lists.sh"

# rdmac_run NAME CLIENT SERVER: pings and perftest's programs in a capture.
rdmac_run() {
	local tool
	traffic_label=$1
	capture_start "$1" h2
	rping_pair "$2" "$3" 4096 5
	for tool in ib_write_bw ib_read_bw ib_send_bw; do
		perf_pair "$2" "$3" "$tool" 65536 5
	done
	# perftest makes a separate connection to exchange parameters.
	capture_check "$1" --aligned --markers-from both --version 0 \
		--connections 7
}

lab_devices 2
capture_real_segments h1 h2
device_set revision 0 mpa1
device_set permissive on mpa2
rdmac_run rdmac-initiator h1 h2
# A Request of revision 2 would be sent first, and not be answered.
device_set revision 1 mpa2
rdmac_run rdmac-responder h2 h1
device_set revision 0 mpa2
rdmac_run rdmac-both h1 h2
