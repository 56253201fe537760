/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Appendix A of draft-ietf-tsvwg-tcp-ulp-frame-00, transcribed: each call is as it is
 * printed there, on sockets of this machine, before and after they are connected.
 *
 *	tcp-framing appendix_a		as the draft has it
 *	appendix_a --attach		with the one call that Linux needs in addition
 *
 * Two calls cannot be as printed. A.3 passes the length of the value where
 * getsockopt(2) takes a pointer to it: a macro makes that of it. A.7 lacks a comma.
 * And the appendix does not say how a receiver learns the key of PDU alignment mode.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <linux/tcp_framing.h>

enum send_mode { ATOMIC, ALIGN, MARKERS };

static const char *const names[] = { "ATOMIC", "ALIGN", "MARKERS" };
static bool attaches;
static int checks, failures;
static char label[64];

static void check(bool good, const char *what)
{
	int error = errno;

	printf("%sok %d - appendix A: %s: %s\n", good ? "" : "not ", ++checks, label,
	       what);
	if (good)
		return;
	printf("#   errno: %s\n", strerror(error));
	failures++;
}

/* For what is no part of the appendix. */
static int must(int ret, const char *what)
{
	if (ret >= 0)
		return ret;
	printf("Bail out! %s: %s\n", what, strerror(errno));
	exit(1);
}

/* The call that Linux needs; the preloaded library makes it by itself. */
static int attach(int s)
{
	if (attaches)
		must(setsockopt(s, SOL_TCP, TCP_ULP, "mpa", 3), "attach");
	return s;
}

#define getsockopt(s, level, option, value, length) \
	getsockopt(s, level, option, value, &(socklen_t){ length })

/* A.1 */
static int enable(int s, enum send_mode sendMode, enum send_mode recvMode)
{
	int mode;

	/* Pick one sending mode and one receiving mode */
	if (sendMode == ATOMIC)
		mode = TCP_FRAMING_SEND_ATOMIC;
	else if (sendMode == ALIGN)
		mode = TCP_FRAMING_SEND_ALIGN;
	else /* sendMode == MARKERS */
		mode = TCP_FRAMING_SEND_MARKERS;

	if (recvMode == ALIGN)
		mode |= TCP_FRAMING_RECV_ALIGN;
	else /* recvMode == MARKERS */
		mode |= TCP_FRAMING_RECV_MARKERS;

	return setsockopt (s, SOL_TCP, TCP_FRAMING_MODE, &mode,
			   sizeof(mode));
}

/* What the peer of such a socket sets: of ATOMIC it receives an ordinary stream. */
static int enable_peer(int s, enum send_mode sendMode, enum send_mode recvMode)
{
	int mode = TCP_FRAMING_SEND_ALIGN;

	if (sendMode != ATOMIC)
		return enable(s, recvMode, sendMode);
	if (recvMode == MARKERS)
		mode = TCP_FRAMING_SEND_MARKERS;
	return setsockopt(s, SOL_TCP, TCP_FRAMING_MODE, &mode, sizeof(mode));
}

/* A.4 to A.7, on a socket in any state */
static void set_options(int s)
{
	int flag, ivl, got;

	flag = 0;
	check(!setsockopt (s, SOL_TCP, TCP_FRAMING_PACK_PDUS, &flag,
			   sizeof(flag)), "A.4, no packing");

	flag = 1;
	check(!setsockopt (s, SOL_TCP, TCP_FRAMING_EMERGENCY, &flag,
			   sizeof(flag)), "A.5, emergency mode");

	ivl = 2048;
	check(!setsockopt (s, SOL_TCP, TCP_FRAMING_SEND_INTERVAL, &ivl,
			   sizeof(ivl)), "A.6, interval of sending");

	ivl = 2048;
	check(!setsockopt (s, SOL_TCP, TCP_FRAMING_RECV_INTERVAL, &ivl,
			   sizeof(ivl)), "A.7, interval of receiving");

	got = -1;
	check(!getsockopt(s, SOL_TCP, TCP_FRAMING_PACK_PDUS, &got, sizeof(got)) &&
	      got == 0, "A.4, read back");
	got = -1;
	check(!getsockopt(s, SOL_TCP, TCP_FRAMING_EMERGENCY, &got, sizeof(got)) &&
	      got == 1, "A.5, read back");
	got = -1;
	check(!getsockopt(s, SOL_TCP, TCP_FRAMING_SEND_INTERVAL, &got, sizeof(got)) &&
	      got == 2048, "A.6, read back");
	got = -1;
	check(!getsockopt(s, SOL_TCP, TCP_FRAMING_RECV_INTERVAL, &got, sizeof(got)) &&
	      got == 2048, "A.7, read back");
}

/* What section 4 leaves to the application: the receiver gets the sender's key. */
static void give_key(int from, int to)
{
	unsigned char key[TCP_FRAMING_KEY_LEN];

	check(!getsockopt(from, SOL_TCP, TCP_FRAMING_SEND_KEY, key, sizeof(key)) &&
	      !setsockopt(to, SOL_TCP, TCP_FRAMING_RECV_KEY, key, sizeof(key)),
	      "the key");
}

/* Receives until it has the bytes; whether they came as one record. */
static bool receive(int s, const char *want, size_t size, bool one_record)
{
	static char got[70000];
	size_t have = 0;

	while (have < size) {
		struct iovec part = { got + have, sizeof(got) - have };
		struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
		ssize_t n = recvmsg(s, &message, 0);

		if (n <= 0)
			return false;
		have += n;
		if (one_record)
			return have == size && message.msg_flags & MSG_EOR &&
			       !memcmp(got, want, size);
	}
	return have == size && !memcmp(got, want, size);
}

/* A.2: all the operations that send; and what they refuse */
static void send_atomically(int s, int peer, enum send_mode mode, int emss)
{
	static char pdu[70000];
	struct iovec parts[2] = { { pdu, 100 }, { pdu + 100, 23 } };
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };
	int limit = mode == MARKERS ? 65528 : emss;
	bool record = mode == ALIGN;
	size_t i;

	for (i = 0; i < sizeof(pdu); i++)
		pdu[i] = i * 7 + i / 251;
	check(send(s, pdu, 100, 0) == 100 && receive(peer, pdu, 100, record),
	      "A.2, send()");
	check(sendto(s, pdu, 101, 0, NULL, 0) == 101 && receive(peer, pdu, 101, record),
	      "A.2, sendto()");
	check(sendmsg(s, &message, 0) == 123 && receive(peer, pdu, 123, record),
	      "A.2, sendmsg()");
	check(writev(s, parts, 2) == 123 && receive(peer, pdu, 123, record),
	      "A.2, writev()");
	check(write(s, pdu, 102) == 102 && receive(peer, pdu, 102, record),
	      "A.2, write()");
	check(send(s, pdu, limit + 1, 0) < 0 && errno == EMSGSIZE,
	      "A.2, EMSGSIZE for what is too long");
	if (mode != MARKERS)
		check(send(s, pdu, emss, 0) == emss &&
		      receive(peer, pdu, emss, record), "A.2, the longest");
}

/* A.3 */
static int retrieve_emss(int s)
{
	int emss = 0;

	check(!getsockopt (s, SOL_TCP, TCP_SEND_EMSS, &emss, sizeof(emss)) &&
	      emss > 0 && emss <= 65528, "A.3, the EMSS");
	return emss;
}

/* As on Ethernet: the long segments of loopback change with TCP's window. */
static int new_socket(void)
{
	int s = must(socket(AF_INET, SOCK_STREAM, 0), "socket");
	int longest = 1460;

	must(setsockopt(s, SOL_TCP, TCP_MAXSEG, &longest, sizeof(longest)), "MSS");
	return attach(s);
}

/* A listening socket, and its address */
static int listening(struct sockaddr_in *at)
{
	socklen_t size = sizeof(*at);
	int s = new_socket();

	*at = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	must(bind(s, (struct sockaddr *)at, size), "bind");
	must(listen(s, 1), "listen");
	must(getsockname(s, (struct sockaddr *)at, &size), "getsockname");
	return s;
}

static void exchange(int s, int peer, enum send_mode sendMode,
		     enum send_mode recvMode)
{
	if (recvMode == ALIGN)
		give_key(peer, s);
	if (sendMode == ALIGN)
		give_key(s, peer);
	send_atomically(s, peer, sendMode, retrieve_emss(s));
	send_atomically(peer, s, recvMode, retrieve_emss(peer));
}

static void run(enum send_mode sendMode, enum send_mode recvMode, bool before)
{
	struct sockaddr_in at;
	int listener, s, peer;

	snprintf(label, sizeof(label), "%s and %s, %s", names[sendMode],
		 names[recvMode], before ? "before connect()" : "connected");
	listener = listening(&at);
	s = new_socket();
	if (before) {
		set_options(s);
		set_options(listener);
		check(!enable_peer(listener, sendMode, recvMode), "A.1, a listener");
		check(!enable(s, sendMode, recvMode), "A.1, not connected");
	}
	must(connect(s, (struct sockaddr *)&at, sizeof(at)), "connect");
	peer = must(accept(listener, NULL, NULL), "accept");
	if (!before) {
		set_options(s);
		set_options(peer);
		check(!enable_peer(peer, sendMode, recvMode), "A.1, accepted");
		check(!enable(s, sendMode, recvMode), "A.1, connected");
	}
	exchange(s, peer, sendMode, recvMode);
	close(peer);
	close(s);
	close(listener);
}

int main(int argc, char **argv)
{
	enum send_mode sendMode, recvMode;

	attaches = argc == 2 && !strcmp(argv[1], "--attach");
	if (argc > 1 && !attaches) {
		fprintf(stderr, "usage: appendix_a [--attach]\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	/* A wait for what does not come fails. */
	alarm(30);
	for (sendMode = ATOMIC; sendMode <= MARKERS; sendMode++)
		for (recvMode = ALIGN; recvMode <= MARKERS; recvMode++) {
			run(sendMode, recvMode, true);
			run(sendMode, recvMode, false);
		}
	printf("1..%d\n", checks);
	return failures != 0;
}
