/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Attaching MPA to the socket of an application.
 */
#ifndef MPA_ULP_USOCK_ATTACH_H
#define MPA_ULP_USOCK_ATTACH_H

#include "usock.h"

extern const struct mpa_ops mpa_usock_stream_ops;

int mpa_usock_attach(struct sock *sk);
int mpa_usock_attach_child(struct mpa_usock *from, struct socket *sock);
void mpa_usock_detach(struct sock *sk);

#endif /* MPA_ULP_USOCK_ATTACH_H */
