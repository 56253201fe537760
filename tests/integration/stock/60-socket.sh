#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# MPA on the sockets of applications: everything in mpa(7), case by case, between two
# hosts and over loopback; the tools; and the packets on the wire. Arguments choose
# cases by patterns of their names, and run nothing else.
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/socket.sh"

lab_hosts 2
lab_do modprobe mpa
if (($#)); then
	socket_cases "$@"
	exit
fi
socket_cases
socket_tools
socket_wire
socket_module
