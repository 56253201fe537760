// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit suite of kernel/ulp: streams over loopback sockets, through the API
 * that mpa.ko exports. Needs mpa.ko loaded and nothing else.
 */
#include <linux/crc32c.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/random.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "../vectors/framing.h"
#include "mpa_ulp_fixture.c"

enum {
	SHORT_MS	= 150,	/* timeouts that expire */
	LONG_MS		= 60000, /* timeouts that do not */
	MARKERS		= 0x80,	/* in a flag byte */
	CRC		= 0x40,
	REJECT		= 0x20,
	ENHANCED	= 0x10,
};

static const struct link_options plain;

static struct mpa_params params(u8 rev, bool markers, bool crc)
{
	return (struct mpa_params){
		.markers = markers,
		.crc = crc,
		.rev = rev,
		.rtr = MPA_RTR_SEND | MPA_RTR_WRITE | MPA_RTR_READ,
		.ird = 8,
		.ord = 4,
		.ird_max = 16,
	};
}

/* ---- From attached to full operation ---- */

static int respond(struct end *e, unsigned int timeout_ms)
{
	return mpa_start_responder(e->conn, NULL, 0, timeout_ms);
}

/* Waits for @done and runs the relay, if any. Returns false on timeout. */
static bool pump(struct fixture *fx, bool (*done)(struct fixture *fx))
{
	unsigned long until = jiffies + msecs_to_jiffies(TIMEOUT_MS);

	while (!done(fx)) {
		if (time_after(jiffies, until))
			return false;
		if (fx->relay.raw[0] && fx->relay.raw[1])
			relay_step(&fx->relay, fx);
		else
			usleep_range(200, 400);
	}
	return true;
}

static bool requested(struct fixture *fx)
{
	return fx->end[1].requests || end_events(&fx->end[1]);
}

static bool replied(struct fixture *fx)
{
	return fx->end[0].replies;
}

static void start_both(struct fixture *fx, const struct mpa_params *a,
		       const struct mpa_params *b)
{
	KUNIT_ASSERT_EQ(fx->test, 0, respond(&fx->end[1], 0));
	KUNIT_ASSERT_EQ(fx->test, 0,
			mpa_start_initiator(fx->end[0].conn, a, NULL, 0, 0));
	KUNIT_ASSERT_TRUE(fx->test, pump(fx, requested));
	KUNIT_ASSERT_EQ(fx->test, 0,
			mpa_accept(fx->end[1].conn, b, NULL, 0));
	KUNIT_ASSERT_TRUE(fx->test, pump(fx, replied));
	KUNIT_ASSERT_EQ(fx->test, 0, fx->end[0].status);
	KUNIT_ASSERT_EQ(fx->test, 1, fx->end[0].operationals);
	KUNIT_ASSERT_EQ(fx->test, 1, fx->end[1].operationals);
}

static bool all_arrived(struct fixture *fx)
{
	struct end *a = &fx->end[0], *b = &fx->end[1];

	return (a->rx_ulpdus >= b->tx_ulpdus || end_events(a)) &&
	       (b->rx_ulpdus >= a->tx_ulpdus || end_events(b));
}

static void expect_arrived(struct fixture *fx, struct end *from,
			   struct end *to)
{
	struct mpa_conn_stats tx, rx;

	mpa_conn_stats(from->conn, &tx);
	mpa_conn_stats(to->conn, &rx);
	KUNIT_EXPECT_EQ(fx->test, from->tx_ulpdus, to->rx_ulpdus);
	KUNIT_EXPECT_EQ(fx->test, from->tx_bytes, to->rx_bytes);
	KUNIT_EXPECT_EQ(fx->test, tx.tx_fpdus, (u64)from->tx_ulpdus);
	KUNIT_EXPECT_EQ(fx->test, tx.tx_fpdus, rx.rx_fpdus);
	KUNIT_EXPECT_EQ(fx->test, tx.tx_bytes, rx.rx_bytes);
	KUNIT_EXPECT_LE(fx->test, tx.tx_batches, tx.tx_fpdus);
	KUNIT_EXPECT_EQ(fx->test, 0ULL, rx.rx_crc_errors);
	KUNIT_EXPECT_EQ(fx->test, 0ULL, rx.rx_marker_errors);
	KUNIT_EXPECT_EQ(fx->test, 0ULL, rx.rx_dropped);
}

static void send_some(struct fixture *fx, unsigned int from, u32 nr,
		      u32 (*length)(struct end *e, u32 room))
{
	KUNIT_ASSERT_EQ(fx->test, 0, end_send(&fx->end[from], nr, length));
}

static bool closed_both(struct fixture *fx)
{
	return fx->end[0].ended[MPA_ERROR_CLOSED] &&
	       fx->end[1].ended[MPA_ERROR_CLOSED];
}

/* A FIN in each direction; the end is reported to each owner once. */
static void close_orderly(struct fixture *fx)
{
	unsigned int i;

	kernel_sock_shutdown(fx->end[0].sock, SHUT_WR);
	fx_wait(fx, fx->end[1].ended[MPA_ERROR_CLOSED]);
	KUNIT_EXPECT_EQ(fx->test, 0, end_events(&fx->end[0]));
	kernel_sock_shutdown(fx->end[1].sock, SHUT_WR);
	fx_wait(fx, closed_both(fx));
	fx_settle();
	for (i = 0; i < NR_ENDS; i++) {
		KUNIT_EXPECT_EQ(fx->test, 1, end_events(&fx->end[i]));
		KUNIT_EXPECT_EQ(fx->test, 0,
				fx->end[i].err[MPA_ERROR_CLOSED]);
	}
}

/* ---- Attaching ---- */

static void attach__refused(struct kunit *test)
{
	static const struct mpa_ops none;
	struct fixture *fx = test->priv;
	struct end *e = &fx->end[0];
	struct socket *user, *fresh;

	KUNIT_ASSERT_EQ(test, 0, sock_create_kern(&init_net, AF_INET,
						  SOCK_STREAM, IPPROTO_TCP,
						  &fresh));
	KUNIT_EXPECT_EQ(test, -ENOTCONN, PTR_ERR(mpa_attach(fresh, &none, e)));
	sock_release(fresh);

	fx_pair(fx, &plain, &e->sock, &fx->relay.raw[0]);
	user = fx->relay.raw[0];
	user->sk->sk_kern_sock = 0;
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, PTR_ERR(mpa_attach(user, &none, e)));
	user->sk->sk_kern_sock = 1;
	user->sk->sk_user_data = e;
	KUNIT_EXPECT_EQ(test, -EEXIST, PTR_ERR(mpa_attach(user, &none, e)));
	user->sk->sk_user_data = NULL;

	fx_attach(e);
	KUNIT_EXPECT_PTR_EQ(test, (void *)e, mpa_priv(e->conn));
	KUNIT_EXPECT_PTR_EQ(test, e->sock, mpa_socket(e->conn));
	KUNIT_EXPECT_EQ(test, -EEXIST,
			PTR_ERR(mpa_attach(e->sock, &none, e)));
}

static void attach__restores_callbacks(struct kunit *test)
{
	struct fixture *fx = test->priv;
	struct end *e = &fx->end[0];
	void *ready, *change, *space;

	fx_pair(fx, &plain, &e->sock, &fx->relay.raw[0]);
	ready = e->sock->sk->sk_data_ready;
	change = e->sock->sk->sk_state_change;
	space = e->sock->sk->sk_write_space;
	fx_attach(e);
	KUNIT_EXPECT_PTR_NE(test, ready, (void *)e->sock->sk->sk_data_ready);
	fx_detach(e);
	KUNIT_EXPECT_PTR_EQ(test, ready, (void *)e->sock->sk->sk_data_ready);
	KUNIT_EXPECT_PTR_EQ(test, change,
			    (void *)e->sock->sk->sk_state_change);
	KUNIT_EXPECT_PTR_EQ(test, space, (void *)e->sock->sk->sk_write_space);
	/* The socket is a plain TCP socket again. */
	KUNIT_EXPECT_EQ(test, 3, raw_send(fx->relay.raw[0], "abc", 3));
	KUNIT_EXPECT_EQ(test, 3, raw_recv_all(e->sock, fx->data, 3));
}

/* An owner that has released the socket must still detach. */
static void attach__socket_released_first(struct kunit *test)
{
	struct fixture *fx = test->priv;
	struct mpa_params p = params(MPA_REV_1, false, true);

	fx_direct(fx, &plain);
	start_both(fx, &p, &p);
	fx_release(&fx->end[0].sock);
	fx_wait(fx, end_events(&fx->end[1]));
	fx_detach(&fx->end[0]);
	KUNIT_EXPECT_EQ(test, 0, end_events(&fx->end[0]));
}

/* ---- Negotiation and traffic ---- */

struct exchange {
	u8 rev;
	bool m[NR_ENDS];
	bool c[NR_ENDS];
	struct link_options lo;
};

/* All values of M and C at both ends, both revisions, different links. */
static const void *exchange_next(const void *prev, char *desc)
{
	static const int mss[] = { 0, 1448, 536, 1447, 88, 8948 };
	static struct exchange x;
	static unsigned int i;

	i = prev ? i + 1 : 0;
	if (i == 32)
		return NULL;
	x = (struct exchange){
		.rev = i & 16 ? MPA_REV_2 : MPA_REV_1,
		.m = { i & 1, i & 2 },
		.c = { i & 4, i & 8 },
		.lo.family = i % 3 ? AF_INET : AF_INET6,
		.lo.mss = mss[i % ARRAY_SIZE(mss)],
	};
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "rev %u M %u%u C %u%u mss %d %s",
		 x.rev, x.m[0], x.m[1], x.c[0], x.c[1], x.lo.mss,
		 x.lo.family == AF_INET ? "v4" : "v6");
	return &x;
}

static void expect_result(struct kunit *test, const struct mpa_result *res,
			  const struct exchange *x, unsigned int own)
{
	KUNIT_EXPECT_EQ(test, res->initiator, own == 0);
	KUNIT_EXPECT_EQ(test, res->rev, x->rev);
	KUNIT_EXPECT_EQ(test, res->enhanced, x->rev == MPA_REV_2);
	KUNIT_EXPECT_EQ(test, res->rx_markers, x->m[own]);
	KUNIT_EXPECT_EQ(test, res->tx_markers, x->m[!own]);
	KUNIT_EXPECT_EQ(test, res->crc, x->c[0] || x->c[1]);
}

static void exchange__traffic(struct kunit *test)
{
	const struct exchange *x = test->param_value;
	struct fixture *fx = test->priv;
	struct mpa_params a = params(x->rev, x->m[0], x->c[0]);
	struct mpa_params b = params(x->rev, x->m[1], x->c[1]);

	fx->end[1].skip = x->c[0];
	fx_direct(fx, &x->lo);
	start_both(fx, &a, &b);
	expect_result(test, &fx->end[0].res, x, 0);
	expect_result(test, &fx->end[1].res, x, 1);

	send_some(fx, 0, 200, random_length);
	fx_wait(fx, all_arrived(fx));
	KUNIT_EXPECT_EQ(test, 1, fx->end[1].writables);
	send_some(fx, 1, 200, random_length);
	send_some(fx, 0, 30, longest_length);
	send_some(fx, 1, 30, longest_length);
	fx_wait(fx, all_arrived(fx));
	expect_arrived(fx, &fx->end[0], &fx->end[1]);
	expect_arrived(fx, &fx->end[1], &fx->end[0]);
	close_orderly(fx);
}

struct pd_case {
	u8 rev;
	u32 len;
	int ret;
};

static const struct pd_case pd_cases[] = {
	{ MPA_REV_1, 0, 0 },	{ MPA_REV_1, 1, 0 },
	{ MPA_REV_RDMAC, 0, 0 }, { MPA_REV_RDMAC, 512, 0 },
	{ MPA_REV_RDMAC, 513, -EMSGSIZE },
	{ MPA_REV_1, 508, 0 },	{ MPA_REV_1, 511, 0 },
	{ MPA_REV_1, 512, 0 },	{ MPA_REV_1, 513, -EMSGSIZE },
	{ MPA_REV_1, 65536, -EMSGSIZE },
	{ MPA_REV_2, 0, 0 },	{ MPA_REV_2, 1, 0 },
	{ MPA_REV_2, 508, 0 },	{ MPA_REV_2, 509, -EMSGSIZE },
	{ MPA_REV_2, 512, -EMSGSIZE },
};

static void pd_desc(const struct pd_case *c, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "rev %u, %u bytes", c->rev,
		 c->len);
}

KUNIT_ARRAY_PARAM(pd, pd_cases, pd_desc);

/* In both directions. A refused length does not change the stream. */
static void exchange__private_data(struct kunit *test)
{
	const struct pd_case *c = test->param_value;
	struct fixture *fx = test->priv;
	struct end *a = &fx->end[0], *b = &fx->end[1];
	struct mpa_params p = params(c->rev, false, true);

	fx_direct(fx, &plain);
	pattern(fx->data, 1, 0, c->len);
	KUNIT_ASSERT_EQ(test, 0, respond(b, 0));
	KUNIT_ASSERT_EQ(test, c->ret, mpa_start_initiator(a->conn, &p, fx->data,
							  c->len, 0));
	if (c->ret)
		KUNIT_ASSERT_EQ(test, 0, mpa_start_initiator(a->conn, &p,
							     NULL, 0, 0));
	fx_wait(fx, b->requests);
	KUNIT_EXPECT_EQ(test, b->pd_len, c->ret ? 0 : c->len);
	KUNIT_EXPECT_EQ(test, 0, memcmp(b->pd, fx->data, b->pd_len));

	pattern(fx->data, 2, 0, c->len);
	KUNIT_ASSERT_EQ(test, c->ret, mpa_accept(b->conn, &p, fx->data,
						 c->len));
	if (c->ret)
		KUNIT_ASSERT_EQ(test, 0, mpa_accept(b->conn, &p, NULL, 0));
	fx_wait(fx, a->replies);
	KUNIT_EXPECT_EQ(test, 0, a->status);
	KUNIT_EXPECT_EQ(test, a->pd_len, c->ret ? 0 : c->len);
	KUNIT_EXPECT_EQ(test, 0, memcmp(a->pd, fx->data, a->pd_len));
	send_some(fx, 0, 3, random_length);
	fx_wait(fx, all_arrived(fx));
}

static void exchange__reject_private_data(struct kunit *test)
{
	const struct pd_case *c = test->param_value;
	struct fixture *fx = test->priv;
	struct end *a = &fx->end[0], *b = &fx->end[1];
	struct mpa_params p = params(c->rev, false, true);

	fx_direct(fx, &plain);
	KUNIT_ASSERT_EQ(test, 0, respond(b, 0));
	KUNIT_ASSERT_EQ(test, 0, mpa_start_initiator(a->conn, &p, NULL, 0, 0));
	fx_wait(fx, b->requests);
	pattern(fx->data, 3, 0, c->len);
	KUNIT_ASSERT_EQ(test, c->ret, mpa_reject(b->conn, &p, fx->data,
						 c->len));
	if (c->ret)
		KUNIT_ASSERT_EQ(test, 0, mpa_reject(b->conn, &p, NULL, 0));
	fx_wait(fx, a->replies);
	KUNIT_EXPECT_EQ(test, -ECONNREFUSED, a->status);
	KUNIT_EXPECT_EQ(test, a->pd_len, c->ret ? 0 : c->len);
	KUNIT_EXPECT_EQ(test, 0, memcmp(a->pd, fx->data, a->pd_len));
}

static void figure_desc(const struct vec_figure *v, char *desc)
{
	strscpy(desc, v->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(figure, vec_figures, figure_desc);

static void expect_plain_tcp(struct kunit *test, struct end *from,
			     struct end *to)
{
	u8 got[4];

	KUNIT_EXPECT_EQ(test, 4, raw_send(from->sock, "abcd", 4));
	KUNIT_EXPECT_EQ(test, 4, raw_recv_all(to->sock, got, 4));
	KUNIT_EXPECT_EQ(test, 0, memcmp(got, "abcd", 4));
}

/* Appendix C.2.1: rejected; the Reply shows the supported revision. */
static void figure_refused(struct fixture *fx, const struct mpa_params *b)
{
	struct kunit *test = fx->test;

	KUNIT_EXPECT_EQ(test, (u8)MPA_REV_RDMAC, fx->end[1].req.rev);
	KUNIT_EXPECT_EQ(test, -EPROTONOSUPPORT,
			mpa_accept(fx->end[1].conn, b, NULL, 0));
	KUNIT_EXPECT_EQ(test, 0, mpa_reject(fx->end[1].conn, b, NULL, 0));
	fx_wait(fx, fx->end[0].replies);
	KUNIT_EXPECT_EQ(test, -ECONNREFUSED, fx->end[0].status);
	expect_plain_tcp(test, &fx->end[0], &fx->end[1]);
	expect_plain_tcp(test, &fx->end[1], &fx->end[0]);
}

/* Appendix C.2.2: the Initiator sees the revision in the Reply and closes. */
static void figure_given_up(struct fixture *fx, const struct mpa_params *b)
{
	struct end *a = &fx->end[0];

	KUNIT_EXPECT_EQ(fx->test, 0,
			mpa_accept(fx->end[1].conn, b, NULL, 0));
	fx_wait(fx, a->replies);
	KUNIT_EXPECT_EQ(fx->test, -EPROTONOSUPPORT, a->status);
	KUNIT_EXPECT_FALSE(fx->test, a->operationals);
	kernel_sock_shutdown(a->sock, SHUT_WR);
	fx_wait(fx, fx->end[1].ended[MPA_ERROR_CLOSED]);
	KUNIT_EXPECT_EQ(fx->test, 0, fx->end[1].err[MPA_ERROR_CLOSED]);
}

static void figure_traffic(struct fixture *fx, const struct vec_figure *v,
			   const struct mpa_params *b)
{
	struct kunit *test = fx->test;
	unsigned int i;

	KUNIT_ASSERT_EQ(test, 0, mpa_accept(fx->end[1].conn, b, NULL, 0));
	fx_wait(fx, fx->end[0].replies);
	KUNIT_ASSERT_EQ(test, 0, fx->end[0].status);
	for (i = 0; i < NR_ENDS; i++) {
		const struct mpa_result *res = &fx->end[i].res;

		KUNIT_EXPECT_EQ(test, v->version, (int)res->ddp_version);
		KUNIT_EXPECT_EQ(test, v->version, (int)res->rev);
		KUNIT_EXPECT_EQ(test, !v->version, res->crc);
		KUNIT_EXPECT_EQ(test, i ? v->to_responder : v->to_initiator,
				res->rx_markers);
		KUNIT_EXPECT_EQ(test, i ? v->to_initiator : v->to_responder,
				res->tx_markers);
	}
	for (i = 0; i < NR_ENDS; i++) {
		send_some(fx, i, 20, random_length);
		fx_wait(fx, all_arrived(fx));
	}
	expect_arrived(fx, &fx->end[0], &fx->end[1]);
	expect_arrived(fx, &fx->end[1], &fx->end[0]);
	close_orderly(fx);
}

/* RFC 5044 appendix C: every cell of figures 15, 16 and 17. */
static void exchange__figure(struct kunit *test)
{
	const struct vec_figure *v = test->param_value;
	struct mpa_params a = vec_kind_params(v->initiator, v->initiator_m,
					      MPA_REV_1);
	struct mpa_params b = vec_kind_params(v->responder, v->responder_m,
					      MPA_REV_1);
	struct fixture *fx = test->priv;

	fx_direct(fx, &plain);
	KUNIT_ASSERT_EQ(test, 0, respond(&fx->end[1], 0));
	KUNIT_ASSERT_EQ(test, 0, mpa_start_initiator(fx->end[0].conn, &a, NULL,
						     0, 0));
	fx_wait(fx, fx->end[1].requests);
	if (v->version >= 0)
		figure_traffic(fx, v, &b);
	else if (v->initiator == VEC_RDMAC)
		figure_refused(fx, &b);
	else
		figure_given_up(fx, &b);
}

static void exchange__reject(struct kunit *test)
{
	struct fixture *fx = test->priv;
	struct end *a = &fx->end[0], *b = &fx->end[1];
	struct mpa_params p = params(MPA_REV_2, false, true);

	fx_direct(fx, &plain);
	KUNIT_ASSERT_EQ(test, 0, respond(b, 0));
	KUNIT_ASSERT_EQ(test, 0, mpa_start_initiator(a->conn, &p, NULL, 0, 0));
	fx_wait(fx, b->requests);
	KUNIT_ASSERT_EQ(test, 0, mpa_reject(b->conn, &p, "no", 2));
	fx_wait(fx, a->replies);
	KUNIT_EXPECT_EQ(test, -ECONNREFUSED, a->status);
	KUNIT_EXPECT_TRUE(test, a->with_res);
	KUNIT_EXPECT_EQ(test, 2, a->pd_len);
	KUNIT_EXPECT_EQ(test, 0, memcmp(a->pd, "no", 2));

	KUNIT_EXPECT_EQ(test, -EINVAL, mpa_accept(b->conn, &p, NULL, 0));
	lock_sock(a->sock->sk);
	KUNIT_EXPECT_EQ(test, -EPIPE, mpa_tx_begin(a->conn));
	release_sock(a->sock->sk);

	/* TCP stays open, and its end is not reported. */
	expect_plain_tcp(test, a, b);
	expect_plain_tcp(test, b, a);
	kernel_sock_shutdown(b->sock, SHUT_RDWR);
	kernel_sock_shutdown(a->sock, SHUT_RDWR);
	fx_settle();
	KUNIT_EXPECT_EQ(test, 1, end_events(a));
	KUNIT_EXPECT_EQ(test, 0, end_events(b));
	KUNIT_EXPECT_EQ(test, 0, a->operationals + b->operationals);
}

/* Bytes behind a frame that ends MPA are left for the owner to read. */
static void exchange__reject_and_more(struct kunit *test)
{
	struct fixture *fx = test->priv;
	struct end *a = &fx->end[0], *b = &fx->end[1];
	struct mpa_params p = params(MPA_REV_1, false, true);
	u8 got[4], *f = fx->data;
	u32 n;

	fx_with_raw(fx, 1, &plain);
	KUNIT_ASSERT_EQ(test, 0, respond(b, 0));
	n = raw_frame(f, false, CRC, 1, 512);
	memcpy(f + n, "more", 4);
	raw_send(fx->relay.raw[1], f, n + 4);
	fx_wait(fx, b->requests);
	KUNIT_ASSERT_EQ(test, 0, mpa_reject(b->conn, &p, "no", 2));
	KUNIT_EXPECT_EQ(test, 4, raw_recv_all(b->sock, got, 4));
	KUNIT_EXPECT_EQ(test, 0, memcmp(got, "more", 4));
	KUNIT_EXPECT_EQ(test, 22, raw_recv_all(fx->relay.raw[1], f, 22));
	KUNIT_EXPECT_EQ(test, CRC | REJECT, f[16]);

	fx_with_raw(fx, 0, &plain);
	KUNIT_ASSERT_EQ(test, 0, mpa_start_initiator(a->conn, &p, NULL, 0, 0));
	KUNIT_ASSERT_EQ(test, 20, raw_recv_all(fx->relay.raw[0], f, 20));
	n = raw_frame(f, true, CRC | REJECT, 1, 512);
	memcpy(f + n, "more", 4);
	raw_send(fx->relay.raw[0], f, n + 4);
	fx_wait(fx, a->replies);
	KUNIT_EXPECT_EQ(test, -ECONNREFUSED, a->status);
	KUNIT_EXPECT_EQ(test, 512, a->pd_len);
	KUNIT_EXPECT_EQ(test, 4, raw_recv_all(a->sock, got, 4));
	KUNIT_EXPECT_EQ(test, 0, memcmp(got, "more", 4));
	/* Only the owners close the connection. */
	KUNIT_EXPECT_EQ(test, -EAGAIN, raw_recv(fx->relay.raw[0], got, 1));
	KUNIT_EXPECT_EQ(test, -EAGAIN, raw_recv(fx->relay.raw[1], got, 1));
}

/* A Request of a revision newer than the Responder supports. */
static void exchange__too_new(struct kunit *test)
{
	struct fixture *fx = test->priv;
	struct mpa_params p = params(MPA_REV_2, false, true);

	fx_direct(fx, &plain);
	KUNIT_ASSERT_EQ(test, 0, respond(&fx->end[1], 0));
	KUNIT_ASSERT_EQ(test, 0, mpa_start_initiator(fx->end[0].conn, &p, NULL,
						     0, 0));
	fx_wait(fx, fx->end[1].requests);
	p.rev = MPA_REV_1;
	KUNIT_EXPECT_EQ(test, -EPROTONOSUPPORT,
			mpa_accept(fx->end[1].conn, &p, NULL, 0));
	/* No Reply is sent. */
	KUNIT_EXPECT_EQ(test, -EPROTONOSUPPORT,
			mpa_reject(fx->end[1].conn, &p, NULL, 0));
	fx_settle();
	KUNIT_EXPECT_EQ(test, 0, fx->end[0].replies);
}

/* A failure that is reported to the peer in full operation. */
static void exchange__ird_cannot_be_met(struct kunit *test)
{
	struct fixture *fx = test->priv;
	struct end *a = &fx->end[0];
	struct mpa_params p = params(MPA_REV_2, false, true);
	u8 *f = fx->data;
	u32 n;

	fx_with_raw(fx, 0, &plain);
	p.ird = 1;
	p.ird_max = 4;
	KUNIT_ASSERT_EQ(test, 0, mpa_start_initiator(a->conn, &p, NULL, 0, 0));
	KUNIT_ASSERT_EQ(test, 24, raw_recv_all(fx->relay.raw[0], f, 24));
	n = raw_frame(f, true, CRC | ENHANCED, 2, 4);
	f[21] = 8;		/* IRD */
	f[23] = 5;		/* ORD */
	raw_send(fx->relay.raw[0], f, n);
	fx_wait(fx, a->replies);
	KUNIT_EXPECT_EQ(test, -ENOSPC, a->status);
	KUNIT_EXPECT_EQ(test, 1, a->operationals);
	KUNIT_EXPECT_TRUE(test, a->with_res);
	/* A Terminate Message can be sent; nothing is received any more. */
	send_some(fx, 0, 1, random_length);
	n = raw_fpdu(f, "x", 1);
	raw_send(fx->relay.raw[0], f, n);
	kernel_sock_shutdown(fx->relay.raw[0], SHUT_WR);
	fx_settle();
	KUNIT_EXPECT_EQ(test, 0, a->rx_ulpdus);
	KUNIT_EXPECT_EQ(test, 1, end_events(a));
}

/* ---- Improper startups ---- */

static void startup__wrong_request(struct kunit *test)
{
	struct fixture *fx = test->priv;
	struct end *b = &fx->end[1];

	fx_with_raw(fx, 1, &plain);
	KUNIT_ASSERT_EQ(test, 0, respond(b, 0));
	raw_send(fx->relay.raw[1], "GET / HTTP/1.0\r\n\r\n", 18);
	fx_wait(fx, end_events(b));
	KUNIT_EXPECT_EQ(test, 1, b->ended[MPA_ERROR_STARTUP]);
	KUNIT_EXPECT_EQ(test, -EPROTO, b->err[MPA_ERROR_STARTUP]);
	kernel_sock_shutdown(fx->relay.raw[1], SHUT_WR);
	fx_settle();
	KUNIT_EXPECT_EQ(test, 1, end_events(b));
	KUNIT_EXPECT_EQ(test, 0, b->requests);
}

static void bad_frame_desc(const struct vec_bad_frame *v, char *desc)
{
	strscpy(desc, v->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(bad_frame, vec_bad_frames, bad_frame_desc);

/* Code 4, once. Later bytes are ignored; TCP stays open for the owner. */
static void startup__bad_frame(struct kunit *test)
{
	const struct vec_bad_frame *v = test->param_value;
	struct mpa_params p = params(MPA_REV_1, false, true);
	struct fixture *fx = test->priv;
	bool responder = !v->expect_reply;
	struct end *e = &fx->end[responder];
	struct socket *raw;
	u8 *f = fx->data;

	fx_with_raw(fx, responder, &plain);
	raw = fx->relay.raw[responder];
	KUNIT_ASSERT_EQ(test, 0, responder ? respond(e, LONG_MS) :
			mpa_start_initiator(e->conn, &p, NULL, 0, LONG_MS));
	if (!responder)
		KUNIT_ASSERT_EQ(test, 20, raw_recv_all(raw, f, 20));
	raw_send(raw, f, vec_unhex(v->hex, f, ROOM));
	fx_wait(fx, end_events(e));
	KUNIT_EXPECT_EQ(test, v->want, responder ? e->err[MPA_ERROR_STARTUP] :
						   e->status);
	KUNIT_EXPECT_EQ(test, responder, e->ended[MPA_ERROR_STARTUP]);

	raw_send(raw, f, raw_frame(f, !responder, CRC, 1, 0));
	fx_settle();
	KUNIT_EXPECT_EQ(test, -EAGAIN, raw_recv(raw, f, 1));
	kernel_sock_shutdown(raw, SHUT_WR);
	fx_settle();
	KUNIT_EXPECT_EQ(test, 1, end_events(e));
	KUNIT_EXPECT_EQ(test, 0, e->requests + e->operationals);
}

/* The timeout is for the whole frame: no byte of it extends the timeout. */
static void startup__frame_too_slow(struct kunit *test)
{
	struct fixture *fx = test->priv;
	struct end *b = &fx->end[1];
	u8 *f = fx->data;
	u32 i, n;

	fx_with_raw(fx, 1, &plain);
	KUNIT_ASSERT_EQ(test, 0, respond(b, SHORT_MS));
	n = raw_frame(f, false, CRC, 1, 512);
	for (i = 0; i < n - 1 && !end_events(b); i++) {
		raw_send(fx->relay.raw[1], f + i, 1);
		msleep(5);
	}
	fx_wait(fx, end_events(b));
	KUNIT_EXPECT_EQ(test, -ETIMEDOUT, b->err[MPA_ERROR_STARTUP]);
	KUNIT_EXPECT_EQ(test, 1, b->ended[MPA_ERROR_STARTUP]);
	/* The rest arrives too late. */
	raw_send(fx->relay.raw[1], f + i, n - i);
	fx_settle();
	KUNIT_EXPECT_EQ(test, 1, end_events(b));
	KUNIT_EXPECT_EQ(test, 0, b->requests);
}

static void startup__two_initiators(struct kunit *test)
{
	struct fixture *fx = test->priv;
	struct mpa_params p = params(MPA_REV_2, false, true);
	unsigned int i;

	fx_direct(fx, &plain);
	/* The second one has the other's Request before it sends its own. */
	for (i = 0; i < NR_ENDS; i++)
		KUNIT_ASSERT_EQ(test, 0, mpa_start_initiator(fx->end[i].conn,
							     &p, NULL, 0, 0));
	fx_wait(fx, end_events(&fx->end[0]) && end_events(&fx->end[1]));
	KUNIT_EXPECT_EQ(test, -EALREADY, fx->end[0].status);
	KUNIT_EXPECT_EQ(test, -EALREADY, fx->end[1].status);
	KUNIT_EXPECT_FALSE(test, fx->end[0].with_res);
	KUNIT_EXPECT_EQ(test, -EINVAL, respond(&fx->end[0], 0));
}

/* A Reply that arrives before the Request was sent is not valid. */
static void startup__reply_comes_first(struct kunit *test)
{
	struct fixture *fx = test->priv;
	struct end *a = &fx->end[0];
	struct mpa_params p = params(MPA_REV_1, false, true);

	fx_with_raw(fx, 0, &plain);
	raw_send(fx->relay.raw[0], fx->data,
		 raw_frame(fx->data, true, CRC, 1, 0));
	fx_settle();
	KUNIT_ASSERT_EQ(test, 0, mpa_start_initiator(a->conn, &p, NULL, 0, 0));
	fx_wait(fx, a->replies);
	KUNIT_EXPECT_EQ(test, -EPROTO, a->status);
}

static void startup__no_reply(struct kunit *test)
{
	struct fixture *fx = test->priv;
	struct end *a = &fx->end[0];
	struct mpa_params p = params(MPA_REV_2, false, true);

	fx_with_raw(fx, 0, &plain);
	KUNIT_ASSERT_EQ(test, 0, mpa_start_initiator(a->conn, &p, NULL, 0,
						     SHORT_MS));
	fx_wait(fx, a->replies);
	KUNIT_EXPECT_EQ(test, -ETIMEDOUT, a->status);
	/* Too late. */
	raw_send(fx->relay.raw[0], fx->data,
		 raw_frame(fx->data, true, CRC, 1, 0));
	fx_settle();
	KUNIT_EXPECT_EQ(test, 1, end_events(a));
	KUNIT_EXPECT_EQ(test, 0, a->operationals);
}

static void startup__no_request(struct kunit *test)
{
	struct fixture *fx = test->priv;
	unsigned int i;

	/* Both are Responders. */
	fx_direct(fx, &plain);
	for (i = 0; i < NR_ENDS; i++)
		KUNIT_ASSERT_EQ(test, 0, respond(&fx->end[i], SHORT_MS));
	fx_wait(fx, end_events(&fx->end[0]) && end_events(&fx->end[1]));
	for (i = 0; i < NR_ENDS; i++) {
		KUNIT_EXPECT_EQ(test, 1, fx->end[i].ended[MPA_ERROR_STARTUP]);
		KUNIT_EXPECT_EQ(test, -ETIMEDOUT,
				fx->end[i].err[MPA_ERROR_STARTUP]);
		KUNIT_EXPECT_EQ(test, 1, end_events(&fx->end[i]));
	}
}

/* The startup timeout is for the Request, not for the owner's answer. */
static void startup__late_answer(struct kunit *test)
{
	struct fixture *fx = test->priv;
	struct mpa_params p = params(MPA_REV_2, true, true);

	fx_direct(fx, &plain);
	KUNIT_ASSERT_EQ(test, 0, respond(&fx->end[1], SHORT_MS));
	KUNIT_ASSERT_EQ(test, 0, mpa_start_initiator(fx->end[0].conn, &p, NULL,
						     0, 0));
	fx_wait(fx, fx->end[1].requests);
	msleep(2 * SHORT_MS);
	KUNIT_ASSERT_EQ(test, 0, mpa_accept(fx->end[1].conn, &p, NULL, 0));
	fx_wait(fx, fx->end[0].replies);
	/* Without peer-to-peer mode the first FPDU has no timeout. */
	msleep(2 * SHORT_MS);
	send_some(fx, 0, 1, random_length);
	fx_wait(fx, all_arrived(fx));
	KUNIT_EXPECT_EQ(test, 0, end_events(&fx->end[1]));
}

static void startup__no_rtr(struct kunit *test)
{
	struct fixture *fx = test->priv;
	struct end *b = &fx->end[1];
	struct mpa_params p = params(MPA_REV_2, false, true);

	p.p2p = true;
	fx_direct(fx, &plain);
	KUNIT_ASSERT_EQ(test, 0, respond(b, SHORT_MS));
	KUNIT_ASSERT_EQ(test, 0, mpa_start_initiator(fx->end[0].conn, &p, NULL,
						     0, 0));
	fx_wait(fx, b->requests);
	KUNIT_ASSERT_EQ(test, 0, mpa_accept(b->conn, &p, NULL, 0));
	KUNIT_EXPECT_TRUE(test, b->res.p2p);
	fx_wait(fx, end_events(b));
	KUNIT_EXPECT_EQ(test, 1, b->ended[MPA_ERROR_STARTUP]);
	KUNIT_EXPECT_EQ(test, -ETIMEDOUT, b->err[MPA_ERROR_STARTUP]);
	send_some(fx, 0, 1, random_length);
	fx_settle();
	KUNIT_EXPECT_EQ(test, 0, b->rx_ulpdus);
	KUNIT_EXPECT_EQ(test, 1, end_events(b));
}

static void startup__rtr(struct kunit *test)
{
	struct fixture *fx = test->priv;
	struct end *b = &fx->end[1];
	struct mpa_params p = params(MPA_REV_2, false, true);

	p.p2p = true;
	fx_direct(fx, &plain);
	KUNIT_ASSERT_EQ(test, 0, respond(b, 2 * SHORT_MS));
	KUNIT_ASSERT_EQ(test, 0, mpa_start_initiator(fx->end[0].conn, &p, NULL,
						     0, 0));
	fx_wait(fx, b->requests);
	KUNIT_ASSERT_EQ(test, 0, mpa_accept(b->conn, &p, NULL, 0));
	fx_wait(fx, replied(fx));
	send_some(fx, 0, 1, random_length);
	fx_wait(fx, all_arrived(fx));
	msleep(3 * SHORT_MS);
	KUNIT_EXPECT_EQ(test, 0, end_events(b));
}

/* Bytes that arrive before a Request is accepted are no FPDU: error 4. */
static void startup__more_behind_request(struct kunit *test)
{
	struct mpa_params p = params(MPA_REV_1, false, true);
	struct fixture *fx = test->priv;
	struct end *b = &fx->end[1];
	u8 ulpdu[40], *f = fx->data;
	u32 n;

	pattern(ulpdu, 0, 0, sizeof(ulpdu));
	fx_with_raw(fx, 1, &plain);
	KUNIT_ASSERT_EQ(test, 0, respond(b, 0));
	n = raw_frame(f, false, CRC, 1, 7);
	n += raw_fpdu(f + n, ulpdu, sizeof(ulpdu));
	raw_send(fx->relay.raw[1], f, n);
	fx_wait(fx, b->requests);
	fx_settle();
	KUNIT_EXPECT_EQ(test, 0, end_events(b));
	KUNIT_EXPECT_EQ(test, -EPROTO, mpa_accept(b->conn, &p, NULL, 0));
	KUNIT_EXPECT_EQ(test, 1, b->ended[MPA_ERROR_STARTUP]);
	KUNIT_EXPECT_EQ(test, -EPROTO, b->err[MPA_ERROR_STARTUP]);
	KUNIT_EXPECT_EQ(test, -EINVAL, mpa_accept(b->conn, &p, NULL, 0));
	KUNIT_EXPECT_EQ(test, -EINVAL, mpa_reject(b->conn, &p, NULL, 0));
	fx_settle();
	/* No Reply is sent, and TCP stays open until the owner closes it. */
	KUNIT_EXPECT_EQ(test, -EAGAIN, raw_recv(fx->relay.raw[1], f, 1));
	KUNIT_EXPECT_EQ(test, 0, b->operationals + b->rx_ulpdus);
	KUNIT_EXPECT_EQ(test, 1, end_events(b));
}

/*
 * Bytes behind a Reply are FPDUs. Those that arrive before the Initiator has
 * sent its first FPDU are counted as too soon.
 */
static void startup__fpdu_behind_reply(struct kunit *test)
{
	struct mpa_params p = params(MPA_REV_1, false, true);
	struct fixture *fx = test->priv;
	struct end *a = &fx->end[0];
	u8 ulpdu[40], *f = fx->data;
	struct mpa_conn_stats st;
	u32 n;

	pattern(ulpdu, 0, 0, sizeof(ulpdu));
	fx_with_raw(fx, 0, &plain);
	KUNIT_ASSERT_EQ(test, 0, mpa_start_initiator(a->conn, &p, NULL, 0, 0));
	KUNIT_ASSERT_EQ(test, 20, raw_recv_all(fx->relay.raw[0], f, 20));
	n = raw_frame(f, true, CRC, 1, 512);
	n += raw_fpdu(f + n, ulpdu, sizeof(ulpdu));
	raw_send(fx->relay.raw[0], f, n);
	fx_wait(fx, a->replies && a->rx_ulpdus == 1);
	KUNIT_EXPECT_EQ(test, 512, a->pd_len);
	pattern(ulpdu, 1, 0, sizeof(ulpdu));
	raw_send(fx->relay.raw[0], f, raw_fpdu(f, ulpdu, sizeof(ulpdu)));
	fx_wait(fx, a->rx_ulpdus == 2);
	mpa_conn_stats(a->conn, &st);
	KUNIT_EXPECT_EQ(test, 2ULL, st.rx_too_soon);
	send_some(fx, 0, 1, random_length);
	pattern(ulpdu, 2, 0, sizeof(ulpdu));
	raw_send(fx->relay.raw[0], f, raw_fpdu(f, ulpdu, sizeof(ulpdu)));
	fx_wait(fx, a->rx_ulpdus == 3);
	mpa_conn_stats(a->conn, &st);
	KUNIT_EXPECT_EQ(test, 2ULL, st.rx_too_soon);
	KUNIT_EXPECT_EQ(test, 3ULL, st.rx_fpdus);
	KUNIT_EXPECT_EQ(test, 0, end_events(a));
}

/* The settings can limit how long a Responder waits for the first FPDU. */
static void startup__no_first_fpdu(struct kunit *test)
{
	struct mpa_params p = params(MPA_REV_1, false, true);
	struct mpa_config cfg = {};
	struct fixture *fx = test->priv;
	struct end *b = &fx->end[1];

	fx_direct(fx, &plain);
	cfg.v[MPA_A_CONFIG_FIRST_FPDU_TIMEOUT] = SHORT_MS;
	lock_sock(b->sock->sk);
	mpa_set_config(b->conn, &cfg);
	release_sock(b->sock->sk);
	start_both(fx, &p, &p);
	fx_wait(fx, end_events(b));
	KUNIT_EXPECT_EQ(test, 1, b->ended[MPA_ERROR_STARTUP]);
	KUNIT_EXPECT_EQ(test, -ETIMEDOUT, b->err[MPA_ERROR_STARTUP]);
	send_some(fx, 0, 1, random_length);
	fx_settle();
	KUNIT_EXPECT_EQ(test, 0, b->rx_ulpdus);
	KUNIT_EXPECT_EQ(test, 1, end_events(b));
}

/* The first FPDU stops the timer. */
static void startup__first_fpdu(struct kunit *test)
{
	struct mpa_params p = params(MPA_REV_1, false, true);
	struct mpa_config cfg = {};
	struct fixture *fx = test->priv;
	struct end *b = &fx->end[1];

	fx_direct(fx, &plain);
	cfg.v[MPA_A_CONFIG_FIRST_FPDU_TIMEOUT] = 2 * SHORT_MS;
	lock_sock(b->sock->sk);
	mpa_set_config(b->conn, &cfg);
	release_sock(b->sock->sk);
	start_both(fx, &p, &p);
	send_some(fx, 0, 1, random_length);
	fx_wait(fx, all_arrived(fx));
	msleep(3 * SHORT_MS);
	KUNIT_EXPECT_EQ(test, 0, end_events(b));
}

/* Reads @nr FPDUs and checks their CRCs. Returns their bytes. */
static u64 read_fpdus(struct kunit *test, struct socket *raw, u8 *buf, u32 nr)
{
	u64 total = 0;

	while (nr--) {
		u32 len, n, crc;

		KUNIT_ASSERT_EQ(test, 2, raw_recv_all(raw, buf, 2));
		len = buf[0] << 8 | buf[1];
		n = ALIGN(2 + len, 4) + 4;
		KUNIT_ASSERT_EQ(test, (int)n - 2,
				raw_recv_all(raw, buf + 2, n - 2));
		crc = ~crc32c(~0, buf, n - 4);
		KUNIT_ASSERT_EQ(test, (u8)crc, buf[n - 4]);
		KUNIT_ASSERT_EQ(test, (u8)(crc >> 24), buf[n - 1]);
		total += n;
	}
	return total;
}

struct last_case {
	u32 len;
	bool early;
	int sndbuf;
	int rcvbuf;
};

/* An early Request arrives before the peer has the last streaming message. */
static const struct last_case last_cases[] = {
	{ 1, false }, { 1, true }, { 1449, false }, { 1449, true },
	{ MPA_LAST_MESSAGE_MAX, false }, { MPA_LAST_MESSAGE_MAX, true },
	{ MPA_LAST_MESSAGE_MAX, true, 4608, 2304 },
};

static void last_desc(const struct last_case *c, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u bytes%s sndbuf %d", c->len,
		 c->early ? ", early Request," : "", c->sndbuf);
}

KUNIT_ARRAY_PARAM(last, last_cases, last_desc);

/* Reads the last streaming message from the raw peer's socket. */
static void expect_last_message(struct fixture *fx, u32 len)
{
	pattern(fx->end[0].out, 9, 0, len);
	KUNIT_ASSERT_EQ(fx->test, (int)len,
			raw_recv_all(fx->relay.raw[1], fx->data, len));
	KUNIT_EXPECT_EQ(fx->test, 0, memcmp(fx->data, fx->end[0].out, len));
}

/*
 * The raw peer sends streaming data. Of an early Request, one part arrives
 * before attaching and the rest after it.
 */
static struct socket *last_streaming(struct fixture *fx,
				     const struct last_case *c)
{
	struct link_options lo = { .sndbuf = c->sndbuf, .rcvbuf = c->rcvbuf };
	struct end *b = &fx->end[1];
	struct socket *raw;
	u8 f[20], hello[5];

	/* The raw peer connects, so that it has the small buffers. */
	fx_pair(fx, &lo, &fx->relay.raw[1], &b->sock);
	raw = fx->relay.raw[1];
	set_options(b->sock, &lo);
	KUNIT_ASSERT_EQ(fx->test, 5, raw_send(raw, "hello", 5));
	KUNIT_ASSERT_EQ(fx->test, 5, raw_recv_all(b->sock, hello, 5));
	raw_frame(f, false, CRC, 1, 0);
	if (c->early)
		raw_send(raw, f, 7);
	fx_attach(b);
	if (c->early)
		raw_send(raw, f + 7, 13);
	fx_settle();
	KUNIT_EXPECT_EQ(fx->test, 0, b->requests + end_events(b));
	return raw;
}

/* Full operation in both directions; checks Reply and FPDUs in the stream. */
static void last_operation(struct fixture *fx, struct socket *raw)
{
	struct end *b = &fx->end[1];
	u8 *f = fx->data;

	KUNIT_ASSERT_EQ(fx->test, 23, raw_recv_all(raw, f, 23));
	KUNIT_EXPECT_EQ(fx->test, 0, memcmp(f, "MPA ID Rep Frame", 16));
	KUNIT_EXPECT_EQ(fx->test, 0, memcmp(f + 20, "yes", 3));
	pattern(f, 0, 0, 99);
	raw_send(raw, f + 99, raw_fpdu(f + 99, f, 99));
	fx_wait(fx, b->rx_ulpdus == 1);
	send_some(fx, 1, 1, random_length);
	read_fpdus(fx->test, raw, f, 1);
	KUNIT_EXPECT_EQ(fx->test, 0, end_events(b));
}

static void startup__last_message(struct kunit *test)
{
	const struct last_case *c = test->param_value;
	struct mpa_params p = params(MPA_REV_1, false, true);
	struct fixture *fx = test->priv;
	struct end *b = &fx->end[1];
	struct socket *raw = last_streaming(fx, c);
	u8 f[20];

	pattern(fx->data, 9, 0, c->len);
	KUNIT_ASSERT_EQ(test, 0, mpa_start_responder(b->conn, fx->data, c->len,
						     0));
	memset(fx->data, 0, c->len);
	if (!c->early) {
		expect_last_message(fx, c->len);
		KUNIT_EXPECT_EQ(test, 0, b->requests);
		raw_send(raw, f, raw_frame(f, false, CRC, 1, 0));
	}
	fx_wait(fx, b->requests);
	KUNIT_ASSERT_EQ(test, 0, mpa_accept(b->conn, &p, "yes", 3));
	lock_sock(b->sock->sk);
	/* The message does not fit in a buffer of this size. */
	if (c->sndbuf)
		KUNIT_EXPECT_FALSE(test, mpa_tx_drained(b->conn));
	release_sock(b->sock->sk);
	/* The message is sent first, then the Reply. */
	if (c->early)
		expect_last_message(fx, c->len);
	last_operation(fx, raw);
}

/* A message that is too long is refused; one that cannot be sent ends MPA. */
static void startup__last_message_fails(struct kunit *test)
{
	struct fixture *fx = test->priv;
	struct end *b = &fx->end[1];
	u8 *f = fx->data;

	fx_with_raw(fx, 1, &plain);
	KUNIT_EXPECT_EQ(test, -EMSGSIZE,
			mpa_start_responder(b->conn, f,
					    MPA_LAST_MESSAGE_MAX + 1, 0));
	kernel_sock_shutdown(b->sock, SHUT_WR);
	KUNIT_EXPECT_EQ(test, -ECONNRESET,
			mpa_start_responder(b->conn, "last", 4, SHORT_MS));
	KUNIT_EXPECT_EQ(test, -EINVAL, respond(b, 0));
	raw_send(fx->relay.raw[1], f, raw_frame(f, false, CRC, 1, 0));
	msleep(2 * SHORT_MS);
	KUNIT_EXPECT_EQ(test, 0, b->requests + end_events(b));
	KUNIT_EXPECT_EQ(test, 0, raw_recv(fx->relay.raw[1], f, 1));
}

/*
 * A Responder sends nothing before it has received an FPDU, not even a Marker;
 * what it then sends begins with a Marker.
 */
static void startup__responder_on_the_wire(struct kunit *test)
{
	struct mpa_params p = params(MPA_REV_1, false, true);
	struct fixture *fx = test->priv;
	struct end *b = &fx->end[1];
	struct socket *raw;
	u8 *f = fx->data;
	u32 n;

	fx_with_raw(fx, 1, &plain);
	raw = fx->relay.raw[1];
	KUNIT_ASSERT_EQ(test, 0, respond(b, 0));
	raw_send(raw, f, raw_frame(f, false, MARKERS | CRC, 1, 0));
	fx_wait(fx, b->requests);
	KUNIT_ASSERT_EQ(test, 0, mpa_accept(b->conn, &p, NULL, 0));
	KUNIT_ASSERT_EQ(test, 20, raw_recv_all(raw, f, 20));
	KUNIT_EXPECT_EQ(test, CRC, f[16]);
	lock_sock(b->sock->sk);
	KUNIT_EXPECT_EQ(test, -EAGAIN, mpa_tx_begin(b->conn));
	release_sock(b->sock->sk);
	pattern(f, 0, 0, 50);
	n = raw_fpdu(f + 50, f, 50);
	/* Without its last byte the FPDU is not complete. */
	raw_send(raw, f + 50, n - 1);
	fx_settle();
	KUNIT_EXPECT_EQ(test, -EAGAIN, raw_recv(raw, f + 500, 1));
	KUNIT_EXPECT_EQ(test, 0, b->writables);
	raw_send(raw, f + 50 + n - 1, 1);
	fx_wait(fx, b->writables == 1);
	fx_settle();
	KUNIT_EXPECT_EQ(test, -EAGAIN, raw_recv(raw, f + 500, 1));
	send_some(fx, 1, 1, longest_length);
	KUNIT_ASSERT_EQ(test, 6, raw_recv_all(raw, f, 6));
	KUNIT_EXPECT_EQ(test, 0, memcmp(f, "\0\0\0\0", 4));
	KUNIT_EXPECT_EQ(test, b->tx_bytes, (u64)(f[4] << 8 | f[5]));
}

/* A Responder cannot send until it has received the first FPDU. */
static void startup__responder_waits(struct kunit *test)
{
	struct fixture *fx = test->priv;
	struct end *b = &fx->end[1];
	struct mpa_params p = params(MPA_REV_1, true, true);

	fx_direct(fx, &plain);
	start_both(fx, &p, &p);
	lock_sock(b->sock->sk);
	KUNIT_EXPECT_EQ(test, -EAGAIN, mpa_tx_begin(b->conn));
	release_sock(b->sock->sk);
	KUNIT_EXPECT_EQ(test, 0, b->writables);
	send_some(fx, 0, 1, random_length);
	fx_wait(fx, b->writables == 1);
	send_some(fx, 1, 1, random_length);
	fx_wait(fx, all_arrived(fx));
}

/* ---- The end of TCP in every state ---- */

enum phase {
	ATTACHED,
	WAIT_REPLY,
	WITHIN_REPLY,
	WAIT_REQUEST,
	WITHIN_REQUEST,
	REQUEST_SEEN,
	REQUEST_AND_MORE,
	OPERATIONAL,
	WITHIN_FPDU,
	AFTER_FPDU,
	AFTER_FAULT,
	REJECTED,
	REFUSED,
	ACCEPTED,
	FIRST_FPDU,
	NR_PHASES,
};

static const char * const phase_names[NR_PHASES] = {
	[ATTACHED]		= "attached",
	[WAIT_REPLY]		= "waiting for the reply",
	[WITHIN_REPLY]		= "within the reply",
	[WAIT_REQUEST]		= "waiting for the request",
	[WITHIN_REQUEST]	= "within the request",
	[REQUEST_SEEN]		= "request received",
	[REQUEST_AND_MORE]	= "bytes behind the request",
	[OPERATIONAL]		= "operational",
	[WITHIN_FPDU]		= "within an FPDU",
	[AFTER_FPDU]		= "after an FPDU",
	[AFTER_FAULT]		= "after a bad CRC",
	[REJECTED]		= "rejected",
	[REFUSED]		= "after rejecting",
	[ACCEPTED]		= "after accepting",
	[FIRST_FPDU]		= "within the first FPDU",
};

/* The end of TCP is not reported: not started, or MPA has already ended. */
static bool end_is_not_reported(enum phase phase)
{
	return phase == ATTACHED || phase == REJECTED || phase == REFUSED;
}

static bool is_responder(enum phase phase)
{
	return (phase >= WAIT_REQUEST && phase <= REQUEST_AND_MORE) ||
	       phase >= REFUSED;
}

struct end_case {
	enum phase phase;
	bool reset;
};

static const void *end_next(const void *prev, char *desc)
{
	static struct end_case c;
	static unsigned int i;

	i = prev ? i + 1 : 0;
	if (i == 2 * NR_PHASES)
		return NULL;
	c = (struct end_case){ .phase = i / 2, .reset = i % 2 };
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s, %s", phase_names[c.phase],
		 c.reset ? "RST" : "FIN");
	return &c;
}

static void reach_as_initiator(struct fixture *fx, enum phase phase)
{
	struct mpa_params p = params(MPA_REV_1, false, true);
	struct socket *raw;
	u8 *f = fx->data;
	u32 n;

	fx_with_raw(fx, 0, &plain);
	raw = fx->relay.raw[0];
	if (phase == ATTACHED)
		return;
	KUNIT_ASSERT_EQ(fx->test, 0, mpa_start_initiator(fx->end[0].conn, &p,
							 NULL, 0, 0));
	KUNIT_ASSERT_EQ(fx->test, 20, raw_recv_all(raw, f, 20));
	if (phase == WAIT_REPLY)
		return;
	n = raw_frame(f, true, phase == REJECTED ? CRC | REJECT : CRC, 1, 3);
	raw_send(raw, f, phase == WITHIN_REPLY ? 21 : n);
	if (phase == WITHIN_REPLY)
		return;
	fx_wait(fx, fx->end[0].replies);
	pattern(f + 1000, 0, 0, 100);
	n = raw_fpdu(f, f + 1000, 100);
	if (phase == WITHIN_FPDU)
		raw_send(raw, f, n - 1);
	if (phase == AFTER_FPDU)
		raw_send(raw, f, n);
	if (phase == AFTER_FAULT) {
		f[10] ^= 1;
		raw_send(raw, f, n);
		fx_wait(fx, fx->end[0].ended[MPA_ERROR_CRC]);
	}
}

static void reach_after_request(struct fixture *fx, enum phase phase)
{
	struct mpa_params p = params(MPA_REV_1, false, true);
	struct mpa_conn *conn = fx->end[1].conn;
	u8 *f = fx->data;

	if (phase == REFUSED)
		KUNIT_ASSERT_EQ(fx->test, 0, mpa_reject(conn, &p, NULL, 0));
	if (phase == ACCEPTED || phase == FIRST_FPDU)
		KUNIT_ASSERT_EQ(fx->test, 0, mpa_accept(conn, &p, NULL, 0));
	/* An unread Reply would turn the peer's FIN into a RST. */
	if (phase >= REFUSED)
		KUNIT_ASSERT_EQ(fx->test, 20,
				raw_recv_all(fx->relay.raw[1], f, 20));
	pattern(f + 1000, 0, 0, 100);
	if (phase == FIRST_FPDU)
		raw_send(fx->relay.raw[1], f, raw_fpdu(f, f + 1000, 100) - 1);
}

static void reach_as_responder(struct fixture *fx, enum phase phase)
{
	u8 *f = fx->data;
	u32 n;

	fx_with_raw(fx, 1, &plain);
	KUNIT_ASSERT_EQ(fx->test, 0, respond(&fx->end[1], 0));
	if (phase == WAIT_REQUEST)
		return;
	n = raw_frame(f, false, CRC, 1, 3);
	raw_send(fx->relay.raw[1], f, phase == WITHIN_REQUEST ? 21 :
				      phase == REQUEST_AND_MORE ? n + 5 : n);
	if (phase == WITHIN_REQUEST)
		return;
	fx_wait(fx, fx->end[1].requests);
	reach_after_request(fx, phase);
}

static struct end *reach_phase(struct fixture *fx, enum phase phase)
{
	if (is_responder(phase))
		reach_as_responder(fx, phase);
	else
		reach_as_initiator(fx, phase);
	return &fx->end[is_responder(phase)];
}

static unsigned int events_at_end(enum phase phase)
{
	return phase == AFTER_FAULT ? 2 : phase == REJECTED ? 1 :
	       !end_is_not_reported(phase);
}

static void expect_end(struct kunit *test, const struct end_case *c,
		       struct end *e)
{
	bool part = c->phase == WITHIN_REQUEST || c->phase == WITHIN_FPDU ||
		    c->phase == FIRST_FPDU;
	int err = c->reset ? -ECONNRESET : part ? -ECONNABORTED : 0;

	if (c->phase == WAIT_REPLY || c->phase == WITHIN_REPLY) {
		KUNIT_EXPECT_EQ(test, -ECONNRESET, e->status);
		KUNIT_EXPECT_FALSE(test, e->with_res);
		KUNIT_EXPECT_EQ(test, 1, e->replies);
	} else {
		KUNIT_EXPECT_EQ(test, 1, e->ended[MPA_ERROR_CLOSED]);
		KUNIT_EXPECT_EQ(test, err, e->err[MPA_ERROR_CLOSED]);
	}
}

static void end__of_tcp(struct kunit *test)
{
	const struct end_case *c = test->param_value;
	struct mpa_params p = params(MPA_REV_1, false, true);
	struct fixture *fx = test->priv;
	bool responder = is_responder(c->phase);
	struct end *e = reach_phase(fx, c->phase);

	fx_settle();
	if (c->reset)
		fx_reset(&fx->relay.raw[responder]);
	else
		kernel_sock_shutdown(fx->relay.raw[responder], SHUT_WR);
	fx_settle();
	if (!end_is_not_reported(c->phase)) {
		fx_wait(fx, end_events(e) == events_at_end(c->phase));
		expect_end(test, c, e);
	}
	if (c->phase == ATTACHED)
		KUNIT_EXPECT_EQ(test, -ECONNRESET, respond(e, 0));
	if (responder)
		KUNIT_EXPECT_EQ(test, c->phase == REFUSED ? -EINVAL :
							    -ECONNRESET,
				mpa_accept(e->conn, &p, NULL, 0));
	KUNIT_EXPECT_EQ(test, c->phase == AFTER_FPDU, e->rx_ulpdus);
	/* Later events change nothing. */
	fx_release(&fx->relay.raw[responder]);
	kernel_sock_shutdown(e->sock, SHUT_RDWR);
	fx_settle();
	fx_detach(e);
	KUNIT_EXPECT_EQ(test, events_at_end(c->phase), end_events(e));
}

struct loss_case {
	enum phase phase;
	bool sending;
};

/* Phases in which the peer stops answering. */
static const struct loss_case loss_cases[] = {
	{ WAIT_REPLY }, { WITHIN_REPLY }, { WAIT_REQUEST }, { WITHIN_REQUEST },
	{ REQUEST_SEEN }, { OPERATIONAL }, { WITHIN_FPDU }, { AFTER_FAULT },
	{ ACCEPTED }, { OPERATIONAL, true }, { AFTER_FAULT, true },
};

static void loss_desc(const struct loss_case *c, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s, %s", phase_names[c->phase],
		 c->sending ? "retransmissions" : "keepalive");
}

KUNIT_ARRAY_PARAM(loss, loss_cases, loss_desc);

/*
 * TCP times out because the peer does not answer: its socket is locked, so that
 * all packets for it wait. TCP must end the stream here, not a timer of MPA.
 */
static void end__peer_vanishes(struct kunit *test)
{
	const struct loss_case *c = test->param_value;
	struct fixture *fx = test->priv;
	struct end *e = reach_phase(fx, c->phase);
	struct sock *peer = fx->relay.raw[is_responder(c->phase)]->sk;
	struct sock *sk = e->sock->sk;
	unsigned int want = events_at_end(c->phase);

	/* Until everything is acknowledged, including delayed ACKs. */
	msleep(300);
	sock_set_keepalive(sk);
	tcp_sock_set_keepintvl(sk, 1);
	tcp_sock_set_keepcnt(sk, 1);
	tcp_sock_set_keepidle(sk, 1);
	tcp_sock_set_user_timeout(sk, c->sending ? 500 : 0);
	lock_sock_nested(peer, SINGLE_DEPTH_NESTING);
	if (c->sending)
		send_some(fx, 0, 1, random_length);
	wait_event_timeout(fx->wq, end_events(e) == want,
			   msecs_to_jiffies(TIMEOUT_MS));
	KUNIT_EXPECT_EQ(test, want, end_events(e));
	KUNIT_EXPECT_EQ(test, (int)TCP_CLOSE, (int)sk->sk_state);
	release_sock(peer);
	if (c->phase == WAIT_REPLY || c->phase == WITHIN_REPLY)
		KUNIT_EXPECT_EQ(test, -ETIMEDOUT, e->status);
	else
		KUNIT_EXPECT_EQ(test, -ETIMEDOUT, e->err[MPA_ERROR_CLOSED]);
	fx_settle();
	KUNIT_EXPECT_EQ(test, want, end_events(e));
}

static const unsigned int ends[] = { 0, 1 };

static void ends_desc(const unsigned int *i, char *desc)
{
	strscpy(desc, *i ? "responder" : "initiator", KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(ends, ends, ends_desc);

/* An end that has sent a FIN still receives; the other end may still send. */
static void end__half_close(struct kunit *test)
{
	unsigned int first = *(const unsigned int *)test->param_value;
	struct mpa_params p = params(MPA_REV_2, true, true);
	struct fixture *fx = test->priv;
	struct end *one = &fx->end[first], *other = &fx->end[!first];

	fx_direct(fx, &plain);
	start_both(fx, &p, &p);
	send_some(fx, 0, 3, random_length);
	fx_wait(fx, all_arrived(fx));
	send_some(fx, first, 5, random_length);
	kernel_sock_shutdown(one->sock, SHUT_WR);
	fx_wait(fx, other->ended[MPA_ERROR_CLOSED]);
	lock_sock(one->sock->sk);
	KUNIT_EXPECT_EQ(test, -EPIPE, mpa_tx_begin(one->conn));
	release_sock(one->sock->sk);
	send_some(fx, !first, 40, random_length);
	fx_wait(fx, all_arrived(fx));
	KUNIT_EXPECT_EQ(test, 0, end_events(one));
	kernel_sock_shutdown(other->sock, SHUT_WR);
	fx_wait(fx, closed_both(fx));
	expect_arrived(fx, one, other);
	expect_arrived(fx, other, one);
	KUNIT_EXPECT_EQ(test, 0, one->err[MPA_ERROR_CLOSED]);
	KUNIT_EXPECT_EQ(test, 0, other->err[MPA_ERROR_CLOSED]);
	KUNIT_EXPECT_EQ(test, 1, end_events(one));
	KUNIT_EXPECT_EQ(test, 1, end_events(other));
}

/* ---- Faults in the stream ---- */

/* Brings an Initiator into full operation with a raw Responder. */
static void raw_responder(struct fixture *fx, const struct link_options *lo,
			  const struct mpa_params *p, u8 flags)
{
	u8 *f = fx->data;

	fx_with_raw(fx, 0, lo);
	KUNIT_ASSERT_EQ(fx->test, 0, mpa_start_initiator(fx->end[0].conn, p,
							 NULL, 0, 0));
	KUNIT_ASSERT_EQ(fx->test, 20, raw_recv_all(fx->relay.raw[0], f, 20));
	raw_send(fx->relay.raw[0], f, raw_frame(f, true, flags, 1, 0));
	fx_wait(fx, fx->end[0].replies);
	KUNIT_ASSERT_EQ(fx->test, 0, fx->end[0].status);
}

/*
 * Expects @code and @err. Then received bytes are dropped, sending still works
 * and a FIN is reported. @dropped: bytes sent so far from the bad FPDU on.
 */
static void expect_fault(struct fixture *fx, enum mpa_error code, int err,
			 u32 dropped)
{
	struct end *a = &fx->end[0];
	struct mpa_conn_stats st;
	char last[100];

	fx_wait(fx, end_events(a));
	KUNIT_EXPECT_EQ(fx->test, 1, a->ended[code]);
	KUNIT_EXPECT_EQ(fx->test, err, a->err[code]);
	KUNIT_EXPECT_EQ(fx->test, 0, a->ended[MPA_ERROR_CLOSED]);
	memset(last, 'x', sizeof(last));
	raw_send(fx->relay.raw[0], last, sizeof(last));
	/* TCP is open until the owner closes it: a last message can be sent. */
	KUNIT_EXPECT_EQ(fx->test, -EAGAIN,
			raw_recv(fx->relay.raw[0], fx->data, 1));
	send_some(fx, 0, 1, random_length);
	KUNIT_EXPECT_EQ(fx->test, 1,
			raw_recv_all(fx->relay.raw[0], fx->data, 1));
	kernel_sock_shutdown(fx->relay.raw[0], SHUT_WR);
	fx_wait(fx, a->ended[MPA_ERROR_CLOSED]);
	fx_settle();
	KUNIT_EXPECT_EQ(fx->test, 2, end_events(a));
	KUNIT_EXPECT_EQ(fx->test, 0, a->err[MPA_ERROR_CLOSED]);
	KUNIT_EXPECT_EQ(fx->test, 1, a->rx_ulpdus);
	mpa_conn_stats(a->conn, &st);
	KUNIT_EXPECT_EQ(fx->test, 1ULL, st.rx_fpdus);
	KUNIT_EXPECT_EQ(fx->test, code == MPA_ERROR_CRC, st.rx_crc_errors);
	KUNIT_EXPECT_EQ(fx->test, code == MPA_ERROR_MARKER && err == -EBADMSG,
			st.rx_marker_errors);
	KUNIT_EXPECT_EQ(fx->test, err == -EMSGSIZE, st.rx_length_errors);
	KUNIT_EXPECT_EQ(fx->test, (u64)dropped + sizeof(last), st.rx_dropped);
}

static void fault__crc(struct kunit *test)
{
	struct fixture *fx = test->priv;
	struct mpa_params p = params(MPA_REV_1, false, true);
	u8 ulpdu[300], *f = fx->data;
	u32 good, bad;

	raw_responder(fx, &plain, &p, 0);
	pattern(ulpdu, 0, 0, sizeof(ulpdu));
	good = raw_fpdu(f, ulpdu, sizeof(ulpdu));
	bad = raw_fpdu(f + good, ulpdu, 17);
	f[good + 5] ^= 1;
	bad += raw_fpdu(f + good + bad, ulpdu, 21);
	raw_send(fx->relay.raw[0], f, good + bad);
	expect_fault(fx, MPA_ERROR_CRC, -EBADMSG, bad);
}

/* Neither end has requested CRCs: the field may have any value. */
static void fault__crc_not_in_use(struct kunit *test)
{
	struct fixture *fx = test->priv;
	struct mpa_params p = params(MPA_REV_1, false, false);
	u8 ulpdu[300], *f = fx->data;
	u32 n;

	raw_responder(fx, &plain, &p, 0);
	pattern(ulpdu, 0, 0, sizeof(ulpdu));
	n = raw_fpdu(f, ulpdu, sizeof(ulpdu));
	f[n - 1] ^= 0x55;
	raw_send(fx->relay.raw[0], f, n);
	fx_wait(fx, fx->end[0].rx_ulpdus == 1);
	KUNIT_EXPECT_EQ(test, 0, end_events(&fx->end[0]));
}

/*
 * Builds a good FPDU at fx->data and one with a ULPDU of @len bytes behind it.
 * Returns the bytes of both.
 */
static u32 one_too_long(struct fixture *fx, u32 len, u32 *good)
{
	u8 ulpdu[300], *f = fx->data;
	u8 *from = fx->end[0].out;

	pattern(ulpdu, 0, 0, sizeof(ulpdu));
	*good = raw_fpdu(f, ulpdu, sizeof(ulpdu));
	memset(from, 0x5a, len);
	return *good + raw_fpdu(f + *good, from, len);
}

/* The CRC is right, so the wrong length is reported. */
static void fault__length(struct kunit *test)
{
	struct mpa_params p = params(MPA_REV_1, false, true);
	struct fixture *fx = test->priv;
	u32 n, good;

	raw_responder(fx, &plain, &p, 0);
	n = one_too_long(fx, 64769, &good);
	raw_send(fx->relay.raw[0], fx->data, n);
	expect_fault(fx, MPA_ERROR_MARKER, -EMSGSIZE, n - good);
}

/* The CRC is wrong, which is reported before any other fault. */
static void fault__length_and_crc(struct kunit *test)
{
	struct mpa_params p = params(MPA_REV_1, false, true);
	struct fixture *fx = test->priv;
	u32 n, good;

	raw_responder(fx, &plain, &p, 0);
	n = one_too_long(fx, U16_MAX, &good);
	fx->data[n - 1] ^= 1;
	raw_send(fx->relay.raw[0], fx->data, n);
	expect_fault(fx, MPA_ERROR_CRC, -EBADMSG, n - good);
}

/* Without CRCs the length is refused at once. */
static void fault__length_without_crc(struct kunit *test)
{
	struct mpa_params p = params(MPA_REV_1, false, false);
	struct fixture *fx = test->priv;
	u32 good;

	raw_responder(fx, &plain, &p, 0);
	one_too_long(fx, 64769, &good);
	raw_send(fx->relay.raw[0], fx->data, good + 2);
	expect_fault(fx, MPA_ERROR_MARKER, -EMSGSIZE, 2);
}

/*
 * Builds the first FPDU of a stream with Markers; @len is at most 500, so that
 * no second Marker falls into it.
 */
static u32 fpdu_after_marker(u8 *to, const u8 *ulpdu, u32 len, u8 fpduptr)
{
	u32 n = raw_fpdu(to + 4, ulpdu, len) + 4, crc;

	memset(to, 0, 3);
	to[3] = fpduptr;
	crc = ~crc32c(~0, to, n - 4);
	to[n - 4] = crc;
	to[n - 3] = crc >> 8;
	to[n - 2] = crc >> 16;
	to[n - 1] = crc >> 24;
	return n;
}

static void fault__marker(struct kunit *test)
{
	struct fixture *fx = test->priv;
	struct mpa_params p = params(MPA_REV_1, true, true);
	u8 ulpdu[498], *f = fx->data;
	u32 good, bad, crc;

	raw_responder(fx, &plain, &p, 0);
	pattern(ulpdu, 0, 0, sizeof(ulpdu));
	/* 4 + 2 + 498 + 4 CRC = 508: four bytes to the next Marker. */
	good = fpdu_after_marker(f, ulpdu, sizeof(ulpdu), 0);
	KUNIT_ASSERT_EQ(test, 508, good);
	/* Length 2, then a Marker whose pointer is wrong by 4, then the CRC. */
	memcpy(f + good, "\0\2ab\0\0\0\0", 8);
	crc = ~crc32c(~0, f + good, 8);
	f[good + 8] = crc;
	f[good + 9] = crc >> 8;
	f[good + 10] = crc >> 16;
	f[good + 11] = crc >> 24;
	bad = 12;
	raw_send(fx->relay.raw[0], f, good + bad);
	expect_fault(fx, MPA_ERROR_MARKER, -EBADMSG, bad);
}

/* An FPDU of the same form with the right pointer is accepted. */
static void fault__marker_right(struct kunit *test)
{
	struct fixture *fx = test->priv;
	struct mpa_params p = params(MPA_REV_1, true, true);
	u8 ulpdu[498], *f = fx->data;
	u32 n, crc;

	raw_responder(fx, &plain, &p, 0);
	pattern(ulpdu, 0, 0, sizeof(ulpdu));
	n = fpdu_after_marker(f, ulpdu, sizeof(ulpdu), 0);
	memcpy(f + n, "\0\2\0\0\0\0\0\4", 8);
	pattern(f + n + 2, 1, 0, 2);
	crc = ~crc32c(~0, f + n, 8);
	f[n + 8] = crc;
	f[n + 9] = crc >> 8;
	f[n + 10] = crc >> 16;
	f[n + 11] = crc >> 24;
	raw_send(fx->relay.raw[0], f, n + 12);
	fx_wait(fx, fx->end[0].rx_ulpdus == 2 || end_events(&fx->end[0]));
	KUNIT_EXPECT_EQ(test, 0, end_events(&fx->end[0]));
}

struct marker_case {
	u8 marker[4];
	bool crc;
	bool covered;
	enum mpa_error code;
};

/* The second Marker of a stream: four bytes into the second FPDU. */
static const struct marker_case marker_cases[] = {
	{ { 0, 0, 0, 4 }, true, true, MPA_ERROR_NONE },
	{ { 0, 0, 0, 4 }, false, false, MPA_ERROR_NONE },
	/* the reserved field: ignored, but covered by the CRC */
	{ { 0xff, 0xff, 0, 4 }, true, true, MPA_ERROR_NONE },
	{ { 0x80, 0, 0, 4 }, true, false, MPA_ERROR_CRC },
	{ { 0xff, 0xff, 0, 4 }, false, false, MPA_ERROR_NONE },
	/* a wrong pointer, from the sender or corrupted on the way */
	{ { 0, 0, 0, 0 }, true, true, MPA_ERROR_MARKER },
	{ { 0, 0, 0, 8 }, true, true, MPA_ERROR_MARKER },
	{ { 0, 0, 1, 4 }, true, true, MPA_ERROR_MARKER },
	{ { 0, 0, 0xff, 0xfc }, true, true, MPA_ERROR_MARKER },
	{ { 0, 0, 0, 8 }, true, false, MPA_ERROR_CRC },
	{ { 0, 0, 1, 4 }, true, false, MPA_ERROR_CRC },
	{ { 0, 0, 0, 0 }, false, false, MPA_ERROR_MARKER },
	{ { 0, 0, 0, 8 }, false, false, MPA_ERROR_MARKER },
	{ { 0, 0, 0, 8 }, false, true, MPA_ERROR_MARKER },
	{ { 0, 0, 1, 4 }, false, false, MPA_ERROR_MARKER },
};

static void marker_desc(const struct marker_case *c, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%*ph, C %u, CRC %s", 4,
		 c->marker, c->crc, c->covered ? "right" : "wrong");
}

KUNIT_ARRAY_PARAM(marker, marker_cases, marker_desc);

static void fault__second_marker(struct kunit *test)
{
	const struct marker_case *c = test->param_value;
	struct mpa_params p = params(MPA_REV_1, true, c->crc);
	struct fixture *fx = test->priv;
	u8 ulpdu[498], *f = fx->data;
	u32 n, crc;

	raw_responder(fx, &plain, &p, 0);
	pattern(ulpdu, 0, 0, sizeof(ulpdu));
	n = fpdu_after_marker(f, ulpdu, sizeof(ulpdu), 0);
	memcpy(f + n, "\0\2", 2);
	pattern(f + n + 2, 1, 0, 2);
	memcpy(f + n + 4, c->marker, 4);
	crc = ~crc32c(~0, f + n, 8) ^ !c->covered;
	f[n + 8] = crc;
	f[n + 9] = crc >> 8;
	f[n + 10] = crc >> 16;
	f[n + 11] = crc >> 24;
	raw_send(fx->relay.raw[0], f, n + 12);
	if (c->code) {
		expect_fault(fx, c->code, -EBADMSG, 12);
		return;
	}
	fx_wait(fx, fx->end[0].rx_ulpdus == 2 || end_events(&fx->end[0]));
	KUNIT_EXPECT_EQ(test, 0, end_events(&fx->end[0]));
}

/* The owner refuses a ULPDU: later ones are dropped, the FIN is reported. */
static void fault__refused_by_owner(struct kunit *test)
{
	struct fixture *fx = test->priv;
	struct mpa_params p = params(MPA_REV_2, false, true);
	struct end *b = &fx->end[1];
	struct mpa_conn_stats tx, rx;

	fx_direct(fx, &plain);
	b->refuse_at = 4;
	start_both(fx, &p, &p);
	send_some(fx, 0, 10, random_length);
	fx_wait(fx, b->rx_ulpdus == 5);
	fx_settle();
	KUNIT_EXPECT_EQ(test, 0, end_events(b));
	KUNIT_EXPECT_EQ(test, 5, b->rx_ulpdus);
	mpa_conn_stats(fx->end[0].conn, &tx);
	mpa_conn_stats(b->conn, &rx);
	KUNIT_EXPECT_EQ(test, tx.tx_bytes, rx.rx_bytes + rx.rx_dropped);
	/* It can still send. */
	send_some(fx, 1, 1, random_length);
	fx_wait(fx, fx->end[0].rx_ulpdus == 1);
	kernel_sock_shutdown(fx->end[0].sock, SHUT_WR);
	fx_wait(fx, b->ended[MPA_ERROR_CLOSED]);
	KUNIT_EXPECT_EQ(test, 1, end_events(b));
}

/* Corrupted at many places: always detected, and the ULPDU is not delivered. */
static void fault__flipped(struct kunit *test)
{
	struct fixture *fx = test->priv;
	struct mpa_params p = params(MPA_REV_2, true, true);
	struct end *b = &fx->end[1];
	u32 i;

	for (i = 0; i < 12; i++) {
		fx_relayed(fx, &plain);
		start_both(fx, &p, &p);
		fx->relay.flip_at[0] = fx->relay.passed[0] + 1000 + i * 37;
		send_some(fx, 0, 1, longest_length);
		fx->relay.chunk = 3000;
		while (!end_events(b) && relay_step(&fx->relay, fx) >= 0)
			;
		KUNIT_EXPECT_EQ(test, 1, b->ended[MPA_ERROR_CRC]);
		KUNIT_EXPECT_EQ(test, 0, b->rx_ulpdus);
		fx->relay.flip_at[0] = U64_MAX;
		fx->relay.passed[0] = 0;
		fx_detach(&fx->end[0]);
		fx_detach(b);
		fx_release(&fx->end[0].sock);
		fx_release(&b->sock);
		fx_release(&fx->relay.raw[0]);
		fx_release(&fx->relay.raw[1]);
		memset(b->ended, 0, sizeof(b->ended));
		b->requests = 0;
		b->operationals = 0;
		fx->end[0].replies = 0;
		fx->end[0].operationals = 0;
	}
}

/* ---- Receiving in small portions and through small buffers ---- */

struct drip_case {
	u32 chunk;
	bool markers;
	bool crc;
};

static const struct drip_case drip_cases[] = {
	{ 1, false, true }, { 1, true, true }, { 1, true, false },
	{ 1, false, false }, { 3, true, true }, { 511, true, true },
};

static void drip_desc(const struct drip_case *c, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u bytes, M %u C %u", c->chunk,
		 c->markers, c->crc);
}

KUNIT_ARRAY_PARAM(drip, drip_cases, drip_desc);

static u32 modest_length(struct end *e, u32 room)
{
	return get_random_u32() % min(room, 700U);
}

/* All bytes of both directions arrive in small portions. */
static void receive__drip(struct kunit *test)
{
	const struct drip_case *c = test->param_value;
	struct fixture *fx = test->priv;
	struct mpa_params p = params(MPA_REV_2, c->markers, c->crc);

	fx->relay.chunk = c->chunk;
	fx_relayed(fx, &plain);
	start_both(fx, &p, &p);
	send_some(fx, 0, 8, modest_length);
	KUNIT_ASSERT_TRUE(test, pump(fx, all_arrived));
	send_some(fx, 1, 8, modest_length);
	KUNIT_ASSERT_TRUE(test, pump(fx, all_arrived));
	expect_arrived(fx, &fx->end[0], &fx->end[1]);
	expect_arrived(fx, &fx->end[1], &fx->end[0]);
	KUNIT_EXPECT_EQ(test, 0, end_events(&fx->end[0]));
	KUNIT_EXPECT_EQ(test, 0, end_events(&fx->end[1]));
}

struct buffer_case {
	int mss;
	int rcvbuf;
	int sndbuf;
	bool markers;
};

static const struct buffer_case buffer_cases[] = {
	{ 0, 0, 0, false }, { 0, 0, 0, true },
	{ 0, 2304, 0, false }, { 0, 2304, 0, true },
	{ 0, 16384, 4608, true }, { 1448, 2304, 4608, false },
	{ 1448, 20000, 4608, true }, { 88, 4096, 4608, true },
};

static void buffer_desc(const struct buffer_case *c, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "mss %d rcvbuf %d sndbuf %d M %u",
		 c->mss, c->rcvbuf, c->sndbuf, c->markers);
}

KUNIT_ARRAY_PARAM(buffer, buffer_cases, buffer_desc);

/*
 * A raw peer sends FPDUs of the maximum length, with any segment size and even
 * to small buffers. The module itself would not send such FPDUs.
 */
static void receive__longest(struct kunit *test)
{
	const struct buffer_case *c = test->param_value;
	struct link_options lo = { .mss = c->mss, .rcvbuf = c->rcvbuf };
	struct mpa_params p = params(MPA_REV_1, false, true);
	struct fixture *fx = test->priv;
	struct end *a = &fx->end[0];
	u8 *f = fx->data;
	u32 i, n;

	fx_with_raw(fx, 0, &lo);
	KUNIT_ASSERT_EQ(test, 0, mpa_start_initiator(a->conn, &p, NULL, 0, 0));
	KUNIT_ASSERT_EQ(test, 20, raw_recv_all(fx->relay.raw[0], f, 20));
	raw_send(fx->relay.raw[0], f, raw_frame(f, true, CRC, 1, 0));
	fx_wait(fx, a->replies);
	for (i = 0; i < 4; i++) {
		pattern(a->out, i, 0, MPA_MULPDU_MAX);
		n = raw_fpdu(f, a->out, MPA_MULPDU_MAX);
		KUNIT_ASSERT_EQ(test, (int)n, raw_send(fx->relay.raw[0], f, n));
	}
	fx_wait(fx, a->rx_ulpdus == 4 || end_events(a));
	KUNIT_EXPECT_EQ(test, 4, a->rx_ulpdus);
	KUNIT_EXPECT_EQ(test, 0, end_events(a));
}

/* Both ends use MPA and send at the same time, through buffers of all sizes. */
static void receive__through_buffers(struct kunit *test)
{
	const struct buffer_case *c = test->param_value;
	struct link_options lo = {
		.mss = c->mss,
		.rcvbuf = c->rcvbuf,
		.sndbuf = c->sndbuf,
	};
	struct mpa_params p = params(MPA_REV_2, c->markers, true);
	struct fixture *fx = test->priv;
	unsigned int i;

	fx_direct(fx, &lo);
	start_both(fx, &p, &p);
	send_some(fx, 0, 1, longest_length);
	fx_wait(fx, all_arrived(fx));
	for (i = 0; i < 6; i++) {
		send_some(fx, i % 2, 4, longest_length);
		send_some(fx, i % 2, 20, random_length);
	}
	fx_wait(fx, all_arrived(fx));
	expect_arrived(fx, &fx->end[0], &fx->end[1]);
	expect_arrived(fx, &fx->end[1], &fx->end[0]);
}

/*
 * The parameter of mpa.ko. A parameter of this module would not be set yet when
 * the cases run.
 */
static bool is_fast_path(struct kunit *test)
{
	struct file *file = filp_open("/sys/module/mpa/parameters/fast_path",
				      O_RDONLY, 0);
	char value = 0;
	loff_t pos = 0;

	KUNIT_ASSERT_FALSE(test, IS_ERR(file));
	KUNIT_EXPECT_EQ(test, 1, (int)kernel_read(file, &value, 1, &pos));
	filp_close(file, NULL);
	return value == 'Y';
}

struct series_case {
	int mss;
	bool markers;
	bool crc;
	bool series;
	bool joined;
};

/*
 * Segments of the loopback device are longer than a page fragment. Segments of
 * 1446 bytes are sent one by one, so their ULPDUs cannot be joined.
 */
static const struct series_case series_cases[] = {
	{ 0, false, true, false, false },
	{ 8948, false, false, true, true }, { 8948, false, true, true, true },
	{ 1448, false, false, true, true }, { 1448, false, true, true, true },
	{ 8948, true, false, true, true }, { 8948, true, true, true, true },
	{ 1448, true, false, true, true }, { 1448, true, true, true, true },
	{ 1446, false, true, true, false }, { 1446, true, true, true, false },
	{ 536, false, true, true, true }, { 536, true, true, true, true },
};

static void series_desc(const struct series_case *c, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "mss %d M %u C %u", c->mss,
		 c->markers, c->crc);
}

KUNIT_ARRAY_PARAM(series, series_cases, series_desc);

/*
 * Long messages are sent in series and joined on receipt, unless the fast path
 * is switched off. Bytes and statistics are the same as without joining.
 */
static void send__in_series(struct kunit *test)
{
	const struct series_case *c = test->param_value;
	struct link_options lo = { .mss = c->mss };
	struct mpa_params p = params(MPA_REV_1, c->markers, c->crc);
	struct fixture *fx = test->priv;
	struct end *a = &fx->end[0], *b = &fx->end[1];
	bool fast_path = is_fast_path(test);
	unsigned int i;

	fx_direct(fx, &lo);
	start_both(fx, &p, &p);
	a->counted = true;
	b->counted = true;
	for (i = 0; i < 12; i++)
		KUNIT_ASSERT_EQ(test, 0, end_send_counted(a, 20011 * i + 1));
	fx_wait(fx, all_arrived(fx));
	expect_arrived(fx, a, b);
	KUNIT_EXPECT_EQ(test, a->tx_count, b->rx_count);
	KUNIT_EXPECT_EQ(test, fast_path && c->series, a->tx_series > 0);
	KUNIT_EXPECT_EQ(test, fast_path && c->joined, b->rx_joined > 0);
	KUNIT_EXPECT_EQ(test, fast_path && c->joined, b->rx_joins > 1);
}

/* The fourth of five FPDUs that could be joined is bad, the others are good. */
static void receive__joined_until_bad(struct kunit *test)
{
	struct mpa_params p = params(MPA_REV_1, false, true);
	struct fixture *fx = test->priv;
	struct end *a = &fx->end[0];
	u8 ulpdu[COUNTER + 100], *f = fx->data;
	u32 i, n = 0;

	raw_responder(fx, &plain, &p, CRC);
	a->counted = true;
	for (i = 0; i < 5; i++) {
		put_unaligned_be64(100 * i, ulpdu);
		pattern(ulpdu + COUNTER, 0, 100 * i, 100);
		n += raw_fpdu(f + n, ulpdu, sizeof(ulpdu));
		if (i == 3)
			f[n - 20] ^= 1;
	}
	KUNIT_ASSERT_EQ(test, (int)n, raw_send(fx->relay.raw[0], f, n));
	fx_wait(fx, a->ended[MPA_ERROR_CRC]);
	KUNIT_EXPECT_EQ(test, 3, a->rx_ulpdus);
	KUNIT_EXPECT_EQ(test, is_fast_path(test) ? 2 : 0, a->rx_joined);
	KUNIT_EXPECT_EQ(test, 300ULL, a->rx_count);
}

static u32 mulpdu_of(struct end *e)
{
	u32 len;

	lock_sock(e->sock->sk);
	len = mpa_tx_mulpdu(e->conn);
	release_sock(e->sock->sk);
	return len;
}

/*
 * TCP limits segments to half the largest window it has seen, so the maximum
 * ULPDU is reached only after some traffic.
 */
static void wait_for_longest(struct fixture *fx, unsigned int from)
{
	unsigned int tries;

	for (tries = 0; tries < 50; tries++) {
		if (mulpdu_of(&fx->end[from]) == MPA_MULPDU_MAX)
			break;
		send_some(fx, from, 4, longest_length);
		fx_wait(fx, all_arrived(fx));
	}
}

static void receive__longest_of_ours(struct kunit *test)
{
	struct link_options lo = { .rcvbuf = 1024 * 1024 };
	struct fixture *fx = test->priv;
	struct mpa_params p = params(MPA_REV_1, false, true);
	unsigned int i;
	u64 before;

	fx_direct(fx, &lo);
	start_both(fx, &p, &p);
	for (i = 0; i < NR_ENDS; i++) {
		wait_for_longest(fx, i);
		before = fx->end[i].tx_bytes;
		send_some(fx, i, 3, longest_length);
		KUNIT_EXPECT_EQ(test, fx->end[i].tx_bytes - before,
				3ULL * MPA_MULPDU_MAX);
		fx_wait(fx, all_arrived(fx));
	}
	expect_arrived(fx, &fx->end[0], &fx->end[1]);
	expect_arrived(fx, &fx->end[1], &fx->end[0]);
}

/* ---- Sending to a peer that does not read ---- */

static int send_until_eagain(struct end *e)
{
	struct sock *sk = e->sock->sk;
	int ret;

	do {
		u32 room;

		lock_sock(sk);
		ret = mpa_tx_begin(e->conn);
		while (!ret && (room = mpa_tx_room(e->conn))) {
			struct kvec vec = { e->out, room };

			ret = mpa_tx_add(e->conn, NULL, 0, &vec, 1, room,
					 true);
			e->tx_ulpdus += !ret;
		}
		if (!ret)
			ret = end_send_shrunk(e);
		release_sock(sk);
	} while (!ret);
	return ret;
}

/* Until the peer's window is closed too: then ops->writable is not called. */
static void send_until_full(struct kunit *test, struct end *e)
{
	unsigned int writables;

	do {
		writables = e->writables;
		KUNIT_ASSERT_EQ(test, -EAGAIN, send_until_eagain(e));
		fx_settle();
	} while (e->writables != writables);
}

static void send__to_sleeper(struct kunit *test)
{
	struct link_options lo = {
		.mss = 1448,
		.rcvbuf = 20000,
		.sndbuf = 9000,
	};
	struct fixture *fx = test->priv;
	struct end *a = &fx->end[0];
	struct mpa_params p = params(MPA_REV_1, false, true);
	struct mpa_conn_stats st;
	u64 bytes = 0;
	u32 i;

	raw_responder(fx, &lo, &p, CRC);

	for (i = 0; i < 3; i++) {
		u32 before = a->tx_ulpdus;
		unsigned int writables;

		send_until_full(test, a);
		writables = a->writables;
		bytes += read_fpdus(test, fx->relay.raw[0], fx->data,
				     a->tx_ulpdus - before);
		fx_wait(fx, a->writables > writables);
	}
	mpa_conn_stats(a->conn, &st);
	KUNIT_EXPECT_EQ(test, bytes, st.tx_bytes);
	KUNIT_EXPECT_GT(test, st.tx_short, 0ULL);
	KUNIT_EXPECT_EQ(test, -EAGAIN, raw_recv(fx->relay.raw[0], fx->data, 1));

	/* What TCP has not taken is sent even after detaching. */
	i = a->tx_ulpdus;
	send_until_full(test, a);
	fx_detach(a);
	read_fpdus(test, fx->relay.raw[0], fx->data, a->tx_ulpdus - i);
}

static void send__after_end(struct kunit *test)
{
	struct fixture *fx = test->priv;
	struct mpa_params p = params(MPA_REV_1, false, true);
	struct end *a = &fx->end[0];

	fx_direct(fx, &plain);
	lock_sock(a->sock->sk);
	KUNIT_EXPECT_EQ(test, -EPIPE, mpa_tx_begin(a->conn));
	release_sock(a->sock->sk);
	start_both(fx, &p, &p);
	/* An empty batch is dropped, and nothing waits to be sent. */
	lock_sock(a->sock->sk);
	KUNIT_EXPECT_EQ(test, 0, mpa_tx_begin(a->conn));
	KUNIT_EXPECT_EQ(test, 0, mpa_tx_send(a->conn));
	KUNIT_EXPECT_TRUE(test, mpa_tx_drained(a->conn));
	release_sock(a->sock->sk);
	/* After a FIN from the peer this end can still send. */
	kernel_sock_shutdown(fx->end[1].sock, SHUT_WR);
	fx_wait(fx, a->ended[MPA_ERROR_CLOSED]);
	send_some(fx, 0, 1, random_length);
	fx_wait(fx, fx->end[1].rx_ulpdus == 1);
	/* After a reset it cannot. */
	fx_detach(&fx->end[1]);
	fx_reset(&fx->end[1].sock);
	fx_settle();
	lock_sock(a->sock->sk);
	KUNIT_EXPECT_EQ(test, -EPIPE, mpa_tx_begin(a->conn));
	release_sock(a->sock->sk);
}

/* ---- Answering from the callback ---- */

static u32 short_length(struct end *e, u32 room)
{
	return min(room, 1 + e->tx_ulpdus * 37 % 200);
}

struct answer_case {
	int mss;
	bool markers;
	bool crc;
};

static const struct answer_case answer_cases[] = {
	{ 1448, false, false }, { 1448, false, true },
	{ 1448, true, false }, { 1448, true, true },
	{ 8948, false, true }, { 8948, true, true },
	{ 536, true, true },
};

static void answer_desc(const struct answer_case *c, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "mss %d M %u C %u", c->mss,
		 c->markers, c->crc);
}

KUNIT_ARRAY_PARAM(answer, answer_cases, answer_desc);

/* Sends the answers that were not sent at once: one for each ULPDU. */
static void expect_answered(struct fixture *fx)
{
	struct end *a = &fx->end[0], *b = &fx->end[1];

	fx_wait(fx, b->rx_ulpdus == a->tx_ulpdus);
	KUNIT_ASSERT_EQ(fx->test, 0, end_send_unanswered(b));
	fx_wait(fx, a->rx_ulpdus == b->tx_ulpdus);
	KUNIT_EXPECT_EQ(fx->test, a->tx_ulpdus, b->tx_ulpdus);
	expect_arrived(fx, a, b);
	expect_arrived(fx, b, a);
}

/*
 * Short answers are sent at once, except a few: not enough working memory for
 * all batches is allocated yet.
 */
static void answer__at_once(struct kunit *test)
{
	const struct answer_case *c = test->param_value;
	struct link_options lo = { .mss = c->mss };
	struct mpa_params p = params(MPA_REV_1, c->markers, c->crc);
	struct fixture *fx = test->priv;
	struct end *b = &fx->end[1];
	u32 i;

	fx_direct(fx, &lo);
	start_both(fx, &p, &p);
	b->echo = short_length;
	for (i = 0; i < 100; i++)
		send_some(fx, 0, 1 + i % 4, random_length);
	expect_answered(fx);
	KUNIT_EXPECT_GT(test, b->answers, 10U);
	if (is_fast_path(test))
		KUNIT_EXPECT_GT(test, b->at_once, b->tx_ulpdus * 3 / 4);
	else
		KUNIT_EXPECT_EQ(test, b->at_once, 0U);
}

/* A callback sends the answers that fit in a page fragment; others wait. */
static void answer__too_much(struct kunit *test)
{
	struct link_options lo = { .mss = 8948 };
	struct mpa_params p = params(MPA_REV_1, false, true);
	struct fixture *fx = test->priv;
	struct end *b = &fx->end[1];
	u32 i, unanswered;

	fx_direct(fx, &lo);
	start_both(fx, &p, &p);
	b->echo = longest_length;
	for (i = 0; i < 20; i++) {
		/* As many as arrive in one segment. */
		send_some(fx, 0, 40, short_length);
		fx_wait(fx, b->rx_ulpdus == fx->end[0].tx_ulpdus);
		lock_sock(b->sock->sk);
		unanswered = b->unanswered;
		release_sock(b->sock->sk);
		KUNIT_EXPECT_GT(test, unanswered, 20U);
		expect_answered(fx);
	}
	KUNIT_EXPECT_EQ(test, is_fast_path(test), b->at_once > 20);
}

/* Segments of the loopback device do not fit in a page fragment. */
static void answer__too_long(struct kunit *test)
{
	struct link_options lo = { .rcvbuf = 1024 * 1024 };
	struct mpa_params p = params(MPA_REV_1, false, true);
	struct fixture *fx = test->priv;
	struct end *b = &fx->end[1];

	fx_direct(fx, &lo);
	start_both(fx, &p, &p);
	send_some(fx, 0, 1, random_length);
	fx_wait(fx, all_arrived(fx));
	wait_for_longest(fx, 1);
	b->echo = short_length;
	send_some(fx, 0, 5, random_length);
	fx_wait(fx, all_arrived(fx));
	KUNIT_EXPECT_GT(test, b->answers, 0U);
	KUNIT_EXPECT_EQ(test, b->at_once, 0U);
	KUNIT_ASSERT_EQ(test, 0, end_send_unanswered(b));
	fx_wait(fx, all_arrived(fx));
}

/* The peer sends four ULPDUs at a time until none is answered at once. */
static void ask_until_unanswered(struct fixture *fx, struct end *a)
{
	u8 *f = fx->data;
	u32 i, n, before;

	do {
		before = a->at_once;
		for (i = 0, n = 60; i < 4; i++) {
			pattern(f, a->rx_ulpdus + i, 0, 60);
			n += raw_fpdu(f + n, f, 60);
		}
		i += a->rx_ulpdus;
		KUNIT_ASSERT_EQ(fx->test, (int)n - 60,
				raw_send(fx->relay.raw[0], f + 60, n - 60));
		fx_wait(fx, a->rx_ulpdus == i);
		/* Under the lock the last callback has returned. */
		lock_sock(a->sock->sk);
		n = a->at_once;
		release_sock(a->sock->sk);
	} while (n != before);
}

/*
 * A peer that sends and does not read: a batch of which TCP has taken only a
 * part continues where it was cut off; the other answers are sent later.
 */
static void answer__peer_does_not_read(struct kunit *test)
{
	struct link_options lo = {
		.mss = 1448,
		.rcvbuf = 20000,
		.sndbuf = 9000,
	};
	struct mpa_params p = params(MPA_REV_1, false, true);
	struct fixture *fx = test->priv;
	struct end *a = &fx->end[0];
	struct mpa_conn_stats st;
	u32 i, before;

	raw_responder(fx, &lo, &p, CRC);
	a->echo = longest_length;
	a->shrink = true;
	for (i = 0; i < 5; i++) {
		before = a->tx_ulpdus;
		ask_until_unanswered(fx, a);
		read_fpdus(test, fx->relay.raw[0], fx->data,
			   a->tx_ulpdus - before);
		before = a->tx_ulpdus;
		KUNIT_ASSERT_EQ(test, 0, end_send_unanswered(a));
		read_fpdus(test, fx->relay.raw[0], fx->data,
			   a->tx_ulpdus - before);
	}
	KUNIT_EXPECT_EQ(test, a->tx_ulpdus, a->rx_ulpdus);
	mpa_conn_stats(a->conn, &st);
	KUNIT_EXPECT_EQ(test, is_fast_path(test), a->at_once > 20);
	KUNIT_EXPECT_EQ(test, is_fast_path(test), st.tx_short > 0);
	/* What TCP has not taken is sent even after detaching. */
	before = a->tx_ulpdus;
	ask_until_unanswered(fx, a);
	fx_detach(a);
	read_fpdus(test, fx->relay.raw[0], fx->data, a->tx_ulpdus - before);
}

/* ---- Detaching under traffic ---- */

static int sender(void *arg)
{
	struct end *e = arg;

	while (!kthread_should_stop())
		if (end_send(e, 20, random_length))
			break;
	while (!kthread_should_stop())
		usleep_range(200, 400);
	return 0;
}

/* mpa_tx_catch_up() passes on what arrived while a sender had the lock. */
static void send__catches_up(struct kunit *test)
{
	struct fixture *fx = test->priv;
	struct mpa_params p = params(MPA_REV_1, false, true);
	struct end *a = &fx->end[0], *b = &fx->end[1];
	unsigned long late = jiffies + msecs_to_jiffies(TIMEOUT_MS);
	struct task_struct *task;
	struct sock *sk;

	fx_direct(fx, &plain);
	start_both(fx, &p, &p);
	sk = a->sock->sk;
	/* A Responder may not send first. */
	send_some(fx, 0, 1, random_length);
	fx_wait(fx, b->rx_ulpdus == 1);

	lock_sock(sk);
	task = kthread_run(sender, b, "mpa-sender");
	if (IS_ERR(task)) {
		release_sock(sk);
		KUNIT_FAIL(test, "no thread");
		return;
	}
	fx_settle();
	KUNIT_EXPECT_EQ(test, 0, a->rx_ulpdus);
	/* The first packet may be only an acknowledgement. */
	while (!a->rx_ulpdus && time_before(jiffies, late)) {
		usleep_range(200, 400);
		mpa_tx_catch_up(a->conn);
	}
	KUNIT_EXPECT_LT(test, 0, a->rx_ulpdus);
	release_sock(sk);
	kthread_stop(task);
	fx_wait(fx, a->rx_ulpdus == READ_ONCE(b->tx_ulpdus));
}

static void detach__under_traffic(struct kunit *test)
{
	struct mpa_params p = params(MPA_REV_2, true, true);
	struct fixture *fx = test->priv;
	struct task_struct *task;
	u32 i;

	for (i = 0; i < 25; i++) {
		struct link_options lo = { .mss = i % 2 ? 1448 : 0 };

		fx->end[0].replies = 0;
		fx->end[0].operationals = 0;
		fx->end[1].operationals = 0;
		fx->end[1].requests = 0;
		memset(fx->end[0].ended, 0, sizeof(fx->end[0].ended));
		fx->end[0].tx_ulpdus = 0;
		fx->end[1].rx_ulpdus = 0;
		fx_direct(fx, &lo);
		start_both(fx, &p, &p);
		task = kthread_run(sender, &fx->end[0], "mpa_ulp_sender");
		KUNIT_ASSERT_FALSE(test, IS_ERR(task));
		if (i % 3)
			wait_event_timeout(fx->wq, fx->end[1].rx_ulpdus > i,
					   HZ);
		fx_detach(&fx->end[1]);
		if (i % 4 < 2)
			fx_release(&fx->end[1].sock);
		else
			fx_reset(&fx->end[1].sock);
		fx_wait(fx, fx->end[0].ended[MPA_ERROR_CLOSED]);
		kthread_stop(task);
		KUNIT_EXPECT_EQ(test, 1, end_events(&fx->end[0]));
		fx_detach(&fx->end[0]);
		fx_release(&fx->end[0].sock);
	}
}

/* The timer expires and Request and FIN arrive during the detaching. */
static void detach__in_startup(struct kunit *test)
{
	struct mpa_params p = params(MPA_REV_2, false, true);
	struct fixture *fx = test->priv;
	u32 i;

	for (i = 0; i < 40; i++) {
		fx_direct(fx, &plain);
		KUNIT_ASSERT_EQ(test, 0, respond(&fx->end[1], 1 + i % 5));
		KUNIT_ASSERT_EQ(test, 0,
				mpa_start_initiator(fx->end[0].conn, &p, NULL,
						    0, 1 + i % 7));
		usleep_range(100 * i, 100 * i + 50);
		fx_detach(&fx->end[i % 2]);
		fx_release(&fx->end[i % 2].sock);
		fx_detach(&fx->end[!(i % 2)]);
		fx_release(&fx->end[!(i % 2)].sock);
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE(attach__refused),
	KUNIT_CASE(attach__restores_callbacks),
	KUNIT_CASE(attach__socket_released_first),
	KUNIT_CASE_PARAM(exchange__traffic, exchange_next),
	KUNIT_CASE_PARAM(exchange__private_data, pd_gen_params),
	KUNIT_CASE_PARAM(exchange__figure, figure_gen_params),
	KUNIT_CASE_PARAM(exchange__reject_private_data, pd_gen_params),
	KUNIT_CASE(exchange__reject),
	KUNIT_CASE(exchange__reject_and_more),
	KUNIT_CASE(exchange__too_new),
	KUNIT_CASE(exchange__ird_cannot_be_met),
	KUNIT_CASE(startup__wrong_request),
	KUNIT_CASE_PARAM(startup__bad_frame, bad_frame_gen_params),
	KUNIT_CASE(startup__frame_too_slow),
	KUNIT_CASE(startup__two_initiators),
	KUNIT_CASE(startup__reply_comes_first),
	KUNIT_CASE(startup__no_reply),
	KUNIT_CASE(startup__no_request),
	KUNIT_CASE(startup__late_answer),
	KUNIT_CASE(startup__no_rtr),
	KUNIT_CASE(startup__rtr),
	KUNIT_CASE(startup__more_behind_request),
	KUNIT_CASE(startup__fpdu_behind_reply),
	KUNIT_CASE(startup__no_first_fpdu),
	KUNIT_CASE(startup__first_fpdu),
	KUNIT_CASE_PARAM(startup__last_message, last_gen_params),
	KUNIT_CASE(startup__last_message_fails),
	KUNIT_CASE(startup__responder_on_the_wire),
	KUNIT_CASE(startup__responder_waits),
	KUNIT_CASE_PARAM(end__of_tcp, end_next),
	KUNIT_CASE_PARAM(end__peer_vanishes, loss_gen_params),
	KUNIT_CASE_PARAM(end__half_close, ends_gen_params),
	KUNIT_CASE(fault__crc),
	KUNIT_CASE(fault__crc_not_in_use),
	KUNIT_CASE(fault__length),
	KUNIT_CASE(fault__length_and_crc),
	KUNIT_CASE(fault__length_without_crc),
	KUNIT_CASE(fault__marker),
	KUNIT_CASE(fault__marker_right),
	KUNIT_CASE_PARAM(fault__second_marker, marker_gen_params),
	KUNIT_CASE(fault__refused_by_owner),
	KUNIT_CASE(fault__flipped),
	KUNIT_CASE_PARAM(receive__drip, drip_gen_params),
	KUNIT_CASE_PARAM(receive__longest, buffer_gen_params),
	KUNIT_CASE_PARAM(receive__through_buffers, buffer_gen_params),
	KUNIT_CASE(receive__longest_of_ours),
	KUNIT_CASE_PARAM(send__in_series, series_gen_params),
	KUNIT_CASE(receive__joined_until_bad),
	KUNIT_CASE(send__to_sleeper),
	KUNIT_CASE(send__after_end),
	KUNIT_CASE(send__catches_up),
	KUNIT_CASE_PARAM(answer__at_once, answer_gen_params),
	KUNIT_CASE(answer__too_much),
	KUNIT_CASE(answer__too_long),
	KUNIT_CASE(answer__peer_does_not_read),
	KUNIT_CASE(detach__under_traffic),
	KUNIT_CASE(detach__in_startup),
	{}
};

static struct kunit_suite suite = {
	.name = "mpa_ulp",
	.init = fx_init,
	.exit = fx_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_DESCRIPTION("KUnit suite of kernel/ulp");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(MPA_NS);
