/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The operations of an application's socket while it has MPA.
 */
#ifndef MPA_ULP_USOCK_OPS_H
#define MPA_ULP_USOCK_OPS_H

int mpa_usock_init(struct sock *sk);
bool mpa_usock_has_ops(const struct socket *sock);

#endif /* MPA_ULP_USOCK_OPS_H */
