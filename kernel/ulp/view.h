/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reports about connections. The functions for the netlink family are in
 * netlink.h.
 */
#ifndef MPA_ULP_VIEW_H
#define MPA_ULP_VIEW_H

#include "conn.h"

int mpa_conn_alloc_id(struct mpa_conn *conn);
void mpa_conn_free_id(struct mpa_conn *conn);
void mpa_conn_publish(struct mpa_conn *conn);
void mpa_conn_unpublish(struct mpa_conn *conn);
void mpa_conn_up(struct mpa_conn *conn);
void mpa_conn_down(struct mpa_conn *conn);
void mpa_conn_count_too_soon(struct mpa_conn *conn, u32 fpdus);
void mpa_conn_failure(struct mpa_conn *conn, enum mpa_error code, int err);
void mpa_conn_report_end(struct mpa_conn *conn, enum mpa_error code, int err);
void mpa_addr_local(const struct sock *sk, struct mpa_addr *to);

#endif /* MPA_ULP_VIEW_H */
