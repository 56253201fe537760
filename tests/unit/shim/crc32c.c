// SPDX-License-Identifier: GPL-2.0-only
/*
 * CRC32c by table, for tests in user space only. The kernel's own semantics:
 * the caller seeds with ~0 and inverts at the end.
 */
#include <linux/crc32c.h>

enum { CASTAGNOLI_REFLECTED = 0x82f63b78 };

static u32 table[256];

static void __attribute__((constructor)) fill_table(void)
{
	u32 i, bit, crc;

	for (i = 0; i < 256; i++) {
		crc = i;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^
			      (crc & 1 ? (u32)CASTAGNOLI_REFLECTED : 0);
		table[i] = crc;
	}
}

u32 crc32c(u32 crc, const void *p, unsigned int len)
{
	const u8 *byte = p;

	while (len--)
		crc = crc >> 8 ^ table[(crc ^ *byte++) & 0xff];
	return crc;
}
