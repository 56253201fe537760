/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory for what an application has sent and TCP has not taken yet. */
#ifndef MPA_ULP_PEND_H
#define MPA_ULP_PEND_H

#include <linux/types.h>

#include "framing/tuf.h"

struct msghdr;

enum {
	/* Bytes that wait: the longest PDU of any framing with its length field */
	MPA_PEND_MAX		= MPA_TUF_PDU_MAX + sizeof(u16),
};

/* Memory of the caller must be brought in first, without the lock. */
#define MPA_FAULT_IN		(-ENOPARAM)

/**
 * struct mpa_pend - ULPDUs that the application has sent and that wait
 * @buf: each as its length, a u16, and its bytes; with TCP_FRAMING_SEND_MARKERS
 *	the bytes of the stream with its markers; NULL at first
 * @size: bytes allocated
 * @head: offset of the first ULPDU in @buf
 * @tail: offset behind the last one
 */
struct mpa_pend {
	u8 *buf;
	u32 size;
	u32 head;
	u32 tail;
};

static inline u32 mpa_pend_bytes(const struct mpa_pend *pend)
{
	return pend->tail - pend->head;
}

void mpa_pend_forget(struct mpa_pend *pend);
u8 *mpa_pend_reserve(struct mpa_pend *pend, u32 need);
int mpa_pend_add(struct mpa_pend *pend, struct msghdr *msg, u32 len);

#endif /* MPA_ULP_PEND_H */
