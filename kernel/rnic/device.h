/* SPDX-License-Identifier: GPL-2.0-only */
/* The RNIC: one per network device. */
#ifndef MPA_RNIC_DEVICE_H
#define MPA_RNIC_DEVICE_H

#include <linux/etherdevice.h>
#include <linux/hashtable.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/siphash.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>
#include <rdma/mpa-abi.h>

#include "counters.h"
#include "ulp/mpa.h"

struct rnic_mr;

/* Limits that a device reports and keeps. */
enum {
	RNIC_MAX_QP		= 1 << 16,
	RNIC_MAX_QP_WR		= 1 << 15,
	RNIC_MAX_SRQ		= 1 << 16,
	RNIC_MAX_SRQ_WR		= 1 << 16,
	RNIC_MAX_CQ		= 1 << 16,
	RNIC_MAX_CQE		= 1 << 20,
	RNIC_MAX_MR		= 1 << 20,
	RNIC_MAX_MW		= 1 << 20,
	RNIC_MAX_PD		= 1 << 16,
	RNIC_MAX_IRD		= 128,
	RNIC_MAX_ORD		= 128,
	RNIC_MAX_FAST_REG_PAGES	= 512,
	/* log2 of the hash buckets of rnic_dev.ep_ids. */
	RNIC_EP_ID_BITS		= 8,
};

#define RNIC_MAX_MR_SIZE		BIT_ULL(39)	/* users' regions, bytes */

/**
 * struct rnic_lingering - endpoints that still deliver, for which no one waits
 * @eps: the endpoints, oldest first (struct rnic_ep.linger_entry)
 * @nr: how many
 */
struct rnic_lingering {
	struct list_head eps;
	u32 nr;
};

/**
 * struct rnic_dev - an RNIC
 * @ibdev: the device of the RDMA core
 * @netdev: the network device below, with a reference that is dropped when the
 *	core releases @ibdev; constant
 * @tracker: tracker of that reference
 * @counters: per CPU; read without a lock
 * @bound: the same counters for what queue pairs count while they are bound to
 *	a counter of the core. The device counted the sum of both
 * @counter_sets: struct rnic_counter_set by &rdma_counter.id; written with its lock,
 *	read in RCU sections
 * @counter_next: where the search for a free &rdma_counter.id begins; lock of
 *	@counter_sets
 * @bind_lock: protects &rnic_qp.counters and &ib_qp.counter of its queue pairs;
 *	within &rdma_counter.lock
 * @local_dma: the region behind the reserved STag 0; constant
 * @mrs: memory regions and windows by STag index (stag >> 8); read under RCU, written
 *	under its own lock
 * @qps: queue pairs by index; likewise
 * @qpn_key: secret of the relation of their numbers to their indices; constant
 * @next_qp: indices tried so far, whether assigned or in use
 * @nr_qp: queue pairs alive, bounded by %RNIC_MAX_QP
 * @nr_srq: shared receive queues alive, bounded by %RNIC_MAX_SRQ
 * @nr_cq: completion queues alive, bounded by %RNIC_MAX_CQ
 * @nr_mr: memory regions alive, bounded by %RNIC_MAX_MR
 * @mr_serial: &rnic_mr.serial of the newest region or window
 * @nr_mw: memory windows alive, bounded by %RNIC_MAX_MW
 * @nr_pd: protection domains alive, bounded by %RNIC_MAX_PD
 * @counted: counters of queue pairs were released; set by the core's calls, read when
 *	there are no more
 * @cqs_failed: work that ends the queue pairs of completion queues that have
 *	overflown; completion queues queue it
 * @windows_lock: protects &rnic_qp.windows of all queue pairs; bottom halves
 *	off
 * @ep_lock: protects @eps, @lingering, @ep_ids, @cm_gone and @listed
 * @eps: connection endpoints alive (struct rnic_ep.entry)
 * @lingering: those in LINGERING: [0] that never were operational, [1] others
 * @ep_ids: endpoints with an identifier of the core, by its address (struct
 *	rnic_ep.id_entry)
 * @listeners: listeners alive (struct rnic_listener.entry), under
 *	rnic_ports_lock
 * @adding: the core does not know all of its clients yet, under rnic_ports_lock: see
 *	rnic_listeners_adding()
 * @cm_gone: why no connections are possible, bits of cm.c; 0 if they are
 * @node: node in the registry of mpa.ko, for netlink and settings; it is there
 *	while @cm_gone is 0, and until the last connections have ended
 * @listed: @node is in the registry
 * @nr_conn: streams attached
 * @nr_listener: listeners that listen
 * @name: name of @ibdev, for @node; under @name_lock
 * @ifname: name of @netdev, likewise
 * @name_lock: protects @name and @ifname; bottom halves off
 * @entry: in rnic_devs, under rnic_devs_lock
 * @unregister: unregisters @ibdev, or waits until it is unregistered; holds a
 *	reference to ibdev.dev while queued
 * @own_mac: address used in place of that of a @netdev without one; constant
 * @port_active: state reported by the last port event; under RTNL
 * @link_mbps: speed of @netdev, or %SPEED_UNKNOWN; written under RTNL, read
 *	without a lock
 */
struct rnic_dev {
	struct ib_device ibdev;
	struct net_device *netdev;
	netdevice_tracker tracker;
	struct rnic_counters __percpu *counters;
	struct rnic_counters __percpu *bound;
	struct xarray counter_sets;
	u32 counter_next;
	struct mutex bind_lock;		/* see above */
	struct rnic_mr *local_dma;
	struct xarray mrs;
	struct xarray qps;
	siphash_key_t qpn_key;
	atomic_t next_qp;
	atomic_t nr_qp;
	atomic_t nr_srq;
	atomic_t nr_cq;
	atomic_t nr_mr;
	atomic64_t mr_serial;
	atomic_t nr_mw;
	atomic_t nr_pd;
	bool counted;
	struct work_struct cqs_failed;
	spinlock_t windows_lock;	/* rnic_qp.windows */
	struct mutex ep_lock;		/* see above */
	struct list_head eps;
	struct rnic_lingering lingering[2];
	DECLARE_HASHTABLE(ep_ids, RNIC_EP_ID_BITS);
	struct list_head listeners;
	bool adding;
	u8 cm_gone;
	bool listed;
	struct mpa_node node;
	atomic_t nr_conn;
	atomic_t nr_listener;
	char name[MPA_DEV_NAME_MAX];
	char ifname[IFNAMSIZ];
	spinlock_t name_lock;		/* name, ifname */
	struct list_head entry;
	struct work_struct unregister;
	u8 own_mac[ETH_ALEN];
	bool port_active;
	u32 link_mbps;
};

/* Unbound, for work that may sleep; flushed at module exit. */
extern struct workqueue_struct *rnic_wq;

/*
 * For sending, on the processor that queues it: where requests are posted, or the
 * stream's packets arrive. Flushed at module exit, before rnic_wq.
 */
extern struct workqueue_struct *rnic_tx_wq;

static inline struct rnic_dev *to_rnic_dev(struct ib_device *ibdev)
{
	return container_of(ibdev, struct rnic_dev, ibdev);
}

/**
 * rnic_count_add() - add to a counter of a device
 * @dev: the device
 * @c: the counter
 * @n: how much
 *
 * Any context.
 */
static inline void rnic_count_add(struct rnic_dev *dev, enum rnic_counter c,
				  u64 n)
{
	rnic_counters_add(dev->counters, c, n);
}

static inline void rnic_count(struct rnic_dev *dev, enum rnic_counter c)
{
	rnic_count_add(dev, c, 1);
}

/*
 * Is the input of the user's provider empty or all zero? Other input is
 * reserved. @udata is NULL for kernel consumers.
 */
static inline bool rnic_udata_clear(struct ib_udata *udata)
{
	return !udata || !udata->inlen ||
	       ib_is_udata_cleared(udata, 0, udata->inlen);
}

/**
 * rnic_dev_reserve() - count one more object
 * @nr: how many are alive
 * @max: how many there may be; a limit that was lowered may be exceeded already
 *
 * Return: true if @nr was incremented; false if it is @max or more.
 */
static inline bool rnic_dev_reserve(atomic_t *nr, int max)
{
	int now = atomic_read(nr);

	do {
		if (now >= max)
			return false;
	} while (!atomic_try_cmpxchg(nr, &now, now + 1));
	return true;
}

/**
 * rnic_dev_port_active() - can the network device carry traffic?
 * @dev: the device
 *
 * Any context.
 *
 * Return: true if it is up and has carrier.
 */
static inline bool rnic_dev_port_active(const struct rnic_dev *dev)
{
	return netif_running(dev->netdev) && netif_carrier_ok(dev->netdev);
}

void rnic_dev_update_name(struct rnic_dev *dev);
void rnic_dev_update_ifname(struct rnic_dev *dev);

#endif /* MPA_RNIC_DEVICE_H */
