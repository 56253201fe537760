// SPDX-License-Identifier: GPL-2.0-only
/* Negotiation and traffic between two ends. Part of mpa_ulp_kunit.c. */

struct exchange {
	u8 rev;
	bool m[NR_ENDS];
	bool c[NR_ENDS];
	struct link_options lo;
};

/* All values of M and C at both ends, both revisions, different links. */
MPA_KUNIT_GENERATOR(exchange_next)
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
