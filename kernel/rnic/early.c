// SPDX-License-Identifier: GPL-2.0-only
/*
 * The memory of a stream for FPDUs that were placed early.
 *
 * In the end all memory must be as if every FPDU had been placed in its turn. So an
 * FPDU is not placed early where another one that is remembered was placed; and
 * where something is placed in its turn, what was placed there early, and comes
 * after it, is marked to be copied again. Memory is compared by its addresses:
 * different STags may name the same.
 */
#include <linux/slab.h>
#include <net/tcp.h>

#include "early.h"

/**
 * rnic_early_create() - allocate the memory of a stream
 *
 * Any context; charged to the active memory cgroup.
 *
 * Return: the memory, with nothing in it; NULL: there is none.
 */
struct rnic_early *rnic_early_create(void)
{
	return kzalloc(sizeof(struct rnic_early),
		       GFP_ATOMIC | __GFP_ACCOUNT | __GFP_NOWARN);
}

/**
 * rnic_early_destroy() - free the memory of a stream
 * @e: the memory; may be NULL
 */
void rnic_early_destroy(struct rnic_early *e)
{
	kfree(e);
}

static bool early_meets(const u8 *a, u32 a_len, const u8 *b, u32 b_len)
{
	return a < b + b_len && b < a + a_len;
}

static bool early_overlaps(const struct rnic_early_place *p, const u8 *at,
			   u32 len)
{
	return early_meets(p->at[0], p->first, at, len) ||
	       (p->len > p->first &&
		early_meets(p->at[1], p->len - p->first, at, len));
}

static bool early_collides(const struct rnic_early *e,
			   const struct rnic_early_place *p)
{
	u32 i;

	for (i = 0; i < e->nr; i++)
		if (early_overlaps(&e->place[i], p->at[0], p->first) ||
		    (p->len > p->first &&
		     early_overlaps(&e->place[i], p->at[1], p->len - p->first)))
			return true;
	return false;
}

static struct rnic_early_place *early_find(struct rnic_early *e, u32 end)
{
	u32 i;

	for (i = 0; i < e->nr; i++)
		if (e->place[i].end == end)
			return &e->place[i];
	return NULL;
}

static void early_remove(struct rnic_early *e, struct rnic_early_place *p)
{
	u32 behind = e->place + e->nr-- - (p + 1);

	memmove(p, p + 1, behind * sizeof(*p));
}

/**
 * rnic_early_knows() - was an FPDU placed early?
 * @e: the memory
 * @end: TCP sequence number behind the FPDU
 *
 * Return: true if so.
 */
bool rnic_early_knows(struct rnic_early *e, u32 end)
{
	return early_find(e, end);
}

/**
 * rnic_early_add() - remember an FPDU
 * @e: the memory
 * @p: where it will be placed
 *
 * Return: true; false if it must not be placed early: there is no room, or it would
 * overwrite another one.
 */
bool rnic_early_add(struct rnic_early *e, const struct rnic_early_place *p)
{
	if (e->nr == RNIC_EARLY_MAX || early_collides(e, p))
		return false;
	e->place[e->nr++] = *p;
	return true;
}

/**
 * rnic_early_touch() - bytes of an FPDU in its turn are placed
 * @e: the memory
 * @at: where
 * @len: how many
 */
void rnic_early_touch(struct rnic_early *e, const void *at, u32 len)
{
	u32 i;

	for (i = 0; i < e->nr; i++)
		if (early_overlaps(&e->place[i], at, len))
			e->place[i].redo = true;
}

/**
 * rnic_early_touch_all() - bytes are placed into memory that may have any of the
 * addresses
 * @e: the memory
 */
void rnic_early_touch_all(struct rnic_early *e)
{
	u32 i;

	for (i = 0; i < e->nr; i++)
		e->place[i].redo = true;
}

/**
 * rnic_early_begin() - an FPDU is received in its turn
 * @e: the memory
 * @end: TCP sequence number behind it
 * @tagged: it has a tagged segment, as those that are placed early; else another
 *	one came early in its place
 */
void rnic_early_begin(struct rnic_early *e, u32 end, bool tagged)
{
	struct rnic_early_place *p = early_find(e, end);

	e->now = end;
	if (p && !tagged)
		p->redo = true;
}

/**
 * rnic_early_take() - need the payload of the FPDU not be copied again?
 * @e: the memory; the FPDU is forgotten
 * @p: where its payload belongs; @p->end, @first, @at and @redo are not used
 *
 * Return: true if it was placed there, and is there still.
 */
bool rnic_early_take(struct rnic_early *e, const struct rnic_early_place *p)
{
	struct rnic_early_place *found = early_find(e, e->now);
	bool same;

	if (!found)
		return false;
	same = !found->redo && found->stag == p->stag && found->to == p->to &&
	       found->len == p->len && found->serial == p->serial &&
	       found->epoch == p->epoch;
	early_remove(e, found);
	if (same)
		e->used++;
	else
		e->redone++;
	return same;
}

/**
 * rnic_early_pass() - the FPDU of rnic_early_begin() was received
 * @e: the memory; FPDUs up to that one are forgotten
 */
void rnic_early_pass(struct rnic_early *e)
{
	struct rnic_early_place *p = e->place;

	while (p < e->place + e->nr) {
		if (after(p->end, e->now)) {
			p++;
		} else {
			early_remove(e, p);
			e->redone++;
		}
	}
}
