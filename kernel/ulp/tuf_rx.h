/* SPDX-License-Identifier: GPL-2.0-only */
/* Receiving with TUF. */
#ifndef MPA_ULP_TUF_RX_H
#define MPA_ULP_TUF_RX_H

#include "conn.h"
#include "framing/reader.h"

void mpa_tuf_begin_recv(struct mpa_conn *conn, struct mpa_tuf_reader *reader);
enum mpa_rx_result mpa_tuf_rx_piece(struct mpa_conn *conn, const u8 *p, u32 len,
				    u32 *used);
enum mpa_rx_result mpa_tuf_rx_end_of_queue(struct mpa_conn *conn);
bool mpa_tuf_rx_may_grow(struct mpa_conn *conn);
void mpa_tuf_rx_taken(struct mpa_conn *conn, u32 len);
void mpa_tuf_rx_forget_markers(struct mpa_conn *conn);
void mpa_tuf_reread(struct mpa_conn *conn, u32 interval);

#endif /* MPA_ULP_TUF_RX_H */
