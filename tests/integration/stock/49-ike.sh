#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# IPsec keyed by IKE: strongSwan's daemon on each host negotiates ESP in transport
# mode when the first packet of a connection needs it; with IKEv1 in main mode, as
# RFC 3723 section 2.3 requires, and with IKEv2. A stream of RDMA and one of an MPA
# socket outlive new keys under load, again and again, by order and by lifetime, new
# keys of IKE, another authentication, and the deletion of their security association
# (RFC 5044 section 9.4). All associations are replaced, and no TCP is in the clear.
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/lists.sh"
. "$MPA_REPO/tests/integration/lib/socket.sh"

ike_dir=/tmp/ike
# Settings of h1 for the connection and its child: if both hosts renewed the same keys
# by themselves, one would give way to the other.
ike_times=
child_times=

# ike_daemon_conf HOST: the plugins it loads, its control socket and its log. With IKEv1
# it keeps replaced associations unless told otherwise. To authenticate again it would
# first delete everything, and the packets of the streams would make both daemons begin
# at the same time: then there are more associations than one can wait for.
ike_daemon_conf() {
	cat <<- END
		charon-systemd {
			load = random nonce drbg aes sha1 sha2 hmac kdf gmp kernel-netlink socket-default vici
			install_routes = no
			delete_rekeyed = yes
			make_before_break = yes
			plugins { vici { socket = unix://$ike_dir/$1.vici } }
			filelog { log { path = $LAB_OUT/$(ike_log "$1").log
				flush_line = yes
				default = 1 } }
		}
		swanctl { load = random nonce drbg aes sha1 sha2 hmac }
	END
}

# ike_log HOST: name of the daemon's log in this part of the script.
ike_log() {
	echo "charon-$1-${ike_name// /-}"
}

# ike_connection OWN PEER VERSION IKE ESP: protects only TCP, and starts IKE when
# there is traffic.
ike_connection() {
	local times=$ike_times child=$child_times
	if (($1 != 1)); then
		times='' child=''
	fi
	cat <<- END
		connections { mpa {
			version = $3
			local_addrs = 10.77.0.$1
			remote_addrs = 10.77.0.$2
			proposals = $4
			$times
			local { auth = psk
				id = h$1@lab }
			remote { auth = psk
				id = h$2@lab }
			children { tcp {
				mode = transport
				local_ts = dynamic[tcp]
				remote_ts = dynamic[tcp]
				esp_proposals = $5
				$child
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
	lab_true "but policies" "$(policies | wc -l) > 0"
}

ike_down() {
	local n
	for n in 1 2; do
		kill -TERM "$(lab_pid "charon$n")"
		lab_check "the daemon of h$n ends" lab_join "charon$n" 60
	done
	lab_is "no association is left" "$(associations)" 0
	lab_check "no policy is left" lab_gone policies
}

# The policies for TCP of h1.
policies() {
	local all
	all=$(ip -n h1 xfrm policy) || return
	grep 'proto tcp' <<< "$all" || true
}

# The associations of h1 that have keys, a line each: source, SPI, packets.
sas() {
	ip -n h1 -s xfrm state | awk '
		$1 == "src" { source = $2; keyed = 0 }
		$1 == "proto" { spi = $4; sub(/\(.*/, "", spi) }
		$1 ~ /^(aead|enc)$/ { keyed = 1 }
		keyed && $1 ~ /^[0-9]+\(bytes\),$/ { print source, spi, $2 + 0 }'
}

# How many there are; a pending acquisition does not count.
associations() {
	local all
	all=$(sas) || {
		echo unknown
		return
	}
	printf '%s' "${all:+$all$'\n'}" | wc -l
}

# Their SPIs, a line each.
spis() {
	sas | awk '{ print $2 }'
}

# Those of IKE.
ike_spis() {
	swan h1 --list-sas | grep -F ESTABLISHED | grep -o '[0-9a-f]\{16\}_[ir]' || true
}

# all_new OLD NEW: there were old lines, and of two or more new ones none is among them.
all_new() {
	[[ -n $1 ]] && (($(wc -l <<< "$2") >= 2)) && ! grep -qxF -f <(echo "$1") <<< "$2"
}

# Whether the associations, or those of IKE, have all been replaced.
keys_are_new() {
	all_new "$1" "$(spis)"
}

ike_is_new() {
	all_new "$1" "$(ike_spis)"
}

no_spi_of() {
	local all
	all=$(spis) && ! grep -qxF -f <(echo "$1") <<< "$all"
}

# Packets that used the present associations.
protected() {
	sas | awk '{ n += $3 } END { print n + 0 }'
}

# Of the two directions the one with fewer packets.
protected_each_way() {
	sas | awk '{ n[$1] += $3 } END {
		a = n["10.77.0.1"] + 0
		b = n["10.77.0.2"] + 0
		print a < b ? a : b
	}'
}

# pings_beyond N: device mpa1 has sent more than N messages.
pings_beyond() {
	(($(lab_counter mpa1 tx_send) > $1))
}

# lines_beyond N: more lines have come back.
lines_beyond() {
	(($(wc -l < "$ike_dir/lines.out") > $1))
}

# Two streams: rping compares what it reads and writes; an MPA socket sends numbered
# lines, which come back from an echo server.
ike_streams() {
	local begun
	lab_spawn server h2 rping -s -a 10.77.0.2 -V -S 4096
	lab_check "$ike_name: server listens" lab_wait_listen h2 7174 60
	lab_spawn echo h2 "$socket_bin/mpa-echo" --server 10.77.0.2 7000
	lab_check "$ike_name: echo server listens" lab_wait_listen h2 7000 60
	begun=$(lab_counter mpa1 tx_send)
	lab_spawn client h1 rping -c -a 10.77.0.2 -V -S 4096
	rm -f "$ike_dir/enough"
	: > "$ike_dir/lines.out"
	# shellcheck disable=SC2016 # for the other shell
	lab_spawn lines h1 bash -c '
		set -o pipefail
		until [[ -e $1/enough ]]; do
			printf "%d %0800d\n" "$((n += 1))" 0
			sleep 0.2
		done | tee "$1/lines.in" | "$2" 10.77.0.2 7000 > "$1/lines.out"' \
		- "$ike_dir" "$socket_bin/mpa-nc"
	lab_check "$ike_name: a stream runs" lab_wait 60 pings_beyond $((begun + 20))
	lab_check "$ike_name: a stream of a socket runs" lab_wait 60 lines_beyond 10
}

# ike_goes_on LABEL: both streams do.
ike_goes_on() {
	local pings lines
	pings=$(lab_counter mpa1 tx_send)
	lines=$(wc -l < "$ike_dir/lines.out")
	lab_check "$1" lab_wait 90 pings_beyond $((pings + 50))
	lab_check "$1, that of the socket, too" lab_wait 90 lines_beyond $((lines + 5))
}

# Everything that came is right, and from the socket nothing is missing.
ike_streams_end() {
	lab_check "$ike_name: client still runs" lab_running client
	lab_check "$ike_name: server still runs" lab_running server
	lab_check "$ike_name: client's words" rping_good client
	lab_check "$ike_name: server's words" rping_good server
	lab_kill client
	lab_kill server
	lab_check "$ike_name: the socket's stream still runs" lab_running lines
	touch "$ike_dir/enough"
	lab_check "$ike_name: the socket's stream ends" lab_join lines 60
	lab_kill echo
	lab_note "$(wc -l < "$ike_dir/lines.in") lines"
	lab_check "$ike_name: every line has come back" \
		cmp "$ike_dir/lines.in" "$ike_dir/lines.out"
}

# ike_rekey WHAT: new keys for TCP.
ike_rekey() {
	local before
	before=$(spis)
	lab_check "$1: new keys under load" swan h1 --rekey --child tcp
	lab_check "$1: other associations have taken over" \
		lab_wait 60 keys_are_new "$before"
	ike_goes_on "$1: the stream continues with new keys"
	lab_true "$1: packets were protected by them, each way" \
		"$(protected_each_way) > 20"
}

# ike_rekey_ike WHAT: new keys for IKE, which keeps the associations. With IKEv1 that is
# another authentication, too.
ike_rekey_ike() {
	local before kept
	before=$(ike_spis) kept=$(spis)
	lab_check "$1: new keys for IKE under load" swan h1 --rekey --ike mpa
	lab_check "$1: another association of IKE has taken over" \
		lab_wait 120 ike_is_new "$before"
	lab_is "$1: the other associations remain" "$(spis)" "$kept"
	ike_goes_on "$1: the stream continues"
}

# ike_reauthenticate WHAT: IKEv2 creates everything again and deletes what was before.
ike_reauthenticate() {
	local before old
	before=$(ike_spis) old=$(spis)
	lab_check "$1: under load" swan h1 --rekey --ike mpa --reauth
	lab_check "$1: another association of IKE has taken over" \
		lab_wait 120 ike_is_new "$before"
	lab_check "$1: other associations have taken over" \
		lab_wait 60 keys_are_new "$old"
	ike_goes_on "$1: the stream continues with new keys"
	lab_true "$1: packets were protected by them, each way" \
		"$(protected_each_way) > 20"
}

# ike_delete: the associations, not that of IKE.
ike_delete() {
	local before
	before=$(spis)
	lab_check "$ike_name: the association is deleted by IKE" \
		swan h2 --terminate --child tcp
	lab_check "$ike_name: it is gone" lab_wait 60 no_spi_of "$before"
	ike_goes_on "$ike_name: a new association by itself, and the stream continues"
	lab_true "$ike_name: there is one" "$(associations) >= 2"
}

# What is ordered, under both streams.
ike_ordered() {
	local turn
	ike_streams
	for turn in 1 2 3; do
		ike_rekey "$ike_name, keys $turn"
	done
	for turn in 1 2; do
		ike_rekey_ike "$ike_name, IKE $turn"
	done
	ike_rekey "$ike_name, keys 4"
	if [[ $ike_name == IKEv2 ]]; then
		for turn in 1 2 3; do
			ike_reauthenticate "$ike_name, authentication $turn"
		done
	fi
	ike_delete
	ike_streams_end
}

# logged N PATTERN: the daemon of h1 has logged that at least so many times.
logged() {
	(($(grep -cE "$2" "$LAB_OUT/$(ike_log h1).log") >= $1))
}

# What lifetimes do, under both streams and the short connections of some cases.
ike_by_lifetime() {
	local before=$1 child='CHILD_SA tcp\{[0-9]+\} established' end=$((SECONDS + 180))
	ike_streams
	until logged 7 "$child" || ((SECONDS > end)); do
		socket_cases 'startkey: after a dialogue' 'tuf: every pair*' 'data: *'
	done
	lab_check "$ike_name: keys were renewed 6 times" logged 7 "$child"
	lab_check "$ike_name: those of IKE 2 times" \
		lab_wait 180 logged 3 'IKE_SA mpa\[[0-9]+\] (established|rekeyed)'
	lab_check "$ike_name: no association of the beginning is left" \
		lab_wait 60 keys_are_new "$before"
	ike_goes_on "$ike_name: the stream continues with new keys"
	ike_streams_end
}

# A connection is refused, which needs keys first. An emulated processor computes
# them for longer than an RNIC waits for TCP's handshake.
ike_agreed() {
	! ip netns exec h1 bash -c 'exec 3<> /dev/tcp/10.77.0.2/9' &&
		(($(associations) >= 2))
}

# ike_run NAME VERSION IKE ESP FUNCTION: NAME begins with that of the protocol.
ike_run() {
	local ike_name=$1 host
	ike_up "${@:2:3}"
	lab_check "$ike_name: the first packet makes the daemons agree" \
		lab_wait 180 ike_agreed
	traffic_label=$ike_name
	rping_pair h1 h2 65535 10
	traffic_label=
	lab_check "$ike_name: the daemons have agreed" \
		grep -F "ESTABLISHED, ${ike_name%% *}," <(swan h1 --list-sas)
	lab_true "$ike_name: packets were protected" "$(protected) > 100"
	"$5" "$(spis)"
	for host in h1 h2; do
		lab_is "$ike_name: no TCP to $host went in the clear at any time" \
			"$(seen "$host" 1)" "${clear[$host]}"
		lab_is "$ike_name: the policies of $host have refused nothing" \
			"$(refused "$host")" 0
	done
	ike_down
}

# refused HOST: packets that came without the protection that a policy demands, or whose
# protection was wrong.
refused() {
	ip netns exec "$1" awk '
		$1 ~ /^XfrmIn(NoPols|TmplMismatch|PolBlock|StateProtoError)$/ {
			n += $2
			lines++
		}
		END { print lines == 4 ? n : "no statistics" }' /proc/net/xfrm_stat
}

# seen HOST PREF: packets that a filter on the wire has seen.
seen() {
	ip netns exec "$1" tc -s filter show dev eth0 ingress pref "$2" |
		awk '$1 == "Sent" { n += $4 } END { print n + 0 }'
}

# Filters that count TCP in the clear, which ESP hides, and ESP.
ike_filters() {
	local host pref
	for host in h1 h2; do
		lab_in "$host" tc qdisc add dev eth0 clsact
		for pref in "1 6" "2 50"; do
			lab_in "$host" tc filter add dev eth0 ingress pref "${pref% *}" \
				protocol ip u32 match ip protocol "${pref#* }" 0xff \
				action ok
		done
	done
	lab_refuse "nothing listens yet" lab_in h1 \
		bash -c 'exec 3<> /dev/tcp/10.77.0.2/9'
	for host in h1 h2; do
		clear[$host]=$(seen "$host" 1)
		lab_true "a filter of $host sees TCP in the clear" "${clear[$host]} > 0"
		lab_is "and no ESP yet" "$(seen "$host" 2)" 0
	done
}

declare -A clear
lab_devices 2
ike_filters
ike_run "IKEv1" 1 aes128-sha1-modp2048 aes128-sha1 ike_ordered
ike_run "IKEv2" 2 aes128-sha256-modp2048 aes128gcm16 ike_ordered
ike_times='rekey_time = 30s'
child_times='rekey_time = 12s'
# Otherwise a daemon begins up to a tenth of that earlier, at random.
ike_times+=$'\nrand_time = 0s' child_times+=$'\nrand_time = 0s'
ike_run "IKEv2 with lifetimes" 2 aes128-sha256-modp2048 aes128gcm16 ike_by_lifetime
for host in h1 h2; do
	lab_true "ESP came to $host" "$(seen "$host" 2) > 2000"
done
