/* SPDX-License-Identifier: GPL-2.0-only */
/* Connections of a listener whose peers do not use MPA, for its user. */
#ifndef MPA_RNIC_PLAIN_H
#define MPA_RNIC_PLAIN_H

#include <linux/fs.h>
#include <linux/types.h>

struct mpa_plain_create;
struct rnic_ep;
struct rnic_listener;
struct rnic_plain;

extern const struct file_operations rnic_plain_fops;

int rnic_plain_open(struct rnic_plain *p, struct rnic_listener *l,
		    const struct mpa_plain_create *params);
int rnic_plain_accept(struct rnic_plain *p, u32 flags, struct file **file);
void rnic_plain_close(struct rnic_plain *p);
bool rnic_plain_wanted(const struct rnic_listener *l);
void rnic_ep_leave_plain(struct rnic_ep *ep);

#endif /* MPA_RNIC_PLAIN_H */
