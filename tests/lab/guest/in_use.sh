# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Connections between two hosts that are open while what they use is replaced.

# An rping and an MPA socket that stay open until feed is closed. rping never waits, and would
# take most of the time of the processors: it gets what nothing else needs.
begin_use() {
	local pipe=/tmp/feed
	# Otherwise each session would have a share of its own.
	lab_do sysctl -q kernel.sched_autogroup_enabled=0
	lab_spawn rping-server h2 chrt --idle 0 rping -s -a 10.77.0.2 -p 7300 -V -S 4096
	lab_wait_listen h2 7300
	lab_spawn rping-client h1 chrt --idle 0 rping -c -a 10.77.0.2 -p 7300 -v -V -S 4096
	lab_spawn nc-server h2 mpa-nc -v -l 7301
	lab_wait_listen h2 7301
	mkfifo $pipe
	# shellcheck disable=SC2016
	lab_spawn nc-client h1 bash -c 'mpa-nc -v 10.77.0.2 7301 < "$1"' - $pipe
	exec {feed}> $pipe
	say one
}

# say WORD: over the open socket.
say() {
	echo "$1" >&"$feed"
	lab_wait 60 grep -qx "$1" "$LAB_OUT/nc-server.log"
}

pings() {
	grep -c '^ping data: ' "$LAB_OUT/rping-client.log"
}

pings_go_on() {
	local before
	before=$(pings)
	lab_wait 120 more_pings $((before + 20))
}

more_pings() {
	(($(pings) > $1))
}

end_use() {
	say last
	exec {feed}>&-
	lab_check "the socket that was open: client" lab_join nc-client
	lab_check "the socket that was open: server" lab_join nc-server
	lab_kill rping-client
	lab_kill rping-server
}
