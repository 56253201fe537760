/* SPDX-License-Identifier: GPL-2.0-only */
/* Numbers of queue pairs. */
#ifndef MPA_RNIC_QPN_H
#define MPA_RNIC_QPN_H

#include <linux/siphash.h>
#include <linux/types.h>

enum {
	/* A number is permuted in two halves. */
	RNIC_QPN_HALF_BITS	= 12,
	RNIC_QPN_HALF_MASK	= (1 << RNIC_QPN_HALF_BITS) - 1,
	RNIC_QPN_MASK		= (1 << 2 * RNIC_QPN_HALF_BITS) - 1,
};

u32 rnic_qpn_of(const siphash_key_t *key, u32 index);
u32 rnic_qpn_index(const siphash_key_t *key, u32 qpn);

#endif /* MPA_RNIC_QPN_H */
