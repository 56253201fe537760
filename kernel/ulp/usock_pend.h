/* SPDX-License-Identifier: GPL-2.0-only */
/* ULPDUs that an application has sent and that wait to be passed to TCP. */
#ifndef MPA_ULP_USOCK_PEND_H
#define MPA_ULP_USOCK_PEND_H

#include "usock.h"

void mpa_pend_flush(struct mpa_usock *us);
int mpa_pend_flush_all(struct mpa_usock *us);
bool mpa_pend_must_wait(struct mpa_usock *us);
void mpa_pend_writable(struct mpa_usock *us);

#endif /* MPA_ULP_USOCK_PEND_H */
