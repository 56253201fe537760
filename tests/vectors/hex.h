/* SPDX-License-Identifier: GPL-2.0-only */
/* Bytes of tables, written as text. */
#ifndef MPA_TESTS_HEX_H
#define MPA_TESTS_HEX_H

#include <linux/types.h>

/* Value of a hexadecimal digit; -1: none */
static inline int vec_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Converts pairs of digits, ignoring blanks; ~0: malformed, or more than @room. */
static inline u32 vec_unhex(const char *hex, u8 *to, u32 room)
{
	u32 n = 0;

	for (; *hex; hex++) {
		int high, low;

		if (*hex == ' ')
			continue;
		high = vec_digit(hex[0]);
		low = high < 0 ? -1 : vec_digit(hex[1]);
		if (low < 0 || n == room)
			return ~0U;
		to[n++] = (u8)(high << 4 | low);
		hex++;
	}
	return n;
}

#endif /* MPA_TESTS_HEX_H */
