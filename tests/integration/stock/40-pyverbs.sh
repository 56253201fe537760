#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# rdma-core's own Python tests. Both ends of a connection are on one device: the
# suite knows one address only.
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/lists.sh"

lab_devices 2
# Reading memory waits for TCP's acknowledgement of what was written to it.
lab_do ip -n h1 route change local 10.77.0.1 dev eth0 table local proto kernel scope host \
	src 10.77.0.1 quickack 1
status=0
lab_in h1 "$PYTHON" "$MPA_REPO/tests/integration/lib/suite.py" \
	--dev mpa1 --netdev eth0 --port 1 --gid 0 \
	--list "$MPA_REPO/tests/integration/lib/pyverbs-skip.txt" "$@" \
	> "$LAB_OUT/suite.log" 2>&1 || status=$?
# Its result lines become results of this script.
while read -r line; do
	case $line in
	'ok '*)     lab_ok "${line#ok * - }" ;;
	'not ok '*) lab_not_ok "${line#not ok * - }" ;;
	*)          printf '%s\n' "$line" ;;
	esac
done < "$LAB_OUT/suite.log"
lab_is "exit status of the suite" "$status" 0
objects_gone "after the suite"
