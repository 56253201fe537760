#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# mpactl probe, as an unprivileged user, against everything that may be at a port:
# our devices and sockets, peers of each revision, other services, and nothing.
# Arguments choose parts: services, nobody, sockets, devices.
# lab run --no-kmemleak
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/probe.sh"

bin=$MPA_REPO/build/bin
port=7300

# --- simulated services ----------------------------------------------------------

# service_case KIND STATUS EXPRESSION [ARGUMENT...]
service_case() {
	local kind=$1 status=$2 expression=$3
	shift 3
	port=$((port + 1))
	lab_spawn "service-$kind" h2 "$PYTHON" -u \
		"$MPA_REPO/tests/integration/lib/services.py" 10.77.0.2 "$port" "$kind"
	lab_wait_listen h2 "$port"
	probe_case "$kind" "$status" "$expression" 10.77.0.2 "$port" "$@"
	lab_kill "service-$kind"
}

services() {
	service_case rev2 0 "r['outcome'] == 'accepted' and r['revisions'] == [2]
		and reply['ird'] == 5 and reply['ord'] == 6 and reply['crc']
		and reply['rtr'] == ['send', 'write'] and not reply['markers']"
	lab_check "the peer has seen the Request and the end, nothing else" \
		grep -q '^ended after 0 more bytes' "$LAB_OUT/service-rev2.log"
	service_case slow 0 "r['outcome'] == 'accepted' and len(r['attempts']) == 1"
	service_case rev1 0 "r['revisions'] == [1] and len(r['attempts']) == 2
		and r['attempts'][0]['outcome'] == 'closed' and reply['markers']
		and not reply['crc'] and a['agreed']['crc']
		and bytes.fromhex(reply['private_data']) == b'hello'"
	service_case rev0 1 "not r['speaks_mpa'] and len(r['attempts']) == 2"
	service_case rev0 0 "r['revisions'] == [0] and a['agreed']['rx_markers']" \
		--revision 0
	service_case rev0 0 "r['revisions'] == [0] and len(r['attempts']) == 3" --all
	service_case reject 0 "r['outcome'] == 'rejected' and r['speaks_mpa']
		and bytes.fromhex(reply['private_data']) == b'no'"
	service_case echo 1 "r['outcome'] == 'echo'"
	service_case ssh 1 "r['outcome'] == 'foreign' and a['guess'] == 'SSH'"
	service_case http 1 "a['guess'] == 'HTTP'"
	service_case tls 1 "a['guess'].startswith('TLS')"
	service_case silent 1 "r['outcome'] == 'silent' and a['ms'] >= 300" \
		--timeout 300ms
	service_case close 1 "r['outcome'] == 'closed'"
	service_case reset 1 "r['outcome'] == 'reset'"
}

# --- nobody --------------------------------------------------------------------------

nobody() {
	probe_case "closed port" 4 "r['outcome'] == 'refused'" 10.77.0.2 7399
	probe_case "no such host" 4 "r['outcome'] == 'no-name'" nowhere.invalid 1
	probe_case "black hole" 4 "r['outcome'] == 'timeout'" \
		10.77.0.99 7300 --timeout 500ms
	lab_in h1 ip route add unreachable 198.51.100.0/24
	probe_case "no route" 4 "r['outcome'] == 'unreachable'" 198.51.100.1 7300
	lab_is "an impossible option is a usage error" \
		"$(probe_status h1 10.77.0.2 1 --revision 3)" 2
	lab_refuse "all of that loaded no module" test -d /sys/module/mpa
}

# --- ours ------------------------------------------------------------------------------

sockets() {
	lab_do modprobe mpa
	lab_spawn nc h2 "$bin/mpa-nc" -v -l -k -c -d welcome -w 2 7401
	lab_spawn nc-no h2 "$bin/mpa-nc" -v -l -k -x -d no -w 2 7402
	lab_spawn echod h2 "$bin/mpa-echo" --server 7403
	lab_wait_listen h2 7401
	lab_wait_listen h2 7402
	lab_wait_listen h2 7403
	probe_case "our socket" 0 "r['outcome'] == 'accepted' and r['speaks_mpa']
		and bytes.fromhex(reply['private_data']) == b'welcome'" 10.77.0.2 7401
	probe_case "our socket, revision 1" 0 "r['revisions'] == [1]" \
		10.77.0.2 7401 --revision 1 --private-data hello
	probe_case "our socket that rejects" 0 "r['outcome'] == 'rejected'" \
		10.77.0.2 7402
	probe_case "our echo server" 0 "r['outcome'] == 'accepted'" 10.77.0.2 7403
	lab_check "the echo server has seen an orderly end" \
		lab_wait 10 grep -q 'ended after 0 ULPDUs' "$LAB_OUT/echod.log"
	lab_check "and continues" timeout 30 ip netns exec h1 \
		"$bin/mpa-echo" --client 10.77.0.2 7403
	lab_kill nc
	lab_kill nc-no
	lab_kill echod
}

devices() {
	lab_link h2
	lab_spawn rping h2 rping -s -P -a 10.77.0.2
	lab_spawn rping6 h2 rping -s -P -a fd77::2 -p 7175
	lab_wait_listen h2 7174
	lab_wait_listen h2 7175
	probe_case "our device" 0 "r['outcome'] == 'accepted' and r['revisions'] == [2]
		and reply['peer_to_peer'] and 'write' in reply['rtr'] and reply['crc']
		and r['source'] == '10.77.0.1'" 10.77.0.2 7174 --source 10.77.0.1
	probe_case "our device over IPv6" 0 "r['address'] == 'fd77::2'
		and r['outcome'] == 'accepted'" fd77::2 7175 -6
	probe_case "our device, Markers" 0 "a['agreed']['rx_markers']" \
		10.77.0.2 7174 --markers
	probe_case "our device, all revisions" 0 "r['revisions'][:2] == [2, 1]" 10.77.0.2 7174 --all
	lab_link h1
	lab_check "rping after probes" lab_rping h1 -c -a 10.77.0.2 -C 3
	lab_kill rping
	lab_kill rping6
	probe_case "a device without a listener" 4 "r['outcome'] == 'refused'" \
		10.77.0.2 7174
}

lab_hosts 2
(($#)) || set -- services nobody sockets devices
for part; do
	"$part"
done
