# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# The socket interface: cases of build/bin/socket_test, mpa-nc and mpa-echo
# between the hosts h1 and h2, and the module's life.

. "$MPA_REPO/tests/integration/lib/capture.sh"

socket_bin=$MPA_REPO/build/bin
socket_limit=60
[[ ${LAB_LANE:-stock} == stock ]] || socket_limit=240

# socket_cases [GLOB...]: their result lines count like our own.
socket_cases() {
	local slow=()
	[[ ${LAB_LANE:-stock} == stock ]] || slow=(--slow)
	lab_check "all cases of the sockets" "$socket_bin/socket_test" "${slow[@]}" "$@"
}
