# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# mpactl probe, and checks of its JSON.

# probe_status HOST ARGUMENT...: runs it there without any privilege, keeps its
# output in $LAB_OUT/probe.json and prints the exit status.
probe_status() {
	local host=$1 status=0
	shift
	ip netns exec "$host" setpriv --reuid=65534 --regid=65534 --clear-groups \
		--bounding-set=-all timeout 30 "$MPA_REPO/build/bin/mpactl" -j \
		probe "$@" > "$LAB_OUT/probe.json" 2> "$LAB_OUT/probe.err" ||
		status=$?
	echo "$status"
}

# probe_said EXPRESSION: in Python, on the report r, its last attempt a and the reply
# of that attempt.
probe_said() {
	"$PYTHON" -c 'import json, sys
r = json.load(open(sys.argv[1]))
a = r["attempts"][-1] if r["attempts"] else {}
sys.exit(not eval(f"({sys.argv[2]})", {"r": r, "a": a, "reply": a.get("reply", {})}))' \
		"$LAB_OUT/probe.json" "$1"
}

# probe_case LABEL STATUS EXPRESSION ARGUMENT...: from h1.
probe_case() {
	local label=$1 status=$2 expression=$3
	shift 3
	lab_is "probe, $label: status" "$(probe_status h1 "$@")" "$status"
	if probe_said "$expression"; then
		lab_ok "probe, $label: words"
	else
		lab_not_ok "probe, $label: words" \
			"$(cat "$LAB_OUT/probe.json" "$LAB_OUT/probe.err")"
	fi
}
