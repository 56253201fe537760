// SPDX-License-Identifier: GPL-2.0-only
/*
 * Atomic operations (RFC 7306 section 5): their headers, and what they do to a
 * value. Values are not checked here but in check.c.
 */
#include <linux/types.h>

#include "../compat/unaligned.h"
#include "atomic.h"

/**
 * rdmap_atomic_decode - decode an Atomic Request header
 * @p: its %RDMAP_ATOMIC_REQ_LEN bytes, all readable
 * @a: the fields, unchecked; reserved bits are ignored
 */
void rdmap_atomic_decode(const u8 *p, struct rdmap_atomic *a)
{
	a->op = get_unaligned_be32(p + RDMAP_ATOMIC_OFF_OP) &
		RDMAP_ATOMIC_OP_MASK;
	a->id = get_unaligned_be32(p + RDMAP_ATOMIC_OFF_ID);
	a->stag = get_unaligned_be32(p + RDMAP_ATOMIC_OFF_STAG);
	a->to = get_unaligned_be64(p + RDMAP_ATOMIC_OFF_TO);
	a->data = get_unaligned_be64(p + RDMAP_ATOMIC_OFF_DATA);
	a->mask = get_unaligned_be64(p + RDMAP_ATOMIC_OFF_MASK);
	a->compare = get_unaligned_be64(p + RDMAP_ATOMIC_OFF_COMPARE);
	a->compare_mask = get_unaligned_be64(p + RDMAP_ATOMIC_OFF_COMPARE_MASK);
}

/**
 * rdmap_atomic_build - write an Atomic Request header
 * @p: destination directly after the DDP header, %RDMAP_ATOMIC_REQ_LEN bytes
 * @a: the fields
 *
 * Return: bytes written, %RDMAP_ATOMIC_REQ_LEN.
 */
u32 rdmap_atomic_build(u8 *p, const struct rdmap_atomic *a)
{
	put_unaligned_be32(a->op & RDMAP_ATOMIC_OP_MASK,
			   p + RDMAP_ATOMIC_OFF_OP);
	put_unaligned_be32(a->id, p + RDMAP_ATOMIC_OFF_ID);
	put_unaligned_be32(a->stag, p + RDMAP_ATOMIC_OFF_STAG);
	put_unaligned_be64(a->to, p + RDMAP_ATOMIC_OFF_TO);
	put_unaligned_be64(a->data, p + RDMAP_ATOMIC_OFF_DATA);
	put_unaligned_be64(a->mask, p + RDMAP_ATOMIC_OFF_MASK);
	put_unaligned_be64(a->compare, p + RDMAP_ATOMIC_OFF_COMPARE);
	put_unaligned_be64(a->compare_mask, p + RDMAP_ATOMIC_OFF_COMPARE_MASK);
	return RDMAP_ATOMIC_REQ_LEN;
}

/**
 * rdmap_atomic_response_decode - decode an Atomic Response header
 * @p: its %RDMAP_ATOMIC_RESP_LEN bytes, all readable
 * @id: set to the Original Request Identifier
 * @value: set to the value before the operation
 */
void rdmap_atomic_response_decode(const u8 *p, u32 *id, u64 *value)
{
	*id = get_unaligned_be32(p + RDMAP_ATOMIC_RESP_OFF_ID);
	*value = get_unaligned_be64(p + RDMAP_ATOMIC_RESP_OFF_VALUE);
}

/**
 * rdmap_atomic_response_build - write an Atomic Response header
 * @p: destination directly after the DDP header, %RDMAP_ATOMIC_RESP_LEN bytes
 * @id: Original Request Identifier
 * @value: value before the operation
 *
 * Return: bytes written, %RDMAP_ATOMIC_RESP_LEN.
 */
u32 rdmap_atomic_response_build(u8 *p, u32 id, u64 value)
{
	put_unaligned_be32(id, p + RDMAP_ATOMIC_RESP_OFF_ID);
	put_unaligned_be64(value, p + RDMAP_ATOMIC_RESP_OFF_VALUE);
	return RDMAP_ATOMIC_RESP_LEN;
}

/*
 * @tops has a bit at the top of each field. Without these bits no carry leaves a
 * field; the top bits are added separately, without their carries.
 */
static u64 atomic_add_fields(u64 a, u64 b, u64 tops)
{
	return ((a & ~tops) + (b & ~tops)) ^ ((a ^ b) & tops);
}

/**
 * rdmap_atomic_result - what an atomic operation makes of a value
 * @a: the operation, one of &enum rdmap_atomic_op
 * @old: value of the memory, in its byte order
 *
 * FetchAdd: a bit in the mask ends a field, out of which nothing is carried
 * (RFC 7306 section 5.1.1). CmpSwap: where the masks of both have a bit, the
 * value is compared and replaced (section 5.1.2).
 *
 * Return: the new value, @old if a comparison failed.
 */
u64 rdmap_atomic_result(const struct rdmap_atomic *a, u64 old)
{
	if (a->op == RDMAP_FETCH_ADD)
		return atomic_add_fields(old, a->data, a->mask);
	if ((a->compare ^ old) & a->compare_mask)
		return old;
	return (old & ~a->mask) | (a->data & a->mask);
}
