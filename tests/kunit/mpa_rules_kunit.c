// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit suite of what RFC 5044 asks of a stream and its TCP together: options
 * of the socket, room in segments, sequence numbers that wrap. Needs mpa.ko
 * loaded and nothing else.
 */
#include <linux/module.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "mpa_ulp_fixture.c"

static const struct link_options plain;

static void establish(struct fixture *fx, bool markers)
{
	const struct mpa_params p = {
		.markers = markers,
		.crc = true,
		.rev = MPA_REV_1,
	};

	KUNIT_ASSERT_EQ(fx->test, 0, mpa_start_responder(fx->end[1].conn, NULL,
							 0, 0));
	KUNIT_ASSERT_EQ(fx->test, 0, mpa_start_initiator(fx->end[0].conn, &p,
							 NULL, 0, 0));
	fx_wait(fx, fx->end[1].requests);
	KUNIT_ASSERT_EQ(fx->test, 0, mpa_accept(fx->end[1].conn, &p, NULL, 0));
	fx_wait(fx, fx->end[0].replies);
	KUNIT_ASSERT_EQ(fx->test, 0, fx->end[0].status);
}

static void exchange(struct fixture *fx, u32 nr,
		     u32 (*length)(struct end *e, u32 room))
{
	unsigned int i;

	for (i = 0; i < NR_ENDS; i++) {
		struct end *from = &fx->end[i], *to = &fx->end[!i];

		KUNIT_ASSERT_EQ(fx->test, 0, end_send(from, nr, length));
		fx_wait(fx, to->rx_ulpdus == from->tx_ulpdus || end_events(to));
		KUNIT_EXPECT_EQ(fx->test, from->tx_octets, to->rx_octets);
		KUNIT_EXPECT_EQ(fx->test, 0, end_events(to));
	}
}

/*
 * Sections 5.1 and A.2: no Nagle; A.5.1: no IP fragments; and no probe of the
 * path MTU that would cut across FPDUs.
 */
static void attach__socket_options(struct kunit *test)
{
	struct fixture *fx = test->priv;
	struct sock *sk;

	fx_direct(fx, &plain);
	sk = fx->end[0].sock->sk;
	KUNIT_EXPECT_TRUE(test, tcp_sk(sk)->nonagle & TCP_NAGLE_OFF);
	KUNIT_EXPECT_EQ(test, IP_PMTUDISC_WANT, inet_sk(sk)->pmtudisc);
	KUNIT_EXPECT_FALSE(test, inet_csk(sk)->icsk_mtup.enabled);
}

struct room_case {
	int mss;
	bool markers;
};

static const struct room_case room_cases[] = {
	{ 88, false }, { 88, true }, { 140, false }, { 140, true },
	{ 536, true }, { 1448, false }, { 1448, true }, { 8948, true },
};

static void room_desc(const struct room_case *c, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "mss %d M %u", c->mss,
		 c->markers);
}

KUNIT_ARRAY_PARAM(room, room_cases, room_desc);

/* Short ones: several share a segment. */
static u32 packed_length(struct end *e, u32 room)
{
	KUNIT_EXPECT_GE(e->fx->test, room, (u32)MPA_MULPDU_MIN);
	KUNIT_EXPECT_LE(e->fx->test, room, (u32)MPA_MULPDU_MAX);
	return get_random_u32() % min(room, 200U);
}

/*
 * Section 4.5: what is offered is never less than 128 octets, neither in
 * segments too short for that nor in what others have left of one.
 */
static void segment__room(struct kunit *test)
{
	const struct room_case *c = test->param_value;
	struct link_options lo = { .mss = c->mss };
	struct fixture *fx = test->priv;

	fx_direct(fx, &lo);
	establish(fx, c->markers);
	exchange(fx, 300, packed_length);
}

struct wrap_case {
	u32 before;
	bool markers;
};

/* Octets that an end sends up to the wrap: its startup frame is 20 of them. */
static const struct wrap_case wrap_cases[] = {
	{ 0, true }, { 1, true }, { 19, true }, { 20, true }, { 21, true },
	{ 24, true }, { 276, true }, { 532, true }, { 1000, true },
	{ 5000, true }, { 5001, false },
};

static void wrap_desc(const struct wrap_case *c, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u octets before, M %u",
		 c->before, c->markers);
}

KUNIT_ARRAY_PARAM(wrap, wrap_cases, wrap_desc);

/* A socket under repair: it connects without a handshake, at these numbers. */
static struct socket *repaired_socket(struct fixture *fx, u32 snd, u32 rcv)
{
	struct socket *sock = make_socket(fx, &plain);
	struct sockaddr_storage ss;
	int len = loopback(AF_INET, &ss);

	KUNIT_ASSERT_EQ(fx->test, 0,
			kernel_bind(sock, (struct sockaddr *)&ss, len));
	set_option(sock, SOL_TCP, TCP_REPAIR, TCP_REPAIR_ON);
	set_option(sock, SOL_TCP, TCP_REPAIR_QUEUE, TCP_RECV_QUEUE);
	set_option(sock, SOL_TCP, TCP_QUEUE_SEQ, rcv);
	set_option(sock, SOL_TCP, TCP_REPAIR_QUEUE, TCP_SEND_QUEUE);
	set_option(sock, SOL_TCP, TCP_QUEUE_SEQ, snd);
	return sock;
}

static void connect_to(struct fixture *fx, struct socket *sock,
		       struct socket *peer)
{
	struct sockaddr_storage ss;
	struct sockaddr *sa = (struct sockaddr *)&ss;
	int len = kernel_getsockname(peer, sa);

	KUNIT_ASSERT_GT(fx->test, len, 0);
	KUNIT_ASSERT_EQ(fx->test, 0, kernel_connect(sock, sa, len, 0));
}

/*
 * Section 4.3: the sequence number may wrap between a Marker and what it
 * points to, and anywhere else.
 */
static void sequence__wraps(struct kunit *test)
{
	const struct wrap_case *c = test->param_value;
	struct fixture *fx = test->priv;
	u32 first[NR_ENDS] = { -c->before, -c->before - 100 };
	unsigned int i;

	for (i = 0; i < NR_ENDS; i++)
		fx->end[i].sock = repaired_socket(fx, first[i], first[!i]);
	for (i = 0; i < NR_ENDS; i++)
		connect_to(fx, fx->end[i].sock, fx->end[!i].sock);
	for (i = 0; i < NR_ENDS; i++) {
		set_option(fx->end[i].sock, SOL_TCP, TCP_REPAIR,
			   TCP_REPAIR_OFF);
		fx_attach(&fx->end[i]);
		KUNIT_ASSERT_EQ(test, tcp_sk(fx->end[i].sock->sk)->write_seq,
				first[i]);
	}
	establish(fx, c->markers);
	exchange(fx, 40, longest_length);
	for (i = 0; i < NR_ENDS; i++)
		KUNIT_EXPECT_LT(test, tcp_sk(fx->end[i].sock->sk)->write_seq,
				0x80000000);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(attach__socket_options),
	KUNIT_CASE_PARAM(segment__room, room_gen_params),
	KUNIT_CASE_PARAM(sequence__wraps, wrap_gen_params),
	{}
};

static struct kunit_suite suite = {
	.name = "mpa_rules",
	.init = fx_init,
	.exit = fx_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_DESCRIPTION("KUnit suite of MPA's rules about TCP");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(MPA);
