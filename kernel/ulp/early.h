/* SPDX-License-Identifier: GPL-2.0-only */
/* FPDUs that arrive before the bytes ahead of them. */
#ifndef MPA_ULP_EARLY_H
#define MPA_ULP_EARLY_H

struct mpa_conn;

void mpa_early_begin(struct mpa_conn *conn);
void mpa_early_end(struct mpa_conn *conn);
void mpa_early_look(struct mpa_conn *conn);

#endif /* MPA_ULP_EARLY_H */
