#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Accounting of memory: what users make a device allocate is charged to their memory
# cgroups, and limited by settings. A program that takes all memory of a cgroup of 64
# MiB is refused more, or killed by its cgroup; other programs are not affected.
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/lists.sh"

hoard=$MPA_REPO/build/bin/hoard
cgroups=$(mktemp -d)
group=$cgroups/offender
limit=$((64 << 20))

lab_devices 2
lab_do mount -t cgroup2 none "$cgroups"
lab_do tee "$cgroups/cgroup.subtree_control" <<< "+memory"
lab_do mkdir "$group"
lab_do tee "$group/memory.max" <<< "$limit"

# spawn_in_group NAME HOST COMMAND...: as an unprivileged user, in the cgroup.
spawn_in_group() {
	lab_spawn "$1" "$2" bash -c \
		"echo \$\$ > $group/cgroup.procs && ulimit -l 8192 &&
		exec setpriv --reuid 65534 \
		--regid 65534 --clear-groups -- ${*:3}"
}

# memory_stat KEY: bytes of the cgroup.
memory_stat() {
	awk -v key="$1" '$1 == key { print $2 }' "$group/memory.stat"
}

# Caches of each processor remain for a moment.
group_empty() {
	local now
	now=$(< "$group/memory.current")
	echo "memory.current is $now, sockets have $(memory_stat sock)"
	((now < 8 << 20 && $(memory_stat sock) == 0))
}

free_kib() {
	awk '$1 == "MemAvailable:" { print $2 }' /proc/meminfo
}

# The kernel's free memory falls by no more than the limit of the cgroup, plus some
# for what the core allocates without charging it.
lowest=0
watch_free() {
	local now
	now=$(free_kib)
	if ((now < lowest)); then
		lowest=$now
	fi
	lab_ended "$1"
}

# The cgroup kills if a small allocation or a page fault hits the limit.
killed=$((128 + 9))
oom_kills() {
	awk '$1 == "oom_kill" { print $2 }' "$group/memory.events"
}

# refused NAME KIND MOST [ENTRIES]: a program in the cgroup is refused more at some
# time.
refused() {
	local name=$1 before status=0 kills
	before=$(free_kib)
	kills=$(oom_kills)
	lowest=$before
	counters_mark
	spawn_in_group hoard h1 "$hoard" mpa1 "${@:2}"
	lab_check "$name: the offender ends" lab_wait 180 watch_free hoard
	lab_join hoard || status=$?
	cat "$LAB_OUT/hoard.log"
	lab_note "$name: status $status, $(oom_kills) killed by the cgroup so far"
	lab_true "$name: is refused more, or killed by its cgroup" \
		"$status == 0 || $status == $killed && $(oom_kills) == $kills + 1"
	lab_true "$name: no more memory was used than the cgroup has" \
		"$before - $lowest < ($limit >> 10) + 32768"
	lab_check "$name: memory is given back" lab_wait 30 group_empty
	lab_check "$name: others continue" \
		lab_wait 60 counters_hold mpa1 "rx_send>=2" "tx_send>=2"
}

# Another user, all the time.
lab_spawn server h2 rping -s -a 10.77.0.2 -V -S 4096
lab_check "others: the server listens" lab_wait_listen h2 7174
counters_mark
lab_spawn client h1 rping -c -a 10.77.0.2 -V -S 4096
lab_check "others: traffic" \
	lab_wait 60 counters_hold mpa1 "rx_send>=5" "tx_send>=5"

# --- by the cgroup ------------------------------------------------------------------

refused "completion queues of 1 MiB" cq 100 32768
refused "queue pairs of 384 KiB" qp 300 4096
refused "shared receive queues of 1 MiB" srq 100 32768
refused "regions that pin memory" mr 1000 64
refused "memory windows, and the table with their keys" mw 80000

# Connections are accepted by the kernel, on behalf of the listener's user.
group_sockets() {
	(($(memory_stat sock) > 0))
}

# None of them is dropped before the last has connected.
device_set startup-timeout 10min mpa1
before=$(memory_stat kernel)
spawn_in_group listener h1 rping -s -a 10.77.0.1 -p 7200 -P -S 65535
lab_check "a listener in the cgroup" lab_wait_listen h1 7200 60
listens=$(memory_stat kernel)
lab_spawn crowd h2 "$PYTHON" -c '
import socket, time
crowd = [socket.create_connection(("10.77.0.1", 7200)) for _ in range(100)]
print("all", flush=True)
time.sleep(600)'
lab_check "a hundred peers have connected" \
	lab_wait 30 grep -q all "$LAB_OUT/crowd.log"
half_open() {
	(($(rdma -dd resource show cm_id link mpa1 |
		sed -n 's/.*drv_half_open //p') == 100))
}
lab_check "they are half-open" lab_wait 20 half_open
crowded=$(memory_stat kernel)
lab_note "kernel memory: $before, with a listener $listens, with its peers $crowded"
lab_true "a peer is charged to the listener" "$crowded - $listens > 100 * 2048"
lab_kill crowd

lab_spawn talker h2 rping -c -a 10.77.0.1 -p 7200 -S 65535
lab_check "accepted connections' buffers are charged to the listener" \
	lab_wait 60 group_sockets
lab_kill talker
lab_kill listener
lab_check "connections: memory is given back" lab_wait 30 group_empty
device_set startup-timeout inherit mpa1

# --- by settings ----------------------------------------------------------------------

# limit_logged SETTING: how often the kernel log has it.
limit_logged() {
	dmesg | grep -c "a program has as much as $1 allows" || true
}

# bounded SETTING VALUE KIND COUNT [ENTRIES]: COUNT more objects, but no further one.
bounded() {
	local logged
	logged=$(limit_logged "$1")
	device_set "$1" "$2" mpa1
	counters_mark
	lab_spawn hoard h1 "$hoard" mpa1 "$3" 50 "${@:5}"
	lab_check "$1 $2: an error" lab_join hoard
	lab_is "$1 $2: that many" "$(< "$LAB_OUT/hoard.log")" \
		"has $4, then: Cannot allocate memory"
	counters_grew "$1 $2" mpa1 user_limit=1
	lab_is "$1 $2: in the kernel log" "$(limit_logged "$1")" $((logged + 1))
	device_set "$1" inherit mpa1
}

bounded user-qp-max 5 qp 5 16
bounded user-qp-max 6 srq 6 16
bounded user-cq-max 6 cq 6 16
bounded user-mr-max 7 mr 7 64
bounded user-mr-max 9 mw 9
bounded user-pd-max 8 pd 8
# One more page for the header of each.
bounded user-rings-max 4 cq 3 32768

# --- time of other processors ----------------------------------------------------------

tracing=/sys/kernel/tracing
[[ -d $tracing/events ]] || lab_do mount -t tracefs none "$tracing"

# expedited: number of grace periods that interrupted other processors.
expedited() {
	awk '$1 == "expedited" { print $2 }' "$tracing/kprobe_profile"
}

echo "p:expedited synchronize_rcu_expedited" >> "$tracing/kprobe_events"
lab_do tee "$tracing/events/kprobes/expedited/enable" <<< 1
before=$(expedited)
lab_spawn hoard h1 "$hoard" mpa1 qp 200 16
status=0
lab_join hoard || status=$?
lab_is "200 queue pairs are created and destroyed" "$status" 3
# ip netns exec itself needs some.
lab_true "without an expedited grace period for each" "$(expedited) - $before < 20"
lab_do ip netns add passing
lab_do ip netns del passing
lab_check "one is seen where there is one" \
	lab_wait 20 eval '(($(expedited) > before))'
lab_do tee "$tracing/events/kprobes/expedited/enable" <<< 0
echo "-:expedited" >> "$tracing/kprobe_events"

# --- other users -------------------------------------------------------------------

lab_check "others: still there" lab_running client
lab_kill client
lab_kill server
objects_gone "at the end"
lab_do rmdir "$group"
lab_do umount "$cgroups"
