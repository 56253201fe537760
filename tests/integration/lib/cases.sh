# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Cases written in Python, each a separate check, all run by one interpreter.

# cases_open FILE SECONDS: the file with the cases, and the time limit of each.
cases_open() {
	coproc CASES { exec "$PYTHON" "$1" --serve "$2"; }
}

# Ends the interpreter, so that another file can be opened.
cases_close() {
	local pid=$CASES_PID input=${CASES[1]}
	exec {input}>&-
	wait "$pid"
}

# cases_ask WORD ARGUMENT: sets cases_answer.
cases_ask() {
	echo "$*" >&"${CASES[1]}"
	read -r cases_answer <&"${CASES[0]}"
}

# case_run NAME: returns the exit status of the case.
case_run() {
	cases_ask run "$1" || return 125
	return "$cases_answer"
}

# cases_run PREFIX: every case whose name begins with it.
cases_run() {
	local name
	cases_ask list "$1"
	lab_true "there are cases of $1" "${#cases_answer} > 0"
	for name in $cases_answer; do
		lab_check "$name" case_run "$name"
	done
}
