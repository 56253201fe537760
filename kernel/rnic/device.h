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

/* Limits, each of which really works. */
enum {
	RNIC_MAX_QP		= 1 << 16,
	RNIC_MAX_QP_WR		= 1 << 15,
	RNIC_MAX_CQ		= 1 << 16,
	RNIC_MAX_CQE		= 1 << 20,
	RNIC_MAX_MR		= 1 << 20,
	RNIC_MAX_PD		= 1 << 16,
	RNIC_MAX_IRD		= 128,
	RNIC_MAX_ORD		= 128,
	RNIC_MAX_FAST_REG_PAGES	= 512,
	/* log2 of the buckets that find endpoints by the core's identifier. */
	RNIC_EP_ID_BITS		= 8,
};

#define RNIC_MAX_MR_SIZE		BIT_ULL(39)	/* users' regions, bytes */

/**
 * struct rnic_dev - an RNIC
 * @ibdev: what the RDMA core sees
 * @netdev: the Ethernet (or other) device below, with a reference of our own
 *	that lasts until the core lets go of @ibdev; constant
 * @tracker: names that reference
 * @counters: per CPU; read without a lock
 * @local_dma: the region behind the reserved STag 0; constant
 * @mrs: memory regions by STag index (stag >> 8); read under RCU, written
 *	under its own lock
 * @qps: queue pairs by number; likewise
 * @qpn_key: says in which order QP numbers are given; constant
 * @next_qpn: how many have been given, and looked at in vain
 * @nr_qp: queue pairs alive, bounded by %RNIC_MAX_QP
 * @nr_cq: completion queues alive, bounded by %RNIC_MAX_CQ
 * @nr_mr: memory regions alive, bounded by %RNIC_MAX_MR
 * @nr_pd: protection domains alive, bounded by %RNIC_MAX_PD
 * @ep_lock: protects @eps, @lingering, @nr_lingering, @ep_ids, @cm_gone and
 *	@listed
 * @eps: connection endpoints alive (struct rnic_ep.entry)
 * @lingering: those in LINGERING, oldest first (struct rnic_ep.linger_entry)
 * @nr_lingering: how many
 * @ep_ids: those with an identifier of the core's, by its address (struct
 *	rnic_ep.id_entry)
 * @listeners: listeners alive (struct rnic_listener.entry), under the lock of
 *	listen.c
 * @cm_gone: why there are no connections, bits of cm.c; 0 if there may be
 * @node: what netlink shows, and what settings hang on; in the registry if and
 *	only if @cm_gone is 0
 * @listed: it is there
 * @nr_conn: streams attached
 * @nr_listener: listeners that listen
 * @name_lock: protects @name and @ifname; bottom halves off
 * @name: what the core calls the device, for @node
 * @ifname: what @netdev is called, likewise
 * @entry: in the module's list of devices, under its lock
 * @unregister: takes @ibdev from the core, or waits until somebody else has;
 *	holds a reference to ibdev.dev while queued
 * @own_mac: what stands in for the address of a @netdev without one; constant
 * @port_active: what the last port event said; under RTNL
 * @link_mbps: speed of @netdev, or %SPEED_UNKNOWN; written under RTNL, read
 *	without a lock
 */
struct rnic_dev {
	struct ib_device ibdev;
	struct net_device *netdev;
	netdevice_tracker tracker;
	struct rnic_counters __percpu *counters;
	struct rnic_mr *local_dma;
	struct xarray mrs;
	struct xarray qps;
	siphash_key_t qpn_key;
	atomic_t next_qpn;
	atomic_t nr_qp;
	atomic_t nr_cq;
	atomic_t nr_mr;
	atomic_t nr_pd;
	struct mutex ep_lock;		/* see above */
	struct list_head eps;
	struct list_head lingering;
	u32 nr_lingering;
	DECLARE_HASHTABLE(ep_ids, RNIC_EP_ID_BITS);
	struct list_head listeners;
	u8 cm_gone;
	bool listed;
	struct mpa_node node;
	atomic_t nr_conn;
	atomic_t nr_listener;
	spinlock_t name_lock;		/* name, ifname */
	char name[MPA_DEV_NAME_MAX];
	char ifname[IFNAMSIZ];
	struct list_head entry;
	struct work_struct unregister;
	u8 own_mac[ETH_ALEN];
	bool port_active;
	u32 link_mbps;
};

/* Unbound, for work that may sleep; flushed at module exit. */
extern struct workqueue_struct *rnic_wq;

static inline struct rnic_dev *to_rnic_dev(struct ib_device *ibdev)
{
	return container_of(ibdev, struct rnic_dev, ibdev);
}

static inline void rnic_count(struct rnic_dev *dev, enum rnic_counter c)
{
	this_cpu_inc(dev->counters->v[c]);
}

static inline void rnic_count_add(struct rnic_dev *dev, enum rnic_counter c,
				  u64 n)
{
	this_cpu_add(dev->counters->v[c], n);
}

/*
 * Did the user's provider hand over nothing but zeros? Nothing else has a meaning yet.
 * @udata is NULL for kernel consumers.
 */
static inline bool rnic_udata_clear(struct ib_udata *udata)
{
	return !udata || !udata->inlen ||
	       ib_is_udata_cleared(udata, 0, udata->inlen);
}

/**
 * rnic_dev_reserve() - count one more object
 * @nr: how many are alive
 * @max: how many there may be
 *
 * Return: true, and @nr has grown; false: there are @max.
 */
static inline bool rnic_dev_reserve(atomic_t *nr, int max)
{
	return atomic_add_unless(nr, 1, max);
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
