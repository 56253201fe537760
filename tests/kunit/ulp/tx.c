// SPDX-License-Identifier: GPL-2.0-only
/* Sending to a peer that does not read, and from callbacks. Part of mpa_ulp_kunit.c. */

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

/*
 * The route loses scatter-gather after mpa_tx_begin_atomic(), so that TCP copies: not into
 * the fragment of the task, whose user a softirq may have interrupted.
 */
static void send__atomic_without_scatter_gather(struct kunit *test)
{
	struct fixture *fx = test->priv;
	struct mpa_params p = params(MPA_REV_1, false, true);
	struct page_frag *frag = &current->task_frag;
	struct end *a = &fx->end[0];
	struct kvec vec = { a->out, 100 };
	struct page_frag before;
	netdev_features_t caps;
	struct sock *sk;
	int ret;

	fx_direct(fx, &plain);
	start_both(fx, &p, &p);
	sk = a->sock->sk;
	KUNIT_ASSERT_TRUE(test, skb_page_frag_refill(1000, frag, GFP_KERNEL));
	before = *frag;
	pattern(a->out, 0, 0, vec.iov_len);

	lock_sock(sk);
	ret = mpa_tx_begin_atomic(a->conn);
	if (!ret) {
		KUNIT_EXPECT_GE(test, mpa_tx_room(a->conn), vec.iov_len);
		ret = mpa_tx_add(a->conn, NULL, 0, &vec, 1, vec.iov_len, true);
		caps = sk->sk_route_caps;
		sk->sk_route_caps &= ~NETIF_F_SG;
		KUNIT_EXPECT_EQ(test, 0, mpa_tx_send(a->conn));
		sk->sk_route_caps = caps;
	}
	release_sock(sk);
	if (ret == -EAGAIN)
		kunit_skip(test, "without fast paths nothing is sent that way");
	/* An answer has left some on one processor. */
	if (ret == -ENOMEM)
		kunit_skip(test, "no idle memory for a batch");
	KUNIT_EXPECT_EQ(test, 0, ret);
	fx_wait(fx, fx->end[1].rx_ulpdus == 1);
	KUNIT_EXPECT_PTR_EQ(test, before.page, frag->page);
	KUNIT_EXPECT_EQ(test, before.offset, frag->offset);
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
	if (fast_path)
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
	KUNIT_EXPECT_EQ(test, fast_path, b->at_once > 20);
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
	KUNIT_EXPECT_EQ(test, fast_path, a->at_once > 20);
	KUNIT_EXPECT_EQ(test, fast_path, st.tx_short > 0);
	/* What TCP has not taken is sent even after detaching. */
	before = a->tx_ulpdus;
	ask_until_unanswered(fx, a);
	fx_detach(a);
	read_fpdus(test, fx->relay.raw[0], fx->data, a->tx_ulpdus - before);
}
