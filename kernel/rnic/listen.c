// SPDX-License-Identifier: GPL-2.0-only
/*
 * Listening.
 *
 * A listener is what the core asks for: one device, one address and port. The
 * core asks every device for each of its wildcard listeners, so several devices
 * of a namespace have to listen on one TCP port. They share a socket, the
 * "port"; a connection belongs to the device whose network device has its local
 * address, wherever it came in.
 *
 * A listener has no port if its consumer lives in another namespace than the
 * device: it is there for the core's peace of mind and hears nothing. It gets
 * one when the device moves to where the consumer is.
 *
 * Locks: rnic_ports_lock, a mutex, for ports, and for which listeners a device
 * has; held while a port is closed, so that its address is free when the next
 * one wants it. rnic_port.lock, with bottom halves off, for the listeners of a
 * port: all that accepting takes. rnic_listener.lock for the core's identifier.
 */
#include <linux/inetdevice.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include <net/tcp_states.h>

#include "compat/memcg.h"
#include "device.h"
#include "ep.h"

enum {
	/* Connections accepted in one go. */
	RNIC_ACCEPT_BATCH	= 64,
	/* Accepting failed for lack of something: when to try again. */
	RNIC_ACCEPT_RETRY	= HZ / 10 + 1,
};

/**
 * struct rnic_port - a listening socket, shared by listeners
 * @sock: the socket; constant
 * @addr: address and port; constant
 * @v6only: IPv6 socket that does not take IPv4 connections; constant
 * @backlog: of the socket; under rnic_ports_lock
 * @data_ready: the socket's callback from before; constant
 * @accept: accepts
 * @lock: protects @listeners
 * @listeners: at most one per device (struct rnic_listener.port_entry)
 * @entry: in rnic_ports, under rnic_ports_lock
 */
struct rnic_port {
	struct socket *sock;
	struct sockaddr_storage addr;
	bool v6only;
	int backlog;
	void (*data_ready)(struct sock *sk);
	struct delayed_work accept;
	spinlock_t lock;		/* see above */
	struct list_head listeners;
	struct list_head entry;
};

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

static DEFINE_MUTEX(rnic_ports_lock);
static LIST_HEAD(rnic_ports);

/* Listeners, as endpoints see them ------------------------------------------ */

/**
 * rnic_listener_get - take a reference
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
 * rnic_listener_put - drop a reference
 * @l: the listener
 *
 * Any context.
 */
void rnic_listener_put(struct rnic_listener *l)
{
	kref_put(&l->ref, rnic_listener_free);
}

/**
 * rnic_listener_alive - has the core not destroyed it yet?
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
 * rnic_listener_event - tell the core of a Request
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
 * rnic_listener_id - what netlink calls a listener
 * @l: the listener, which has listened
 *
 * Return: the number.
 */
u32 rnic_listener_id(const struct rnic_listener *l)
{
	return l->node.id;
}

static bool rnic_listener_enter(struct rnic_listener *l, u32 max)
{
	if (atomic_inc_return(&l->half_open) <= max)
		return true;
	atomic_dec(&l->half_open);
	return false;
}

/**
 * rnic_listener_leave - a peer is not half-open any more
 * @l: the listener that had counted it
 */
void rnic_listener_leave(struct rnic_listener *l)
{
	WARN_ON_ONCE(atomic_dec_return(&l->half_open) < 0);
}

/* Accepting ----------------------------------------------------------------- */

static bool rnic_netdev_has_ipv4(struct net_device *netdev, __be32 addr)
{
	const struct in_ifaddr *ifa;
	struct in_device *in_dev;
	bool has = false;

	rcu_read_lock();
	in_dev = __in_dev_get_rcu(netdev);
	if (in_dev)
		in_dev_for_each_ifa_rcu(ifa, in_dev)
			has |= ifa->ifa_local == addr;
	/* Of 127/8 and the like every address is local, but one is listed. */
	has = has || __ip_dev_find(dev_net(netdev), addr, false) == netdev;
	rcu_read_unlock();
	return has;
}

static bool rnic_netdev_has(struct net_device *netdev,
			    const struct sockaddr_storage *addr)
{
	const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)addr;
	const struct sockaddr_in *sin = (const struct sockaddr_in *)addr;

	if (addr->ss_family == AF_INET)
		return rnic_netdev_has_ipv4(netdev, sin->sin_addr.s_addr);
	return IS_ENABLED(CONFIG_IPV6) &&
	       ipv6_chk_addr(dev_net(netdev), &sin6->sin6_addr, netdev, 1);
}

/*
 * The listener a connection is for, with a reference, or NULL. A socket bound
 * to a network device has a link-local address, which others may have, too.
 */
static struct rnic_listener *rnic_port_match(struct rnic_port *port, int ifindex,
					     const struct sockaddr_storage *addr)
{
	struct rnic_listener *l, *found = NULL;

	spin_lock_bh(&port->lock);
	list_for_each_entry(l, &port->listeners, port_entry) {
		/* It changes when the network device moves elsewhere. */
		if (ifindex &&
		    READ_ONCE(l->dev->netdev->ifindex) == ifindex) {
			found = l;
			break;
		}
		if (!found && rnic_netdev_has(l->dev->netdev, addr))
			found = l;
	}
	if (found)
		rnic_listener_get(found);
	spin_unlock_bh(&port->lock);
	return found;
}

/* An accepted socket has inherited what the listening one had. */
static void rnic_port_disown(const struct rnic_port *port, struct sock *sk)
{
	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_data_ready = port->data_ready;
	write_unlock_bh(&sk->sk_callback_lock);
}

static void rnic_port_reset_socket(struct socket *sock)
{
	sock_no_linger(sock->sk);
	sock_release(sock);
}

static void rnic_listener_drop(struct rnic_listener *l, struct socket *sock)
{
	rnic_count(l->dev, RNIC_CNT_CONN_HALF_OPEN_DROP);
	mpa_node_half_open(&l->node);
	rnic_port_reset_socket(sock);
}

/* What is allocated from here on is charged to who listens, as the socket is. */
static void rnic_listener_take(struct rnic_listener *l,
			       const struct mpa_config *cfg, struct socket *sock,
			      const struct sockaddr_storage *local,
			      const struct sockaddr_storage *remote)
{
	struct mem_cgroup *old = set_active_memcg(l->memcg);

	if (mpa_sk_set_memcg(sock->sk, l->memcg)) {
		rnic_listener_leave(l);
		rnic_count(l->dev, RNIC_CNT_CONN_STARTUP_ERROR);
		rnic_port_reset_socket(sock);
	} else {
		rnic_ep_take(l->dev, l, cfg, sock, local, remote);
	}
	set_active_memcg(old);
}

/* While this runs, @l stays in the registry: see rnic_listener_stop(). */
static void rnic_port_dispatch(struct rnic_port *port, struct socket *sock)
{
	struct sockaddr_storage local, remote;
	struct mpa_config cfg;
	struct rnic_listener *l;
	bool gone;

	rnic_port_disown(port, sock->sk);
	gone = rnic_sock_names(sock, &local, &remote);
	l = rnic_port_match(port, sock->sk->sk_bound_dev_if, &local);
	if (!l) {
		rnic_port_reset_socket(sock);
		return;
	}
	mpa_node_config(&l->node, &cfg);
	if (gone) {
		rnic_count(l->dev, RNIC_CNT_CONN_STARTUP_ERROR);
		rnic_port_reset_socket(sock);
	} else if (rnic_listener_enter(l, cfg.v[MPA_A_CONFIG_HALF_OPEN_MAX])) {
		rnic_listener_take(l, &cfg, sock, &local, &remote);
	} else {
		rnic_listener_drop(l, sock);
	}
	rnic_listener_put(l);
}

static void rnic_port_accept(struct work_struct *work)
{
	struct rnic_port *port = container_of(to_delayed_work(work),
					     struct rnic_port, accept);
	struct socket *sock;
	int ret = 0;
	int i;

	for (i = 0; !ret && i < RNIC_ACCEPT_BATCH; i++) {
		ret = kernel_accept(port->sock, &sock, O_NONBLOCK);
		if (!ret)
			rnic_port_dispatch(port, sock);
		else if (ret == -ECONNABORTED)
			ret = 0;
	}
	if (!ret)
		queue_delayed_work(rnic_wq, &port->accept, 0);
	else if (ret != -EAGAIN && ret != -EINVAL)
		queue_delayed_work(rnic_wq, &port->accept, RNIC_ACCEPT_RETRY);
}

/* Also the callback of sockets that wait to be accepted; those know no port. */
static void rnic_port_data_ready(struct sock *sk)
{
	struct rnic_port *port;

	read_lock_bh(&sk->sk_callback_lock);
	port = __locked_read_sk_user_data_with_flags(sk, SK_USER_DATA_NOCOPY);
	if (port)
		mod_delayed_work(rnic_wq, &port->accept, 0);
	read_unlock_bh(&sk->sk_callback_lock);
}

/* Ports --------------------------------------------------------------------- */

static bool rnic_v6only(const struct iw_cm_id *cm_id)
{
	return cm_id->m_local_addr.ss_family == AF_INET6 && cm_id->afonly;
}

static bool rnic_addr_equal(const struct sockaddr_storage *a,
			    const struct sockaddr_storage *b)
{
	const struct sockaddr_in6 *a6 = (const struct sockaddr_in6 *)a;
	const struct sockaddr_in6 *b6 = (const struct sockaddr_in6 *)b;
	const struct sockaddr_in *a4 = (const struct sockaddr_in *)a;
	const struct sockaddr_in *b4 = (const struct sockaddr_in *)b;

	if (a->ss_family != b->ss_family || a4->sin_port != b4->sin_port)
		return false;
	if (a->ss_family == AF_INET)
		return a4->sin_addr.s_addr == b4->sin_addr.s_addr;
	return ipv6_addr_equal(&a6->sin6_addr, &b6->sin6_addr) &&
	       a6->sin6_scope_id == b6->sin6_scope_id;
}

static struct rnic_port *rnic_port_find(const struct net *net, bool v6only,
					const struct sockaddr_storage *addr)
{
	struct rnic_port *port;

	lockdep_assert_held(&rnic_ports_lock);
	list_for_each_entry(port, &rnic_ports, entry)
		if (net_eq(sock_net(port->sock->sk), net) &&
		    port->v6only == v6only &&
		    rnic_addr_equal(&port->addr, addr))
			return port;
	return NULL;
}

static int rnic_port_bind(struct rnic_port *port)
{
	struct sockaddr *addr = (struct sockaddr *)&port->addr;
	int ret = 0;

	if (port->v6only)
		ret = ip6_sock_set_v6only(port->sock->sk);
	if (!ret)
		ret = kernel_bind(port->sock, addr, rnic_addr_len(&port->addr));
	if (ret)
		return ret;
	/* Port 0 has become a real one. */
	ret = kernel_getsockname(port->sock, addr);
	return min(ret, 0);
}

static void rnic_port_hook(struct rnic_port *port)
{
	struct sock *sk = port->sock->sk;

	write_lock_bh(&sk->sk_callback_lock);
	port->data_ready = sk->sk_data_ready;
	sk->sk_data_ready = rnic_port_data_ready;
	__rcu_assign_sk_user_data_with_flags(sk, port, SK_USER_DATA_NOCOPY);
	write_unlock_bh(&sk->sk_callback_lock);
}

static void rnic_port_unhook(struct rnic_port *port)
{
	struct sock *sk = port->sock->sk;

	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_data_ready = port->data_ready;
	rcu_assign_sk_user_data(sk, NULL);
	write_unlock_bh(&sk->sk_callback_lock);
}

static struct rnic_port *rnic_port_alloc(const struct rnic_dev *dev,
					 const struct iw_cm_id *cm_id)
{
	struct rnic_port *port = kzalloc(sizeof(*port), GFP_KERNEL_ACCOUNT);

	if (!port)
		return NULL;
	port->addr = cm_id->m_local_addr;
	rnic_addr_scope(dev, &port->addr);
	port->v6only = rnic_v6only(cm_id);
	INIT_DELAYED_WORK(&port->accept, rnic_port_accept);
	spin_lock_init(&port->lock);
	INIT_LIST_HEAD(&port->listeners);
	return port;
}

static struct rnic_port *rnic_port_open(const struct rnic_dev *dev,
					const struct iw_cm_id *cm_id)
{
	struct rnic_port *port = rnic_port_alloc(dev, cm_id);
	int ret;

	lockdep_assert_held(&rnic_ports_lock);
	if (!port)
		return ERR_PTR(-ENOMEM);
	ret = rnic_sock_open(dev, cm_id, &port->sock);
	if (ret)
		goto err_port;
	ret = rnic_port_bind(port);
	if (ret)
		goto err_sock;
	rnic_port_hook(port);
	list_add_tail(&port->entry, &rnic_ports);
	return port;

err_sock:
	sock_release(port->sock);
err_port:
	kfree(port);
	return ERR_PTR(ret);
}

static void rnic_port_close(struct rnic_port *port)
{
	lockdep_assert_held(&rnic_ports_lock);
	list_del(&port->entry);
	rnic_port_unhook(port);
	cancel_delayed_work_sync(&port->accept);
	/* Resets what was not accepted yet. */
	sock_release(port->sock);
	kfree(port);
}

static int rnic_port_set_backlog(struct rnic_port *port, int backlog)
{
	int ret;

	if (backlog <= port->backlog)
		return 0;
	ret = kernel_listen(port->sock, backlog);
	if (!ret)
		port->backlog = backlog;
	return ret;
}

static bool rnic_port_serves(struct rnic_port *port, const struct rnic_dev *dev)
{
	struct rnic_listener *l;
	bool serves = false;

	spin_lock_bh(&port->lock);
	list_for_each_entry(l, &port->listeners, port_entry)
		serves |= l->dev == dev;
	spin_unlock_bh(&port->lock);
	return serves;
}

/* Listeners, as the core sees them ------------------------------------------ */

static struct rnic_port *rnic_port_for(const struct rnic_dev *dev,
				       const struct iw_cm_id *cm_id)
{
	struct sockaddr_storage addr = cm_id->m_local_addr;
	struct rnic_port *port;

	rnic_addr_scope(dev, &addr);
	port = rnic_port_find(dev_net(dev->netdev), rnic_v6only(cm_id), &addr);
	return port ?: rnic_port_open(dev, cm_id);
}

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

/* In the registry before the first connection can come to it. */
static int rnic_listener_join(struct rnic_listener *l, struct rnic_port *port)
{
	int ret;

	rnic_listener_set_addr(l, port);
	ret = mpa_node_add(&l->node, l->dev->node.net);
	if (ret)
		return ret;
	atomic_inc(&l->dev->nr_listener);
	l->port = port;
	spin_lock_bh(&port->lock);
	list_add_tail(&l->port_entry, &port->listeners);
	spin_unlock_bh(&port->lock);
	return 0;
}

static void rnic_listener_stop(struct rnic_listener *l)
{
	struct rnic_port *port = l->port;

	lockdep_assert_held(&rnic_ports_lock);
	if (!port)
		return;
	l->port = NULL;
	spin_lock_bh(&port->lock);
	list_del(&l->port_entry);
	spin_unlock_bh(&port->lock);
	/* A connection may just be on its way to @l and its device. */
	cancel_delayed_work_sync(&port->accept);
	mpa_node_remove(&l->node);
	atomic_dec(&l->dev->nr_listener);
	/* Nobody adds one but under rnic_ports_lock. */
	if (list_empty(&port->listeners))
		rnic_port_close(port);
	else
		mod_delayed_work(rnic_wq, &port->accept, 0);
}

static int rnic_listener_start(struct rnic_listener *l)
{
	struct rnic_dev *dev = l->dev;
	struct rnic_port *port;
	int ret;

	lockdep_assert_held(&rnic_ports_lock);
	/*
	 * Who sets it takes rnic_ports_lock afterwards, to stop the listeners:
	 * either it is seen here or this one is stopped there.
	 */
	if (READ_ONCE(dev->cm_gone))
		return -ENODEV;
	port = rnic_port_for(dev, l->cm_id);
	if (IS_ERR(port))
		return PTR_ERR(port);
	if (rnic_port_serves(port, dev))
		return -EADDRINUSE;
	ret = rnic_listener_join(l, port);
	if (ret) {
		if (list_empty(&port->listeners))
			rnic_port_close(port);
		return ret;
	}
	ret = rnic_port_set_backlog(port, l->backlog);
	if (ret)
		rnic_listener_stop(l);
	return ret;
}

static void rnic_listener_view(const struct mpa_node *node,
			       struct mpa_node_view *v)
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

static struct rnic_listener *rnic_listener_create(struct iw_cm_id *cm_id,
						  int backlog)
{
	struct rnic_listener *l = kzalloc(sizeof(*l), GFP_KERNEL_ACCOUNT);

	if (!l)
		return NULL;
	kref_init(&l->ref);
	l->dev = to_rnic_dev(cm_id->device);
	l->node.kind = MPA_NODE_LISTENER;
	l->node.parent = &l->dev->node;
	l->node.ops = &rnic_listener_node_ops;
	l->backlog = backlog;
	l->memcg = mpa_memcg_get();
	spin_lock_init(&l->lock);
	cm_id->add_ref(cm_id);
	l->cm_id = cm_id;
	return l;
}

static void rnic_listener_remove(struct rnic_listener *l)
{
	struct iw_cm_id *cm_id;

	spin_lock_bh(&l->lock);
	cm_id = l->cm_id;
	l->cm_id = NULL;
	spin_unlock_bh(&l->lock);
	cm_id->rem_ref(cm_id);
	rnic_listener_put(l);
}

/**
 * rnic_iw_create_listen - iw_cm: listen
 * @cm_id: the core's identifier
 * @backlog: connections that may wait to be accepted
 *
 * Return: 0, also for a consumer of another namespace, who will hear nothing;
 * else a negative error: -EADDRINUSE, -EADDRNOTAVAIL and other words of TCP's,
 * -EAFNOSUPPORT, -ENODEV (the network device is gone), -ENOMEM.
 */
int rnic_iw_create_listen(struct iw_cm_id *cm_id, int backlog)
{
	struct rnic_listener *l;
	int ret = 0;

	if (!rnic_addr_len(&cm_id->m_local_addr))
		return -EAFNOSUPPORT;
	l = rnic_listener_create(cm_id, backlog);
	if (!l)
		return -ENOMEM;
	mutex_lock(&rnic_ports_lock);
	if (rnic_cm_same_net(cm_id))
		ret = rnic_listener_start(l);
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
 * rnic_iw_destroy_listen - iw_cm: stop listening
 * @cm_id: the core's identifier
 *
 * No event comes on it afterwards. Return: 0.
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
 * rnic_listener_of_id - what a listener of the core's is like
 * @dev: its device
 * @cm_id: the core's identifier, which is not looked at and need not exist
 * @v: filled in, but for what the registry knows
 *
 * Process context. Return: true if the listener is there and listens.
 */
bool rnic_listener_of_id(struct rnic_dev *dev, const struct iw_cm_id *cm_id,
			 struct mpa_node_view *v)
{
	struct rnic_listener *l;
	bool found = false;

	mutex_lock(&rnic_ports_lock);
	list_for_each_entry(l, &dev->listeners, entry)
		if (l->cm_id == cm_id && l->port) {
			found = true;
			rnic_listener_view(&l->node, v);
			v->id = l->node.id;
			break;
		}
	mutex_unlock(&rnic_ports_lock);
	return found;
}

/**
 * rnic_listeners_stop - close whatever a device listens on
 * @dev: the device, rnic_dev.cm_gone set
 *
 * The listeners stay, for the core to destroy.
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
 * rnic_listeners_restart - open the listeners that belong to @dev's namespace
 * @dev: the device, rnic_dev.cm_gone cleared
 *
 * One whose address is taken, or not to be had here, stays closed.
 */
void rnic_listeners_restart(struct rnic_dev *dev)
{
	struct rnic_listener *l;
	int ret;

	mutex_lock(&rnic_ports_lock);
	list_for_each_entry(l, &dev->listeners, entry) {
		if (l->port || !rnic_cm_same_net(l->cm_id))
			continue;
		ret = rnic_listener_start(l);
		if (ret)
			dev_notice(&dev->ibdev.dev,
				   "cannot listen on %pISpc here: error %d\n",
				   &l->cm_id->m_local_addr, ret);
	}
	mutex_unlock(&rnic_ports_lock);
}
