# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# The socket interface: cases of build/bin/socket_test, mpa-nc and mpa-echo between
# the hosts h1 and h2, and loading and unloading of the module.

. "$MPA_REPO/tests/integration/lib/capture.sh"

socket_bin=$MPA_REPO/build/bin
socket_limit=240

# socket_cases [GLOB...]: their result lines count like those of the script.
socket_cases() {
	lab_check "all cases of the sockets" "$socket_bin/socket_test" "$@"
}

# socket_counter HOST NAME: of its network namespace.
socket_counter() {
	ip netns exec "$1" "$socket_bin/mpactl" --json stat | "$PYTHON" -c '
import json, sys
def find(value, name):
    if isinstance(value, dict):
        if name in value:
            return value[name]
        value = list(value.values())
    for one in value if isinstance(value, list) else ():
        found = find(one, name)
        if found is not None:
            return found
print(find(json.load(sys.stdin), sys.argv[1]))' "$2"
}

# Whatever a case does, each of its connections has gone, also from the counters.
socket_counters() {
	local host
	for host in h1 h2; do
		lab_check "no connection is left in $host" \
			lab_wait 30 socket_count_is "$host" conns 0
		lab_is "none in full operation either" \
			"$(socket_counter "$host" conns_up)" 0
	done
}

socket_count_is() {
	[[ $(socket_counter "$1" "$2") == "$3" ]]
}

# A server in the kernel takes a listening socket that has MPA.
socket_kernel_accept() {
	local owned
	lab_do modprobe mpa_kaccept
	for owned in N Y; do
		echo "$owned" > /sys/module/mpa_kaccept/parameters/owned
		lab_check "kernel_accept(), owned $owned" \
			ip netns exec h1 "$PYTHON" -c '
import socket, struct, sys, threading, time
SOL_MPA, PARAMS, START = 5044, 1, 4
file = "/sys/module/mpa_kaccept/parameters/listener"
owned = sys.argv[1] == "Y"
answers = []
listener = socket.create_server(("127.0.0.1", 0))
listener.setsockopt(socket.SOL_TCP, 31, b"mpa")
# MPA_F_AUTO_ACCEPT, any revision
listener.setsockopt(SOL_MPA, PARAMS, struct.pack("IBBHHHIBBBB", 8, 255, *[0] * 9))
listener.setsockopt(SOL_MPA, START, struct.pack("i", 2))
def client():
    # Sockets created while the server has the listener inherit its data.
    time.sleep(0.5)
    near = socket.create_connection(listener.getsockname())
    near.setsockopt(socket.SOL_TCP, 31, b"mpa")
    try:
        near.setsockopt(SOL_MPA, START, struct.pack("i", 1))
        near.sendall(b"hello")
        answers.append(near.recv(10))
    except OSError as error:
        answers.append(type(error))
thread = threading.Thread(target=client)
thread.start()
with open(file, "w") as to:
    to.write(str(listener.fileno()))
thread.join()
result = int(open(file).read())
print(result, answers)
if owned:
    # EEXIST: it cannot be an MPA socket, and is dropped.
    assert result == -17 and answers != [b"hello"]
else:
    assert result == 5 and answers == [b"hello"]
' "$owned"
	done
	lab_check "the kernel's server is done" modprobe -r mpa_kaccept
}

# socket_said LOG TEXT
socket_said() {
	grep -qF -- "$2" "$LAB_OUT/$1.log" || {
		echo "$1.log has no: $2"
		return 1
	}
}

# --- mpa-nc -----------------------------------------------------------------------

# nc_pair LABEL WANTED SERVER_OPTIONS CLIENT_OPTIONS: both read their standard input
# from $LAB_OUT/{server,client}.in and write to .stdout there; the client ends with
# status WANTED.
nc_pair() {
	local label=$1 wanted=$2 server client status=0
	read -r -a server <<< "$3"
	read -r -a client <<< "$4"
	lab_spawn server h2 bash -c 'in=$1 out=$2; shift 2; exec "$@" < "$in" > "$out"' \
		- "$LAB_OUT/server.in" "$LAB_OUT/server.stdout" \
		"$socket_bin/mpa-nc" -v -l "${server[@]}" 7100
	lab_wait_listen h2 7100
	lab_spawn client h1 bash -c 'in=$1 out=$2; shift 2; exec "$@" < "$in" > "$out"' \
		- "$LAB_OUT/client.in" "$LAB_OUT/client.stdout" \
		"$socket_bin/mpa-nc" -v "${client[@]}" 10.77.0.2 7100
	lab_join client "$socket_limit" || status=$?
	lab_is "mpa-nc, $label: client" "$status" "$wanted"
	status=0
	lab_join server "$socket_limit" || status=$?
	lab_is "mpa-nc, $label: server" "$status" "${5:-0}"
}

# nc_same LABEL: each received the input of the other one.
nc_same() {
	lab_check "mpa-nc, $1: there" cmp "$LAB_OUT/client.in" "$LAB_OUT/server.stdout"
	lab_check "mpa-nc, $1: back" cmp "$LAB_OUT/server.in" "$LAB_OUT/client.stdout"
}

nc_lines() {
	printf 'one\n\ntwo\n' > "$LAB_OUT/client.in"
	printf 'a\nb\n' > "$LAB_OUT/server.in"
	nc_pair lines 0 "-d welcome" "--data-hex 00ff"
	nc_same lines
	lab_check "mpa-nc shows the Request's data" \
		socket_said server 'private data of the peer, 2 bytes: \x00\xff'
	lab_check "mpa-nc shows the Reply's data" socket_said client 'welcome'
	lab_check "mpa-nc counts" socket_said client 'sent 3 FPDUs'
}

nc_blocks() {
	head -c 300000 "$socket_bin/mpa-nc" > "$LAB_OUT/client.in"
	head -c 1001 "$socket_bin/mpa-nc" > "$LAB_OUT/server.in"
	nc_pair "blocks with Markers" 0 "-m -b 1000" "-m -b 0 -P"
	nc_same "blocks with Markers"
	lab_check "mpa-nc shows Markers" \
		socket_said client 'Markers sent: yes, received: yes'
	nc_pair "blocks of revision 2" 0 "-b 7 -r 2" "-b 1400 -r 2"
	nc_same "blocks of revision 2"
	lab_check "mpa-nc shows the revision" socket_said client 'revision 2'
}

nc_refused() {
	: > "$LAB_OUT/client.in"
	: > "$LAB_OUT/server.in"
	nc_pair rejected 3 "-x -d no" ""
	lab_check "mpa-nc shows the reason" socket_said client 'of the peer, 2 bytes: no'
	printf '%070000d\n' 1 > "$LAB_OUT/client.in"
	nc_pair "a line that is too long" 1 "" ""
	lab_check "mpa-nc reports it" socket_said client 'longer than the MULPDU'
	lab_is "mpa-nc, no listener" \
		"$(lab_status ip netns exec h1 "$socket_bin/mpa-nc" 10.77.0.2 7101)" 1
	lab_is "mpa-nc, no such host" \
		"$(lab_status "$socket_bin/mpa-nc" -w 1 nowhere.invalid 7101)" 1
	lab_is "mpa-nc, a wrong command line" \
		"$(lab_status "$socket_bin/mpa-nc" --nonsense)" 2
	lab_is "mpa-nc, a number that could be octal" \
		"$(lab_status "$socket_bin/mpa-nc" -r 01 10.77.0.2 7101)" 2
	lab_is "mpa-nc, a port and no host" "$(lab_status "$socket_bin/mpa-nc" 7101)" 2
}

# One server for several clients, one of which does not send its frame in time.
nc_kept() {
	local n
	lab_spawn server h2 "$socket_bin/mpa-nc" -v -l -k -c -w 10 7100
	lab_wait_listen h2 7100
	for n in 1 2; do
		lab_is "mpa-nc, kept open: client $n" "$(lab_status ip netns exec h1 \
			"$socket_bin/mpa-nc" -p -r 2 -n 10.77.0.2 7100)" 0
	done
	lab_spawn silent h1 bash -c 'exec 3<> /dev/tcp/10.77.0.2/7100; sleep 600'
	lab_check "mpa-nc, kept open: a silent client" \
		lab_wait 60 socket_said server 'nothing came from the peer in time'
	lab_is "mpa-nc, kept open: client 3" "$(lab_status ip netns exec h1 \
		"$socket_bin/mpa-nc" -P 10.77.0.2 7100)" 0
	lab_check "mpa-nc, kept open: still there" lab_running server
	lab_kill silent KILL
	lab_kill server
}

# Output that cannot be written is an error, also for a ULPDU longer than stdio's
# buffer, of which a later flush has no trace.
nc_output_fails() {
	local status=0
	lab_spawn server h2 bash -c 'exec "$1" -l -k 7100 < /dev/null > /dev/full' \
		- "$socket_bin/mpa-nc"
	lab_wait_listen h2 7100
	lab_spawn client h2 bash -c 'head -c 50000 /dev/zero | "$1" -b 0 10.77.0.2 7100' \
		- "$socket_bin/mpa-nc"
	lab_join server 30 || status=$?
	lab_is "mpa-nc, no room for its output: status" "$status" 1
	lab_check "mpa-nc, no room for its output: message" \
		socket_said server 'standard output: No space left on device'
	lab_join client 30 || true
}

# The peer has ended its direction, then resets the connection, and there is nothing
# to send yet.
nc_reset_while_idle() {
	local status=0 fifo
	# The directory of the run's files may not support this.
	fifo=$(mktemp -u)
	mkfifo "$fifo"
	lab_spawn server h2 bash -c 'exec "$1" -v -l 7100 <> "$2"' \
		- "$socket_bin/mpa-nc" "$fifo"
	lab_wait_listen h2 7100
	# A Responder must receive something before it may send.
	lab_spawn client h1 bash -c 'exec "$1" -v 10.77.0.2 7100 <<< first' \
		- "$socket_bin/mpa-nc"
	lab_wait 20 nc_half_closed
	kill -STOP "$(lab_pid client)"
	# Data that is unread when the client ends makes its kernel send a RST.
	echo unread > "$fifo"
	lab_wait 20 nc_unread
	lab_kill client KILL
	lab_join server 20 || status=$?
	lab_is "mpa-nc, reset while idle: status" "$status" 1
	lab_check "mpa-nc, reset while idle: message" socket_said server 'mpa-nc: send: '
	rm "$fifo"
}

nc_half_closed() {
	ip netns exec h1 ss -Htn state fin-wait-2 | grep -q ':7100'
}

nc_unread() {
	ip netns exec h1 ss -Htn state fin-wait-2 | awk '$1 > 0' | grep -q ':7100'
}

# A diagnostic that cannot be written is no error of its own. With standard error closed
# it does not go to the peer instead, which would not take it for a Request.
nc_errors_fail() {
	local status=0 errors
	for errors in '> /dev/full' '>&-'; do
		lab_is "mpa-nc 2$errors, no listener" "$(lab_status ip netns exec h1 \
			bash -c "exec \"\$1\" 10.77.0.2 7101 2$errors" - "$socket_bin/mpa-nc")" 1
	done
	lab_spawn server h2 "$socket_bin/mpa-nc" -l 7100
	lab_wait_listen h2 7100
	lab_is "mpa-nc 2>&-, verbose: client" "$(lab_status ip netns exec h1 \
		bash -c 'exec "$1" -v 10.77.0.2 7100 2>&-' - "$socket_bin/mpa-nc")" 0
	lab_join server 20 || status=$?
	lab_is "mpa-nc 2>&-, verbose: server" "$status" 0
	lab_is "mpa-nc --help > /dev/full" "$(lab_status \
		bash -c 'exec "$1" --help > /dev/full' - "$socket_bin/mpa-nc")" 1
}

# SIGCONT interrupts the client's wait for the Reply of a server that is stopped, too.
nc_stopped() {
	local status=0
	lab_spawn server h2 "$socket_bin/mpa-nc" -l -w 60 7100
	lab_wait_listen h2 7100
	kill -STOP "$(lab_pid server)"
	lab_spawn client h1 "$socket_bin/mpa-nc" -w 60 10.77.0.2 7100
	lab_check "mpa-nc waits for the Reply" lab_wait 20 nc_waits
	kill -STOP "$(lab_pid client)"
	lab_check "mpa-nc is stopped" lab_wait 20 nc_is_stopped
	kill -CONT "$(lab_pid client)"
	kill -CONT "$(lab_pid server)"
	lab_join client 20 || status=$?
	lab_is "mpa-nc, stopped during startup: client" "$status" 0
	status=0
	lab_join server 20 || status=$?
	lab_is "mpa-nc, stopped during startup: server" "$status" 0
}

nc_waits() {
	ip netns exec h1 "$socket_bin/mpactl" conn phase wait-reply | grep -q ':7100'
}

nc_is_stopped() {
	grep -q '^State:.*T (stopped)' "/proc/$(lab_pid client)/status"
}

# Without a descriptor for it no connection can be accepted, now or later. The first
# one has its descriptor: accept() allocates that before it waits.
nc_no_descriptor() {
	local status=0 pid lowest=0
	lab_spawn server h2 "$socket_bin/mpa-nc" -l -k 7100
	lab_wait_listen h2 7100
	pid=$(lab_pid server)
	while [[ -e /proc/$pid/fd/$lowest ]]; do
		((++lowest))
	done
	lab_do prlimit --pid "$pid" --nofile="$lowest"
	lab_is "mpa-nc, the last descriptor: client" "$(lab_status ip netns exec h1 \
		"$socket_bin/mpa-nc" -w 5 10.77.0.2 7100)" 0
	lab_join server 20 || status=$?
	lab_is "mpa-nc, no descriptor: status" "$status" 1
	lab_check "mpa-nc, no descriptor: message" \
		socket_said server 'accept: Too many open files'
}

lab_status() {
	local status=0
	timeout 30 "$@" > /dev/null 2>&1 < /dev/null || status=$?
	echo "$status"
}

# --- mpa-echo ------------------------------------------------------------------------

# echo_pair LABEL OPTIONS [CONNECTIONS]
echo_pair() {
	local label=$1 options n=${3:-2}
	read -r -a options <<< "$2"
	lab_spawn echod h2 "$socket_bin/mpa-echo" --server "${options[@]}" 7000
	lab_wait_listen h2 7000
	lab_spawn echo h1 bash -c \
		'for ((n = 0; n < $1; n++)); do echo connect 200; done | "${@:2}"' - "$n" \
		"$socket_bin/mpa-echo" --client --commands "${options[@]}" 10.77.0.2 7000
	lab_check "mpa-echo, $label" lab_join echo "$socket_limit"
	lab_is "mpa-echo, $label: connections" \
		"$(grep -c 'ended after 200 ULPDUs' "$LAB_OUT/echod.log")" "$n"
	lab_check "mpa-echo, $label: still there" lab_running echod
	lab_kill echod
}

# One server, and clients of both families at once.
echo_many() {
	local n address
	lab_spawn echod h2 "$socket_bin/mpa-echo" --server :: 7000
	lab_wait_listen h2 7000
	for n in {1..8}; do
		address=10.77.0.2
		((n % 2)) || address=fd77::2
		lab_spawn "echo$n" h1 "$socket_bin/mpa-echo" --client "$address" 7000
	done
	for n in {1..8}; do
		lab_check "mpa-echo: client $n of 8" lab_join "echo$n" "$socket_limit"
	done
	lab_kill echod
}

socket_tools() {
	nc_lines
	nc_blocks
	nc_refused
	nc_kept
	nc_output_fails
	nc_reset_while_idle
	nc_errors_fail
	nc_stopped
	nc_no_descriptor
	echo_pair plain ""
	echo_pair "revision 2 with Markers" "-m -2"
	echo_many
}

# --- the wire ----------------------------------------------------------------------------

# Applications do not send DDP, so tshark must not dissect it.
socket_wire() {
	capture_real_segments h1 h2
	capture_start socket h2
	echo_pair "captured" "" 3
	capture_check socket --opaque --aligned --connections 3 --seen 1000
	capture_start socket-markers h2
	echo_pair "captured with Markers" "-m" 3
	capture_check socket-markers --opaque --aligned --markers-from both --connections 3
}

# --- the module ---------------------------------------------------------------------------

# It stays as long as a socket does, can be unloaded then, and is loaded on demand.
socket_module() {
	lab_spawn echod h2 "$socket_bin/mpa-echo" --server 7000
	lab_wait_listen h2 7000
	lab_refuse "the module stays while a socket listens" modprobe -r mpa
	lab_spawn client h1 bash -c "exec $socket_bin/mpa-nc 10.77.0.2 7000 < <(sleep 600)"
	lab_wait 30 socket_said echod '1 operational'
	lab_kill echod KILL
	lab_refuse "the module stays while a socket is connected" modprobe -r mpa
	lab_kill client KILL
	lab_check "the module is unused" lab_wait 30 lab_gone lab_module_users mpa
	lab_check "the module can be unloaded" modprobe -r mpa
	lab_is "it is not loaded without privilege" \
		"$(lab_status setpriv --reuid=65534 --clear-groups \
			"$socket_bin/mpa-echo" --server 7001)" 1
	lab_refuse "it is not loaded" test -d /sys/module/mpa
	echo_pair "the module is loaded on demand" ""
}
