/* SPDX-License-Identifier: GPL-2.0-only */
/* Calls that TCP handles, and the step to a connected socket. */
#ifndef MPA_ULP_USOCK_PLAIN_H
#define MPA_ULP_USOCK_PLAIN_H

#include "usock.h"

void mpa_usock_catch_up(struct mpa_usock *us);
void mpa_usock_look(struct mpa_usock *us);
void mpa_usock_try_look(struct mpa_usock *us);
bool mpa_usock_enter_plain(struct mpa_usock *us, enum mpa_usock_dir dir);
void mpa_usock_leave_plain(struct mpa_usock *us, enum mpa_usock_dir dir);

#endif /* MPA_ULP_USOCK_PLAIN_H */
