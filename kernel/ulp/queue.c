// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reading received bytes where they lie.
 *
 * An skb of the queue holds bytes in a linear part, in page fragments and,
 * if it was merged on receipt, in further skbs on its frag_list, which have
 * the same two but no list of their own. Neighbours in the queue may overlap:
 * only sequence numbers tell where the next byte is.
 */
#include <linux/highmem.h>
#include <net/tcp.h>

#include "queue.h"

static void pos_enter(struct mpa_pos *pos, struct sk_buff *skb, u32 off,
		      u32 end)
{
	pos->top = skb;
	pos->cur = skb;
	pos->frag = -1;
	pos->base = 0;
	pos->off = off;
	pos->end = end;
}

/* From @skb of the receive queue on, the first that has bytes at pos->seq. */
static void pos_enter_queue(struct mpa_pos *pos, struct sk_buff *skb)
{
	pos->stash = false;
	pos->top = NULL;
	skb_queue_walk_from(&pos->sk->sk_receive_queue, skb) {
		u32 off = pos->seq - TCP_SKB_CB(skb)->seq;

		if (off < skb->len) {
			pos_enter(pos, skb, off, skb->len);
			return;
		}
	}
}

/**
 * mpa_pos_queue - stand at a byte of the receive queue
 * @pos: the place
 * @sk: the socket, locked
 * @seq: the byte's TCP sequence number; at or behind copied_seq
 */
void mpa_pos_queue(struct mpa_pos *pos, struct sock *sk, u32 seq)
{
	*pos = (struct mpa_pos){ .sk = sk, .seq = seq };
	pos_enter_queue(pos, sk->sk_receive_queue.next);
}

/**
 * mpa_pos_stash - stand at the first of the bytes that were put aside
 * @pos: the place
 * @sk: the socket, locked
 * @skb: what holds them
 * @len: how many, not 0
 * @seq: sequence number of the byte that comes behind them
 */
void mpa_pos_stash(struct mpa_pos *pos, struct sock *sk, struct sk_buff *skb,
		   u32 len, u32 seq)
{
	*pos = (struct mpa_pos){ .sk = sk, .seq = seq, .stash = true };
	pos_enter(pos, skb, 0, len);
}

static u32 pos_piece_len(const struct mpa_pos *pos)
{
	if (pos->frag < 0)
		return skb_headlen(pos->cur);
	return skb_frag_size(&skb_shinfo(pos->cur)->frags[pos->frag]);
}

static bool pos_next_piece(struct mpa_pos *pos)
{
	pos->base += pos_piece_len(pos);
	if (++pos->frag < skb_shinfo(pos->cur)->nr_frags)
		return true;
	pos->frag = -1;
	if (pos->cur == pos->top)
		pos->cur = skb_shinfo(pos->top)->frag_list;
	else
		pos->cur = pos->cur->next;
	return pos->cur;
}

static void pos_next_top(struct mpa_pos *pos)
{
	pos_enter_queue(pos, pos->stash ? pos->sk->sk_receive_queue.next :
				      pos->top->next);
}

/* Finds the piece that holds the byte at pos->off; false at the end. */
static bool pos_settle(struct mpa_pos *pos)
{
	while (pos->top) {
		if (pos->off >= pos->end)
			pos_next_top(pos);
		else if (pos->off < pos->base + pos_piece_len(pos))
			return true;
		else if (WARN_ON_ONCE(!pos_next_piece(pos)))
			pos->top = NULL;
	}
	return false;
}

static const u8 *pos_map_frag(struct mpa_pos *pos, u32 into, u32 *len)
{
	const skb_frag_t *frag = &skb_shinfo(pos->cur)->frags[pos->frag];
	struct page *page = skb_frag_page(frag);

	into += skb_frag_off(frag);
	if (skb_frag_must_loop(page)) {
		page += into >> PAGE_SHIFT;
		into = offset_in_page(into);
		*len = min_t(u32, *len, PAGE_SIZE - into);
	}
	pos->mapped = true;
	return kmap_local_page(page) + into;
}

/**
 * mpa_pos_map - see the next bytes
 * @pos: the place; not moved
 * @len: set to how many can be seen at once
 *
 * Return: where they are, until mpa_pos_unmap(); NULL if there are none.
 */
const u8 *mpa_pos_map(struct mpa_pos *pos, u32 *len)
{
	u32 into;

	if (!pos_settle(pos))
		return NULL;
	into = pos->off - pos->base;
	*len = min(pos_piece_len(pos) - into, pos->end - pos->off);
	if (pos->frag < 0)
		return pos->cur->data + into;
	return pos_map_frag(pos, into, len);
}

/**
 * mpa_pos_unmap - undo mpa_pos_map()
 * @pos: the place
 * @p: what mpa_pos_map() returned, not NULL
 */
void mpa_pos_unmap(struct mpa_pos *pos, const u8 *p)
{
	if (pos->mapped)
		kunmap_local(p);
	pos->mapped = false;
}

/**
 * mpa_pos_skip - move on
 * @pos: the place
 * @len: by how many bytes; beyond the last one it stays at the end
 */
void mpa_pos_skip(struct mpa_pos *pos, u32 len)
{
	while (len && pos_settle(pos)) {
		u32 n = min(len, pos->end - pos->off);

		pos->off += n;
		if (!pos->stash)
			pos->seq += n;
		len -= n;
	}
}

/**
 * mpa_pos_copy - make a second place
 * @to: set to the place @len bytes behind @pos
 * @pos: the place; may be mapped
 * @len: bytes
 */
void mpa_pos_copy(struct mpa_pos *to, const struct mpa_pos *pos, u32 len)
{
	*to = *pos;
	to->mapped = false;
	mpa_pos_skip(to, len);
}
