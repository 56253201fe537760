#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Kernel consumers: the kernel's NVMe over RDMA target and host. They use features
# that user programs cannot: fast-register regions, local and remote invalidation,
# the local DMA key, queues polled in softirq, and draining.
#
# nvmet accepts connections in the initial namespace only, so one host connects to
# its own address.
. "$MPA_REPO/tests/lab/guest/lib.sh"

cfg=/sys/kernel/config/nvmet
nqn=nqn.2026-11.mpa.lab

target_up() {
	lab_do modprobe -a nvmet nvmet-rdma nvme-rdma
	mountpoint -q /sys/kernel/config ||
		lab_do mount -t configfs none /sys/kernel/config
	truncate -s 32M /tmp/disk
	mkdir "$cfg/subsystems/$nqn" "$cfg/subsystems/$nqn/namespaces/1"
	echo 1 >"$cfg/subsystems/$nqn/attr_allow_any_host"
	echo /tmp/disk >"$cfg/subsystems/$nqn/namespaces/1/device_path"
	echo 1 >"$cfg/subsystems/$nqn/namespaces/1/buffered_io"
	echo 1 >"$cfg/subsystems/$nqn/namespaces/1/enable"
	mkdir "$cfg/ports/1"
	echo ipv4 >"$cfg/ports/1/addr_adrfam"
	echo rdma >"$cfg/ports/1/addr_trtype"
	echo 10.78.0.1 >"$cfg/ports/1/addr_traddr"
	echo 4420 >"$cfg/ports/1/addr_trsvcid"
	ln -s "$cfg/subsystems/$nqn" "$cfg/ports/1/subsystems/$nqn"
}

target_down() {
	rm "$cfg/ports/1/subsystems/$nqn"
	rmdir "$cfg/ports/1" "$cfg/subsystems/$nqn/namespaces/1" \
		"$cfg/subsystems/$nqn"
}

host_connect() {
	printf 'transport=rdma,traddr=10.78.0.1,trsvcid=4420,nqn=%s,nr_io_queues=2' \
		"$nqn" >/dev/nvme-fabrics
}

# The namespace's block device appears as soon as it was scanned.
disk_there() {
	test -b /dev/nvme0n1
}

write_disk() {
	dd if=/tmp/data of=/dev/nvme0n1 bs=1M oflag=direct status=none
	dd if=/tmp/small of=/dev/nvme0n1 bs=4k seek=4096 oflag=direct status=none
}

disk_has() {
	cmp <(dd if=/dev/nvme0n1 bs=256k count=64 iflag=direct status=none) \
		/tmp/data &&
	cmp <(dd if=/dev/nvme0n1 bs=4k skip=4096 count=64 iflag=direct \
		status=none) /tmp/small
}

# owned_by KIND MODULE
owned_by() {
	rdma resource show "$1" | grep -F " comm [$2]"
}

lab_do ip link set lo up
lab_do ip link add nvme0 type veth peer name nvme1
lab_do ip link set nvme0 up
lab_do ip link set nvme1 up
lab_do ip addr add 10.78.0.1/24 dev nvme0
lab_do rdma link add mpa0 type mpa netdev nvme0
dd if=/dev/urandom of=/tmp/data bs=1M count=16 status=none
dd if=/dev/urandom of=/tmp/small bs=4k count=64 status=none

lab_check "the target listens" target_up
lab_check "the host connects" host_connect
lab_check "its disk appears" lab_wait 30 disk_there
lab_check "16 MiB and 64 small blocks are written" write_disk
lab_check "the same is read back" disk_has
lab_check "and lies in the target's file" cmp -n 16777216 /tmp/disk /tmp/data

for owner in nvme_rdma nvmet_rdma; do
	lab_check "rdma names $owner as the owner of an identifier" \
		owned_by cm_id "$owner"
done
lab_check "rdma names the owner of a region" owned_by mr nvme_rdma
# The module that creates the queue pairs of both.
lab_check "rdma names the owner of a queue pair" owned_by qp rdma_cm

lab_true "the target read what was written" \
	"$(lab_counter mpa0 rx_read_resp) > 0"
lab_true "the target wrote what was read" \
	"$(lab_counter mpa0 rx_write) > 0"
for error in rx_crc_error rx_marker_error rx_length_error rx_ddp_error \
	rx_rdmap_error \
	tx_terminate rx_terminate cq_overflow; do
	lab_is "no $error" "$(lab_counter mpa0 $error)" 0
done

lab_check "the host disconnects" \
	sh -c 'echo 1 >/sys/class/nvme/nvme0/delete_controller'
lab_check "the target is removed" target_down
lab_do modprobe -r nvme-rdma nvmet-rdma
lab_check "the device can be deleted" lab_do rdma link delete mpa0
lab_do ip link delete nvme0
