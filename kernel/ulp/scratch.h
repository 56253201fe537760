/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Working memory for a batch of FPDUs. It is too large to keep for each
 * stream and too costly to allocate for each batch.
 */
#ifndef MPA_ULP_SCRATCH_H
#define MPA_ULP_SCRATCH_H

#include <linux/list.h>
#include <linux/types.h>
#include <linux/uio.h>

#include "framing/fpdu.h"
#include "framing/segment.h"

enum {
	/* FPDUs of a batch */
	MPA_SCRATCH_FPDUS	= 512,
	/* Pieces of a ULPDU that are not copied; more of them are. */
	MPA_SCRATCH_PIECES	= 32,
	/* Pieces of a batch */
	MPA_SCRATCH_OUT		= 2048,
	/* Markers of a batch, at the most */
	MPA_SCRATCH_MARKERS	= MPA_BATCH_OCTETS / MPA_MARKER_PERIOD + 1,
	/* Control octets: length, pad and CRC of each FPDU; Markers */
	MPA_SCRATCH_CTL		= MPA_SCRATCH_FPDUS *
				  (MPA_FPDU_OVERHEAD + MPA_FPDU_ALIGN - 1) +
				  MPA_SCRATCH_MARKERS * MPA_MARKER_LEN,
};

/**
 * struct mpa_scratch - a batch of FPDUs
 * @entry: in the list of those not in use
 * @g: the batch, in @out and @ctl
 * @fpdus: how many it has
 * @staged: octets of @staging used
 * @ulpdu: pieces of the ULPDU being added
 * @out: pieces of the batch
 * @ctl: control octets
 * @staging: ULPDU octets that cannot stay where their owner has them
 *
 * Belongs to one stream at a time and is protected by its lock.
 */
struct mpa_scratch {
	struct list_head entry;
	struct mpa_gather g;
	unsigned int fpdus;
	u32 staged;
	struct kvec ulpdu[MPA_SCRATCH_PIECES];
	struct kvec out[MPA_SCRATCH_OUT];
	u8 ctl[MPA_SCRATCH_CTL];
	u8 staging[MPA_BATCH_OCTETS];
};

struct mpa_scratch *mpa_scratch_get(void);
void mpa_scratch_put(struct mpa_scratch *s);
void mpa_scratch_drain(void);
bool mpa_scratch_room(const struct mpa_scratch *s, u32 len, unsigned int nr);

#endif /* MPA_ULP_SCRATCH_H */
