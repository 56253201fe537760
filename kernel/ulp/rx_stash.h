/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MPA_ULP_RX_STASH_H
#define MPA_ULP_RX_STASH_H

#include "conn.h"

void mpa_rx_free_stash(struct mpa_conn *conn);
void mpa_rx_make_room(struct mpa_conn *conn, bool dropped);

/* The FPDU was taken, or the stream ends. */
static inline void mpa_rx_empty_stash(struct mpa_conn *conn)
{
	conn->rx_short = false;
	if (conn->stash)
		mpa_rx_free_stash(conn);
}

#endif /* MPA_ULP_RX_STASH_H */
