/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Internal interfaces of the generic netlink family, from the bottom up:
 *
 *	family.c	the family and its multicast group
 *	policy.c	attributes that requests may contain
 *	put.c		views into attributes
 *	event.c		notifications
 *	get.c		replies and dumps
 *	set.c		changes to settings
 *	commands.c	table of commands, registration
 *
 * Commands run in parallel. They share only constants; the registry and the
 * connections have their own locks. A reader that waits for the lock of a
 * socket does not delay any other request.
 */
#ifndef MPA_NETLINK_FAMILY_H
#define MPA_NETLINK_FAMILY_H

#include <linux/mpa_netlink.h>
#include <linux/types.h>
#include <net/genetlink.h>

#include "ulp/netlink.h"

enum {
	/* Most %MPA_A_CHANGE attributes in one %MPA_CMD_SET. */
	MPA_CHANGES_MAX		= 256,
};

/**
 * struct mpa_pick - the object that a request selects
 * @id: index of a device, or number of a listener or connection
 * @name: name of a device instead, within the request; NULL: use @id
 * @attr: the attribute that selects it
 */
struct mpa_pick {
	u32 id;
	const char *name;
	const struct nlattr *attr;
};

extern struct genl_family mpa_family;

/* policy.c */
extern const struct nla_policy mpa_dev_get_policy[MPA_A_DEV + 1];
extern const struct nla_policy mpa_listen_get_policy[MPA_A_LISTEN + 1];
extern const struct nla_policy mpa_conn_get_policy[MPA_A_CONN + 1];
extern const struct nla_policy mpa_set_policy[MPA_A_CHANGE + 1];
int mpa_check_request(const struct nlmsghdr *nlh, u32 allowed,
		      struct netlink_ext_ack *extack);
int mpa_parse_change(struct nlattr *tb[MPA_A_INHERIT + 1],
		     const struct nlattr *nest, struct netlink_ext_ack *extack);
int mpa_parse_config(struct nlattr *tb[MPA_A_CONFIG_MAX + 1],
		     const struct nlattr *nest, struct netlink_ext_ack *extack);
int mpa_pick_dev(const struct nlattr *nest, struct mpa_pick *pick,
		 struct netlink_ext_ack *extack);
int mpa_pick_listen(const struct nlattr *nest, struct mpa_pick *pick,
		    struct netlink_ext_ack *extack);
int mpa_pick_conn(const struct nlattr *nest, struct mpa_pick *pick,
		  struct netlink_ext_ack *extack);

/* get.c, set.c */
int mpa_defaults_get(struct sk_buff *skb, struct genl_info *info);
int mpa_object_get(struct sk_buff *skb, struct genl_info *info);
int mpa_object_start(struct netlink_callback *cb);
int mpa_object_dump(struct sk_buff *skb, struct netlink_callback *cb);
int mpa_object_done(struct netlink_callback *cb);
int mpa_set(struct sk_buff *skb, struct genl_info *info);

/* put.c */
size_t mpa_conn_size(void);
size_t mpa_node_size(const struct mpa_node_view *v);
size_t mpa_failure_size(void);
int mpa_put_conn(struct sk_buff *skb, const struct net *net,
		 const struct mpa_conn_view *v);
int mpa_put_node(struct sk_buff *skb, const struct net *net,
		 const struct mpa_node_view *v, bool counters);
int mpa_put_failure(struct sk_buff *skb, const struct net *net,
		    const struct mpa_failure_view *v);

#endif /* MPA_NETLINK_FAMILY_H */
