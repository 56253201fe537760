#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Soak: all consumers at once, connections that come and go, devices, namespaces and modules,
# again and again, and memory that must not grow. `make soak` gives it hours.
#
#	64-soak.sh [SECONDS [PART...]]	for each of the two parts; without, few cycles
#
# In the first part the modules stay loaded: what they keep for longer and longer is seen. In
# the second they go many times in each cycle, with traffic or without. Memory is sampled at
# the end of each cycle, when nothing is connected (lib/growth.py).
# lab run --cmdline "slab_nomerge slub_debug=U,kmalloc-*,radix_tree_node,kernfs_node_cache"
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/objects.sh"
. "$MPA_REPO/tests/integration/lib/consumers.sh"

limit=${1:-0}
parts=("${@:2}")
((${#parts[@]})) || parts=(loaded unloads leak)
growth=$MPA_REPO/tests/integration/lib/growth.py
churn=$MPA_REPO/tests/integration/lib/churn.py
# As few samples as a line can be fitted to.
cycles_least=8
# In each cycle. RDMA connections in each way to end, and MPA sockets.
if ((limit)); then
	connects=60
	sockets=1800
	unloads_each=20
else
	connects=20
	sockets=50
	unloads_each=2
fi
connected=0
unloaded=0
devices_made=0

# --- a cycle with the modules loaded ------------------------------------------------

# connects_rdma COUNT, connects_sockets COUNT
connects_rdma() {
	served cycles 7500 "$MPA_REPO/build/bin/cycles" listen 10.77.0.2 7500 "$1" \
		-- "$MPA_REPO/build/bin/cycles" connect 10.77.0.2 7500 "$1"
}

connects_sockets() {
	lab_spawn churn-server h2 "$PYTHON" "$churn" listen 10.77.0.2 7501 "$1" &&
		lab_wait 60 grep -q ready "$LAB_OUT/churn-server.log" &&
		lab_spawn churn-client h1 "$PYTHON" "$churn" connect 10.77.0.2 7501 "$1" &&
		lab_join churn-client 240 && lab_join churn-server && return
	# Or it would keep its namespace, and the module.
	lab_kill churn-server
	return 1
}

# Devices of a namespace that goes, some of them with it.
devices_come() {
	local n
	for n in 1 2 3 4; do
		ip netns add passing &&
			ip -n passing link add dummy0 type dummy &&
			ip netns exec passing rdma link add mpa5 type mpa netdev dummy0 &&
			ip netns exec passing "$MPA_REPO/build/bin/mpactl" set dev mpa5 \
				markers on || return
		((n & 1)) || rdma link delete mpa5 || return
		ip netns delete passing && lab_wait 20 device_gone mpa5 || return
	done
}

device_gone() {
	local all
	all=$(rdma link) && [[ $all != *"link $1/"* ]]
}

cycle_loaded() {
	local name
	lab_devices 2
	for name in "${consumers[@]}"; do
		consumer_started "$name" consumer_with "$name" 1
	done
	consumer_started connects connects_rdma "$connects"
	consumer_started sockets connects_sockets "$sockets"
	consumer_started devices devices_come
	for name in "${consumers[@]}" connects sockets devices; do
		lab_check "cycle $1: $name" consumer_joined "$name" 300
	done
	connected=$((connected + connects + sockets))
	devices_made=$((devices_made + 6))
	hosts_go "$1"
}

# hosts_go CYCLE: in every second one the devices go with their namespaces.
hosts_go() {
	local n
	for n in 1 2; do
		(($1 & 1)) || lab_unlink "mpa$n"
	done
	lab_do ip netns delete h1
	lab_do ip netns delete h2
	lab_host_names=()
	lab_check "cycle $1: the devices have gone" lab_wait 30 devices_gone mpa1 mpa2
}

devices_gone() {
	device_gone "$1" && device_gone "$2"
}

# --- a cycle in which they go -------------------------------------------------------

# A ping between the two hosts that stay; with an endless one, while the modules go.
pinged() {
	served_far rping -s -a "$nfs_server" -V -C 3 &&
		lab_spawn_here near rping -c -a "$nfs_server" -V -C 3 && lab_join near &&
		lab_join far
}

served_far() {
	lab_spawn far server "$@" && lab_wait_listen server 7174
}

pinging() {
	served_far rping -s -a "$nfs_server" -V && lab_spawn_here near rping -c -a "$nfs_server" -V &&
		lab_wait 30 pings
}

pings() {
	(($(lab_counter mpa0 rx_send) > 5))
}

# They end by themselves.
ping_ends() {
	lab_wait 40 lab_ended near && lab_wait 40 lab_ended far && lab_kill near && lab_kill far
}

modules_go() {
	timeout 60 modprobe -r mpa_rnic mpa && [[ ! -d /sys/module/mpa ]]
}

# modules_gone_once NUMBER: in every fourth time under traffic.
modules_gone_once() {
	if (($1 % 4)); then
		pinged && modules_go && consumers_devices
	else
		pinging && modules_go && ping_ends && consumers_devices
	fi
}

cycle_unloads() {
	local n
	lab_check "cycle $1: ports close" consumers_ports_close
	for ((n = 0; n < unloads_each; n++)); do
		lab_check "cycle $1: modules go" modules_gone_once "$n"
	done
	unloaded=$((unloaded + unloads_each))
	connected=$((connected + unloads_each))
	devices_made=$((devices_made + 2 * unloads_each))
	lab_check "cycle $1: ports open" consumers_ports_open
	for name in "${consumers_kernel[@]}"; do
		consumer_started "$name" consumer_with "$name" 1
	done
	for name in "${consumers_kernel[@]}"; do
		lab_check "cycle $1: $name" consumer_joined "$name" 300
	done
}

# --- samples ------------------------------------------------------------------------

# part NAME FUNCTION: cycles until the time is over, then what they did to memory.
part() {
	local cycle=0 ends=$((SECONDS + limit)) samples=$LAB_OUT/$1.samples
	while ((SECONDS < ends || cycle < cycles_least)); do
		cycle=$((cycle + 1))
		"$2" "$cycle"
		lab_check "cycle $cycle: nothing is left" lab_wait 90 consumers_quiet
		# Those of subshells, and of programs that were killed.
		rm -rf /tmp/lab-wait-* /tmp/ompi.*
		"$PYTHON" "$growth" sample "$samples"
	done
	lab_note "$1: $cycle cycles in $((SECONDS + limit - ends)) s"
	lab_check "$1: memory does not grow" "$PYTHON" "$growth" fit "$samples"
}

loaded() {
	part loaded cycle_loaded
}

unloads() {
	part unloads cycle_unloads
}

# --- a leak -------------------------------------------------------------------------

# One more connection in each cycle is seen.
cycle_leaks() {
	lab_spawn_here "kept$1" "$PYTHON" "$churn" keep 127.0.0.1 "$((7600 + $1))" 1
	lab_wait 20 grep -q kept "$LAB_OUT/kept$1.log"
}

leak() {
	local cycle samples=$LAB_OUT/leak.samples found=$LAB_OUT/leak.txt
	for ((cycle = 1; cycle <= cycles_least; cycle++)); do
		cycle_leaks "$cycle"
		"$PYTHON" "$growth" sample "$samples"
	done
	for ((cycle = 1; cycle <= cycles_least; cycle++)); do
		lab_kill "kept$cycle"
	done
	lab_refuse "a connection that each cycle keeps is found" \
		"$PYTHON" "$growth" fit "$samples" > "$found"
	cat "$found"
	lab_check "in TCP's sockets" grep -q '^grows: .*sockets TCP' "$found"
}

# ------------------------------------------------------------------------------------

started_at=$SECONDS
consumers_network
consumers_targets
for part in "${parts[@]}"; do
	"$part"
done
consumers_targets_end
lab_note "$connected connections were made and ended, $devices_made devices, $unloaded times" \
	"the modules went, in $((SECONDS - started_at)) s"
