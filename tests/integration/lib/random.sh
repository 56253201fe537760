# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Random programs (tests/random) between two hosts.
. "$MPA_REPO/tests/integration/lib/faults.sh"

# Programs end soon: what they wait for has short limits.
random_limits=(startup-timeout 300 reply-timeout 300 close-timeout 1000)

random_prepare() {
	local host
	faults_anywhere
	lab_devices 2
	# Each provider is five more mappings of every program, which take time when it begins and
	# ends.
	find /etc/libibverbs.d -name '*.driver' ! -name mpa.driver -delete
	# Keys of the framing protocol.
	lab_seed
	for host in h1 h2; do
		lab_in "$host" "$MPA_REPO/build/bin/mpactl" set "${random_limits[@]}" \
			rdmap-extensions on
	done
	random_users_before=$(random_users)
	# Events with a listener, and tracepoints in use.
	lab_spawn monitor h1 "$MPA_REPO/build/bin/mpactl" monitor
	echo 1 | tee /sys/kernel/tracing/events/mpa{,_rnic}/enable > /dev/null
}

# random_calls NAME SECONDS OPTION...: runs programs, eight at a time for each processor: most
# wait for something all the time.
# What they print is in $LAB_OUT/NAME-N.log. A guest that stops leaves the names of the last
# programs in NAME-N.program, and its seed in the log; those of all, with times, are in
# NAME-N.history.
random_calls() {
	local name=$1 seconds=$2 n all limit=3000
	shift 2
	all=$(nproc)
	for ((n = 1; n <= all; n++)); do
		lab_spawn "$name-$n" h1 "$MPA_REPO/build/bin/random_calls" \
			--jobs 8 --limit "$limit" --log "$LAB_OUT/$name-$n.program" \
			--history "$LAB_OUT/$name-$n.history" \
			--reached "$LAB_OUT/$name-$n.reached" --seconds "$seconds" "$@"
	done
	for ((n = 1; n <= all; n++)); do
		lab_check "$name: every program of $n has ended" \
			lab_join "$name-$n" $((seconds + 600))
		lab_show "$LAB_OUT/$name-$n.log" "$name-$n: "
	done
	lab_check "$name: the kernel releases what they had" lab_wait 60 random_released
	random_as_before
	# Sockets without an application repeat what was lost while a link was down.
	lab_check "$name: TCP releases what they had" random_sockets_released "$name"
}

# random_all SECONDS OPTION...: all three parts, of so many seconds each. The second one rings
# doorbells of our own; in the third, payload is placed behind gaps.
random_all() {
	random_prepare
	random_calls plain "$@"
	echo Y > /sys/module/mpa_rnic/parameters/doorbells
	random_calls faults "$@" ${faults_possible:+--faults}
	random_gaps
	random_calls disturbed "$@" --disturb
	lab_kill monitor
}

# What one host sends overtakes other packets of it. Early placement needs Markers and CRCs.
random_gaps() {
	local host
	for host in h1 h2; do
		lab_in "$host" "$MPA_REPO/build/bin/mpactl" set early-placement on markers on
	done
	lab_do tc -n h1 qdisc replace dev eth0 root netem delay 1ms reorder 75% 50%
}

random_users() {
	awk '$1 == "mpa" { print $3 }' /proc/modules
}

random_unused() {
	[[ $(random_users) -le $random_users_before ]]
}

# random_sockets_released NAME: of a part.
random_sockets_released() {
	lab_wait 150 random_unused && return
	lab_tell_holders
	[[ $1 == faults ]] && random_forget_lost_fins && lab_wait 5 random_unused
}

# When tcp_send_fin() gets no memory, as with failing allocations, there is no FIN, and no timer:
# the socket, which belongs to no program any more, waits for ever for its acknowledgement.
random_forget_lost_fins() {
	local host send near far rest
	for host in h1 h2; do
		while read -r _ _ send near far rest; do
			[[ $send != 0 || $rest == *timer:* ]] ||
				ip netns exec "$host" ss -K -t src "$near" dst "$far"
		done < <(ip netns exec "$host" ss -Htno state last-ack state fin-wait-1)
	done
}

random_released() {
	lab_gone rdma resource show qp && lab_gone rdma resource show cm_id
}

# Devices and links that a program has taken away, and settings.
random_as_before() {
	local n
	ip netns exec h2 rdma dev set mpa9 name mpa2 2> /dev/null || true
	for n in 1 2; do
		lab_in "h$n" ip link set eth0 up mtu 1500
		ip -n "h$n" addr replace "10.77.0.$n/24" dev eth0
		# A link that is down, or has an MTU below 1280, loses them.
		ip -n "h$n" addr replace "fd77::$n/64" dev eth0 nodad
		ip netns exec "h$n" tc qdisc del dev eth0 root 2> /dev/null || true
		rdma link show "mpa$n/1" &> /dev/null ||
			lab_in "h$n" rdma link add "mpa$n" type mpa netdev eth0
	done
}
