#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What ss prints of sockets with MPA and with framing; tests/iproute2/run builds it.
. "$MPA_REPO/tests/lab/guest/lib.sh"

ss=$MPA_REPO/build/bin/ss

# shows NAME PATTERN FILTER...: of the socket that the filter finds, behind the protocol.
shows() {
	local line
	line=$(ip netns exec h1 "$ss" -Htina "${@:3}")
	lab_note "$1: $line"
	lab_check "ss: $1" grep -qE " tcp-ulp-mpa $2( |\$)" <<< "$line"
}

lab_hosts 1
lab_seed
lab_do modprobe mpa
lab_do ip -n h1 link set lo up
lab_spawn sockets h1 "$PYTHON" "$MPA_REPO/tests/iproute2/sockets.py"
lab_check "the sockets are ready" lab_wait 30 grep -q ready "$LAB_OUT/sockets.log"
shows "an Initiator, and Markers that it inserts" "state: operational role: initiator \
revision: [12] markers: tx crc: on mulpdu: [0-9]+ tx-fpdus: 3 rx-fpdus: 1" 'dport = 7001'
shows "a Responder, and Markers that it gets" "state: operational role: responder \
revision: [12] markers: rx crc: on mulpdu: [0-9]+ tx-fpdus: 1 rx-fpdus: 3" 'sport = 7001'
shows "a Responder without a Request" "state: wait-request role: responder \
tx-fpdus: 0 rx-fpdus: 0" 'sport = 7002'
shows "a socket that is not started" "state: streaming tx-fpdus: 0 rx-fpdus: 0" 'dport = 7003'
shows "aligned, sending" "state: framed send: align receive: plain emss: [0-9]+ emergency \
tx-pdus: 2 tx-frames: 2" 'dport = 7004'
shows "aligned, receiving" "state: framed send: plain receive: align( emss: [0-9]+)? \
rx-frames: 2" 'sport = 7004'
shows "markers" "state: framed send: markers send-interval: 512 receive: markers \
receive-interval: 4096( emss: [0-9]+)?" 'dport = 7005'
shows "a listening socket" "state: listening tx-fpdus: 0 rx-fpdus: 0" \
	'sport = 7006'
plain=$(ip netns exec h1 "$ss" -Htina 'dport = 7002')
lab_is "ss: the plain socket" "$(grep -c ESTAB <<< "$plain")" 1
lab_is "ss: nothing of MPA on plain TCP" "$(grep -c mpa <<< "$plain" || true)" 0
lab_kill sockets
