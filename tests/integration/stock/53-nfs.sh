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

server=10.78.0.2
exported=/tmp/exported
mounted=/tmp/mounted
verified_where=(--directory="$mounted" --filename_format="\$jobname" --size=4M)
verified_while=(mpa1 rx_read_req)

# --- server -------------------------------------------------------------------------

# The server's programs run in one mount namespace: what they configure is there.
in_server() {
	nsenter --net=/run/netns/server --mount="/proc/$(lab_pid holder)/ns/mnt" "$@"
}

# It has its namespaces when it has become sleep, not before.
holder_holds() {
	[[ $(< "/proc/$(lab_pid holder)/comm") == sleep ]]
}

# The server's state is in memory; the same for its programs and for the client's.
server_state() {
	lab_do mount -t tmpfs none /var/lib/nfs &&
		mkdir -p /var/lib/nfs/{rpc_pipefs,sm,v4recovery} "$exported" &&
		touch /var/lib/nfs/{etab,rmtab,state} &&
		lab_do mount -t tmpfs -o size=200M none "$exported" &&
		chmod 0777 "$exported"
}

# server_time NAME: the shortest that it takes, for it to start again.
server_time() {
	echo 10 | in_server tee "/proc/fs/nfsd/$1" > /dev/null
}

# Called by lab_check, so nothing but && ends it early.
server_up() {
	server_state &&
		lab_do modprobe -a nfsd rpcrdma &&
		lab_spawn holder server unshare --mount sleep infinity &&
		lab_wait 10 holder_holds &&
		in_server mount -t nfsd none /proc/fs/nfsd &&
		server_time nfsv4leasetime && server_time nfsv4gracetime &&
		in_server rpcbind -w && in_server rpc.mountd --port 20048 &&
		in_server exportfs -o rw,insecure,no_root_squash,no_subtree_check,fsid=0 \
			"*:$exported" &&
		server_start
}

server_start() {
	in_server rpc.nfsd --rdma=20049 4
}

server_stop() {
	in_server rpc.nfsd 0
}

server_down() {
	server_stop && in_server exportfs -ua && pkill -x rpc.mountd &&
		pkill -x rpcbind && lab_kill holder &&
		umount "$exported" /var/lib/nfs
}

# --- client -------------------------------------------------------------------------

# mount_of VERSION
mount_of() {
	local options=rw,vers=$1,proto=rdma,port=20049,timeo=50,retrans=3
	local path=/
	if [[ $1 == 3 ]]; then
		options+=,mountproto=tcp,mountport=20048,nolock
		path=$exported
	fi
	mkdir -p "$mounted"
	mount -t nfs -o "$options" "$server:$path" "$mounted"
}

transport() {
	awk -v at="$mounted" '$2 == at { print $4 }' /proc/mounts |
		tr , '\n' | sed -n 's/^proto=//p'
}

link_goes() {
	ip link set near down && sleep 3 && ip link set near up
}

# The kernel's server never frees a connection that arrives while it stops
# (svcxprt_rdma.sc_accept_q): an identifier of the RDMA core stays, with the name of a
# module that will be gone. So none can arrive. The client may owe the answer to a Read
# then: peer-timeout ends that connection.
server_goes() {
	ip link set near down && server_stop && ip link set near up && sleep 2 &&
		server_start
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
	lab_check "NFS $1: mounted" mount_of "$1"
	lab_is "NFS $1: transport" "$(transport)" rdma
	lab_check "NFS $1: random writes" verified random --rw=randwrite --bs=4k
	lab_check "NFS $1: direct writes of many sizes" \
		verified direct --rw=randwrite --bsrange=4k-256k --direct=1
	lab_check "NFS $1: random writes through a mapping" \
		verified mapping --rw=randwrite --bs=4k --ioengine=mmap
	lab_check "NFS $1: the server has the same" \
		verified_same "$exported" "$mounted" random direct mapping
	lab_check "NFS $1: a tree of files" \
		verified_tree "$MPA_REPO/kernel/rnic" "$mounted"
	lab_true "NFS $1: the server read the client's memory" \
		"$(lab_counter mpa1 rx_read_req) > $writes"
	lab_true "NFS $1: the server wrote the client's memory" \
		"$(lab_counter mpa1 rx_write) > $reads"
	errors
	lab_check "NFS $1: verified while the link is down" disturbed link link_goes
	connections=$(lab_counter mpa1 conn_active)
	lab_check "NFS $1: verified while the server restarts" \
		disturbed restart server_goes
	lab_true "NFS $1: over another connection" \
		"$(lab_counter mpa1 conn_active) > $connections"
	lab_check "NFS $1: unmounted" umount "$mounted"
}

# ------------------------------------------------------------------------------------

lab_do ip link set lo up
lab_do ip netns add server
lab_do ip link add near type veth peer name eth0 netns server
lab_do ip addr add 10.78.0.1/24 dev near
lab_do ip link set near up
lab_do ip -n server addr add $server/24 dev eth0
lab_do ip -n server link set lo up
lab_do ip -n server link set eth0 up
lab_do modprobe -a ib_uverbs rdma_ucm
lab_do rdma link add mpa1 type mpa netdev near
lab_do ip netns exec server rdma link add mpa2 type mpa netdev eth0
# A thread of the server that waits for an RDMA Read does not end before its connection:
# see server_goes.
lab_do ip netns exec server "$MPA_REPO/build/bin/mpactl" set dev mpa2 peer-timeout 15s

lab_check "the server listens" server_up
(($#)) || set -- 4.2 3
for version; do
	version_works "$version"
done
lab_check "the server ends" server_down
lab_do modprobe -r rpcrdma
