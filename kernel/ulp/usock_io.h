/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sending and receiving on the socket of an application.
 */
#ifndef MPA_ULP_USOCK_IO_H
#define MPA_ULP_USOCK_IO_H

#include "usock.h"

int mpa_usock_sendmsg(struct socket *sock, struct msghdr *msg, size_t len);
int mpa_usock_recvmsg(struct socket *sock, struct msghdr *msg, size_t len,
		      int flags);
__poll_t mpa_usock_poll(struct file *file, struct socket *sock,
			struct poll_table_struct *wait);
int mpa_usock_ioctl(struct socket *sock, unsigned int cmd, unsigned long arg);

#endif /* MPA_ULP_USOCK_IO_H */
