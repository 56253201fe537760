# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# One exchange between a server and a client for each program of rdma-core and
# perftest, checked on both sides. Servers run on host $2, clients on host $1, over
# IPv4 unless $family is ipv6.

. "$MPA_REPO/tests/integration/lib/counters.sh"
. "$MPA_REPO/tests/integration/lib/objects.sh"

family=ipv4
# Seconds within which any single exchange must be over.
traffic_limit=240

# traffic_address HOST: in the current family.
traffic_address() {
	"lab_$family" "$1"
}

# traffic_device HOST: the RDMA device there.
traffic_device() {
	echo "mpa${1#h}"
}

# log_lacks LOG PATTERN: true if no line of the log matches; shows those that do.
log_lacks() {
	local status=0
	grep -E -m 5 "$2" "$LAB_OUT/$1.log" || status=$?
	((status == 1))
}

# log_has LOG PATTERN
log_has() {
	grep -qE -m 1 "$2" "$LAB_OUT/$1.log" || {
		echo "$1.log has no line like: $2"
		return 1
	}
}

# traffic_lag HOST MILLISECONDS: delays what the host sends.
traffic_lag() {
	lab_do tc -n "$1" qdisc replace dev eth0 root netem delay "$2ms" limit 100000
}

# traffic_no_lag HOST...
traffic_no_lag() {
	local host
	for host in "$@"; do
		lab_do tc -n "$host" qdisc del dev eth0 root
	done
}

# traffic_pair LABEL PORT CLIENT SERVER -- SERVER_COMMAND... -- CLIENT_COMMAND...
# Runs both, waits for both, and prints a result line each. Logs are server.log
# and client.log of the latest pair. A client that fails with the words in
# $traffic_again gets another try, with counters marked again, and four times the server's
# $traffic_lag_ms.
traffic_pair() {
	local label=$1 port=$2 client=$3 server=$4 listening=() status tries=0
	shift 5
	while [[ $1 != -- ]]; do
		listening+=("$1")
		shift
	done
	shift
	while :; do
		lab_spawn server "$server" "${listening[@]}"
		if ! lab_wait_listen "$server" "$port" 60; then
			lab_not_ok "$label: server listens"
			lab_kill server KILL
			return 1
		fi
		lab_spawn client "$client" "$@"
		status=0
		lab_do lab_join client "$traffic_limit" || status=$?
		((status && ++tries < 3)) && [[ -n ${traffic_again:-} ]] &&
			log_has client "$traffic_again" || break
		lab_note "once more: the server was not listening"
		lab_kill server KILL
		traffic_lag "$server" $((traffic_lag_ms << 2 * tries))
		counters_mark
	done
	lab_is "$label: client" "$status" 0
	lab_check "$label: server" lab_join server "$traffic_limit"
}

# --- rping ------------------------------------------------------------------

# One ping of rping: the client announces its source, the server reads it and reports
# that, the client announces its sink, the server writes it and reports that.
# rping_counted LABEL CLIENT SERVER SIZE PINGS [CONNECTIONS]
rping_counted() {
	local bytes=$(($4 * $5)) pings=$5 sends=$((2 * $5))
	counters_grew "of $1" "$(traffic_device "$2")" \
		"conn_active=${6:-1}" "tx_send=$sends" "rx_send=$sends" \
		"rx_read_req=$pings" "tx_read_resp=$pings" "rx_write>=$pings" \
		"tx_bytes>=$bytes" "rx_bytes>=$bytes" \
		"$(traffic_device "$3")" \
		"conn_passive=${6:-1}" "tx_send=$sends" "rx_send=$sends" \
		"tx_read_req=$pings" "rx_read_resp=$pings" "tx_write>=$pings" \
		"tx_bytes>=$bytes" "rx_bytes>=$bytes"
}

# rping_good LOG: rping's exit status shows less than its output.
rping_good() {
	log_lacks "$1" 'mismatch|completion failed|error|ERROR|failed'
}

# rping_pair CLIENT SERVER SIZE PINGS: validated pings, asserted on both ends.
rping_pair() {
	local client=$1 server=$2 size=$3 pings=$4 address label
	address=$(traffic_address "$server")
	label="rping $client to $server $family${traffic_label:+ $traffic_label} size $size"
	counters_mark
	traffic_pair "$label" 7174 "$client" "$server" \
		-- rping -s -a "$address" -V -S "$size" -C "$pings" \
		-- rping -c -a "$address" -V -S "$size" -C "$pings" || return 0
	lab_check "$label: client's words" rping_good client
	lab_check "$label: server's words" rping_good server
	rping_counted "$label" "$client" "$server" "$size" "$pings"
}

counter_is() {
	(($(lab_counter "$1" "$2") == $3))
}

# rping_many CLIENT SERVER SIZE PINGS CLIENTS: one server, clients that join one
# after the other.
rping_many() {
	local client=$1 server=$2 size=$3 pings=$4 clients=$5 n address label
	local device before
	address=$(traffic_address "$server")
	label="persistent rping server"
	counters_mark
	device=$(traffic_device "$server")
	before=$(lab_counter "$device" conn_passive)
	lab_spawn server "$server" rping -s -P -a "$address" -V -S "$size"
	lab_check "$label listens" lab_wait_listen "$server" 7174 60
	for ((n = 1; n <= clients; n++)); do
		lab_spawn "client$n" "$client" \
			rping -c -a "$address" -V -S "$size" -C "$pings"
		# rping's server cannot handle two requests at once: it keeps the
		# latest in one variable.
		lab_wait 60 counter_is "$device" conn_passive $((before + n))
	done
	for ((n = 1; n <= clients; n++)); do
		lab_check "$label: client $n of $clients" \
			lab_join "client$n" "$traffic_limit"
		lab_check "$label: words of client $n" rping_good "client$n"
	done
	rping_counted "$clients clients" "$client" "$server" "$size" \
		$((clients * pings)) "$clients"
	lab_check "$label still runs" lab_running server
	lab_check "$label: server's words" rping_good server
	lab_kill server
	objects_gone "after the persistent server"
}

# --- ucmatose ---------------------------------------------------------------

# ucmatose_pair CLIENT SERVER CONNECTIONS MESSAGES SIZE
ucmatose_pair() {
	local client=$1 server=$2 address label side
	address=$(traffic_address "$server")
	label="ucmatose $family $3 connections"
	counters_mark
	traffic_pair "$label" 7471 "$client" "$server" \
		-- ucmatose -b "$address" -c "$3" -C "$4" -S "$5" \
		-- ucmatose -s "$address" -c "$3" -C "$4" -S "$5" || return 0
	for side in client server; do
		lab_check "$label: $side's words" log_has "$side" 'return status 0'
	done
	counters_grew "of $label" "$(traffic_device "$client")" \
		"conn_active=$3" "tx_send=$(($3 * $4))" "rx_send=$(($3 * $4))" \
		"$(traffic_device "$server")" \
		"conn_passive=$3" "tx_send=$(($3 * $4))" "rx_send=$(($3 * $4))"
}

# --- perftest ---------------------------------------------------------------

perf_port=18515
# Delay of the server's last message in milliseconds, see perf_pair.
perf_lag=100
perf_bad='with error|Failed|failed|Unable|Couldn.t|ERR|rror'

# perf_line LOG SIZE ITERATIONS: the line of figures is there. The figures do not
# matter: perftest cannot determine the clock rate on every machine.
perf_line() {
	log_has "$1" "^ *$2 +$3 +[^ ]" || {
		grep -A 3 '#bytes' "$LAB_OUT/$1.log"
		return 1
	}
}

# The messages of a run, by kind, and their payload; to both sides where BOTH
# is 1. Latency tests of sends and writes answer each message.
# perf_counted LABEL TOOL SIZE MESSAGES BOTH CLIENT SERVER
perf_counted() {
	local label=$1 tool=$2 bytes=$(($3 * $4)) messages=$4 both=$5
	local client server out in from to
	client=$(traffic_device "$6")
	server=$(traffic_device "$7")
	case $tool in
	ib_send_*)  out=tx_send in=rx_send from=$client to=$server ;;
	ib_write_*) out=tx_write in=rx_write from=$client to=$server ;;
	ib_read_*)  out=tx_read_resp in=rx_read_resp from=$server to=$client ;;
	ib_atomic_*)
		# The values are in headers.
		out=tx_atomic_resp in=rx_atomic_resp from=$server to=$client bytes=0
		;;
	esac
	set -- "$from" "$out>=$messages" "tx_bytes>=$bytes" \
		"$to" "$in>=$messages" "rx_bytes>=$bytes"
	if ((both)); then
		set -- "$@" "$from" "$in>=$messages" "rx_bytes>=$bytes" \
			"$to" "$out>=$messages" "tx_bytes>=$bytes"
	fi
	counters_grew "of $label" "$@"
}

# perf_pair CLIENT SERVER TOOL SIZE ITERATIONS [OPTION...]: by IPv4; options of perftest, of
# which -q N and -b are understood.
perf_pair() {
	local client=$1 server=$2 tool=$3 size=$4 iterations=$5 total=$5 both=0
	local options=("${@:6}") address label n command
	address=$(lab_ipv4 "$server")
	label="$tool size $size${options[*]:+ ${options[*]}}"
	for ((n = 0; n < ${#options[@]}; n++)); do
		case ${options[n]} in
		-q) total=$((iterations * options[n + 1])) ;;
		-b) both=1 ;;
		esac
	done
	if [[ $tool == *_lat && $tool != ib_@(read|atomic)_lat ]]; then
		both=1
	fi
	command=("$tool" -R -F -s "$size" -n "$iterations" -p "$perf_port"
		"${options[@]}")
	counters_mark
	# perftest's server listens again for its second connection, and on a busy
	# machine the client may connect earlier. Delaying the server's last message
	# makes that less likely.
	local traffic_again='RDMA_CM_EVENT_REJECTED; error: -111' traffic_lag_ms=$perf_lag
	traffic_lag "$server" "$perf_lag"
	traffic_pair "$label" "$perf_port" "$client" "$server" \
		-- "${command[@]}" -d "$(traffic_device "$server")" \
		-- "${command[@]}" -d "$(traffic_device "$client")" "$address" || {
		traffic_no_lag "$server"
		return 0
	}
	traffic_no_lag "$server"
	lab_check "$label: client's figures" perf_line client "$size" "$total"
	lab_check "$label: client's words" log_lacks client "$perf_bad"
	lab_check "$label: server's words" log_lacks server "$perf_bad"
	if [[ $tool != ib_@(read|atomic)_lat ]]; then
		lab_check "$label: server's figures" \
			perf_line server "$size" "$total"
	fi
	perf_counted "$label" "$tool" "$size" "$total" "$both" "$client" "$server"
}

# qperf_late_syn HOST: delays the SYNs that the host sends by two seconds.
qperf_late_syn() {
	lab_do tc -n "$1" qdisc replace dev eth0 root handle 1: prio bands 2 \
		priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
	lab_do tc -n "$1" qdisc add dev eth0 parent 1:2 netem delay 2s
	# The flags of TCP, behind a header of IP without options.
	lab_do tc -n "$1" filter add dev eth0 parent 1: protocol ip u32 \
		match ip protocol 6 0xff match u8 0x02 0x12 at 33 flowid 1:2
}

# qperf_pair CLIENT SERVER TEST: a test of qperf, by IPv4 and the connection manager. The
# server tells the client of the port before it listens on it, so the client's SYN is
# delayed. The process that serves it dies when it is over, since it destroys the queue
# pair of the listening identifier, which has none. The counters are the caller's.
qperf_pair() {
	local address label="qperf $3"
	address=$(lab_ipv4 "$2")
	lab_spawn server "$2" qperf
	lab_check "$label: server listens" lab_wait_listen "$2" 19765 60
	qperf_late_syn "$1"
	lab_spawn client "$1" qperf -cm 1 -t 1 -to 60 "$address" "$3"
	lab_check "$label: client" lab_join client "$traffic_limit"
	traffic_no_lag "$1"
	lab_kill server
	lab_check "$label: client's words" log_lacks client 'failed|rror|unexpected'
}

# --- streams over rsockets --------------------------------------------------

# A program that closes an rsocket frees the memory it receives into before the queue
# pair: the peer's last message may find none, and be answered with a Terminate.
stream_ends=("tx_terminate>=0" "rx_terminate>=0")

# rcopy_file CLIENT SERVER MEBIBYTES: a file of random bytes is copied unchanged.
rcopy_file() {
	local client=$1 server=$2 size=$3 address before after
	address=$(traffic_address "$server")
	lab_do head -c "${size}M" /dev/urandom > /tmp/rcopy.source
	rm -f /tmp/rcopy.target
	before=$(sha256sum < /tmp/rcopy.source)
	counters_mark
	# The server runs until killed; its exit status does not matter.
	lab_spawn server "$server" rcopy
	lab_check "rcopy server listens" lab_wait_listen "$server" 7427 60
	lab_spawn client "$client" \
		rcopy /tmp/rcopy.source "$address:/tmp/rcopy.target"
	lab_check "rcopy of $size MiB: client" lab_join client "$traffic_limit"
	lab_check "rcopy of $size MiB: everything arrived" \
		lab_wait 20 same_size /tmp/rcopy.source /tmp/rcopy.target
	after=$(sha256sum < /tmp/rcopy.target)
	lab_is "rcopy of $size MiB: checksum" "$after" "$before"
	lab_check "rcopy server still runs" lab_running server
	lab_kill server
	counters_grew "of rcopy" "$(traffic_device "$client")" \
		"tx_bytes>=$((size << 20))" "tx_write>=1" "${stream_ends[@]}" \
		"$(traffic_device "$server")" \
		"rx_bytes>=$((size << 20))" "rx_write>=1" "${stream_ends[@]}"
	rm -f /tmp/rcopy.source /tmp/rcopy.target
}

same_size() {
	[[ $(stat -c %s "$1") == $(stat -c %s "$2") ]]
}

# stream_pair PROGRAM CLIENT SERVER SIZE TRANSFERS ITERATIONS MODES: rstream or
# riostream with verification; TRANSFERS 1 is ping-pong, more is a stream. MODES
# are the client's and the server's: a (poll), b (blocking) or n (nonblocking).
# With a, these clients take the server's regular end for an error when they see it
# together with the last data, so only servers get it.
stream_pair() {
	local program=$1 client=$2 server=$3 address label
	local figures=(-S "$4" -C "$5" -I "$6" -T v)
	address=$(traffic_address "$server")
	label="$program $family size $4, $5 at a time, modes $7"
	counters_mark
	traffic_pair "$label" 7471 "$client" "$server" \
		-- "$program" -b "$address" "${figures[@]}" -T "${7#?}" \
		-- "$program" -s "$address" "${figures[@]}" -T "${7%?}" || return 0
	lab_check "$label: client's words" log_lacks client 'failed|rror'
	lab_check "$label: server's words" log_lacks server 'failed|rror'
	lab_check "$label: client's figures" \
		log_has client "^[^ ]+ +[0-9.]+[kmg]? +$5 +$6 .*[0-9]s "
	counters_grew "of $label" "$(traffic_device "$client")" \
		"tx_write>=$6" "tx_bytes>=$(($4 * $5 * $6))" \
		"rx_bytes>=$(($4 * $5 * $6))" "${stream_ends[@]}" \
		"$(traffic_device "$server")" "${stream_ends[@]}"
}
