/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The startup exchange of draft-culley-iwarp-mpa-03, section 8.1: each side sends
 * a Start Key.
 *
 * The draft calls the side that sends first Passive and the other one Active; here
 * they are Initiator and Responder, as in RFC 5044. Its section 8.1.2 rule 2 has
 * the names the wrong way round: the side that answers the last message of
 * streaming mode with its key is the Passive one (figure 8).
 */
#ifndef MPA_FRAMING_STARTKEY_H
#define MPA_FRAMING_STARTKEY_H

#include <linux/types.h>

#include "startup.h"

extern const struct mpa_exchange mpa_exchange_start_key;

int mpa_key_parse(const u8 *buf, u32 avail, bool expect_reply,
		  struct mpa_frame *f, const u8 **pd);
bool mpa_is_start_key(const u8 *buf, u32 avail);
bool mpa_is_request(const u8 *buf, u32 avail);

#endif /* MPA_FRAMING_STARTKEY_H */
