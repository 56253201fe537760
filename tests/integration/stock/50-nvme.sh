#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Kernel consumers: the kernel's NVMe over RDMA target and host. They use features
# that user programs cannot: fast-register regions, local and remote invalidation,
# the local DMA key, queues polled in softirq, and draining. The target receives into
# queues of its queue pairs, then into shared ones (its parameter use_srq). fio writes and
# verifies while packets are lost, the link is down, the target goes away, and the device.
#
# nvmet accepts connections in the initial namespace only, so one host connects to
# its own address: what it sends goes through lo.
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/verified.sh"
. "$MPA_REPO/tests/integration/lib/nvme.sh"

verified_where=(--filename=/dev/nvme0n1 --ioengine=libaio --iodepth=16)
verified_while=(mpa0 rx_read_resp)

write_disk() {
	dd if=/tmp/data of=/dev/nvme0n1 bs=1M oflag=direct status=none &&
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

# at_least VERSION LEAST
at_least() {
	[[ $(printf '%s\n' "$1" "$2" | sort -V | head -n 1) == "$2" ]]
}

# Kernel and rdma are of releases that show details of a shared receive queue.
srq_details_known() {
	at_least "$(uname -r)" 6.7 && at_least "$(rdma -V | sed 's/.*iproute2-//')" 6.7
}

srq_details() {
	rdma -dd resource show srq | tr -s '\n\t ' ' ' |
		grep -E 'drv_srq_size [1-9][0-9]* drv_srq_posted [1-9][0-9]* drv_srq_limit 0'
}

# errors [MORE]...
errors() {
	local error
	for error in rx_crc_error rx_marker_error rx_length_error rx_ddp_error \
		rx_rdmap_error cq_overflow "$@"; do
		lab_is "no $error" "$(lab_counter mpa0 "$error")" 0
	done
}

# --- disturbed ----------------------------------------------------------------------

packets_are_lost() {
	tc qdisc add dev lo root netem loss 2% && sleep 3 && tc qdisc del dev lo root
}

link_goes() {
	ip link set lo down && sleep 2 && ip link set lo up
}

device_goes() {
	timeout 60 rdma link delete mpa0
}

module_goes() {
	timeout 60 modprobe -r mpa_rnic
}

disk_gone() {
	[[ ! -e /dev/nvme0n1 ]]
}

# fails NAME: fio ends, and reports that it could not write or read all.
fails() {
	local status=0
	lab_join "$1" 60 || status=$?
	((status > 0 && status < 124))
}

# disturbances END: and its device goes by device_goes or module_goes.
disturbances() {
	local connections
	lab_check "verified while packets are lost" disturbed loss packets_are_lost
	lab_check "verified while the link is down" disturbed link link_goes
	connections=$(lab_counter mpa0 conn_active)
	lab_check "verified while the target goes and comes back" \
		disturbed target nvme_target_goes
	lab_true "the host has connected again" \
		"$(lab_counter mpa0 conn_active) > $connections"
	errors
	lab_check "$1 under load" loaded "$1" "$1"
	lab_check "what was written then fails" fails "$1"
	lab_check "the disk goes, too" lab_wait 20 disk_gone
	lab_do rdma link add mpa0 type mpa netdev nvme0
	# A port does not listen on a device that is new.
	lab_check "the port is opened again" nvme_target_goes
	lab_check "with another device the host connects again" nvme_host_connect
	lab_check "its disk appears" lab_wait 30 nvme_disk_there
	lab_check "and is verified" \
		verified again --rw=randwrite --bs=16k --direct=1 --size=4M
	errors
}

# ------------------------------------------------------------------------------------

lab_do ip link set lo up
lab_do ip link add nvme0 type veth peer name nvme1
lab_do ip link set nvme0 up
lab_do ip link set nvme1 up
lab_do ip addr add 10.78.0.1/24 dev nvme0
lab_do rdma link add mpa0 type mpa netdev nvme0
dd if=/dev/urandom of=/tmp/data bs=1M count=16 status=none
dd if=/dev/urandom of=/tmp/small bs=4k count=64 status=none

# queues USE_SRQ END: everything, with shared receive queues or without.
queues() {
	local owner kind=${1/Y/shared} read_before write_before
	kind=${kind/N/own}
	read_before=$(lab_counter mpa0 rx_read_resp)
	write_before=$(lab_counter mpa0 rx_write)
	rm -f /tmp/disk

	lab_check "$kind queues: the target listens" nvme_target_up "$1"
	lab_check "the host connects" nvme_host_connect
	lab_check "its disk appears" lab_wait 30 nvme_disk_there
	if [[ $1 == Y ]]; then
		lab_check "rdma names the owner of a shared receive queue" \
			owned_by srq nvmet_rdma
		if srq_details_known; then
			lab_check "rdma shows its size" srq_details
		else
			lab_skip "rdma shows its size" "the kernel or rdma does not know of it"
		fi
	else
		lab_refuse "there is a shared receive queue" owned_by srq nvmet_rdma
	fi
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
		"$(lab_counter mpa0 rx_read_resp) > $read_before"
	lab_true "the target wrote what was read" \
		"$(lab_counter mpa0 rx_write) > $write_before"
	errors tx_terminate rx_terminate
	disturbances "$2"
	lab_check "the host disconnects" \
		sh -c 'echo 1 >/sys/class/nvme/nvme0/delete_controller'
	lab_check "the target is removed" nvme_target_down
	lab_do modprobe -r nvme-rdma nvmet-rdma
	lab_check "no shared receive queue is left" lab_gone rdma resource show srq
}

queues N device_goes
queues Y module_goes
lab_check "the device can be deleted" lab_do rdma link delete mpa0
lab_do ip link delete nvme0
