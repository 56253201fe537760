// SPDX-License-Identifier: GPL-2.0-only
/*
 * Faults in a stream; receiving in small portions and through small buffers.
 * Part of mpa_ulp_kunit.c.
 */

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

/* Without CRCs the length is refused at once. */
static void fault__length_without_crc(struct kunit *test)
{
	struct mpa_params p = params(MPA_REV_1, false, false);
	struct fixture *fx = test->priv;
	u8 ulpdu[300], *f = fx->data;
	u32 good;

	raw_responder(fx, &plain, &p, 0);
	pattern(ulpdu, 0, 0, sizeof(ulpdu));
	good = raw_fpdu(f, ulpdu, sizeof(ulpdu));
	put_unaligned_be16(MPA_MULPDU_MAX + 1, f + good);
	raw_send(fx->relay.raw[0], f, good + 2);
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

/*
 * Bytes of the first FPDU of a stream, whose ULPDU has flipped_length() bytes: a
 * Marker, the length field, the ULPDU with a Marker at 512, two of padding, the CRC.
 */
static const u16 flipped_bytes[] = {
	0, 2, 3, 4, 5, 6, 100, 511, 512, 514, 515, 516, 1009, 1010, 1011, 1012, 1015,
};

static u32 flipped_length(struct end *e, u32 room)
{
	return 1000;
}

/* Corrupted anywhere: always detected, and the ULPDU is not delivered. */
static void fault__flipped(struct kunit *test)
{
	struct fixture *fx = test->priv;
	struct mpa_params p = params(MPA_REV_2, true, true);
	struct end *b = &fx->end[1];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(flipped_bytes); i++) {
		fx_relayed(fx, &plain);
		start_both(fx, &p, &p);
		fx->relay.flip_at[0] = fx->relay.passed[0] + flipped_bytes[i];
		/* A length that is too long takes bytes of those that follow. */
		send_some(fx, 0, 4, flipped_length);
		fx->relay.chunk = 300;
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
 * The owner does not want a ULPDU yet: it comes again, whole, in its turn, and the
 * end of the stream after all of them.
 */
static void receive__put_off(struct kunit *test)
{
	const struct buffer_case *c = test->param_value;
	struct link_options lo = {
		.mss = c->mss,
		.rcvbuf = c->rcvbuf,
		.sndbuf = c->sndbuf,
	};
	struct mpa_params p = params(MPA_REV_2, c->markers, true);
	struct fixture *fx = test->priv;
	struct end *b = &fx->end[1];
	struct mpa_conn_stats st;

	fx_direct(fx, &lo);
	b->put_off = 2;
	start_both(fx, &p, &p);
	send_some(fx, 0, 2, longest_length);
	send_some(fx, 0, 8, random_length);
	kernel_sock_shutdown(fx->end[0].sock, SHUT_WR);
	fx_wait(fx, b->ended[MPA_ERROR_CLOSED]);
	KUNIT_EXPECT_EQ(test, 0, b->err[MPA_ERROR_CLOSED]);
	KUNIT_EXPECT_EQ(test, 1, end_events(b));
	KUNIT_EXPECT_EQ(test, 10, b->rx_ulpdus);
	KUNIT_EXPECT_EQ(test, 30, b->offers);
	expect_arrived(fx, &fx->end[0], b);
	mpa_conn_stats(b->conn, &st);
	KUNIT_EXPECT_EQ(test, 10ULL, st.rx_fpdus);
	KUNIT_EXPECT_EQ(test, 0ULL, st.rx_dropped);
}

/* The parameter of mpa.ko. */
static bool fast_path;

/*
 * A parameter of this module would not be set yet when the cases run. They run in
 * kernel threads, which see no files in later kernels; this does not.
 */
static int read_fast_path(struct kunit_suite *suite)
{
	struct file *file = filp_open("/sys/module/mpa/parameters/fast_path",
				      O_RDONLY, 0);
	loff_t pos = 0;
	char value = 0;
	int ret;

	if (IS_ERR(file))
		return PTR_ERR(file);
	ret = kernel_read(file, &value, 1, &pos);
	filp_close(file, NULL);
	fast_path = value == 'Y';
	return ret == 1 ? 0 : -EIO;
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

struct series_case {
	int mss;
	bool markers;
	bool crc;
	bool series;
	bool joined;
};

/*
 * Segments of the loopback device are longer than a page fragment once the
 * window is open. Segments of 1446 bytes are sent one by one, so their ULPDUs
 * cannot be joined.
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
 * is switched off. Only FPDUs in one fragment of a packet are joined. Bytes and
 * statistics are the same as without joining.
 */
static void send__in_series(struct kunit *test)
{
	const struct series_case *c = test->param_value;
	struct link_options lo = {
		.mss = c->mss,
		.rcvbuf = c->mss ? 0 : 1024 * 1024,
	};
	struct mpa_params p = params(MPA_REV_1, c->markers, c->crc);
	struct fixture *fx = test->priv;
	struct end *a = &fx->end[0], *b = &fx->end[1];
	bool joined = fast_path && c->joined && 2 * c->mss <= MPA_TCP_FRAG_MAX;
	unsigned int i;

	if (!c->mss && PAGE_SIZE > SZ_32K)
		kunit_skip(test, "a page fragment is as long as a segment");
	fx_direct(fx, &lo);
	start_both(fx, &p, &p);
	if (!c->mss)
		wait_for_longest(fx, 0);
	a->counted = true;
	b->counted = true;
	for (i = 0; i < 12; i++)
		KUNIT_ASSERT_EQ(test, 0, end_send_counted(a, 20011 * i + 1));
	fx_wait(fx, all_arrived(fx));
	expect_arrived(fx, a, b);
	KUNIT_EXPECT_EQ(test, a->tx_count, b->rx_count);
	KUNIT_EXPECT_EQ(test, fast_path && c->series, a->tx_series > 0);
	KUNIT_EXPECT_EQ(test, joined, b->rx_joined > 0);
	KUNIT_EXPECT_EQ(test, joined, b->rx_joins > 1);
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
	KUNIT_EXPECT_EQ(test, fast_path ? 2 : 0, a->rx_joined);
	KUNIT_EXPECT_EQ(test, 300ULL, a->rx_count);
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
