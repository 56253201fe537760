// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit suite of kernel/ulp/queue.c: where positions in a receive queue are found. The
 * source under test is compiled into this module, so that nothing needs to be exported.
 */
#include <linux/module.h>
#include <kunit/test.h>
#include <net/tcp.h>

#include "../../kernel/ulp/queue.c"

enum {
	/* Sequence numbers of a queue pass 0. */
	QUEUE_FROM	= -150,
	QUEUE_SKB_MAX	= 400,
};

/**
 * struct queue_skb - a segment of a queue
 * @at: its first byte, counted from %QUEUE_FROM
 * @len: its bytes
 */
struct queue_skb {
	int at;
	u32 len;
};

/* A socket with a receive queue and nothing else. */
static struct sock *queue_make(struct kunit *test)
{
	struct sock *sk = kunit_kzalloc(test, sizeof(struct tcp_sock), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, sk);
	skb_queue_head_init(&sk->sk_receive_queue);
	return sk;
}

/* Appends a segment in which each byte is the low byte of its sequence number. */
static void queue_add(struct kunit *test, struct sock *sk, int at, u32 len)
{
	struct sk_buff *skb = alloc_skb(QUEUE_SKB_MAX, GFP_KERNEL);
	u32 seq = QUEUE_FROM + at;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, skb);
	TCP_SKB_CB(skb)->seq = seq;
	for (i = 0; i < len; i++)
		*(u8 *)skb_put(skb, 1) = seq + i;
	__skb_queue_tail(&sk->sk_receive_queue, skb);
}

static void queue_fill(struct kunit *test, struct sock *sk,
		       const struct queue_skb *skbs, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		queue_add(test, sk, skbs[i].at, skbs[i].len);
}

/* The first segment that contains the byte, found from the head of the queue. */
static struct sk_buff *queue_first(struct sock *sk, u32 seq)
{
	struct sk_buff *skb;

	skb_queue_walk(&sk->sk_receive_queue, skb) {
		if (seq - TCP_SKB_CB(skb)->seq < skb->len)
			return skb;
	}
	return NULL;
}

/* Finds each byte of the queue, and the places before and behind it. */
static void queue_expect_all(struct kunit *test, struct sock *sk, int from, int to)
{
	struct mpa_pos pos;
	int at;

	for (at = from; at <= to; at++) {
		u32 seq = QUEUE_FROM + at;
		struct sk_buff *skb = queue_first(sk, seq);

		mpa_pos_queue(&pos, sk, seq);
		KUNIT_EXPECT_PTR_EQ_MSG(test, skb, pos.top, "at %d", at);
		if (pos.top)
			KUNIT_EXPECT_EQ(test, seq - TCP_SKB_CB(skb)->seq, pos.off);
	}
}

/* Reads the queue from @at on, and expects the bytes up to @end. */
static void queue_expect_read(struct kunit *test, struct sock *sk, int at, int end)
{
	struct mpa_pos pos;
	const u8 *p;
	u32 len;

	mpa_pos_queue(&pos, sk, QUEUE_FROM + at);
	while ((p = mpa_pos_map(&pos, &len))) {
		KUNIT_EXPECT_EQ_MSG(test, (u8)(QUEUE_FROM + at), *p, "at %d", at);
		mpa_pos_unmap(&pos, p);
		mpa_pos_skip(&pos, 1);
		at++;
	}
	KUNIT_EXPECT_EQ(test, end, at);
}

static void queue__empty(struct kunit *test)
{
	struct sock *sk = queue_make(test);

	queue_expect_all(test, sk, 0, 2);
	queue_expect_read(test, sk, 0, 0);
}

static void queue__one(struct kunit *test)
{
	struct sock *sk = queue_make(test);

	queue_add(test, sk, 0, 300);
	queue_expect_all(test, sk, -2, 302);
	queue_expect_read(test, sk, 299, 300);
	queue_expect_read(test, sk, 300, 300);
	__skb_queue_purge(&sk->sk_receive_queue);
}

static void queue__adjoining(struct kunit *test)
{
	static const struct queue_skb skbs[] = {
		{ 0, 100 }, { 100, 1 }, { 101, 49 }, { 150, 1 }, { 151, 149 },
	};
	struct sock *sk = queue_make(test);

	queue_fill(test, sk, skbs, ARRAY_SIZE(skbs));
	queue_expect_all(test, sk, -2, 302);
	queue_expect_read(test, sk, 0, 300);
	queue_expect_read(test, sk, 100, 300);
	queue_expect_read(test, sk, 150, 300);
	__skb_queue_purge(&sk->sk_receive_queue);
}

/* Bytes that were received twice; the segments end one behind the other. */
static void queue__overlapping(struct kunit *test)
{
	static const struct queue_skb skbs[] = {
		{ 50, 100 }, { 100, 100 }, { 0, 250 }, { 249, 2 }, { 40, 260 },
	};
	struct sock *sk = queue_make(test);

	queue_fill(test, sk, skbs, ARRAY_SIZE(skbs));
	queue_expect_all(test, sk, -2, 302);
	queue_expect_read(test, sk, 50, 300);
	queue_expect_read(test, sk, 250, 300);
	__skb_queue_purge(&sk->sk_receive_queue);
}

/* A FIN without data, and one with data that were received before. */
static void queue__fin(struct kunit *test)
{
	static const struct queue_skb empty[] = { { 0, 100 }, { 100, 50 }, { 150, 0 } };
	static const struct queue_skb again[] = { { 0, 100 }, { 100, 50 }, { 90, 60 } };
	static const struct queue_skb alone[] = { { 150, 0 } };
	struct sock *sk = queue_make(test);

	queue_fill(test, sk, empty, ARRAY_SIZE(empty));
	queue_expect_all(test, sk, -2, 152);
	queue_expect_read(test, sk, 0, 150);
	__skb_queue_purge(&sk->sk_receive_queue);

	queue_fill(test, sk, again, ARRAY_SIZE(again));
	queue_expect_all(test, sk, 0, 152);
	queue_expect_read(test, sk, 95, 150);
	__skb_queue_purge(&sk->sk_receive_queue);

	queue_fill(test, sk, alone, ARRAY_SIZE(alone));
	queue_expect_all(test, sk, 148, 152);
	__skb_queue_purge(&sk->sk_receive_queue);
}

static struct kunit_case queue_cases[] = {
	KUNIT_CASE(queue__empty),
	KUNIT_CASE(queue__one),
	KUNIT_CASE(queue__adjoining),
	KUNIT_CASE(queue__overlapping),
	KUNIT_CASE(queue__fin),
	{}
};

static struct kunit_suite queue_suite = {
	.name = "mpa_queue",
	.test_cases = queue_cases,
};

kunit_test_suite(queue_suite);

MODULE_DESCRIPTION("KUnit suite of positions in a receive queue");
MODULE_LICENSE("GPL");
