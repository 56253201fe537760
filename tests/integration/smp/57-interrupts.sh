#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The longest time for which mpa_rnic disables interrupts, while verbs are used at
# their limits and messages go in both directions. An instruction takes a nanosecond
# here, whatever the host does. Time in lockdep counts as well, except for its work
# when it sees locks taken together for the first time: everything is run once
# before.
# lab run --smp 1 --icount --no-kmemleak
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/irqoff.sh"
. "$MPA_REPO/tests/integration/lib/traffic.sh"

most=100000

all_once() {
	lab_check "verbs" ip netns exec h1 "$MPA_REPO/build/bin/verbs_test" \
		"full*" "many*" "interrupts*" "reset*" "rights*" "entries*" \
		"windows: regions*" "windows: threads*"
	rping_pair h1 h2 65535 20
	rping_pair h2 h1 100 20
}

lab_devices 2
lab_do ip netns exec h2 modprobe mpa_late
irqoff_begin
all_once
irqoff_end

irqoff_begin
all_once
lab_note "$(irqoff_value all) times, $(irqoff_value worst) ns at most"
lab_true "interrupts were off" "$(irqoff_value all) > 10000"
lab_true "but not for more than 100 us" "$(irqoff_value worst) <= $most"
irqoff_end
lab_do modprobe -r mpa_late
