#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Standard tools with this module: modprobe and the kernel's autoloading, rdma, ss
# and tracepoints; and systemd and udev, which restore devices. (Kernel owners of
# RDMA objects: 50-nvme.)
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/boot.sh"

bin=$MPA_REPO/build/bin
tracing=/sys/kernel/tracing
tuf=$MPA_REPO/tests/integration/lib/tuf.py

# --- modules that are loaded on demand ----------------------------------------

loaded() {
	[[ -d /sys/module/$1 ]]
}

unload() {
	lab_do modprobe -r mpa_rnic mpa
	lab_refuse "$1: the modules are not loaded" loaded mpa
}

has_alias() {
	modinfo -F alias "$1" | grep -qxF "$2"
}

# Without the module it would be ENOENT.
ulp_attached() {
	"$PYTHON" -c 'import errno, socket
try:
    socket.socket().setsockopt(socket.SOL_TCP, 31, b"mpa")
    print("attached")
except OSError as e:
    print(errno.errorcode[e.errno])'
}

autoload() {
	lab_check "mpa has the alias for sockets" has_alias mpa tcp-ulp-mpa
	lab_check "mpa has the alias for netlink" \
		has_alias mpa net-pf-16-proto-16-family-mpa
	lab_check "mpa_rnic has the alias for links" has_alias mpa_rnic rdma-link-mpa

	unload sockets
	lab_is "TCP_ULP of root loads mpa" "$(ulp_attached)" attached
	lab_check "it is loaded" loaded mpa

	unload netlink
	lab_check "an unprivileged query for the family is answered" \
		setpriv --reuid=65534 --clear-groups genl ctrl get name mpa
	lab_check "that has loaded mpa" loaded mpa
	lab_refuse "and nothing else" loaded mpa_rnic

	unload links
	lab_check "rdma link add finds its module" \
		lab_in h1 rdma link add mpa9 type mpa netdev lo
	lab_check "that has loaded mpa_rnic" loaded mpa_rnic
	lab_do rdma link delete mpa9
}

# --- rdma and ss on open connections ------------------------------------------

# output_has LABEL COMMAND PATTERN...: the output, as one line, matches all patterns.
output_has() {
	local label=$1 text pattern
	text=$($2 | tr -s '\n\t ' ' ')
	for pattern in "${@:3}"; do
		if ! grep -qE -- "(^| )$pattern( |\$)" <<< "$text"; then
			lab_not_ok "$label" "no '$pattern' in: $text"
			return
		fi
	done
	lab_note "$2: $text"
	lab_ok "$label"
}

has_counted() {
	(($(lab_counter "$1" "$2") > $3))
}

# rping that runs until it is stopped.
live_start() {
	lab_spawn server h2 rping -s -P -a 10.77.0.2 -S 1000
	lab_wait_listen h2 7174
	lab_spawn client h1 rping -c -a 10.77.0.2 -S 1000 -C 1000000
	lab_wait 20 has_counted mpa1 rx_send 2
}

live_end() {
	lab_kill client
	lab_kill server
}

live_rdma() {
	local owner server
	owner="pid $(lab_pid client) comm rping"
	server="pid $(lab_pid server) comm rping"
	output_has "rdma link" "ip netns exec h1 rdma link show mpa1/1" \
		'state ACTIVE' 'physical_state LINK_UP' 'netdev eth0'
	output_has "rdma dev" "rdma -d dev show mpa1" 'mpa1: node_type rnic' \
		'node_guid [0-9a-f:]+'
	output_has "rdma resource: queue pair" \
		"rdma resource show qp link mpa1 type RC" 'state RTS' "$owner"
	output_has "rdma resource: completion queue" "rdma resource show cq dev mpa1" \
		'cqe [0-9]+' "$owner"
	output_has "rdma resource: region" "rdma resource show mr dev mpa1" \
		'mrlen 1000' "$owner"
	output_has "rdma resource: protection domain" \
		"rdma resource show pd dev mpa1" "$owner"
	output_has "rdma resource: context" "rdma resource show ctx dev mpa1" \
		'comm rping'
	output_has "rdma resource: connection" "rdma resource show cm_id link mpa1" \
		'state CONNECT' "$owner" 'dst-addr 10.77.0.2:7174'
	output_has "rdma resource: listener" "rdma resource show cm_id link mpa2" \
		'state LISTEN' "$server" 'src-addr 10.77.0.2:7174'
	output_has "rdma statistic" "rdma statistic show link mpa1/1" \
		'conn_active 1' 'tx_send [1-9][0-9]*' 'rx_write [1-9][0-9]*' \
		'rx_crc_error 0'
}

# Details that the core does not know.
live_details() {
	output_has "details of a queue pair" \
		"rdma -dd resource show qp link mpa1 type RC" 'drv_mpa_state rts' \
		'drv_role initiator' 'drv_revision [12]' 'drv_crc 1' 'drv_tx_markers 0' \
		'drv_mulpdu 1[0-9]{3}' 'drv_sq_size [1-9][0-9]*'
	output_has "details of a completion queue" \
		"rdma -dd resource show cq dev mpa1" 'drv_cq_size [1-9][0-9]*' \
		'drv_armed [a-z]+' 'drv_overflown 0'
	output_has "details of a region" "rdma -dd resource show mr dev mpa1" \
		'drv_kind user' 'drv_stag_valid 1' 'drv_page_size 4096'
	output_has "details of a connection" \
		"rdma -dd resource show cm_id link mpa1" \
		'drv_mpa_state established' 'drv_role initiator'
	output_has "details of a listener" "rdma -dd resource show cm_id link mpa2" \
		'drv_mpa_state listening' 'drv_backlog [1-9][0-9]*'
}

live_ss() {
	lab_in h1 "$bin/mpactl" conn show
	lab_in h1 "$bin/mpactl" dev show
	lab_in h1 "$bin/mpactl" stat dev mpa1
	output_has "ss shows the ULP of the socket, and TCP's data" \
		"ip netns exec h1 ss -Htin dport = :7174" tcp-ulp-mpa \
		'bytes_acked:[1-9][0-9]*' 'mss:1448'
	output_has "mpactl has the rest" \
		"ip netns exec h1 $bin/mpactl -j conn show" \
		'.*"remote":{"addr":"10.77.0.2","port":7174},"phase":"operational".*'
	output_has "ip counts the same packets" "ip -n h1 -s link show eth0" \
		'RX: bytes packets errors dropped missed mcast [1-9][0-9]* [1-9][0-9]* 0 0'
}

# --- tracepoints --------------------------------------------------------------

trace_start() {
	echo > "$tracing/trace"
	echo 1 > "$tracing/events/mpa/enable"
	echo 1 > "$tracing/events/mpa_rnic/enable"
}

# Both ends have left their sockets.
trace_has_end() {
	(($(grep -c 'mpa_detach: .*port=7174' "$tracing/trace") == 2))
}

trace_end() {
	lab_check "the trace has the end of both" lab_wait 20 trace_has_end
	echo 0 > "$tracing/events/mpa/enable"
	echo 0 > "$tracing/events/mpa_rnic/enable"
	grep -v '^#' "$tracing/trace" > "$LAB_OUT/trace"
}

# One connection, from its first event to its last by its socket, and to its queue
# pair.
trace_life() {
	local key qpn pattern
	key=$(grep -m1 'mpa_frame: .* sent request' "$LAB_OUT/trace" |
		grep -o 'skaddr=[^ ]*')
	lab_check "a connection begins with its Request" test -n "$key"
	grep -F " $key " "$LAB_OUT/trace" > "$LAB_OUT/life" || true
	for pattern in \
		'rnic_ep_state: dev=mpa1 .* from=idle to=connecting' \
		'mpa_frame: .* rport=7174 sent request rev=' \
		'mpa_frame: .* raddr=::ffff:10.77.0.2 .* received reply rev=' \
		'mpa_agreed: .* initiator rev=[12] .* crc=1 ' \
		'mpa_state: .* from=wait-reply to=operational' \
		'rnic_cm_event: dev=mpa1 .* event=connect-reply status=0' \
		'mpa_detach: .* tx_fpdus=[1-9]'; do
		lab_check "its trace has: $pattern" \
			grep -E -m1 -- "$pattern" "$LAB_OUT/life"
	done
	qpn=$(sed -n 's/.*to=established.*/&/; s/.* qpn=\([1-9][0-9]*\) .*/\1/p' \
		"$LAB_OUT/life" | head -n 1)
	lab_check "it leads to its queue pair" \
		grep -m1 "rnic_qp_state: dev=mpa1 qpn=${qpn:-none} " \
		"$LAB_OUT/trace"
}

# The example of the documentation, which takes some time to start.
script_start() {
	printf '+ [life] bpftrace\n'
	bpftrace "$MPA_REPO/Documentation/examples/conn-life.bt" \
		> "$LAB_OUT/life.log" 2>&1 < /dev/null &
	lab_jobs["life"]=$!
}

script_ready() {
	grep -q ' conn  event$' "$LAB_OUT/life.log"
}

# Both ends of another connection.
script_life() {
	local line
	lab_check "the script is ready" lab_wait 180 script_ready
	lab_spawn pinged h2 rping -s -a 10.77.0.2 -p 7175 -C 3
	lab_wait_listen h2 7175
	lab_check "a connection for the script" \
		lab_rping h1 -c -a 10.77.0.2 -p 7175 -C 3
	lab_check "and its server" lab_join pinged
	lab_spawn echod h2 "$bin/mpa-echo" --server --start-key 7176
	lab_wait_listen h2 7176
	lab_check "one with Start Keys" lab_in h1 "$bin/mpa-echo" --client --start-key \
		10.77.0.2 7176
	lab_kill echod
	lab_spawn framed h2 "$PYTHON" "$tuf" listen 7177 --ours --send align --recv align
	lab_wait_listen h2 7177
	lab_check "one with framing" lab_in h1 "$PYTHON" "$tuf" connect 10.77.0.2 7177 \
		--ours --send align --recv align
	lab_check "and its peer" lab_join framed
	lab_wait 10 grep -qE '^ *[0-9]+ +7175 .* detached:' "$LAB_OUT/life.log"
	lab_do kill -INT "$(lab_pid life)"
	lab_check "the script ends successfully" lab_join life
	cat "$LAB_OUT/life.log"
	for line in 'sent Request, revision [12], M=0 C=1 R=0,' \
		'received Reply, revision [12],' \
		'Initiator ::ffff:10.77.0.1, peer ::ffff:10.77.0.2 port 7175' \
		'agreed: revision [12], CRC 1, Markers sent 0 received 0,' \
		'queue pair [1-9][0-9]* of mpa1' \
		'sent Start Key, revision 0, M=0 C=1' 'received Start Key, revision 0,' \
		'framing: mode 0x0 sent, 0x10 received, EMSS 0' \
		'framing: mode 0x2 sent, 0x10 received, EMSS 1[0-9]{3}' \
		'receiving ended: TCP has ended, error 0' \
		'detached: sent [1-9][0-9]* FPDUs, [1-9][0-9]* bytes, received [1-9]'; do
		lab_check "the script prints: $line" \
			grep -qE "^ *[0-9]+ +[0-9]+ +[1-9][0-9]*  $line" \
			"$LAB_OUT/life.log"
	done
}

# --- devices that are restored -------------------------------------------------

# Network devices in the file. systemd would escape a part of the second name.
boot_plug() {
	lab_do ip link add boot0 type dummy
	lab_do ip link add boot-0.1 type dummy
}

boot_unplug() {
	lab_do ip link delete boot0
	lab_do ip link delete boot-0.1
}

devices_are_back() {
	[[ $(rdma link show mpa7/1) == *" netdev boot0 "* &&
		$(rdma link show mpa8/1) == *" netdev boot-0.1 "* ]]
}

state_is_saved() {
	"$bin/mpactl" save | cmp - /etc/mpa/mpa.json
}

# back LABEL: the devices are restored, and all their settings.
back() {
	lab_check "$1: the devices are there" lab_wait 120 devices_are_back
	lab_check "$1: and their settings are those that were saved" \
		lab_wait 10 state_is_saved
	lab_check "$1: and the units have ended" lab_wait 10 units_have_ended
}

units_have_ended() {
	boot_unit_is mpa-restore@boot0.service ActiveState inactive &&
		boot_unit_is mpa-restore@boot-0.1.service ActiveState inactive
}

no_device() {
	lab_gone rdma link
}

boot_save() {
	boot_plug
	lab_do rdma link add mpa7 type mpa netdev boot0
	lab_do rdma link add mpa8 type mpa netdev boot-0.1
	lab_do "$bin/mpactl" set half-open-max 7
	lab_do "$bin/mpactl" set dev mpa7 markers on startup-timeout 7s
	lab_do "$bin/mpactl" set dev mpa8 ird 8
	lab_do make -s -C "$MPA_REPO/dist" install PREFIX=/usr/local
	lab_do install -m 755 "$bin/mpactl" /usr/local/bin/
	lab_check "the state is saved" lab_do "$bin/mpactl" save /etc/mpa/mpa.json
	lab_do cat /etc/mpa/mpa.json
	lab_do rdma link delete mpa7
	lab_do rdma link delete mpa8
	lab_do modprobe -r mpa_rnic mpa
}

# lines UNIT: how many lines its command has written; each start writes one or more.
lines() {
	local all
	boot_in journalctl --sync &&
		all=$(boot_in journalctl --quiet --no-pager --output=cat --unit="$1") || return
	printf '%s' "${all:+$all$'\n'}" | wc -l
}

# Events of network devices that are there already.
boot_events() {
	local unit=mpa-restore@boot0.service before action
	lab_do "$bin/mpactl" set dev mpa7 startup-timeout 9s
	before=$(lines "$unit")
	lab_true "the unit has written what it did" "$before > 0"
	for action in change add move; do
		lab_do boot_in udevadm trigger --action="$action" \
			--subsystem-match=net --settle
	done
	sleep 5
	lab_is "later events do not start the unit again" "$(lines "$unit")" "$before"
	output_has "what was set meanwhile stays" "$bin/mpactl get dev mpa7" \
		'startup-timeout 9s'
}

boot_devices() {
	boot_save
	lab_check "systemd accepts the units" systemd-analyze --man=no verify \
		mpa.service mpa-restore@boot0.service
	boot_up mpa.service
	lab_check "the defaults are set at boot" \
		lab_wait 120 boot_unit_is mpa.service ActiveState active
	output_has "and are those that were saved" "$bin/mpactl get" 'half-open-max 7'
	lab_check "no device is created for that" no_device
	boot_coldplug
	back "at boot"
	boot_events

	boot_unplug
	lab_check "the devices are deleted with their network devices" lab_wait 10 no_device
	boot_plug
	back "plugged in again"
	# Whatever systemd has seen of this by then.
	boot_unplug
	boot_plug
	back "replaced at once"

	boot_unplug
	lab_do ip link add other0 type dummy
	lab_do ip link add boot-0 type dummy
	lab_do boot_in udevadm settle
	lab_check "a network device that is not in the file gets none" no_device
	sleep 5
	lab_is "nor is the unit started if its name is a part of one" \
		"$(lines mpa-restore@boot-0.service)" 0
	lab_do ip link set other0 name boot0
	lab_do ip link set boot-0 name boot-0.1
	back "renamed to what is in the file"
}

# It fails once, and reports the reason.
boot_fails() {
	local unit=mpa-restore@boot0.service
	lab_do rdma link delete mpa7
	lab_do rdma link delete mpa8
	echo '{ "boot0"' > /etc/mpa/mpa.json
	lab_refuse "a bad file makes the unit fail" \
		boot_in systemctl start "$unit"
	lab_is "and it stays so" "$(boot_unit "$unit" ActiveState)" failed
	lab_is "without another try" "$(boot_unit "$unit" NRestarts)" 0
	output_has "the journal has the reason" \
		"boot_in journalctl --no-pager -u $unit" '.*/etc/mpa/mpa.json.*'
	lab_do rm /etc/mpa/mpa.json
	lab_do boot_in systemctl start "$unit"
	lab_is "without the file it does nothing" \
		"$(boot_unit "$unit" ConditionResult)" no
	boot_down
	boot_unplug
}

# ------------------------------------------------------------------------------

lab_do modprobe -a ib_uverbs rdma_ucm mpa_rnic
lab_hosts 2
autoload
lab_link h1
lab_link h2
script_start
trace_start
live_start
live_rdma
live_details
live_ss
live_end
trace_end
trace_life
script_life
lab_teardown
boot_devices
boot_fails
