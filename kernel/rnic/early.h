/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which FPDUs of a stream were placed before the bytes ahead of them arrived, so
 * that they need not be copied again in their turn.
 */
#ifndef MPA_RNIC_EARLY_H
#define MPA_RNIC_EARLY_H

#include <linux/types.h>

enum {
	/* FPDUs placed early at a time, for each stream. */
	RNIC_EARLY_MAX		= 128,
	/* Pieces of memory that one of them may be placed into. */
	RNIC_EARLY_PIECES	= 2,
};

/**
 * struct rnic_early_place - where the payload of an FPDU was placed
 * @end: TCP sequence number behind the FPDU
 * @stag: STag
 * @to: tagged offset
 * @serial: &rnic_mr.serial of the region or window
 * @epoch: &rnic_mr.epoch of it
 * @len: bytes of payload, not 0
 * @first: bytes of them at @at[0]; the others are at @at[1]
 * @at: the memory
 * @redo: other bytes were placed there since
 */
struct rnic_early_place {
	u32 end;
	u32 stag;
	u64 to;
	u64 serial;
	u32 epoch;
	u32 len;
	u32 first;
	bool redo;
	const u8 *at[RNIC_EARLY_PIECES];
};

/**
 * struct rnic_early - the FPDUs of a stream that were placed early
 * @nr: how many are remembered
 * @now: @end of the FPDU that is received in its turn
 * @used: how many were not copied again, since it was counted last
 * @redone: how many were, or did not come again
 * @place: the FPDUs, in the order of their arrival
 *
 * Under the socket lock. The end of memory that a place names is not noticed here:
 * @serial and @epoch show whether it is still what it was.
 */
struct rnic_early {
	u32 nr;
	u32 now;
	u32 used;
	u32 redone;
	struct rnic_early_place place[RNIC_EARLY_MAX];
};

/**
 * rnic_early_active() - must what is received be compared with earlier places?
 * @e: may be NULL
 *
 * Return: true if so.
 */
static inline bool rnic_early_active(const struct rnic_early *e)
{
	return e && e->nr;
}

struct rnic_early *rnic_early_create(void);
void rnic_early_destroy(struct rnic_early *e);
bool rnic_early_knows(struct rnic_early *e, u32 end);
bool rnic_early_add(struct rnic_early *e, const struct rnic_early_place *p);
void rnic_early_touch(struct rnic_early *e, const void *at, u32 len);
void rnic_early_touch_all(struct rnic_early *e);
void rnic_early_begin(struct rnic_early *e, u32 end, bool tagged);
bool rnic_early_take(struct rnic_early *e, const struct rnic_early_place *p);
void rnic_early_pass(struct rnic_early *e);

#endif /* MPA_RNIC_EARLY_H */
