// SPDX-License-Identifier: GPL-2.0-only
/*
 * The startup exchange of draft-culley-iwarp-mpa-03: encoding and decoding of
 * Start Keys, and the result of their exchange.
 *
 * A Start Key has neither private data nor a rejection: a side that does not want
 * the connection closes it. The draft does not say which version DDP and RDMAP have
 * behind it; the dumps in its figures 5 and 6 have version 0.
 */
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "startkey.h"

static_assert(sizeof(MPA_START_KEY) - 1 == MPA_START_KEY_TEXT_LEN);

/* Where a Start Key differs from the keys of RFC 5044. */
enum {
	STARTKEY_DIFFERS_AT	= 4,
};

/**
 * mpa_is_start_key - tell a Start Key from a Request or a Reply
 * @buf: the bytes received so far
 * @avail: how many
 *
 * Return: true if they can only be a Start Key; false if they are something else,
 * or too few to tell.
 */
bool mpa_is_start_key(const u8 *buf, u32 avail)
{
	return avail > STARTKEY_DIFFERS_AT &&
	       !memcmp(buf, MPA_START_KEY, STARTKEY_DIFFERS_AT + 1);
}

/**
 * mpa_is_request - tell a Request from a Start Key
 * @buf: the bytes received so far
 * @avail: how many
 *
 * Return: true if they can only be a Request; false if they are something else, or
 * too few to tell.
 */
bool mpa_is_request(const u8 *buf, u32 avail)
{
	return avail > STARTKEY_DIFFERS_AT &&
	       !memcmp(buf, MPA_KEY_REQUEST, STARTKEY_DIFFERS_AT + 1);
}

/**
 * mpa_key_parse - decode a Start Key
 * @buf: the bytes received so far, starting with the first one of the key
 * @avail: bytes at @buf; bytes after the key are ignored
 * @expect_reply: the answer is expected, which has the same format
 * @f: the key, written only when it is complete
 * @pd: set likewise to the end of the key, since there is no private data
 *
 * An invalid key is refused as soon as its bytes allow it. Reserved bits are
 * ignored.
 *
 * Return: bytes of the key; 0 if more than @avail are needed; -EPROTO for another
 * text, -EPROTONOSUPPORT for another revision than 0.
 */
int mpa_key_parse(const u8 *buf, u32 avail, bool expect_reply,
		  struct mpa_frame *f, const u8 **pd)
{
	u8 flags;

	if (memcmp(buf, MPA_START_KEY,
		   min_t(u32, avail, MPA_START_KEY_TEXT_LEN)))
		return -EPROTO;
	if (avail < MPA_START_KEY_LEN)
		return 0;
	flags = buf[MPA_START_KEY_TEXT_LEN];
	if (flags & MPA_START_KEY_REV)
		return -EPROTONOSUPPORT;
	*f = (struct mpa_frame){
		.start_key = true,
		.reply = expect_reply,
		.markers = flags & MPA_FLAG_MARKERS,
		.crc = flags & MPA_FLAG_CRC,
	};
	*pd = buf + MPA_START_KEY_LEN;
	return MPA_START_KEY_LEN;
}

static int startkey_build(u8 *buf, u32 room, const struct mpa_frame *f,
			  const void *pd)
{
	if (f->pd_len)
		return -EMSGSIZE;
	if (room < MPA_START_KEY_LEN)
		return -ENOSPC;
	memcpy(buf, MPA_START_KEY, MPA_START_KEY_TEXT_LEN);
	buf[MPA_START_KEY_TEXT_LEN] = (f->markers ? MPA_FLAG_MARKERS : 0) |
				      (f->crc ? MPA_FLAG_CRC : 0);
	return MPA_START_KEY_LEN;
}

static void startkey_from(const struct mpa_params *own, struct mpa_frame *f)
{
	*f = (struct mpa_frame){
		.start_key = true,
		.markers = own->markers,
		.crc = own->crc,
	};
}

static void startkey_result(const struct mpa_params *own, const struct mpa_frame *peer,
			    struct mpa_result *res)
{
	*res = (struct mpa_result){
		.start_key = true,
		.tx_markers = peer->markers,
		.rx_markers = own->markers,
		.crc = own->crc || peer->crc,
		.ird = own->ird,
		.ord = own->ord,
	};
}

static int startkey_answer(const struct mpa_params *own, const struct mpa_frame *req,
			   bool reject, struct mpa_frame *rep, struct mpa_result *res)
{
	startkey_from(own, rep);
	rep->reply = true;
	rep->reject = reject;
	startkey_result(own, req, res);
	return 0;
}

static int startkey_conclude(const struct mpa_params *own, const struct mpa_frame *req,
			     const struct mpa_frame *rep, struct mpa_result *res)
{
	startkey_result(own, rep, res);
	res->initiator = true;
	return 0;
}

/*
 * Start Keys. An answer that rejects must not be sent, since there is none; .build
 * fails with -EMSGSIZE for private data.
 */
const struct mpa_exchange mpa_exchange_start_key = {
	.parse		= mpa_key_parse,
	.build		= startkey_build,
	.request_from	= startkey_from,
	.answer		= startkey_answer,
	.conclude	= startkey_conclude,
};
