#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# MPA on the sockets of applications: what mpa(7) says, case by case, between
# two hosts and over loopback; the tools; and what goes over the wire. Arguments
# choose cases by patterns of their names, and nothing else then.
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
