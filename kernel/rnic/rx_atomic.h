/* SPDX-License-Identifier: GPL-2.0-only */
/* Receiving for atomic operations. */
#ifndef MPA_RNIC_RX_ATOMIC_H
#define MPA_RNIC_RX_ATOMIC_H

struct mpa_rx;
struct rnic_qp;
struct rnic_segment;

int rnic_rx_atomic_request(struct rnic_qp *qp, struct rnic_segment *seg,
			   struct mpa_rx *rx);
int rnic_rx_atomic_response(struct rnic_qp *qp, struct rnic_segment *seg,
			    struct mpa_rx *rx);

#endif /* MPA_RNIC_RX_ATOMIC_H */
