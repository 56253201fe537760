// SPDX-License-Identifier: GPL-2.0-only
/* Memory for what an application has sent and TCP has not taken yet. */
#include <linux/slab.h>
#include <linux/socket.h>
#include <linux/string.h>
#include <linux/uio.h>

#include "nofault.h"
#include "pend.h"

/**
 * mpa_pend_forget - forget everything that waits
 * @pend: the ULPDUs that wait
 */
void mpa_pend_forget(struct mpa_pend *pend)
{
	pend->head = 0;
	pend->tail = 0;
}

/* Makes room for @need bytes at the tail; the caller has checked that there may be more. */
static int pend_grow(struct mpa_pend *pend, u32 need)
{
	u32 used = mpa_pend_bytes(pend);
	u32 size;
	u8 *buf;

	if (WARN_ON_ONCE(need > MPA_PEND_MAX - used))
		return -ENOMEM;
	if (pend->size - pend->tail >= need)
		return 0;
	if (pend->size - used >= need) {
		memmove(pend->buf, pend->buf + pend->head, used);
	} else {
		size = min_t(u32, roundup_pow_of_two(used + need),
			     MPA_PEND_MAX);
		buf = kvmalloc(max_t(u32, size, PAGE_SIZE), GFP_KERNEL_ACCOUNT);
		if (!buf)
			return -ENOMEM;
		if (used)
			memcpy(buf, pend->buf + pend->head, used);
		kvfree(pend->buf);
		pend->buf = buf;
		pend->size = max_t(u32, size, PAGE_SIZE);
	}
	pend->head = 0;
	pend->tail = used;
	return 0;
}

/**
 * mpa_pend_reserve - make room at the end
 * @pend: the ULPDUs that wait
 * @need: bytes
 *
 * The caller writes them and advances &mpa_pend.tail.
 *
 * Return: where to write; NULL: there is no memory.
 */
u8 *mpa_pend_reserve(struct mpa_pend *pend, u32 need)
{
	return pend_grow(pend, need) ? NULL : pend->buf + pend->tail;
}

/**
 * mpa_pend_add - append a ULPDU
 * @pend: the ULPDUs that wait
 * @msg: the application's message; advanced
 * @len: bytes of the ULPDU
 *
 * Return: 0; -ENOMEM; %MPA_FAULT_IN if memory of the application is not present.
 * After an error nothing was added.
 */
int mpa_pend_add(struct mpa_pend *pend, struct msghdr *msg, u32 len)
{
	int ret = pend_grow(pend, sizeof(u16) + len);
	u16 field = len;
	bool all;

	if (ret)
		return ret;
	memcpy(pend->buf + pend->tail, &field, sizeof(field));
	mpa_nofault_begin();
	all = copy_from_iter_full(pend->buf + pend->tail + sizeof(field), len,
				  &msg->msg_iter);
	mpa_nofault_end();
	if (!all)
		return MPA_FAULT_IN;
	pend->tail += sizeof(field) + len;
	return 0;
}
