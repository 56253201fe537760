// SPDX-License-Identifier: GPL-2.0-only
/*
 * Socket options of level SOL_MPA, and what inet_diag shows.
 */
#include <linux/capability.h>
#include <linux/inet_diag.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <net/netlink.h>
#include <net/tcp.h>

#include "compat/sock_ops.h"
#include "sock.h"
#include "tuf.h"
#include "tuf_opt.h"
#include "usock_opt.h"
#include "usock_pend.h"
#include "usock_plain.h"
#include "usock_start.h"

enum {
	OPT_PARAM_FLAGS	= MPA_F_MARKERS | MPA_F_NO_CRC |
			  MPA_F_PEER_TO_PEER | MPA_F_AUTO_ACCEPT |
			  MPA_F_PERMISSIVE | MPA_F_REVIEW | MPA_F_PLAIN,
	OPT_RTR_ALL	= MPA_RTR_SEND | MPA_RTR_WRITE | MPA_RTR_READ,
	/* Longest last streaming message, bytes; it is stored */
	OPT_LAST_MAX	= 4096,
};

static_assert((int)MPA_STARTUP_FRAMES == MPA_CONFIG_STARTUP_FRAMES);
static_assert((int)MPA_STARTUP_START_KEY == MPA_CONFIG_STARTUP_START_KEY);
static_assert((int)MPA_STARTUP_EITHER == MPA_CONFIG_STARTUP_EITHER);

/* ---- Setting ---- */

/*
 * If @len is shorter than @size, the rest is zero; if longer, the rest must be
 * zero.
 */
static int opt_take_struct(void *to, size_t size, sockptr_t val,
			   unsigned int len)
{
	int ret;

	if (!len)
		return -EINVAL;
	/* Limits how many bytes are checked for zero. */
	if (len > PAGE_SIZE)
		return -E2BIG;
	memset(to, 0, size);
	if (len > size) {
		ret = check_zeroed_sockptr(val, size, len - size);
		if (ret <= 0)
			return ret ?: -E2BIG;
	}
	return copy_from_sockptr(to, val, min_t(size_t, size, len)) ? -EFAULT :
								      0;
}

static bool opt_valid_revs(const struct mpa_sock_params *p)
{
	if (p->rev == MPA_REV_AUTO)
		return p->rev_min <= MPA_REV_1;
	return p->rev <= MPA_REV_2 && p->rev_min <= p->rev;
}

static int opt_check_params(const struct mpa_sock_params *p)
{
	if (p->flags & ~OPT_PARAM_FLAGS || p->rtr & ~OPT_RTR_ALL)
		return -EINVAL;
	if (!opt_valid_revs(p) || memchr_inv(p->pad, 0, sizeof(p->pad)))
		return -EINVAL;
	if (max3(p->ird, p->ord, p->ird_max) >= MPA_ENH_DEPTH_NONE)
		return -EINVAL;
	if (p->startup > MPA_STARTUP_EITHER)
		return -EINVAL;
	return p->timeout_ms > INT_MAX ? -EINVAL : 0;
}

/*
 * RFC 5044 section 4.4: only an administrator may disable CRCs: the caller
 * itself, parameters already in force here, or a setting that the application
 * has replaced.
 */
static bool opt_may_drop_crc(const struct mpa_usock *us)
{
	const struct net *net = sock_net(us->conn->sk);

	return us->params.flags & MPA_F_NO_CRC ||
	       us->cfg.v[MPA_A_CONFIG_CRC] != MPA_CONFIG_CRC_REQUIRED ||
	       ns_capable(net->user_ns, CAP_NET_ADMIN);
}

static int opt_take_params(struct mpa_usock *us,
			   const struct mpa_sock_params *p)
{
	mpa_assert_locked(us->conn);
	if (mpa_usock_is(us)->ours)
		return -EBUSY;
	if (p->flags & MPA_F_NO_CRC && !opt_may_drop_crc(us))
		return -EPERM;
	us->params = *p;
	us->params_set = true;
	return 0;
}

static int opt_set_params(struct mpa_usock *us, sockptr_t val, unsigned int len)
{
	struct sock *sk = us->conn->sk;
	struct mpa_sock_params p;
	int ret;

	ret = opt_take_struct(&p, sizeof(p), val, len);
	if (!ret)
		ret = opt_check_params(&p);
	if (ret)
		return ret;
	lock_sock(sk);
	ret = opt_take_params(us, &p);
	release_sock(sk);
	return ret;
}

/* Returns what the user has given, or an ERR_PTR(). */
static u8 *opt_dup(sockptr_t val, unsigned int len)
{
	u8 *bytes = kmalloc(len, GFP_KERNEL_ACCOUNT | __GFP_NOWARN);

	if (!bytes)
		return ERR_PTR(-ENOMEM);
	if (!copy_from_sockptr(bytes, val, len))
		return bytes;
	kfree(bytes);
	return ERR_PTR(-EFAULT);
}

/* Sets *@to to a copy of at most @max bytes, or to NULL. */
static int opt_set_bytes(struct mpa_usock *us, u8 **to, u32 *to_len,
			 unsigned int max, sockptr_t val, unsigned int len)
{
	struct sock *sk = us->conn->sk;
	u8 *bytes = NULL;
	int ret = 0;

	if (len > max)
		return -EMSGSIZE;
	if (len)
		bytes = opt_dup(val, len);
	if (IS_ERR(bytes))
		return PTR_ERR(bytes);
	lock_sock(sk);
	if (mpa_usock_is(us)->ours) {
		ret = -EBUSY;
	} else {
		swap(*to, bytes);
		*to_len = len;
	}
	release_sock(sk);
	kfree(bytes);
	return ret;
}

static int opt_take_int(int *to, sockptr_t val, unsigned int len)
{
	if (len != sizeof(*to))
		return -EINVAL;
	return copy_from_sockptr(to, val, sizeof(*to)) ? -EFAULT : 0;
}

static bool opt_may_block(const struct socket *sock)
{
	return !sock->file || !(sock->file->f_flags & O_NONBLOCK);
}

static int opt_set_start(struct mpa_usock *us, sockptr_t val, unsigned int len)
{
	int role, ret;

	ret = opt_take_int(&role, val, len);
	return ret ?: mpa_usock_start(us, role,
				      opt_may_block(us->conn->sk->sk_socket));
}

static int opt_set_answer(struct mpa_usock *us, bool accept, sockptr_t val,
			  unsigned int len)
{
	u8 pd[MPA_PRIVATE_DATA_MAX];

	if (len > sizeof(pd))
		return -EMSGSIZE;
	if (len && copy_from_sockptr(pd, val, len))
		return -EFAULT;
	return mpa_usock_answer(us, accept, pd, len);
}

static int opt_set_packing(struct mpa_usock *us, sockptr_t val,
			   unsigned int len)
{
	struct sock *sk = us->conn->sk;
	int on, ret;

	ret = opt_take_int(&on, val, len);
	if (ret)
		return ret;
	/* The other bits are reserved. */
	if (on & ~1)
		return -EINVAL;
	lock_sock(sk);
	us->packing = on;
	us->packing_set = true;
	if (!on && mpa_usock_is(us)->full)
		mpa_pend_flush(us);
	release_sock(sk);
	return 0;
}

static int opt_write(struct mpa_usock *us, int name, sockptr_t val,
		     unsigned int len)
{
	switch (name) {
	case MPA_SO_PARAMS:
		return opt_set_params(us, val, len);
	case MPA_SO_PRIVATE_DATA:
		return opt_set_bytes(us, &us->pd, &us->pd_len,
				     MPA_PRIVATE_DATA_MAX, val, len);
	case MPA_SO_LAST_MESSAGE:
		return opt_set_bytes(us, &us->last, &us->last_len,
				     OPT_LAST_MAX, val, len);
	case MPA_SO_START:
		return opt_set_start(us, val, len);
	case MPA_SO_ACCEPT:
	case MPA_SO_REJECT:
		return opt_set_answer(us, name == MPA_SO_ACCEPT, val, len);
	case MPA_SO_PACKING:
		return opt_set_packing(us, val, len);
	default:
		return -ENOPROTOOPT;
	}
}

/* Options of TCP and IP that would break a stream. */
static bool opt_breaks_stream(int level, int name)
{
	switch (level) {
	case SOL_TCP:
		/* Changes queued data and sequence numbers. */
		return name == TCP_REPAIR;
	case SOL_IP:
		/* Makes soft errors look like the end of TCP. */
		return name == IP_RECVERR;
	case SOL_IPV6:
		return name == IPV6_RECVERR;
	default:
		return false;
	}
}

/*
 * Allowed before the start and after a rejection. The stream cannot start
 * meanwhile.
 */
static int opt_set_while_plain(struct socket *sock, int level, int name,
			       sockptr_t val, unsigned int len)
{
	struct mpa_usock *us = mpa_usock_of(sock->sk);
	bool plain;
	int ret;

	if (!us)
		return -EOPNOTSUPP;
	lock_sock(sock->sk);
	mpa_usock_catch_up(us);
	plain = !mpa_usock_ours(us, MPA_USOCK_RECV) &&
		mpa_usock_enter_plain(us, MPA_USOCK_SEND);
	if (plain)
		mpa_usock_enter_plain(us, MPA_USOCK_RECV);
	release_sock(sock->sk);
	if (!plain)
		return -EOPNOTSUPP;
	ret = mpa_usock_base_ops(sock)->setsockopt(sock, level, name, val, len);
	mpa_usock_leave_plain(us, MPA_USOCK_SEND);
	mpa_usock_leave_plain(us, MPA_USOCK_RECV);
	return ret;
}

/* While there is a stream, Nagle's algorithm stays off, whatever TCP has been told. */
static void opt_note(struct mpa_usock *us, int name, int value)
{
	struct sock *sk = us->conn->sk;

	lock_sock(sk);
	mpa_sock_note_setting(sk, &us->conn->tuned, name, value);
	if (name == TCP_NODELAY && mpa_usock_ours(us, MPA_USOCK_SEND))
		tcp_sk(sk)->nonagle |= TCP_NAGLE_OFF;
	release_sock(sk);
}

/*
 * An option of TCP that a stream overrides until it is rejected. It is noted before,
 * for a rejection that is processed when TCP releases its lock, and after, for a
 * stream that was started meanwhile. TCP gets the value that was noted.
 */
static int opt_set_overridden(struct socket *sock, int name, sockptr_t val,
			      unsigned int len)
{
	struct mpa_usock *us = mpa_usock_of(sock->sk);
	int value, ret;

	if (len < sizeof(value))
		return -EINVAL;
	if (copy_from_sockptr(&value, val, sizeof(value)))
		return -EFAULT;
	if (us)
		opt_note(us, name, value);
	ret = mpa_usock_base_ops(sock)->setsockopt(sock, SOL_TCP, name,
						   KERNEL_SOCKPTR(&value),
						   sizeof(value));
	if (us)
		opt_note(us, name, value);
	return ret;
}

/**
 * mpa_usock_setsockopt - &proto_ops.setsockopt
 * @sock: the socket
 * @level: SOL_MPA; others are passed to TCP, except options that would break
 *	the stream
 * @name: option
 * @val: its value
 * @len: bytes of it
 *
 * Return: 0, or the errors of mpa(7).
 */
int mpa_usock_setsockopt(struct socket *sock, int level, int name,
			 sockptr_t val, unsigned int len)
{
	struct mpa_usock *us = mpa_usock_of(sock->sk);

	if (level == SOL_MPA)
		return us ? opt_write(us, name, val, len) : -ENOMEM;
	if (us && mpa_tuf_has_option(us, level, name))
		return mpa_tuf_setsockopt(us, name, val, len);
	/* Replaces the operations of the socket. */
	if (level == SOL_IPV6 && name == IPV6_ADDRFORM)
		return -EOPNOTSUPP;
	if (opt_breaks_stream(level, name))
		return opt_set_while_plain(sock, level, name, val, len);
	if (level == SOL_TCP && (name == TCP_NODELAY || name == TCP_WINDOW_CLAMP))
		return opt_set_overridden(sock, name, val, len);
	return mpa_usock_base_ops(sock)->setsockopt(sock, level, name, val,
						    len);
}

/* ---- Getting ---- */

/* Programs of 32 bits share this with a kernel of 64. */
static_assert(sizeof(struct mpa_sock_params) == 20);
static_assert(sizeof(struct mpa_sock_info) == 36);
static_assert(sizeof(struct mpa_sock_stats) == 80);

/* A listener that was shut down and connected does not use MPA. */
static u8 opt_listener_state(const struct sock *sk)
{
	int state = inet_sk_state_load(sk);

	return state == TCP_LISTEN || state == TCP_CLOSE ? MPA_STATE_LISTENING :
							   MPA_STATE_STREAMING;
}

static u8 opt_state(const struct mpa_usock *us)
{
	static const u8 states[MPA_CONN_NR_STATES] = {
		[MPA_CONN_ATTACHED]	= MPA_STATE_STREAMING,
		[MPA_CONN_WAIT_REPLY]	= MPA_STATE_WAIT_REPLY,
		[MPA_CONN_WAIT_REQUEST]	= MPA_STATE_WAIT_REQUEST,
		[MPA_CONN_REQUEST_SEEN]	= MPA_STATE_REQUESTED,
		[MPA_CONN_OPERATIONAL]	= MPA_STATE_OPERATIONAL,
		[MPA_CONN_RX_ENDED]	= MPA_STATE_RECEIVE_ENDED,
		[MPA_CONN_EXITED]	= MPA_STATE_FAILED,
		[MPA_CONN_CLOSED]	= MPA_STATE_CLOSED,
		[MPA_CONN_REPLY_SEEN]	= MPA_STATE_REPLIED,
	};
	const struct sock *sk = us->conn->sk;

	switch (READ_ONCE(us->phase)) {
	case MPA_USOCK_LISTENER:
		return opt_listener_state(sk);
	case MPA_USOCK_REJECTED:
		return MPA_STATE_REJECTED;
	case MPA_USOCK_PLAIN:
		return MPA_STATE_PLAIN;
	case MPA_USOCK_FAILED:
		return MPA_STATE_FAILED;
	case MPA_USOCK_HANDED_OVER:
		return MPA_STATE_HANDED_OVER;
	case MPA_USOCK_UNCONNECTED:
		return MPA_STATE_STREAMING;
	case MPA_USOCK_FRAMED:
		return MPA_STATE_FRAMED;
	default:
		break;
	}
	/* The peer has ended its half; this side may still send. */
	if (mpa_usock_is(us)->full && inet_sk_state_load(sk) == TCP_CLOSE_WAIT)
		return MPA_STATE_RECEIVE_ENDED;
	return states[READ_ONCE(us->conn->state)];
}

static u32 opt_result_flags(const struct mpa_result *res)
{
	return (res->rx_markers ? MPA_F_MARKERS : 0) |
	       (res->tx_markers ? MPA_F_TX_MARKERS : 0) |
	       (res->crc ? 0 : MPA_F_NO_CRC) |
	       (res->p2p ? MPA_F_PEER_TO_PEER : 0) |
	       (res->enhanced ? MPA_F_ENHANCED : 0) |
	       (res->start_key ? MPA_F_START_KEY : 0);
}

/* From a copy: the stream may free its own while inet_diag reads it. */
static void opt_fill_request(const struct mpa_frame *req,
			     struct mpa_sock_info *info)
{
	info->rev = req->rev;
	info->rtr = req->rtr;
	info->flags = (req->markers ? MPA_F_TX_MARKERS : 0) |
		      (req->crc ? 0 : MPA_F_NO_CRC) |
		      (req->p2p ? MPA_F_PEER_TO_PEER : 0) |
		      (req->enhanced ? MPA_F_ENHANCED : 0) |
		      (req->start_key ? MPA_F_START_KEY : 0);
	info->peer_ird = req->ird;
	info->peer_ord = req->ord;
}

static void opt_fill_result(const struct mpa_result *res,
			    struct mpa_sock_info *info)
{
	info->rev = res->rev;
	info->ddp_version = res->ddp_version;
	info->rtr = res->rtr;
	info->flags = opt_result_flags(res);
	info->ird = res->ird;
	info->ord = res->ord;
	info->peer_ird = res->peer_ird;
	info->peer_ord = res->peer_ord;
}

/* Whether the result of the startup exchange is valid and constant. */
static bool opt_has_result(const struct mpa_usock *us)
{
	/* Pairs with mpa_usock_set_phase(). */
	enum mpa_usock_phase phase = smp_load_acquire(&us->phase);

	if (mpa_usock_facts[phase].full || phase == MPA_USOCK_REJECTED)
		return true;
	/* Pairs with mpa_conn_set_state(). */
	return smp_load_acquire(&us->conn->state) == MPA_CONN_REPLY_SEEN;
}

/*
 * Without the lock the numbers may be inconsistent, which is enough for
 * display.
 */
static void opt_fill_info(const struct mpa_usock *us,
			  struct mpa_sock_info *info)
{
	/* Race with inet_diag, which only displays it. */
	const struct mpa_frame req = data_race(us->req);

	/* Likewise: each member is read as a whole. */
	*info = data_race(((struct mpa_sock_info){
		.role = us->role,
		.error = us->code,
		.err = -us->err,
		.peer_data_len = us->peer_len,
	}));
	info->state = opt_state(us);
	if (info->state == MPA_STATE_REQUESTED)
		opt_fill_request(&req, info);
	else if (opt_has_result(us))
		opt_fill_result(&us->conn->res, info);
}

static void opt_fill_stats(const struct mpa_usock *us,
			   struct mpa_sock_stats *to)
{
	struct mpa_conn_stats st;

	mpa_conn_stats(us->conn, &st);
	*to = (struct mpa_sock_stats){
		.tx_fpdus = st.tx_fpdus,
		.tx_batches = st.tx_batches,
		.tx_bytes = st.tx_bytes,
		.rx_fpdus = st.rx_fpdus,
		.rx_bytes = st.rx_bytes,
		.rx_crc_errors = st.rx_crc_errors,
		.rx_marker_errors = st.rx_marker_errors,
		.rx_dropped = st.rx_dropped,
		.rx_length_errors = st.rx_length_errors,
		.rx_too_soon = st.rx_too_soon,
	};
}

/**
 * union opt_value - value of an option that is read
 * @params: %MPA_SO_PARAMS
 * @info: %MPA_SO_INFO
 * @stats: %MPA_SO_STATS
 * @word: %MPA_SO_MULPDU, %MPA_SO_PACKING
 * @pd: private data
 */
union opt_value {
	struct mpa_sock_params params;
	struct mpa_sock_info info;
	struct mpa_sock_stats stats;
	u32 word;
	u8 pd[MPA_PRIVATE_DATA_MAX];
};

static u32 opt_mulpdu(struct mpa_usock *us)
{
	return mpa_usock_is(us)->full ? mpa_tx_mulpdu(us->conn) : 0;
}

/* @from is NULL if there are none. */
static int opt_get_bytes(union opt_value *v, const u8 *from, u32 len)
{
	if (len)
		memcpy(v->pd, from, len);
	return len;
}

/*
 * Returns the length or a negative error. @bytes is set for bytes of any
 * length.
 */
static int opt_get_value(struct mpa_usock *us, int name, union opt_value *v,
			 bool *bytes)
{
	switch (name) {
	case MPA_SO_PARAMS:
		v->params = us->params;
		return sizeof(v->params);
	case MPA_SO_INFO:
		opt_fill_info(us, &v->info);
		v->info.mulpdu = opt_mulpdu(us);
		return sizeof(v->info);
	case MPA_SO_STATS:
		opt_fill_stats(us, &v->stats);
		return sizeof(v->stats);
	case MPA_SO_MULPDU:
		v->word = opt_mulpdu(us);
		return v->word ? sizeof(v->word) : -ENOTCONN;
	case MPA_SO_PACKING:
		v->word = us->packing;
		return sizeof(v->word);
	case MPA_SO_PRIVATE_DATA:
		*bytes = true;
		return opt_get_bytes(v, us->pd, us->pd_len);
	case MPA_SO_PEER_DATA:
		*bytes = true;
		return opt_get_bytes(v, us->peer, us->peer_len);
	default:
		return -ENOPROTOOPT;
	}
}

static int opt_put_value(char __user *val, int __user *optlen, const void *from,
			 int len, bool whole)
{
	int room;

	if (get_user(room, optlen))
		return -EFAULT;
	if (room < 0)
		return -EINVAL;
	/* A structure may be truncated, bytes may not. */
	if (!whole)
		len = min(len, room);
	if (put_user(len, optlen))
		return -EFAULT;
	if (len > room)
		return -ERANGE;
	return copy_to_user(val, from, len) ? -EFAULT : 0;
}

static int opt_get_last_message(struct mpa_usock *us, char __user *val,
				int __user *len)
{
	u32 last_len;
	u8 *last;
	int ret;

	lock_sock(us->conn->sk);
	last_len = us->last_len;
	last = us->last ? kmemdup(us->last, last_len, GFP_KERNEL) : NULL;
	ret = us->last && !last ? -ENOMEM : 0;
	release_sock(us->conn->sk);
	if (!ret)
		ret = opt_put_value(val, len, last, last_len, true);
	kfree(last);
	return ret;
}

static int opt_read(struct mpa_usock *us, int name, char __user *val,
		    int __user *len)
{
	bool bytes = false;
	union opt_value v;
	int ret;

	if (name == MPA_SO_LAST_MESSAGE)
		return opt_get_last_message(us, val, len);
	lock_sock(us->conn->sk);
	ret = opt_get_value(us, name, &v, &bytes);
	release_sock(us->conn->sk);
	return ret < 0 ? ret : opt_put_value(val, len, &v, ret, bytes);
}

/**
 * mpa_usock_getsockopt - &proto_ops.getsockopt
 * @sock: the socket
 * @level: SOL_MPA; others are passed to TCP, except options that would break
 *	the stream
 * @name: option
 * @val: buffer for its value
 * @len: length of the buffer; set to the length of the value
 *
 * Return: 0, or the errors of mpa(7).
 */
int mpa_usock_getsockopt(struct socket *sock, int level, int name,
			 char __user *val, int __user *len)
{
	struct mpa_usock *us = mpa_usock_of(sock->sk);

	if (level == SOL_MPA)
		return us ? opt_read(us, name, val, len) : -ENOMEM;
	if (us && mpa_tuf_has_option(us, level, name))
		return mpa_tuf_getsockopt(us, name, val, len);
	/* It removes bytes from the receive queue. */
	if (level == SOL_TCP && name == TCP_ZEROCOPY_RECEIVE)
		return -EOPNOTSUPP;
	return mpa_usock_base_ops(sock)->getsockopt(sock, level, name, val,
						    len);
}

/* ---- inet_diag ---- */

/**
 * mpa_usock_diag_size - &tcp_ulp_ops.get_info_size
 * @sk: the socket, not locked
 *
 * Return: bytes that mpa_usock_diag() needs.
 */
size_t mpa_usock_diag_size(const struct sock *sk)
{
	return nla_total_size(0) +
	       nla_total_size_64bit(sizeof(struct mpa_sock_info)) +
	       nla_total_size_64bit(sizeof(struct mpa_sock_stats)) +
	       nla_total_size_64bit(sizeof(struct tcp_framing_info));
}

static int opt_diag_fill(const struct mpa_usock *us, struct sk_buff *skb)
{
	struct tcp_framing_info framing;
	struct mpa_sock_info info;
	struct mpa_sock_stats stats;
	int ret;

	opt_fill_info(us, &info);
	opt_fill_stats(us, &stats);
	ret = nla_put(skb, MPA_DIAG_INFO, sizeof(info), &info) ?:
	      nla_put_64bit(skb, MPA_DIAG_STATS, sizeof(stats), &stats,
			    MPA_DIAG_UNSPEC);
	if (ret || !READ_ONCE(us->tuf.mode))
		return ret;
	mpa_tuf_fill_info(us, &framing);
	return nla_put_64bit(skb, MPA_DIAG_FRAMING, sizeof(framing), &framing,
			     MPA_DIAG_UNSPEC);
}

/**
 * mpa_usock_diag - &tcp_ulp_ops.get_info
 * @sk: the socket, not locked
 * @skb: the message
 *
 * Nothing is shown for a socket of the kernel; its owner shows it.
 *
 * Return: 0, or -EMSGSIZE.
 */
int mpa_usock_diag(struct sock *sk, struct sk_buff *skb)
{
	struct mpa_usock *us;
	struct nlattr *nest;
	int ret = 0;

	nest = nla_nest_start_noflag(skb, INET_ULP_INFO_MPA);
	if (!nest)
		return -EMSGSIZE;
	rcu_read_lock();
	us = mpa_usock_of(sk);
	if (us)
		ret = opt_diag_fill(us, skb);
	rcu_read_unlock();
	if (ret || !us)
		nla_nest_cancel(skb, nest);
	else
		nla_nest_end(skb, nest);
	return ret;
}
