#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# `make install` as users run it, and then two hosts that use the installed files:
# modules found by their aliases, the provider by its driver file. At the end, `make
# uninstall`.
. "$MPA_REPO/tests/lab/guest/lib.sh"

release=$(uname -r)
modules=/usr/lib/modules/$release

uses_installed_provider() {
	grep -q '/libibverbs/libmpa-rdmav[0-9]*\.so$' "/proc/$(lab_pid server)/maps"
}

# It prints the rules files it has read, with any network device.
udev_has_rule() {
	udevadm test /sys/class/net/lo 2>&1 |
		grep -F 'Reading rules file: /usr/local/lib/udev/rules.d/90-mpa.rules'
}

# The linker finds the library without ldconfig, the program does not.
linked_program_starts() {
	echo 'int main(void) { return 0; }' |
		cc -x c - -o /tmp/linked -Wl,--no-as-needed -lmpa-tls && /tmp/linked
}

# Where an installation goes. All of /usr/lib would take minutes here.
files() {
	local places=(/etc/libibverbs.d /usr/lib/*/libibverbs /usr/local)
	[[ ! -d /etc/mpa ]] || places+=(/etc/mpa)
	find "${places[@]}" ! -type d | sort
}

unset IBV_DRIVERS
lab_writable "$modules"
lab_writable "$MPA_REPO"
cd "$MPA_REPO" || exit
lab_do rm -r "$modules/extra"
files > /tmp/before
# Compiling again would take minutes here: install the host's build.
lab_check "make install" make -s install -o modules -o userspace \
	MAKE="make -o userspace" KDIR="/usr/src/linux-headers-$release" PREFIX=/usr/local
lab_is "the modules are where modprobe finds them" \
	"$(modinfo -F filename mpa_rnic)" "/lib/modules/$release/extra/mpa_rnic.ko"
version=$(< VERSION)
for program in mpactl mpa-nc mpa-bench; do
	lab_is "$program is installed, of this version" \
		"$("/usr/local/bin/$program" --version)" "$program $version"
done
for module in mpa mpa_rnic; do
	lab_is "$module is of this version" "$(modinfo -F version $module)" "$version"
done
lab_check "the user ABI is installed" \
	test -s /usr/local/include/rdma/mpa-abi.h
lab_check "the socket interface and its C++ headers are installed" \
	test -s /usr/local/include/linux/mpa.h -a -s /usr/local/include/mpa/mpa.hpp
lab_check "its manual page is found" man -w 1 mpa-nc
lab_check "the direct verbs are installed" \
	test -s /usr/local/include/infiniband/mpadv.h
lab_check "mpadv(3) is found" man -w 3 mpadv
lab_check "mpactl(8) is found" man -w 8 mpactl
lab_check "its completions are where shells look" ls \
	/usr/local/share/bash-completion/completions/mpactl \
	/usr/local/share/zsh/site-functions/_mpactl \
	/usr/local/share/fish/vendor_completions.d/mpactl.fish
lab_check "mpa(7) is found" man -w 7 mpa
lab_check "its manual page is found" man -w 1 mpa-bench
lab_check "a program that is linked with libmpa-tls starts" linked_program_starts
lab_check "systemd takes the units" systemd-analyze --man=no verify \
	mpa.service mpa-restore@eth0.service
lab_check "one of them is wanted at boot" test -s \
	/usr/local/lib/systemd/system/multi-user.target.wants/mpa.service
lab_check "udev reads the rule" udev_has_rule

lab_devices 2
lab_spawn server h2 rping -s -a 10.77.0.2 -V -C 10 -S 1000
lab_wait_listen h2 7174
lab_check "the installed provider is loaded" uses_installed_provider
lab_check "client" lab_rping h1 -c -a 10.77.0.2 -V -C 10 -S 1000
lab_check "server" lab_join server

# Modules in use stay loaded, and without their files nothing could unload them.
lab_teardown
lab_do touch /etc/mpa/mpa.json
lab_do touch "$modules/extra/mpa.ko.xz"
lab_check "make uninstall" make -s uninstall
lab_is "only the saved settings are left" \
	"$(files | diff /tmp/before - | grep '^[<>]')" "> /etc/mpa/mpa.json"
lab_is "depmod has run" "$(modinfo -F filename mpa_rnic 2> /dev/null)" ""
lab_check "directories that only the installation used are removed" \
	test ! -e /usr/local/include/mpa -a ! -e /usr/local/share/linux-mpa \
	-a ! -e "$modules/extra"
lab_refuse "there is nothing to uninstall any more" make -s uninstall
