/* SPDX-License-Identifier: GPL-2.0-only */
/* The stream of a queue pair: its start and its end. */
#ifndef MPA_RNIC_QP_STREAM_H
#define MPA_RNIC_QP_STREAM_H

#include <linux/types.h>

#include "qp.h"

struct rnic_segment;

/* Is it a refused access? RDMAP and DDP have the same number for that. */
static inline bool rnic_etype_access(u8 etype)
{
	static_assert((int)RDMAP_ET_PROTECTION == (int)DDP_ET_TAGGED);
	return etype == RDMAP_ET_PROTECTION;
}

/* Encodes an error for vendor_err and netlink. */
static inline u32 rnic_cause(u8 layer, u8 etype, u8 code)
{
	return layer << 12 | etype << 8 | code;
}

void rnic_qp_want_doorbell(struct rnic_qp *qp);
void rnic_qp_flush(struct rnic_qp *qp);
void rnic_qp_kill(struct rnic_qp *qp, const struct rnic_end *end);
int rnic_qp_refuse(struct rnic_qp *qp, const struct ddp_fault *f,
		   const struct rnic_segment *seg);
void rnic_qp_stream_error(struct rnic_qp *qp, enum mpa_error code, int err);
void rnic_qp_startup_fault(struct rnic_qp *qp, const struct ddp_fault *f);
void rnic_qp_closed(struct rnic_qp *qp, int err);
void rnic_qp_check_cqs(struct rnic_qp *qp, struct rnic_ep *ep);
void rnic_qp_set_extensions(struct rnic_qp *qp, bool on);
void rnic_qp_set_receive_wait(struct rnic_qp *qp, u32 ms);
void rnic_qp_forget_end(struct rnic_qp *qp);
int rnic_qp_operational(struct rnic_qp *qp, const struct mpa_result *res);
void rnic_qp_writable(struct rnic_qp *qp);

#endif /* MPA_RNIC_QP_STREAM_H */
