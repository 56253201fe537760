// SPDX-License-Identifier: GPL-2.0-only
/*
 * Socket options of TUF: draft-ietf-tsvwg-tcp-ulp-frame-00 appendix A.
 */
#include <linux/random.h>
#include <linux/uaccess.h>
#include <net/tcp.h>

#include "tuf.h"
#include "tuf_opt.h"
#include "tuf_tx.h"
#include "usock_plain.h"

/* Programs of 32 bits share this with a kernel of 64. */
static_assert(sizeof(struct tcp_framing_info) == 88);
static_assert((int)TCP_FRAMING_KEY_LEN == MPA_TUF_KEY_LEN);

/**
 * mpa_tuf_has_option - whether TUF handles a socket option
 * @us: the socket
 * @level: of the option
 * @name: the option
 *
 * Return: true for the options of TUF; for TCP_NODELAY while TUF overrides it.
 */
bool mpa_tuf_has_option(const struct mpa_usock *us, int level, int name)
{
	if (level != SOL_TCP)
		return false;
	if (name == TCP_NODELAY)
		return mpa_tuf_tracks_nodelay(us);
	return name >= TCP_FRAMING_MODE && name <= TCP_FRAMING_INFO;
}

/* ---- Setting ---- */

static int tuf_set_peer_key(struct mpa_usock *us, sockptr_t val,
			    unsigned int len)
{
	struct sock *sk = us->conn->sk;
	u8 key[MPA_TUF_KEY_LEN];
	int ret = 0;

	if (len != sizeof(key))
		return -EINVAL;
	if (copy_from_sockptr(key, val, sizeof(key)))
		return -EFAULT;
	lock_sock(sk);
	mpa_usock_catch_up(us);
	if (us->tuf.recv == TCP_FRAMING_RECV_ALIGN && us->conn->tuf) {
		/* Section 5: one key for all of the connection. */
		ret = -EBUSY;
	} else {
		memcpy(us->tuf.peer_key, key, sizeof(key));
		us->tuf.peer_keyed = true;
		mpa_tuf_apply(us);
	}
	release_sock(sk);
	return ret;
}

static bool tuf_is_switch(int name)
{
	return name == TCP_FRAMING_PACK_PDUS || name == TCP_FRAMING_EMERGENCY ||
	       name == TCP_FRAMING_EMSS_NOTICE || name == TCP_NODELAY;
}

static void tuf_set_value(struct mpa_usock *us, int name, int value)
{
	struct mpa_tuf *tuf = &us->tuf;

	switch (name) {
	case TCP_FRAMING_PACK_PDUS:
		tuf->no_pack = !value;
		break;
	case TCP_FRAMING_EMERGENCY:
		tuf->emergency = value;
		break;
	case TCP_FRAMING_EMSS_NOTICE:
		tuf->notice = value;
		break;
	case TCP_FRAMING_SEND_INTERVAL:
		/* The marker that is due stays where it is. */
		tuf->marks.interval = value;
		break;
	case TCP_FRAMING_RECV_INTERVAL:
		mpa_tuf_set_recv_interval(us, value);
		break;
	default:
		tuf->nodelay = value;
		break;
	}
	/* What waited may go now. */
	if (us->phase == MPA_USOCK_FRAMED)
		mpa_tuf_settle(us, false);
}

static int tuf_check_value(int name, int value)
{
	switch (name) {
	case TCP_FRAMING_SEND_INTERVAL:
	case TCP_FRAMING_RECV_INTERVAL:
		return value >= MPA_TUF_INTERVAL_MIN ? 0 : -EINVAL;
	/* TCP takes any value, and more than an int. */
	case TCP_NODELAY:
		return 0;
	default:
		return tuf_is_switch(name) && value & ~1 ? -EINVAL : 0;
	}
}

/**
 * mpa_tuf_setsockopt - set an option of TUF
 * @us: the socket, not locked
 * @name: an option for which mpa_tuf_has_option() is true
 * @val: its value
 * @len: bytes of it
 *
 * Return: 0, or the errors of tcp-framing(7).
 */
int mpa_tuf_setsockopt(struct mpa_usock *us, int name, sockptr_t val,
		       unsigned int len)
{
	struct sock *sk = us->conn->sk;
	int value, ret;

	if (name == TCP_FRAMING_RECV_KEY)
		return tuf_set_peer_key(us, val, len);
	if (name == TCP_SEND_EMSS || name == TCP_FRAMING_SEND_KEY ||
	    name == TCP_FRAMING_INFO)
		return -ENOPROTOOPT;
	if (name == TCP_NODELAY ? len < sizeof(value) : len != sizeof(value))
		return -EINVAL;
	if (copy_from_sockptr(&value, val, sizeof(value)))
		return -EFAULT;
	ret = tuf_check_value(name, value);
	if (ret)
		return ret;
	mpa_usock_look(us);
	if (name == TCP_FRAMING_MODE)
		return mpa_tuf_set_mode(us, value);
	lock_sock(sk);
	tuf_set_value(us, name, name == TCP_NODELAY ? !!value : value);
	release_sock(sk);
	return 0;
}

/* ---- Getting ---- */

/**
 * union tuf_value - value of an option that is read
 * @word: an int
 * @key: a key
 * @info: %TCP_FRAMING_INFO
 */
union tuf_value {
	int word;
	u8 key[MPA_TUF_KEY_LEN];
	struct tcp_framing_info info;
};

static int tuf_get_word(struct mpa_usock *us, int name)
{
	const struct mpa_tuf *tuf = &us->tuf;

	switch (name) {
	case TCP_FRAMING_MODE:
		return tuf->mode;
	case TCP_SEND_EMSS:
		return mpa_tuf_send_emss(us);
	case TCP_FRAMING_PACK_PDUS:
		return !tuf->no_pack;
	case TCP_FRAMING_EMERGENCY:
		return tuf->emergency;
	case TCP_FRAMING_EMSS_NOTICE:
		return tuf->notice;
	case TCP_FRAMING_SEND_INTERVAL:
		return tuf->marks.interval;
	case TCP_FRAMING_RECV_INTERVAL:
		return tuf->recv_interval;
	default:
		return tuf->nodelay;
	}
}

/* Returns the length of the value, or a negative error. */
static int tuf_get_value(struct mpa_usock *us, int name, union tuf_value *v)
{
	struct mpa_tuf *tuf = &us->tuf;

	mpa_usock_catch_up(us);
	switch (name) {
	case TCP_FRAMING_SEND_KEY:
		/* Each socket that it accepts has its own. */
		if (us->phase == MPA_USOCK_LISTENER)
			return -ENODATA;
		mpa_tuf_make_key(tuf);
		memcpy(v->key, tuf->key, sizeof(v->key));
		return sizeof(v->key);
	case TCP_FRAMING_RECV_KEY:
		memcpy(v->key, tuf->peer_key, sizeof(v->key));
		return tuf->peer_keyed ? sizeof(v->key) : -ENODATA;
	case TCP_FRAMING_INFO:
		if (us->phase == MPA_USOCK_FRAMED)
			mpa_tuf_look_at_emss(us);
		mpa_tuf_fill_info(us, &v->info);
		return sizeof(v->info);
	default:
		v->word = tuf_get_word(us, name);
		return v->word < 0 ? v->word : sizeof(v->word);
	}
}

/**
 * mpa_tuf_getsockopt - read an option of TUF
 * @us: the socket, not locked
 * @name: an option for which mpa_tuf_has_option() is true
 * @val: buffer for its value
 * @len: length of the buffer; set to the length of the value
 *
 * Return: 0, or the errors of tcp-framing(7).
 */
int mpa_tuf_getsockopt(struct mpa_usock *us, int name, char __user *val,
		       int __user *len)
{
	union tuf_value v;
	int room, ret;

	if (get_user(room, len))
		return -EFAULT;
	if (room < 0)
		return -EINVAL;
	/* For a key. */
	ret = wait_for_random_bytes();
	if (ret)
		return ret;
	lock_sock(us->conn->sk);
	ret = tuf_get_value(us, name, &v);
	release_sock(us->conn->sk);
	if (ret < 0)
		return ret;
	/* A part of a key is of no use. */
	if (ret == MPA_TUF_KEY_LEN && room < ret)
		return -ERANGE;
	room = min(room, ret);
	if (put_user(room, len))
		return -EFAULT;
	return copy_to_user(val, &v, room) ? -EFAULT : 0;
}
