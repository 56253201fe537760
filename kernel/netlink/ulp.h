/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Interface of the netlink family for the ULP.
 *
 * Notifications are sent to the multicast group of one namespace, from any
 * context. Without listeners a notification costs one check.
 */
#ifndef MPA_NETLINK_ULP_H
#define MPA_NETLINK_ULP_H

#include <linux/mpa_netlink.h>
#include <linux/types.h>
#include <net/net_namespace.h>

struct mpa_conn_view;
struct mpa_node_view;
struct mpa_failure_view;

int mpa_netlink_init(void);
void mpa_netlink_exit(void);
bool mpa_netlink_has_listeners(struct net *net);
void mpa_notify_conn(struct net *net, enum mpa_cmd cmd,
		     const struct mpa_conn_view *v);
void mpa_notify_node(struct net *net, enum mpa_cmd cmd,
		     const struct mpa_node_view *v);
void mpa_notify_failure(struct net *net, const struct mpa_failure_view *v);

#endif /* MPA_NETLINK_ULP_H */
