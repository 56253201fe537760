/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Nodes: the objects that have settings, which netlink shows in addition to
 * connections: the defaults of a namespace, devices, listeners. Part of the
 * interface of mpa.ko to other modules: included by mpa.h.
 *
 * A node inherits from the next level: listener of a device, device, namespace,
 * built-in values. It is embedded in an object of its owner; between
 * mpa_node_add() and the return of mpa_node_remove() it may be read at any
 * time. No function here sleeps.
 */
#ifndef MPA_ULP_NODE_H
#define MPA_ULP_NODE_H

#include <linux/if.h>
#include <linux/list.h>
#include <linux/types.h>
#include <linux/uidgid.h>
#include <net/net_namespace.h>

#include "config.h"

struct mpa_node;

enum mpa_node_kind {
	MPA_NODE_DEFAULTS,
	MPA_NODE_DEVICE,
	MPA_NODE_LISTENER,
};

enum {
	/* As for names in the RDMA core, with the NUL. */
	MPA_DEV_NAME_MAX	= 64,
	MPA_COUNTER_NAME_MAX	= 24,
	MPA_COUNTERS_MAX	= 48,
};

/**
 * struct mpa_addr - an IP address and port
 * @len: bytes of @bytes: 4, 16, or 0 for none
 * @bytes: the address; IPv4 is never mapped
 * @port: TCP port
 * @scope: interface of a link-local address, else 0
 */
struct mpa_addr {
	u8 len;
	u8 bytes[16];
	__be16 port;
	u32 scope;
};

/**
 * struct mpa_counter_view - a counter
 * @name: name
 * @value: value
 */
struct mpa_counter_view {
	char name[MPA_COUNTER_NAME_MAX];
	u64 value;
};

/**
 * struct mpa_node_view - everything that is shown of a node
 * @kind: kind of node
 * @id: device: index; listener: number in the namespace
 * @config: settings in force
 * @own: those that are set at the node itself, before they are limited
 * @name: device: name
 * @ifindex: device: index of the network device below
 * @ifname: device: name of the network device below
 * @active: device: the port is active
 * @limits: device: limits
 * @conns: device: current number of connections
 * @listeners: device: current number of listeners
 * @owner: listener: enum mpa_owner
 * @dev_index: listener of a device: index of the device
 * @addr: listener: address
 * @backlog: listener: backlog of listen()
 * @half_open: listener of a device: peers that have not sent a Request
 * @uid: listener of an application: user, in the initial user namespace
 * @nr_counters: number of @counters
 * @counters: counters of a device or namespace
 *
 * Too large for a stack.
 */
struct mpa_node_view {
	enum mpa_node_kind kind;
	u32 id;
	struct mpa_config config;
	struct mpa_settings own;
	char name[MPA_DEV_NAME_MAX];
	u32 ifindex;
	char ifname[IFNAMSIZ];
	bool active;
	struct mpa_limits limits;
	u32 conns;
	u32 listeners;
	enum mpa_owner owner;
	u32 dev_index;
	struct mpa_addr addr;
	u32 backlog;
	u32 half_open;
	kuid_t uid;
	unsigned int nr_counters;
	struct mpa_counter_view counters[MPA_COUNTERS_MAX];
};

/**
 * struct mpa_node_ops - callbacks of the owner of a node
 * @view: fill in @v, which is zero except for kind, id and settings. Called
 *	with the registry's lock held and bottom halves disabled.
 * @is_called: device: check whether it has this name. Called in the same
 *	context
 * @configured: device: settings that are in force may have changed, or the node has
 *	been added; may be NULL. Called in the same context; once for all changes
 *	that are made together. Listeners look when they need a setting
 */
struct mpa_node_ops {
	void (*view)(const struct mpa_node *node, struct mpa_node_view *v);
	bool (*is_called)(const struct mpa_node *node, const char *name);
	void (*configured)(struct mpa_node *node, const struct mpa_config *cfg);
};

/**
 * struct mpa_node - a node; zeroed, and filled in up to @ops, by its owner
 * @kind: kind of node; constant
 * @id: device: the RDMA core's index, set by the owner; listener: set by
 *	mpa_node_add(); constant after that
 * @parent: listener of a device: the device; else NULL; constant
 * @limits: device: limits; else NULL; constant
 * @ops: callbacks; constant
 * @net: its namespace, between mpa_node_add() and mpa_node_remove(); else NULL
 * @own: settings set at this node; under the registry's lock. Kept by
 *	mpa_node_remove(), so that a device may move to another namespace
 * @stale: the settings in force have changed since @ops->configured was called;
 *	under the registry's lock, and false when that is released
 */
struct mpa_node {
	enum mpa_node_kind kind;
	u32 id;
	struct mpa_node *parent;
	const struct mpa_limits *limits;
	const struct mpa_node_ops *ops;
	struct net *net;
	struct mpa_settings own;
	bool stale;
};

/* registry.c */
int mpa_node_add(struct mpa_node *node, struct net *net);
void mpa_node_remove(struct mpa_node *node);
void mpa_node_changed(struct mpa_node *node);
void mpa_node_config(const struct mpa_node *node, struct mpa_config *cfg);
void mpa_node_half_open(struct mpa_node *node);

#endif /* MPA_ULP_NODE_H */
