// SPDX-License-Identifier: GPL-2.0-only
/*
 * Numbers of queue pairs: a permutation, secret to users, of the indices at which
 * the device keeps them. Indices in use are close together, so the table of them is
 * small. Numbers are not, so nobody guesses one from another.
 */
#include "qpn.h"

enum {
	QPN_ROUNDS	= 8,
};

static u32 qpn_round(const siphash_key_t *key, u32 round, u32 half)
{
	return siphash_2u32(round, half, key) & RNIC_QPN_HALF_MASK;
}

/**
 * rnic_qpn_of() - the number that belongs to an index
 * @key: secret of the device
 * @index: 0 to %RNIC_QPN_MASK
 *
 * A Feistel network, which maps different indices to different numbers.
 *
 * Return: the number, 0 to %RNIC_QPN_MASK.
 */
u32 rnic_qpn_of(const siphash_key_t *key, u32 index)
{
	u32 left = index >> RNIC_QPN_HALF_BITS & RNIC_QPN_HALF_MASK;
	u32 right = index & RNIC_QPN_HALF_MASK;
	u32 round, next;

	for (round = 0; round < QPN_ROUNDS; round++) {
		next = left ^ qpn_round(key, round, right);
		left = right;
		right = next;
	}
	return left << RNIC_QPN_HALF_BITS | right;
}

/**
 * rnic_qpn_index() - the index that belongs to a number
 * @key: secret of the device
 * @qpn: 0 to %RNIC_QPN_MASK
 *
 * Return: the index for which rnic_qpn_of() returns @qpn.
 */
u32 rnic_qpn_index(const siphash_key_t *key, u32 qpn)
{
	u32 left = qpn >> RNIC_QPN_HALF_BITS & RNIC_QPN_HALF_MASK;
	u32 right = qpn & RNIC_QPN_HALF_MASK;
	u32 round, previous;

	for (round = QPN_ROUNDS; round--;) {
		previous = right ^ qpn_round(key, round, left);
		right = left;
		left = previous;
	}
	return left << RNIC_QPN_HALF_BITS | right;
}
