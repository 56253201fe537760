/* SPDX-License-Identifier: GPL-2.0-only */
/* TUF on the socket of an application: its modes, and when they begin. */
#ifndef MPA_ULP_TUF_H
#define MPA_ULP_TUF_H

#include "usock.h"

void mpa_tuf_init(struct mpa_tuf *tuf);
int mpa_tuf_inherit(struct mpa_tuf *tuf, const struct mpa_tuf *from,
		    const struct mpa_config *cfg);
void mpa_tuf_make_key(struct mpa_tuf *tuf);
void mpa_tuf_free(struct mpa_tuf *tuf);
int mpa_tuf_set_mode(struct mpa_usock *us, u32 mode);
void mpa_tuf_apply(struct mpa_usock *us);
void mpa_tuf_set_recv_interval(struct mpa_usock *us, u32 interval);
void mpa_tuf_ended(struct mpa_usock *us, u8 code, int err);
void mpa_tuf_fill_info(const struct mpa_usock *us,
		       struct tcp_framing_info *info);
bool mpa_tuf_tracks_nodelay(const struct mpa_usock *us);

#endif /* MPA_ULP_TUF_H */
