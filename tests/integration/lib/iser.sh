# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034 # lab_jobs and verified_where are those of others
#
# The kernel's iSER target, and open-iscsi, its initiator, in the initial namespace; and the
# port mapper of rdma-core, without which the target's port is in use by TCP.

iser_address=10.78.0.1
iser_lio=/sys/kernel/config/target
iser_iqn=iqn.2026-11.lab.mpa:disk
iser_tpg=$iser_lio/iscsi/$iser_iqn/tpgt_1
iser_portal=$iser_address:3260
# Seconds within which a target must answer a ping.
iser_patience=2

# Called by lab_check, so nothing but && ends it early.
iser_target_up() {
	lab_do modprobe -a target_core_mod iscsi_target_mod ib_isert &&
		{ mountpoint -q /sys/kernel/config ||
			lab_do mount -t configfs none /sys/kernel/config; } &&
		mkdir -p "$iser_lio/core/rd_mcp_0/disk" &&
		echo rd_pages=16384 > "$iser_lio/core/rd_mcp_0/disk/control" &&
		echo 1 > "$iser_lio/core/rd_mcp_0/disk/enable" &&
		mkdir -p "$iser_tpg/lun/lun_0" &&
		ln -s "$iser_lio/core/rd_mcp_0/disk" "$iser_tpg/lun/lun_0/disk" &&
		echo 0 > "$iser_tpg/attrib/authentication" &&
		echo 1 > "$iser_tpg/attrib/generate_node_acls" &&
		echo 1 > "$iser_tpg/attrib/cache_dynamic_acls" &&
		echo 0 > "$iser_tpg/attrib/demo_mode_write_protect" &&
		mkdir "$iser_tpg/np/$iser_portal" &&
		echo 1 > "$iser_tpg/np/$iser_portal/iser" &&
		echo 1 > "$iser_tpg/enable"
}

iser_target_down() {
	echo 0 > "$iser_tpg/enable" && rmdir "$iser_tpg/np/$iser_portal" &&
		rm "$iser_tpg/lun/lun_0/disk" &&
		rmdir "$iser_tpg/lun/lun_0" "$iser_tpg" "$iser_lio/iscsi/$iser_iqn" \
			"$iser_lio/core/rd_mcp_0/disk" "$iser_lio/core/rd_mcp_0"
}

iser_initiator_up() {
	lab_do modprobe -a ib_iser iscsi_tcp sd_mod
	lab_do mount -t tmpfs none /etc/iscsi
	mkdir -p /run/lock/iscsi
	echo "InitiatorName=iqn.2026-11.lab.mpa:host" > /etc/iscsi/initiatorname.iscsi
	cat > /etc/iscsi/iscsid.conf <<- END
		node.startup = manual
		node.session.timeo.replacement_timeout = 60
		node.conn[0].timeo.noop_out_interval = 1
		node.conn[0].timeo.noop_out_timeout = $iser_patience
		node.session.initial_login_retry_max = 2
	END
	# At its end it signals all of its process group.
	lab_spawn_here iscsid setsid iscsid -f
	lab_wait 20 iscsiadm -m iface
}

iser_node() {
	iscsiadm -m node -T "$iser_iqn" -p "$iser_portal" "$@"
}

iser_node_login() {
	iser_node -o new -I "$1" && iser_node -I "$1" --login
}

# The disk of the session, once there is one.
iser_disk_appears() {
	lab_wait 30 iser_disk &&
		verified_where=(--filename="$(iser_disk)" --ioengine=libaio --iodepth=16)
}

iser_disk() {
	local found
	for found in /sys/class/iscsi_session/session*/device/target*/*/block/*; do
		if [[ -e $found ]]; then
			echo "/dev/${found##*/}"
			return
		fi
	done
	return 1
}

iser_mapper_is_up() {
	ss -Hlun "sport = :3935" | grep -q 3935
}

# On the processor of the first server: the kernel asks the port mapper for its name, and
# only then notes where the answer belongs. An answer before that is a NULL pointer.
iser_mapper_up() {
	lab_spawn_here iwpmd taskset -c 0 iwpmd -s
	lab_check "the port mapper runs" lab_wait 20 iser_mapper_is_up
}

# The initiator connects again, and repeats what was not answered.
iser_target_goes() {
	echo 0 > "$iser_tpg/enable" && sleep 2 && echo 1 > "$iser_tpg/enable"
}

# ib_iser fails a command that it gets after the end of the connection and before it has
# reported that end (iscsi_iser_task_init()), with a line in the log.
iser_raced() {
	dmesg | grep -c 'iscsi_iser_task_init: Failed to init task'
}

# A portal listens on the device that has its address when it is made.
iser_port_close() {
	echo 0 > "$iser_tpg/enable" && rmdir "$iser_tpg/np/$iser_portal"
}

iser_port_open() {
	mkdir "$iser_tpg/np/$iser_portal" &&
		echo 1 > "$iser_tpg/np/$iser_portal/iser" &&
		echo 1 > "$iser_tpg/enable"
}
