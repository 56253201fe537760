// SPDX-License-Identifier: GPL-2.0-only
/*
 * CRC32c by the processor's instruction, for everyone who takes it from the crypto
 * API. The kernel's own modules for that cannot be built for User Mode Linux, which
 * else computes it from tables. Users take what there is when they are loaded, so
 * this is loaded first.
 *
 * An instruction has a latency of three cycles, but the processor begins one in each:
 * long buffers are summed up as three streams at a time, which are then joined.
 */
#include <asm/cpufeature.h>
#include <asm/unaligned.h>
#include <crypto/internal/hash.h>
#include <linux/crc32.h>
#include <linux/module.h>
#include <linux/slab.h>

/* Bytes of a stream: of long buffers such as a page, and of what remains. */
#define CRC_LONG	1024
#define CRC_SHORT	128
/* The self-test: lengths on both sides of three long streams. */
#define CRC_TEST	(4 * CRC_LONG)

/* What a state becomes after so many bytes of zero, byte by byte of the state. */
struct crc_skip {
	unsigned int bytes;
	u32 table[4][256];
};

static struct crc_skip crc_skips[] = {
	{ .bytes = CRC_LONG },
	{ .bytes = CRC_SHORT },
};

static u64 crc_eight(u64 crc, const u8 *p)
{
	u64 data = get_unaligned((const u64 *)p);

	asm("crc32q %1, %0" : "+r" (crc) : "rm" (data));
	return crc;
}

static u32 crc_one(u32 crc, u8 data)
{
	asm("crc32b %1, %0" : "+r" (crc) : "rm" (data));
	return crc;
}

static u32 crc_serial(u32 crc, const u8 *p, unsigned int n)
{
	for (; n >= 8; n -= 8, p += 8)
		crc = crc_eight(crc, p);
	for (; n; n--, p++)
		crc = crc_one(crc, *p);
	return crc;
}

static u32 crc_skipped(const struct crc_skip *skip, u32 crc)
{
	return skip->table[0][crc & 0xff] ^ skip->table[1][crc >> 8 & 0xff] ^
	       skip->table[2][crc >> 16 & 0xff] ^ skip->table[3][crc >> 24];
}

static void crc_init_skip(struct crc_skip *skip, const u8 *zeros)
{
	unsigned int byte, value;

	for (byte = 0; byte < 4; byte++)
		for (value = 0; value < 256; value++)
			skip->table[byte][value] =
				crc_serial(value << (8 * byte), zeros, skip->bytes);
}

static u32 crc_three(const struct crc_skip *skip, u32 crc, const u8 *p)
{
	const unsigned int bytes = skip->bytes;
	u64 first = crc, second = 0, third = 0;
	const u8 *end = p + bytes;

	for (; p < end; p += 8) {
		first = crc_eight(first, p);
		second = crc_eight(second, p + bytes);
		third = crc_eight(third, p + 2 * bytes);
	}
	return crc_skipped(skip, crc_skipped(skip, first) ^ second) ^ third;
}

static u32 crc_of(u32 crc, const u8 *p, unsigned int n)
{
	const struct crc_skip *skip;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(crc_skips); i++) {
		skip = &crc_skips[i];
		for (; n >= 3 * skip->bytes; n -= 3 * skip->bytes) {
			crc = crc_three(skip, crc, p);
			p += 3 * skip->bytes;
		}
	}
	return crc_serial(crc, p, n);
}

/* libcrc32c and siw rely on a state that is the sum, not inverted. */
static int crc_setkey(struct crypto_shash *hash, const u8 *key, unsigned int len)
{
	u32 *seed = crypto_shash_ctx(hash);

	if (len != sizeof(*seed))
		return -EINVAL;
	*seed = get_unaligned_le32(key);
	return 0;
}

static int crc_init(struct shash_desc *desc)
{
	u32 *seed = crypto_shash_ctx(desc->tfm), *crc = shash_desc_ctx(desc);

	*crc = *seed;
	return 0;
}

static int crc_update(struct shash_desc *desc, const u8 *data, unsigned int len)
{
	u32 *crc = shash_desc_ctx(desc);

	*crc = crc_of(*crc, data, len);
	return 0;
}

static int crc_final(struct shash_desc *desc, u8 *out)
{
	u32 *crc = shash_desc_ctx(desc);

	put_unaligned_le32(~*crc, out);
	return 0;
}

static int crc_finup(struct shash_desc *desc, const u8 *data, unsigned int len, u8 *out)
{
	u32 *crc = shash_desc_ctx(desc);

	put_unaligned_le32(~crc_of(*crc, data, len), out);
	return 0;
}

static int crc_digest(struct shash_desc *desc, const u8 *data, unsigned int len, u8 *out)
{
	u32 *seed = crypto_shash_ctx(desc->tfm);

	put_unaligned_le32(~crc_of(*seed, data, len), out);
	return 0;
}

static int crc_cra_init(struct crypto_tfm *tfm)
{
	u32 *seed = crypto_tfm_ctx(tfm);

	*seed = ~0;
	return 0;
}

static struct shash_alg crc_alg = {
	.setkey = crc_setkey,
	.init = crc_init,
	.update = crc_update,
	.final = crc_final,
	.finup = crc_finup,
	.digest = crc_digest,
	.descsize = sizeof(u32),
	.digestsize = sizeof(u32),
	.base = {
		.cra_name = "crc32c",
		.cra_driver_name = "crc32c-instruction",
		/* That of the kernel's own for x86; tables have 100. */
		.cra_priority = 200,
		.cra_flags = CRYPTO_ALG_OPTIONAL_KEY,
		.cra_blocksize = 1,
		.cra_ctxsize = sizeof(u32),
		.cra_module = THIS_MODULE,
		.cra_init = crc_cra_init,
	},
};

/* Each length at each alignment, compared with the kernel's tables. */
static int crc_test(const u8 *data)
{
	unsigned int at, n;

	for (n = 0; n <= CRC_TEST - 8; n++) {
		at = n % 8;
		if (crc_of(n, data + at, n) != __crc32c_le(n, data + at, n)) {
			pr_err("mpa_crc32c: wrong for %u bytes\n", n);
			return -EINVAL;
		}
	}
	return 0;
}

static int __init mpa_crc32c_init(void)
{
	unsigned int i;
	int err;
	u8 *data;

	if (!boot_cpu_has(X86_FEATURE_XMM4_2))
		return -ENODEV;
	data = kzalloc(CRC_TEST, GFP_KERNEL);
	if (!data)
		return -ENOMEM;
	for (i = 0; i < ARRAY_SIZE(crc_skips); i++)
		crc_init_skip(&crc_skips[i], data);
	for (i = 0; i < CRC_TEST; i++)
		data[i] = i * 7 + (i >> 8);
	err = crc_test(data);
	kfree(data);
	return err ?: crypto_register_shash(&crc_alg);
}
module_init(mpa_crc32c_init);

static void __exit mpa_crc32c_exit(void)
{
	crypto_unregister_shash(&crc_alg);
}
module_exit(mpa_crc32c_exit);

MODULE_DESCRIPTION("CRC32c by the processor's instruction");
MODULE_LICENSE("GPL");
