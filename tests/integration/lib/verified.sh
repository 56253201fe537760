# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034 # lab_jobs is the library's
#
# Data that fio writes to a disk or a file system of ours, reads back and compares, also
# while something happens to what lies in between. A script that sources this sets
#
#	verified_where	arguments of fio: where it writes
#	verified_while	a device and the counter that shows that data moves
#
# and calls the functions by lab_check: nothing but && ends them early.

verified_where=()
verified_while=()

# verified NAME ARGUMENT...: fio writes, reads and compares; what it says is in a log.
verified() {
	fio --name="$1" "${verified_where[@]}" --verify=crc32c --verify_fatal=1 \
		--do_verify=1 --verify_state_save=0 --minimal "${@:2}" \
		> "$LAB_OUT/$1.log" 2>&1 && verified_all "$1"
}

# verified_all NAME: it read at least what it wrote. With a limit of time, fio spends it on
# writing, compares nothing and says that all went well.
verified_all() {
	awk -F ';' '/^3;/ { good = $47 > 0 && $6 >= $47 } END { exit !good }' \
		"$LAB_OUT/$1.log"
}

# verified_same DIRECTORY DIRECTORY NAME...: both have the same files of these names.
verified_same() {
	local name
	for name in "${@:3}"; do
		cmp "$1/$name" "$2/$name" || return
	done
}

# verified_tree DIRECTORY MOUNTED: a copy of a tree of files, and what diff says of it when
# nothing of it is cached.
verified_tree() {
	cp -r "$1" "$2/tree" &&
		sync && echo 3 > /proc/sys/vm/drop_caches &&
		diff -r --exclude '*.o' "$1" "$2/tree" && rm -r "$2/tree"
}

# loaded NAME FUNCTION ARGUMENT...: that function runs while blocks are written in any
# order, for some seconds, before all are compared. It does not wait for their end.
loaded() {
	local before
	before=$(lab_counter "${verified_while[@]}")
	verified "$1" --rw=randwrite --bsrange=4k-64k --direct=1 --size=6M --rate=,1000k \
		"${@:3}" &
	lab_jobs[$1]=$!
	lab_wait 30 verified_moves "$before" && "$2"
}

# disturbed NAME FUNCTION ARGUMENT...: the same, and nothing is lost.
disturbed() {
	loaded "$@" && lab_join "$1" 180
}

# verified_moves NUMBER: the counter is above it.
verified_moves() {
	(($(lab_counter "${verified_while[@]}") > $1))
}
