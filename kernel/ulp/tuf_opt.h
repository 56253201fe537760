/* SPDX-License-Identifier: GPL-2.0-only */
/* Socket options of TUF: those of level SOL_TCP that are not TCP's. */
#ifndef MPA_ULP_TUF_OPT_H
#define MPA_ULP_TUF_OPT_H

#include <linux/sockptr.h>

#include "usock.h"

bool mpa_tuf_has_option(const struct mpa_usock *us, int level, int name);
int mpa_tuf_setsockopt(struct mpa_usock *us, int name, sockptr_t val,
		       unsigned int len);
int mpa_tuf_getsockopt(struct mpa_usock *us, int name, char __user *val,
		       int __user *len);

#endif /* MPA_ULP_TUF_OPT_H */
