/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reading received bytes where they lie: in TCP's receive queue, after those
 * that were put aside from there.
 */
#ifndef MPA_ULP_QUEUE_H
#define MPA_ULP_QUEUE_H

#include <linux/skbuff.h>
#include <linux/types.h>

struct sock;

/**
 * struct mpa_pos - a place in the stream of received bytes
 * @sk: the socket
 * @top: skb the place is in; NULL at the end
 * @cur: @top or the one of its frag_list the place is in
 * @frag: fragment of @cur, or -1 for its linear part
 * @stash: @top is not of the receive queue; the queue comes next
 * @mapped: mpa_pos_map() made a mapping that must be undone
 * @base: offset within @top at which the fragment starts, bytes
 * @off: offset within @top of the place, bytes
 * @end: bytes of @top
 * @seq: TCP sequence number of the place; while @stash, of the first byte
 *	behind
 *
 * Good only as long as the receive queue does not change: under the socket
 * lock, up to the next tcp_read_done(). Copied with mpa_pos_copy().
 */
struct mpa_pos {
	struct sock *sk;
	struct sk_buff *top;
	struct sk_buff *cur;
	int frag;
	bool stash;
	bool mapped;
	u32 base;
	u32 off;
	u32 end;
	u32 seq;
};

void mpa_pos_queue(struct mpa_pos *pos, struct sock *sk, u32 seq);
void mpa_pos_stash(struct mpa_pos *pos, struct sock *sk, struct sk_buff *skb,
		   u32 len, u32 seq);
const u8 *mpa_pos_map(struct mpa_pos *pos, u32 *len);
void mpa_pos_unmap(struct mpa_pos *pos, const u8 *p);
void mpa_pos_skip(struct mpa_pos *pos, u32 len);
void mpa_pos_copy(struct mpa_pos *to, const struct mpa_pos *pos, u32 len);

#endif /* MPA_ULP_QUEUE_H */
