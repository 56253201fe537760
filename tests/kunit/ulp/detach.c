// SPDX-License-Identifier: GPL-2.0-only
/* Detaching under traffic. Part of mpa_ulp_kunit.c. */

static int sender(void *arg)
{
	struct end *e = arg;

	while (!kthread_should_stop()) {
		if (end_send(e, 20, random_length))
			break;
		/* The peer may keep up, so that this never waits. */
		cond_resched();
	}
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
	/* The first packet may be only an acknowledgment. */
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
		if (i % 3) {
			long left = wait_event_timeout(fx->wq, fx->end[1].rx_ulpdus > i,
						       msecs_to_jiffies(TIMEOUT_MS));

			KUNIT_EXPECT_GT(test, left, 0L);
		}
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
