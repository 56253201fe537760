/* SPDX-License-Identifier: GPL-2.0-only */
/* Segments of Read Requests and Read Responses. */
#ifndef MPA_RNIC_RX_READ_H
#define MPA_RNIC_RX_READ_H

#include "counters.h"

struct ddp_hdr;
struct mpa_rx;
struct rnic_qp;
struct rnic_segment;

int rnic_rx_read_sink_error(struct rnic_qp *qp);
int rnic_rx_read_complete(struct rnic_qp *qp, enum rnic_counter counter);
int rnic_rx_read_response(struct rnic_qp *qp, struct rnic_segment *seg,
			  struct mpa_rx *rx);
bool rnic_rx_read_expects(const struct rnic_qp *qp, const struct ddp_hdr *h);
int rnic_rx_read_request(struct rnic_qp *qp, struct rnic_segment *seg,
			 struct mpa_rx *rx);

#endif /* MPA_RNIC_RX_READ_H */
