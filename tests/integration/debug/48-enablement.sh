#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Section 8 of draft-elzur-iwarp-mpa-tcp-analysis-00: an end that uses MPA is connected to
# one that does not. Services of Debian get three kinds of first bytes: a Marker of zeros
# and an FPDU, as the draft assumes; a Request; a Start Key. A line says what became of
# it, and the service must serve its next client. Then clients of services connect to our
# Responder. Arguments choose services, and half for the Responder.
# lab run --no-kmemleak
# lab run --package openbsd-inetd@bookworm --package xinetd@bookworm
# lab run --package libwrap0@bookworm --package fingerd@bookworm
# lab run --package finger@bookworm
# lab run --package dropbear-bin@bookworm --package libtomcrypt1@bookworm
# lab run --package libtommath1@bookworm --package vsftpd@bookworm
# lab run --package nginx@bookworm --package dnsmasq-base@bookworm
# lab run --package libnetfilter-conntrack3@bookworm --package libnfnetlink0@bookworm
# lab run --package tgt@bookworm --package microsocks@bookworm --package bird2@bookworm
# lab run --package dovecot-core@bookworm --package dovecot-imapd@bookworm
# lab run --package dovecot-pop3d@bookworm --package libsodium23@bookworm
# lab run --package leafnode@bookworm --package kamailio@bookworm
# lab run --package slapd@bookworm --package libltdl7@bookworm
# lab run --package fortune-mod@bookworm --package fortunes-min@bookworm
# lab run --package librecode0@bookworm --package gwhois@bookworm
# lab run --package libnet-libidn-perl@bookworm --package libidn12@bookworm
# lab run --package libwww-perl@bookworm --package liburi-perl@bookworm
# lab run --package libhttp-message-perl@bookworm --package libhttp-date-perl@bookworm
# lab run --package libencode-locale-perl@bookworm --package libclone-perl@bookworm
# lab run --package libtry-tiny-perl@bookworm --package liblwp-mediatypes-perl@bookworm
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/settings.sh"

ends=$MPA_REPO/tests/integration/lib/enablement.py
host=10.77.0.2
# Nothing of a service is kept.
place=/tmp/services

IFS=: read -ra packages <<< "$LAB_PACKAGE"
for package in "${packages[@]}"; do
	PATH+=":$package/usr/sbin:$package/usr/bin:$package/usr/games"
	LD_LIBRARY_PATH+="${LD_LIBRARY_PATH:+:}$package/usr/lib/x86_64-linux-gnu:$package/lib/x86_64-linux-gnu"
	PERL5LIB+="${PERL5LIB:+:}$package/usr/share/perl5"
	PERL5LIB+=":$package/usr/lib/x86_64-linux-gnu/perl5/5.36"
done
export LD_LIBRARY_PATH PERL5LIB

# packaged FILE: its path in the package that has it.
packaged() {
	local package
	for package in "${packages[@]}"; do
		[[ -e $package/$1 ]] && echo "$package/$1" && return
	done
	return 1
}

# serve NAME PORT COMMAND...: in h2.
serve() {
	lab_spawn "$1" h2 "${@:3}"
	lab_check "$1 listens" lab_wait_listen h2 "$2" 60
}

# first NAME KIND PORT WANTED [dns]: WANTED is a regular expression.
first() {
	local got
	got=$(ip netns exec h1 "$PYTHON" "$ends" client "$2" "$host" "$3" "${@:5}") ||
		got="no result"
	lab_note "$1, $2: expected $4, measured: $got"
	lab_check "ELZ-8: $1, $2" grep -qxE "$4" <<< "$got"
}

# meet PROGRAM SERVICE PORT BARE REQUEST KEY: the outcomes, in this order, and a client that
# the service expects after each.
meet() {
	local kind name=$2
	local -A wanted=([bare]=$4 [request]=$5 [key]=$6)
	[[ $1 == "$2" ]] || name="$2 of $1"
	for kind in bare request key; do
		first "$name" "$kind" "$3" "${wanted[$kind]}" "$2"
		lab_check "ELZ-8: $name serves its next client after $kind" lab_wait 20 \
			ip netns exec h1 "$PYTHON" "$ends" next "$2" "$host" "$3"
	done
	lab_check "$name: $1 still runs" lab_running "$1"
}

# A banner, or another answer that is no MPA; a service that closes or stays silent.
wrong=EPROTO
# It sends and closes at once: its reset may overtake what it has sent.
brief='EPROTO|ECONNRESET'
closed='closed|ECONNRESET|EPIPE'
timer=ETIMEDOUT

# --- the little services -----------------------------------------------------------------

# With these the service sends what it likes, whatever it gets.
service_inetd() {
	cat > "$place/inetd.conf" <<- END
		echo stream tcp nowait root internal
		discard stream tcp nowait root internal
		chargen stream tcp nowait root internal
		daytime stream tcp nowait root internal
		time stream tcp nowait root internal
		finger stream tcp nowait root $(type -P in.fingerd) in.fingerd -p $(type -P finger)
	END
	serve inetd 7 inetd -i -R 100000 "$place/inetd.conf"
	# "Fri Nov 27 ..."
	meet inetd daytime 13 "bad Marker" "$brief" "$brief"
	meet inetd time 37 "bad Marker" "$brief" "$brief"
	meet inetd echo 7 "good FPDUs" EALREADY 'operates, receives .*GET /.*'
	# It reads a line first.
	meet inetd finger 79 silence "$timer" "$timer"
	lab_kill inetd
}

service_xinetd() {
	local name
	for name in echo discard chargen daytime time; do
		cat <<- END
			service $name
			{
				type = INTERNAL
				id = $name-stream
				socket_type = stream
				protocol = tcp
				user = root
				wait = no
				cps = 10000 1
			}
		END
	done > "$place/xinetd.conf"
	serve xinetd 7 xinetd -dontfork -f "$place/xinetd.conf" -pidfile "$place/xinetd.pid"
	meet xinetd echo 7 "good FPDUs" EALREADY 'operates, receives .*GET /.*'
	meet xinetd discard 9 silence "$timer" "$timer"
	meet xinetd chargen 19 "bad Marker" "$wrong" "$wrong"
	meet xinetd daytime 13 "bad Marker" "$brief" "$brief"
	meet xinetd time 37 "bad Marker" "$brief" "$brief"
	lab_kill xinetd
}

# xinetd_program NAME PORT USER COMMAND [ARGUMENT...]: an entry for xinetd.
xinetd_program() {
	cat <<- END
		service $1
		{
			type = UNLISTED
			port = $2
			user = $3
			server = $(type -P "$4")
			${5+server_args = ${*:5}}
			socket_type = stream
			protocol = tcp
			wait = no
			cps = 10000 1
		}
	END
}

# Servers that xinetd starts for each client. fortune is the usual service of quotes.
service_programs() {
	mkdir -p /etc/news/leafnode /var/spool/news/{leaf.node,message.id,out.going}
	mkdir -p /var/spool/news/{failed.postings,interesting.groups,temp.files}
	printf '%s\n' 'server = 127.0.0.1' 'expire = 20' 'hostname = news.home.arpa' \
		'allowstrangers = 42' > /etc/news/leafnode/config
	chown -R news:news /var/spool/news
	chown -R root:news /etc/news/leafnode
	{
		xinetd_program quote 17 nobody fortune \
			"$(packaged usr/share/games/fortunes/literature)"
		xinetd_program nntp 119 news leafnode
		xinetd_program whois 43 nobody gwhois -C "$(packaged etc/gwhois)"
	} > "$place/programs.conf"
	serve programs 119 xinetd -dontfork -f "$place/programs.conf" \
		-pidfile "$place/programs.pid"
	meet programs quote 17 "bad Marker" "$brief" "$brief"
	meet programs nntp 119 "bad Marker" "$wrong" "$wrong"
	# It reads a line first.
	meet programs whois 43 silence "$timer" "$timer"
	lab_kill programs
}

# A server that begins with "M": nothing is wrong with that alone.
service_monday() {
	serve monday 7310 "$PYTHON" "$ends" speaker 7310 4d
	first "the byte of a Monday" request 7310 "$timer"
	first "the byte of a Monday" key 7310 "$timer"
	lab_kill monday
	serve monday 7311 "$PYTHON" "$ends" speaker 7311 4d6f
	first "two bytes of a Monday" request 7311 "$wrong"
	first "two bytes of a Monday" key 7311 "$wrong"
	lab_kill monday
}

# --- banners -------------------------------------------------------------------------------

service_ssh() {
	lab_check "a key" dropbearkey -t ed25519 -f "$place/key"
	serve ssh 22 dropbear -F -E -r "$place/key" -p 22 -P "$place/dropbear.pid"
	meet ssh ssh 22 "bad Marker" "$wrong" "$wrong"
	lab_kill ssh
}

service_ftp() {
	mkdir -p "$place/empty"
	cat > "$place/vsftpd.conf" <<- END
		listen=YES
		background=NO
		anonymous_enable=YES
		secure_chroot_dir=$place/empty
		ftp_username=nobody
		nopriv_user=nobody
		seccomp_sandbox=NO
		isolate=NO
		isolate_network=NO
	END
	serve ftp 21 vsftpd "$place/vsftpd.conf"
	meet ftp ftp 21 "bad Marker" "$wrong" "$wrong"
	lab_kill ftp
}

service_smtp() {
	if ! "$PYTHON" -W ignore -c 'import smtpd' 2> /dev/null; then
		lab_skip "ELZ-8: smtp" "this Python has no smtpd"
		return
	fi
	serve smtp 25 "$PYTHON" -W ignore -m smtpd -n -c DebuggingServer "$host:25"
	meet smtp smtp 25 "bad Marker" "$wrong" "$wrong"
	lab_kill smtp
}

# Its programs are where they were built for.
service_mail() {
	local package
	mkdir -p /usr/lib/dovecot "$place/dovecot"
	for package in "${packages[@]}"; do
		[[ ! -d $package/usr/lib/dovecot ]] ||
			cp -as "$package"/usr/lib/dovecot/* /usr/lib/dovecot
	done
	ln -s "$(packaged usr/bin/doveconf)" /usr/bin
	cat > "$place/dovecot.conf" <<- END
		base_dir = $place/dovecot
		state_dir = $place/dovecot
		import_environment = LD_LIBRARY_PATH
		protocols = imap pop3
		listen = $host
		ssl = no
		log_path = /dev/stderr
		default_login_user = nobody
		default_internal_user = daemon
		default_internal_group = daemon
		passdb {
			driver = static
			args = nopassword=y
		}
		userdb {
			driver = static
			args = uid=nobody gid=nogroup home=$place/dovecot
		}
	END
	serve mail 110 dovecot -F -c "$place/dovecot.conf"
	meet mail pop3 110 "bad Marker" "$wrong" "$wrong"
	meet mail imap 143 "bad Marker" "$wrong" "$wrong"
	lab_kill mail
}

# --- requests of text ------------------------------------------------------------------------

service_http() {
	mkdir -p "$place/nginx"
	cat > "$place/nginx.conf" <<- END
		daemon off;
		master_process off;
		user root root;
		pid $place/nginx.pid;
		error_log $place/nginx.log;
		events { }
		http {
			access_log off;
			client_body_temp_path $place/nginx;
			proxy_temp_path $place/nginx;
			fastcgi_temp_path $place/nginx;
			uwsgi_temp_path $place/nginx;
			scgi_temp_path $place/nginx;
			server { listen 80; root $place/nginx; }
		}
	END
	serve http 80 nginx -p "$place/nginx" -c "$place/nginx.conf"
	meet http http 80 "bad Marker" "$wrong" "$wrong"
	lab_kill http
}

service_sip() {
	local modules
	modules=$(packaged usr/lib/x86_64-linux-gnu/kamailio/modules)
	cat > "$place/kamailio.cfg" <<- END
		children=1
		tcp_children=1
		listen=tcp:$host:5060
		mpath="$modules/"
		loadmodule "sl.so"
		request_route { sl_send_reply("200", "OK"); }
	END
	serve sip 5060 env LD_LIBRARY_PATH="$LD_LIBRARY_PATH:${modules%/modules}" kamailio \
		-DD -E -f "$place/kamailio.cfg" -Y "$place" -P "$place/kamailio.pid" -m 16 -M 4
	# It waits for the end of a line.
	meet sip sip 5060 silence "$timer" "$timer"
	lab_kill sip
}

# --- headers with a length ---------------------------------------------------------------------

service_dns() {
	serve dns 53 dnsmasq --keep-in-foreground --conf-file=/dev/null --user=root \
		--group=root --no-resolv --no-hosts --no-daemon --address=/lab.test/192.0.2.7 \
		--listen-address="$host" --bind-interfaces --pid-file="$place/dnsmasq.pid"
	# It closes at a length of zero; "MP" is a length of 19792.
	meet dns dns 53 "$closed" "$timer" "$timer"
	lab_kill dns
}

service_tls() {
	lab_check "a certificate" openssl req -x509 -newkey rsa:2048 -nodes -days 2 \
		-subj /CN=lab.test -keyout "$place/tls.key" -out "$place/tls.pem"
	serve tls 443 openssl s_server -accept 443 -cert "$place/tls.pem" \
		-key "$place/tls.key" -quiet
	meet tls tls 443 "bad Marker|$closed" "$wrong|ECONNRESET" "$wrong|ECONNRESET"
	lab_kill tls
}

service_socks() {
	serve socks 1080 microsocks -i "$host" -p 1080
	# It answers that it has no method for such a client.
	meet socks socks 1080 "bad Marker" "$wrong" "$wrong"
	lab_kill socks
}

# No database: its root alone answers.
service_ldap() {
	echo "pidfile $place/slapd.pid" > "$place/slapd.conf"
	serve ldap 389 slapd -d 0 -h "ldap://$host:389" -f "$place/slapd.conf"
	# "MP" is a tag and a length of 80.
	meet ldap ldap 389 "$closed" "$timer" "$timer"
	lab_kill ldap
}

service_bgp() {
	cat > "$place/bird.conf" <<- END
		router id 10.77.0.2;
		protocol device { }
		protocol bgp lab {
			local $host as 65002;
			neighbor 10.77.0.1 as 65001;
			passive on;
			error wait time 1, 1;
			error forget time 1;
			ipv4 { import none; export none; };
		}
	END
	serve bgp 179 bird -f -c "$place/bird.conf" -s "$place/bird.ctl" -P "$place/bird.pid"
	meet bgp bgp 179 "bad Marker" "$wrong" "$wrong"
	lab_kill bgp
}

service_iscsi() {
	serve iscsi 3260 tgtd -f --iscsi "portal=$host:3260"
	lab_check "a target" lab_wait 20 tgtadm --lld iscsi --mode target --op new --tid 1 \
		--targetname iqn.2026-11.test:disk
	lab_check "for everyone" tgtadm --lld iscsi --mode target --op bind --tid 1 \
		--initiator-address ALL
	# A header of 48 bytes is waited for.
	meet iscsi iscsi 3260 silence "$timer" "$timer"
	lab_kill iscsi KILL
}

# --- the other half ----------------------------------------------------------------------------

# half NAME WANTED COMMAND...: the command is a client of another protocol.
half() {
	local before got
	before=$(wc -l < "$LAB_OUT/responder.log")
	lab_do ip netns exec h1 timeout 20 "${@:3}" < /dev/null || true
	lab_wait 20 half_told "$before"
	got=$(tail -n 1 "$LAB_OUT/responder.log")
	lab_note "$1 at our Responder: expected $2, measured: $got"
	lab_check "ELZ-8: our Responder, $1" grep -qxE "$2" <<< "$got"
}

half_told() {
	(($(wc -l < "$LAB_OUT/responder.log") > $1))
}

service_half() {
	serve responder 7300 "$PYTHON" "$ends" responder 7300
	half "an HTTP client" "$wrong" "$PYTHON" "$ends" hello "$host" 7300 \
		474554202f20485454502f312e300d0a0d0a
	half "a TLS client" "$wrong" openssl s_client -connect "$host:7300"
	half "an SSH client" "$wrong" dbclient -y -p 7300 "$host"
	half "a DNS client" "$wrong" "$PYTHON" "$ends" next dns "$host" 7300
	half "a SOCKS client" "$wrong" "$PYTHON" "$ends" next socks "$host" 7300
	half "an iSCSI client" "$wrong" "$PYTHON" "$ends" next iscsi "$host" 7300
	half "an LDAP client" "$wrong" "$PYTHON" "$ends" next ldap "$host" 7300
	half "a SIP client" "$wrong" "$PYTHON" "$ends" next sip "$host" 7300
	half "a whois client" "$wrong" "$PYTHON" "$ends" next whois "$host" 7300
	half "a Marker without a startup" "$wrong" "$PYTHON" "$ends" hello "$host" 7300 \
		00000000
	half "a client that waits for a banner" "$timer" "$PYTHON" "$ends" hello "$host" \
		7300 ""
	half "a client that only begins like a Request" "$timer" "$PYTHON" "$ends" hello \
		"$host" 7300 4d504120
	lab_check "and serves a peer" ip netns exec h1 "$MPA_REPO/build/bin/mpa-nc" \
		"$host" 7300
	lab_kill responder
}

lab_hosts 2
mkdir -p "$place"
lab_seed
lab_do modprobe mpa
mpactl_in h1 set startup-timeout 1500ms
mpactl_in h2 set startup-timeout 1500ms
(($#)) || set -- inetd xinetd programs monday ssh ftp smtp mail http sip dns tls socks ldap bgp \
	iscsi half
for service; do
	"service_$service"
done
