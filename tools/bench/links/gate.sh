# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# The hosts of hosts.sh; settings are also those of the namespaces, for MPA sockets.
. "$MPA_REPO/tools/bench/links/hosts.sh"

links_up() {
	hosts_up
}

links_set() {
	local n
	for n in 1 2; do
		lab_in "h$n" "$MPA_REPO/build/bin/mpactl" set "${@:1:6}"
		lab_in "h$n" "$MPA_REPO/build/bin/mpactl" set dev "mpa$n" "$@"
	done
}
