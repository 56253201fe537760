/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Socket options of level SOL_MPA, and what inet_diag shows.
 */
#ifndef MPA_ULP_USOCK_OPT_H
#define MPA_ULP_USOCK_OPT_H

#include "usock.h"

int mpa_usock_setsockopt(struct socket *sock, int level, int name,
			 sockptr_t val, unsigned int len);
int mpa_usock_getsockopt(struct socket *sock, int level, int name,
			 char __user *val, int __user *len);
int mpa_usock_diag(struct sock *sk, struct sk_buff *skb);
size_t mpa_usock_diag_size(const struct sock *sk);

#endif /* MPA_ULP_USOCK_OPT_H */
