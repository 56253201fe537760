#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The kernel's side of the user ABI with input that no provider sends: sizes,
# addresses, mappings. Everything is refused with the right error, and nothing is
# left over.
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/uverbs.sh"

tracing=/sys/kernel/tracing

lab_devices 2
echo 1 > $tracing/events/mpa_rnic/rnic_mr/enable
uverbs_input h1 mpa1

cp $tracing/trace "$LAB_OUT/trace"
registered=$(grep -c 'rnic_mr: dev=mpa1 stag=0x[0-9a-f]* reg ' "$LAB_OUT/trace")
removed=$(grep -c 'rnic_mr: dev=mpa1 stag=0x[0-9a-f]* dereg ' "$LAB_OUT/trace")
lab_true "regions are traced" "$registered > 256"
lab_is "all of them were deregistered" "$removed" "$registered"
