/* SPDX-License-Identifier: GPL-2.0-only */
/* Endpoints: accepting connections, as Responder. */
#ifndef MPA_RNIC_ACCEPT_H
#define MPA_RNIC_ACCEPT_H

#include <linux/types.h>

struct iw_cm_conn_param;
struct iw_cm_id;
struct mpa_config;
struct rnic_dev;
struct rnic_ep;
struct rnic_listener;
struct sockaddr_storage;
struct socket;

int rnic_ep_take(struct rnic_dev *dev, struct rnic_listener *l,
		 const struct mpa_config *cfg, struct socket *sock,
		 const struct sockaddr_storage *local,
		 const struct sockaddr_storage *remote);
void rnic_ep_orphan_all(struct rnic_dev *dev, const struct rnic_listener *l);
void rnic_ep_accept_failed(struct rnic_ep *ep, int err);
int rnic_iw_accept(struct iw_cm_id *cm_id, struct iw_cm_conn_param *param);
int rnic_iw_reject(struct iw_cm_id *cm_id, const void *pd, u8 pd_len);
void rnic_requests_destroy(void);

#endif /* MPA_RNIC_ACCEPT_H */
