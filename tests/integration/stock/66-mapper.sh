#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The core forgets the mapping of a connection's port (iwpmd) with the connection: nothing of
# ten of them is left but that of their listener. The kernel says who allocated what is left.
# lab run --cmdline slub_debug=U,kmalloc-512
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/consumers.sh"

traces=/sys/kernel/debug/slab/kmalloc-512/alloc_traces

mappings() {
	awk '$2 ~ /^iwpm_create_mapinfo/ { n += $1 } END { print n + 0 }' "$traces"
}

listens() {
	ss -Hltn | grep -q ":7300 "
}

[[ -e $traces ]] || lab_do mount -t debugfs none /sys/kernel/debug
consumers_network
iser_mapper_up
lab_spawn_here server taskset -c 0 rping -s -P -a 10.78.0.1 -p 7300
lab_check "the server listens" lab_wait 20 listens
before=$(mappings)
lab_true "its mapping is seen" "$before > 0"
for n in 1 2 3 4 5 6 7 8 9 10; do
	lab_spawn_here client rping -c -a 10.78.0.1 -p 7300 -C 2
	lab_check "connection $n" lab_join client
done
lab_is "no mapping of theirs is left" "$(mappings)" "$before"
lab_kill server
