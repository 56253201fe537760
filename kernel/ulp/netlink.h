/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the netlink family sees of the ULP: values, copied out of the registry
 * and of connections, and one way to change settings. registry.c, view.c.
 */
#ifndef MPA_ULP_NETLINK_H
#define MPA_ULP_NETLINK_H

#include <linux/mpa_netlink.h>
#include <linux/types.h>
#include <net/net_namespace.h>

#include "mpa.h"

/**
 * struct mpa_conn_view - all there is to tell of a connection
 * @id: number in the namespace
 * @owner: whose it is
 * @label: @owner is a device: what it said with mpa_set_label()
 * @listen_id: listener it came from; 0: none
 * @uid: of an application's socket; in the initial user namespace
 * @inode: of an application's socket; 0: none yet
 * @local: our address
 * @remote: the peer's
 * @phase: enum mpa_conn_phase
 * @started: @initiator is known
 * @initiator: our role
 * @age_ms: since it was attached, ms
 * @known: @res is: full operation was reached
 * @res: what the startup exchange has come to
 * @mulpdu: longest ULPDU now, bytes; 0: none can be sent
 * @emss: bytes of stream in a segment now
 * @code: enum mpa_error: the first thing that ended receiving
 * @err: the error that went with it, positive
 * @term_sent: layer << 12 | type << 8 | code, and %MPA_TERM_VALID; 0: none
 * @term_received: likewise
 * @stats: counters
 * @busy: looked at without the lock: numbers may not fit together
 */
struct mpa_conn_view {
	u32 id;
	enum mpa_owner owner;
	struct mpa_label label;
	u32 listen_id;
	kuid_t uid;
	u64 inode;
	struct mpa_addr local;
	struct mpa_addr remote;
	enum mpa_conn_phase phase;
	bool started;
	bool initiator;
	u64 age_ms;
	bool known;
	struct mpa_result res;
	u32 mulpdu;
	u32 emss;
	u8 code;
	int err;
	u32 term_sent;
	u32 term_received;
	struct mpa_conn_stats stats;
	bool busy;
};

/**
 * struct mpa_failure_view - something was refused or has failed
 * @kind: what
 * @err: error number, positive; 0: none
 * @term: as in &struct mpa_conn_view
 * @suppressed: failures not told of since the last one that was
 * @conn: whose, or NULL
 * @listener: whose, or NULL
 */
struct mpa_failure_view {
	enum mpa_failure_kind kind;
	int err;
	u32 term;
	u32 suppressed;
	const struct mpa_conn_view *conn;
	const struct mpa_node_view *listener;
};

/**
 * struct mpa_change - a change to settings of one node
 * @kind: of the node
 * @id: of the node; 0 with the namespace's defaults
 * @name: device by name instead, or empty
 * @to: what to set
 * @inherit: MPA_A_CONFIG_* bits to be inherited again; none of @to's
 * @node: the registry's own
 */
struct mpa_change {
	enum mpa_node_kind kind;
	u32 id;
	char name[MPA_DEV_NAME_MAX];
	struct mpa_settings to;
	u32 inherit;
	struct mpa_node *node;
};

/**
 * struct mpa_refusal - why changes were not made
 * @which: index of the change
 * @attr: MPA_A_CONFIG_* it is about, or 0: the node was not found
 * @why: message for the user
 */
struct mpa_refusal {
	unsigned int which;
	unsigned int attr;
	const char *why;
};

/* registry.c: nodes and settings; any context unless it says so */
void mpa_view_defaults(struct net *net, struct mpa_node_view *v);
int mpa_view_device(struct net *net, u32 index, const char *name,
		    struct mpa_node_view *v);
int mpa_view_next(struct net *net, enum mpa_node_kind kind, u32 from,
		  struct mpa_node_view *v);
int mpa_change_settings(struct net *net, struct mpa_change *changes,
			unsigned int nr, bool check, struct mpa_refusal *no);
u32 mpa_generation(struct net *net, enum mpa_node_kind kind);

/* view.c: connections; process context, takes socket locks */
int mpa_view_next_conn(struct net *net, u32 from, struct mpa_conn_view *v);
u32 mpa_conn_generation(struct net *net);

#endif /* MPA_ULP_NETLINK_H */
