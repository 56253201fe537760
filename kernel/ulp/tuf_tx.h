/* SPDX-License-Identifier: GPL-2.0-only */
/* Sending with TUF. */
#ifndef MPA_ULP_TUF_TX_H
#define MPA_ULP_TUF_TX_H

#include "usock.h"

int mpa_tuf_send(struct mpa_usock *us, struct msghdr *msg, size_t len);
void mpa_tuf_settle(struct mpa_usock *us, bool more);
void mpa_tuf_flush(struct mpa_usock *us);
void mpa_tuf_writable(struct mpa_usock *us);
void mpa_tuf_look_at_emss(struct mpa_usock *us);
int mpa_tuf_send_emss(struct mpa_usock *us);

#endif /* MPA_ULP_TUF_TX_H */
