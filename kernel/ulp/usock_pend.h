/* SPDX-License-Identifier: GPL-2.0-only */
/* ULPDUs that an application has sent and that wait to be passed to TCP. */
#ifndef MPA_ULP_USOCK_PEND_H
#define MPA_ULP_USOCK_PEND_H

#include "usock.h"

enum {
	/* Bytes that wait: the longest PDU of any framing with its length field */
	MPA_PEND_MAX		= MPA_TUF_PDU_MAX + sizeof(u16),
};

static inline u32 mpa_pend_bytes(const struct mpa_pend *pend)
{
	return pend->tail - pend->head;
}

void mpa_pend_forget(struct mpa_pend *pend);
u8 *mpa_pend_reserve(struct mpa_pend *pend, u32 need);
int mpa_pend_add(struct mpa_pend *pend, struct msghdr *msg, u16 len);
void mpa_pend_flush(struct mpa_usock *us);
void mpa_pend_flush_all(struct mpa_usock *us);
bool mpa_pend_must_wait(struct mpa_usock *us);
void mpa_pend_writable(struct mpa_usock *us);

#endif /* MPA_ULP_USOCK_PEND_H */
