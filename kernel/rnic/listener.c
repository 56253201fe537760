// SPDX-License-Identifier: GPL-2.0-only
/*
 * Listeners of the core: references, events, and the count of half-open peers,
 * which have not sent their Request yet.
 */
#include <linux/cred.h>
#include <linux/poll.h>
#include <linux/slab.h>

#include "compat/memcg.h"
#include "device.h"
#include "listener.h"

/**
 * rnic_listener_view() - describe a listener for netlink
 * @node: its node
 * @v: filled in, except for the fields of the registry
 */
void rnic_listener_view(const struct mpa_node *node, struct mpa_node_view *v)
{
	const struct rnic_listener *l = container_of(node, struct rnic_listener,
						     node);

	v->owner = MPA_OWNER_DEVICE;
	v->dev_index = l->dev->ibdev.index;
	v->addr = l->addr;
	v->backlog = l->backlog;
	v->half_open = atomic_read(&l->half_open);
}

static const struct mpa_node_ops rnic_listener_node_ops = {
	.view = rnic_listener_view,
};

/**
 * rnic_listener_create() - create a listener
 * @cm_id: the core's identifier; the listener takes a reference
 * @backlog: connections that may wait to be accepted
 *
 * Process context. The memory cgroup of the caller will be charged for
 * connections, and its user may ask for those without MPA.
 *
 * Return: the listener with a reference, without a port; NULL: no memory.
 */
struct rnic_listener *rnic_listener_create(struct iw_cm_id *cm_id, int backlog)
{
	struct rnic_listener *l = kzalloc(sizeof(*l), GFP_KERNEL_ACCOUNT);
	int i;

	if (!l)
		return NULL;
	kref_init(&l->ref);
	l->dev = to_rnic_dev(cm_id->device);
	l->node.kind = MPA_NODE_LISTENER;
	l->node.parent = &l->dev->node;
	l->node.ops = &rnic_listener_node_ops;
	l->backlog = backlog;
	l->memcg = mpa_memcg_get();
	l->owner = current_euid();
	spin_lock_init(&l->lock);
	for (i = 0; i < RNIC_LISTEN_COUNT; i++)
		l->ports[i].l = l;
	cm_id->add_ref(cm_id);
	l->cm_id = cm_id;
	return l;
}

/**
 * rnic_listener_get() - take a reference
 * @l: the listener
 */
void rnic_listener_get(struct rnic_listener *l)
{
	kref_get(&l->ref);
}

static void rnic_listener_free(struct kref *ref)
{
	struct rnic_listener *l = container_of(ref, struct rnic_listener, ref);

	mem_cgroup_put(l->memcg);
	kfree(l);
}

/**
 * rnic_listener_put() - drop a reference
 * @l: the listener
 *
 * Any context.
 */
void rnic_listener_put(struct rnic_listener *l)
{
	kref_put(&l->ref, rnic_listener_free);
}

/**
 * rnic_listener_end_plain() - put no more connections into a queue for its user
 * @l: the listener, locked
 *
 * Those in the queue stay there.
 */
void rnic_listener_end_plain(struct rnic_listener *l)
{
	struct rnic_plain *p = l->plain;

	lockdep_assert_held(&l->lock);
	if (!p)
		return;
	WRITE_ONCE(l->plain, NULL);
	WRITE_ONCE(p->over, true);
	wake_up_interruptible_poll(&p->wait, EPOLLIN | EPOLLHUP);
}

/**
 * rnic_listener_remove() - undo rnic_listener_create()
 * @l: the listener, without a port
 *
 * Releases the identifier and drops the reference.
 */
void rnic_listener_remove(struct rnic_listener *l)
{
	struct iw_cm_id *cm_id;

	spin_lock_bh(&l->lock);
	cm_id = l->cm_id;
	l->cm_id = NULL;
	rnic_listener_end_plain(l);
	spin_unlock_bh(&l->lock);
	cm_id->rem_ref(cm_id);
	rnic_listener_put(l);
}

/**
 * rnic_listener_alive() - has the core not destroyed it yet?
 * @l: the listener
 *
 * Return: true if so.
 */
bool rnic_listener_alive(struct rnic_listener *l)
{
	bool alive;

	spin_lock_bh(&l->lock);
	alive = l->cm_id;
	spin_unlock_bh(&l->lock);
	return alive;
}

/**
 * rnic_listener_event() - report a Request to the core
 * @l: the listener it came to
 * @event: the event
 *
 * Softirq or process context. Return: 0; -ENOMEM if the backlog is exceeded;
 * -ECONNABORTED if the listener is destroyed.
 */
int rnic_listener_event(struct rnic_listener *l, struct iw_cm_event *event)
{
	int ret = -ECONNABORTED;

	spin_lock_bh(&l->lock);
	if (l->cm_id)
		ret = l->cm_id->event_handler(l->cm_id, event);
	spin_unlock_bh(&l->lock);
	return ret;
}

/**
 * rnic_listener_id() - number of a listener in netlink
 * @l: the listener, which has been in the registry
 *
 * Return: the number.
 */
u32 rnic_listener_id(const struct rnic_listener *l)
{
	return l->node.id;
}

/**
 * rnic_listener_enter() - count one more half-open peer
 * @l: the listener
 * @max: how many there may be
 *
 * Return: true, until rnic_listener_leave(); false: there are @max.
 */
bool rnic_listener_enter(struct rnic_listener *l, u32 max)
{
	if (atomic_inc_return(&l->half_open) <= max)
		return true;
	atomic_dec(&l->half_open);
	return false;
}

/**
 * rnic_listener_leave() - a peer is not half-open any more
 * @l: the listener that had counted it
 */
void rnic_listener_leave(struct rnic_listener *l)
{
	WARN_ON_ONCE(atomic_dec_return(&l->half_open) < 0);
}
