/* SPDX-License-Identifier: GPL-2.0-only */
/* Receiving with TUF. */
#ifndef MPA_ULP_TUF_RX_H
#define MPA_ULP_TUF_RX_H

#include "conn.h"

void mpa_tuf_begin_recv(struct mpa_conn *conn, struct mpa_tuf_reader *reader);
u32 mpa_tuf_rx_piece(struct mpa_conn *conn, const u8 *p, u32 len);
void mpa_tuf_rx_end_of_queue(struct mpa_conn *conn);
void mpa_tuf_rx_extend(struct mpa_conn *conn);
void mpa_tuf_rx_taken(struct mpa_conn *conn, u32 len);
void mpa_tuf_reread(struct mpa_conn *conn, u32 interval);

#endif /* MPA_ULP_TUF_RX_H */
