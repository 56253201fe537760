/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between configurations of the kernel in files.
 */
#ifndef MPA_COMPAT_FILE_H
#define MPA_COMPAT_FILE_H

#include <linux/fs.h>

/* Does a file belong to a set of epoll, which uses it without a reference? */
static inline bool mpa_file_in_epoll(const struct file *file)
{
#ifdef CONFIG_EPOLL
	return READ_ONCE(file->f_ep);
#else
	return false;
#endif
}

#endif /* MPA_COMPAT_FILE_H */
