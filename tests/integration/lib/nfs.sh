# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# The kernel's NFS server in the namespace `server`, and its client in the initial one, whose
# end of the link is `near`.

nfs_server=10.78.0.2
nfs_exported=/tmp/exported
nfs_mounted=/tmp/mounted

# --- server -------------------------------------------------------------------------

# The server's programs run in one mount namespace: what they configure is there.
nfs_in_server() {
	nsenter --net=/run/netns/server --mount="/proc/$(lab_pid holder)/ns/mnt" "$@"
}

# It has its namespaces when it has become sleep, not before.
nfs_holder_holds() {
	[[ $(< "/proc/$(lab_pid holder)/comm") == sleep ]]
}

# The server's state is in memory; the same for its programs and for the client's.
nfs_server_state() {
	lab_do mount -t tmpfs none /var/lib/nfs &&
		mkdir -p /var/lib/nfs/{rpc_pipefs,sm,v4recovery} "$nfs_exported" &&
		touch /var/lib/nfs/{etab,rmtab,state} &&
		lab_do mount -t tmpfs -o size=200M none "$nfs_exported" &&
		chmod 0777 "$nfs_exported"
}

# nfs_server_time NAME: the shortest that it takes, for it to start again.
nfs_server_time() {
	echo 10 | nfs_in_server tee "/proc/fs/nfsd/$1" > /dev/null
}

# Called by lab_check, so nothing but && ends it early.
nfs_server_up() {
	nfs_server_state &&
		lab_do modprobe -a nfsd rpcrdma &&
		lab_spawn holder server unshare --mount sleep infinity &&
		lab_wait 10 nfs_holder_holds &&
		nfs_in_server mount -t nfsd none /proc/fs/nfsd &&
		nfs_server_time nfsv4leasetime && nfs_server_time nfsv4gracetime &&
		nfs_in_server rpcbind -w && nfs_in_server rpc.mountd --port 20048 &&
		nfs_in_server exportfs -o rw,insecure,no_root_squash,no_subtree_check,fsid=0 \
			"*:$nfs_exported" &&
		nfs_server_start
}

nfs_server_start() {
	nfs_in_server rpc.nfsd --rdma=20049 4
}

nfs_server_stop() {
	nfs_in_server rpc.nfsd 0
}

nfs_server_down() {
	nfs_server_stop && nfs_in_server exportfs -ua && pkill -x rpc.mountd &&
		pkill -x rpcbind && lab_kill holder &&
		umount "$nfs_exported" /var/lib/nfs
}

# --- client -------------------------------------------------------------------------

# nfs_mount_of VERSION
nfs_mount_of() {
	local options=rw,vers=$1,proto=rdma,port=20049,timeo=50,retrans=3
	local path=/
	if [[ $1 == 3 ]]; then
		options+=,mountproto=tcp,mountport=20048,nolock
		path=$nfs_exported
	fi
	mkdir -p "$nfs_mounted"
	mount -t nfs -o "$options" "$nfs_server:$path" "$nfs_mounted"
}

nfs_transport() {
	awk -v at="$nfs_mounted" '$2 == at { print $4 }' /proc/mounts |
		tr , '\n' | sed -n 's/^proto=//p'
}

# The kernel's server never frees a connection that arrives while it stops
# (svcxprt_rdma.sc_accept_q): an identifier of the RDMA core stays, with the name of a
# module that will be gone. So none can arrive. The client may owe the answer to a Read
# then: peer-timeout ends that connection.
nfs_server_goes() {
	ip link set near down && nfs_server_stop && ip link set near up && sleep 2 &&
		nfs_server_start
}
