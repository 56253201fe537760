/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What there is in each network namespace, as the files of the ULP see it:
 * settings, devices, listeners, connections, counters.
 *
 * Locks. One spinlock, mpa_registry_lock, for nodes and settings of all
 * namespaces: they are looked at once for a connection, a node may move between
 * namespaces, and events about them come in the order of what they tell. It is
 * taken with bottom halves off, in any context but hard interrupts, inside
 * any socket lock; inside it are only the locks of the xarrays and those of
 * netlink. Nobody sleeps under it.
 *
 * The array of connections is apart: RCU for readers, its own lock, process
 * context, for those who enter and leave (view.c).
 */
#ifndef MPA_ULP_REGISTRY_H
#define MPA_ULP_REGISTRY_H

#include <linux/atomic.h>
#include <linux/lockdep.h>
#include <linux/spinlock.h>
#include <linux/xarray.h>
#include <net/net_namespace.h>

#include "netlink.h"

enum {
	/* Numbers of listeners and connections: 1 and so on, then anew. */
	MPA_ID_MAX		= S32_MAX,
	/* Failures told in a second at the most, in each namespace. */
	MPA_FAILURES_PER_SECOND	= 20,
};

/**
 * enum mpa_counter - what a namespace counts; the first two go down as well
 * @MPA_COUNT_CONNS: connections now
 * @MPA_COUNT_CONNS_UP: of these, in full operation
 * @MPA_COUNT_OPENED: connections that have reached full operation
 * @MPA_COUNT_STARTUP: startup exchanges that have failed
 * @MPA_COUNT_REJECTED: and that the peer, or our consumer, has refused
 * @MPA_COUNT_CRC: streams that have ended with a wrong CRC
 * @MPA_COUNT_MARKER: and with a Marker and ULPDU_Length that disagree
 * @MPA_COUNT_LENGTH: and with a ULPDU_Length that is too much
 * @MPA_COUNT_TCP: and with TCP, out of order
 * @MPA_COUNT_TERM_SENT: Terminates sent
 * @MPA_COUNT_TERM_RECEIVED: Terminates received
 * @MPA_COUNT_HALF_OPEN: peers turned away: too many had not sent a Request
 * @MPA_COUNT_SUPPRESSED: failures that no notification was sent for
 * @MPA_COUNT_TOO_SOON: FPDUs that came before our first was sent
 * @MPA_COUNT_NR: how many there are
 */
enum mpa_counter {
	MPA_COUNT_CONNS,
	MPA_COUNT_CONNS_UP,
	MPA_COUNT_OPENED,
	MPA_COUNT_STARTUP,
	MPA_COUNT_REJECTED,
	MPA_COUNT_CRC,
	MPA_COUNT_MARKER,
	MPA_COUNT_LENGTH,
	MPA_COUNT_TCP,
	MPA_COUNT_TERM_SENT,
	MPA_COUNT_TERM_RECEIVED,
	MPA_COUNT_HALF_OPEN,
	MPA_COUNT_SUPPRESSED,
	MPA_COUNT_TOO_SOON,
	MPA_COUNT_NR,
};

/**
 * struct mpa_net - a network namespace
 * @own: its defaults, as far as they were set
 * @devices: nodes by the RDMA core's index
 * @listeners: nodes by number
 * @next_listener: number to be tried next
 * @generation: by kind of node: changes with what a dump of it would tell
 * @conns: connections by number, struct mpa_conn; a place is kept from the time
 *	one is made, and taken while TCP knows of it
 * @next_conn: number to be tried next
 * @conn_generation: changes when a connection comes or goes
 * @no_waiting_until: jiffies until which no lock of a socket is waited for
 * @counters: by enum mpa_counter
 * @failure_lock: the rest; innermost, bottom halves off
 * @failure_second: when @failures began to be counted, jiffies
 * @failures: told since then
 * @suppressed: not told since the last one that was
 *
 * To @generation under mpa_registry_lock. @next_conn: under the lock of @conns.
 */
struct mpa_net {
	struct mpa_settings own;
	struct xarray devices;
	struct xarray listeners;
	u32 next_listener;
	u32 generation[MPA_NODE_LISTENER + 1];

	struct xarray conns;
	u32 next_conn;
	atomic_t conn_generation;
	unsigned long no_waiting_until;

	atomic64_t counters[MPA_COUNT_NR];

	/* The rest; innermost. */
	spinlock_t failure_lock;
	unsigned long failure_second;
	u32 failures;
	u32 suppressed;
};

/* Nodes and settings of all namespaces; see above. */
extern spinlock_t mpa_registry_lock;

int mpa_registry_init(void);
void mpa_registry_exit(void);
struct mpa_net *mpa_net_of(const struct net *net);
void mpa_count(struct mpa_net *mn, enum mpa_counter what, int by);
void mpa_net_config(struct net *net, struct mpa_config *cfg);
bool mpa_failure_due(struct mpa_net *mn, u32 *suppressed);
bool mpa_node_listed(const struct mpa_node *node);

#endif /* MPA_ULP_REGISTRY_H */
