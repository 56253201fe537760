# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154 # lab_jobs is the library's
#
# systemd and udev in the lab, whose guests have neither: systemd runs as the first
# process of a PID namespace, with its own /run and only udev and the units it is
# given. Network devices are those of the guest's first network namespace.

# boot_in COMMAND...: runs it in the namespaces of that systemd.
boot_in() {
	nsenter --target "$(boot_pid)" --mount --pid -- "$@"
}

# The process id of systemd itself, below unshare.
boot_pid() {
	pgrep --parent "$(lab_pid boot)" --exact systemd
}

# boot_up UNIT...: boots into a target that wants these units.
boot_up() {
	cat > /etc/systemd/system/lab.target <<- END
		[Unit]
		DefaultDependencies=no
		Requires=systemd-journald.service systemd-udevd.service
		After=systemd-journald.service systemd-udevd.service
		Wants=$*
	END
	printf '+ [boot] systemd\n'
	unshare --mount --pid --fork --mount-proc --kill-child bash -c '
		mount -t tmpfs -o mode=755 run /run
		exec env -i container=lab PATH="$PATH" SYSTEMD_LOG_TARGET=console \
			/lib/systemd/systemd --system --unit=lab.target' \
		> "$LAB_OUT/boot.log" 2>&1 < /dev/null &
	lab_jobs[boot]=$!
	lab_wait 120 boot_is_up
}

boot_is_up() {
	boot_in systemctl is-active --quiet lab.target
}

boot_down() {
	boot_in journalctl --no-pager > "$LAB_OUT/journal" || true
	lab_kill boot KILL
}

# boot_unit UNIT PROPERTY
boot_unit() {
	boot_in systemctl show --value --property="$2" "$1"
}

# boot_unit_is UNIT PROPERTY VALUE
boot_unit_is() {
	[[ $(boot_unit "$1" "$2") == "$3" ]]
}

# What udev does at boot for devices that are present already.
boot_coldplug() {
	lab_do boot_in udevadm trigger --action=add --subsystem-match=net --settle
}
