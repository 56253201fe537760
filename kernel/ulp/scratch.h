/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Working memory for a batch of FPDUs. It is too large to keep for each
 * stream and too costly to allocate for each batch.
 */
#ifndef MPA_ULP_SCRATCH_H
#define MPA_ULP_SCRATCH_H

#include <linux/bvec.h>
#include <linux/list.h>
#include <linux/sizes.h>
#include <linux/types.h>
#include <linux/uio.h>

#include "framing/fpdu.h"
#include "framing/segment.h"
#include "mpa.h"

enum {
	/* FPDUs of a batch */
	MPA_SCRATCH_FPDUS	= 512,
	/* Pieces of a ULPDU that are not copied; more of them are. */
	MPA_SCRATCH_PIECES	= 32,
	/* Pieces of a batch */
	MPA_SCRATCH_OUT		= 2048,
	/* Markers of a batch, at the most */
	MPA_SCRATCH_MARKERS	= MPA_BATCH_BYTES / MPA_MARKER_PERIOD + 1,
	/* Control bytes: length, pad and CRC of each FPDU; Markers */
	MPA_SCRATCH_CTL		= MPA_SCRATCH_FPDUS *
				  (MPA_FPDU_OVERHEAD + MPA_FPDU_ALIGN - 1) +
				  MPA_SCRATCH_MARKERS * MPA_MARKER_LEN,
	/* These and all ULPDUs of a batch */
	MPA_SCRATCH_BYTES	= MPA_SCRATCH_CTL + MPA_BATCH_BYTES,
	/* Bytes of a page fragment: as many as TCP allocates for what it copies */
	MPA_FRAG_BYTES		= SZ_32K,
	/* Page fragments of a batch */
	MPA_FRAGS		= 8,
};

/**
 * struct mpa_frag - pages that FPDUs are written on, for TCP to send as they are
 * @page: %MPA_FRAG_BYTES of them, with a reference of ours; NULL if there are
 *	none
 * @bytes: where they are
 * @used: bytes that were written, by whatever batch
 */
struct mpa_frag {
	struct page *page;
	u8 *bytes;
	u32 used;
};

/**
 * struct mpa_scratch - a batch of FPDUs
 * @entry: in the list of those not in use
 * @written: FPDUs are written on fragments; otherwise they are gathered in @g
 * @frag: what is written on; goes on from one batch to the next
 * @run: what was written of the batch, a piece to each fragment
 * @nr_runs: how many
 * @len: bytes of the batch, if @written
 * @g: the batch, in @out and @bytes
 * @fpdus: how many it has
 * @room: longest ULPDU it takes next; 0 if that is to be found out
 * @added: bytes of stream that mpa_tx_add() or mpa_tx_add_series() added last
 * @staged: bytes of @bytes used behind %MPA_SCRATCH_CTL
 * @ulpdu: pieces of the ULPDU being added
 * @out: pieces of the batch
 * @bytes: control bytes, and behind them ULPDU bytes that cannot stay where
 *	their owner has them
 * @workspace: the owner's, see mpa_tx_workspace()
 *
 * Belongs to one stream at a time and is protected by its lock.
 */
struct mpa_scratch {
	struct list_head entry;
	bool written;
	struct mpa_frag frag;
	struct bio_vec run[MPA_FRAGS];
	unsigned int nr_runs;
	u32 len;
	struct mpa_gather g;
	unsigned int fpdus;
	u32 room;
	u32 added;
	u32 staged;
	struct kvec ulpdu[MPA_SCRATCH_PIECES];
	struct kvec out[MPA_SCRATCH_OUT];
	u8 bytes[MPA_SCRATCH_BYTES];
	u64 workspace[MPA_TX_WORKSPACE / sizeof(u64)];
};

struct mpa_scratch *mpa_scratch_get(bool atomic);
void mpa_scratch_put(struct mpa_scratch *s);
bool mpa_frag_begin(struct mpa_scratch *s, u32 len);
void mpa_scratch_drain(void);

/* Bytes that the fragment still takes. */
static inline u32 mpa_frag_left(const struct mpa_scratch *s)
{
	return s->frag.page ? MPA_FRAG_BYTES - s->frag.used : 0;
}

/**
 * mpa_frag_at - where to write the next FPDU
 * @s: the batch, begun on a fragment
 */
static inline u8 *mpa_frag_at(const struct mpa_scratch *s)
{
	return s->frag.bytes + s->frag.used;
}

/**
 * mpa_frag_wrote - an FPDU has been written
 * @s: the batch
 * @len: bytes of it
 */
static inline void mpa_frag_wrote(struct mpa_scratch *s, u32 len)
{
	s->run[s->nr_runs - 1].bv_len += len;
	s->frag.used += len;
	s->len += len;
}

/**
 * mpa_scratch_room - is there room for one more FPDU to be gathered?
 * @s: the batch
 * @len: bytes of ULPDU
 *
 * Return: true if there is, in however many pieces the ULPDU comes and wherever
 * Markers fall.
 */
static inline bool mpa_scratch_room(const struct mpa_scratch *s, u32 len)
{
	/* Each Marker may split a piece; length and trailer are two more. */
	u32 markers = len / (MPA_MARKER_PERIOD - MPA_MARKER_LEN) + 2;
	u32 pieces = MPA_SCRATCH_PIECES + 2 * markers + 2;

	return s->fpdus < MPA_SCRATCH_FPDUS &&
	       pieces <= s->g.max_out - s->g.nr_out;
}

#endif /* MPA_ULP_SCRATCH_H */
