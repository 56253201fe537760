# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# What is left over after programs have ended: RDMA objects and TCP sockets.

# Seconds within which everything that programs leave must be gone.
objects_limit=40
sockets_limit=60

# sockets_left HOST...: TCP sockets of our connections that have not ended. Those in
# time-wait have ended, and listeners of running programs do not count.
sockets_left() {
	local host
	for host in "$@"; do
		ip netns exec "$host" ss -Htan \
			state connected exclude time-wait | sed "s/^/$host: /" || return
	done
}

# objects_gone WHAT [SECONDS]: a result line; objects are freed asynchronously, but
# soon.
objects_gone() {
	lab_check "no object is left $1" \
		lab_wait "${2:-$objects_limit}" lab_gone lab_objects_left
}

# sockets_gone WHAT HOST...
sockets_gone() {
	local what=$1
	shift
	lab_check "no socket is left $what" \
		lab_wait "$sockets_limit" lab_gone sockets_left "$@"
}
