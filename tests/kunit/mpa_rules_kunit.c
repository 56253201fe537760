// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit suite of requirements of RFC 5044 on a stream and its TCP together:
 * socket options, space in segments, sequence numbers that wrap; and of nodes,
 * which have the settings for streams. Needs only mpa.ko to be loaded.
 */
#include <linux/interrupt.h>
#include <linux/module.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "mpa_ulp_fixture.c"
#include "ulp/netlink.h"

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
		KUNIT_EXPECT_EQ(fx->test, from->tx_bytes, to->rx_bytes);
		KUNIT_EXPECT_EQ(fx->test, 0, end_events(to));
	}
}

/*
 * Sections 5.1 and A.2: no Nagle; A.5.1: no IP fragments; and no probing of the
 * path MTU, which would split FPDUs.
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

/* The segments of a side that would probe are small; not for MPA. */
static void attach__no_probing(struct kunit *test)
{
	u8 *probing = &init_net.ipv4.sysctl_tcp_mtu_probing;
	struct fixture *fx = test->priv;
	u8 before = READ_ONCE(*probing);
	struct sock *sk;

	WRITE_ONCE(*probing, 2);
	fx_direct(fx, &plain);
	WRITE_ONCE(*probing, before);
	sk = fx->end[0].sock->sk;
	KUNIT_EXPECT_FALSE(test, inet_csk(sk)->icsk_mtup.enabled);
	establish(fx, false);
	KUNIT_EXPECT_GT(test, tcp_sk(sk)->mss_cache,
			(u32)init_net.ipv4.sysctl_tcp_base_mss);
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

/* Short ULPDUs, of which several share a segment. */
static u32 packed_length(struct end *e, u32 room)
{
	KUNIT_EXPECT_GE(e->fx->test, room, (u32)MPA_MULPDU_MIN);
	KUNIT_EXPECT_LE(e->fx->test, room, (u32)MPA_MULPDU_MAX);
	return get_random_u32() % min(room, 200U);
}

/*
 * Section 4.5: never less than 128 bytes are offered, even if the segment or the
 * rest of a segment is too short for that.
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

struct tail_case {
	u32 room;
	bool markers;
};

/* Bytes of ULPDU that fit into a segment after the first one. */
static const struct tail_case tail_cases[] = {
	{ 2, false }, { 6, false }, { 82, false }, { 122, false },
	{ 126, false }, { 130, false }, { 2, true }, { 82, true },
	{ 126, true }, { 130, true },
};

static void tail_desc(const struct tail_case *c, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "room %u M %u", c->room,
		 c->markers);
}

KUNIT_ARRAY_PARAM(tail, tail_cases, tail_desc);

/* Result for ULPDUs of all lengths if there are @room bytes. */
static void expect_room(struct kunit *test, struct mpa_conn *conn, u32 room)
{
	u32 len, want;

	for (len = 1; len <= MPA_MULPDU_MIN + 10; len++) {
		want = room >= min_t(u32, len, MPA_MULPDU_MIN) ? room : 0;
		KUNIT_EXPECT_EQ_MSG(test, want, mpa_tx_room_for(conn, len),
				    "%u bytes", len);
	}
	want = room >= MPA_MULPDU_MIN ? room : 0;
	KUNIT_EXPECT_EQ(test, want, mpa_tx_room(conn));
}

/* Two ULPDUs; the second uses all the space that the first leaves. */
static void send_tail(struct kunit *test, struct end *e,
		      const struct tail_case *c)
{
	u32 first = mpa_tx_room(e->conn) - MPA_FPDU_OVERHEAD - c->room;
	u32 room;

	KUNIT_EXPECT_EQ(test, 0, end_add_one(e, 0, first));
	room = mpa_tx_room_for(e->conn, 1);
	KUNIT_EXPECT_EQ(test, c->room, room);
	expect_room(test, e->conn, room);
	KUNIT_EXPECT_EQ(test, -EMSGSIZE, end_add_one(e, first, room + 1));
	KUNIT_EXPECT_EQ(test, 0, end_add_one(e, first, room));
}

/*
 * Sections 4.5 and A.2: the rest of a segment is used for a ULPDU that fits
 * completely, however short it is, but a longer ULPDU is not cut for a rest of
 * less than 128 bytes.
 */
static void segment__tail(struct kunit *test)
{
	const struct tail_case *c = test->param_value;
	struct link_options lo = { .mss = 1448 };
	struct fixture *fx = test->priv;
	struct end *from = &fx->end[0], *to = &fx->end[1];

	fx_direct(fx, &lo);
	establish(fx, c->markers);
	lock_sock(from->sock->sk);
	KUNIT_EXPECT_EQ(test, 0, mpa_tx_begin(from->conn));
	send_tail(test, from, c);
	KUNIT_EXPECT_EQ(test, 0, mpa_tx_send(from->conn));
	release_sock(from->sock->sk);
	fx_wait(fx, to->rx_ulpdus == 2 || end_events(to));
	KUNIT_EXPECT_EQ(test, from->tx_bytes, to->rx_bytes);
	KUNIT_EXPECT_EQ(test, 0, end_events(to));
}

/* Sends one batch of all that fits; returns the number of FPDUs. */
static u32 send_full_batch(struct end *e)
{
	struct sock *sk = e->sock->sk;
	u32 n = 0, at = 0, room;
	int ret;

	lock_sock(sk);
	ret = mpa_tx_begin(e->conn);
	while (!ret && (room = mpa_tx_room(e->conn))) {
		ret = end_add_one(e, at, room);
		at += room;
		n++;
	}
	if (!ret)
		ret = mpa_tx_send(e->conn);
	release_sock(sk);
	return ret ? 0 : n;
}

/*
 * Section 4.5 allows MULPDU to be adjusted: the sixth of these segments has one
 * Marker less than the five before. It must be filled too, else the batch ends.
 */
static void segment__fewer_markers(struct kunit *test)
{
	struct link_options lo = { .mss = 1448 };
	struct fixture *fx = test->priv;
	struct end *from = &fx->end[0], *to = &fx->end[1];

	fx_direct(fx, &lo);
	establish(fx, true);
	KUNIT_EXPECT_GE(test, send_full_batch(from), 9u);
	fx_wait(fx, to->rx_ulpdus == from->tx_ulpdus || end_events(to));
	KUNIT_EXPECT_EQ(test, from->tx_bytes, to->rx_bytes);
	KUNIT_EXPECT_EQ(test, 0, end_events(to));
}

struct wrap_case {
	u32 before;
	bool markers;
};

/* Bytes that a side sends before the wrap; 20 of them are its startup frame. */
static const struct wrap_case wrap_cases[] = {
	{ 0, true }, { 1, true }, { 19, true }, { 20, true }, { 21, true },
	{ 24, true }, { 276, true }, { 532, true }, { 1000, true },
	{ 5000, true }, { 5001, false },
};

static void wrap_desc(const struct wrap_case *c, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u bytes before, M %u",
		 c->before, c->markers);
}

KUNIT_ARRAY_PARAM(wrap, wrap_cases, wrap_desc);

/* A socket under repair: it connects without a handshake, at these numbers. */
static struct socket *repaired_socket(struct fixture *fx, u32 snd, u32 rcv)
{
	struct socket *sock = fx_make_socket(fx, &plain);
	struct sockaddr_storage ss;
	int len = fx_loopback(AF_INET, &ss);

	KUNIT_ASSERT_EQ(fx->test, 0,
			kernel_bind(sock, (struct mpa_sockaddr *)&ss, len));
	fx_set_option(sock, SOL_TCP, TCP_REPAIR, TCP_REPAIR_ON);
	fx_set_option(sock, SOL_TCP, TCP_REPAIR_QUEUE, TCP_RECV_QUEUE);
	fx_set_option(sock, SOL_TCP, TCP_QUEUE_SEQ, rcv);
	fx_set_option(sock, SOL_TCP, TCP_REPAIR_QUEUE, TCP_SEND_QUEUE);
	fx_set_option(sock, SOL_TCP, TCP_QUEUE_SEQ, snd);
	return sock;
}

static void connect_to(struct fixture *fx, struct socket *sock,
		       struct socket *peer)
{
	struct sockaddr_storage ss;
	int len = kernel_getsockname(peer, (struct sockaddr *)&ss);

	KUNIT_ASSERT_GT(fx->test, len, 0);
	KUNIT_ASSERT_EQ(fx->test, 0,
			kernel_connect(sock, (struct mpa_sockaddr *)&ss, len, 0));
}

/*
 * Section 4.3: the sequence number may wrap between a Marker and the field it
 * points to, or at any other place.
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
		fx_set_option(fx->end[i].sock, SOL_TCP, TCP_REPAIR,
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

/* One FPDU per call into TCP, or many, depending on the settings. */
static void segment__policy(struct kunit *test)
{
	const struct link_options lo = { .mss = 1448 };
	struct fixture *fx = test->priv;
	struct mpa_conn_stats st[NR_ENDS];
	struct mpa_config cfg = {};
	unsigned int i;

	fx_direct(fx, &lo);
	cfg.v[MPA_A_CONFIG_SEGMENTS] = MPA_SEGMENTS_SINGLE;
	lock_sock(fx->end[0].sock->sk);
	mpa_set_config(fx->end[0].conn, &cfg);
	release_sock(fx->end[0].sock->sk);
	establish(fx, false);
	exchange(fx, 300, longest_length);
	for (i = 0; i < NR_ENDS; i++)
		mpa_conn_stats(fx->end[i].conn, &st[i]);
	KUNIT_EXPECT_EQ(test, st[0].tx_fpdus, 300);
	KUNIT_EXPECT_EQ(test, st[0].tx_batches, 300);
	KUNIT_EXPECT_EQ(test, st[1].tx_fpdus, 300);
	KUNIT_EXPECT_LT(test, st[1].tx_batches, 300);
}

/* One FPDU per call into TCP, however short, from one end only. */
static void segment__lone(struct kunit *test)
{
	const struct room_case *c = test->param_value;
	struct link_options lo = { .mss = c->mss };
	struct fixture *fx = test->priv;
	struct mpa_conn_stats st[NR_ENDS];
	struct mpa_config cfg = {};
	unsigned int i;

	fx_direct(fx, &lo);
	cfg.v[MPA_A_CONFIG_SEGMENTS] = MPA_SEGMENTS_LONE;
	lock_sock(fx->end[0].sock->sk);
	mpa_set_config(fx->end[0].conn, &cfg);
	release_sock(fx->end[0].sock->sk);
	establish(fx, c->markers);
	exchange(fx, 300, packed_length);
	for (i = 0; i < NR_ENDS; i++)
		mpa_conn_stats(fx->end[i].conn, &st[i]);
	KUNIT_EXPECT_EQ(test, st[0].tx_fpdus, 300);
	KUNIT_EXPECT_EQ(test, st[0].tx_batches, 300);
	KUNIT_EXPECT_EQ(test, st[1].tx_fpdus, 300);
	/* The least room of 128 bytes is all that a short segment has. */
	if (c->mss >= 536)
		KUNIT_EXPECT_LT(test, st[1].tx_batches, 300);
}

/* The owner's information is accepted in each state of a stream. */
static void view__owner_information(struct kunit *test)
{
	const struct mpa_label label = { .dev_index = 7, .qpn = 8 };
	struct fixture *fx = test->priv;
	struct sock *sk;
	unsigned int i;

	fx_direct(fx, &plain);
	sk = fx->end[0].sock->sk;
	for (i = 0; i < 3; i++) {
		lock_sock(sk);
		mpa_set_label(fx->end[0].conn, &label);
		mpa_set_terminate(fx->end[0].conn, i & 1, 0x0102);
		release_sock(sk);
		if (i == 0)
			establish(fx, true);
		if (i == 1) {
			fx_detach(&fx->end[1]);
			fx_reset(&fx->end[1].sock);
		}
	}
}

/* ---- Nodes ---- */

enum {
	/* No device of the RDMA core has this number. */
	NODE_INDEX	= 0x7ffffff0,
};

static void node_view(const struct mpa_node *node, struct mpa_node_view *v)
{
}

static bool node_is_called(const struct mpa_node *node, const char *name)
{
	return false;
}

static const struct mpa_node_ops node_ops = {
	.view		= node_view,
	.is_called	= node_is_called,
};

static const struct mpa_limits node_limits = {
	.ird_max	= 128,
	.ord_max	= 64,
	.rtr		= MPA_RTR_WRITE | MPA_RTR_READ,
};

static void set_own(struct mpa_node *node, unsigned int attr, u32 value)
{
	node->own.set |= BIT(attr);
	node->own.v[attr] = value;
}

static void a_device(struct mpa_node *dev, u32 index)
{
	*dev = (struct mpa_node){
		.kind	= MPA_NODE_DEVICE,
		.id	= index,
		.limits	= &node_limits,
		.ops	= &node_ops,
	};
}

static void a_listener(struct mpa_node *l, struct mpa_node *parent)
{
	*l = (struct mpa_node){
		.kind	= MPA_NODE_LISTENER,
		.parent	= parent,
		.ops	= &node_ops,
	};
}

static u32 in_force(const struct mpa_node *node, unsigned int attr)
{
	struct mpa_config cfg;

	mpa_node_config(node, &cfg);
	return cfg.v[attr];
}

/* Listener before device before built-in default, limited by the device. */
static void node__inherits(struct kunit *test)
{
	struct mpa_node dev, l, of_socket;

	a_device(&dev, NODE_INDEX);
	a_listener(&l, &dev);
	a_listener(&of_socket, NULL);
	set_own(&dev, MPA_A_CONFIG_MARKERS, 1);
	set_own(&dev, MPA_A_CONFIG_ORD, 60);
	set_own(&l, MPA_A_CONFIG_ORD, 50);
	set_own(&l, MPA_A_CONFIG_CRC, MPA_CONFIG_CRC_PREFERRED_OFF);

	KUNIT_EXPECT_EQ(test, in_force(&of_socket, MPA_A_CONFIG_IRD), 16382);
	KUNIT_EXPECT_EQ(test, in_force(&dev, MPA_A_CONFIG_IRD), 128);
	KUNIT_EXPECT_EQ(test, in_force(&dev, MPA_A_CONFIG_ORD), 60);
	KUNIT_EXPECT_EQ(test, in_force(&dev, MPA_A_CONFIG_CRC), 1);
	KUNIT_EXPECT_EQ(test, in_force(&dev, MPA_A_CONFIG_RTR), 6);
	KUNIT_EXPECT_EQ(test, in_force(&l, MPA_A_CONFIG_MARKERS), 1);
	KUNIT_EXPECT_EQ(test, in_force(&l, MPA_A_CONFIG_ORD), 50);
	KUNIT_EXPECT_EQ(test, in_force(&l, MPA_A_CONFIG_IRD), 128);
	KUNIT_EXPECT_EQ(test, in_force(&l, MPA_A_CONFIG_CRC), 0);
}

/* A node is listed once, with its own number, until it is removed. */
static void node__comes_and_goes(struct kunit *test)
{
	struct mpa_node dev, twin, l[3];
	unsigned int i;

	a_device(&dev, NODE_INDEX);
	a_device(&twin, NODE_INDEX);
	mpa_node_remove(&dev);
	KUNIT_ASSERT_EQ(test, 0, mpa_node_add(&dev, &init_net));
	KUNIT_EXPECT_EQ(test, -EBUSY, mpa_node_add(&twin, &init_net));
	KUNIT_EXPECT_PTR_EQ(test, twin.net, NULL);
	for (i = 0; i < ARRAY_SIZE(l); i++) {
		a_listener(&l[i], i ? &dev : NULL);
		KUNIT_EXPECT_EQ(test, 0, mpa_node_add(&l[i], &init_net));
		KUNIT_EXPECT_NE(test, l[i].id, 0);
		if (i)
			KUNIT_EXPECT_NE(test, l[i].id, l[i - 1].id);
		mpa_node_half_open(&l[i]);
	}
	mpa_node_changed(&dev);
	for (i = 0; i < ARRAY_SIZE(l); i++)
		mpa_node_remove(&l[i]);
	mpa_node_remove(&dev);
	mpa_node_remove(&dev);
	mpa_node_changed(&dev);
	mpa_node_half_open(&l[0]);
	KUNIT_EXPECT_EQ(test, 0, mpa_node_add(&twin, &init_net));
	mpa_node_remove(&twin);
}

/**
 * struct counted - a device that counts its settings
 * @node: the device
 * @calls: how often it got them
 * @mapping: %MPA_A_CONFIG_PORT_MAPPING of the last ones
 */
struct counted {
	struct mpa_node node;
	unsigned int calls;
	u32 mapping;
};

static void counted_configured(struct mpa_node *node,
			       const struct mpa_config *cfg)
{
	struct counted *c = container_of(node, struct counted, node);

	c->calls++;
	c->mapping = cfg->v[MPA_A_CONFIG_PORT_MAPPING];
}

static const struct mpa_node_ops counted_ops = {
	.view		= node_view,
	.is_called	= node_is_called,
	.configured	= counted_configured,
};

enum {
	/* What one request may have. */
	MANY_CHANGES	= 256,
};

/**
 * struct counted_case - changes that are made together
 * @name: which
 * @defaults: changes of the namespace, which set the mapping to 1, 0, 1, ...
 * @own: then changes of the first device, likewise
 * @inherit: then the device inherits again
 * @check: nothing is changed
 * @refused: the last change is
 * @calls: how often each of two devices gets settings
 * @mapping: the mapping of each afterwards
 */
struct counted_case {
	const char *name;
	unsigned int defaults;
	unsigned int own;
	bool inherit;
	bool check;
	bool refused;
	unsigned int calls[2];
	u32 mapping[2];
};

static const struct counted_case counted_cases[] = {
	{ .name = "a device", .own = 2, .calls = { 1, 0 }, .mapping = { 0, 1 } },
	{ .name = "a device, and back", .own = 2, .inherit = true,
	  .calls = { 1, 0 }, .mapping = { 1, 1 } },
	{ .name = "the namespace", .defaults = 2, .calls = { 1, 1 },
	  .mapping = { 0, 0 } },
	{ .name = "both", .defaults = 2, .own = 1, .calls = { 1, 1 },
	  .mapping = { 1, 0 } },
	{ .name = "many", .defaults = MANY_CHANGES, .calls = { 1, 1 },
	  .mapping = { 0, 0 } },
	{ .name = "many of a device", .own = MANY_CHANGES, .calls = { 1, 0 },
	  .mapping = { 0, 1 } },
	{ .name = "checked", .defaults = 2, .own = 2, .check = true,
	  .mapping = { 1, 1 } },
	{ .name = "refused", .defaults = 2, .own = 2, .refused = true,
	  .mapping = { 1, 1 } },
};

static void counted_describe(const struct counted_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(counted, counted_cases, counted_describe);

static void counted_change(struct mpa_change *c, const struct counted *of,
			   u32 mapping)
{
	c->kind = of ? MPA_NODE_DEVICE : MPA_NODE_DEFAULTS;
	c->id = of ? of->node.id : 0;
	c->to.set = BIT(MPA_A_CONFIG_PORT_MAPPING);
	c->to.v[MPA_A_CONFIG_PORT_MAPPING] = mapping;
}

static unsigned int counted_fill(struct mpa_change *to, const struct counted *of,
				 const struct counted_case *c)
{
	unsigned int i, nr = 0;

	for (i = 0; i < c->defaults; i++)
		counted_change(&to[nr++], NULL, !(i & 1));
	for (i = 0; i < c->own; i++)
		counted_change(&to[nr++], of, !(i & 1));
	if (c->refused)
		to[nr - 1].to.v[MPA_A_CONFIG_PORT_MAPPING] = 2;
	if (c->inherit) {
		to[nr].kind = MPA_NODE_DEVICE;
		to[nr].id = of->node.id;
		to[nr++].inherit = BIT(MPA_A_CONFIG_PORT_MAPPING);
	}
	return nr;
}

static void counted_run(struct kunit *test, struct counted dev[2],
			struct mpa_change *changes)
{
	const struct counted_case *c = test->param_value;
	struct mpa_refusal no = {};
	unsigned int i, nr;
	int ret;

	nr = counted_fill(changes, dev, c);
	for (i = 0; i < 2; i++)
		dev[i].calls = 0;
	ret = mpa_change_settings(&init_net, changes, nr, c->check, &no);
	KUNIT_EXPECT_EQ(test, c->refused ? -EINVAL : 0, ret);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, c->calls[i], dev[i].calls);
		KUNIT_EXPECT_EQ(test, c->mapping[i], dev[i].mapping);
		KUNIT_EXPECT_FALSE(test, dev[i].node.stale);
	}
}

/* Each device gets its settings once for changes that are made together. */
static void node__is_configured_once(struct kunit *test)
{
	struct mpa_change back = {
		.kind = MPA_NODE_DEFAULTS,
		.inherit = BIT(MPA_A_CONFIG_PORT_MAPPING),
	};
	struct mpa_refusal no = {};
	struct mpa_change *changes;
	struct counted *dev;
	unsigned int i;

	changes = kunit_kzalloc(test, (MANY_CHANGES + 1) * sizeof(*changes),
				GFP_KERNEL);
	dev = kunit_kzalloc(test, 2 * sizeof(*dev), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, changes);
	KUNIT_ASSERT_NOT_NULL(test, dev);
	for (i = 0; i < 2; i++) {
		a_device(&dev[i].node, NODE_INDEX + i);
		dev[i].node.ops = &counted_ops;
		KUNIT_EXPECT_EQ(test, 0, mpa_node_add(&dev[i].node, &init_net));
		KUNIT_EXPECT_EQ(test, 1, dev[i].calls);
	}
	counted_run(test, dev, changes);
	KUNIT_EXPECT_EQ(test, 0, mpa_change_settings(&init_net, &back, 1, false, &no));
	for (i = 0; i < 2; i++)
		mpa_node_remove(&dev[i].node);
}

/**
 * struct softly - a listener that is used and removed in softirq
 * @tasklet: does that
 * @node: the listener
 * @own: a setting in effect there
 */
struct softly {
	struct tasklet_struct tasklet;
	struct mpa_node node;
	u32 own;
};

static void softly_run(struct tasklet_struct *t)
{
	struct softly *s = container_of(t, struct softly, tasklet);

	mpa_node_half_open(&s->node);
	s->own = in_force(&s->node, MPA_A_CONFIG_HALF_OPEN_MAX);
	mpa_node_remove(&s->node);
}

static void node__in_softirq(struct kunit *test)
{
	struct softly *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	struct mpa_node in_process;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, s);
	a_listener(&s->node, NULL);
	set_own(&s->node, MPA_A_CONFIG_HALF_OPEN_MAX, 3);
	tasklet_setup(&s->tasklet, softly_run);
	for (i = 0; i < 100; i++) {
		s->own = 0;
		KUNIT_ASSERT_EQ(test, 0, mpa_node_add(&s->node, &init_net));
		tasklet_schedule(&s->tasklet);
		a_listener(&in_process, NULL);
		KUNIT_EXPECT_EQ(test, 0, mpa_node_add(&in_process, &init_net));
		mpa_node_remove(&in_process);
		tasklet_kill(&s->tasklet);
		KUNIT_EXPECT_NULL(test, s->node.net);
		KUNIT_EXPECT_EQ(test, 3, s->own);
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE(attach__socket_options),
	KUNIT_CASE(attach__no_probing),
	KUNIT_CASE_PARAM(segment__room, room_gen_params),
	KUNIT_CASE_PARAM(segment__tail, tail_gen_params),
	KUNIT_CASE(segment__fewer_markers),
	KUNIT_CASE_PARAM(sequence__wraps, wrap_gen_params),
	KUNIT_CASE(segment__policy),
	KUNIT_CASE_PARAM(segment__lone, room_gen_params),
	KUNIT_CASE(view__owner_information),
	KUNIT_CASE(node__inherits),
	KUNIT_CASE(node__comes_and_goes),
	KUNIT_CASE(node__in_softirq),
	KUNIT_CASE_PARAM(node__is_configured_once, counted_gen_params),
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
MODULE_IMPORT_NS(MPA_NS);
