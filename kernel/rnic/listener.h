/* SPDX-License-Identifier: GPL-2.0-only */
/* Listeners of the core. */
#ifndef MPA_RNIC_LISTENER_H
#define MPA_RNIC_LISTENER_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>
#include <linux/wait.h>
#include <rdma/ib_verbs.h>
#include <rdma/iw_cm.h>

#include "ulp/mpa.h"

struct mem_cgroup;
struct rnic_dev;
struct rnic_listener;
struct rnic_port;

/* The addresses that a listener may have. */
enum rnic_listen_at {
	RNIC_LISTEN_OWN,	/* the one that its consumer asked for */
	RNIC_LISTEN_MAPPED,	/* the one of the port mapper, if there is one */
	RNIC_LISTEN_COUNT
};

/**
 * struct rnic_listener_port - a listening socket of a listener
 * @l: the listener; constant
 * @port: the socket, or NULL; under rnic_ports_lock
 * @entry: in rnic_port.listeners, under rnic_port.lock
 */
struct rnic_listener_port {
	struct rnic_listener *l;
	struct rnic_port *port;
	struct list_head entry;
};

/**
 * struct rnic_plain - a queue of plain TCP connections, with a descriptor
 * @uobj: object of the core, which frees it
 * @l: the listener, with a reference until rnic_plain_close(); constant
 * @sockets: struct rnic_plain_socket, oldest first; under rnic_listener.lock
 * @count: number of these; likewise, but read without the lock, too
 * @max: limit of @count; constant
 * @over: no more will come: listener or device are gone; set under
 *	rnic_listener.lock, read without it
 * @wait: waiters for a connection or for @over
 */
struct rnic_plain {
	struct ib_uobject uobj;
	struct rnic_listener *l;
	struct list_head sockets;
	u32 count;
	u32 max;
	bool over;
	wait_queue_head_t wait;
};

/**
 * struct rnic_listener - a listener of the core on a device
 * @ref: one of the core until it destroys the listener, one of each endpoint of
 *	it, short ones while accepting
 * @dev: the device; constant; valid while the core or an endpoint has a
 *	reference
 * @node: node in the registry of mpa.ko, for netlink and settings; there while
 *	it listens
 * @addr: address it listens on, its own if it has that, for @node; constant while
 *	@node is in the registry
 * @backlog: backlog of the consumer; constant
 * @memcg: memory cgroup of the consumer, with a reference, charged for its
 *	connections; NULL without memory cgroups; constant
 * @owner: user that listens: root for a listener of the kernel, and for one of all
 *	devices on a device that was added later; constant
 * @lock: protects @cm_id, @plain and that queue; bottom halves off
 * @cm_id: the core's identifier, with a reference, or NULL once destroyed
 * @plain: queue for connections without MPA, or NULL; read without @lock, too
 * @half_open: peers that have not sent their Request yet
 * @listens: it has a listening socket; under rnic_ports_lock
 * @ports: its listening sockets, indexed by &enum rnic_listen_at
 * @entry: in rnic_dev.listeners, under rnic_ports_lock
 */
struct rnic_listener {
	struct kref ref;
	struct rnic_dev *dev;
	struct mpa_node node;
	struct mpa_addr addr;
	int backlog;
	struct mem_cgroup *memcg;
	kuid_t owner;
	spinlock_t lock;		/* see above */
	struct iw_cm_id *cm_id;
	struct rnic_plain *plain;
	atomic_t half_open;
	bool listens;
	struct rnic_listener_port ports[RNIC_LISTEN_COUNT];
	struct list_head entry;
};

void rnic_listener_view(const struct mpa_node *node, struct mpa_node_view *v);
struct rnic_listener *rnic_listener_create(struct iw_cm_id *cm_id, int backlog);
void rnic_listener_get(struct rnic_listener *l);
void rnic_listener_put(struct rnic_listener *l);
void rnic_listener_remove(struct rnic_listener *l);
void rnic_listener_end_plain(struct rnic_listener *l);
bool rnic_listener_alive(struct rnic_listener *l);
int rnic_listener_event(struct rnic_listener *l, struct iw_cm_event *event);
u32 rnic_listener_id(const struct rnic_listener *l);
bool rnic_listener_enter(struct rnic_listener *l, u32 max);
void rnic_listener_leave(struct rnic_listener *l);

#endif /* MPA_RNIC_LISTENER_H */
