/* SPDX-License-Identifier: GPL-2.0-only */
/* Sending on a stream. */
#ifndef MPA_RNIC_TX_H
#define MPA_RNIC_TX_H

#include <linux/types.h>
#include <linux/workqueue.h>

struct mpa_conn;
struct rnic_ep;
struct rnic_qp;

void rnic_tx_run(struct rnic_qp *qp, struct rnic_ep *ep);
bool rnic_tx_answering(const struct rnic_qp *qp);
void rnic_tx_answer(struct rnic_qp *qp, struct mpa_conn *conn);
void rnic_tx_doorbell(struct rnic_qp *qp);
void rnic_tx_work(struct work_struct *work);
void rnic_tx_retry_work(struct work_struct *work);

#endif /* MPA_RNIC_TX_H */
