# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Senders that are disturbed. While one is delayed (mpa_hold), its region is
# invalidated by another QP: nothing written there afterwards may be sent. Or its
# peer ends by RST: messages that arrived completely before are received. A sender
# that finds no memory (mpa_starve) tries again, after longer and longer times. So do
# Reads for which the queue of either side cannot grow.
. "$MPA_REPO/tests/integration/lib/consumer.sh"

held_program=$MPA_REPO/build/bin/held

# held_invalidation NAME OPERATION BYTES COUNTED...: more than 1 KiB, since up to that a
# Send is copied while its region is locked.
held_invalidation() {
	counters_mark
	lab_check "invalidation $1: no stale byte is sent" \
		lab_in h1 timeout 120 "$held_program" 10.77.0.1 7600 "$2" "$3"
	counters_grew "invalidation $1" mpa1 tx_terminate=1 rx_terminate=1 "${@:4}"
}

# held_reset BYTES: of the request that is delayed.
held_reset() {
	counters_mark
	lab_check "RST while $1 bytes are sent: complete messages are received" \
		lab_in h1 timeout 120 "$held_program" 10.77.0.1 7600 reset "$1"
	counters_grew "RST while $1 bytes are sent" mpa1 conn_reset=1 rx_send=8
}

held_has() {
	[[ $(< "$1") == "$2" ]]
}

# held_kernel NAME: what a kernel consumer has registered is copied under a lock that
# invalidation waits for, where no sender can be delayed. One that is delayed before it
# takes the lock, until the region is invalid, sends nothing.
held_kernel() {
	local hold=/sys/module/mpa_hold/parameters
	echo 1 > "$hold/armed"
	kernel_consumer "$1"
	lab_is "no sender copied without the lock, $1" "$(< "$hold/armed")" 1
	echo 2 > "$hold/armed"
	counters_mark
	lab_spawn consumer h1 modprobe mpa_extended address=10.77.0.1 invalidate=1
	lab_check "a sender is before the lock, $1" lab_wait 30 held_has "$hold/held" 1
	echo 1 > "$consumer_parameters/invalidate"
	lab_check "the region is invalid, $1" \
		lab_wait 30 held_has "$consumer_parameters/invalidate" 0
	echo 1 > "$hold/pass"
	lab_check "the consumer ends, $1" lab_join consumer 60
	lab_is "the Read was refused, $1" "$(< "$consumer_parameters/result")" ok
	lab_do modprobe -r mpa_extended
	counters_grew "of a Read that was refused, $1" mpa1 tx_read_req=1 tx_read_resp=0 \
		tx_terminate=1 rx_terminate=1 rx_rdmap_error=1
}

# held_starved: there is no memory for three seconds. A queue pair tries again after
# 4 ms, and after twice as long each time, up to half a second.
held_starved() {
	local parameters=/sys/module/mpa_starve/parameters attempts
	lab_check "senders can be starved" modprobe mpa_starve
	lab_spawn server h2 rping -s -a 10.77.0.2 -p 7601 -V -S 4096
	lab_check "starved: the server listens" lab_wait_listen h2 7601
	counters_mark
	lab_spawn client h1 rping -c -a 10.77.0.2 -p 7601 -V -S 4096
	lab_check "starved: traffic before" \
		lab_wait 60 counters_hold mpa1 "rx_send>=5" "tx_send>=5"
	echo 1 > "$parameters/on"
	sleep 3
	attempts=$(< "$parameters/attempts")
	lab_true "starved: tries again with pauses ($attempts attempts)" \
		"$attempts >= 6 && $attempts <= 40"
	echo 0 > "$parameters/on"
	counters_mark
	lab_check "starved: traffic continues" \
		lab_wait 60 counters_hold mpa1 "rx_send>=5" "tx_send>=5"
	lab_kill client
	lab_kill server
	lab_check "senders are no longer starved" modprobe -r mpa_starve
}

# held_reads NAME EXPECTED: 64 Reads at a time, posted together, 2048 in all; EXPECTED is a
# condition on how many calls of both queues, of local Reads and of the peer's, found no
# memory.
held_reads() {
	local bench=$MPA_REPO/build/bin/mpa-bench out in before_out before_in
	local attempts=/sys/module/mpa_starve/parameters/reads_attempts
	IFS=, read -r before_out before_in < "$attempts"
	lab_spawn server h2 "$bench" server --port 7602
	lab_check "Reads, $1: the server listens" lab_wait_listen h2 7602
	counters_mark
	lab_check "Reads, $1: all are complete" lab_in h1 timeout 120 "$bench" read \
		--port 7602 --size 512 --depth 64 --list 64 --count 2048 \
		--warm-up-count 0 --verify 10.77.0.2
	counters_grew "Reads, $1" mpa1 "tx_read_req>=2048" "rx_read_resp>=2048"
	IFS=, read -r out in < "$attempts"
	((out -= before_out, in -= before_in)) || true
	lab_true "Reads, $1: $out and $in times without memory" "$2"
	lab_kill server
}

# held_starved_reads: the queues cannot grow, and hold the few that need no memory;
# then they can.
held_starved_reads() {
	local reads=/sys/module/mpa_starve/parameters/reads
	lab_check "queues of Reads can be starved" modprobe mpa_starve
	echo 1 > "$reads"
	held_reads "without memory" "out > 0 && in > 0"
	echo 0 > "$reads"
	held_reads "with memory" "out == 0 && in == 0"
	lab_check "queues of Reads are no longer starved" modprobe -r mpa_starve
}

# held_all: the FPDUs of the invalidated region are copied to pages, or gathered,
# since segments are longer than these; with CRCs and without.
held_all() {
	local mtu crc
	lab_check "a sender can be delayed" modprobe mpa_hold
	for mtu in 1500 65536; do
		lab_do ip -n h1 link set lo mtu "$mtu"
		held_kernel "MTU $mtu"
		for crc in required off; do
			device_set crc "$crc" mpa1
			held_invalidation "of a long Send, MTU $mtu, crc $crc" send 65536
			held_invalidation "of a short Send, MTU $mtu, crc $crc" send 1200
			held_invalidation "of a Read Response, MTU $mtu, crc $crc" \
				read 65536 rx_rdmap_error=1
		done
	done
	device_set crc inherit mpa1
	held_reset 1200
	held_reset 65536
	lab_check "senders are no longer delayed" modprobe -r mpa_hold
	held_starved
	held_starved_reads
}
