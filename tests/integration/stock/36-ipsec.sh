#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Over IPsec: ESP in transport mode between the hosts, keyed by hand. Traffic works
# as without IPsec, and a stream outlives the security associations it began with.
# Then over devices without scatter and gather: TCP copies what it sends there, over
# IPsec and on connections that it signs (MD5).
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/lists.sh"
. "$MPA_REPO/tests/integration/lib/socket.sh"

key=0x0123456789abcdef0123456789abcdef01234567

# The associations of both directions, the same on both hosts.
associate() {
	local host
	for host in h1 h2; do
		lab_ip "$host" <<- END
			xfrm state add src 10.77.0.1 dst 10.77.0.2 proto esp spi 0x101 reqid 1 mode transport aead rfc4106(gcm(aes)) $key 128
			xfrm state add src 10.77.0.2 dst 10.77.0.1 proto esp spi 0x102 reqid 1 mode transport aead rfc4106(gcm(aes)) $key 128
		END
	done
}

# policies HOST OWN PEER: nothing is sent unprotected.
policies() {
	lab_ip "$1" <<- END
		xfrm policy add src $2 dst $3 dir out tmpl src $2 dst $3 proto esp reqid 1 mode transport
		xfrm policy add src $3 dst $2 dir in tmpl src $3 dst $2 proto esp reqid 1 mode transport
	END
}

# Packets that used the associations of h1.
protected() {
	ip -n h1 -s xfrm state | sed -n 's/.*, \([0-9]*\)(packets).*/\1/p' |
		awk '{ n += $1 } END { print n + 0 }'
}

# no_gather HOST: switches scatter and gather off on its device.
no_gather() {
	lab_in "$1" ethtool -K eth0 sg off
	lab_is "$1: scatter and gather" "$(ip netns exec "$1" ethtool -k eth0 |
		sed -n 's/^scatter-gather: //p')" off
}

# pings_beyond N: device mpa1 has sent more than N messages.
pings_beyond() {
	(($(lab_counter mpa1 tx_send) > $1))
}

lab_devices 2
lab_seed
associate
policies h1 10.77.0.1 10.77.0.2
policies h2 10.77.0.2 10.77.0.1
for size in 64 65535; do
	rping_pair h1 h2 "$size" 10
done
perf_pair h1 h2 ib_write_bw 65536 20
lab_true "packets were protected" "$(protected) > 100"
before=$(protected)
socket_cases 'startkey: after a dialogue' 'tuf: every pair*' 'tuf: markers at*'
lab_true "those of the older framings, too" "$(protected) > before + 500"

lab_spawn server h2 rping -s -a 10.77.0.2 -V -S 4096
lab_check "server listens" lab_wait_listen h2 7174 60
begun=$(lab_counter mpa1 tx_send)
lab_spawn client h1 rping -c -a 10.77.0.2 -V -S 4096
lab_check "a stream runs" lab_wait 60 pings_beyond "$((begun + 20))"
for host in h1 h2; do
	lab_in "$host" ip xfrm state flush
done
sleep 1
stopped=$(lab_counter mpa1 tx_send)
sleep 2
lab_is "without an association nothing gets through" \
	"$(lab_counter mpa1 tx_send)" "$stopped"
lab_check "the deleted association has not ended the stream" lab_running client
associate
lab_check "with a new association the stream continues" \
	lab_wait 60 pings_beyond "$((stopped + 20))"
lab_check "client still runs" lab_running client
lab_check "server still runs" lab_running server
lab_kill client
lab_kill server

for host in h1 h2; do
	no_gather "$host"
done
before=$(protected)
rping_pair h1 h2 65535 10
perf_pair h1 h2 ib_write_bw 65536 20
perf_pair h1 h2 ib_read_bw 4097 5
socket_cases 'data: lengths*' 'packing: sendmmsg packs*' 'packing: MSG_MORE*'
lab_true "packets were protected without scatter and gather" \
	"$(protected) > before + 100"
for host in h1 h2; do
	lab_in "$host" ip xfrm policy flush
	lab_in "$host" ip xfrm state flush
done
socket_cases 'md5:*'
