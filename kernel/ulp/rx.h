/* SPDX-License-Identifier: GPL-2.0-only */
/* Receiving FPDUs. The functions for owners are in mpa.h. */
#ifndef MPA_ULP_RX_H
#define MPA_ULP_RX_H

#include <net/tcp.h>

#include "conn.h"
#include "framing/tuf.h"

struct iov_iter;
struct mpa_pos;

/* Bytes of the unit that is held: a ULPDU, or as &struct mpa_tuf_reader has it. */
static inline u32 mpa_rx_held_len(const struct mpa_conn *conn)
{
	return conn->tuf ? conn->tuf->len : conn->reader.ulpdu_len;
}

void mpa_rx_fpdus(struct mpa_conn *conn);
int mpa_rx_held_read(struct mpa_conn *conn, struct iov_iter *to, u32 len);
void mpa_rx_held_done(struct mpa_conn *conn);
bool mpa_rx_offer_early(struct mpa_conn *conn, struct mpa_reader *r,
			const struct mpa_pos *start, u32 end);
void mpa_rx_drop(struct mpa_conn *conn);
bool mpa_rx_within_fpdu(const struct mpa_conn *conn);

#endif /* MPA_ULP_RX_H */
