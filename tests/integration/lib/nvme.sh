# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# The kernel's NVMe target, and its host, over RDMA. nvmet accepts connections in the initial
# namespace only, so one host connects to its own address: what it sends goes through lo.
# Called by lab_check: nothing but && ends a function early.

nvme_address=10.78.0.1
nvme_cfg=/sys/kernel/config/nvmet
nvme_nqn=nqn.2026-11.mpa.lab
nvme_subsystem=$nvme_cfg/subsystems/$nvme_nqn
# Seconds without a sign of the host after which the target ends the connection.
nvme_patience=5

# nvme_target_up USE_SRQ
nvme_target_up() {
	lab_do modprobe nvmet-rdma use_srq="$1" &&
		lab_do modprobe nvme-rdma &&
		{ mountpoint -q /sys/kernel/config ||
			lab_do mount -t configfs none /sys/kernel/config; } &&
		truncate -s 32M /tmp/disk &&
		mkdir "$nvme_subsystem" "$nvme_subsystem/namespaces/1" &&
		echo 1 >"$nvme_subsystem/attr_allow_any_host" &&
		echo /tmp/disk >"$nvme_subsystem/namespaces/1/device_path" &&
		echo 1 >"$nvme_subsystem/namespaces/1/buffered_io" &&
		echo 1 >"$nvme_subsystem/namespaces/1/enable" &&
		mkdir "$nvme_cfg/ports/1" &&
		echo ipv4 >"$nvme_cfg/ports/1/addr_adrfam" &&
		echo rdma >"$nvme_cfg/ports/1/addr_trtype" &&
		echo "$nvme_address" >"$nvme_cfg/ports/1/addr_traddr" &&
		echo 4420 >"$nvme_cfg/ports/1/addr_trsvcid" &&
		nvme_port_open
}

nvme_port_open() {
	ln -s "$nvme_subsystem" "$nvme_cfg/ports/1/subsystems/$nvme_nqn"
}

# Without its last subsystem, the port no longer listens.
nvme_port_close() {
	rm "$nvme_cfg/ports/1/subsystems/$nvme_nqn"
}

nvme_target_down() {
	nvme_port_close &&
		rmdir "$nvme_cfg/ports/1" "$nvme_subsystem/namespaces/1" "$nvme_subsystem"
}

nvme_host_connect() {
	printf '%s,%s' "transport=rdma,traddr=$nvme_address,trsvcid=4420,nqn=$nvme_nqn" \
		"nr_io_queues=2,keep_alive_tmo=$nvme_patience,reconnect_delay=1,ctrl_loss_tmo=60" \
		>/dev/nvme-fabrics
}

# The namespace's block device appears as soon as it was scanned.
nvme_disk_there() {
	test -b /dev/nvme0n1
}

nvme_target_goes() {
	nvme_port_close && sleep 2 && nvme_port_open
}
