/* SPDX-License-Identifier: GPL-2.0-only */
/* The startup exchange of a stream. The functions for owners are in mpa.h. */
#ifndef MPA_ULP_STARTUP_H
#define MPA_ULP_STARTUP_H

#include "conn.h"

void mpa_startup_rx(struct mpa_conn *conn);
void mpa_startup_closed(struct mpa_conn *conn, int err);
void mpa_startup_cancel(struct mpa_conn *conn);
void mpa_startup_done(struct mpa_conn *conn);
int mpa_reply_accept(struct mpa_conn *conn);
int mpa_reply_decline(struct mpa_conn *conn);
void mpa_startup_timer(struct work_struct *work);
int mpa_accept_locked(struct mpa_conn *conn, const struct mpa_params *own,
		      const void *pd, u32 pd_len);
int mpa_reject_locked(struct mpa_conn *conn, const struct mpa_params *own,
		      const void *pd, u32 pd_len);

#endif /* MPA_ULP_STARTUP_H */
