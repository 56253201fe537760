#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The port mapper of rdma-core, iwpmd, and what needs it: the kernel's iSER target,
# which listens for iSCSI over TCP on the same port, with open-iscsi as its initiator.
#
# The port mapper serves the initial namespace only, so one host connects to its own
# address there. A host without the port mapper is on the other end of the link.
#
#	+-(initial)-+ 10.78.0.0/24 +----far----+
#	|      mpa0 |--------------| mpa9      |
#	+-----------+              +-----------+
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/verified.sh"
. "$MPA_REPO/tests/integration/lib/iser.sh"

address=$iser_address
port=7300
verified_while=(mpa0 rx_read_resp)
mpactl=$MPA_REPO/build/bin/mpactl

# --- listening ----------------------------------------------------------------------

# listening: TCP ports that are listened on at the address, or at all.
listening() {
	ss -Hltn | awk '{ sub(/.*:/, "", $4); print $4 }' | sort -u
}

# server NAME [COUNT]: listens on the port, and serves one client. Waits for COUNT ports, 1
# unless given, and sets ports. Without an address it would ask for a port of every device.
server() {
	local before
	before=$(listening)
	lab_spawn_here "$1" taskset -c 0 rping -s -a "$address" -p "$port" -C 10
	ports=()
	lab_wait 20 more_ports "$before" "${2:-1}"
}

# more_ports BEFORE COUNT: sets ports to those that are new.
more_ports() {
	mapfile -t ports < <(comm -13 <(echo "$1") <(listening))
	((${#ports[@]} >= $2))
}

# client [far]: ten pings.
client() {
	local pings=(-c -a "$address" -p "$port" -C 10)
	if (($#)); then
		lab_rping "$1" "${pings[@]}"
	else
		lab_spawn_here client rping "${pings[@]}" && lab_join client
	fi
}

# served LABEL SERVER [far]
served() {
	lab_check "$1" client "${@:3}"
	lab_check "$1: the server ends" lab_join "$2" 20
}

# rping exits with 255; 124 is that of timeout.
fails() {
	local status=0
	"$@" || status=$?
	((status > 0 && status != 124))
}

without_mapper() {
	server alone
	lab_is "without a port mapper: one port" "${ports[*]}" "$port"
	served "without a port mapper" alone
}

# A program that listens for TCP on the port, as LIO does.
occupied() {
	"$PYTHON" -u -c '
import signal, socket, sys
with socket.create_server((sys.argv[1], int(sys.argv[2]))):
    signal.pause()' "$address" "$port" &
	lab_jobs[plain]=$!
	lab_wait 10 is_listened_on
}

is_listened_on() {
	listening | grep -qx "$port"
}

with_mapper() {
	server both 2
	lab_is "with a port mapper: two ports" "${#ports[@]}" 2
	lab_check "one is the server's own" grep -qw "$port" <<< "${ports[*]}"
	served "the port mapper's port" both
	server again 2
	served "the other one, without a port mapper" again far

	occupied
	server second
	lab_is "on a port that is in use: the other one" "${#ports[@]}" 1
	lab_refuse "the other one: not the server's own" grep -qw "$port" <<< "${ports[*]}"
	served "on a port that is in use" second
	server third
	lab_check "a peer without a port mapper finds the program instead" fails client far
	served "and disturbs nobody" third
	lab_kill plain
}

not_for_listeners() {
	local id
	id=$("$mpactl" -j listen | "$PYTHON" -c 'import json, sys
print(json.load(sys.stdin)[0]["id"])') || return
	! "$mpactl" set listen "$id" port-mapping off 2> "$LAB_OUT/refused.log" &&
		grep 'port-mapping do not apply to listeners' "$LAB_OUT/refused.log"
}

setting_off() {
	lab_do "$mpactl" set dev mpa0 port-mapping off
	server off
	lab_is "port-mapping off: one port" "${ports[*]}" "$port"
	lab_check "a listener has no such setting" not_for_listeners
	served "port-mapping off" off
	occupied
	lab_check "port-mapping off: not on a port that is in use" \
		fails timeout 120 rping -s -a "$address" -p "$port" -C 1
	lab_kill plain
	lab_do "$mpactl" set dev mpa0 port-mapping inherit
}

# --- iSER ---------------------------------------------------------------------------

# verified_disk NAME SIZE_OF_BLOCKS PATTERN
verified_disk() {
	verified "$1" --rw="$3" --bs="$2" --direct=1 --size=24M
}

owned_by() {
	rdma resource show "$1" | grep -F " comm [$2]"
}

# Nothing is lost, except to that.
target_goes_under_load() {
	local try raced
	for try in 1 2 3; do
		raced=$(iser_raced)
		disturbed "again$try" iser_target_goes && return
		(($(iser_raced) > raced)) || return
	done
	return 1
}

errors() {
	local error
	for error in rx_crc_error rx_marker_error rx_length_error rx_ddp_error \
		rx_rdmap_error cq_overflow; do
		lab_is "no $error" "$(lab_counter mpa0 "$error")" 0
	done
}

iser() {
	local reads connections
	lab_check "the target serves TCP and iSER on one port" iser_target_up
	iser_initiator_up
	reads=$(lab_counter mpa0 rx_read_resp)
	lab_check "the initiator logs in over iSER" iser_node_login iser
	lab_is "the host adapter is iSER's" \
		"$(cat /sys/class/iscsi_session/session*/device/../scsi_host/host*/proc_name)" \
		iscsi_iser
	lab_check "its disk appears" iser_disk_appears
	lab_check "rdma names the target as the owner of an identifier" \
		owned_by cm_id ib_isert
	lab_check "rdma names the initiator, too" owned_by cm_id ib_iser
	lab_check "large blocks, verified" verified_disk large 1M write
	lab_check "small blocks in any order, verified" verified_disk small 4k randwrite
	lab_check "blocks of odd sizes, verified" verified_disk odd 13k randrw
	lab_true "the target reads the initiator's memory" \
		"$(lab_counter mpa0 rx_read_resp) > $reads"
	errors
	connections=$(lab_counter mpa0 conn_active)
	lab_check "the target goes and comes back under load" \
		target_goes_under_load
	lab_true "the initiator has connected again" \
		"$(lab_counter mpa0 conn_active) > $connections"
	lab_check "the initiator logs out" iser_node --logout
	iser_node -o delete

	lab_check "the same target by plain TCP" iser_node_login default
	lab_check "its disk appears" iser_disk_appears
	lab_check "large blocks by TCP, verified" verified_disk tcp 1M write
	lab_check "the initiator logs out" iser_node --logout
	# It misses another signal that comes just before it sleeps.
	lab_kill iscsid KILL
	lab_check "the target is removed" iser_target_down
	lab_do modprobe -r ib_iser ib_isert
}

# ------------------------------------------------------------------------------------

lab_do ip link set lo up
lab_do ip netns add far
lab_do ip link add near type veth peer name eth0 netns far
lab_do ip addr add $address/24 dev near
lab_do ip link set near up
lab_do ip -n far addr add 10.78.0.2/24 dev eth0
lab_do ip -n far link set lo up
lab_do ip -n far link set eth0 up
lab_do modprobe -a ib_uverbs rdma_ucm
lab_do rdma link add mpa0 type mpa netdev near
lab_do ip netns exec far rdma link add mpa9 type mpa netdev eth0

if (($#)); then
	iser_mapper_up
	"$@"
	exit
fi
without_mapper
iser_mapper_up
with_mapper
setting_off
iser
lab_kill iwpmd
