/* SPDX-License-Identifier: GPL-2.0-only */
/* Commands of this driver in addition to verbs. */
#ifndef MPA_RNIC_METHODS_H
#define MPA_RNIC_METHODS_H

#include <rdma/uverbs_ioctl.h>

extern const struct uapi_definition rnic_methods[];

#endif /* MPA_RNIC_METHODS_H */
