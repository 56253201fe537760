/* SPDX-License-Identifier: GPL-2.0-only */
/* Endpoints: creation, and the work that may sleep. */
#ifndef MPA_RNIC_EP_WORK_H
#define MPA_RNIC_EP_WORK_H

struct rnic_dev;
struct rnic_ep;
struct rnic_ep_role;
struct socket;

int rnic_ep_init(void);
void rnic_ep_exit(void);
struct rnic_ep *rnic_ep_create(struct rnic_dev *dev, struct socket *sock,
			       const struct rnic_ep_role *role);

#endif /* MPA_RNIC_EP_WORK_H */
