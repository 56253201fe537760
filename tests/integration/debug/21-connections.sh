#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Who may connect a QP. An argument chooses one of the parts below.
# lab run --no-kmemleak
. "$MPA_REPO/tests/lab/guest/lib.sh"

. "$MPA_REPO/tests/integration/lib/cases.sh"

owners() {
	# For other users and containers, too: there is no udev here.
	chmod 0666 /dev/infiniband/*
	cases_open "$MPA_REPO/tests/integration/owner_cases.py" 100
	cases_run owner
}

lab_devices 2
if (($#)); then
	"$@"
	exit
fi
owners
