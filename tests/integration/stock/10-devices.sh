#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Devices are created and deleted: on every kind of network device, in shared and
# exclusive namespaces, while in use, and concurrently. Their attributes are correct
# and follow the network device.
#
# shellcheck disable=SC2034 # lab_host_names is the library's
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/settings.sh"
. "$MPA_REPO/tests/integration/lib/cases.sh"

# --- queries ------------------------------------------------------------------

# devices [HOST]: names of the RDMA devices visible there, sorted.
devices() {
	local in=() names
	[[ $# -eq 0 ]] || in=(ip netns exec "$1")
	names=$("${in[@]}" rdma link | sed -n 's,^link \([^/]*\)/.*,\1,p' | sort) ||
		names="rdma fails"
	echo "${names//$'\n'/ }"
}

devices_are() {
	local wanted=$1
	shift
	[[ $(devices "$@") == "$wanted" ]]
}

# link_is DEVICE KEY VALUE
link_is() {
	[[ "$(rdma link show "$1/1") " == *" $2 $3 "* ]]
}

# netdev_is DEVICE VALUE: the core reports it only in its namespace.
netdev_is() {
	[[ "$(ip netns exec h1 rdma link show "$1/1") " == *" netdev $2 "* ]]
}

# shown HOST: names of the devices that mpactl shows there, each with its network
# device, sorted.
shown() {
	ip netns exec "$1" "$mpactl_bin" -j dev | "$PYTHON" -c '
import json, sys
print(*sorted("%s/%s" % (one["name"], one["ifname"]) for one in json.load(sys.stdin)))' ||
		echo "mpactl fails"
}

shown_is() {
	[[ $(shown "$1") == "$2" ]]
}

# device_ird HOST DEVICE: an effective setting.
device_ird() {
	ip netns exec "$1" "$mpactl_bin" -j get dev "$2" | "$PYTHON" -c '
import json, sys
print(json.load(sys.stdin)["config"]["ird"])'
}

# devinfo HOST DEVICE KEY: a value of ibv_devinfo, first word.
devinfo() {
	ip netns exec "$1" ibv_devinfo -v -d "$2" | pick "$3"
}

pick() {
	awk -v key="$1:" '$1 == key && !n++ { print $2 }'
}

devinfo_is() {
	[[ $(devinfo "$1" "$2" "$3") == "$4" ]]
}

gid() {
	cat "/sys/class/infiniband/$1/ports/1/gids/0"
}

# has_gid DEVICE: one that is not zero.
has_gid() {
	local gid
	gid=$(gid "$1") || return
	[[ $gid =~ ^[0-9a-f]{4}(:[0-9a-f]{4}){7}$ && $gid == *[1-9a-f]* ]]
}

# gid_is DEVICE MAC
gid_is() {
	local mac=${2//:/}
	[[ $(gid "$1") == "${mac:0:4}:${mac:4:4}:${mac:8:4}:0000:0000:0000:0000:0000" ]]
}

mac() {
	ip netns exec "$1" cat "/sys/class/net/$2/address"
}

# holder NAME HOST DEVICE: a process that has the device open, with a protection
# domain, a region and a mapped completion queue. It prints when it is ready, and
# exits successfully on a signal, even if the device has been removed meanwhile.
holder() {
	lab_spawn "$1" "$2" "$PYTHON" -u \
		"$MPA_REPO/tests/integration/lib/uverbs_holder.py" "$3"
	lab_wait 30 grep -q '^holding' "$LAB_OUT/$1.log"
}

# holder_ends NAME LABEL
holder_ends() {
	kill -USR1 "$(lab_pid "$1")"
	lab_check "$2" lab_join "$1" 20
}

# --- every kind of network device ---------------------------------------------

try_netdev() {
	local name=$1
	lab_check "$name: add" lab_in h1 rdma link add mpa0 type mpa netdev "$name"
	lab_check "$name: is active" lab_wait 10 link_is mpa0 state ACTIVE
	lab_check "$name: is on that network device" netdev_is mpa0 "$name"
	lab_check "$name: has a GID" has_gid mpa0
	lab_refuse "$name: no second device" \
		lab_in h1 rdma link add mpa9 type mpa netdev "$name"
	lab_check "$name: delete" lab_do rdma link delete mpa0
	lab_is "$name: is gone" "$(devices)" ""
}

netdev_kinds() {
	lab_do ip -n h1 link add veth0 type veth peer name veth1
	lab_do ip -n h1 link set veth1 up
	lab_do ip -n h1 link set veth0 up
	lab_do ip -n h1 link add bond0 type bond mode active-backup
	lab_do ip -n h1 link add dummy0 type dummy
	lab_do ip -n h1 link set dummy0 master bond0
	lab_do ip -n h1 link set bond0 up
	lab_do ip -n h1 link add link veth0 name vlan7 type vlan id 7
	lab_do ip -n h1 link set vlan7 up
	lab_do ip -n h1 tuntap add tun0 mode tun
	lab_do ip -n h1 tuntap add tap0 mode tap
	lab_spawn readers h1 "$PYTHON" -u -c '
import fcntl, os, struct, signal
for name, flags in (b"tun0", 0x1001), (b"tap0", 0x1002):
    fd = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(fd, 0x400454ca, struct.pack("16sH22x", name, flags))
print("reading")
signal.pause()'
	lab_wait 10 grep -q reading "$LAB_OUT/readers.log"
	lab_do ip -n h1 link set tun0 up
	lab_do ip -n h1 link set tap0 up

	local name
	for name in veth0 bond0 vlan7 tun0 tap0 lo; do
		try_netdev "$name"
	done
	lab_kill readers

	lab_do ip -n h1 link add ipip0 type ipip local 10.9.9.1 remote 10.9.9.2
	lab_refuse "a tunnel without Ethernet is refused" \
		lab_in h1 rdma link add mpa0 type mpa netdev ipip0
	lab_in h1 rdma link add mpa0 type mpa netdev veth0
	lab_refuse "a name in use is refused" \
		lab_in h1 rdma link add mpa0 type mpa netdev lo
	lab_in h1 rdma link add mpa1 type mpa netdev lo
	lab_is "the refused one has left nothing behind" "$(devices)" "mpa0 mpa1"
	lab_do rdma link delete mpa1
	lab_do rdma link delete mpa0
	for name in ipip0 tap0 tun0 vlan7 bond0 dummy0 veth0; do
		lab_do ip -n h1 link del "$name"
	done
}

# The state of the link of a network device is reported under a lock of its own, since 7.3 and for
# some drivers, of which this is one.
netdev_state() {
	lab_do ip -n h1 link add dummy0 type dummy
	lab_in h1 rdma link add mpa0 type mpa netdev dummy0
	lab_spawn up h1 ip link set dummy0 up
	lab_check "dummy0: up" lab_wait 10 link_is mpa0 state ACTIVE
	lab_spawn down h1 ip link set dummy0 down
	lab_check "dummy0: down" lab_wait 10 link_is mpa0 state DOWN
	lab_spawn again h1 ip link set dummy0 up
	lab_check "dummy0: up again" lab_wait 10 link_is mpa0 state ACTIVE
	lab_do ip -n h1 link del dummy0
	lab_check "dummy0: removed while it is up" lab_wait 10 eval '[[ -z $(devices) ]]'
}

# --- attributes of a device -----------------------------------------------------

limits() {
	local pair info
	info=$(ip netns exec h1 ibv_devinfo -v -d mpa1)
	for pair in transport=iWARP phys_port_cnt=1 max_qp=65536 \
		max_qp_wr=32768 max_sge=16 max_sge_rd=1 max_cq=65536 \
		max_cqe=1048576 max_mr=1048576 max_pd=65536 \
		max_qp_rd_atom=128 max_qp_init_rd_atom=128 \
		max_res_rd_atom=8388608 atomic_cap=ATOMIC_GLOB max_mw=1048576 \
		max_srq=65536 max_ah=0 max_pkeys=0 max_mr_size=0x8000000000 \
		page_size_cap=0xfffff000 device_cap_flags=0x01220000 \
		fw_ver="$(cat "$MPA_REPO/VERSION")" \
		state=PORT_ACTIVE link_layer=Ethernet max_msg_sz=0x80000000 \
		gid_tbl_len=1 pkey_tbl_len=0; do
		lab_is "devinfo ${pair%%=*}" \
			"$(pick "${pair%%=*}" <<< "$info")" "${pair#*=}"
	done
	lab_is "a completion vector for each processor" \
		"$(pick num_comp_vectors <<< "$info")" "$(nproc)"
	lab_is "a provider can know the device" \
		"$(cat /sys/class/infiniband/mpa1/mpa_abi_version)" 2
}

statistics() {
	local all wanted
	all=$(lab_statistic link mpa1/1 | cut -d' ' -f2- | tr '\n' ' ')
	wanted=$(sed -n 's/^\tRNIC_CNT_\([A-Z_]*\),$/\1 0/p' \
		"$MPA_REPO/kernel/rnic/counters.h" | tr 'A-Z\n' 'a-z ')
	lab_is "statistics: every counter by name, in order, zero" \
		"$all" "$wanted"
}

# --- details of its objects ------------------------------------------------------

# pings HOST CLIENT_HOST: a server, and a client that runs long enough to be
# observed.
pings() {
	lab_spawn server "$1" rping -s -P -a 0.0.0.0 -S 4096
	lab_wait_listen "$1" 7174
	lab_spawn client "$2" rping -c -a "10.77.0.${1#h}" -C 1000000 -S 4096
}

pings_end() {
	lab_kill client
	lab_kill server
}

# detailed KIND NAME VALUE...: an object of that kind, created by a program on mpa1,
# has all these details. VALUE is a pattern.
detailed() {
	local details
	details=$(rdma -j -dd resource show "$1")
	"$PYTHON" -c '
import json, re, sys
wanted = dict(zip(sys.argv[2::2], sys.argv[3::2]))
details = [one for one in json.loads(sys.argv[1]) if one.get("comm") == "rping"
        and "mpa1" in (one.get("ifname"), one.get("dev"))]
for one in details:
    one = {name.removeprefix("drv_"): value for name, value in one.items()}
    if all(re.fullmatch(value, str(one.get(name)))
           for name, value in wanted.items()):
        sys.exit(0)
sys.exit("none of: " + sys.argv[1])' "$details" "${@:2}"
}

details() {
	pings h2 h1
	lab_check "details of a queue pair" lab_wait 20 detailed qp \
		mpa_state rts role initiator revision 2 ddp_version 1 \
		enhanced 1 start_key 0 peer_to_peer 1 rtr 2 tx_markers 0 rx_markers 0 \
		crc 1 ird 1 ord 1 peer_ird 1 peer_ord 1 rdmap_extensions 1 mulpdu '1[34]..' \
		sq_size '[1-9].*' sq_posted '[0-9]' sq_taken '[0-9]' \
		rq_size '[1-9].*' rq_posted '[0-9]' reads_out '[01]' \
		reads_in '[01]'
	lab_check "details of a completion queue" lab_wait 20 detailed cq \
		cq_size '[1-9].*' cq_used '[0-9]' armed 'next|none' overflown 0
	lab_check "details of a region" lab_wait 20 detailed mr \
		kind user stag_valid 1 pages '[12]' page_size 4096 \
		senders '[01]' access '0x7|7'
	lab_check "details of an identifier" lab_wait 20 detailed cm_id \
		mpa_state established role initiator listen_id 0 ird 1 ord 1 \
		mpa_qpn '[1-9].*'
	pings_end
	pings h1 h2
	lab_check "details of a listener" lab_wait 20 detailed cm_id \
		mpa_state listening listen_id '[1-9].*' backlog '[1-9].*' \
		half_open 0
	lab_check "and of what it accepted" lab_wait 20 detailed cm_id \
		mpa_state established role responder listen_id '[1-9].*'
	lab_check "a queue pair of the other side" lab_wait 20 detailed qp \
		mpa_state rts role responder
	pings_end
}

# Address, MTU and link state of the network device show in the RDMA device.
follows() {
	lab_check "GID is the MAC address" gid_is mpa1 "$(mac h1 eth0)"
	lab_do ip -n h1 link set eth0 address 02:00:00:00:be:ef
	lab_check "GID follows the MAC address" \
		lab_wait 10 gid_is mpa1 02:00:00:00:be:ef

	lab_is "MTU 1500" "$(devinfo h1 mpa1 active_mtu)" 1024
	lab_do ip -n h1 link set eth0 mtu 9000
	lab_is "MTU 9000" "$(devinfo h1 mpa1 active_mtu)" 4096
	lab_do ip -n h1 link set eth0 mtu 576
	lab_is "MTU 576" "$(devinfo h1 mpa1 active_mtu)" 512
	lab_do ip -n h1 link set eth0 mtu 1500

	lab_spawn watch h1 stdbuf -oL ibv_asyncwatch -d mpa1
	lab_wait 20 grep -q 'async event FD' "$LAB_OUT/watch.log"
	lab_do ip -n h1 link set eth0 down
	lab_check "down: state" lab_wait 10 link_is mpa1 state DOWN
	lab_check "down: the peer's state" lab_wait 10 link_is mpa2 state DOWN
	lab_check "down: event" \
		lab_wait 10 grep -q PORT_ERR "$LAB_OUT/watch.log"
	lab_do ip -n h1 link set eth0 up
	lab_check "up: state" lab_wait 10 link_is mpa1 state ACTIVE
	lab_check "up: event" \
		lab_wait 10 grep -q PORT_ACTIVE "$LAB_OUT/watch.log"
	lab_is "one event for each change" \
		"$(grep -c IBV_EVENT_ "$LAB_OUT/watch.log")" 2
	lab_kill watch
}

# --- removal while in use -----------------------------------------------------

# Every way to remove a device, each within seconds, while a process has it open.
held() {
	holder hold1 h1 mpa1
	lab_check "rdma link delete does not wait for users" \
		timeout 90 rdma link delete mpa1
	holder_ends hold1 "its user ends well"

	lab_link h1
	holder hold2 h1 mpa1
	lab_check "deleting a network device does not wait for users" \
		timeout 90 ip -n h1 link del eth0
	lab_check "and deletes the device, as its veth peer does" \
		lab_wait 10 devices_are ""
	holder_ends hold2 "its user ends well, too"

	lab_do ip -n h1 link add eth0 type veth peer name eth1
	lab_do ip -n h1 link set eth1 up
	lab_do ip -n h1 link set eth0 up
	lab_link h1
	holder hold3 h1 mpa1
	lab_check "modprobe -r does not wait for users" \
		timeout 90 modprobe -r mpa_rnic
	lab_is "and deletes the device, too" "$(devices)" ""
	holder_ends hold3 "its user ends well after the module has gone"
	lab_do ip -n h1 link del eth0
}

# --- namespaces ---------------------------------------------------------------

shared() {
	lab_is "shared: all hosts see both" "$(devices h1)" "mpa1 mpa2"
	lab_check "shared: usable where the network device is" \
		devinfo_is h2 mpa2 state PORT_ACTIVE
	lab_is "mpactl: h1's" "$(shown h1)" mpa1/eth0
	lab_is "mpactl: h2's" "$(shown h2)" mpa2/eth0
	lab_do rdma dev set mpa1 name other
	lab_is "mpactl: it has a new name" "$(shown h1)" other/eth0
	lab_do rdma dev set other name mpa1
	device_set ird 17 mpa1
	holder stay h1 mpa1
	lab_do ip -n h1 link set eth0 netns h2 name eth9
	lab_is "moving the network device keeps the device" \
		"$(devices h2)" "mpa1 mpa2"
	lab_is "mpactl shows it in the new namespace" \
		"$(shown h2)" "mpa1/eth9 mpa2/eth0"
	lab_is "and no longer in the old one" "$(shown h1)" ""
	lab_is "with its settings" "$(device_ird h2 mpa1)" 17
	holder_ends stay "and its users"
	lab_do ip -n h2 link set eth9 netns h1 name eth0
	lab_do ip -n h1 link set eth0 up
	lab_check "and back again" lab_wait 10 link_is mpa1 state ACTIVE

	lab_do ip netns add gone
	lab_do ip -n gone link add eth0 type dummy
	lab_in gone rdma link add mpa3 type mpa netdev eth0
	lab_check "a namespace is deleted with a device in it" \
		timeout 90 ip netns del gone
	lab_check "and the device with it" \
		lab_wait 20 devices_are "mpa1 mpa2"
}

# A wildcard listener waits for a device that leaves its namespace and returns, while
# the network device stays.
listener_stays() {
	lab_spawn server h1 rping -s -P -a 0.0.0.0
	lab_wait_listen h1 7174
	lab_in h1 rdma dev set mpa1 netns h2
	lab_in h2 rdma dev set mpa1 netns h1
	lab_is "a device that was moved is shown with its network device" \
		"$(shown h1)" mpa1/eth0
	lab_check "and listeners use it again" lab_rping h2 -c -a 10.77.0.1 -C 2 -S 100
	lab_kill server
}

exclusive() {
	lab_check "exclusive mode" lab_do rdma system set netns exclusive
	lab_hosts 2
	lab_in h1 rdma link add mpa1 type mpa netdev eth0
	lab_in h2 rdma link add mpa2 type mpa netdev eth0
	lab_is "exclusive: h1 sees its own" "$(devices h1)" mpa1
	lab_is "exclusive: h2 sees its own" "$(devices h2)" mpa2
	lab_is "exclusive: the rest sees none" "$(devices)" ""
	lab_check "exclusive: usable" devinfo_is h1 mpa1 state PORT_ACTIVE
	listener_stays

	holder moved h1 mpa1
	lab_check "rdma dev set netns does not wait for users" \
		timeout 90 ip netns exec h1 rdma dev set mpa1 netns h2
	holder_ends moved "its user ends well"
	lab_is "it is there" "$(devices h2)" "mpa1 mpa2"
	lab_is "and only there" "$(devices h1)" ""
	lab_do ip -n h1 link set eth0 netns h2 name eth1
	lab_do ip -n h2 link set eth1 up
	lab_check "usable with its network device" \
		lab_wait 10 devinfo_is h2 mpa1 state PORT_ACTIVE
	lab_check "and back" \
		timeout 90 ip netns exec h2 rdma dev set mpa1 netns h1

	lab_check "a namespace is deleted with a device in it" \
		timeout 90 ip netns del h1
	lab_host_names=(h2)
	lab_check "it is in the first one then" lab_wait 10 devices_are mpa1
	lab_do rdma link delete mpa1
	lab_check "the other is deleted with its namespace and network device" \
		timeout 90 ip netns del h2
	lab_host_names=()
	lab_check "no device is left" lab_wait 20 devices_are ""
	lab_check "shared mode" lab_wait 20 rdma system set netns shared
}

# vrf_served ADDRESS SOURCE: a connection to the server of h2.
vrf_served() {
	lab_check "a connection to $1" lab_rping h1 -c -a "$1" -I "$2" -C 2 -S 100
}

# A VRF has routes of its own, and addresses that are not local outside.
vrf() {
	local n accept passive
	lab_second_link
	for n in 1 2; do
		lab_ip "h$n" <<- END
			link add red type vrf table 10
			link set red up
			link set eth1 master red
			addr replace fd78::$n/64 dev eth1 nodad
		END
		lab_link "h$n" mpa "red$n" eth1
	done
	for accept in 0 1; do
		lab_in h2 sysctl -q -w net.ipv4.tcp_l3mdev_accept="$accept"
		lab_note "one listener for all VRFs: $accept"
		lab_spawn server h2 rping -s -P -a ::
		lab_wait_listen h2 7174
		passive=$(lab_counter red2 conn_passive)
		vrf_served 10.77.0.2 10.77.0.1
		vrf_served 10.78.0.2 10.78.0.1
		vrf_served fd78::2 fd78::1
		lab_is "those of the VRF are of its device" \
			$(($(lab_counter red2 conn_passive) - passive)) 2
		lab_kill server
		lab_spawn server h2 rping -s -P -a 10.78.0.2
		lab_wait_listen h2 7174
		vrf_served 10.78.0.2 10.78.0.1
		lab_kill server
	done
	for n in 1 2; do
		lab_unlink "red$n"
		lab_do ip -n "h$n" link del red
	done
	lab_in h2 sysctl -q -w net.ipv4.tcp_l3mdev_accept=0
	lab_do ip -n h1 link del eth1
}

# --- races --------------------------------------------------------------------

# add NAME NETDEV: in the background; it may succeed or fail.
add() {
	ip netns exec h1 rdma link add "$1" type mpa netdev "$2" \
		2> /dev/null &
}

# The network device is deleted while the device is created, deleted, or both.
races() {
	local i first second third
	for ((i = 0; i < 20; i++)); do
		ip -n h1 link add race type dummy
		add race0 race
		first=$!
		((i % 2)) || sleep 0.0$((i / 2))
		ip -n h1 link del race
		wait "$first" || true
		rdma link delete race0 2> /dev/null || true
	done
	lab_check "races leave nothing over" \
		lab_wait 20 devices_are "mpa1 mpa2"
	for ((i = 0; i < 4; i++)); do
		ip -n h1 link add race type dummy
		add same race
		first=$!
		add same lo
		second=$!
		add other race
		third=$!
		wait "$first" || true
		wait "$second" || true
		wait "$third" || true
		rdma link delete same
		rdma link delete other 2> /dev/null || true
		ip -n h1 link del race
	done
	lab_check "races for name and network device, too" \
		lab_wait 20 devices_are "mpa1 mpa2"
}

# ------------------------------------------------------------------------------

lab_do modprobe -a ib_uverbs rdma_ucm tun
exclusive

lab_hosts 2
netdev_kinds
netdev_state
lab_link h1
lab_link h2
limits
statistics
details
cases_open "$MPA_REPO/tests/integration/counter_cases.py" 120
cases_run statistic
vrf
follows
shared
races
held
