# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# The netlink family: cases of build/bin/netlink_test between the hosts h1 and h2.

# netlink_cases [GLOB...]: their result lines count like those of the script.
netlink_cases() {
	lab_check "all cases of the netlink family" \
		"$MPA_REPO/build/bin/netlink_test" "$@"
}
