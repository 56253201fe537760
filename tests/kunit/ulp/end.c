// SPDX-License-Identifier: GPL-2.0-only
/* The end of TCP in every state. Part of mpa_ulp_kunit.c. */

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

MPA_KUNIT_GENERATOR(end_next)
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
