/* SPDX-License-Identifier: GPL-2.0-only */
/* Terminate messages of the peer. */
#ifndef MPA_RNIC_TERMINATE_H
#define MPA_RNIC_TERMINATE_H

struct mpa_rx;
struct rnic_qp;
struct rnic_segment;

int rnic_rx_bad_terminate(struct rnic_qp *qp);
int rnic_rx_terminate(struct rnic_qp *qp, struct rnic_segment *seg,
		      struct mpa_rx *rx);

#endif /* MPA_RNIC_TERMINATE_H */
