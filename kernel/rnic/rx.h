/* SPDX-License-Identifier: GPL-2.0-only */
/* Receiving on a stream. */
#ifndef MPA_RNIC_RX_H
#define MPA_RNIC_RX_H

#include <linux/types.h>

struct mpa_conn;
struct mpa_rx;
struct rnic_qp;

int rnic_rx_ulpdu(struct rnic_qp *qp, const struct mpa_conn *conn,
		  struct mpa_rx *rx, u32 len);
bool rnic_rx_early(struct rnic_qp *qp, struct mpa_rx *rx, u32 len, u32 end);
void rnic_rx_settled(struct rnic_qp *qp);

#endif /* MPA_RNIC_RX_H */
