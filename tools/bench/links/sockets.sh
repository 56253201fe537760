# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# The hosts of hosts.sh without RNICs: settings are those of the namespaces.
. "$MPA_REPO/tools/bench/links/hosts.sh"

links_up() {
	lab_hosts 2
	lab_second_link
	lab_do modprobe -a mpa kcm
}

# links_set SETTING VALUE...: of which sockets have CRCs, Markers and segments.
links_set() {
	local n
	for n in 1 2; do
		lab_in "h$n" "$MPA_REPO/build/bin/mpactl" set "${@:1:6}"
	done
}
