#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Connections are made and refused as RFC 5044 section 7.1 and RFC 6581 require, byte
# by byte, and their end is reported once on each side: with a plain TCP peer that
# builds the frames, and between two mpa devices. Arguments choose cases by the
# beginning of their names.
#
#	+----h1----+ 10.77.0.0/24  +----h2----+
#	|     mpa1 |---------------| mpa2     |
#	|          | 10.78.0.0/24  |          |
#	|     eth1 |---------------| mpa3     |
#	+----------+               +----------+
. "$MPA_REPO/tests/lab/guest/lib.sh"

. "$MPA_REPO/tests/integration/lib/cases.sh"

lab_devices 2
cases_open "$MPA_REPO/tests/integration/cm_cases.py" 150

if (($#)); then
	[[ $* != *pair* ]] || { lab_second_link; lab_link h1 mpa mpa4 eth1; lab_link h2 mpa mpa3 eth1; }
	for prefix in "$@"; do
		cases_run "$prefix"
	done
	exit
fi

cases_run responder
cases_run initiator
cases_run both
lab_second_link
lab_link h1 mpa mpa4 eth1
lab_link h2 mpa mpa3 eth1
cases_run pair
cases_run gone
