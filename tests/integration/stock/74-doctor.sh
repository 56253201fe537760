#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# mpactl doctor finds nothing on a healthy host, then one fault after the other, each
# by its name, with the remedy, and nothing that only follows from it. Arguments
# choose parts: rationed, user_space, device_nodes, links, network, settings,
# devices.
. "$MPA_REPO/tests/lab/guest/lib.sh"

bin=$MPA_REPO/build/bin
release=$(uname -r)
providers=$(dirname "$(readlink -f /usr/lib/*-linux-gnu/libibverbs.so.1)")/libibverbs
# With the PATH that Debian's login gives a user.
user=(setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all
	env PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games)

# Reads names of files with the doctor's JSON and prints what is not good in each:
# one interpreter for all of them.
coproc FINDINGS { exec "$PYTHON" -u -c 'import json, sys
for name in sys.stdin:
    try:
        checks = json.load(open(name.strip()))["checks"]
        print(*(one["id"] + ":" + one["status"]
                for one in checks if one["status"] in ("warn", "fail")))
    except (ValueError, LookupError, OSError) as error:
        print("no findings:", repr(error))'; }
# A subshell has no access to a coprocess, only to these descriptors.
exec {findings_ask}>&"${FINDINGS[1]}" {findings_answer}<&"${FINDINGS[0]}"

# doctor_says STATUS HOST PREFIX... -- ARGUMENT...: runs it there, keeps its output
# in $LAB_OUT/doctor.json and prints its findings.
doctor_says() {
	local wanted=$1 host=$2 status=0 prefix=() said
	shift 2
	while [[ $1 != -- ]]; do
		prefix+=("$1")
		shift
	done
	shift
	ip netns exec "$host" "${prefix[@]}" timeout 60 "$bin/mpactl" -j doctor "$@" \
		> "$LAB_OUT/doctor.json" 2> "$LAB_OUT/doctor.err" || status=$?
	((status == wanted)) || echo "exit status $status"
	echo "$LAB_OUT/doctor.json" >&"$findings_ask"
	read -r said <&"$findings_answer" || said="no answer"
	echo "$said"
}

# All optional checks, in h1.
all=(--port 7174 --peer friend)

# healthy LABEL [PREFIX...]
healthy() {
	local label=$1
	shift
	lab_is "$label" "$(doctor_says 0 h1 "$@" -- "${all[@]}")" ""
}

# finds LABEL FINDING REMEDY [PREFIX...]: in $where, with ${all[@]}.
where=h1
finds() {
	local label=$1 finding=$2 remedy=$3
	shift 3
	lab_is "$label" "$(doctor_says 1 "$where" "$@" -- "${all[@]}")" "$finding"
	if grep -qF -- "$remedy" "$LAB_OUT/doctor.json"; then
		lab_ok "$label: remedy"
	else
		lab_not_ok "$label: remedy" "$(cat "$LAB_OUT/doctor.json")"
	fi
}

# Whether the last run had the programs that it uses. All are installed here.
finds_all_programs() {
	! grep -e 'not installed' -e 'modinfo shows no information' "$LAB_OUT/doctor.json"
}

# hosts_file LINE...: /etc/hosts of h1.
hosts_file() {
	mkdir -p /etc/netns/h1
	printf '%s\n' '127.0.0.1 localhost' "$@" > /etc/netns/h1/hosts
}

usual_hosts() {
	hosts_file "10.77.0.1 $(uname -n)" '10.77.0.2 friend' '10.99.0.2 stranger'
}

install_provider() {
	unset IBV_DRIVERS
	install -D -m 644 "$MPA_REPO"/build/lib/libmpa-rdmav*.so -t "$providers"
	install -D -m 644 "$MPA_REPO/userspace/provider/mpa.driver" \
		-t /etc/libibverbs.d
}

# --- faults ---------------------------------------------------------------------------

user_space() {
	local library
	library=$(echo "$providers"/libmpa-rdmav*.so)
	mv "$library" /run/away.so
	finds "provider missing" provider:fail install-provider
	cp /run/away.so "$providers/libmpa-rdmav99.so"
	finds "provider for another rdma-core" provider:fail 'private ABI 99'
	rm "$providers/libmpa-rdmav99.so"
	mv /run/away.so "$library"

	lab_do mv /etc/libibverbs.d/mpa.driver /run
	finds "driver file missing" driver-file:fail '/etc/libibverbs.d/mpa.driver'
	lab_do mv /run/mpa.driver /etc/libibverbs.d

	finds "no memory may be locked" memlock:fail 'ulimit -l unlimited' \
		bash -c 'ulimit -l 0; exec "$@"' - "${user[@]}"
}

# A host that sends many datagrams to closed ports, as the doctor does if it runs
# often, gets six answers at once, then one a second. Missing answers are not
# reported as a fault.
rationed() {
	local taken
	for taken in 4 5 6; do
		lab_in h1 bash -c \
			'for ((n = 0; n < $1; n++)); do echo > /dev/udp/10.77.0.2/33435; done' \
			- "$taken"
		healthy "$taken answers taken"
	done
}

device_nodes() {
	local node=/dev/infiniband/uverbs0
	lab_do chmod 600 "$node"
	finds "uverbs node not permitted" uverbs-node:fail "chmod 666 $node" \
		"${user[@]}"
	lab_do chmod 666 "$node"
	lab_do mv /dev/infiniband/rdma_cm /dev/infiniband/away
	finds "rdma_cm node missing" rdma-cm-node:fail devtmpfs
	lab_do mv /dev/infiniband/away /dev/infiniband/rdma_cm
	lab_do modprobe -r rdma_ucm
	finds "rdma_ucm not loaded" rdma-ucm:fail 'modprobe rdma_ucm'
	lab_do modprobe rdma_ucm
}

# The kernel reports the loss of the carrier up to a second later, and its return
# too.
no_carrier() {
	ip -n h1 link show eth0 | grep -q NO-CARRIER
}

carrier() {
	! no_carrier
}

links() {
	lab_in h1 ip link set eth0 down
	finds "network device down" netdev:fail 'ip link set eth0 up'
	lab_in h1 ip link set eth0 up
	lab_in h2 ip link set eth0 down
	lab_wait 20 no_carrier
	finds "no carrier" netdev:fail 'has no carrier'
	lab_in h2 ip link set eth0 up
	lab_wait 20 carrier
	lab_wait 20 lab_reachable h1 10.77.0.2

	lab_in h1 ip address flush dev eth0
	finds "no address" address:fail 'ip address add ADDRESS/LENGTH dev eth0'
	lab_in h1 ip address add 10.77.0.1/24 dev eth0

	lab_in h1 ip link set eth0 mtu 100
	finds "MTU of 100" mtu:fail 'ip link set eth0 mtu 1500'
	lab_in h1 ip link set eth0 mtu 1500
	lab_in h2 ip link set eth0 mtu 1400
	finds "MTU of the other end" path-mtu:fail 'the same MTU'
	lab_in h2 ip link set eth0 mtu 1500
}

network() {
	lab_in h1 nft -f - <<- END
		table inet lab {
			chain in {
				type filter hook input priority 0; policy accept;
				ct state established accept
				tcp dport 7000-7999 drop
			}
		}
	END
	finds "packets dropped" firewall:fail 'dport 7174 accept'
	lab_check "the rule is named" grep -q 'rule 2 of table inet lab, chain in' \
		"$LAB_OUT/doctor.json"
	finds "packets dropped, seen by who may not see rules" firewall:fail \
		'local address 10.77.0.1' "${user[@]}"
	lab_in h1 nft delete table inet lab

	lab_spawn taker h1 "$PYTHON" -u \
		"$MPA_REPO/tests/integration/lib/services.py" 0.0.0.0 7174 echo
	lab_wait_listen h1 7174
	finds "port taken" port:fail "ss -ltnp 'sport = :7174'"
	lab_kill taker

	hosts_file "127.0.1.1 $(uname -n)" '10.77.0.2 friend'
	finds "name of loopback" host-name:warn "in /etc/hosts: 10.77.0.1"
	usual_hosts

	lab_in h1 ip link add dummy0 type dummy
	lab_in h1 ip address add 10.99.0.1/24 dev dummy0
	lab_in h1 ip link set dummy0 up
	all=(--peer stranger)
	finds "peer behind a network device without RDMA" peer:fail 'netdev dummy0'
	all=(--peer nobody.invalid)
	finds "peer without an address" peer:fail 'in /etc/hosts: ADDRESS'
	all=(--port 7174 --peer friend)
	lab_in h1 ip link delete dummy0
}

settings() {
	lab_in h1 "$bin/mpactl" set dev mpa1 revision 2
	finds "revision 2 only" settings:warn 'mpactl set dev mpa1 revision inherit'
	lab_in h1 "$bin/mpactl" set dev mpa1 revision inherit
	lab_in h1 "$bin/mpactl" set half-open-max 1
	finds "one half open peer at a time" settings:warn \
		'mpactl set half-open-max inherit'
	lab_in h1 "$bin/mpactl" set half-open-max inherit
}

devices() {
	where=h2 all=()
	finds "device of another namespace" netns:fail 'ip netns exec'
	where=h1 all=(--port 7174 --peer friend)
	lab_unlink mpa1
	finds "no device" device:fail 'rdma link add mpa0 type mpa netdev eth0'
	lab_do modprobe -r mpa_rnic
	finds "module not loaded" module-loaded:fail 'modprobe mpa_rnic'
	finds "module not loaded, to a user" module-loaded:fail 'modprobe mpa_rnic' \
		"${user[@]}"
	lab_check "a user has modinfo" finds_all_programs
	lab_do modprobe -r mpa
	mv "/usr/lib/modules/$release/extra" /run/extra
	lab_do depmod
	finds "modules not installed" module-files:fail \
		"if they are installed: depmod $release"
	mv /run/extra "/usr/lib/modules/$release/extra"
	lab_do depmod
	lab_link h1
}

# Needed by 90-install as well: /usr/lib/modules may be a mount.
modules_writable() {
	local layer=/run/writable modules=/usr/lib/modules/$release
	mkdir -p "$layer/upper" "$layer/work"
	lab_do mount -t overlay -o \
		"lowerdir=$modules,upperdir=$layer/upper,workdir=$layer/work" \
		overlay "$modules"
}

# This machine may have linux-mpa as packages. Remedies would name them.
lab_do mount -t tmpfs none /usr/share/doc
modules_writable
install_provider
usual_hosts
lab_hosts 2
lab_link h1
healthy "a healthy host"
healthy "a healthy host, to a user" "${user[@]}"
lab_check "it reports what a user may not see" \
	grep -q 'rules are unknown: nft is not permitted' "$LAB_OUT/doctor.json"
lab_check "a user has nft" finds_all_programs
(($#)) || set -- rationed user_space device_nodes links network settings devices
for part; do
	"$part"
done
healthy "all is well again"
