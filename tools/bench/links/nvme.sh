# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# The kernel's NVMe target, with a disk in memory, and its NVMe host, which connects by
# TCP or by one of two RNICs. The target and the host for RDMA are in the initial
# namespace only, so both ends are there, and what they send goes through lo:
#
#	TCP		10.79.0.1 port 4420
#	mpa0		10.79.0.1 port 4421
#	siw0		10.79.1.1 port 4421

config=/sys/kernel/config
subsystem=$config/nvmet/subsystems/nqn.2026-11.mpa.bench
disk_mebi=256

links_up() {
	lab_do ip link set lo up
	lab_do modprobe -a ib_uverbs rdma_ucm nvmet-tcp nvmet-rdma nvme-tcp nvme-rdma
	lab_do modprobe null_blk nr_devices=0
	nvme_link 10.79.0.1 near0 far0
	nvme_link 10.79.1.1 near1 far1
	! measured mpa || lab_do rdma link add mpa0 type mpa netdev near0
	! measured siw || lab_do rdma link add siw0 type siw netdev near1
	mountpoint -q $config || lab_do mount -t configfs none $config
	nvme_disk
	mkdir $subsystem $subsystem/namespaces/1
	echo 1 > $subsystem/attr_allow_any_host
	echo /dev/nullb0 > $subsystem/namespaces/1/device_path
	echo 1 > $subsystem/namespaces/1/enable
	nvme_port 1 tcp 10.79.0.1 4420
	! measured mpa || nvme_port 2 rdma 10.79.0.1 4421
	! measured siw || nvme_port 3 rdma 10.79.1.1 4421
}

nvme_link() {
	lab_do ip link add "$2" type veth peer name "$3"
	lab_do ip link set "$2" up
	lab_do ip link set "$3" up
	lab_do ip addr add "$1/24" dev "$2"
}

# A request is done where it is submitted, and all pages are there from the start.
nvme_disk() {
	local disk=$config/nullb/nullb0
	mkdir $disk
	echo 1 > $disk/memory_backed
	echo $disk_mebi > $disk/size
	echo 4096 > $disk/blocksize
	echo 0 > $disk/irqmode
	echo 1 > $disk/power
	lab_wait 10 test -b /dev/nullb0
	lab_do dd if=/dev/zero of=/dev/nullb0 bs=1M count=$disk_mebi oflag=direct status=none
}

# nvme_port NUMBER TRANSPORT ADDRESS PORT
nvme_port() {
	local port=$config/nvmet/ports/$1
	mkdir "$port"
	echo ipv4 > "$port/addr_adrfam"
	echo "$2" > "$port/addr_trtype"
	echo "$3" > "$port/addr_traddr"
	echo "$4" > "$port/addr_trsvcid"
	ln -s $subsystem "$port/subsystems/"
}

# MPA's segments, like TCP's, follow the route: it is that of lo. links_mtu MTU
links_mtu() {
	local link
	for link in lo near0 near1; do
		lab_do ip link set "$link" mtu "$1"
	done
	lose "" lo "$1"
}

links_set() {
	lab_do "$MPA_REPO/build/bin/mpactl" set dev mpa0 "$@"
}

# on_nvme CONTESTANT ARGUMENT...: fio on the disk, connected that way.
on_nvme() {
	local status=0
	nvme_connect "$1" >&2 && nvme_fio "${@:2}" || status=1
	nvme_disconnect >&2 || status=1
	return $status
}

nvme_connect() {
	local to
	case $1 in
	tcp) to=transport=tcp,traddr=10.79.0.1,trsvcid=4420 ;;
	tcp-digest)
		to=transport=tcp,traddr=10.79.0.1,trsvcid=4420,hdr_digest,data_digest
		;;
	siw) to=transport=rdma,traddr=10.79.1.1,trsvcid=4421 ;;
	mpa*) to=transport=rdma,traddr=10.79.0.1,trsvcid=4421 ;;
	esac
	echo "$to,nqn=${subsystem##*/},nr_io_queues=1,keep_alive_tmo=30" \
		> /dev/nvme-fabrics && lab_wait 10 nvme_there
}

# The name of the disk, if there is exactly one.
nvme_name() {
	local disks=(/dev/nvme*n1)
	[[ ${#disks[@]} == 1 && -b ${disks[0]} ]] && echo "${disks[0]}"
}

nvme_there() {
	nvme_name
}

nvme_fio() {
	fio --name=bench --filename="$(nvme_name)" --direct=1 --ioengine=libaio --thread \
		--size=${disk_mebi}M --norandommap --randseed=1 --gtod_reduce=1 --invalidate=0 \
		--output-format=json "$@"
}

nvme_disconnect() {
	local controller
	for controller in /sys/class/nvme/nvme*/delete_controller; do
		echo 1 > "$controller" || return
	done
}

links_down() {
	local port
	for port in "$config"/nvmet/ports/*; do
		rm "$port/subsystems/"*
		rmdir "$port"
	done
	rmdir $subsystem/namespaces/1 $subsystem
	rmdir $config/nullb/nullb0
	lab_do modprobe -r nvme-tcp nvme-rdma nvmet-tcp nvmet-rdma null_blk
}
