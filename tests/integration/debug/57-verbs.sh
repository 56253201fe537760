#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Verbs at their limits: input that no provider sends; replies that contain no
# foreign data (previously used memory is poisoned); rights; regions and windows; RESET;
# full completion queues; many entries at once; for kernel consumers as well. Arguments
# choose cases by patterns of their names.
# lab run --cmdline slub_debug=P
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/irqoff.sh"
. "$MPA_REPO/tests/integration/lib/uverbs.sh"

chosen=$#
lab_devices 2
lab_do modprobe mpa_dmabuf
lab_do ip netns exec h2 modprobe mpa_late
# Time is the host's, which may be busy, and the kernel checks much.
irqoff_begin 1000
# Without those of stock/58-machine, 41-startkey, 46-early, 59-extensions and 61-handover.
(($#)) || set -- '[!ehmps]*' 'e[!ax]*' 'm[!a]*' 'many*'
# Programs are faster with doorbells, which must be permitted.
echo Y > /sys/module/mpa_rnic/parameters/doorbells
lab_check "all cases" ip netns exec h1 "$MPA_REPO/build/bin/verbs_test" "$@"
echo N > /sys/module/mpa_rnic/parameters/doorbells
lab_check "cases without doorbells" ip netns exec h1 "$MPA_REPO/build/bin/verbs_test" \
	'one*' 'reset*'
irqoff_end
lab_do modprobe -r mpa_late
lab_do modprobe -r mpa_dmabuf
((chosen)) && exit

lab_do modprobe mpa_unconnected device=mpa1
lab_is "work requests of a kernel consumer" \
	"$(cat /sys/module/mpa_unconnected/parameters/result)" ok
lab_do modprobe -r mpa_unconnected
uverbs_input h1 mpa1
