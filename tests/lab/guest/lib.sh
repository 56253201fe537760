# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Library of the lab's guest scripts: hosts made of network namespaces, result
# lines, waiting, background programs, captures, counters, and a last look at
# what is left over. A script sources it first:
#
#	. "$MPA_REPO/tests/lab/guest/lib.sh"
#
# Every command that acts on the machine is echoed before it runs. Results are
# lines "ok N - name" or "not ok N - name"; a script that ends early, or that
# checked nothing, fails.

set -euo pipefail

: "${MPA_REPO:?}" "${LAB_OUT:?}"
PYTHON=/usr/bin/python3
export PYTHON

lab_count=0
lab_failures=0
lab_host_names=()
declare -A lab_jobs=()

# --- output -----------------------------------------------------------------

# Prints a remark in the log.
lab_note() {
	printf '# %s\n' "$*"
}

# lab_show FILE [PREFIX]: prints it as remarks. What a program that was killed has written may
# have no end of line, and the next check would be on it.
lab_show() {
	sed -e "s/^/# ${2:-}/" -e '$a\' "$1"
}

# Runs a command and echoes it first.
lab_do() {
	local words=${*@Q}
	printf '+ %s\n' "${words//\'/}"
	"$@"
}

# --- results ----------------------------------------------------------------

lab_ok() {
	lab_count=$((lab_count + 1))
	printf 'ok %d - %s\n' "$lab_count" "$1"
}

# lab_not_ok NAME [WHY]
lab_not_ok() {
	lab_count=$((lab_count + 1))
	lab_failures=$((lab_failures + 1))
	printf 'not ok %d - %s\n' "$lab_count" "$1"
	if [[ $# -gt 1 ]]; then
		lab_note "$2"
	fi
}

# lab_skip NAME WHY
lab_skip() {
	lab_count=$((lab_count + 1))
	printf 'ok %d - %s # SKIP %s\n' "$lab_count" "$1" "$2"
}

# lab_check NAME COMMAND...: ok if the command succeeds.
lab_check() {
	local name=$1 status=0
	shift
	lab_do "$@" || status=$?
	if ((status == 0)); then
		lab_ok "$name"
	else
		lab_not_ok "$name" "exit status $status of: $*"
	fi
}

# lab_refuse NAME COMMAND...: ok if the command fails; being killed by a signal or
# not being found does not count.
lab_refuse() {
	local name=$1 status=0
	shift
	lab_do "$@" || status=$?
	if ((status > 0 && status < 124)); then
		lab_ok "$name"
	else
		lab_not_ok "$name" "exit status $status of: $*"
	fi
}

# lab_is NAME GOT WANTED
lab_is() {
	if [[ $2 == "$3" ]]; then
		lab_ok "$1"
	else
		lab_not_ok "$1" "got '$2', wanted '$3'"
	fi
}

# lab_true NAME ARITHMETIC: ok if the expression is not zero.
lab_true() {
	if (($2)); then
		lab_ok "$1"
	else
		lab_not_ok "$1" "not true: $2"
	fi
}

# --- waiting ----------------------------------------------------------------

# lab_wait SECONDS COMMAND...: polls until the command succeeds, for half a minute at
# least, since a machine may be slow; its output is shown only if it never does. It runs in
# this shell: a fork for each attempt would take more of an instrumented kernel's time than
# most attempts do.
lab_wait() {
	local limit=$((SECONDS + ($1 < 30 ? 30 : $1))) output=/tmp/lab-wait-$BASHPID-${#FUNCNAME[@]}
	shift
	until "$@" > "$output" 2>&1; do
		if ((SECONDS >= limit)); then
			lab_note "waited without success for: $*"
			printf '%s\n' "$(< "$output")"
			return 1
		fi
		lab_tick
	done
}

# Sleeps a tenth of a second without starting a program, which would take as long in
# an instrumented kernel.
exec {lab_never}<> <(:)
lab_tick() {
	read -r -t 0.1 -u "$lab_never" || true
}

# lab_seed: lets programs go on that wait for the kernel's random numbers. A virtual
# machine may have none for a minute; tests need none that nobody can guess.
lab_seed() {
	lab_do "$PYTHON" -c '
import fcntl, struct
RNDADDENTROPY = 0x40085203
with open("/dev/random", "wb") as pool:
    fcntl.ioctl(pool, RNDADDENTROPY, struct.pack("ii64s", 512, 64, bytes(range(64))))'
}

# --- hosts ------------------------------------------------------------------

# lab_writable DIRECTORY: changes there stay in the guest's memory.
lab_writable() {
	local layer=/run/writable$1
	mkdir -p "$layer/upper" "$layer/work"
	lab_do mount -t overlay -o "lowerdir=$1,upperdir=$layer/upper,workdir=$layer/work" \
		overlay "$1"
}

# lab_hosts N [MTU]: network namespaces h1 .. hN. Two are joined by a veth pair, more
# by a bridge in another namespace. In each, eth0 has 10.77.0.N/24 and fd77::N/64.
#
#	+----h1----+            +----h2----+
#	| eth0 .1  |------------| eth0 .2  |
#	+----------+            +----------+
lab_hosts() {
	local count=$1 mtu=${2:-1500} n
	for ((n = 1; n <= count; n++)); do
		lab_do ip netns add "h$n"
		lab_host_names+=("h$n")
	done
	if ((count == 2)); then
		lab_do ip link add eth0 mtu "$mtu" netns h1 type veth \
			peer name eth0 mtu "$mtu" netns h2
	elif ((count > 2)); then
		lab_switch "$count" "$mtu"
	fi
	for ((n = 1; n <= count; n++)); do
		lab_addresses "$n" "$count"
	done
	for ((n = 2; n <= count; n++)); do
		lab_wait 20 lab_reachable h1 "10.77.0.$n" "fd77::$n"
	done
}

# lab_ip HOST: runs the `ip` commands on standard input in the namespace.
lab_ip() {
	local lines
	mapfile -t lines
	printf "+ ip -n $1 %s\n" "${lines[@]}"
	printf '%s\n' "${lines[@]}" | ip -n "$1" -batch -
}

# More than two hosts are joined by a bridge.
lab_switch() {
	local n
	lab_do ip netns add switch
	lab_host_names+=(switch)
	lab_ip switch <<- END
		link add br0 mtu $2 type bridge
		link set br0 up
	END
	for ((n = 1; n <= $1; n++)); do
		lab_do ip link add eth0 mtu "$2" netns "h$n" type veth \
			peer name "port$n" mtu "$2" netns switch
		lab_do ip -n switch link set "port$n" master br0 up
	done
}

# lab_addresses N COUNT: lo, and eth0 unless the host is alone.
lab_addresses() {
	{
		echo "link set lo up"
		(($2 == 1)) || cat <<- END
			addr add 10.77.0.$1/24 dev eth0
			addr add fd77::$1/64 dev eth0 nodad
			link set eth0 up
		END
	} | lab_ip "h$1"
}

# Addresses of host N, for scripts that loop over both families.
lab_ipv4() { echo "10.77.0.${1#h}"; }
lab_ipv6() { echo "fd77::${1#h}"; }

lab_reachable() {
	local address
	for address in "${@:2}"; do
		ip netns exec "$1" ping -c 1 -W 1 "$address" > /dev/null || return
	done
}

# lab_in HOST COMMAND...: runs the command in the namespace.
lab_in() {
	lab_do ip netns exec "$@"
}

# lab_mtu BYTES: of eth0 in every host.
lab_mtu() {
	local host
	for host in "${lab_host_names[@]}"; do
		[[ $host == switch || $host == r ]] ||
			lab_in "$host" ip link set eth0 mtu "$1"
	done
}

# --- RDMA devices -----------------------------------------------------------

# lab_link HOST [TYPE [DEVICE [NETDEV]]]: an RDMA device in the namespace, by default
# mpaN over eth0. The module is found by its alias.
lab_link() {
	local host=$1 type=${2:-mpa} device netdev=${4:-eth0}
	device=${3:-$type${host#h}}
	# On an installed system udev does this when an RDMA device appears.
	[[ -d /sys/class/infiniband_verbs && -d /sys/class/misc/rdma_cm ]] ||
		lab_do modprobe -a ib_uverbs rdma_ucm
	lab_in "$host" rdma link add "$device" type "$type" netdev "$netdev"
	lab_wait 10 lab_link_active "$device"
	# A test of the default settings has lab_sets_nothing set.
	if [[ $type == mpa && -z ${lab_sets_nothing:-} ]] && lab_slow_paths; then
		lab_in "$host" "$MPA_REPO/build/bin/mpactl" set dev "$device" \
			segments single
	fi
}

# Whether fast paths are to be switched off.
lab_slow_paths() {
	grep -qwF mpa.fast_path=N /proc/cmdline
}

lab_link_active() {
	rdma link show "$1/1" | grep -q 'state ACTIVE'
}

# lab_unlink DEVICE
lab_unlink() {
	lab_do rdma link delete "$1"
}

# lab_second_link: another veth pair between h1 and h2, like the first of lab_hosts.
lab_second_link() {
	local n
	lab_do ip link add eth1 netns h1 type veth peer name eth1 netns h2
	for n in 1 2; do
		lab_ip "h$n" <<- END
			addr add 10.78.0.$n/24 dev eth1
			addr add fd78::$n/64 dev eth1 nodad
			link set eth1 up
		END
	done
	lab_wait 20 lab_reachable h1 10.78.0.2 fd78::2
}

# lab_router: another way between h1 and h2, through the router r.
#
#	h1 eth1 10.79.1.1 --- near .254  r  far .254 --- 10.79.2.2 eth1 h2
lab_router() {
	local n
	lab_do ip netns add r
	lab_host_names+=(r)
	lab_do ip link add eth1 netns h1 type veth peer name near netns r
	lab_do ip link add eth1 netns h2 type veth peer name far netns r
	lab_ip r <<- END
		link set lo up
		addr add 10.79.1.254/24 dev near
		addr add 10.79.2.254/24 dev far
		addr add fd79:1::254/64 dev near nodad
		addr add fd79:2::254/64 dev far nodad
		link set near up
		link set far up
	END
	lab_in r sysctl -q -w net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
	for n in 1 2; do
		lab_ip "h$n" <<- END
			addr add 10.79.$n.$n/24 dev eth1
			addr add fd79:$n::$n/64 dev eth1 nodad
			link set eth1 up
			route add 10.79.$((3 - n)).0/24 via 10.79.$n.254
			route add fd79:$((3 - n))::/64 via fd79:$n::254
		END
	done
	lab_wait 20 lab_reachable h1 10.79.2.2 fd79:2::2
}

# lab_devices [N [MTU]]: the usual setup, N hosts with an mpa device each.
lab_devices() {
	local count=${1:-2} n
	lab_hosts "$count" "${2:-1500}"
	for ((n = 1; n <= count; n++)); do
		lab_link "h$n"
	done
}

# lab_statistic [link DEVICE/1]: lines "DEVICE NAME VALUE" for all counters. rdma(8) prints
# "link DEVICE/1 NAME VALUE NAME VALUE ...", on one line or, since iproute2 6.15, on many.
lab_statistic() {
	rdma statistic show "$@" | awk '{
		for (i = 1; i <= NF; i++) {
			if (name == "") {
				name = $i
				continue
			}
			if (name == "link")
				device = $i
			else
				print device, name, $i
			name = ""
		}
	}'
}

# lab_counter DEVICE NAME: value of one hardware counter.
lab_counter() {
	local device name value
	while read -r device name value; do
		if [[ $name == "$2" ]]; then
			echo "$value"
			return
		fi
	done < <(lab_statistic link "$1/1")
	lab_note "device $1 has no counter $2" >&2
	return 1
}

# lab_counters LABEL: all counters of all devices into $LAB_OUT/LABEL.json.
lab_counters() {
	rdma -j -p statistic show > "$LAB_OUT/$1.json" || true
}

# --- programs in the background ---------------------------------------------

# lab_spawn NAME HOST COMMAND...: output goes to $LAB_OUT/NAME.log.
lab_spawn() {
	local name=$1
	shift
	printf '+ [%s] ip netns exec %s &\n' "$name" "$*"
	ip netns exec "$@" > "$LAB_OUT/$name.log" 2>&1 < /dev/null &
	lab_jobs[$name]=$!
}

# lab_spawn_here NAME COMMAND...: in the initial namespace.
lab_spawn_here() {
	local name=$1
	shift
	"$@" > "$LAB_OUT/$name.log" 2>&1 < /dev/null &
	lab_jobs[$name]=$!
}

# lab_pid NAME: process id, for signals.
lab_pid() {
	echo "${lab_jobs[$1]}"
}

# lab_running NAME: true while the program runs.
lab_running() {
	local stat
	{ read -r stat < "/proc/${lab_jobs[$1]}/stat"; } 2> /dev/null || return 1
	# The state follows the name, which may contain anything.
	[[ ${stat##*) } != Z* ]]
}

lab_ended() {
	! lab_running "$1"
}

# lab_rping_race NAME STATUS: true if an rping is over, but its main thread closed the
# event channel, its last act, while the other thread asked that for the next event.
lab_rping_race() {
	[[ $2 == 255 && $(tail -n 1 "$LAB_OUT/$1.log") == \
		'rdma_get_cm_event: Bad file descriptor' ]]
}

# lab_join NAME [SECONDS]: waits for the end and returns the program's status;
# 124 when it had to be killed. Shows its output when it failed.
lab_join() {
	local name=$1 limit=${2:-60} status=0 pid=${lab_jobs[$1]}
	if ! lab_wait "$limit" lab_ended "$name"; then
		kill -KILL "$pid" || true
		wait "$pid" || true
		status=124
	else
		wait "$pid" || status=$?
	fi
	unset "lab_jobs[$name]"
	if lab_rping_race "$name" "$status"; then
		lab_note "$name: rping's threads raced to its end"
		status=0
	fi
	if ((status)); then
		lab_note "$name ended with status $status:"
		lab_show "$LAB_OUT/$name.log" "  "
	fi
	return "$status"
}

# lab_rping HOST ARGUMENT...: runs rping to its end.
lab_rping() {
	lab_spawn lab-rping "$1" rping "${@:2}"
	lab_join lab-rping
}

# lab_kill NAME [SIGNAL]: ends a program whose exit status does not matter.
lab_kill() {
	local pid=${lab_jobs[$1]}
	printf '+ kill -%s [%s]\n' "${2:-TERM}" "$1"
	kill "-${2:-TERM}" "$pid" 2> /dev/null || true
	wait "$pid" 2> /dev/null || true
	unset "lab_jobs[$1]"
}

# lab_listening HOST PORT: asks a program that runs in the namespace, which saves
# starting one there; uses ss if there is none.
lab_listening() {
	local pid port
	printf -v port '%04X' "$2"
	for pid in "${lab_jobs[@]}"; do
		if [[ /proc/$pid/ns/net -ef /run/netns/$1 ]]; then
			grep -qsE "^ *[0-9]+: [0-9A-F]+:$port [0-9A-F]+:0000 0A " \
				"/proc/$pid/net/tcp" "/proc/$pid/net/tcp6"
			return
		fi
	done
	[[ -n $(ip netns exec "$1" ss -Hltn "sport = :$2") ]]
}

# lab_wait_listen HOST PORT: until something listens on the TCP port.
lab_wait_listen() {
	lab_wait "${3:-30}" lab_listening "$1" "$2"
}

# --- captures ---------------------------------------------------------------

# lab_capture NAME HOST [NETDEV]: packets into $LAB_OUT/NAME.pcapng, from now until
# lab_capture_end NAME. dumpcap first looks at everything that could be captured, for
# which the kernel loads modules: that takes some time.
lab_capture() {
	local name=$1 host=$2 netdev=${3:-eth0}
	lab_spawn "$name" "$host" dumpcap -q -i "$netdev" -s 0 -B 64 \
		-f 'tcp or udp or icmp or icmp6' -w "/tmp/$name.pcapng"
	lab_wait 90 grep -q '^File: ' "$LAB_OUT/$name.log"
}

# Stops the capture once everything sent so far has been written.
lab_capture_end() {
	local name=$1 before=-1 now
	while now=$(stat -c %s "/tmp/$name.pcapng") && ((now != before)); do
		before=$now
		sleep 1
	done
	printf '+ kill -INT [%s]\n' "$name"
	kill -INT "${lab_jobs[$name]}"
	lab_join "$name" 20
	lab_do mv "/tmp/$name.pcapng" "$LAB_OUT/$name.pcapng"
}

# --- the end ----------------------------------------------------------------

# lab_gone COMMAND...: it succeeds, and prints nothing.
lab_gone() {
	local left
	left=$("$@") || return
	[[ -z $left ]] || {
		printf '%s\n' "$left"
		return 1
	}
}

# The users of a module, as text; empty when it is unused or not loaded.
lab_module_users() {
	awk -v name="$1" '$1 == name && $3 != 0 { print $1, "refcount", $3, $4 }' \
		/proc/modules
}

# Prints what holds a module for too long: sockets, mostly.
lab_tell_holders() {
	ss -taniope
	ip -all netns exec ss -taniope
	"$MPA_REPO/build/bin/mpactl" conn || true
}

# lab_objects_left: every object that an application owns, one a line. The core's own
# connection management QP (GSI, type 1) is not one of theirs.
lab_objects_left() {
	local kind all=
	for kind in qp cm_id mr cq pd ctx; do
		all+=$(rdma resource show "$kind" | sed "s/^/$kind: /")$'\n' || return
	done
	grep -E 'comm [^[]|pid ' <<< "$all" || true
}

# Removes what the library set up and checks that nothing is left: called by the exit
# trap, or by a script that continues afterwards.
lab_teardown() {
	local name module device
	for name in "${!lab_jobs[@]}"; do
		lab_kill "$name" KILL
	done
	lab_counters "counters-$lab_count"
	if [[ -d /sys/class/infiniband ]]; then
		if ! lab_wait 20 lab_gone lab_objects_left; then
			lab_not_ok "every object of the applications is gone"
		else
			lab_ok "every object of the applications is gone"
		fi
		for device in $(rdma -j link | grep -o '"ifname":"[^"]*"' |
			cut -d'"' -f4 | sort -u); do
			lab_check "$device can be deleted" rdma link delete "$device"
		done
		lab_check "no RDMA device is left" lab_wait 20 lab_gone rdma link
	fi
	for name in "${lab_host_names[@]}"; do
		lab_check "namespace $name can be deleted" ip netns del "$name"
	done
	lab_host_names=()
	for module in siw mpa_rnic mpa; do
		[[ -d /sys/module/$module/holders ]] || continue
		if lab_wait 30 lab_gone lab_module_users "$module"; then
			lab_ok "module $module is unused"
		else
			lab_tell_holders
			lab_not_ok "module $module is unused"
		fi
		lab_check "module $module can be removed" modprobe -r "$module"
	done
}

lab_exit() {
	local status=$?
	trap - EXIT
	set +e
	if ((status)); then
		lab_not_ok "the script runs to its end" "exit status $status"
	fi
	if ((lab_count == 0)); then
		lab_not_ok "the script checks something"
	fi
	lab_teardown
	printf '1..%d\n' "$lab_count"
	exit $((lab_failures > 0))
}

trap lab_exit EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
