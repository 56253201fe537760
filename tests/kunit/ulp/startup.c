// SPDX-License-Identifier: GPL-2.0-only
/* Startups that fail, or take their time. Part of mpa_ulp_kunit.c. */

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
		fsleep(5000);
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
	KUNIT_ASSERT_EQ(test, 0, respond(&fx->end[1], IN_TIME_MS));
	KUNIT_ASSERT_EQ(test, 0, mpa_start_initiator(fx->end[0].conn, &p, NULL,
						     0, 0));
	fx_wait(fx, fx->end[1].requests);
	msleep(IN_TIME_MS + SHORT_MS);
	KUNIT_ASSERT_EQ(test, 0, mpa_accept(fx->end[1].conn, &p, NULL, 0));
	fx_wait(fx, fx->end[0].replies);
	/* Without peer-to-peer mode the first FPDU has no timeout. */
	msleep(IN_TIME_MS + SHORT_MS);
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
	KUNIT_ASSERT_EQ(test, 0, respond(b, IN_TIME_MS));
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
	KUNIT_ASSERT_EQ(test, 0, respond(b, IN_TIME_MS));
	KUNIT_ASSERT_EQ(test, 0, mpa_start_initiator(fx->end[0].conn, &p, NULL,
						     0, 0));
	fx_wait(fx, b->requests);
	KUNIT_ASSERT_EQ(test, 0, mpa_accept(b->conn, &p, NULL, 0));
	fx_wait(fx, replied(fx));
	send_some(fx, 0, 1, random_length);
	fx_wait(fx, all_arrived(fx));
	msleep(IN_TIME_MS + SHORT_MS);
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
	cfg.v[MPA_A_CONFIG_FIRST_FPDU_TIMEOUT] = IN_TIME_MS;
	lock_sock(b->sock->sk);
	mpa_set_config(b->conn, &cfg);
	release_sock(b->sock->sk);
	start_both(fx, &p, &p);
	send_some(fx, 0, 1, random_length);
	fx_wait(fx, all_arrived(fx));
	msleep(IN_TIME_MS + SHORT_MS);
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
	fx_set_options(b->sock, &lo);
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
