/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The startup exchange on the socket of an application.
 */
#ifndef MPA_ULP_USOCK_START_H
#define MPA_ULP_USOCK_START_H

#include "usock.h"

int mpa_usock_start(struct mpa_usock *us, int role, bool block);
int mpa_usock_answer(struct mpa_usock *us, bool accept, const u8 *pd, u32 len);
void mpa_usock_accept_request(struct mpa_usock *us);

#endif /* MPA_ULP_USOCK_START_H */
