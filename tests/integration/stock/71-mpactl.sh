#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# mpactl, every command end to end: showing devices, listeners and connections of
# verbs and of sockets, setting, and monitoring; for unprivileged users, as text and
# as JSON.
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/settings.sh"

# shellcheck disable=SC2034 # it is read in lib.sh
lab_sets_nothing=1

nc=$MPA_REPO/build/bin/mpa-nc

# status_of WANTED NAME HOST WORD...: checks the exit status; the output is in
# $LAB_OUT/said and $LAB_OUT/warned.
status_of() {
	local wanted=$1 name=$2 status=0
	shift 2
	mpactl_in "$@" > "$LAB_OUT/said" 2> "$LAB_OUT/warned" || status=$?
	cat "$LAB_OUT/said" "$LAB_OUT/warned"
	lab_is "$name" "$status" "$wanted"
}

# json NAME EXPRESSION HOST WORD...: the expression is true of the JSON output `j`.
json() {
	local name=$1 expression=$2
	shift 2
	mpactl_in "$1" -j "${@:2}" > "$LAB_OUT/said"
	tail -n +2 "$LAB_OUT/said" > "$LAB_OUT/said.json"
	lab_check "$name" "$PYTHON" -c '
import json, sys
j = json.load(open(sys.argv[1]))
try:
    good = eval("(" + sys.argv[2] + ")")
except Exception as error:
    sys.exit(f"{error!r} in {j}")
sys.exit(0 if good else f"not true of {j}")' "$LAB_OUT/said.json" "$expression"
}

said() {
	grep -qE -- "$1" "$LAB_OUT/said"
}

# The id of h1's connection of a kind.
connection_of() {
	ip netns exec h1 "$mpactl_bin" -j conn owner "$1" | "$PYTHON" -c '
import json, sys
print(json.load(sys.stdin)[0]["id"])'
}

# --- without the module -----------------------------------------------------------

not_loaded() {
	status_of 2 "an unknown word" h1 devs
	lab_check "gets a suggestion" grep -q "'dev'?" "$LAB_OUT/warned"
	status_of 2 "an unknown setting" h1 set crk off
	status_of 2 "restore of nothing" h1 restore /dev/null
	status_of 4 "restore of a missing file" h1 restore /nowhere
}

# --- showing objects ---------------------------------------------------------------

devices() {
	status_of 0 "dev" h1 dev
	lab_check "dev: the device" said '^mpa1 +eth0 +active +0 +0 +128 +128 +write,read'
	json "dev as JSON" 'len(j) == 1 and j[0]["name"] == "mpa1" and
		j[0]["ifname"] == "eth0" and j[0]["active"] is True and
		j[0]["rtr"] == ["write", "read"]' h1 dev
	json "dev of one" 'j[0]["name"] == "mpa1"' h1 dev show mpa1
	status_of 3 "dev: not of another namespace" h1 dev mpa2
	lab_check "dev: the kernel's message" \
		grep -q '^mpactl: device mpa2: ' "$LAB_OUT/warned"
}

# rping on port 7174, and a socket's connection, both from h1 to h2. The input of
# mpa-nc never ends.
connect() {
	lab_spawn rping_server h2 rping -s -a 10.77.0.2 -C 1000000000 -S 1000
	lab_spawn nc_server h2 bash -c 'exec "$@" 0<> <(:)' - "$nc" -v -l 7000
	lab_wait_listen h2 7174
	lab_wait_listen h2 7000
	lab_spawn rping_client h1 rping -c -a 10.77.0.2 -C 1000000000 -S 1000
	lab_spawn nc_client h1 bash -c 'exec 0<> <(:); echo one >&0; exec "$@"' - \
		"$nc" -v 10.77.0.2 7000
	lab_wait 20 grep -q one "$LAB_OUT/nc_server.log"
	lab_wait 20 is_up device
}

is_up() {
	ip netns exec h1 "$mpactl_bin" conn owner "$1" phase operational | grep -q operational
}

listeners() {
	status_of 0 "listen" h2 listen
	lab_check "listen: of the device" said '^ *[0-9]+ +mpa2 +10\.77\.0\.2:7174'
	lab_check "listen: of the socket" said '^ *[0-9]+ +socket, user 0 +\S+:7000'
	json "listen as JSON" 'sorted(one["local"]["port"] for one in j) == [7000, 7174]
		and {one["owner"] for one in j} == {"socket", "device"}' h2 listen
	json "listen: none on the other side" 'j == []' h1 listen
}

connections() {
	local id
	status_of 0 "conn" h1 conn
	lab_check "conn: of the device" said 'mpa1 qp [0-9]+ .*10\.77\.0\.2:7174 +operational +initiator'
	lab_check "conn: of the socket" said 'socket, user 0 .*10\.77\.0\.2:7000 +operational +initiator'
	json "conn as JSON" 'len(j) == 2 and all(one["phase"] == "operational" and
		one["role"] == "initiator" and one["crc"] is True and
		one["remote"]["addr"] == "10.77.0.2" and one["stats"]["tx_fpdus"] > 0
		for one in j)' h1 conn
	json "conn: the responders" 'len(j) == 2 and all(one["role"] == "responder"
		and "listen_id" in one for one in j)' h2 conn
	json "conn by device" 'len(j) == 1 and j[0]["qpn"] and j[0]["dev"] == "mpa1"' \
		h1 conn dev mpa1
	json "conn by owner" 'len(j) == 1 and j[0]["inode"] and j[0]["uid"] == 0' \
		h1 conn owner socket
	json "conn by phase: none" 'j == []' h1 conn phase exited
	id=$(connection_of socket)
	status_of 0 "conn by id" h1 conn id "$id"
	lab_check "conn by id: all of it" said '^  tx_fpdus +[1-9]'
	status_of 1 "conn: an unknown id" h1 conn id 4294967295
}

statistics() {
	json "stat" '[one["kind"] for one in j] == ["defaults", "device"] and
		j[1]["dev"] == "mpa1" and j[1]["counters"]' h1 stat
	json "stat of a connection" 'len(j) == 1 and
		j[0]["counters"]["tx_fpdus"] > 0' h1 stat conn "$(connection_of device)"
	status_of 0 "stat of a device" h1 stat dev mpa1
}

# Ends with SIGINT after a few intervals, and every line is an object.
watching() {
	lab_spawn watch h1 "$mpactl_bin" -j stat dev mpa1 --watch 0.5
	lab_wait 20 lines_in watch 3
	kill -INT "$(lab_pid watch)"
	lab_check "watch ends well when interrupted" lab_join watch 10
	lab_check "watch: rates" "$PYTHON" -c '
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
assert len(lines) >= 3, lines
assert all(0.4 < line["seconds"] < 30 for line in lines), lines
assert any(rate > 0 for line in lines
           for rate in line["stat"][0]["rates"].values()), lines' "$LAB_OUT/watch.log"
	lab_spawn watch_text h1 "$mpactl_bin" stat --watch
	lab_wait 20 grep -qE '^device mpa1 +\S+ +[0-9.]+.*/s' "$LAB_OUT/watch_text.log"
	kill -INT "$(lab_pid watch_text)"
	lab_check "watch as text" lab_join watch_text 10
}

lines_in() {
	(($(wc -l < "$LAB_OUT/$1.log") >= $2))
}

# --- settings -------------------------------------------------------------------------

settings() {
	json "get" 'j["kind"] == "defaults" and j["config"]["crc"] == "required" and
		j["own"] == [] and set(j["from"].values()) == {"built-in"} and
		len(j["config"]) == 31' h1 get
	status_of 0 "set of the namespace" h1 set startup-timeout 2s markers on
	lab_is "set: nothing on standard output" "$(tail -n +2 "$LAB_OUT/said")" ""
	lab_is "set: the kernel's remark, once" "$(wc -l < "$LAB_OUT/warned")" 1
	status_of 0 "set of a device" h1 set dev mpa1 markers off rtr write
	json "get of the device" 'j["config"]["startup_timeout"] == 2000 and
		j["config"]["markers"] is False and j["config"]["rtr"] == ["write"]
		and j["own"] == ["markers", "rtr"]
		and j["from"]["startup_timeout"] == "defaults"
		and j["from"]["markers"] == "device"
		and j["from"]["crc"] == "built-in"' h1 get dev mpa1
	status_of 0 "get as text" h1 get dev mpa1
	lab_check "get: from here" said '^rtr +write +device mpa1$'
	lab_check "get: from above" said '^startup-timeout +2s +defaults$'
	status_of 0 "set --check" h1 set crc off --check
	json "set --check does nothing" 'j["config"]["crc"] == "required"' h1 get
	status_of 0 "inherit" h1 set dev mpa1 markers inherit rtr inherit
	status_of 0 "inherit in the namespace" h1 set startup-timeout inherit markers inherit
	json "everything is inherited again" 'j["own"] == [] and
		j["config"]["markers"] is False' h1 get dev mpa1
	status_of 1 "set out of range" h1 set ird 99999
	lab_check "set out of range: the attribute and its range" \
		grep -qE '^mpactl: defaults: .*\(attribute config.ird, 0 \.\. 16382\)' "$LAB_OUT/warned"
	status_of 1 "a value that the device does not support" h1 set dev mpa1 rtr send
	lab_check "the attribute is named" \
		grep -q '(attribute config.rtr)' "$LAB_OUT/warned"
	status_of 1 "set of all or nothing" h1 set crc off half-open-max 0
	json "nothing was set" 'j["own"] == []' h1 get
	status_of 1 "packing is not for devices" h1 set dev mpa1 packing on
	lab_check "packing: the kernel's reason" grep -q packing "$LAB_OUT/warned"
	status_of 1 "framing is not for devices" h1 set dev mpa1 framing off
	lab_check "framing: the kernel's reason" grep -q 'framing does not apply to devices' \
		"$LAB_OUT/warned"
}

# --- without privilege ------------------------------------------------------------------

as_nobody() {
	local words
	for words in dev conn listen stat get "get dev mpa1" save; do
		# shellcheck disable=SC2086 # words
		lab_check "nobody: $words" lab_in h1 setpriv --reuid=65534 --regid=65534 \
			--clear-groups --inh-caps=-all "$mpactl_bin" -j $words
	done
	lab_spawn nobody h1 setpriv --reuid=65534 --regid=65534 --clear-groups \
		--inh-caps=-all "$mpactl_bin" set crc off
	words=0
	lab_join nobody 10 || words=$?
	lab_is "an unprivileged user cannot set" "$words" 1
	lab_check "an unprivileged user gets the reason" \
		grep -qE '^mpactl: defaults: .+' "$LAB_OUT/nobody.log"
}

# --- events -----------------------------------------------------------------------------

events_of() {
	"$PYTHON" -c '
import json, sys
print(*(json.loads(line)["event"] for line in open(sys.argv[1])))' "$LAB_OUT/$1.log"
}

monitoring() {
	lab_spawn monitor h2 "$mpactl_bin" -j monitor
	lab_spawn monitor_text h2 "$mpactl_bin" monitor --kinds conn,listen
	lab_wait 10 monitors
	lab_spawn short_server h2 "$nc" -l 7001
	lab_wait_listen h2 7001
	echo two | lab_in h1 "$nc" -c 10.77.0.2 7001
	lab_check "its server ends" lab_join short_server 20
	mpactl_in h2 set dev mpa2 ird 8
	mpactl_in h2 set dev mpa2 ird inherit
	lab_wait 20 lines_in monitor 6
	kill -INT "$(lab_pid monitor)" "$(lab_pid monitor_text)"
	lab_check "monitor ends well when interrupted" lab_join monitor 10
	lab_check "and as text" lab_join monitor_text 10
	lab_is "monitor: all events in order" "$(events_of monitor)" \
		"listen-add conn-up conn-down listen-del config config"
	lab_check "monitor: contents of the events" "$PYTHON" -c '
import json, sys
events = [json.loads(line) for line in open(sys.argv[1])]
up, down = [one["conn"] for one in events if one["event"].startswith("conn")]
assert up["id"] == down["id"] and up["local"]["port"] == 7001, events
assert down["stats"]["rx_fpdus"] == 1, down
config = events[-2]
assert config["name"] == "mpa2" and config["own"] == ["ird"], config
assert config["config"]["ird"] == 8 and events[-1]["own"] == [], events
assert sorted(one["time"] for one in events) == [one["time"] for one in events]
' "$LAB_OUT/monitor.log"
	lab_is "monitor: only some kinds" "$(wc -l < "$LAB_OUT/monitor_text.log")" 4
}

# Events that are pending when the signal arrives are not shown any more: a flood of
# them would never end.
monitor_flood() {
	local n
	lab_spawn monitor h2 "$mpactl_bin" monitor
	lab_wait 10 monitors 1
	kill -STOP "$(lab_pid monitor)"
	for n in {1..5}; do
		mpactl_in h2 set dev mpa2 ird "$n"
	done
	mpactl_in h2 set dev mpa2 ird inherit
	kill -INT "$(lab_pid monitor)"
	kill -CONT "$(lab_pid monitor)"
	lab_check "monitor ends among events" lab_join monitor 10
	lab_is "and shows none of them" "$(wc -l < "$LAB_OUT/monitor.log")" 0
}

# Messages that netlink sockets in h2 have dropped.
netlink_drops() {
	# shellcheck disable=SC2016 # fields of awk
	ip netns exec h2 awk '$2 == 16 { sum += $9 } END { print sum + 0 }' /proc/net/netlink
}

# flood: changes settings until messages are dropped.
flood() {
	local n before
	before=$(netlink_drops)
	for n in {1..400}; do
		ip netns exec h2 "$mpactl_bin" set dev mpa2 ird "$((n % 8 + 1))"
		((n % 10)) || (($(netlink_drops) == before)) || return 0
	done 2> /dev/null
	return 1
}

ends_with_lost() {
	tail -n 1 "$LAB_OUT/$1.log" | grep -qE '^[0-9:.]+ [0-9]+ events lost$'
}

# A reader that is too slow. Without privilege, the limit of the system applies to its
# receive buffer.
monitor_overload() {
	local limit
	limit=$(sysctl -n net.core.rmem_max)
	lab_do sysctl -q -w net.core.rmem_max=16384
	lab_spawn monitor h2 setpriv --reuid=65534 --regid=65534 --clear-groups \
		--inh-caps=-all "$mpactl_bin" monitor
	lab_wait 10 monitors 1
	lab_do sysctl -q -w net.core.rmem_max="$limit"
	kill -STOP "$(lab_pid monitor)"
	lab_check "events are lost" flood
	kill -CONT "$(lab_pid monitor)"
	lab_check "monitor reports lost events" \
		lab_wait 20 grep -qE '^[0-9:.]+ [0-9]+ events lost$' "$LAB_OUT/monitor.log"
	lab_check "and shows those that follow" lab_wait 60 monitor_shows_again
	kill -STOP "$(lab_pid monitor)"
	lab_check "events are lost again" flood
	kill -INT "$(lab_pid monitor)"
	kill -CONT "$(lab_pid monitor)"
	lab_check "monitor ends when events were lost" lab_join monitor 10
	lab_check "and reports them before" ends_with_lost monitor
	mpactl_in h2 set dev mpa2 ird inherit
}

# Until the reader has taken all that was in its buffer, the kernel drops what follows.
monitor_shows_again() {
	mpactl_in h2 set dev mpa2 ird 1 && mpactl_in h2 set dev mpa2 ird inherit &&
		grep -q 'device mpa2: all inherited' "$LAB_OUT/monitor.log"
}

# monitors [N]: N (2) processes have joined the group. A mask of 8000 is that of nlctrl's
# group alone, which each joins first.
monitors() {
	(($(ip netns exec h2 grep -E '^[0-9a-f]+ +16 +[0-9]+ +0*[1-9a-f]' /proc/net/netlink |
		grep -cvE '^[0-9a-f]+ +16 +[0-9]+ +0*8000 ') >= ${1:-2}))
}

# The modules leave, and with them the group that monitor has joined. Loaded again, the
# family has another number: monitor must end instead of waiting for ever.
monitor_removal() {
	local status=0
	lab_spawn monitor h2 "$mpactl_bin" monitor
	lab_wait 10 monitors 1
	kill -STOP "$(lab_pid monitor)"
	lab_check "modules can be removed under monitor" lab_wait 60 modules_leave
	lab_do modprobe mpa_rnic
	kill -CONT "$(lab_pid monitor)"
	lab_join monitor 10 || status=$?
	lab_is "monitor ends when the module is removed" "$status" 3
	lab_check "with the last event" grep -q ' dev-del *device mpa2 ' "$LAB_OUT/monitor.log"
	lab_check "and with the reason" grep -q '^mpactl: the module mpa was removed' \
		"$LAB_OUT/monitor.log"
}

modules_leave() {
	modprobe -r mpa_rnic mpa && [[ ! -d /sys/module/mpa ]]
}

# --- completion ----------------------------------------------------------------------------

completion() {
	lab_is "bash completes live names" "$(ip netns exec h1 bash -c '
		PATH=${1%/*}:$PATH
		. "$2/userspace/mpactl/completion/mpactl.bash"
		COMP_WORDS=(mpactl conn dev "") COMP_CWORD=3
		_mpactl mpactl ""
		echo "${COMPREPLY[*]}"' - "$mpactl_bin" "$MPA_REPO")" mpa1
}

lab_hosts 2
not_loaded
lab_link h1
lab_link h2
devices
connect
listeners
connections
statistics
watching
lab_kill rping_client
lab_kill rping_server
settings
as_nobody
completion
lab_kill nc_client
lab_kill nc_server
monitoring
monitor_flood
monitor_overload
monitor_removal
