#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The framing protocol of draft-ietf-tsvwg-tcp-ulp-frame-00: the socket options, and both
# modes against an implementation written from the draft: with loss, reordering and path
# MTUs that change, and as captures show the segments. Arguments choose cases of sockets by
# patterns of their names.
#
#	h1 eth0 10.77.0.1 ---------------------------------- 10.77.0.2 eth0 h2
#	h1 eth1 10.79.1.1 ------ near  r  far -------------- 10.79.2.2 eth1 h2
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/socket.sh"

tuf=$MPA_REPO/tests/integration/lib/tuf.py
tracing=/sys/kernel/tracing
port=7100
# Emulated machines with sanitizers get a fifth of the traffic, and a slower link.
share=1
[[ $LAB_CONFIG != kasan && $LAB_CONFIG != kcsan ]] || share=5

# tuf_pair LABEL ADDRESS OPTIONS_OF_H1 OPTIONS_OF_H2 [COMMAND]: h1 connects to h2;
# meanwhile COMMAND runs.
tuf_pair() {
	local -a one two
	read -ra one <<< "$3"
	read -ra two <<< "$4"
	port=$((port + 1))
	lab_spawn tuf h2 "$PYTHON" "$tuf" listen "$port" "${two[@]}"
	lab_wait_listen h2 "$port"
	[[ ! ${5-} ]] || $5 &
	lab_check "tuf: $1" timeout 1500 ip netns exec h1 \
		"$PYTHON" "$tuf" connect "$2" "$port" "${one[@]}"
	lab_check "tuf: $1, as its peer sees it" lab_join tuf 60
	[[ ! ${5-} ]] || wait %% 2> /dev/null || true
}

# Every mode, each end ours or the draft's.
tuf_modes() {
	local us="--ours" send recv
	for pair in "align align" "markers markers" "atomic plain" "plain plain"; do
		read -r send recv <<< "$pair"
		tuf_pair "$send, ours to the draft's" 10.77.0.2 \
			"$us --send $send --recv align" "--send align --max 1400 --recv $recv"
		tuf_pair "$send, the draft's to ours" 10.77.0.2 \
			"--send $send --max 1400 --recv markers" \
			"$us --send markers --recv $recv"
		tuf_pair "$send, ours to ours, IPv6" fd77::2 \
			"$us --send $send --recv $recv" "$us --send $send --recv $recv"
	done
	tuf_pair "markers, 512 one way and 2048 the other" 10.77.0.2 \
		"$us --send markers --recv markers --send-interval 512 --max 9000" \
		"--send markers --recv markers --recv-interval 512 --max 9000"
	tuf_pair "markers, 9 one way and 100000 the other" 10.77.0.2 \
		"$us --send markers --recv markers --send-interval 9 --recv-interval 100000" \
		"--send markers --recv markers --recv-interval 9 --send-interval 100000"
}

# Segments as a capture has them.
tuf_captured() {
	capture_start tuf-modes h2
	tuf_modes
	capture_check tuf-modes --tuf --connections 14 --whole 1000 --markers 1000
	capture_start tuf-packing h2
	tuf_pair "one PDU each" 10.77.0.2 "--ours --send align --max 300 --pack 0" \
		"--ours --recv align --send atomic"
	capture_check tuf-packing --tuf --connections 1 --whole 1000
}

# Segments of 9000 bytes.
tuf_jumbo() {
	local both="--ours --send align --recv align"
	lab_mtu 9000
	capture_start tuf-jumbo h2
	tuf_pair "an MTU of 9000" 10.77.0.2 "$both" "$both"
	tuf_pair "an MTU of 9000, IPv6" fd77::2 "$both" "$both"
	capture_check tuf-jumbo --tuf --connections 2 --whole 60
	lab_mtu 1500
}

tuf_netem() {
	local host
	for host in h1 h2; do
		lab_in "$host" tc qdisc add dev eth0 root netem "$@"
	done
}

tuf_netem_off() {
	local host
	for host in h1 h2; do
		lab_in "$host" tc qdisc del dev eth0 root
	done
}

# Alignment in both directions at once, so that segments have SACK options.
tuf_lossy() {
	local both="--ours --send align --recv align --bytes $((3000000 / share))"
	capture_start tuf-lossy h2
	tuf_netem loss 1% delay 1ms
	tuf_pair "loss" 10.77.0.2 "$both" "$both"
	tuf_netem_off
	tuf_netem delay 2ms reorder 30%
	tuf_pair "reordering" 10.77.0.2 "$both" "$both"
	tuf_netem_off
	capture_check tuf-lossy --tuf --connections 2 --whole $((6000 / share)) \
		--behind $((100 / share))
	tuf_netem loss 2% delay 1ms reorder 30%
	tuf_pair "markers, loss and reordering" 10.77.0.2 \
		"--ours --send markers --recv markers" "--send markers --recv markers"
	tuf_netem_off
}

# Mbit/s from the router to h2.
tuf_rate() {
	lab_in r tc qdisc replace dev far root netem rate "$(($1 * 1000 / share))kbit"
}

tuf_path_mtu() {
	lab_in r ip route replace 10.79.2.0/24 dev far mtu lock "$1"
}

tuf_mtu_changes() {
	sleep 1
	tuf_path_mtu 592
	lab_wait 60 tuf_emss_fell
	tuf_doctor h2 > "$LAB_OUT/tuf-doctor-mtu.json" || true
	tuf_path_mtu 1500
	tuf_rate 20
}

tuf_shows_framing() {
	grep -qE '"framing":\{"send":"align","receive":"align","emss":(504|512|520|532),' \
		"$LAB_OUT/tuf-conn.json"
}

# Of 532 bytes the SACK option takes 12, 20 or 28, as it has 1 to 3 blocks. When the path MTU
# expires, every other second, it rises for a moment.
tuf_emss_fell() {
	ip netns exec h1 "$socket_bin/mpactl" --json conn > "$LAB_OUT/tuf-conn.json" &&
		tuf_shows_framing
}

# What mpactl doctor says about the segments that a host receives.
tuf_doctor() {
	ip netns exec "$1" "$socket_bin/mpactl" --json doctor --check framing
}

# Segments, of those that the doctor names, which are not one framing PDU.
tuf_unframed() {
	local filter
	filter=$("$PYTHON" -c 'import json, sys
print(json.load(open(sys.argv[1]))["checks"][0]["remedy"].split(chr(39))[1])' \
		"$LAB_OUT/tuf-doctor-box.json")
	timeout 60 ip netns exec h2 dumpcap -q -i eth1 -c 5 -f "$filter" \
		-w /tmp/tuf-unframed.pcapng 2> "$LAB_OUT/tuf-unframed.log"
}

# The stream is slow until all has been seen, however long that takes.
tuf_look_for_box() {
	while lab_running tuf; do
		tuf_doctor h2 > "$LAB_OUT/tuf-doctor-box.json" || break
		sleep 0.2
	done
	tuf_doctor h1 > "$LAB_OUT/tuf-doctor-sender.json" || true
	tuf_unframed || true
	tuf_rate 20
}

# A box divides the stream into other segments: everything arrives, and it is found.
tuf_box() {
	local bytes=$((10000000 / share))
	lab_spawn box r "$PYTHON" "$MPA_REPO/tests/integration/lib/box.py" \
		"$((port + 1))" 10.79.2.2
	lab_wait_listen r "$((port + 1))"
	# So slow that the receiver keeps up, and sees where segments end.
	tuf_rate 2
	tuf_pair "a box divides the stream" 10.79.1.254 \
		"--ours --send align --recv plain --bytes $bytes --expect tx_pieces=0" \
		"--ours --send plain --recv align --bytes $bytes --expect rx_parted>63" \
		tuf_look_for_box
	lab_check "the box" lab_join box
	lab_check "mpactl doctor finds the box" grep -qE \
		'"status":"warn","detail":"of [0-9]+ framing PDUs from 10.79.2.254:' \
		"$LAB_OUT/tuf-doctor-box.json"
	lab_check "its capture shows segments that are not framing PDUs" \
		grep -q 'Packets captured: 5' "$LAB_OUT/tuf-unframed.log"
	lab_check "not at the sender" grep -q '"findings":0' "$LAB_OUT/tuf-doctor-sender.json"
}

tuf_traced() {
	[[ -d $tracing/events ]] || lab_do mount -t tracefs none "$tracing"
	: > "$tracing/trace"
	echo 1 > "$tracing/events/mpa/mpa_framing/enable"
}

# The framing of both directions at both ends, and each change of the EMSS.
tuf_trace_ends() {
	echo 0 > "$tracing/events/mpa/mpa_framing/enable"
	grep ' mpa_framing: ' "$tracing/trace" > "$LAB_OUT/tuf-trace" || true
	lab_is "the trace has when each end begins to receive" \
		"$(grep -c 'send=plain recv=align .* emss=0$' "$LAB_OUT/tuf-trace")" 2
	lab_is "and to send" "$(grep -c 'send=align recv=align .* emss=1420$' \
		"$LAB_OUT/tuf-trace" | awk '{ print ($1 >= 2) }')" 1
	lab_check "and that the EMSS has fallen" \
		grep -qE 'raddr=::ffff:10.79.2.2 .* send=align recv=align .* emss=5[0-9]{2}$' \
		"$LAB_OUT/tuf-trace"
}

# Live changes of the path MTU: what is longer goes in pieces, everything arrives, and
# alignment is back.
tuf_path() {
	local bytes=$((8000000 / share))
	local path="--ours --send align --recv align --bytes $bytes"
	lab_in h1 sysctl -q -w net.ipv4.route.mtu_expires=2
	capture_start tuf-path h1 eth1
	tuf_traced
	# Slow until tuf_mtu_changes() is over.
	tuf_rate 2
	tuf_pair "the path MTU changes" 10.79.2.2 "$path --expect emss_changes>1" \
		"--ours --recv align --send align --bytes $bytes --max 500" tuf_mtu_changes
	lab_check "mpactl shows the framing of each direction" tuf_shows_framing
	tuf_trace_ends
	lab_check "mpactl doctor does not take a change of the path MTU for that" \
		grep -q '"findings":0' "$LAB_OUT/tuf-doctor-mtu.json"
	lab_check "the namespace counts what was divided, and no failed startup" \
		"$PYTHON" -c 'import json, sys
counters = next(one for one in json.load(sys.stdin) if one["kind"] == "defaults")["counters"]
sys.exit(not (counters["tuf_pieces"] and counters["tuf_emss_changes"] > 1 and
              counters["startup_failures"] == 0))' \
		< <(ip netns exec h1 "$socket_bin/mpactl" --json stat)
	tuf_box
	tuf_path_mtu 592
	tuf_pair "emergency mode" 10.79.2.2 \
		"--ours --send align --recv plain --max 512 --emergency 1 --bytes 200000" \
		"--ours --send plain --recv align --bytes 200000"
	capture_check tuf-path --tuf --connections 3 --whole $((5000 / share)) \
		--above 530
	lab_in r tc qdisc del dev far root
}

lab_hosts 2
lab_seed
lab_do modprobe mpa
if (($#)); then
	socket_cases "$@"
	exit
fi
lab_router
socket_cases 'tuf:*'
# The kernel reads the operations of a socket without a mark, which KCSAN would report.
if [[ ! -e /sys/kernel/debug/kcsan ]]; then
	lab_do modprobe mpa_trap
	socket_cases 'addrform:*'
	lab_check "no listener is left" \
		lab_gone ip netns exec h1 "$socket_bin/mpactl" listen
fi
for host in h1 h2; do
	for netdev in eth0 eth1; do
		lab_in "$host" ethtool -K "$netdev" tso off gso off gro off
	done
done
for netdev in near far; do
	lab_in r ethtool -K "$netdev" tso off gso off gro off
done
tuf_captured
tuf_jumbo
tuf_lossy
tuf_path
socket_counters
socket_module
