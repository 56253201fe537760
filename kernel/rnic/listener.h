/* SPDX-License-Identifier: GPL-2.0-only */
/* Listeners of the core, as endpoints and listening sockets see them. */
#ifndef MPA_RNIC_LISTENER_H
#define MPA_RNIC_LISTENER_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <rdma/iw_cm.h>

#include "ulp/mpa.h"

struct mem_cgroup;
struct rnic_dev;
struct rnic_port;

/**
 * struct rnic_listener - a listener of the core's on a device
 * @ref: one of the core's until it destroys the listener, one of each endpoint
 *	that came from it, short ones of those who accept
 * @dev: the device; constant; not to be used once the core's reference is gone
 *	and no endpoint is left
 * @node: what netlink shows, and what settings hang on; in the registry while
 *	there is @port
 * @addr: where it listens, for @node; constant while that is in the registry
 * @backlog: the consumer's; constant
 * @memcg: memory cgroup of who listens, with a reference: charged for connections that
 *	come; NULL: there are none; constant
 * @lock: protects @cm_id; bottom halves off
 * @cm_id: the core's identifier, with a reference, or NULL once destroyed
 * @half_open: peers that have not sent their Request yet
 * @port: where it listens, or NULL; under rnic_ports_lock
 * @port_entry: in rnic_port.listeners, under rnic_port.lock
 * @entry: in rnic_dev.listeners, under rnic_ports_lock
 */
struct rnic_listener {
	struct kref ref;
	struct rnic_dev *dev;
	struct mpa_node node;
	struct mpa_addr addr;
	int backlog;
	struct mem_cgroup *memcg;
	spinlock_t lock;		/* see above */
	struct iw_cm_id *cm_id;
	atomic_t half_open;
	struct rnic_port *port;
	struct list_head port_entry;
	struct list_head entry;
};

void rnic_listener_view(const struct mpa_node *node, struct mpa_node_view *v);
struct rnic_listener *rnic_listener_create(struct iw_cm_id *cm_id, int backlog);
void rnic_listener_get(struct rnic_listener *l);
void rnic_listener_put(struct rnic_listener *l);
void rnic_listener_remove(struct rnic_listener *l);
bool rnic_listener_alive(struct rnic_listener *l);
int rnic_listener_event(struct rnic_listener *l, struct iw_cm_event *event);
u32 rnic_listener_id(const struct rnic_listener *l);
bool rnic_listener_enter(struct rnic_listener *l, u32 max);
void rnic_listener_leave(struct rnic_listener *l);

#endif /* MPA_RNIC_LISTENER_H */
