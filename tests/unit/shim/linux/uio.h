/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MPA_SHIM_LINUX_UIO_H
#define MPA_SHIM_LINUX_UIO_H

#include <linux/types.h>

struct kvec {
	void *iov_base;
	size_t iov_len;
};

#endif /* MPA_SHIM_LINUX_UIO_H */
