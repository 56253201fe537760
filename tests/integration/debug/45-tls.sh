#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# TLS whose records are segments, with libmpa-tls: OpenSSL's s_server and s_client on
# ordinary sockets are the peers. Captures show that each segment begins with the header of
# a record and ends with a record: with both versions of TLS, changes of keys, loss,
# reordering, and a path MTU that changes. Marker mode between two of ours. Arguments
# choose parts by their names.
#
#	h1 eth0 10.77.0.1 ---------------------------------- 10.77.0.2 eth0 h2
#	h1 eth1 10.79.1.1 ------ near  r  far -------------- 10.79.2.2 eth1 h2
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/socket.sh"

home=$(mktemp -d)
port=4400

# tls_files BYTES_OF_OURS BYTES_OF_THE_PEER
tls_files() {
	head -c "$1" /dev/urandom > "$home/ours.in"
	head -c "$2" /dev/urandom > "$home/peer.in"
}

# The peer's input stays open, since its end would end the connection.
tls_feed() {
	rm -f "$home/feed"
	mkfifo "$home/feed"
	exec {feed}<> "$home/feed"
	cat "$home/peer.in" > "$home/feed" &
	feeder=$!
}

# tls_compare LABEL: both have received what the other one has sent.
tls_compare() {
	wait "$feeder" || true
	exec {feed}>&-
	lab_check "tls: $1: the peer has everything" cmp "$home/ours.in" "$home/peer.out"
	lab_check "tls: $1: and so have we" cmp "$home/peer.in" "$home/ours.out"
}

tls_wanted() {
	stat -c %s "$home/peer.in"
}

# tls_ours ARGUMENT...: with what it counts in ours.txt.
tls_ours() {
	timeout 400 ip netns exec h1 "$socket_bin/tls_stream" "$@" > "$home/ours.txt" ||
		return
	cat "$home/ours.txt"
}

# tls_count NAME: of the client's last connection.
tls_count() {
	sed -n "s/.*\<$1 \([0-9]*\).*/\1/p" "$home/ours.txt"
}

# tls_client LABEL VERSION ADDRESS CHANGES [COMMAND]: ours connects; meanwhile COMMAND runs.
tls_client() {
	local background
	port=$((port + 1))
	tls_feed
	lab_spawn peer h2 bash -c "exec openssl s_server -quiet -naccept 1 -accept $port \
		-cert $home/peer.pem -key $home/key.pem -tls1_$2 \
		< $home/feed > $home/peer.out"
	lab_wait_listen h2 "$port"
	if [[ ${5-} ]]; then
		$5 &
		background=$!
	fi
	lab_check "tls: $1, TLS 1.$2, ours connects" tls_ours client "$3" "$port" \
		"$home/peer.pem" "$home/ours.in" "$home/ours.out" "$(tls_wanted)" "$4"
	[[ ! ${5-} ]] || wait "$background"
	lab_check "tls: $1, TLS 1.$2, the end of s_server" lab_join peer 60
	tls_compare "$1, TLS 1.$2, ours connects"
}

# tls_server LABEL VERSION ADDRESS CHANGES
tls_server() {
	port=$((port + 1))
	tls_feed
	lab_spawn ours h1 timeout 400 "$socket_bin/tls_stream" server "$port" \
		"$home/peer.pem" "$home/key.pem" "$home/ours.in" "$home/ours.out" \
		"$(tls_wanted)" "$4"
	lab_wait_listen h1 "$port"
	lab_spawn peer h2 bash -c "exec openssl s_client -quiet -connect $3:$port \
		-CAfile $home/peer.pem -verify_return_error -tls1_$2 \
		< $home/feed > $home/peer.out"
	lab_check "tls: $1, TLS 1.$2, ours listens" lab_join ours 400
	lab_join peer 60 || true
	tls_compare "$1, TLS 1.$2, ours listens"
}

# Both versions, roles and families.
tls_modes() {
	local version
	tls_files 1500000 1000000
	capture_start tls-client h2
	for version in 2 3; do
		tls_client "IPv4" "$version" 10.77.0.2 $((version == 3 ? 7 : 0))
		tls_client "IPv6" "$version" fd77::2 0
	done
	capture_check tls-client --tls --ours connects --connections 4 --whole 6000
	capture_start tls-server h2
	for version in 2 3; do
		tls_server "IPv4" "$version" 10.77.0.1 $((version == 3 ? 7 : 0))
	done
	capture_check tls-server --tls --ours listens --connections 2 --whole 3000
}

# Not captured.
tls_many() {
	tls_files 90000000 1000
	tls_client "many records" 3 10.77.0.2 20
	lab_true "tls: 100000 records" "$(tls_count records) >= 100000"
	lab_is "tls: many records: each is a segment for the kernel" "$(tls_count kernel)" \
		"$(tls_count records)"
}

tls_netem() {
	local host
	for host in h1 h2; do
		lab_in "$host" tc qdisc "$1" dev eth0 root "${@:2}"
	done
}

tls_lossy() {
	local version
	tls_files 3000000 1000000
	capture_start tls-lossy h2
	for version in 2 3; do
		tls_netem add netem loss 1% delay 1ms
		tls_client "loss" "$version" 10.77.0.2 0
		tls_netem del
		tls_netem add netem delay 2ms reorder 30%
		tls_client "reordering" "$version" 10.77.0.2 0
		tls_netem del
	done
	capture_check tls-lossy --tls --ours connects --connections 4 --whole 12000 \
		--behind 100
}

tls_path_mtu() {
	lab_in r ip route replace 10.79.2.0/24 dev far mtu lock "$1"
}

tls_mtu_changes() {
	local _
	for _ in 1 2 3; do
		sleep 1
		tls_path_mtu 1300
		sleep 1
		tls_path_mtu 1500
		sleep 2
	done
}

# Records that were encrypted before the path MTU falls leave in pieces; the next ones
# are segments, and longer ones when it is back.
tls_path() {
	local version pieces=0
	tls_files 30000000 100000
	lab_in h1 sysctl -q -w net.ipv4.route.mtu_expires=2
	lab_in r tc qdisc add dev far root netem rate 20mbit
	capture_start tls-path h1 eth1
	for version in 2 3; do
		tls_client "the path MTU changes" "$version" 10.79.2.2 0 tls_mtu_changes
		lab_true "tls: TLS 1.$version: the EMSS has fallen and risen" \
			"$(tls_count changes) >= 2"
		pieces=$((pieces + $(tls_count pieces)))
	done
	lab_true "tls: records have left in pieces" "$pieces > 0"
	# 1300 less the headers of IPv4 and TCP with time stamps, and room for SACK.
	capture_check tls-path --tls --ours connects --connections 2 --whole 20000 \
		--above 1220
	lab_in r tc qdisc del dev far root
}

# Two sets of markers: the kernel's, and those in the plaintext. Both ends are ours.
tls_marked() {
	port=$((port + 1))
	tls_files 3000000 1000000
	capture_start tls-marked h2
	tls_netem add netem loss 1% delay 1ms
	lab_spawn peer h2 env PDU_LENGTHS="$LAB_OUT/tls-marked.listens" \
		timeout 400 "$socket_bin/tls_stream" server-markers "$port" \
		"$home/peer.pem" "$home/key.pem" "$home/peer.in" "$home/peer.out" 3000000
	lab_wait_listen h2 "$port"
	SSLKEYLOGFILE="$LAB_OUT/tls-marked.keys" PDU_LENGTHS="$LAB_OUT/tls-marked.connects" \
		lab_check "tls: marker mode, loss" tls_ours client-markers 10.77.0.2 "$port" \
		"$home/peer.pem" "$home/ours.in" "$home/ours.out" 1000000 3
	lab_check "tls: marker mode, the other end" lab_join peer 60
	tls_netem del
	capture_check tls-marked --tls --marked 2048 512 --connections 1 --whole 1500
	lab_check "tls: marker mode: the peer has everything" \
		cmp "$home/ours.in" "$home/peer.out"
	lab_check "tls: marker mode: and so have we" cmp "$home/peer.in" "$home/ours.out"
}

lab_hosts 2
lab_seed
lab_do modprobe mpa
lab_router
for host in h1 h2; do
	for netdev in eth0 eth1; do
		lab_in "$host" ethtool -K "$netdev" tso off gso off gro off
	done
done
for netdev in near far; do
	lab_in r ethtool -K "$netdev" tso off gso off gro off
done
lab_do openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 \
	-keyout "$home/key.pem" -out "$home/peer.pem" -subj /CN=peer \
	-addext subjectAltName=DNS:peer 2> "$LAB_OUT/req.log"
(($#)) || set -- modes many lossy path marked
for part in "$@"; do
	"tls_$part"
done
socket_counters
