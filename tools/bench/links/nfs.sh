# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# The kernel's NFS server and client, and a file in memory.
#
#	h1 eth0 10.77.0.1 mpa1 --- h2 eth0 10.77.0.2 mpa2	TCP, mpa: port 20049
#	(initial) near 10.78.0.1 siw3 --- h4 eth0 10.78.0.2 siw4	siw: port 20050
#
# siw connects in the initial namespace, since a work item of the client does. A server listens at all addresses, for which the RDMA core listens on the devices of all
# hosts, and siw in the namespace of the process that does so, bound to the number of the device's
# interface. So mpa and siw have hosts of their own, other ports, and the interfaces
# other numbers, and siw's devices come last.

exported=/tmp/exported
mounted=/tmp/mounted
file_mebi=128

links_up() {
	lab_hosts 2
	lab_link h1
	lab_link h2
	lab_do mount -t tmpfs none /var/lib/nfs
	mkdir -p /var/lib/nfs/{rpc_pipefs,sm,v4recovery} $exported $mounted
	touch /var/lib/nfs/{etab,rmtab,state}
	lab_do mount -t tmpfs -o size=$((file_mebi + 16))M none $exported
	lab_do dd if=/dev/zero of=$exported/file bs=1M count=$file_mebi status=none
	chmod 0777 $exported $exported/file
	lab_do modprobe -a nfsd rpcrdma nfsv4
	nfs_server h2 20049
	! measured siw || nfs_siw
	# They grant nothing before.
	lab_do sleep 10
}

nfs_siw() {
	lab_do ip netns add h4
	lab_host_names+=(h4)
	lab_do ip link set lo up
	lab_do ip link add near index 13 type veth peer name eth0 index 14 netns h4
	lab_do ip addr add 10.78.0.1/24 dev near
	lab_do ip link set near up
	lab_ip h4 <<- END
		link set lo up
		addr add 10.78.0.2/24 dev eth0
		link set eth0 up
	END
	lab_do rdma link add siw3 type siw netdev near
	lab_link h4 siw
	nfs_server h4 20050
}

# in_server HOST COMMAND...: its programs run in one mount namespace, where what they
# configure is.
in_server() {
	nsenter --net="/run/netns/$1" --mount="/proc/$(lab_pid "holder-$1")/ns/mnt" "${@:2}"
}

# It has its namespaces when it has become sleep, not before.
holder_holds() {
	[[ $(< "/proc/$(lab_pid "holder-$1")/comm") == sleep ]]
}

# nfs_server HOST PORT: of version 4 only, which needs no rpcbind.
nfs_server() {
	lab_spawn "holder-$1" "$1" unshare --mount sleep infinity
	lab_wait 10 holder_holds "$1"
	in_server "$1" mount -t nfsd none /proc/fs/nfsd
	# The shortest that it takes: it grants nothing for so long.
	echo 10 | in_server "$1" tee /proc/fs/nfsd/nfsv4leasetime > /dev/null
	echo 10 | in_server "$1" tee /proc/fs/nfsd/nfsv4gracetime > /dev/null
	in_server "$1" rpc.mountd --no-nfs-version 3
	in_server "$1" exportfs -o rw,insecure,no_root_squash,no_subtree_check,fsid=0,async \
		"*:$exported"
	in_server "$1" rpc.nfsd --no-nfs-version 3 "--rdma=$2" 4
}

links_mtu() {
	local host
	for host in h1 h2 $(! measured siw || echo h4); do
		lab_in "$host" ip link set eth0 mtu "$1"
		lose "$host" eth0 "$1"
	done
	measured siw || return 0
	lab_do ip link set near mtu "$1"
	lose "" near "$1"
}

links_set() {
	local n
	for n in 1 2; do
		lab_in "h$n" "$MPA_REPO/build/bin/mpactl" set dev "mpa$n" "$@"
	done
}

# on_nfs CONTESTANT ARGUMENT...: fio on the file, mounted that way.
on_nfs() {
	local client=(ip netns exec h1) options=proto=rdma,port=20049 address=10.77.0.2
	case $1 in
	tcp) options=proto=tcp ;;
	siw) client=() options=proto=rdma,port=20050 address=10.78.0.2 ;;
	esac
	# Its mount ends with it.
	# shellcheck disable=SC2016 # for the other shell
	"${client[@]}" unshare --mount bash -c \
		'mount -t nfs -o "$1" "$2:/" "$3" >&2 && "${@:4}"' - \
		"vers=4.2,$options" $address $mounted \
		fio --name=bench --filename=$mounted/file --direct=1 --ioengine=libaio \
		--thread --size=${file_mebi}M --gtod_reduce=1 --invalidate=0 \
		--output-format=json "${@:2}"
}

links_down() {
	local host
	for host in h2 $(! measured siw || echo h4); do
		in_server "$host" rpc.nfsd 0
		in_server "$host" exportfs -ua
	done
	pkill -x rpc.mountd
	for host in h2 $(! measured siw || echo h4); do
		lab_kill "holder-$host"
	done
	umount $exported /var/lib/nfs
	lab_do modprobe -r rpcrdma
}
