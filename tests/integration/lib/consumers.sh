# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154 # verified_where is verified.sh's, lab_never lib.sh's
#
# Users of the RNIC and of MPA sockets, all in one machine at once, each with a transfer that
# it verifies. The kernel's own are in the initial namespace, with the server of NFS in
# another; programs are on h1 and h2.
#
#	+--(initial)-+ 10.78.0.0/24 +--server--+	+---h1---+ 10.77.0.0/24 +---h2---+
#	| NVMe, iSER |              | NFS      |	| mpa1   |--------------| mpa2   |
#	| mpa0  near |--------------| mpa9     |	+--------+              +--------+
#	+------------+              +----------+
#
# For each consumer C: open_C, work_C SECONDS, and shut_C. work_C succeeds if all data arrived
# as they were sent. All may run in subshells, and nothing but && ends them early.

. "$MPA_REPO/tests/integration/lib/verified.sh"
. "$MPA_REPO/tests/integration/lib/nvme.sh"
. "$MPA_REPO/tests/integration/lib/nfs.sh"
. "$MPA_REPO/tests/integration/lib/iser.sh"

consumers=(nvme nfs iser openmpi rsockets mpa_nc rping perftest)
# Those that the kernel contains.
consumers_kernel=(nvme nfs iser)
# Some seconds of a busy machine, or without a link, are no reason to connect again.
nvme_patience=20
iser_patience=20
# Where there is this file, the programs need not take all of their seconds, except for rping
# and perftest.
consumers_enough=/tmp/enough
# A program that copies, 200 KiB in a second.
consumers_slowly='
import os, sys, time
while data := sys.stdin.buffer.read(20480):
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
    os.path.exists(sys.argv[1]) or time.sleep(0.1)'

# consumers_network: the initial namespace and that of the server, with their devices.
consumers_network() {
	lab_do ip link set lo up
	lab_do ip netns add server
	consumers_link
	lab_do modprobe -a ib_uverbs rdma_ucm
	consumers_devices
}

# The link between them, also after it has gone.
consumers_link() {
	lab_do ip link add near type veth peer name eth0 netns server
	lab_do ip addr add 10.78.0.1/24 dev near
	lab_do ip link set near up
	lab_do ip -n server addr add "$nfs_server/24" dev eth0
	lab_do ip -n server link set lo up
	lab_do ip -n server link set eth0 up
}

consumers_devices() {
	lab_do rdma link add mpa0 type mpa netdev near
	lab_do ip netns exec server rdma link add mpa9 type mpa netdev eth0
	# See nfs_server_goes.
	lab_do ip netns exec server "$MPA_REPO/build/bin/mpactl" set dev mpa9 peer-timeout 15s
}

# consumers_targets: what the kernel's consumers connect to.
consumers_targets() {
	consumers_mapper_reaches
	iser_mapper_up
	lab_check "the target of NVMe listens" nvme_target_up N
	lab_check "the server of NFS listens" nfs_server_up
	lab_check "the target of iSER listens" iser_target_up
	iser_initiator_up
	consumers_mpi
}

# The core asks the port mapper, if it runs, for each connection of any namespace, and the port
# mapper asks that of the peer from the initial one. There it finds itself, and has an answer;
# without that, each connection between h1 and h2 takes ten seconds more. The port mapper knows
# no namespaces, so the server's ports have no mapping: something there says so.
consumers_mapper_reaches() {
	lab_do ip addr add 10.77.0.1/32 dev lo
	lab_do ip addr add 10.77.0.2/32 dev lo
	lab_spawn unmapped server "$PYTHON" -c "$consumers_unmapped"
}

# A reject of the port mapper's protocol: the request with another type of message.
consumers_unmapped='
import socket
pair = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
pair.bind(("", 3935))
while True:
    request, peer = pair.recvfrom(4096)
    if not request[0] & 0x30:
        pair.sendto(bytes([request[0] | 0x30]) + request[1:], peer)'

consumers_targets_end() {
	lab_kill iscsid KILL
	lab_check "the target of NVMe is removed" nvme_target_down
	lab_check "the server of NFS ends" nfs_server_down
	lab_check "the target of iSER is removed" iser_target_down
	lab_kill iwpmd
	lab_kill unmapped
	lab_do modprobe -r nvme-rdma nvmet-rdma ib_iser ib_isert rpcrdma
	lab_do rdma link delete mpa0
	lab_do rdma link delete mpa9
	lab_do ip link delete near
	lab_do ip netns delete server
}

# A port of nvmet or of isert listens on the device that it was opened on.
consumers_ports_close() {
	nvme_port_close && iser_port_close
}

consumers_ports_open() {
	nvme_port_open && iser_port_open
}

# consumer_started NAME FUNCTION ARGUMENT...: in the background, see consumer_joined.
consumer_started() {
	"${@:2}" > "$LAB_OUT/$1-work.log" 2>&1 &
	lab_jobs["$1-work"]=$!
}

consumer_running() {
	lab_running "$1-work"
}

# consumer_joined NAME SECONDS
consumer_joined() {
	consumers_job_ends "$1-work" "$2"
}

# consumers_job_ends JOB SECONDS: as lab_join, but looks once in a second, for many wait at the
# same time; a file says what all waited for if the job does not end.
consumers_job_ends() {
	local limit=$((SECONDS + $2)) states=$LAB_OUT/states-$1-$SECONDS.txt
	while lab_running "$1" && ((SECONDS < limit)); do
		consumers_tick
	done
	lab_ended "$1" || {
		"$PYTHON" "$MPA_REPO/tests/integration/lib/states.py" > "$states" 2>&1 || true
		lab_note "$1 has not ended in $2 s: see ${states##*/}"
		lab_kill "$1" KILL
		return 124
	}
	lab_join "$1"
}

consumers_tick() {
	read -r -t 1 -u "$lab_never" || true
}

# consumer_with C SECONDS: from its connection to its end.
consumer_with() {
	"open_$1" && "work_$1" "$2" && "shut_$1"
}

# consumers_quiet: nothing of a consumer is left; listeners stay.
consumers_quiet() {
	lab_gone lab_objects_left && lab_gone consumers_queue_pairs &&
		lab_gone ls -A /sys/class/nvme && lab_gone consumers_sockets
}

consumers_queue_pairs() {
	local all
	all=$(rdma resource show qp) || return
	grep 'type RC' <<< "$all" || true
}

# Of the namespaces that stay. Time-wait is ended here: it would last a minute.
consumers_sockets() {
	local in
	for in in "" "ip netns exec server"; do
		$in ss -K -Htan state time-wait > /dev/null
		$in ss -Htan state connected exclude time-wait || return
	done
}

# --- NVMe, NFS, iSER ----------------------------------------------------------------

nvme_disk() {
	local found
	for found in /sys/class/nvme/nvme*/nvme*n1 /sys/class/nvme-subsystem/*/nvme*n1; do
		if [[ -b /dev/${found##*/} ]]; then
			echo "/dev/${found##*/}"
			return
		fi
	done
	return 1
}

open_nvme() {
	nvme_host_connect && lab_wait 30 nvme_disk
}

# blocks_on DISK NAME SECONDS
blocks_on() {
	local verified_where=(--filename="$1" --ioengine=libaio --iodepth=16)
	verified "$2" --rw=randwrite --bsrange=4k-64k --direct=1 --size="$((300 * $3))K" --rate=,300k
}

work_nvme() {
	blocks_on "$(nvme_disk)" nvme "$1"
}

nvme_gone() {
	! nvme_disk && [[ -z $(ls /sys/class/nvme) ]]
}

shut_nvme() {
	local controller
	for controller in /sys/class/nvme/nvme*; do
		[[ -e $controller ]] || continue
		echo 1 > "$controller/delete_controller" || return
	done
	lab_wait 30 nvme_gone
}

open_nfs() {
	nfs_mount_of 4.2
}

work_nfs() {
	local verified_where=(--directory="$nfs_mounted" --filename_format="\$jobname")
	verified nfs --rw=randwrite --bsrange=4k-64k --direct=1 --size="$((300 * $1))K" --rate=,300k &&
		verified_same "$nfs_exported" "$nfs_mounted" nfs
}

shut_nfs() {
	umount "$nfs_mounted"
}

open_iser() {
	iser_node_login iser && lab_wait 30 iser_disk
}

work_iser() {
	blocks_on "$(iser_disk)" iser "$1"
}

shut_iser() {
	iser_node --logout && iser_node -o delete
}

# --- programs -----------------------------------------------------------------------

open_openmpi() { :; }
shut_openmpi() { :; }
open_rsockets() { :; }
shut_rsockets() { :; }
open_mpa_nc() { :; }
shut_mpa_nc() { :; }
open_rping() { :; }
shut_rping() { :; }
open_perftest() { :; }
shut_perftest() { :; }

# served NAME PORT SERVER_COMMAND... -- CLIENT_COMMAND...: on h2 and h1; both succeed. The
# status is 124 if one of them had to be killed.
served() {
	local name=$1 port=$2 command=() server=0 client=0
	shift 2
	while [[ $1 != -- ]]; do
		command+=("$1")
		shift
	done
	shift
	lab_spawn "$name-server" h2 "${command[@]}"
	lab_wait_listen h2 "$port" 60 || return
	lab_spawn "$name-client" h1 "$@"
	consumers_job_ends "$name-client" 200 || client=$?
	consumers_job_ends "$name-server" 40 || server=$?
	((server != 124)) || return 124
	return $((client ? client : server))
}

# Open MPI's machines are network namespaces, with host names of their own. The processes use
# libfabric's provider for verbs; its BTL openib has no connection manager for iWARP in Debian.
consumers_mpi() {
	mkdir -p /tmp/mpi
	printf '%s\n' '127.0.0.1 localhost' '10.77.0.1 h1' '10.77.0.2 h2' > /etc/hosts
	printf 'h1 slots=1\nh2 slots=1\n' > /tmp/mpi/hosts
	cat > /tmp/mpi/agent <<- 'END'
		#!/bin/bash
		exec ip netns exec "$1" unshare --uts bash -c "hostname $1; ${*:2}"
	END
	chmod +x /tmp/mpi/agent
}

# The start of its programs takes some time: two minutes of an emulated machine with other work. An
# error in one of them ends both by means of the module mpi4py: without it, the end of Python waits
# for the other one. libfabric says why it offers no connection.
work_openmpi() {
	lab_spawn openmpi-run h1 unshare --uts bash -c 'hostname h1; exec "$@"' - \
		mpirun --allow-run-as-root --hostfile /tmp/mpi/hosts -np 2 \
		--mca plm_rsh_agent /tmp/mpi/agent --mca oob_tcp_if_include eth0 \
		--mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include verbs,ofi_rxm \
		-x IBV_DRIVERS -x FI_LOG_LEVEL=warn "$PYTHON" -m mpi4py \
		"$MPA_REPO/tests/integration/lib/mpi_exchange.py" "$1" "$consumers_enough"
	consumers_job_ends openmpi-run $((180 + $1))
}

work_rsockets() {
	local program=$MPA_REPO/tests/integration/lib/rsockets.py
	served rsockets 7471 "$PYTHON" "$program" listen 10.77.0.2 7471 \
		-- "$PYTHON" "$program" connect 10.77.0.2 7471 "$1" "$consumers_enough" &&
		grep -qE '^[1-9][0-9]* blocks are right' "$LAB_OUT/rsockets-client.log"
}

# In blocks as long as the path allows, at the speed at which they are made.
work_mpa_nc() {
	head -c "$((200 * $1))K" /dev/urandom > /tmp/mpa-nc.data || return
	# shellcheck disable=SC2016 # expanded there
	served mpa_nc 7000 \
		sh -c '"$1" -l -b 0 10.77.0.2 7000 > /tmp/mpa-nc.copy' - \
		"$MPA_REPO/build/bin/mpa-nc" \
		-- bash -c '"$1" -c "$2" "$3" < /tmp/mpa-nc.data | "$4" -b 0 10.77.0.2 7000' - \
		"$PYTHON" "$consumers_slowly" "$consumers_enough" \
		"$MPA_REPO/build/bin/mpa-nc" &&
		cmp /tmp/mpa-nc.data /tmp/mpa-nc.copy
}

# rping may succeed although its peer has gone: what it prints shows it.
work_rping() {
	local count=$((8 * $1))
	served rping 7174 rping -s -a 10.77.0.2 -V -S 1024 -C "$count" \
		-- rping -c -a 10.77.0.2 -v -V -S 1024 -C "$count" &&
		(($(grep -c '^ping data: ' "$LAB_OUT/rping-client.log") == count))
}

# perftest compares no data: a message that does not arrive as a whole ends it. Its server
# listens twice, see perf_pair. A client that is refused may crash in librdmacm. It sleeps
# until completions come, which cannot be combined with a duration.
work_perftest() {
	local try options=(-R -F -e -s 16384 -n "$((25 * $1))")
	for try in 1 2 3; do
		served perftest 18515 ib_send_lat "${options[@]}" -d mpa2 \
			-- ib_send_lat "${options[@]}" -d mpa1 10.77.0.2 && return
		grep -q 'RDMA_CM_EVENT_REJECTED; error: -111' \
			"$LAB_OUT/perftest-client.log" || return
		lab_note "perftest: again"
	done
	return 1
}
