/* SPDX-License-Identifier: GPL-2.0-only */
/* Listening, as requested by the core. */
#ifndef MPA_RNIC_LISTEN_H
#define MPA_RNIC_LISTEN_H

#include <linux/types.h>

struct iw_cm_id;
struct mpa_plain_create;
struct mpa_node_view;
struct rnic_dev;
struct rnic_plain;

int rnic_iw_create_listen(struct iw_cm_id *cm_id, int backlog);
int rnic_iw_destroy_listen(struct iw_cm_id *cm_id);
bool rnic_listener_of_id(struct rnic_dev *dev, const struct iw_cm_id *cm_id,
			 struct mpa_node_view *v);
int rnic_listener_open_plain(struct rnic_dev *dev, struct rnic_plain *p,
			     const struct mpa_plain_create *params);
void rnic_listeners_adding(struct rnic_dev *dev, bool adding);
void rnic_listeners_stop(struct rnic_dev *dev);
void rnic_listeners_restart(struct rnic_dev *dev);

#endif /* MPA_RNIC_LISTEN_H */
