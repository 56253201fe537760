#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Devices, network devices and modules are removed while traffic runs, of queue pairs
# and of sockets with each framing, and hundreds of connections are made and ended;
# nothing hangs and nothing is left over. The
# configurations with several processors run this as well, with fewer connections and
# with threads that are delayed.
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/lists.sh"

cycles=500
[[ ${LAB_CONFIG:-debug} == debug ]] || cycles=100
cycles_limit=400
cycles_program=$MPA_REPO/build/bin/cycles
modules=(mpa_rnic mpa)
tuf=$MPA_REPO/tests/integration/lib/tuf.py
socket_port=7600
socket_modes=(align markers)

# traffic_on LABEL: starts endless pings in both directions.
traffic_on() {
	local n
	counters_mark
	for n in 1 2; do
		lab_spawn "server$n" "h$n" rping -s -a "10.77.0.$n" -V -S 16384
		lab_check "$1: server $n listens" \
			lab_wait_listen "h$n" 7174 60
		lab_spawn "client$n" "h$((3 - n))" \
			rping -c -a "10.77.0.$n" -V -S 16384
	done
	lab_check "$1: traffic both ways" \
		lab_wait 60 counters_hold mpa1 "rx_read_resp>=5" "tx_read_resp>=5"
}

# traffic_ends LABEL: all four programs end by themselves.
traffic_ends() {
	local name
	for name in server1 client1 server2 client2; do
		death_survivor_ends "$name" "$1"
	done
	objects_gone "after $1"
	sockets_gone "after $1" h1 h2
}

traffic_killed() {
	local name
	for name in server1 client1 server2 client2; do
		lab_kill "$name" KILL
	done
}

modules_absent() {
	local name
	for name in "${modules[@]}"; do
		[[ ! -d /sys/module/$name ]] || return 1
	done
}

devices_back() {
	lab_link h1
	lab_link h2
	rping_pair h1 h2 4096 "$list_pings"
}

# sockets_on LABEL: endless streams of applications, with Start Keys and in both modes of
# TUF.
sockets_on() {
	local mode
	socket_port=$((socket_port + 10))
	for mode in "${socket_modes[@]}"; do
		socket_port=$((socket_port + 1))
		lab_spawn "listen-$mode" h2 "$PYTHON" "$tuf" listen "$socket_port" --ours \
			--send "$mode" --recv "$mode" --bytes $((1 << 40))
		lab_check "$1: $mode: it listens" lab_wait_listen h2 "$socket_port" 60
		lab_spawn "connect-$mode" h1 "$PYTHON" "$tuf" connect 10.77.0.2 \
			"$socket_port" --ours --send "$mode" --recv "$mode" \
			--bytes $((1 << 40))
	done
	socket_port=$((socket_port + 1))
	lab_spawn listen-key h2 "$MPA_REPO/build/bin/mpa-echo" --server --start-key \
		"$socket_port"
	lab_check "$1: Start Key: it listens" lab_wait_listen h2 "$socket_port" 60
	lab_spawn connect-key h1 bash -c "exec $MPA_REPO/build/bin/mpa-echo --client \
		--start-key --commands 10.77.0.2 $socket_port <<< 'connect 1000000000'"
	lab_check "$1: sockets carry data" lab_wait 60 sockets_carry
}

# sockets_bytes HOST: a line for each stream of an application that carries data, with
# what it has received.
sockets_bytes() {
	ip netns exec "$1" "$MPA_REPO/build/bin/mpactl" --json conn | "$PYTHON" -c '
import json, sys
for one in json.load(sys.stdin):
    if one["stats"]["rx_bytes"]:
        print(one["id"], one["stats"]["rx_bytes"])'
}

# Each of them, at both ends, has received something since the last call.
sockets_carry() {
	local host had=$LAB_OUT/sockets-had
	for host in h1 h2; do
		sockets_bytes "$host" | sort > "$had.$host.new"
		touch "$had.$host"
		mv "$had.$host" "$had.$host.old"
		mv "$had.$host.new" "$had.$host"
	done
	for host in h1 h2; do
		(($(wc -l < "$had.$host") > ${#socket_modes[@]})) || return 1
		# Of streams that are in both lists no number is the same.
		[[ ! $(comm -12 "$had.$host" "$had.$host.old") &&
			$(join "$had.$host" "$had.$host.old" | wc -l) -gt ${#socket_modes[@]} ]] ||
			return 1
	done
}

# sockets_killed END...
sockets_killed() {
	local end mode
	for end; do
		for mode in "${socket_modes[@]}" key; do
			lab_kill "$end-$mode" KILL
		done
	done
}

mpa_leaves() {
	modprobe -r mpa 2> /dev/null && modules_absent
}

lab_devices 2
# TUF waits for random numbers of good quality.
lab_seed

# One of each exchange, for kmemleak: 50-traffic has more of the same.
ucmatose_pair h1 h2 2 10 1000
stream_pair rstream h1 h2 65536 4 2 nn
for tool in "${list_perf_tools[@]}"; do
	perf_pair h1 h2 "$tool" 4097 "$list_iterations"
done
death_of "ib_write_bw" client

# One device after the other, with connections of both roles on each.
for device in mpa1 mpa2; do
	traffic_on "deletion of $device"
	death_delete "$device" "deletion of $device under traffic"
	traffic_ends "deletion of $device"
	lab_link "h${device#mpa}"
done
rping_pair h1 h2 4096 "$list_pings"

# was_delayed: whether a thread was delayed.
was_delayed() {
	(($(< /sys/module/mpa_stall/parameters/stalls) > 0))
}

# The core's rdma_cm reports that an identifier no longer uses a device before it
# releases the device's address; the device must still exist by then. Its thread is
# delayed in between for longer than the rest of a deletion takes.
if [[ ${LAB_CONFIG:-debug} == @(smp|kasan|kcsan) ]]; then
	traffic_on "deletion while a thread is delayed"
	lab_check "threads are delayed" modprobe mpa_stall milliseconds=1000
	death_delete mpa1 "deletion while a thread is delayed"
	traffic_ends "deletion while a thread is delayed"
	lab_check "threads were delayed" was_delayed
	lab_check "threads are no longer delayed" modprobe -r mpa_stall
	lab_link h1
	rping_pair h1 h2 4096 "$list_pings"
fi

# Both network devices at once: they are the two ends of one veth pair.
traffic_on "end of the network devices"
lab_check "network devices are deleted under traffic" \
	timeout "$death_limit" ip -n h1 link delete eth0
lab_check "their RDMA devices follow" lab_wait 20 lab_gone rdma link
traffic_ends "end of the network devices"

# The hosts' ends are created again.
lab_do ip link add eth0 netns h1 type veth peer name eth0 netns h2
for n in 1 2; do
	lab_in "h$n" ip addr add "10.77.0.$n/24" dev eth0
	lab_in "h$n" ip addr add "fd77::$n/64" dev eth0 nodad
	lab_in "h$n" ip link set eth0 up
done
lab_wait 20 lab_reachable h1 10.77.0.2 fd77::2
devices_back

# modules_leave LABEL: at once, even if the devices are in use.
modules_leave() {
	lab_check "$1: modules can be removed" \
		timeout "$death_limit" modprobe -r "${modules[@]}"
	lab_check "$1: modules are gone" modules_absent
	lab_check "$1: no device is left" lab_gone rdma link
}

traffic_on "removal of the modules"
modules_leave "under traffic"
traffic_ends "removal of the modules"
devices_back

traffic_on "removal of the modules after the programs"
traffic_killed
modules_leave "right after the programs were killed"
sockets_gone "after killing and removing" h1 h2
devices_back

# The module mpa stays as long as sockets use it, and no longer.
for ends in "connect listen" "listen connect" "connect"; do
	read -ra killed <<< "$ends"
	label="sockets under load, ${killed[*]} killed"
	sockets_on "$label"
	lab_check "$label: the module of devices is removed" \
		timeout "$death_limit" modprobe -r mpa_rnic
	lab_check "$label: no device is left" lab_gone rdma link
	lab_refuse "$label: the other module stays" modprobe -r mpa
	lab_check "$label: sockets carry data all the same" lab_wait 60 sockets_carry
	sockets_killed "${killed[@]}"
	# The peers of those that were killed see a reset, and end.
	if ((${#killed[@]} == 1)); then
		for mode in "${socket_modes[@]}"; do
			lab_check "$label: the peer of $mode ends" \
				lab_wait "$death_limit" lab_ended "listen-$mode"
		done
		sockets_killed listen
	fi
	lab_check "$label: then it is removed" lab_wait "$death_limit" mpa_leaves
	sockets_gone "after $label" h1 h2
	devices_back
done

# Hundreds of connections, ended in each possible way.
before=$(rdma resource show | sed 's/curr //g')
counters_mark
lab_spawn server h2 "$cycles_program" listen 10.77.0.2 7500 "$cycles"
lab_check "server of the cycles listens" lab_wait_listen h2 7500 60
lab_spawn client h1 "$cycles_program" connect 10.77.0.2 7500 "$cycles"
lab_check "$cycles connections: client" lab_join client "$cycles_limit"
lab_check "$cycles connections: server" lab_join server 60
# Every fifth was refused.
counters_grew "of $cycles connections" mpa1 \
	"conn_active=$((cycles * 4 / 5))" "conn_rejected=$((cycles / 5))" \
	"tx_send=$((cycles * 4 / 5))" "rx_send=$((cycles * 4 / 5))" mpa2 \
	"conn_passive=$((cycles * 4 / 5))" "conn_rejected=$((cycles / 5))"
objects_gone "after $cycles connections"
sockets_gone "after $cycles connections" h1 h2
lab_is "object counts are what they were" \
	"$(rdma resource show | sed 's/curr //g')" "$before"
