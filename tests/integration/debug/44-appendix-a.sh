#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Programs written to the letter of appendix A of draft-ietf-tsvwg-tcp-ulp-frame-00: with
# the preloaded library, and with the one call more that Linux needs.
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/socket.sh"

# Its results are not those of the script.
appendix_a_alone() {
	timeout 60 ip netns exec h1 "$socket_bin/appendix_a" > "$LAB_OUT/none.log"
}

lab_hosts 2
lab_seed
lab_refuse "without the module and the library" appendix_a_alone
lab_is "no option is known then" \
	"$(grep -c 'errno: Protocol not available' "$LAB_OUT/none.log")" \
	"$(grep -c '^not ok' "$LAB_OUT/none.log")"
lab_true "and that was tried" "$(grep -c '^not ok' "$LAB_OUT/none.log") > 0"
lab_do modprobe mpa
lab_check "with the call that attaches" \
	timeout 60 ip netns exec h1 "$socket_bin/appendix_a" --attach
lab_check "with the preloaded library" timeout 60 ip netns exec h1 \
	"$socket_bin/tcp-framing" "$socket_bin/appendix_a"
socket_counters
