/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory for building a batch of FPDUs. It is too large to keep for each stream
 * and too expensive to allocate for each batch.
 */
#ifndef MPA_ULP_SCRATCH_H
#define MPA_ULP_SCRATCH_H

#include <linux/bvec.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/types.h>
#include <linux/uio.h>

#include "framing/fpdu.h"
#include "framing/segment.h"
#include "mpa.h"

enum {
	/* FPDUs of a batch */
	MPA_SCRATCH_FPDUS	= 512,
	/*
	 * Pieces of a ULPDU that are sent in place; if there are more, it is
	 * copied
	 */
	MPA_SCRATCH_PIECES	= 32,
	/* Pieces of a batch */
	MPA_SCRATCH_OUT		= 2048,
	/* Maximum number of Markers of a batch */
	MPA_SCRATCH_MARKERS	= MPA_BATCH_BYTES / MPA_MARKER_PERIOD + 1,
	/* Control bytes: length, pad and CRC of each FPDU; Markers */
	MPA_SCRATCH_CTL		= MPA_SCRATCH_FPDUS *
				  (MPA_FPDU_OVERHEAD + MPA_FPDU_ALIGN - 1) +
				  MPA_SCRATCH_MARKERS * MPA_MARKER_LEN,
	/* Control bytes and all ULPDUs of a batch */
	MPA_SCRATCH_BYTES	= MPA_SCRATCH_CTL + MPA_BATCH_BYTES,
	/* Bytes of a page fragment: as many as TCP allocates, whole pages */
	MPA_FRAG_BYTES		= PAGE_ALIGN(SZ_32K),
	/* Page fragments of a batch */
	MPA_FRAGS		= 8,
};

/**
 * struct mpa_frag - pages that FPDUs are written on and TCP sends as they are
 * @page: %MPA_FRAG_BYTES bytes, with a reference; NULL if there are none
 * @bytes: their address
 * @used: bytes that were written, by this or earlier batches
 */
struct mpa_frag {
	struct page *page;
	u8 *bytes;
	u32 used;
};

/**
 * struct mpa_scratch - a batch of FPDUs
 * @entry: in the list of idle batches
 * @atomic: its user must not sleep
 * @written: FPDUs are written on fragments; otherwise gathered in @g
 * @frag: current fragment; the next batch continues on it
 * @run: what was written of the batch, one piece for each fragment
 * @nr_runs: number of pieces in @run
 * @len: bytes of the batch, if @written
 * @g: the batch, in @out and @bytes
 * @fpdus: number of FPDUs in the batch
 * @room: longest ULPDU that fits next; 0 if not known
 * @added: bytes of stream that mpa_tx_add() or mpa_tx_add_series() added last
 * @staged: bytes of @bytes used behind %MPA_SCRATCH_CTL
 * @ulpdu: pieces of the ULPDU being added
 * @out: pieces of the batch
 * @bytes: control bytes, and behind them ULPDU bytes that were copied
 * @workspace: for the owner of the stream, see mpa_tx_workspace()
 *
 * Used by one stream at a time and protected by its lock.
 */
struct mpa_scratch {
	struct list_head entry;
	bool atomic;
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

/* Bytes that are free on the fragment. */
static inline u32 mpa_frag_left(const struct mpa_scratch *s)
{
	return s->frag.page ? MPA_FRAG_BYTES - s->frag.used : 0;
}

/**
 * mpa_frag_at - address at which the next FPDU is written
 * @s: the batch, begun on a fragment
 */
static inline u8 *mpa_frag_at(const struct mpa_scratch *s)
{
	return s->frag.bytes + s->frag.used;
}

/**
 * mpa_frag_wrote - an FPDU was written
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
 * mpa_scratch_room - check whether one more FPDU can be gathered
 * @s: the batch
 * @len: bytes of ULPDU
 *
 * Return: true if so, for any number of pieces of the ULPDU and any position of
 * Markers.
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
