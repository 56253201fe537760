/* SPDX-License-Identifier: GPL-2.0-only */
/* Send queues: work requests, from posting to retiring. */
#ifndef MPA_RNIC_SQ_H
#define MPA_RNIC_SQ_H

#include <rdma/ib_verbs.h>

#include "counters.h"
#include "ddp/wire.h"
#include "qp.h"

/**
 * struct rnic_wr_info - properties of a kind of work request
 * @known: the opcode exists
 * @kernel: kernel consumers only
 * @local: executed here, nothing is sent
 * @read: answered by a Read Response or Atomic Response
 * @atomic: an atomic operation: the entry has struct mpa_atomic
 * @tagged: becomes a tagged message
 * @remote: mpa_sqe.remote_addr is used
 * @access: mpa_sqe.length has access flags
 * @window: a bind, with its region in place of a piece of data
 * @stag: the entry has an STag
 * @imm: Immediate Data follows; the entry has them
 * @extension: becomes messages of RFC 7306, which not every stream carries
 * @flags: MPA_SQE_* that it may have
 * @rdmap: RDMAP opcode
 * @rdmap_se: RDMAP opcode with solicited event
 * @counter: counter of such messages
 */
struct rnic_wr_info {
	bool known;
	bool kernel;
	bool local;
	bool read;
	bool atomic;
	bool tagged;
	bool remote;
	bool access;
	bool window;
	bool stag;
	bool imm;
	bool extension;
	u8 flags;
	u8 rdmap;
	u8 rdmap_se;
	enum rnic_counter counter;
};

extern const struct rnic_wr_info rnic_wr_infos[MPA_WR_OPCODES];

static inline u32 rnic_wr_hdr_len(const struct rnic_wr_info *info)
{
	return info->tagged ? DDP_TAGGED_LEN : DDP_UNTAGGED_LEN;
}

static inline struct rnic_swr *rnic_swr_at(struct rnic_sq *sq, u32 index)
{
	return &sq->wr[index & (sq->ring.size - 1)];
}

static inline u32 rnic_sq_pending(const struct rnic_sq *sq)
{
	u32 room = sq->ring.size - (sq->fetched - sq->retired);

	return min(rnic_ring_pending(&sq->ring, sq->fetched), room);
}

/* Is all that was posted complete? Without the socket lock only for the moment. */
static inline bool rnic_sq_drained(const struct rnic_sq *sq)
{
	u32 fetched = READ_ONCE(sq->fetched);

	return fetched == sq->retired && !rnic_ring_pending(&sq->ring, fetched);
}

/* Are these messages refused on the stream? @qp: rnic_qp.lock held */
static inline bool rnic_wr_foreign(const struct rnic_qp *qp,
				   const struct rnic_wr_info *info)
{
	return info->extension && !qp->extensions;
}

/* Further memory must be looked up again. */
static inline void rnic_run_forget(struct rnic_tx *tx)
{
	if (tx->draft)
		tx->draft->run.len = 0;
}

bool rnic_sq_retire_some(struct rnic_qp *qp, struct rnic_due *due);
void rnic_sq_retire(struct rnic_qp *qp, struct rnic_due *due);
u32 rnic_sq_posted(const struct rnic_qp *qp);
u32 rnic_sq_flush(struct rnic_qp *qp, u32 n, struct rnic_due *due);
void rnic_sq_forget(struct rnic_qp *qp);
void rnic_sq_stop(struct rnic_qp *qp);
void rnic_swr_finish(struct rnic_qp *qp, struct rnic_swr *wr, u8 status);
struct rnic_swr *rnic_sq_take(struct rnic_qp *qp, u8 *status);
bool rnic_sq_start(struct rnic_qp *qp, struct rnic_swr *wr, u8 status,
		   struct rnic_end *end);
bool rnic_sq_next(struct rnic_qp *qp, struct rnic_end *end);
int rnic_sq_post(struct rnic_qp *qp, const struct ib_send_wr *wr);

#endif /* MPA_RNIC_SQ_H */
