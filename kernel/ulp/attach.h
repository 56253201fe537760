/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Attaching a stream to its socket. The functions for other modules are in
 * mpa.h.
 */
#ifndef MPA_ULP_ATTACH_H
#define MPA_ULP_ATTACH_H

#include "conn.h"

int mpa_attach_init(void);
void mpa_attach_exit(void);
struct mpa_conn *mpa_conn_alloc(struct sock *sk, struct socket *sock,
				const struct mpa_ops *ops, void *priv);
void mpa_conn_free(struct mpa_conn *conn);
void mpa_conn_hook(struct mpa_conn *conn);
void mpa_conn_unhook(struct mpa_conn *conn);
void mpa_conn_check_disconnected(struct mpa_conn *conn);
void mpa_conn_unclone(struct sock *newsk);
void mpa_conn_released(struct sock *sk);
void mpa_conn_run(struct mpa_conn *conn);

#endif /* MPA_ULP_ATTACH_H */
