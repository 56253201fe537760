/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Interface of the ULP for the netlink family: copies of values from the
 * registry and from connections, and a function that changes settings.
 * registry.c, view.c.
 */
#ifndef MPA_ULP_NETLINK_H
#define MPA_ULP_NETLINK_H

#include <linux/mpa_netlink.h>
#include <linux/tcp_framing.h>
#include <linux/types.h>
#include <net/net_namespace.h>

#include "mpa.h"

/**
 * struct mpa_conn_view - everything that is shown of a connection
 * @id: number in the namespace
 * @owner: kind of owner
 * @label: set by the owner if @owner is a device
 * @listen_id: listener it came from; 0: none
 * @uid: user of an application's socket; in the initial user namespace
 * @inode: inode of an application's socket; 0: none yet
 * @local: local address
 * @remote: address of the peer
 * @phase: enum mpa_conn_phase
 * @started: startup was begun; @initiator is valid
 * @initiator: this side is the Initiator
 * @age_ms: since it was attached, ms
 * @known: full operation was reached; @res is valid
 * @res: result of the startup exchange
 * @mulpdu: current MULPDU, bytes; 0: no ULPDU can be sent
 * @emss: current EMSS, bytes
 * @code: enum mpa_error: the first reason for which receiving ended
 * @err: error number for it, positive
 * @term_sent: layer << 12 | type << 8 | code, and %MPA_TERM_VALID; 0: none
 * @term_received: likewise
 * @stats: counters
 * @framed: another framing than that of MPA is set; @framing is valid
 * @framing: that
 * @busy: read without the lock: numbers may be inconsistent
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
	bool framed;
	struct tcp_framing_info framing;
	bool busy;
};

/**
 * struct mpa_failure_view - a failure or refusal that is notified
 * @kind: kind of failure
 * @err: error number, positive; 0: none
 * @term: as in &struct mpa_conn_view
 * @suppressed: failures not notified since the last notification
 * @conn: connection, or NULL
 * @listener: listener, or NULL
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
 * struct mpa_change - a change of the settings of one node
 * @kind: kind of the node
 * @id: number of the node; 0 for the defaults of the namespace
 * @name: name of a device, instead of @id, or empty
 * @to: settings to set
 * @inherit: MPA_A_CONFIG_* bits of settings to inherit again; none of those in
 *	@to
 * @node: used by the registry
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
 * struct mpa_refusal - why changes were refused
 * @which: index of the change
 * @attr: MPA_A_CONFIG_* of the setting; 0: the node was not found
 * @why: message for the user
 */
struct mpa_refusal {
	unsigned int which;
	unsigned int attr;
	const char *why;
};

/* registry.c: nodes and settings; any context */
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
