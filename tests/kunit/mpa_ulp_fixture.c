// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sockets, ends of streams and the relay of the suites of kernel/ulp.
 */
#include <linux/crc32c.h>
#include <linux/delay.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/netdevice.h>
#include <linux/random.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "compat/kunit.h"
#include "compat/net.h"
#include "compat/unaligned.h"
#include "mpa_ulp_fixture.h"

static int add_batch(struct end *e, u32 *nr,
		     u32 (*length)(struct end *e, u32 room));

/* ---- Callbacks ---- */

static struct end *enter(struct mpa_conn *conn)
{
	struct end *e = mpa_priv(conn);

	if (e->detached || e->in_callback || (e->conn && e->conn != conn))
		e->bad++;
	if (IS_ENABLED(CONFIG_LOCKDEP) &&
	    !lockdep_sock_is_held(mpa_socket(conn)->sk))
		e->bad++;
	e->in_callback = true;
	return e;
}

static void leave(struct end *e)
{
	e->in_callback = false;
	wake_up(&e->fx->wq);
}

static void save_pd(struct end *e, const void *pd, u32 pd_len)
{
	if (pd_len > sizeof(e->pd)) {
		e->bad++;
		return;
	}
	memcpy(e->pd, pd, pd_len);
	e->pd_len = pd_len;
}

static void on_request(struct mpa_conn *conn, const struct mpa_frame *req,
		       const void *pd, u32 pd_len)
{
	struct end *e = enter(conn);

	e->req = *req;
	save_pd(e, pd, pd_len);
	e->requests++;
	leave(e);
}

static void on_operational(struct mpa_conn *conn, const struct mpa_result *res)
{
	struct end *e = enter(conn);

	e->res = *res;
	e->operationals++;
	leave(e);
}

static void on_reply(struct mpa_conn *conn, int status,
		     const struct mpa_result *res, const void *pd, u32 pd_len)
{
	struct end *e = enter(conn);

	/* Full operation is reported first. */
	if (!status && e->operationals != 1)
		e->bad++;
	e->status = status;
	e->with_res = res;
	save_pd(e, pd, pd_len);
	e->replies++;
	leave(e);
}

/* Checks bytes @off .. @off + @len of the ULPDU, or skips some of them. */
static void check_part(struct end *e, struct mpa_rx *rx, u32 off, u32 len)
{
	u8 want[sizeof(e->buf)];

	if (e->skip && off % 3) {
		mpa_rx_read(rx, NULL, len);
		return;
	}
	pattern(want, e->rx_ulpdus, off, len);
	memset(e->buf, 0xee, len);
	mpa_rx_read(rx, e->buf, len);
	if (memcmp(want, e->buf, len))
		e->bad++;
}

static u64 counter_of(const u8 *p)
{
	return p ? get_unaligned_be64(p) : U64_MAX;
}

/*
 * Joins the ULPDUs that continue the current one, whose counter was read.
 * Returns the number of ULPDUs, the current one included.
 */
static u32 join_all(struct end *e, struct mpa_rx *rx)
{
	u32 left = mpa_rx_left(rx);
	u32 nr = 1;

	while (counter_of(mpa_rx_next(rx, COUNTER)) ==
	       e->rx_count + mpa_rx_left(rx) && mpa_rx_join(rx, COUNTER))
		nr++;
	/* Every second time the joining is undone. */
	if (nr == 1 || ++e->rx_joins % 2)
		return nr;
	mpa_rx_part(rx);
	if (mpa_rx_left(rx) != left)
		e->bad++;
	return 1;
}

/* Checks bytes of the pattern, in parts of varying lengths. */
static void check_count(struct end *e, struct mpa_rx *rx, u32 len)
{
	u8 want[sizeof(e->buf)];
	u32 n;

	for (; len; len -= n) {
		n = min3(len, (u32)(e->rx_count % 509) + 1,
			 (u32)sizeof(e->buf));
		pattern(want, 0, e->rx_count, n);
		mpa_rx_read(rx, e->buf, n);
		if (memcmp(want, e->buf, n))
			e->bad++;
		e->rx_count += n;
	}
}

static int on_counted(struct end *e, struct mpa_rx *rx, u32 len)
{
	u8 counter[COUNTER];
	u32 nr, left;

	if (len <= COUNTER) {
		e->bad++;
		return -EPROTO;
	}
	mpa_rx_read(rx, counter, COUNTER);
	if (counter_of(counter) != e->rx_count)
		e->bad++;
	nr = join_all(e, rx);
	left = mpa_rx_left(rx);
	if (nr == 1 ? left != len - COUNTER : left <= len - COUNTER)
		e->bad++;
	check_count(e, rx, left);
	if (mpa_rx_left(rx))
		e->bad++;
	e->rx_bytes += nr * COUNTER + left;
	e->rx_joined += nr - 1;
	e->rx_ulpdus += nr;
	return 0;
}

static int on_ulpdu(struct mpa_conn *conn, struct mpa_rx *rx, u32 len)
{
	struct end *e = enter(conn);
	u32 off = 0;
	int ret;

	if (mpa_rx_left(rx) != len)
		e->bad++;
	if (e->put_off && e->offers++ % (e->put_off + 1) < e->put_off) {
		/* What was read of it comes again. */
		mpa_rx_read(rx, NULL, len / 2);
		leave(e);
		return -EAGAIN;
	}
	if (e->counted) {
		ret = on_counted(e, rx, len);
		leave(e);
		return ret;
	}
	while (off < len) {
		/* Varying lengths, so that Markers are anywhere in a part. */
		u32 n = min3((off * 7 + e->rx_ulpdus) % 509 + 1, len - off,
			     (u32)sizeof(e->buf));

		check_part(e, rx, off, n);
		off += n;
		/* Owners may leave the rest unread. */
		if (e->skip && off > len / 2)
			break;
	}
	if (mpa_rx_left(rx) != len - off)
		e->bad++;
	e->rx_bytes += len;
	e->unanswered += !!e->echo;
	leave(e);
	return e->rx_ulpdus++ == e->refuse_at ? -ECANCELED : 0;
}

static void on_answer(struct mpa_conn *conn)
{
	struct end *e = enter(conn);
	u32 before = e->tx_ulpdus;

	e->answers++;
	if (e->unanswered && !mpa_tx_begin_atomic(conn)) {
		if (add_batch(e, &e->unanswered, e->echo) ||
		    (e->shrink ? end_send_shrunk(e) : mpa_tx_send(conn)))
			e->bad++;
		e->at_once += e->tx_ulpdus - before;
	}
	leave(e);
}

static void on_writable(struct mpa_conn *conn)
{
	struct end *e = enter(conn);

	/* After a FIN, even within an FPDU, this end can still send. */
	if (e->ended[MPA_ERROR_CLOSED] && e->err[MPA_ERROR_CLOSED] &&
	    e->err[MPA_ERROR_CLOSED] != -ECONNABORTED)
		e->bad++;
	e->writables++;
	leave(e);
}

static void on_ended(struct mpa_conn *conn, enum mpa_error code, int err)
{
	struct end *e = enter(conn);

	e->err[code] = err;
	e->ended[code]++;
	leave(e);
}

static const struct mpa_ops ops = {
	.request	= on_request,
	.operational	= on_operational,
	.reply		= on_reply,
	.ulpdu		= on_ulpdu,
	.answer		= on_answer,
	.writable	= on_writable,
	.ended		= on_ended,
};

/* ---- Sockets ---- */

static void set_up_loopback(void)
{
	rtnl_lock();
	dev_open(init_net.loopback_dev, NULL);
	rtnl_unlock();
}

/**
 * fx_set_option - set an option of a socket
 * @sock: the socket
 * @level: SOL_*
 * @name: option
 * @value: its value
 */
void fx_set_option(struct socket *sock, int level, int name, int value)
{
	sock->ops->setsockopt(sock, level, name, KERNEL_SOCKPTR(&value),
			      sizeof(value));
}

/**
 * fx_set_options - set the options that all sockets of the fixture have
 * @sock: the socket
 * @lo: more options
 */
void fx_set_options(struct socket *sock, const struct link_options *lo)
{
	struct sock *sk = sock->sk;

	if (lo->mss)
		fx_set_option(sock, SOL_TCP, TCP_MAXSEG, lo->mss);
	if (lo->rcvbuf)
		sock_set_rcvbuf(sk, lo->rcvbuf);
	if (lo->sndbuf) {
		lock_sock(sk);
		sk->sk_userlocks |= SOCK_SNDBUF_LOCK;
		WRITE_ONCE(sk->sk_sndbuf, lo->sndbuf);
		release_sock(sk);
	}
	sk->sk_rcvtimeo = msecs_to_jiffies(TIMEOUT_MS);
	sk->sk_sndtimeo = msecs_to_jiffies(TIMEOUT_MS);
}

/**
 * fx_make_socket - make a TCP socket
 * @fx: the fixture
 * @lo: its options
 *
 * Return: the socket.
 */
struct socket *fx_make_socket(struct fixture *fx, const struct link_options *lo)
{
	struct socket *sock;

	KUNIT_ASSERT_EQ(fx->test, 0,
			sock_create_kern(&init_net, lo->family ?: AF_INET,
					 SOCK_STREAM, IPPROTO_TCP, &sock));
	fx_set_options(sock, lo);
	return sock;
}

/**
 * fx_loopback - an address of the loopback device, any port
 * @family: AF_INET or AF_INET6
 * @ss: the address
 *
 * Return: its length.
 */
int fx_loopback(int family, struct sockaddr_storage *ss)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ss;
	struct sockaddr_in *in = (struct sockaddr_in *)ss;

	memset(ss, 0, sizeof(*ss));
	if (family == AF_INET6) {
		in6->sin6_family = AF_INET6;
		in6->sin6_addr = in6addr_loopback;
		return sizeof(*in6);
	}
	in->sin_family = AF_INET;
	in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return sizeof(*in);
}

/**
 * fx_pair - make two sockets that are connected to each other
 * @fx: the fixture
 * @lo: options of the sockets
 * @a: set to the socket that connected
 * @b: set to the accepted socket
 */
void fx_pair(struct fixture *fx, const struct link_options *lo,
	     struct socket **a, struct socket **b)
{
	struct sockaddr_storage ss;
	int len = fx_loopback(lo->family ?: AF_INET, &ss);
	struct mpa_sockaddr *sa = (struct mpa_sockaddr *)&ss;

	fx->listener = fx_make_socket(fx, lo);
	KUNIT_ASSERT_EQ(fx->test, 0, kernel_bind(fx->listener, sa, len));
	KUNIT_ASSERT_EQ(fx->test, 0, kernel_listen(fx->listener, 1));
	KUNIT_ASSERT_GT(fx->test, kernel_getsockname(fx->listener,
						     (struct sockaddr *)&ss), 0);
	*a = fx_make_socket(fx, lo);
	KUNIT_ASSERT_EQ(fx->test, 0, kernel_connect(*a, sa, len, 0));
	KUNIT_ASSERT_EQ(fx->test, 0, kernel_accept(fx->listener, b, 0));
	fx_set_options(*b, &(struct link_options){});
	fx_release(&fx->listener);
}

/* No device of the RDMA core has this number. */
const struct mpa_label fx_label = { .dev_index = 0x7ffffff0 };

/**
 * fx_attach - put MPA on an end's socket
 * @e: the end
 */
void fx_attach(struct end *e)
{
	struct mpa_conn *conn = mpa_attach(e->sock, &ops, e, &fx_label);

	KUNIT_ASSERT_FALSE_MSG(e->fx->test, IS_ERR(conn), "%ld", PTR_ERR(conn));
	e->conn = conn;
	e->detached = false;
}

/**
 * fx_detach - remove MPA from an end's socket, if attached
 * @e: the end
 */
void fx_detach(struct end *e)
{
	struct mpa_conn *conn = e->conn;

	if (!conn)
		return;
	mpa_detach(conn);
	e->detached = true;
	e->conn = NULL;
}

/**
 * fx_direct - attach both ends to the two sockets of a pair
 * @fx: the fixture
 * @lo: options of the sockets
 */
void fx_direct(struct fixture *fx, const struct link_options *lo)
{
	fx_pair(fx, lo, &fx->end[0].sock, &fx->end[1].sock);
	fx_attach(&fx->end[0]);
	fx_attach(&fx->end[1]);
}

/**
 * fx_with_raw - attach one end, whose peer is a raw socket
 * @fx: the fixture
 * @i: number of the end; the raw socket has the same number
 * @lo: options of the sockets
 */
void fx_with_raw(struct fixture *fx, unsigned int i,
		 const struct link_options *lo)
{
	fx_pair(fx, lo, &fx->end[i].sock, &fx->relay.raw[i]);
	fx_attach(&fx->end[i]);
}

/**
 * fx_relayed - attach both ends, with the relay between them
 * @fx: the fixture
 * @lo: options of the sockets
 */
void fx_relayed(struct fixture *fx, const struct link_options *lo)
{
	fx_with_raw(fx, 0, lo);
	fx_with_raw(fx, 1, lo);
}

/**
 * fx_release - close a socket, if there is one
 * @sock: the socket; set to NULL
 */
void fx_release(struct socket **sock)
{
	if (*sock)
		sock_release(*sock);
	*sock = NULL;
}

/**
 * fx_reset - close a socket with a reset, if there is one
 * @sock: the socket; set to NULL
 */
void fx_reset(struct socket **sock)
{
	if (*sock)
		sock_no_linger((*sock)->sk);
	fx_release(sock);
}

/**
 * fx_settle - wait long enough to see what must not happen
 */
void fx_settle(void)
{
	msleep(SETTLE_MS);
}

static void init_end(struct fixture *fx, struct end *e)
{
	e->fx = fx;
	e->refuse_at = U32_MAX;
	e->detached = true;
	e->out = vzalloc(ROOM);
}

/**
 * fx_init - set up the fixture before each test
 * @test: the test; its priv becomes the fixture
 *
 * Return: 0 or -ENOMEM.
 */
int fx_init(struct kunit *test)
{
	struct fixture *fx = kunit_kzalloc(test, sizeof(*fx), GFP_KERNEL);

	if (!fx)
		return -ENOMEM;
	set_up_loopback();
	fx->test = test;
	init_waitqueue_head(&fx->wq);
	init_end(fx, &fx->end[0]);
	init_end(fx, &fx->end[1]);
	fx->data = vzalloc(ROOM);
	fx->relay.flip_at[0] = U64_MAX;
	fx->relay.flip_at[1] = U64_MAX;
	test->priv = fx;
	return fx->data && fx->end[0].out && fx->end[1].out ? 0 : -ENOMEM;
}

/**
 * fx_exit - free the fixture after each test, passed or failed
 * @test: the test
 */
void fx_exit(struct kunit *test)
{
	struct fixture *fx = test->priv;
	unsigned int i;

	/* KUnit calls this also if it could not start the thread of the case. */
	if (!fx) {
		KUNIT_FAIL(test, "the case has not begun");
		return;
	}
	/* The cases of a parameter share @test. */
	test->priv = NULL;
	for (i = 0; i < NR_ENDS; i++)
		fx_detach(&fx->end[i]);
	/*
	 * After a reset TCP destroys the sockets at once. A socket that was
	 * attached holds a reference to mpa.ko until then.
	 */
	for (i = 0; i < NR_ENDS; i++) {
		fx_reset(&fx->end[i].sock);
		fx_reset(&fx->relay.raw[i]);
		KUNIT_EXPECT_EQ_MSG(test, fx->end[i].bad, 0, "end %u", i);
		vfree(fx->end[i].out);
	}
	fx_release(&fx->listener);
	vfree(fx->data);
}

/* ---- Raw peers ---- */

/**
 * raw_send - send all bytes
 * @sock: a raw peer's socket
 * @p: the bytes
 * @len: number of bytes
 *
 * Return: @len; else fewer bytes or a negative error.
 */
int raw_send(struct socket *sock, const void *p, u32 len)
{
	struct msghdr msg = { .msg_flags = MSG_NOSIGNAL };
	struct kvec vec = { .iov_base = (void *)p, .iov_len = len };

	return kernel_sendmsg(sock, &msg, &vec, 1, len);
}

/**
 * raw_recv - receive the bytes that are available
 * @sock: a raw peer's socket
 * @p: destination
 * @len: maximum number of bytes
 *
 * Return: number of bytes; 0 at the end of the stream; -EAGAIN if none are
 * available.
 */
int raw_recv(struct socket *sock, void *p, u32 len)
{
	struct msghdr msg = {};
	struct kvec vec = { .iov_base = p, .iov_len = len };

	return kernel_recvmsg(sock, &msg, &vec, 1, len, MSG_DONTWAIT);
}

/**
 * raw_recv_all - wait for bytes
 * @sock: a raw peer's socket
 * @p: destination
 * @len: number of bytes
 *
 * Return: @len; else fewer bytes or a negative error.
 */
int raw_recv_all(struct socket *sock, void *p, u32 len)
{
	struct msghdr msg = {};
	struct kvec vec = { .iov_base = p, .iov_len = len };

	return kernel_recvmsg(sock, &msg, &vec, 1, len, MSG_WAITALL);
}

/**
 * raw_frame - build a startup frame byte by byte
 * @to: destination of 20 + @pd_len bytes
 * @reply: a Reply, else a Request
 * @flags: the flag byte
 * @rev: the revision
 * @pd_len: bytes of private data, all 0
 *
 * Return: bytes of the frame.
 */
u32 raw_frame(u8 *to, bool reply, u8 flags, u8 rev, u32 pd_len)
{
	memcpy(to, reply ? "MPA ID Rep Frame" : "MPA ID Req Frame", 16);
	to[16] = flags;
	to[17] = rev;
	to[18] = pd_len >> 8;
	to[19] = pd_len;
	memset(to + 20, 0, pd_len);
	return 20 + pd_len;
}

/**
 * raw_fpdu - build an FPDU without Markers byte by byte
 * @to: destination
 * @ulpdu: the ULPDU
 * @len: bytes of the ULPDU
 *
 * Return: bytes of the FPDU.
 */
u32 raw_fpdu(u8 *to, const u8 *ulpdu, u32 len)
{
	u32 n = 2 + len, crc;

	to[0] = len >> 8;
	to[1] = len;
	memcpy(to + 2, ulpdu, len);
	while (n % 4)
		to[n++] = 0;
	crc = ~crc32c(~0, to, n);
	to[n++] = crc;
	to[n++] = crc >> 8;
	to[n++] = crc >> 16;
	to[n++] = crc >> 24;
	return n;
}

static int pass(struct relay *r, unsigned int from, u8 *data)
{
	u64 at = r->flip_at[from] - r->passed[from];
	int n = raw_recv(r->raw[from], data, r->chunk ?: ROOM);

	if (n <= 0)
		return 0;
	if (at < n)
		data[at] ^= 0x04;
	r->passed[from] += n;
	return raw_send(r->raw[!from], data, n) == n ? n : -EPIPE;
}

/**
 * relay_step - forward the available bytes in both directions
 * @r: the relay
 * @fx: the fixture
 *
 * Sleeps a little if no bytes are available.
 *
 * Return: bytes forwarded, or a negative error.
 */
int relay_step(struct relay *r, struct fixture *fx)
{
	int a = pass(r, 0, fx->data);
	int b = a < 0 ? a : pass(r, 1, fx->data);

	if (b < 0)
		return b;
	if (!a && !b)
		usleep_range(200, 400);
	return a + b;
}

/* ---- Traffic ---- */

/**
 * pattern - write the expected bytes of a ULPDU
 * @to: destination
 * @ulpdu: number of the ULPDU, from 0 on
 * @off: offset of the first byte
 * @len: number of bytes
 */
void pattern(u8 *to, u32 ulpdu, u32 off, u32 len)
{
	u32 i;

	for (i = off; i < off + len; i++)
		*to++ = ulpdu * 167 + i * 13 + (i >> 8) * 7;
}

/**
 * random_length - choose a random length of a ULPDU
 * @e: the sender
 * @room: maximum length
 *
 * Return: mostly a short length, sometimes the maximum or close to it,
 * sometimes any length.
 */
u32 random_length(struct end *e, u32 room)
{
	u32 dice = get_random_u32();

	switch (dice % 8) {
	case 0:
		return room;
	case 1:
		return room - (dice >> 8) % min(room, 8U);
	case 2:
	case 3:
		return (dice >> 8) % 8;
	case 4:
	case 5:
		return (dice >> 8) % min(room, 600U);
	default:
		return (dice >> 8) % (room + 1);
	}
}

/**
 * longest_length - choose the maximum length of a ULPDU
 * @e: the sender
 * @room: maximum length
 *
 * Return: @room.
 */
u32 longest_length(struct end *e, u32 room)
{
	return room;
}

/* Adds one ULPDU of @len bytes to the batch, stored in e->out from @at on. */
/**
 * end_add_one - add a ULPDU of the pattern to a batch
 * @e: the end
 * @at: bytes of the batch before it
 * @len: bytes of the ULPDU
 *
 * Return: as of mpa_tx_add().
 */
int end_add_one(struct end *e, u32 at, u32 len)
{
	bool stable = e->tx_ulpdus % 3 == 0;
	u32 hdr = min3(len, e->tx_ulpdus % (MPA_TX_HEADER_MAX + 1), len);
	u8 *p = e->out + at;
	u32 cut = (len - hdr) / 3;
	struct kvec vec[] = {
		{ .iov_base = p + hdr, .iov_len = cut },
		{ .iov_base = p + hdr + cut, .iov_len = len - hdr - cut },
	};
	int ret;

	pattern(p, e->tx_ulpdus, 0, len);
	ret = mpa_tx_add(e->conn, p, hdr, vec, ARRAY_SIZE(vec), len - hdr,
			 stable);
	if (ret)
		return ret;
	/* Bytes that mpa_tx_add() must have copied may change. */
	memset(p, 0xdd, hdr);
	if (!stable && e->res.crc)
		memset(p, 0xdd, len);
	e->tx_ulpdus++;
	e->tx_bytes += len;
	return 0;
}

static int add_batch(struct end *e, u32 *nr,
		     u32 (*length)(struct end *e, u32 room))
{
	u32 at = 0, room;
	int ret = 0;

	while (!ret && *nr && (room = mpa_tx_room(e->conn))) {
		u32 len = length(e, room);

		/* One byte too many is refused and changes nothing. */
		if (mpa_tx_add(e->conn, e->out, 0,
			       &(struct kvec){ e->out, room + 1 }, 1, room + 1,
			       true) != -EMSGSIZE)
			e->bad++;
		ret = end_add_one(e, at, len);
		at += len;
		--*nr;
	}
	return ret;
}

static int send_batch(struct end *e, u32 *nr,
		      u32 (*length)(struct end *e, u32 room))
{
	int ret;

	if (mpa_tx_room(e->conn) < MPA_MULPDU_MIN)
		e->bad++;
	ret = add_batch(e, nr, length);
	return mpa_tx_send(e->conn) ?: ret;
}

/**
 * end_send_shrunk - send a batch with the maximum packet reduced to one segment
 * @e: the sender, locked, with a batch open
 *
 * Return: as mpa_tx_send().
 */
int end_send_shrunk(struct end *e)
{
	struct sock *sk = e->sock->sk;
	unsigned int packet = sk->sk_gso_max_size;
	int ret;

	sk->sk_gso_max_size = tcp_sk(sk)->mss_cache;
	ret = mpa_tx_send(e->conn);
	sk->sk_gso_max_size = packet;
	return ret;
}

/* Opens a batch. After -EAGAIN, has waited until a retry may succeed. */
static int open_batch(struct end *e)
{
	unsigned int before = e->writables;
	int ret = mpa_tx_begin(e->conn);

	if (ret != -EAGAIN)
		return ret;
	release_sock(e->sock->sk);
	if (!wait_event_timeout(e->fx->wq, e->writables != before ||
				e->ended[MPA_ERROR_CLOSED],
				msecs_to_jiffies(TIMEOUT_MS)))
		ret = -ETIMEDOUT;
	lock_sock(e->sock->sk);
	return ret;
}

/**
 * end_send - send ULPDUs
 * @e: the sender
 * @nr: number of ULPDUs
 * @length: returns the length of the next one, at most @room
 *
 * Return: 0; -ETIMEDOUT if sending does not continue; errors of mpa_tx_*().
 */
int end_send(struct end *e, u32 nr, u32 (*length)(struct end *e, u32 room))
{
	int ret = 0;

	while (nr && !ret) {
		lock_sock(e->sock->sk);
		ret = open_batch(e);
		if (!ret)
			ret = send_batch(e, &nr, length);
		else if (ret == -EAGAIN)
			ret = 0;
		release_sock(e->sock->sk);
	}
	return ret;
}

/**
 * end_send_unanswered - send the answers that ops->answer has not sent
 * @e: the sender; it receives no more ULPDUs to answer
 *
 * Return: as end_send().
 */
int end_send_unanswered(struct end *e)
{
	u32 nr;

	lock_sock(e->sock->sk);
	nr = e->unanswered;
	e->unanswered = 0;
	release_sock(e->sock->sk);
	return end_send(e, nr, e->echo);
}

/* Adds a single ULPDU of bytes at @p. Returns bytes of the pattern sent. */
static u32 add_counted(struct end *e, u8 *p, u32 len, u32 room)
{
	struct kvec vec = {
		.iov_base = p,
		.iov_len = min(len, room - COUNTER),
	};
	u8 counter[COUNTER];

	put_unaligned_be64(e->tx_count, counter);
	if (mpa_tx_add(e->conn, counter, COUNTER, &vec, 1, vec.iov_len, false))
		e->bad++;
	e->tx_ulpdus++;
	e->tx_bytes += COUNTER + vec.iov_len;
	return vec.iov_len;
}

/*
 * Adds a series of ULPDUs, each of which fills its segment. Returns bytes of
 * the pattern sent.
 */
static u32 series_counted(struct end *e, u8 *p, u32 len)
{
	/* Pieces of any length, one of them empty. */
	struct kvec vec[] = {
		{ .iov_base = p, .iov_len = len / 3 },
		{ .iov_base = p + len / 3, .iov_len = 0 },
		{ .iov_base = p + len / 3, .iov_len = len - len / 3 },
	};
	u8 counter[COUNTER];
	unsigned int nr;
	u32 sent = len;

	put_unaligned_be64(e->tx_count, counter);
	nr = mpa_tx_add_series(e->conn, counter, COUNTER, vec, &sent);
	if (sent > len || counter_of(counter) != e->tx_count + sent)
		e->bad++;
	e->tx_series += nr;
	e->tx_ulpdus += nr;
	e->tx_bytes += nr * COUNTER + sent;
	return sent;
}

static int send_batch_counted(struct end *e, u32 *len)
{
	u32 at = 0, n, room;

	while (*len && (room = mpa_tx_room(e->conn))) {
		n = min(*len, (u32)ROOM - at);
		pattern(e->out + at, 0, e->tx_count, n);
		n = series_counted(e, e->out + at, n) ?:
		    add_counted(e, e->out + at, n, room);
		e->tx_count += n;
		*len -= n;
		at += n;
	}
	return mpa_tx_send(e->conn);
}

/**
 * end_send_counted - send bytes of the pattern, in series where possible
 * @e: the sender
 * @len: number of bytes
 *
 * Return: as end_send().
 */
int end_send_counted(struct end *e, u32 len)
{
	int ret = 0;

	while (len && !ret) {
		lock_sock(e->sock->sk);
		ret = open_batch(e);
		if (!ret)
			ret = send_batch_counted(e, &len);
		else if (ret == -EAGAIN)
			ret = 0;
		release_sock(e->sock->sk);
	}
	return ret;
}

/**
 * end_events - count how often the stream's end was reported
 * @e: one end of the stream
 *
 * Return: calls of ops->ended and of ops->reply with an error.
 */
unsigned int end_events(const struct end *e)
{
	unsigned int i, n = e->replies && e->status ? e->replies : 0;

	for (i = 0; i < ARRAY_SIZE(e->ended); i++)
		n += e->ended[i];
	return n;
}
