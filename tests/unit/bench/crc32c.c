// SPDX-License-Identifier: GPL-2.0-only
//
// CRC32c with the processor's instruction, in place of shim/crc32c.c.
#include <linux/crc32c.h>

#include <string.h>

#include <nmmintrin.h>

u32 crc32c(u32 crc, const void *p, unsigned int len)
{
	const unsigned char *byte = p;
	unsigned long long sum = crc, word;

	for (; len >= sizeof(word); len -= sizeof(word), byte += sizeof(word)) {
		memcpy(&word, byte, sizeof(word));
		sum = _mm_crc32_u64(sum, word);
	}
	for (; len; len--)
		sum = _mm_crc32_u8((unsigned int)sum, *byte++);
	return (u32)sum;
}
