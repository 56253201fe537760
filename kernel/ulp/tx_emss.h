/* SPDX-License-Identifier: GPL-2.0-only */
/* How many bytes of a stream fit in a TCP segment: EMSS and MULPDU. */
#ifndef MPA_ULP_TX_EMSS_H
#define MPA_ULP_TX_EMSS_H

#include "conn.h"

struct mpa_seg_view;

void mpa_tx_renew_route(struct sock *sk);
void mpa_tx_view_socket(const struct mpa_conn *conn, struct mpa_seg_view *v);
u32 mpa_tx_emss(struct mpa_conn *conn);

#endif /* MPA_ULP_TX_EMSS_H */
