// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reading received bytes in place.
 *
 * An skb of the queue holds bytes in a linear part, in page fragments and, if
 * it was merged on receipt, in further skbs on its frag_list, which have no
 * frag_list themselves. Neighbours in the queue may overlap: only sequence
 * numbers determine where the next byte is.
 */
#include <linux/highmem.h>
#include <net/tcp.h>

#include "compat/net.h"
#include "queue.h"

enum {
	/* Segments within another one that are looked at. */
	POS_CONTAINED	= 4,
};

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

static bool pos_is_in(const struct mpa_pos *pos, const struct sk_buff *skb)
{
	return pos->seq - TCP_SKB_CB(skb)->seq < skb->len;
}

/* Finds the first skb from @skb on that contains pos->seq. */
static void pos_enter_queue(struct mpa_pos *pos, struct sk_buff *skb)
{
	pos->stash = false;
	pos->top = NULL;
	skb_queue_walk_from(&pos->sk->sk_receive_queue, skb) {
		if (pos_is_in(pos, skb)) {
			pos_enter(pos, skb, pos->seq - TCP_SKB_CB(skb)->seq,
				  skb->len);
			return;
		}
	}
}

/*
 * The skb from which on pos_enter_queue() is to look. What TCP queues never ends
 * before what is queued already, so an skb that ends at or before pos->seq has only
 * such skbs in front of it. Bytes that were not read yet are at the end of the queue,
 * so the search begins there: otherwise each segment that arrives would cost a walk
 * through all segments of an FPDU that is not complete.
 */
static struct sk_buff *pos_search_from(const struct mpa_pos *pos)
{
	struct sk_buff_head *queue = &pos->sk->sk_receive_queue;
	struct sk_buff *skb = skb_peek(queue);

	if (skb && pos_is_in(pos, skb))
		return skb;
	skb_queue_reverse_walk(queue, skb) {
		if (!before(pos->seq, TCP_SKB_CB(skb)->seq + skb->len))
			break;
	}
	return skb->next;
}

/**
 * mpa_pos_queue - set a position in the receive queue
 * @pos: the position
 * @sk: the socket, locked
 * @seq: TCP sequence number; at or behind copied_seq
 */
void mpa_pos_queue(struct mpa_pos *pos, struct sock *sk, u32 seq)
{
	*pos = (struct mpa_pos){ .sk = sk, .seq = seq };
	pos_enter_queue(pos, pos_search_from(pos));
}

/**
 * mpa_pos_stash - set a position at the first byte of the stash
 * @pos: the position
 * @sk: the socket, locked
 * @skb: the stash
 * @len: bytes in the stash, not 0
 * @seq: sequence number of the byte behind the stash
 */
void mpa_pos_stash(struct mpa_pos *pos, struct sock *sk, struct sk_buff *skb,
		   u32 len, u32 seq)
{
	*pos = (struct mpa_pos){ .sk = sk, .seq = seq, .stash = true };
	pos_enter(pos, skb, 0, len);
}

/*
 * Finds the early segment that contains pos->seq. They are ordered by their first
 * byte. The last that begins at or before pos->seq has it, but for segments that
 * another one contains: TCP leaves those where they are if it joins bytes around
 * them to the other one. There are few.
 */
static void pos_enter_early(struct mpa_pos *pos)
{
	struct rb_node *node = tcp_sk(pos->sk)->out_of_order_queue.rb_node;
	struct sk_buff *found = NULL;
	unsigned int others;

	while (node) {
		struct sk_buff *skb = rb_to_skb(node);

		if (before(pos->seq, TCP_SKB_CB(skb)->seq)) {
			node = node->rb_left;
		} else {
			found = skb;
			node = node->rb_right;
		}
	}
	for (others = POS_CONTAINED; found && others && !pos_is_in(pos, found); others--)
		found = rb_entry_safe(rb_prev(&found->rbnode), struct sk_buff, rbnode);
	pos->top = NULL;
	if (found && pos_is_in(pos, found))
		pos_enter(pos, found, pos->seq - TCP_SKB_CB(found)->seq,
			  found->len);
}

/**
 * mpa_pos_early - set a position among the segments behind a gap
 * @pos: the position; at the end where the next gap begins
 * @sk: the socket, locked
 * @seq: TCP sequence number
 */
void mpa_pos_early(struct mpa_pos *pos, struct sock *sk, u32 seq)
{
	*pos = (struct mpa_pos){ .sk = sk, .seq = seq, .early = true };
	pos_enter_early(pos);
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
	if (pos->early)
		pos_enter_early(pos);
	else
		pos_enter_queue(pos, pos->stash ?
				pos->sk->sk_receive_queue.next :
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
 * mpa_pos_map - access the next bytes
 * @pos: the position; not moved
 * @len: set to the bytes that are in one piece of memory
 *
 * Return: the bytes, valid until mpa_pos_unmap(); NULL if there are none that can
 * be read.
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
	pos->unreadable = !mpa_skb_frags_readable(pos->cur);
	return pos->unreadable ? NULL : pos_map_frag(pos, into, len);
}

/**
 * mpa_pos_unmap - undo mpa_pos_map()
 * @pos: the position
 * @p: returned by mpa_pos_map(), not NULL
 */
void mpa_pos_unmap(struct mpa_pos *pos, const u8 *p)
{
	if (pos->mapped)
		kunmap_local(p);
	pos->mapped = false;
}

/**
 * mpa_pos_skip - move forward
 * @pos: the position
 * @len: bytes; stops at the end
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
 * mpa_pos_copy - copy a position and move the copy forward
 * @to: set to the position @len bytes behind @pos; not mapped
 * @pos: the position; may be mapped
 * @len: bytes
 */
void mpa_pos_copy(struct mpa_pos *to, const struct mpa_pos *pos, u32 len)
{
	*to = *pos;
	to->mapped = false;
	mpa_pos_skip(to, len);
}
