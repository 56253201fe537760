// SPDX-License-Identifier: GPL-2.0-only
/* Attaching, and a stream in full operation for the other cases. Part of mpa_ulp_kunit.c. */

/* What another release may share with mpa.ko. */
static void attach__shared(struct kunit *test)
{
	struct mpa_shared shared = MPA_SHARED_HERE;
	u32 *word = (u32 *)&shared;
	unsigned int i;

	KUNIT_EXPECT_TRUE(test, mpa_shares(&shared));
	for (i = 0; i < sizeof(shared) / sizeof(*word); i++) {
		word[i]++;
		KUNIT_EXPECT_FALSE(test, mpa_shares(&shared));
		word[i]--;
	}
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
	KUNIT_EXPECT_EQ(test, -ENOTCONN, PTR_ERR(mpa_attach(fresh, &none, e, &fx_label)));
	sock_release(fresh);

	fx_pair(fx, &plain, &e->sock, &fx->relay.raw[0]);
	user = fx->relay.raw[0];
	user->sk->sk_kern_sock = 0;
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, PTR_ERR(mpa_attach(user, &none, e, &fx_label)));
	user->sk->sk_kern_sock = 1;
	user->sk->sk_user_data = e;
	KUNIT_EXPECT_EQ(test, -EEXIST, PTR_ERR(mpa_attach(user, &none, e, &fx_label)));
	user->sk->sk_user_data = NULL;

	fx_attach(e);
	KUNIT_EXPECT_PTR_EQ(test, (void *)e, mpa_priv(e->conn));
	KUNIT_EXPECT_PTR_EQ(test, e->sock, mpa_socket(e->conn));
	KUNIT_EXPECT_EQ(test, -EEXIST,
			PTR_ERR(mpa_attach(e->sock, &none, e, &fx_label)));
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
