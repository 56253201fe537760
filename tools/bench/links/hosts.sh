# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Two hosts with two links, one with an RNIC of each kind:
#
#	+-----------h1-----------+            +-----------h2-----------+
#	| eth0 10.77.0.1   mpa1  |------------| eth0 10.77.0.2   mpa2  |
#	| eth1 10.78.0.1   siw1  |------------| eth1 10.78.0.2   siw2  |
#	+------------------------+            +------------------------+
#
# rdma_cm takes the first device with the right address: with two devices on one link
# it could not be chosen.

hosts_up() {
	local n
	lab_hosts 2
	lab_second_link
	for n in 1 2; do
		! measured mpa || lab_link "h$n" mpa "mpa$n" eth0
		! measured siw || lab_link "h$n" siw "siw$n" eth1
	done
}

# Thousands of connections at a time, and one after the other: connections that have ended
# keep no ports, of which there are 28,232, and a program may have so many queue pairs.
links_up() {
	local host
	hosts_up
	for host in h1 h2; do
		lab_in "$host" sysctl -q net.ipv4.tcp_max_tw_buckets=0
	done
	! measured mpa || links_set user-qp-max 65536
}

# links_mtu MTU
links_mtu() {
	local host link
	for host in h1 h2; do
		for link in eth0 eth1; do
			lab_in "$host" ip link set "$link" mtu "$1"
			lose "$host" "$link" "$1"
		done
	done
}

# links_set SETTING VALUE...: of all mpa devices.
links_set() {
	local n
	for n in 1 2; do
		lab_in "h$n" "$MPA_REPO/build/bin/mpactl" set dev "mpa$n" "$@"
	done
}

links_down() {
	:
}
