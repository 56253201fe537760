/* SPDX-License-Identifier: GPL-2.0-only */
/* Segmentation of messages. */
#ifndef MPA_RNIC_TX_MSG_H
#define MPA_RNIC_TX_MSG_H

#include <linux/types.h>

#include "ddp/check.h"
#include "qp.h"

struct mpa_conn;

/**
 * struct rnic_fill - why filling a batch ended
 * @idle: nothing is left that could be sent now; also if a request failed when
 *	it was started
 * @end: a work request failed: end.fault is set
 * @fault: error of a Read Response that cannot continue
 * @refused: @fault is set
 */
struct rnic_fill {
	bool idle;
	struct rnic_end end;
	struct ddp_fault fault;
	bool refused;
};

u32 rnic_tx_wr_header(const struct rnic_qp *qp, u8 *hdr, bool last);
u32 rnic_tx_read_ulpdu(struct rnic_qp *qp, u8 *hdr);
void rnic_tx_read_issued(struct rnic_qp *qp);
void rnic_tx_wr_finish(struct rnic_qp *qp);
int rnic_tx_segment(struct rnic_qp *qp, struct mpa_conn *conn, u32 room,
		    struct rnic_fill *fill);

#endif /* MPA_RNIC_TX_MSG_H */
