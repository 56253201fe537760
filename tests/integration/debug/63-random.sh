#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Random programs on sockets, verbs and the connection manager: eight at a time on each
# processor, with failing allocations where the kernel has fault injection, and while devices,
# addresses and links change. Arguments: seconds, and more options of random_calls.
# Configuration random: guided by the blocks of the modules that programs reach.
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/random.sh"

random_all "${1:-15}" "${@:2}"
