/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For the cases of this directory: bytes in blocks of exactly their size, so that
 * KASAN, or ASan in user space, detects every access beyond their end.
 */
#ifndef MPA_TESTS_BYTES_H
#define MPA_TESTS_BYTES_H

#include <kunit/test.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/types.h>

#include "hex.h"

/* The rows of @table, which have names, as parameters @what. */
#define VEC_PARAM(what, table)						\
static void what##_desc(typeof((table)[0]) const *row, char *desc)	\
{									\
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);		\
}									\
									\
KUNIT_ARRAY_PARAM(what, table, what##_desc)

struct bytes {
	u8 *p;
	u32 n;
};

static inline struct bytes alloc_bytes(struct kunit *test, u32 n)
{
	struct bytes b = { kunit_kmalloc(test, n, GFP_KERNEL), n };

	KUNIT_ASSERT_NOT_NULL(test, b.p);
	memset(b.p, 0xee, n);
	return b;
}

static inline void free_bytes(struct kunit *test, struct bytes b)
{
	kunit_kfree(test, b.p);
}

static inline struct bytes copy_bytes(struct kunit *test, const u8 *p, u32 n)
{
	struct bytes b = alloc_bytes(test, n);

	memcpy(b.p, p, n);
	return b;
}

static inline struct bytes unhex(struct kunit *test, const char *hex)
{
	struct bytes all = alloc_bytes(test, strlen(hex));
	u32 n = vec_unhex(hex, all.p, all.n);
	struct bytes b;

	KUNIT_ASSERT_LE(test, n, all.n);
	b = copy_bytes(test, all.p, n);
	free_bytes(test, all);
	return b;
}

static inline void expect_same(struct kunit *test, struct bytes got,
			       struct bytes want)
{
	u32 i;

	KUNIT_ASSERT_EQ(test, got.n, want.n);
	for (i = 0; i < got.n; i++)
		KUNIT_ASSERT_EQ_MSG(test, got.p[i], want.p[i], "byte %u", i);
}

#endif /* MPA_TESTS_BYTES_H */
