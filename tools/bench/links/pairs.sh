# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# The hosts of hosts.sh, and pairs of programs that each have a processor.
. "$MPA_REPO/tools/bench/links/hosts.sh"

pairs_program=$MPA_REPO/build/bin/mpa-bench

# pairs_serve PROCESSOR ADDRESS PORT
pairs_serve() {
	lab_spawn "pair$1" h2 taskset -c "$1" "$pairs_program" server "$2" \
		--port "$3" --once --quiet --timeout "$LAB_BENCH_LIMIT"
	lab_wait_listen h2 "$3"
}

# pairs_run ADDRESS PORT PROCESSORS ARGUMENT...: the results of as many pairs at the same
# time, as elements of a list.
pairs_run() {
	local cpu clients=() status=0
	for ((cpu = 0; cpu < $3; cpu++)); do
		pairs_serve "$cpu" "$1" "$(($2 + cpu))" >&2
	done
	for ((cpu = 0; cpu < $3; cpu++)); do
		ip netns exec h1 timeout "$LAB_BENCH_LIMIT" taskset -c "$cpu" \
			"$pairs_program" "${@:4}" "$1" --port "$(($2 + cpu))" \
			> "/tmp/pair$cpu" &
		clients+=($!)
	done
	for ((cpu = 0; cpu < $3; cpu++)); do
		wait "${clients[cpu]}" && lab_join "pair$cpu" >&2 || status=1
		((!cpu)) || echo ,
		cat "/tmp/pair$cpu"
	done
	return $status
}

# on_pairs ADDRESS PORT ARGUMENT...: a pair on one processor, then one on each of two.
on_pairs() {
	echo '{"one": ['
	pairs_run "$1" "$2" 1 "${@:3}" || return
	echo '], "two": ['
	pairs_run "$1" "$(($2 + 1))" 2 "${@:3}" || return
	echo ']}'
}
