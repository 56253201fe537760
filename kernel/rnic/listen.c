// SPDX-License-Identifier: GPL-2.0-only
/*
 * Listening, as requested by the core.
 *
 * A listener has one device, and an address with a TCP port. Its listening socket
 * is a port (port.c). If its consumer is in another namespace than the device,
 * it exists only for the core and has no port. It gets one when the device
 * moves to the namespace of the consumer.
 *
 * If the port mapper (iwpmd) runs, the core has it assign another TCP port, and
 * peers that ask for it connect to that one. The listener has both: peers may not
 * ask. If the port that the consumer asked for is in use, the one of the mapper
 * is enough: so a service that serves TCP there itself can use the device, too.
 */
#include <net/ipv6.h>
#include <net/sock.h>

#include <rdma/mpa-abi.h>

#include "accept.h"
#include "cm_params.h"
#include "device.h"
#include "listen.h"
#include "listener.h"
#include "plain.h"
#include "port.h"
#include "sock.h"
#include "ulp/mpa.h"

static void rnic_listener_set_addr(struct rnic_listener *l,
				   const struct rnic_port *port)
{
	const struct sockaddr_in6 *sin6 = (const void *)&port->addr;
	const struct sockaddr_in *sin = (const void *)&port->addr;

	l->addr = (struct mpa_addr){ .port = sin->sin_port };
	if (port->addr.ss_family == AF_INET) {
		l->addr.len = sizeof(sin->sin_addr);
		memcpy(l->addr.bytes, &sin->sin_addr, l->addr.len);
	} else {
		l->addr.len = sizeof(sin6->sin6_addr);
		memcpy(l->addr.bytes, &sin6->sin6_addr, l->addr.len);
		l->addr.scope = sin6->sin6_scope_id;
	}
}

/* Adds the listener to the registry before a connection can arrive. */
static int rnic_listener_announce(struct rnic_listener *l,
				  const struct rnic_port *port)
{
	int ret;

	if (l->listens)
		return 0;
	rnic_listener_set_addr(l, port);
	ret = mpa_node_add(&l->node, l->dev->node.net);
	if (ret)
		return ret;
	atomic_inc(&l->dev->nr_listener);
	l->listens = true;
	return 0;
}

static void rnic_listener_join(struct rnic_listener_port *lp,
			       struct rnic_port *port)
{
	lp->port = port;
	spin_lock_bh(&port->lock);
	list_add_tail(&lp->entry, &port->listeners);
	spin_unlock_bh(&port->lock);
}

static void rnic_listener_leave_port(struct rnic_listener_port *lp)
{
	struct rnic_port *port = lp->port;

	lockdep_assert_held(&rnic_ports_lock);
	if (!port)
		return;
	lp->port = NULL;
	spin_lock_bh(&port->lock);
	list_del(&lp->entry);
	spin_unlock_bh(&port->lock);
	/* Wait for a connection that is being passed to the listener. */
	cancel_delayed_work_sync(&port->accept);
	/* Listeners are added only under rnic_ports_lock. */
	if (list_empty(&port->listeners))
		rnic_port_close(port);
	else
		mod_delayed_work(rnic_wq, &port->accept, 0);
}

static void rnic_listener_stop(struct rnic_listener *l)
{
	int i;

	lockdep_assert_held(&rnic_ports_lock);
	if (!l->listens)
		return;
	for (i = 0; i < RNIC_LISTEN_COUNT; i++)
		rnic_listener_leave_port(&l->ports[i]);
	mpa_node_remove(&l->node);
	atomic_dec(&l->dev->nr_listener);
	l->listens = false;
}

static int rnic_listener_open(struct rnic_listener *l, enum rnic_listen_at at)
{
	bool mapped = at == RNIC_LISTEN_MAPPED;
	struct rnic_port *port;
	int ret;

	port = rnic_port_for(l->dev, l->cm_id,
			     mapped ? &l->cm_id->m_local_addr :
				      &l->cm_id->local_addr, mapped);
	if (IS_ERR(port))
		return PTR_ERR(port);
	if (rnic_port_serves(port, l->dev))
		return -EADDRINUSE;
	ret = rnic_listener_announce(l, port);
	if (ret) {
		if (list_empty(&port->listeners))
			rnic_port_close(port);
		return ret;
	}
	rnic_listener_join(&l->ports[at], port);
	ret = rnic_port_set_backlog(port, l->backlog);
	if (ret) {
		rnic_listener_leave_port(&l->ports[at]);
		/* Another port has another address to be listed with. */
		if (at == RNIC_LISTEN_OWN)
			rnic_listener_stop(l);
	}
	return ret;
}

/* Has the port mapper assigned another port? It is the first namespace's. */
static bool rnic_listener_is_mapped(const struct rnic_listener *l)
{
	return rnic_cm_has_mapper(l->dev) &&
	       !rnic_port_addr_equal(&l->cm_id->local_addr,
				     &l->cm_id->m_local_addr);
}

/*
 * A listener of another namespace's consumer stays without a port. So does one at a
 * wildcard address that is not meant for this device: if it failed here, it would on all
 * devices.
 */
static int rnic_listener_start(struct rnic_listener *l)
{
	const bool any = rnic_port_addr_any(&l->cm_id->local_addr);
	struct rnic_dev *dev = l->dev;
	int err = 0;
	int ret;
	u8 gone;

	lockdep_assert_held(&rnic_ports_lock);
	/*
	 * rnic_cm_stop() sets it, then takes rnic_ports_lock to stop the
	 * listeners: either it is seen here, or this listener is stopped there.
	 * If it is 0, the namespace of the device does not change before
	 * rnic_listeners_stop() has got the lock. Pairs with rnic_cm_start().
	 */
	gone = smp_load_acquire(&dev->cm_gone);
	if (!rnic_cm_same_net(l->cm_id))
		return 0;
	if (!rnic_cm_is_stream(l->cm_id))
		return any ? 0 : -EOPNOTSUPP;
	if (gone)
		return any ? 0 : -ENODEV;
	ret = rnic_listener_open(l, RNIC_LISTEN_OWN);
	if (rnic_listener_is_mapped(l) && (!ret || ret == -EADDRINUSE)) {
		err = rnic_listener_open(l, RNIC_LISTEN_MAPPED);
		if (ret)
			ret = err;
		else if (err)
			dev_notice_ratelimited(&dev->ibdev.dev,
					       "cannot listen on %pISpc of the port mapper: error %d\n",
					       &l->cm_id->m_local_addr, err);
	}
	if (ret)
		rnic_listener_stop(l);
	return ret;
}

static void rnic_listener_report(const struct rnic_listener *l, int err)
{
	dev_notice_ratelimited(&l->dev->ibdev.dev,
			       "cannot listen on %pISpc: error %d\n",
			       &l->cm_id->local_addr, err);
}

/**
 * rnic_listeners_adding() - begin or end to be lenient with listeners
 * @dev: the device
 * @adding: the core is about to add the device to its clients, or has done so for rdma_cm
 *
 * rdma_cm then opens its wildcard listeners on the device. If one of them failed, it would
 * not use the device at all.
 *
 * Process context.
 */
void rnic_listeners_adding(struct rnic_dev *dev, bool adding)
{
	mutex_lock(&rnic_ports_lock);
	dev->adding = adding;
	mutex_unlock(&rnic_ports_lock);
}

/**
 * rnic_iw_create_listen() - iw_cm: listen
 * @cm_id: the core's identifier
 * @backlog: connections that may wait to be accepted
 *
 * Return: 0, also for a listener that gets no connections: see rnic_listener_start() and
 * rnic_listeners_adding(); else a negative error: -EADDRINUSE, -EADDRNOTAVAIL and other
 * errors of TCP, -EAFNOSUPPORT, -EOPNOTSUPP (datagrams), -ENODEV (the network device is
 * gone), -ENOMEM.
 */
int rnic_iw_create_listen(struct iw_cm_id *cm_id, int backlog)
{
	struct rnic_listener *l;
	int ret;

	if (!rnic_addr_len(&cm_id->local_addr))
		return -EAFNOSUPPORT;
	l = rnic_listener_create(cm_id, backlog);
	if (!l)
		return -ENOMEM;
	mutex_lock(&rnic_ports_lock);
	ret = rnic_listener_start(l);
	if (ret && l->dev->adding && rnic_port_addr_any(&cm_id->local_addr)) {
		rnic_listener_report(l, ret);
		ret = 0;
	}
	if (!ret)
		list_add_tail(&l->entry, &l->dev->listeners);
	mutex_unlock(&rnic_ports_lock);
	if (ret)
		rnic_listener_remove(l);
	else
		cm_id->provider_data = l;
	return ret;
}

/**
 * rnic_iw_destroy_listen() - iw_cm: stop listening
 * @cm_id: the core's identifier
 *
 * The listener raises no event afterwards. Return: 0.
 */
int rnic_iw_destroy_listen(struct iw_cm_id *cm_id)
{
	struct rnic_listener *l = cm_id->provider_data;
	struct rnic_dev *dev = l->dev;

	cm_id->provider_data = NULL;
	mutex_lock(&rnic_ports_lock);
	list_del(&l->entry);
	rnic_listener_stop(l);
	mutex_unlock(&rnic_ports_lock);
	rnic_listener_get(l);
	rnic_listener_remove(l);
	rnic_ep_orphan_all(dev, l);
	rnic_listener_put(l);
	return 0;
}

/**
 * rnic_listener_of_id() - describe the listener of an identifier
 * @dev: its device
 * @cm_id: the core's identifier, which is not dereferenced and need not exist
 * @v: filled in, except for other fields of the registry than the number
 *
 * Process context. Return: true if the listener exists and listens.
 */
bool rnic_listener_of_id(struct rnic_dev *dev, const struct iw_cm_id *cm_id,
			 struct mpa_node_view *v)
{
	struct rnic_listener *l;
	bool found = false;

	mutex_lock(&rnic_ports_lock);
	list_for_each_entry(l, &dev->listeners, entry)
		if (l->cm_id == cm_id && l->listens) {
			found = true;
			rnic_listener_view(&l->node, v);
			v->id = l->node.id;
			break;
		}
	mutex_unlock(&rnic_ports_lock);
	return found;
}

/* The scope that the consumer has given counts only where it means something. */
static bool rnic_listener_is_at(const struct rnic_listener *l,
				const struct mpa_plain_create *params)
{
	const struct sockaddr_storage *addr = &l->cm_id->local_addr;
	const struct sockaddr_in6 *sin6 = (const void *)addr;
	const struct sockaddr_in *sin = (const void *)addr;

	if (!l->listens || addr->ss_family != params->family ||
	    sin->sin_port != params->port)
		return false;
	if (params->family == AF_INET)
		return !memcmp(&sin->sin_addr, params->addr,
			       sizeof(sin->sin_addr));
	return !memcmp(&sin6->sin6_addr, params->addr,
		       sizeof(sin6->sin6_addr)) &&
	       (!__ipv6_addr_needs_scope_id(ipv6_addr_type(&sin6->sin6_addr)) ||
		sin6->sin6_scope_id == params->scope);
}

/**
 * rnic_listener_open_plain() - queue the plain TCP connections of a listener
 * @dev: its device
 * @p: the queue, new and zeroed
 * @params: the address that its consumer asked for, and the length of the queue
 *
 * Process context, of the user. Return: 0; -ENOENT (no listener has this address),
 * or an error of rnic_plain_open().
 */
int rnic_listener_open_plain(struct rnic_dev *dev, struct rnic_plain *p,
			     const struct mpa_plain_create *params)
{
	struct rnic_listener *l;
	int ret = -ENOENT;

	mutex_lock(&rnic_ports_lock);
	list_for_each_entry(l, &dev->listeners, entry)
		if (rnic_listener_is_at(l, params)) {
			ret = rnic_plain_open(p, l, params);
			break;
		}
	mutex_unlock(&rnic_ports_lock);
	return ret;
}

/**
 * rnic_listeners_stop() - stop all listeners of a device
 * @dev: the device, rnic_dev.cm_gone set
 *
 * The listeners stay until the core destroys them.
 */
void rnic_listeners_stop(struct rnic_dev *dev)
{
	struct rnic_listener *l;

	mutex_lock(&rnic_ports_lock);
	list_for_each_entry(l, &dev->listeners, entry)
		rnic_listener_stop(l);
	mutex_unlock(&rnic_ports_lock);
}

/**
 * rnic_listeners_restart() - start the listeners whose consumer is in the
 * namespace of a device
 * @dev: the device, rnic_dev.cm_gone cleared
 *
 * A listener whose address is in use or not available stays without a port.
 */
void rnic_listeners_restart(struct rnic_dev *dev)
{
	struct rnic_listener *l;
	int ret;

	mutex_lock(&rnic_ports_lock);
	list_for_each_entry(l, &dev->listeners, entry) {
		if (l->listens)
			continue;
		ret = rnic_listener_start(l);
		if (ret)
			rnic_listener_report(l, ret);
	}
	mutex_unlock(&rnic_ports_lock);
}
