#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# NFS 4.2 and 3 over RDMA: the kernel's server on one host, its client on the other. fio
# writes at random, by system calls and through a mapping, and reads back what it wrote;
# also while the link is down, and while the server stops and starts again.
#
#	+-(initial)-+ 10.78.0.0/24 +---server---+
#	|      mpa1 |--------------| mpa2       |
#	+-----------+              +------------+
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/verified.sh"
. "$MPA_REPO/tests/integration/lib/nfs.sh"

verified_where=(--directory="$nfs_mounted" --filename_format="\$jobname" --size=4M)
verified_while=(mpa1 rx_read_req)

# --- disturbed ----------------------------------------------------------------------

link_goes() {
	ip link set near down && sleep 3 && ip link set near up
}

errors() {
	local device error
	for device in mpa1 mpa2; do
		for error in rx_crc_error rx_marker_error rx_length_error \
			rx_ddp_error rx_rdmap_error cq_overflow; do
			lab_is "$device: no $error" "$(lab_counter "$device" "$error")" 0
		done
	done
}

# version_works VERSION
version_works() {
	local writes reads connections
	writes=$(lab_counter mpa1 rx_read_req)
	reads=$(lab_counter mpa1 rx_write)
	lab_check "NFS $1: mounted" nfs_mount_of "$1"
	lab_is "NFS $1: transport" "$(nfs_transport)" rdma
	lab_check "NFS $1: random writes" verified random --rw=randwrite --bs=4k
	lab_check "NFS $1: direct writes of many sizes" \
		verified direct --rw=randwrite --bsrange=4k-256k --direct=1
	lab_check "NFS $1: random writes through a mapping" \
		verified mapping --rw=randwrite --bs=4k --ioengine=mmap
	lab_check "NFS $1: the server has the same" \
		verified_same "$nfs_exported" "$nfs_mounted" random direct mapping
	lab_check "NFS $1: a tree of files" \
		verified_tree "$MPA_REPO/kernel/rnic" "$nfs_mounted"
	lab_true "NFS $1: the server read the client's memory" \
		"$(lab_counter mpa1 rx_read_req) > $writes"
	lab_true "NFS $1: the server wrote the client's memory" \
		"$(lab_counter mpa1 rx_write) > $reads"
	errors
	lab_check "NFS $1: verified while the link is down" disturbed link link_goes
	connections=$(lab_counter mpa1 conn_active)
	lab_check "NFS $1: verified while the server restarts" \
		disturbed restart nfs_server_goes
	lab_true "NFS $1: over another connection" \
		"$(lab_counter mpa1 conn_active) > $connections"
	errors
	lab_check "NFS $1: unmounted" umount "$nfs_mounted"
}

# ------------------------------------------------------------------------------------

lab_do ip link set lo up
lab_do ip netns add server
lab_do ip link add near type veth peer name eth0 netns server
lab_do ip addr add 10.78.0.1/24 dev near
lab_do ip link set near up
lab_do ip -n server addr add $nfs_server/24 dev eth0
lab_do ip -n server link set lo up
lab_do ip -n server link set eth0 up
lab_do modprobe -a ib_uverbs rdma_ucm
lab_do rdma link add mpa1 type mpa netdev near
lab_do ip netns exec server rdma link add mpa2 type mpa netdev eth0
# A thread of the server that waits for an RDMA Read does not end before its connection:
# see nfs_server_goes.
lab_do ip netns exec server "$MPA_REPO/build/bin/mpactl" set dev mpa2 peer-timeout 15s

lab_check "the server listens" nfs_server_up
(($#)) || set -- 4.2 3
for version; do
	version_works "$version"
done
lab_check "the server ends" nfs_server_down
lab_do modprobe -r rpcrdma
