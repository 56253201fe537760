/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The part of KUnit that tests/vectors needs, for user space. Each case is a test
 * of GoogleTest, see tests/unit/kunit.cpp.
 */
#ifndef MPA_SHIM_KUNIT_TEST_H
#define MPA_SHIM_KUNIT_TEST_H

#include <stdio.h>
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/types.h>

#define KUNIT_PARAM_DESC_SIZE	128
#define GFP_KERNEL		0

struct kunit {
	const void *param_value;
};

struct kunit_case {
	void (*run_case)(struct kunit *test);
	const char *name;
	const void *(*generate_params)(const void *prev, char *desc);
};

struct kunit_suite {
	const char *name;
	struct kunit_case *test_cases;
};

#define KUNIT_CASE(function)	{ .run_case = function, .name = #function }
#define KUNIT_CASE_PARAM(function, generate) \
	{ .run_case = function, .name = #function, .generate_params = generate }

#define KUNIT_ARRAY_PARAM(name, array, describe)			\
static const void *name##_gen_params(const void *prev, char *desc)	\
{									\
	const __typeof__((array)[0]) *row = prev;			\
									\
	row = row ? row + 1 : (array);					\
	if (row == (array) + ARRAY_SIZE(array))				\
		return NULL;						\
	describe(row, desc);						\
	return row;							\
}									\
_Static_assert(sizeof(array), #array)

#define kunit_test_suite(suite)						\
static void __attribute__((constructor)) suite##_register(void)	\
{									\
	kunit_shim_register(&(suite));					\
}									\
_Static_assert(sizeof(suite), #suite)

#ifdef __cplusplus
extern "C" {
#endif

void kunit_shim_register(const struct kunit_suite *suite);

/* Records a failure; ends the case if @fatal. */
void __attribute__((format(printf, 5, 6)))
kunit_shim_fail(struct kunit *test, bool fatal, const char *file, int line,
		const char *format, ...);

/* A block of exactly @size bytes, which is freed at the end of the case. */
void *kunit_kmalloc(struct kunit *test, size_t size, int flags);
void kunit_kfree(struct kunit *test, const void *p);

#ifdef __cplusplus
}
#endif

#define __shim_check(test, fatal, good, format, ...) do {		\
	if (!(good))							\
		kunit_shim_fail(test, fatal, __FILE__, __LINE__,	\
				format, ##__VA_ARGS__);			\
} while (0)

/* Values are shown as numbers with and without a sign. */
#define __shim_compare(test, fatal, left, op, right, format, ...) do {	\
	const __typeof__(left) __left = (left);				\
	const __typeof__(right) __right = (right);			\
									\
	__shim_check(test, fatal, __left op __right,			\
		     "expected %s " #op " %s, but these are %lld (%#llx) and %lld (%#llx) " \
		     format, #left, #right, (long long)__left,		\
		     (long long)__left, (long long)__right,		\
		     (long long)__right, ##__VA_ARGS__);		\
} while (0)

#define __shim_strings(test, left, op, right) do {			\
	const char *__left = (left), *__right = (right);		\
									\
	__shim_check(test, false, strcmp(__left, __right) op 0,		\
		     "expected %s " #op " %s, but these are \"%s\" and \"%s\"", \
		     #left, #right, __left, __right);			\
} while (0)

#define KUNIT_EXPECT_EQ(t, l, r)	__shim_compare(t, false, l, ==, r, "")
#define KUNIT_EXPECT_NE(t, l, r)	__shim_compare(t, false, l, !=, r, "")
#define KUNIT_EXPECT_LT(t, l, r)	__shim_compare(t, false, l, <, r, "")
#define KUNIT_EXPECT_LE(t, l, r)	__shim_compare(t, false, l, <=, r, "")
#define KUNIT_EXPECT_GT(t, l, r)	__shim_compare(t, false, l, >, r, "")
#define KUNIT_EXPECT_GE(t, l, r)	__shim_compare(t, false, l, >=, r, "")
#define KUNIT_ASSERT_EQ(t, l, r)	__shim_compare(t, true, l, ==, r, "")
#define KUNIT_ASSERT_NE(t, l, r)	__shim_compare(t, true, l, !=, r, "")
#define KUNIT_ASSERT_LT(t, l, r)	__shim_compare(t, true, l, <, r, "")
#define KUNIT_ASSERT_LE(t, l, r)	__shim_compare(t, true, l, <=, r, "")
#define KUNIT_ASSERT_GT(t, l, r)	__shim_compare(t, true, l, >, r, "")
#define KUNIT_ASSERT_GE(t, l, r)	__shim_compare(t, true, l, >=, r, "")
#define KUNIT_EXPECT_EQ_MSG(t, l, r, ...) \
	__shim_compare(t, false, l, ==, r, __VA_ARGS__)
#define KUNIT_ASSERT_EQ_MSG(t, l, r, ...) \
	__shim_compare(t, true, l, ==, r, __VA_ARGS__)
#define KUNIT_EXPECT_PTR_EQ		KUNIT_EXPECT_EQ
#define KUNIT_ASSERT_PTR_EQ		KUNIT_ASSERT_EQ
#define KUNIT_ASSERT_NOT_NULL(t, p)	KUNIT_ASSERT_NE(t, p, NULL)
#define KUNIT_EXPECT_TRUE(t, c)		KUNIT_EXPECT_EQ(t, !!(c), true)
#define KUNIT_EXPECT_FALSE(t, c)	KUNIT_EXPECT_EQ(t, !!(c), false)
#define KUNIT_ASSERT_TRUE(t, c)		KUNIT_ASSERT_EQ(t, !!(c), true)
#define KUNIT_ASSERT_FALSE(t, c)	KUNIT_ASSERT_EQ(t, !!(c), false)
#define KUNIT_EXPECT_STREQ(t, l, r)	__shim_strings(t, l, ==, r)
#define KUNIT_EXPECT_STRNEQ(t, l, r)	__shim_strings(t, l, !=, r)

#endif /* MPA_SHIM_KUNIT_TEST_H */
