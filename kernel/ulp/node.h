/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Nodes: what settings hang on and what netlink shows beside connections:
 * a namespace's defaults, devices, listeners. Part of the interface of mpa.ko to
 * other modules: included by mpa.h.
 *
 * A node inherits from the next above: listener of a device, device, namespace,
 * what is built in. It is embedded in its owner's object; between
 * mpa_node_add() and the return of mpa_node_remove() it may be looked at any
 * time. Nothing here sleeps unless it says so.
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
	/* As the RDMA core's names, with the NUL. */
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
 * @name: what it is called
 * @value: what it has counted
 */
struct mpa_counter_view {
	char name[MPA_COUNTER_NAME_MAX];
	u64 value;
};

/**
 * struct mpa_node_view - all there is to tell of a node
 * @kind: what it is
 * @id: device: index; listener: number in the namespace
 * @config: settings in force
 * @own: MPA_A_CONFIG_* bits set at the node itself
 * @name: device: its name
 * @ifindex: device: of the network device below
 * @ifname: device: likewise
 * @active: device: its port is
 * @limits: device: what it can
 * @conns: device: connections now
 * @listeners: device: listeners now
 * @owner: listener: enum mpa_owner
 * @dev_index: listener of a device: which
 * @addr: listener: where
 * @backlog: listener: as given to listen()
 * @half_open: listener of a device: peers without a Request
 * @uid: listener, an application's socket: user, in the initial user namespace
 * @nr_counters: of @counters
 * @counters: device and namespace
 *
 * Too large for a stack.
 */
struct mpa_node_view {
	enum mpa_node_kind kind;
	u32 id;
	struct mpa_config config;
	u32 own;
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
 * struct mpa_node_ops - what a node's owner tells of it
 * @view: fill in what is the owner's in @v: all zero but what the registry knows
 *	(kind, id, settings). Called with the registry's lock held and bottom
 *	halves off.
 * @is_called: device: is that its name? Called likewise
 */
struct mpa_node_ops {
	void (*view)(const struct mpa_node *node, struct mpa_node_view *v);
	bool (*is_called)(const struct mpa_node *node, const char *name);
};

/**
 * struct mpa_node - a node; zeroed and, up to @limits, filled in by its owner
 * @kind: what it is; constant
 * @id: devices: the RDMA core's index, set by the owner; listeners: given by
 *	mpa_node_add(); constant after that
 * @parent: a device's listener: the device; else NULL; constant
 * @limits: device: what it can; else NULL; constant
 * @ops: constant
 * @net: where it is; between mpa_node_add() and mpa_node_remove()
 * @own: what was set here; under the registry's lock; survives
 *	mpa_node_remove(), so that a device may move to another namespace
 */
struct mpa_node {
	enum mpa_node_kind kind;
	u32 id;
	struct mpa_node *parent;
	const struct mpa_limits *limits;
	const struct mpa_node_ops *ops;
	struct net *net;
	struct mpa_settings own;
};

/* registry.c */
int mpa_node_add(struct mpa_node *node, struct net *net);
void mpa_node_remove(struct mpa_node *node);
void mpa_node_changed(struct mpa_node *node);
void mpa_node_config(const struct mpa_node *node, struct mpa_config *cfg);
void mpa_node_half_open(struct mpa_node *node);

#endif /* MPA_ULP_NODE_H */
