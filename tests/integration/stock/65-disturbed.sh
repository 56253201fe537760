#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Disturbances of all consumers, which transfer data at the same time and verify them. What
# each must do then is the table of Documentation/disturbances.rst, which is read here.
#
#	65-disturbed.sh [all | DISTURBANCE...]	names of rows; without, those of make check-all
# lab run --memory 3072 --timeout 2400
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/objects.sh"
. "$MPA_REPO/tests/integration/lib/consumers.sh"

# For how long a transfer is to last; the disturbance takes some of that. The first three end
# earlier, when the disturbance is over.
moves=75
moves_first=120
# In the order in which they are started: first the one whose programs need longest.
order=(openmpi mpa_nc rsockets nvme nfs iser perftest rping)
# Seconds within which a transfer must have ended, with success or without.
ends=260
# Those of make check-all, which take half an hour of a busy machine.
few=(corruption link netdev namespace memory cpu client server module)
declare -A promised=()
disturbances=()

# table: the promises, and the names of the disturbances, from the documentation. A row that
# begins with a name in double backquotes has the promises to the consumers, in their order.
table() {
	local cells name n
	while read -r -a cells; do
		name=${cells[0]//\`/}
		disturbances+=("$name")
		for n in "${!consumers[@]}"; do
			promised[$name,${consumers[n]}]=${cells[n + 1]}
		done
	done < <(grep -E "^\`\`[a-z]+\`\` +(continues|reconnects|ends|either|-) " "$MPA_REPO/Documentation/disturbances.rst")
}

# functions PREFIX: what follows it in the names of functions.
functions() {
	compgen -A function "$1" | sed "s/^$1//" | sort
}

# --- disturbances -------------------------------------------------------------------
#
# begin_D and end_D act on the paths of all: lo has NVMe and iSER, near NFS, and eth0 of h1
# the programs.

# on_paths COMMAND...: with the namespace's option for ip and tc, and the network device.
on_paths() {
	"$@" "" lo && "$@" "" near && "$@" h1 eth0
}

# netem WHAT NAMESPACE DEVICE
netem() {
	# shellcheck disable=SC2086 # several words
	tc ${2:+-n "$2"} qdisc replace dev "$3" root netem $1
}

no_netem() {
	tc ${1:+-n "$1"} qdisc del dev "$2" root
}

begin_loss() { on_paths netem "loss 3%"; }
begin_duplication() { on_paths netem "duplicate 20%"; }
begin_reordering() { on_paths netem "delay 5ms reorder 75% 50%"; }
begin_corruption() { on_paths netem "corrupt 2%"; }
begin_rate() { on_paths netem "rate 20mbit limit 2000"; }
end_loss() { on_paths no_netem; }
end_duplication() { on_paths no_netem; }
end_reordering() { on_paths no_netem; }
end_corruption() { on_paths no_netem; }
end_rate() { on_paths no_netem; }

link_is() {
	ip ${2:+-n "$2"} link set "$3" "$1"
}

begin_link() { on_paths link_is down; }
end_link() { on_paths link_is up; }

# mtu_is PATHS LO: both ends of each link, or the far one drops what is longer.
mtu_is() {
	ip link set lo mtu "$2" && ip link set near mtu "$1" &&
		ip -n server link set eth0 mtu "$1" &&
		ip -n h1 link set eth0 mtu "$1" && ip -n h2 link set eth0 mtu "$1"
}

begin_mtu() {
	mtu_is 1300 1300 && sleep 1 && mtu_is 9000 9000 && sleep 1 && mtu_is 600 600
}
end_mtu() { mtu_is 1500 65536; }

begin_address() {
	ip addr del 10.78.0.1/24 dev near && ip -n h1 addr del 10.77.0.1/24 dev eth0
}
end_address() {
	ip addr add 10.78.0.1/24 dev near && ip -n h1 addr add 10.77.0.1/24 dev eth0
}

begin_netdev() {
	ip link delete near && ip -n h1 link delete eth0
}
# Also for Open MPI's own connections, which are TCP's.
end_netdev() {
	consumers_link && consumers_devices && ports_again &&
		lab_do ip link add eth0 netns h1 type veth peer name eth0 netns h2 &&
		lab_addresses 1 2 && lab_addresses 2 2 && lab_link h1 && lab_link h2
}

# A namespace ends with its last process.
begin_namespace() {
	kill_in h1 && ip netns delete h1 && lab_wait 30 lab_gone devices_of_hosts 1
}
end_namespace() { :; }

# An allocation of nearly all memory, whose process is the first to be killed.
begin_memory() {
	lab_spawn_here hog "$PYTHON" -c '
import re, time
with open("/proc/self/oom_score_adj", "w") as adjustment:
    adjustment.write("1000")
free = int(re.search(r"MemAvailable: +(\d+)", open("/proc/meminfo").read())[1])
hog = bytearray((free - 20000) << 10)
for _ in range(20):
    hog[::4096] = bytes(len(hog[::4096]))
    time.sleep(0.1)'
	lab_wait 30 hog_has_memory
}

# Whether it has, or was killed because of, what it asked for.
hog_has_memory() {
	local resident
	lab_ended hog && return
	resident=$(awk '$1 == "VmRSS:" { print $2 }' "/proc/$(lab_pid hog)/status") || return
	((${resident:-0} > 100000))
}
# It ends by a signal, if not by this one.
end_memory() {
	lab_kill hog KILL
	! grep MemoryError "$LAB_OUT/hog.log"
}

# Half of what the consumers have: they are made to wait.
begin_cgroup() {
	local now
	now=$(< "$group/memory.current") && ((now > 0)) || return
	echo $((now / 2)) > "$group/memory.high"
}
end_cgroup() { echo max > "$group/memory.high"; }

begin_cpu() { echo 0 > /sys/devices/system/cpu/cpu1/online; }
end_cpu() { echo 1 > /sys/devices/system/cpu/cpu1/online; }

kill_in() {
	local pids
	mapfile -t pids < <(ip netns pids "$1")
	kill -KILL "${pids[@]}"
}

begin_client() {
	kill_in h1 && pkill -KILL -x fio
}
end_client() { :; }

# The kernel's servers are no processes: they are stopped and started.
begin_server() {
	kill_in h2 && nvme_target_goes && iser_target_goes && nfs_server_goes
}
end_server() { :; }

begin_module() { timeout 60 modprobe -r mpa_rnic; }
end_module() {
	consumers_devices && ports_again
}

# Other modules and sockets use it. A modprobe that hangs is not refused.
begin_refused() {
	local status=0
	timeout 60 modprobe -r mpa || status=$?
	((status > 0 && status < 124))
}
end_refused() { lab_counter mpa1 rx_send > /dev/null; }

ports_again() {
	consumers_ports_close && consumers_ports_open
}

# --- consumers ----------------------------------------------------------------------

# in_group C SECONDS: its transfer, in the cgroup.
in_group() {
	echo "$BASHPID" > "$group/cgroup.procs" && "work_$1" "$2"
}

start() {
	consumer_started "$1" in_group "$1" "$2"
}

# connections_now: what connection_of looks at. The server of mpa-nc has nothing to send, and says so
# by its FIN.
connections_now() {
	cm_ids=$(rdma resource show cm_id | grep -E 'state CONNECT ' || true)
	established=$(ip netns exec h1 ss -Htn state established state close-wait \
		'dport = :7000' || true)
}

# connection_of C: the addresses of its connection, or nothing.
connection_of() {
	local comm
	case $1 in
	nvme) comm='\[nvme_rdma\]' ;;
	nfs) comm='\[rpcrdma\]' ;;
	iser) comm='\[ib_iser\]' ;;
	openmpi) comm=python3 ;;
	rsockets) comm=rsockets ;;
	rping) comm=rping ;;
	perftest) comm=ib_send_lat ;;
	mpa_nc)
		echo "$established"
		return
		;;
	esac
	grep -E "link mpa[01]/.* comm $comm( |\$)" <<< "$cm_ids" |
		grep -oE 'src-addr [^ ]+' | sort || true
}

# written C: whether data have arrived, for those that are connected before there are any.
written() {
	local stat stats
	case $1 in
	# The path, and the disk that is made of all paths, which counts nothing.
	nvme) stats=(/sys/block/nvme*n1/stat) ;;
	iser) stats=(/sys/class/iscsi_session/session*/device/target*/*/block/*/stat) ;;
	nfs)
		[[ -s $nfs_exported/nfs ]]
		return
		;;
	*) return 0 ;;
	esac
	for stat in "${stats[@]}"; do
		awk '{ exit !($5 > 0) }' "$stat" && return
	done
	return 1
}

moving() {
	[[ -n $(connection_of "$1") ]] && written "$1"
}

# all_moving C...
all_moving() {
	local name
	connections_now
	for name in "$@"; do
		moving "$name" || {
			echo "$name transfers nothing" | tee -a "$LAB_OUT/$row-waits.txt"
			consumers_tick
			return 1
		}
	done
}

# outcome C CONNECTION: sets got, what its transfer came to.
outcome() {
	local status=0
	consumer_joined "$1" "$ends" > "$LAB_OUT/$row-$1.txt" 2>&1 || status=$?
	if [[ $(promise "$1" "") == - ]]; then
		got=-
	elif ((status == 124)); then
		got=hangs
	elif ((status)); then
		got=ends
	elif is_kernels "$1" && connections_now && [[ $(connection_of "$1") != "$2" ]]; then
		got=reconnects
	else
		got=continues
	fi
}

is_kernels() {
	[[ " ${consumers_kernel[*]} " == *" $1 "* ]]
}

# promise CONSUMER OUTCOME: what is promised; of "either", the one that came.
promise() {
	local word=${promised[$row,$1]}
	case $word/$2 in
	either/ends | either/reconnects) echo "$2" ;;
	*) echo "$word" ;;
	esac
}

# --- a row --------------------------------------------------------------------------

# A delay on the way back, without which some transfers would be over at once.
hosts_come() {
	lab_devices 2
	lab_do tc -n h2 qdisc replace dev eth0 root netem delay 30ms limit 100000
}

hosts_go() {
	local n
	for n in 1 2; do
		[[ ! -e /run/netns/h$n ]] || lab_do ip netns delete "h$n"
	done
	lab_host_names=()
	lab_check "$row: their devices have gone" lab_wait 60 lab_gone devices_of_hosts
}

# devices_of_hosts [N]: those that there are.
devices_of_hosts() {
	local all
	all=$(rdma link) || return
	grep -E "mpa${1:-[12]}/" <<< "$all" || true
}

all_running() {
	local name
	for name in "${consumers[@]}"; do
		consumer_running "$name" || {
			echo "$name has ended"
			return 1
		}
	done
}

# row NAME
row() {
	local row=$1 name got programs=()
	local -A before=()
	local begun=$SECONDS hung=0
	lab_note "--- $row"
	hosts_come
	for name in "${consumers_kernel[@]}"; do
		lab_check "$row: $name connects" "open_$name"
	done
	rm -f "$consumers_enough"
	# One after the other: all at once, an emulated machine is so slow that some have ended
	# when others begin.
	for name in "${order[@]}"; do
		case $name in
		openmpi | mpa_nc | rsockets) start "$name" "$moves_first" ;;
		*) start "$name" "$moves" ;;
		esac
		lab_check "$row: $name transfers" lab_wait 120 all_moving "$name"
	done
	connections_now
	for name in "${consumers[@]}"; do
		before[$name]=$(connection_of "$name")
	done
	lab_check "$row: all of them still do" all_running
	lab_check "$row: begins" "begin_$row"
	sleep 2
	lab_check "$row: ends" "end_$row"
	touch "$consumers_enough"
	for name in "${consumers[@]}"; do
		outcome "$name" "${before[$name]}"
		lab_is "$row: $name" "$got" "$(promise "$name" "$got")"
		[[ $got == "$(promise "$name" "$got")" ]] || keep_logs "$name"
		# What it has started would be left.
		[[ $got != hangs ]] || is_kernels "$name" || hung=1
		if [[ $got != continues && $got != reconnects ]]; then
			lab_show "$LAB_OUT/$row-$name.txt" "  " 2> /dev/null || true
			is_kernels "$name" || programs+=("$name")
		fi
	done
	for name in "${consumers_kernel[@]}"; do
		closed "$name" || true
	done
	((!hung)) || for name in h1 h2; do
		kill_in "$name" || true
	done
	hosts_go
	lab_check "$row: nothing is left" lab_wait 150 consumers_quiet
	lab_is "$row: as many users of the modules as before" "$(module_users)" "$users"
	works_again "${programs[@]}"
	lab_note "$row: $((SECONDS - begun)) s"
}

# keep_logs C: those of its programs, which the next row writes again.
keep_logs() {
	local log
	for log in "$LAB_OUT/$1".log "$LAB_OUT/$1"-*.log; do
		[[ ! -e $log ]] || cp "$log" "$LAB_OUT/$row-${log##*/}"
	done
}

# closed C: its connection, however it is.
closed() {
	lab_check "$row: $1 is closed" "shut_$1"
}

module_users() {
	awk '/^mpa(_rnic)? / { print $1, $3 }' /proc/modules
}

# works_again C...: those that have ended, and all of the kernel's.
works_again() {
	local name
	rm -f "$consumers_enough"
	(($#)) && lab_devices 2
	for name in "${consumers_kernel[@]}" "$@"; do
		consumer_started "$name" consumer_with "$name" 1
	done
	for name in "${consumers_kernel[@]}" "$@"; do
		lab_check "$row: $name works afterwards" consumer_joined "$name" "$ends"
	done
	(($# == 0)) || hosts_go
}

# ------------------------------------------------------------------------------------

cgroups=$(mktemp -d)
group=$cgroups/consumers
lab_do mount -t cgroup2 none "$cgroups"
lab_do tee "$cgroups/cgroup.subtree_control" <<< "+memory"
lab_do mkdir "$group"
table
for name in begin end; do
	lab_is "disturbances of the table, and those that ${name}" \
		"$(printf '%s\n' "${disturbances[@]}" | sort)" "$(functions "${name}_")"
done
lab_is "rows of the table in which each consumer has a promise" \
	"${#promised[@]}" "$((${#disturbances[@]} * ${#consumers[@]}))"
case ${1:-} in
all) chosen=("${disturbances[@]}") ;;
"") chosen=("${few[@]}") ;;
*) chosen=("$@") ;;
esac
consumers_network
consumers_targets
users=$(module_users)
for name in "${chosen[@]}"; do
	row "$name"
done
consumers_targets_end
lab_do rmdir "$group"
lab_do umount "$cgroups"
