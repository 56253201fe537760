/* SPDX-License-Identifier: GPL-2.0-only */
/* The operations of a device. */
#ifndef MPA_RNIC_VERBS_H
#define MPA_RNIC_VERBS_H

#include <rdma/ib_verbs.h>

extern const struct ib_device_ops rnic_device_ops;

#endif /* MPA_RNIC_VERBS_H */
