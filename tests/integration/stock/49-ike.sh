#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# IPsec keyed by IKE: strongSwan's daemon on each host negotiates ESP in transport
# mode when the first packet of a connection needs it; with IKEv1 in main mode, as
# RFC 3723 section 2.3 requires, and with IKEv2. A stream outlives new keys under
# load, and the deletion of its security association (RFC 5044 section 9.4).
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/lists.sh"

ike_dir=/tmp/ike

# ike_daemon_conf HOST: the plugins it loads, and its control socket.
ike_daemon_conf() {
	cat <<- END
		charon-systemd {
			load = random nonce drbg aes sha1 sha2 hmac kdf gmp kernel-netlink socket-default vici
			install_routes = no
			plugins { vici { socket = unix://$ike_dir/$1.vici } }
			filelog { log { path = $LAB_OUT/charon-$1.log
				flush_line = yes
				default = 1 } }
		}
		swanctl { load = random nonce drbg aes sha1 sha2 hmac }
	END
}

# ike_connection OWN PEER VERSION IKE ESP: protects only TCP, and starts IKE when
# there is traffic.
ike_connection() {
	cat <<- END
		connections { mpa {
			version = $3
			local_addrs = 10.77.0.$1
			remote_addrs = 10.77.0.$2
			proposals = $4
			local { auth = psk
				id = h$1@lab }
			remote { auth = psk
				id = h$2@lab }
			children { tcp {
				mode = transport
				local_ts = dynamic[tcp]
				remote_ts = dynamic[tcp]
				esp_proposals = $5
				start_action = trap } }
		} }
		secrets { ike-lab { secret = "a test's shared secret" } }
	END
}

# swan HOST WORD...: swanctl, for the daemon of the host.
swan() {
	lab_in "$1" env STRONGSWAN_CONF="$ike_dir/$1.conf" \
		SWANCTL_DIR="$ike_dir/$1" \
		swanctl "${@:2}" --uri "unix://$ike_dir/$1.vici"
}

# ike_up VERSION IKE ESP: a daemon on each host.
ike_up() {
	local n host
	for n in 1 2; do
		host=h$n
		mkdir -p "$ike_dir/$host"
		ike_daemon_conf "$host" > "$ike_dir/$host.conf"
		ike_connection "$n" "$((3 - n))" "$@" > "$ike_dir/$host/swanctl.conf"
		lab_spawn "charon$n" "$host" env \
			STRONGSWAN_CONF="$ike_dir/$host.conf" \
			/usr/sbin/charon-systemd
		lab_check "the daemon of $host listens" \
			lab_wait 60 swan "$host" --stats
		lab_check "$host knows its peer" swan "$host" --load-all
	done
	lab_is "without traffic there is no association" "$(associations)" 0
}

ike_down() {
	local n
	for n in 1 2; do
		kill -TERM "$(lab_pid "charon$n")"
		lab_check "the daemon of h$n ends" lab_join "charon$n" 60
	done
	lab_is "no association is left" "$(associations)" 0
	lab_is "no policy is left" "$(ip -n h1 xfrm policy | grep -c 'proto tcp')" 0
}

# How many associations carry traffic, in either direction; a pending acquisition
# does not count.
associations() {
	ip -n h1 xfrm state | grep -c ' reqid .* mode transport' || true
}

# Their SPIs, for comparison.
spis() {
	ip -n h1 xfrm state | grep -o 'spi 0x[0-9a-f]*' | sort
}

spis_differ() {
	[[ $(spis) != "$1" ]] && (($(associations) >= 2))
}

no_spi_of() {
	! ip -n h1 xfrm state | grep -qF "$(head -n 1 <<< "$1")"
}

# Packets that used the present associations.
protected() {
	ip -n h1 -s xfrm state | sed -n 's/.*, \([0-9]*\)(packets).*/\1/p' |
		awk '{ n += $1 } END { print n + 0 }'
}

# pings_beyond N: device mpa1 has sent more than N messages.
pings_beyond() {
	(($(lab_counter mpa1 tx_send) > $1))
}

# ike_stream NAME: rekeying and deletion under a stream.
ike_stream() {
	local name=$1 before begun
	lab_spawn server h2 rping -s -a 10.77.0.2 -V -S 4096
	lab_check "$name: server listens" lab_wait_listen h2 7174 60
	begun=$(lab_counter mpa1 tx_send)
	lab_spawn client h1 rping -c -a 10.77.0.2 -V -S 4096
	lab_check "$name: a stream runs" lab_wait 60 pings_beyond $((begun + 20))
	before=$(spis)
	lab_check "$name: new keys under load" swan h1 --rekey --child tcp
	lab_check "$name: other associations have taken over" \
		lab_wait 60 spis_differ "$before"
	begun=$(lab_counter mpa1 tx_send)
	lab_check "$name: the stream continues with new keys" \
		lab_wait 60 pings_beyond $((begun + 50))
	before=$(spis)
	lab_check "$name: the association is deleted by IKE" \
		swan h2 --terminate --child tcp
	lab_check "$name: it is gone" lab_wait 60 no_spi_of "$before"
	begun=$(lab_counter mpa1 tx_send)
	lab_check "$name: a new association by itself, and the stream continues" \
		lab_wait 90 pings_beyond $((begun + 50))
	lab_true "$name: there is one" "$(associations) >= 2"
	lab_check "$name: client still runs" lab_running client
	lab_check "$name: server still runs" lab_running server
	lab_kill client
	lab_kill server
}

# A connection is refused, which needs keys first. An emulated processor computes
# them for longer than an RNIC waits for TCP's handshake.
ike_agreed() {
	! ip netns exec h1 bash -c 'exec 3<> /dev/tcp/10.77.0.2/9' &&
		(($(associations) >= 2))
}

# ike_run NAME VERSION IKE ESP
ike_run() {
	local name=$1 before
	ike_up "${@:2}"
	lab_check "$name: the first packet makes the daemons agree" \
		lab_wait 180 ike_agreed
	rping_pair h1 h2 65535 10
	lab_check "$name: the daemons have agreed" swan h1 --list-sas
	lab_true "$name: packets were protected" "$(protected) > 100"
	lab_is "$name: no TCP went in the clear" "$(unprotected)" "$seen"
	ike_stream "$name"
	lab_is "$name: no TCP went in the clear at any time" "$(unprotected)" "$seen"
	lab_check "$name: IKE was spoken" log_has "charon-h1" "$5"
	ike_down
}

# Segments that a filter on the wire has seen: ESP hides them.
unprotected() {
	ip netns exec h2 tc -s filter show dev eth0 ingress |
		awk '$1 == "Sent" { n += $4 } END { print n + 0 }'
}

lab_devices 2
lab_in h2 tc qdisc add dev eth0 clsact
lab_in h2 tc filter add dev eth0 ingress protocol ip u32 \
	match ip protocol 6 0xff action ok
lab_refuse "nothing listens yet" lab_in h1 \
	bash -c 'exec 3<> /dev/tcp/10.77.0.2/9'
lab_true "the filter sees TCP in the clear" "$(unprotected) > 0"
seen=$(unprotected)
ike_run "IKEv1" 1 aes128-sha1-modp2048 aes128-sha1 'IKE_SA mpa.* established'
ike_run "IKEv2" 2 aes128-sha256-modp2048 aes128gcm16 'IKE_SA mpa.* established'
