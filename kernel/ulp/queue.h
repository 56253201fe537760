/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reading received bytes in place: in TCP's receive queue and, before these, in
 * the stash of bytes that were moved from there; or in its queue of segments that
 * came before the bytes ahead of them.
 */
#ifndef MPA_ULP_QUEUE_H
#define MPA_ULP_QUEUE_H

#include <linux/skbuff.h>
#include <linux/types.h>

struct sock;

/**
 * struct mpa_pos - a position in the stream of received bytes
 * @sk: the socket
 * @top: skb that contains the position; NULL at the end
 * @cur: @top, or the skb of its frag_list that contains the position
 * @frag: fragment of @cur, or -1 for its linear part
 * @stash: @top is the stash; the receive queue follows
 * @early: @top is in the queue of early segments
 * @mapped: mpa_pos_map() made a mapping that must be undone
 * @unreadable: mpa_pos_map() came to bytes that are in the memory of a device
 * @base: offset within @top at which the fragment starts, bytes
 * @off: offset of the position within @top, bytes
 * @end: bytes of @top
 * @seq: TCP sequence number of the position; while @stash, of the first byte
 *	behind the stash
 *
 * Valid only while the receive queue does not change: under the socket lock, up
 * to the next tcp_read_done(). While mapped, copied only with mpa_pos_copy().
 */
struct mpa_pos {
	struct sock *sk;
	struct sk_buff *top;
	struct sk_buff *cur;
	int frag;
	bool stash;
	bool early;
	bool mapped;
	bool unreadable;
	u32 base;
	u32 off;
	u32 end;
	u32 seq;
};

void mpa_pos_queue(struct mpa_pos *pos, struct sock *sk, u32 seq);
void mpa_pos_stash(struct mpa_pos *pos, struct sock *sk, struct sk_buff *skb,
		   u32 len, u32 seq);
void mpa_pos_early(struct mpa_pos *pos, struct sock *sk, u32 seq);
const u8 *mpa_pos_map(struct mpa_pos *pos, u32 *len);
void mpa_pos_unmap(struct mpa_pos *pos, const u8 *p);
void mpa_pos_skip(struct mpa_pos *pos, u32 len);
void mpa_pos_copy(struct mpa_pos *to, const struct mpa_pos *pos, u32 len);

#endif /* MPA_ULP_QUEUE_H */
