#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# mpactl save and restore: settings and devices are the same to the byte after
# everything was deleted, also in a namespace that never had any; a dry run shows the
# difference; if a file cannot be restored completely nothing changes. saved.json was
# saved in another VM; the state saved here has to be the same.
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/settings.sh"

# shellcheck disable=SC2034 # it is read in lib.sh
lab_sets_nothing=1

state=$LAB_OUT/state.json
saved=$MPA_REPO/tests/integration/lib/saved.json

# save HOST FILE
save() {
	mpactl_in "$1" save "$2"
}

# same NAME HOST FILE: the state of the host is that of the file, byte by byte.
same() {
	save "$2" "$LAB_OUT/again.json"
	lab_check "$1" diff "$3" "$LAB_OUT/again.json"
}

# restore_status WANTED NAME HOST FILE [OPTION...]
restore_status() {
	local wanted=$1 name=$2 status=0
	shift 2
	mpactl_in "$1" restore "${@:2}" > "$LAB_OUT/said" 2> "$LAB_OUT/warned" || status=$?
	cat "$LAB_OUT/said" "$LAB_OUT/warned"
	lab_is "$name" "$status" "$wanted"
}

# Every setting on some object, with a value other than the built-in one.
set_everything() {
	mpactl_in h1 set crc off markers on revision 1 permissive on exchange plain \
		peer-to-peer off rtr write,read ird 5 ord 6 startup-timeout 2s \
		reply-timeout 1min half-open-max 7 packing on segments single \
		first-fpdu-timeout 8s close-timeout 90s linger-max 4097 keepalive off \
		user-qp-max 1024 user-cq-max 2048 user-mr-max 65536 user-pd-max 32 \
		user-rings-max 64 rdmap-extensions off receive-wait 250ms \
		peer-timeout 30s port-mapping off early-placement on \
		rto-min 20ms startup either framing off
	mpactl_in h1 set dev mpa1 crc required revision auto ird 128 ord 1 rtr write
	mpactl_in h1 set dev mpa8 exchange enhanced startup-timeout 1500ms
}

# --- in a fresh VM ---------------------------------------------------------------

forget_everything() {
	local words=() key
	lab_unlink mpa8
	lab_unlink mpa1
	for key in crc markers revision permissive exchange peer-to-peer rtr ird ord \
		startup-timeout reply-timeout half-open-max packing segments \
		first-fpdu-timeout close-timeout linger-max keepalive \
		user-{qp,cq,mr,pd,rings}-max rdmap-extensions receive-wait \
		peer-timeout port-mapping early-placement rto-min startup framing; do
		words+=("$key" inherit)
	done
	mpactl_in h1 set "${words[@]}"
}

fresh() {
	lab_is "a fresh VM: no device" "$(ip netns exec h1 "$mpactl_bin" -j dev)" '[]'
	restore_status 0 "restore in a fresh VM" h1 "$saved"
	same "a fresh VM: the state of another one" h1 "$saved"
	forget_everything
}

# --- save and restore -------------------------------------------------------------

there_and_back() {
	lab_link h1
	lab_link h1 mpa mpa8 eth1
	set_everything
	save h1 "$state"
	lab_do cat "$state"
	lab_check "save is the same as in another VM" diff "$saved" "$state"
	lab_check "save is JSON of every setting" "$PYTHON" -c '
import json, sys
state = json.load(open(sys.argv[1]))
assert state["version"] == 1
assert len(state["defaults"]) == 31, state
assert [one["name"] for one in state["devices"]] == ["mpa1", "mpa8"], state
assert state["devices"][0]["netdev"] == "eth0", state
assert len(state["devices"][0]["config"]) == 5, state' "$state"
	restore_status 0 "nothing to change" h1 "$state"
	lab_check "and that is reported" grep -q '^nothing to change$' "$LAB_OUT/said"

	forget_everything
	save h1 "$LAB_OUT/empty.json"
	lab_check "everything is deleted" "$PYTHON" -c '
import json, sys
state = json.load(open(sys.argv[1]))
assert state == {"version": 1, "defaults": {}, "devices": []}, state' "$LAB_OUT/empty.json"

	restore_status 0 "dry run" h1 "$state" --dry-run
	lab_is "dry run: devices to be created" "$(grep -c '^device mpa[18] *created' "$LAB_OUT/said")" 2
	lab_is "dry run: settings" "$(grep -c ' added ' "$LAB_OUT/said")" 38
	same "dry run has changed nothing" h1 "$LAB_OUT/empty.json"
	restore_status 0 "restore" h1 "$state"
	same "everything is restored" h1 "$state"
	lab_check "devices work" lab_wait 10 lab_link_active mpa1

	restore_status 0 "back to the empty state" h1 "$LAB_OUT/empty.json"
	lab_is "devices stay" "$(ip netns exec h1 "$mpactl_bin" -j dev | grep -c '"name"')" 2
	lab_is "nothing is set any more" "$(ip netns exec h1 "$mpactl_bin" -j save)" \
		'{"version":1,"defaults":{},"devices":[{"name":"mpa1","netdev":"eth0","config":{}},{"name":"mpa8","netdev":"eth1","config":{}}]}'
	restore_status 0 "and restored once more" h1 "$state"
	same "everything is restored again" h1 "$state"
}

# --- in another namespace, through pipes ----------------------------------------------

elsewhere() {
	sed 's/"mpa1"/"mpa2"/; s/"mpa8"/"mpa9"/' "$state" > "$LAB_OUT/h2.json"
	lab_check "from standard input" bash -c 'ip netns exec h2 "$1" restore - < "$2"' - \
		"$mpactl_bin" "$LAB_OUT/h2.json"
	same "the same in another namespace" h2 "$LAB_OUT/h2.json"
	lab_check "to standard output" bash -c 'ip netns exec h2 "$1" save | diff - "$2"' - \
		"$mpactl_bin" "$LAB_OUT/h2.json"
	same "the first one has not changed" h1 "$state"
}

# --- what cannot be restored -------------------------------------------------------------

# refused NAME WANTED_STATUS SED_EXPRESSION: h3, which is empty, stays empty.
refused() {
	sed "$3" "$state" > "$LAB_OUT/bad.json"
	restore_status "$2" "refused: $1" h3 "$LAB_OUT/bad.json"
	lab_check "refused: $1: the reason is reported" grep -q '^mpactl: ' "$LAB_OUT/warned"
	same "refused: $1: nothing has changed" h3 "$LAB_OUT/empty.json"
	lab_is "refused: $1: no device is left" "$(ip netns exec h3 "$mpactl_bin" -j dev)" '[]'
}

unprivileged() {
	ip netns exec h3 setpriv --reuid=65534 --regid=65534 --clear-groups \
		"$mpactl_bin" restore - < "$state" 2> "$LAB_OUT/unprivileged.log"
}

cannot_be() {
	sed -i 's/"mpa1"/"mpa3"/; s/"mpa8"/"mpa7"/' "$state"
	refused "a setting of the last device" 1 's/"exchange": "enhanced",/"packing": true,/'
	refused "no such network device" 3 's/"eth1"/"eth9"/'
	refused "a device's name that is taken" 1 's/"mpa7"/"mpa9"/'
	refused "a value out of bounds" 2 's/"ird": 5,/"ird": 16383,/'
	refused "an unknown key" 2 's/"crc"/"crk"/'
	refused "a file that is cut off" 2 '$d'
	lab_refuse "unprivileged: refused" unprivileged
	lab_check "unprivileged: the reason" grep -q 'not permitted' "$LAB_OUT/unprivileged.log"
	same "unprivileged: nothing has changed" h3 "$LAB_OUT/empty.json"
	restore_status 0 "the whole file is good" h3 "$state"
	same "and restored" h3 "$state"
}

# --- what a device limits -----------------------------------------------------------------

# An RTR cannot be a Send, so with nothing else no device asks for one.
limited() {
	mpactl_in h1 set rtr send
	mpactl_in h1 set dev mpa1 rtr inherit peer-to-peer on
	mpactl_in h1 set dev mpa8 rtr send,write,read
	lab_check "a device limits what is set" "$PYTHON" -c '
import json, sys
one, other = (json.loads(text)["config"] for text in sys.argv[1:])
assert one["peer_to_peer"] is False, one
assert other["rtr"] == ["write", "read"], other' \
		"$(ip netns exec h1 "$mpactl_bin" -j get dev mpa1)" \
		"$(ip netns exec h1 "$mpactl_bin" -j get dev mpa8)"
	save h1 "$LAB_OUT/limited.json"
	lab_check "it is saved as it was set" "$PYTHON" -c '
import json, sys
one, other = (device["config"] for device in json.load(open(sys.argv[1]))["devices"])
assert one["peer_to_peer"] is True and "rtr" not in one, one
assert other["rtr"] == ["send", "write", "read"], other' "$LAB_OUT/limited.json"
	restore_status 0 "limited: nothing to change" h1 "$LAB_OUT/limited.json"
	lab_check "limited: that is reported" grep -q '^nothing to change$' "$LAB_OUT/said"
	mpactl_in h1 set dev mpa1 peer-to-peer inherit
	mpactl_in h1 set dev mpa8 rtr inherit
	restore_status 0 "limited: restore" h1 "$LAB_OUT/limited.json"
	same "limited: everything is restored" h1 "$LAB_OUT/limited.json"
}

lab_hosts 3
for host in h1 h2 h3; do
	lab_ip "$host" <<- END
		link add eth1 type dummy
		link set eth1 up
	END
done
fresh
there_and_back
elsewhere
cannot_be
limited
