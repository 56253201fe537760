/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The objects of each network namespace: settings, devices, listeners,
 * connections, counters.
 *
 * Locking. One spinlock, mpa_registry_lock, protects nodes and settings of all
 * namespaces: they are read once for a connection, a node may move between
 * namespaces, and events are sent in the order of the changes. It is taken with
 * bottom halves disabled, in any context except hard interrupts, inside any
 * socket lock. Only the locks of the xarrays, mpa_net.failure_lock, those that
 * owners of nodes take to fill in a view, and those of netlink are taken inside it.
 * No one sleeps under it.
 *
 * The array of connections is separate: readers use RCU; adding and removing
 * take its own lock, in process context (view.c).
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
	/* Largest number of a listener or connection; then 1 follows. */
	MPA_ID_MAX		= S32_MAX,
	/* Maximum number of failures notified per second and namespace. */
	MPA_FAILURES_PER_SECOND	= 20,
};

/**
 * enum mpa_counter - counters of a namespace; the first two also decrease
 * @MPA_COUNT_CONNS: connections now
 * @MPA_COUNT_CONNS_UP: of these, in full operation
 * @MPA_COUNT_OPENED: connections that reached full operation
 * @MPA_COUNT_STARTUP: startup exchanges that failed
 * @MPA_COUNT_REJECTED: startup exchanges that either side rejected
 * @MPA_COUNT_CRC: streams that ended because of a wrong CRC
 * @MPA_COUNT_MARKER: streams that ended because a Marker and ULPDU_Length did
 *	not match
 * @MPA_COUNT_LENGTH: streams that ended because ULPDU_Length was too large
 * @MPA_COUNT_TCP: streams that ended with an error of TCP, or with a FIN within an
 *	FPDU or a startup frame
 * @MPA_COUNT_TERM_SENT: Terminates sent
 * @MPA_COUNT_TERM_RECEIVED: Terminates received
 * @MPA_COUNT_HALF_OPEN: peers refused because too many had not sent a Request
 * @MPA_COUNT_SUPPRESSED: failures for which no notification was sent
 * @MPA_COUNT_TOO_SOON: FPDUs received by an Initiator before it sent its first
 * @MPA_COUNT_TUF_PIECES: framing PDUs of TUF sent in pieces
 * @MPA_COUNT_TUF_EMSS: changes of the EMSS of sockets that send with TUF
 * @MPA_COUNT_TUF_PARTED: framing PDUs of TUF of which a part was received before the
 *	rest
 * @MPA_COUNT_NR: number of counters
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
	MPA_COUNT_TUF_PIECES,
	MPA_COUNT_TUF_EMSS,
	MPA_COUNT_TUF_PARTED,
	MPA_COUNT_NR,
};

/**
 * struct mpa_net - objects of a network namespace
 * @own: settings that were set as defaults of the namespace
 * @devices: nodes by the RDMA core's index
 * @listeners: nodes by number
 * @next_listener: number to try next
 * @generation: by kind of node: changes when the result of a dump changes
 * @conns: connections by number, struct mpa_conn; an entry is reserved when a
 *	connection is created, and set while it is hooked
 * @next_conn: number to try next
 * @conn_generation: changes when a connection is added or removed
 * @no_waiting_until: until then no lock of a socket is waited for, jiffies
 * @counters: by enum mpa_counter
 * @failure_lock: protects the members below; innermost, bottom halves disabled
 * @failure_second: start of the interval of @failures, jiffies
 * @failures: failures notified in this interval
 * @suppressed: failures not notified since the last notification
 *
 * Up to @generation under mpa_registry_lock. @next_conn is under the lock of
 * @conns.
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

	/* Protects the rest; innermost. */
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
