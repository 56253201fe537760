/* SPDX-License-Identifier: GPL-2.0-only */
/* Sending FPDUs in batches. The functions for owners are in mpa.h. */
#ifndef MPA_ULP_TX_BATCH_H
#define MPA_ULP_TX_BATCH_H

#include "conn.h"

int mpa_tx_ready(struct mpa_conn *conn);
void mpa_tx_widen(struct mpa_conn *conn, u32 ulpdu_len);
void mpa_tx_uninit(struct mpa_conn *conn);

#endif /* MPA_ULP_TX_BATCH_H */
