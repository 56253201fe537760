/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between kernel releases in KUnit.
 */
#ifndef MPA_COMPAT_KUNIT_H
#define MPA_COMPAT_KUNIT_H

#include <kunit/test.h>

/**
 * MPA_KUNIT_GENERATOR - begin the definition of a generator of parameters
 * @name: the function, with parameters @prev and @desc
 */
#ifdef MPA_HAVE_KUNIT_GENERATOR_TEST
#define MPA_KUNIT_GENERATOR(name)					\
static const void *(name)(struct kunit *test, const void *prev,		\
			  char *desc)
#else
#define MPA_KUNIT_GENERATOR(name)					\
static const void *(name)(const void *prev, char *desc)
#endif

#endif /* MPA_COMPAT_KUNIT_H */
