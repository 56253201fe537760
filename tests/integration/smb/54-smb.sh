#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# SMB Direct: the kernel's server ksmbd and its client cifs. fio writes at random, by
# system calls and through a mapping, and reads back what it wrote; also while packets are
# lost, while the link is down, while the server stops and starts again, and while the
# device goes and comes back.
#
# Both exist in the initial namespace only, so one host connects to its own address: what
# it sends goes through lo. The server's programs in Debian 12 are too old for its kernel.
# lab run --package ksmbd-tools@bookworm
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/verified.sh"

tools=$LAB_PACKAGE/usr/sbin
server=10.78.0.1
share=/tmp/share
mounted=/tmp/mounted
settings=/tmp/ksmbd.conf
users=/tmp/ksmbdpwd.db
verified_where=(--directory="$mounted" --filename_format="\$jobname" --size=2M)
verified_while=(mpa1 rx_read_req)

# --- server -------------------------------------------------------------------------

server_settings() {
	mkdir -p "$share" && chmod 0777 "$share" && touch "$users" &&
		cat > "$settings" <<- END &&
			[global]
			[share]
			path = $share
			read only = no
			force user = root
			force group = root
		END
		"$tools/ksmbd.adduser" -C "$settings" -P "$users" -a -p secret lab
}

server_start() {
	modprobe ksmbd || return
	"$tools/ksmbd.mountd" --nodetach -C "$settings" -P "$users" \
		> "$LAB_OUT/mountd.log" 2>&1 &
	lab_jobs["mountd"]=$!
	lab_wait 30 server_listens
}

# The port that SMB Direct has on iWARP.
server_listens() {
	"$MPA_REPO/build/bin/mpactl" listen | grep -w 5445
}

# Also ends mountd.
server_stop() {
	"$tools/ksmbd.control" --shutdown && lab_wait 20 modprobe -r ksmbd
}

# --- client -------------------------------------------------------------------------

mount_share() {
	mkdir -p "$mounted"
	mount -t cifs -o "rdma,vers=3.1.1,user=lab,pass=secret,echo_interval=2,$1" \
		"//$server/share" "$mounted"
}

# --- disturbed ----------------------------------------------------------------------

packets_lost() {
	tc qdisc add dev lo root netem loss 2% && sleep 4 && tc qdisc del dev lo root
}

link_goes() {
	ip link set lo down && sleep 3 && ip link set lo up
}

server_goes() {
	server_stop && sleep 1 && server_start
}

device_goes() {
	lab_do rdma link delete mpa1 && sleep 1 &&
		lab_do rdma link add mpa1 type mpa netdev near
}

# survives LABEL FUNCTION: the client gives direct writes that are under way back to the
# program, with EAGAIN, if its session is lost. It has another session afterwards.
survives() {
	lab_check "$1 under load" loaded "$2" "$2"
	lab_check "$1: the program ends" ends "$2"
	lab_check "$1: verified afterwards, without mounting again" \
		lab_wait 60 verified "$2-again" --rw=randwrite --bs=16k --direct=1
}

# ends NAME: in time, whatever it says.
ends() {
	local status=0
	lab_join "$1" 120 > /dev/null || status=$?
	((status < 124))
}

errors() {
	local error
	for error in rx_crc_error rx_marker_error rx_length_error rx_ddp_error \
		rx_rdmap_error cq_overflow; do
		lab_is "no $error" "$(lab_counter mpa1 "$error")" 0
	done
}

# ------------------------------------------------------------------------------------

lab_do ip link set lo up
lab_do ip link add near type veth peer name far
lab_do ip addr add $server/24 dev near
lab_do ip link set near up
lab_do ip link set far up
lab_do rdma link add mpa1 type mpa netdev near
lab_do modprobe cifs

lab_check "the server is configured" server_settings
lab_check "the server listens" server_start
lab_check "mounted" mount_share cache=strict
mountpoint -q "$mounted"
cat /proc/fs/cifs/DebugData
if (($#)); then
	lab_check "verified: $1" disturbed "$1" "$1"
	exit
fi
reads=$(lab_counter mpa1 rx_read_req)
writes=$(lab_counter mpa1 rx_write)
lab_check "small writes in any order" verified random --rw=randwrite --bs=4k
lab_check "direct writes of many sizes" \
	verified direct --rw=randwrite --bsrange=4k-512k --direct=1
lab_check "random writes through a mapping" \
	verified mapping --rw=randwrite --bs=4k --ioengine=mmap
lab_check "the server has the same" \
	verified_same "$share" "$mounted" random direct mapping
lab_check "a tree of files" verified_tree "$MPA_REPO/uapi" "$mounted"
lab_true "the server read the client's memory" \
	"$(lab_counter mpa1 rx_read_req) > $reads"
lab_true "the server wrote the client's memory" "$(lab_counter mpa1 rx_write) > $writes"
errors
lab_check "verified while packets are lost" disturbed loss packets_lost
lab_check "verified while the link is down" disturbed link link_goes
connections=$(lab_counter mpa1 conn_active)
survives "the server restarts" server_goes
lab_true "over another connection" "$(lab_counter mpa1 conn_active) > $connections"
# The device that comes back has counters of its own.
errors
survives "the device goes and comes back" device_goes
errors
lab_check "unmounted" umount "$mounted"
lab_check "the server ends" server_stop
lab_do modprobe -r cifs
