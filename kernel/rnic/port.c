// SPDX-License-Identifier: GPL-2.0-only
/*
 * Listening sockets.
 *
 * The core opens each wildcard listener on every device, so several devices of
 * a namespace listen on one TCP port. They share a socket, the "port"; devices of
 * a VRF have their own. A connection belongs to the device whose network device
 * has its local address.
 *
 * Locks: rnic_ports_lock, a mutex, protects ports and the list of listeners of
 * each device. It is held while a port is closed, so that the next one can use
 * its address. rnic_port.lock, with bottom halves off, protects the listeners
 * of a port. rnic_listener.lock protects the core's identifier. Accepting takes
 * locks of the new endpoint, and is waited for under rnic_ports_lock: so that one
 * is outside of all others here, and accepting never takes it.
 */
#include <linux/hashtable.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <net/inet_hashtables.h>
#include <net/ipv6.h>
#include <net/l3mdev.h>
#include <net/sock.h>
#include <net/tcp_states.h>

#include "accept.h"
#include "compat/memcg.h"
#include "compat/net.h"
#include "device.h"
#include "listener.h"
#include "port.h"
#include "sock.h"
#include "ulp/mpa.h"

enum {
	/* Connections accepted in one run of the work. */
	RNIC_ACCEPT_BATCH	= 64,
	/* Time until the next try after accepting failed, jiffies. */
	RNIC_ACCEPT_RETRY	= HZ / 10 + 1,
};

/* Protects rnic_ports and the ports of listeners; see above. */
DEFINE_MUTEX(rnic_ports_lock);
/* By the number of the TCP port. */
static DEFINE_HASHTABLE(rnic_ports, 10);

/* Accepting ---------------------------------------------------------------- */

/*
 * The listener of a connection, with a reference, or NULL. @ifindex is what its socket
 * is bound to: the network device where the peer has a link-local address, or a VRF, or
 * 0. A link-local address is unique on a link only, others are in a VRF.
 */
static struct rnic_listener *rnic_port_match(struct rnic_port *port, int ifindex,
					     const struct sockaddr_storage *addr)
{
	int vrf = l3mdev_master_ifindex_by_index(sock_net(port->sock->sk), ifindex);
	bool on_link = ifindex != vrf && rnic_addr_linklocal(addr);
	struct rnic_listener *found = NULL;
	struct rnic_listener_port *lp;

	spin_lock_bh(&port->lock);
	list_for_each_entry(lp, &port->listeners, entry) {
		struct net_device *netdev = lp->l->dev->netdev;

		/* The index changes when the network device moves elsewhere. */
		if (on_link ? READ_ONCE(netdev->ifindex) == ifindex :
			      l3mdev_master_ifindex(netdev) == vrf &&
			      rnic_addr_on_netdev(netdev, addr)) {
			found = lp->l;
			break;
		}
	}
	if (found)
		rnic_listener_get(found);
	spin_unlock_bh(&port->lock);
	return found;
}

/*
 * An accepted socket inherits the callback of the listening one, and the right to
 * any port in use, which no socket of a user may get.
 */
static void rnic_port_disown(const struct rnic_port *port, struct sock *sk)
{
	sk->sk_reuse = SK_CAN_REUSE;
	write_lock_bh(&sk->sk_callback_lock);
	WRITE_ONCE(sk->sk_data_ready, port->data_ready);
	write_unlock_bh(&sk->sk_callback_lock);
}

static void rnic_port_reset_socket(struct socket *sock)
{
	sock_no_linger(sock->sk);
	sock_release(sock);
}

static void rnic_port_drop(struct rnic_listener *l, struct socket *sock)
{
	rnic_count(l->dev, RNIC_CNT_CONN_HALF_OPEN_DROP);
	mpa_node_half_open(&l->node);
	rnic_port_reset_socket(sock);
}

/*
 * Allocations for the connection, and its socket, are charged to the consumer
 * of the listener. For routing by user it is the socket of that user.
 */
static void rnic_port_take(struct rnic_listener *l,
			   const struct mpa_config *cfg, struct socket *sock,
			   const struct sockaddr_storage *local,
			   const struct sockaddr_storage *remote)
{
	struct mem_cgroup *old = set_active_memcg(l->memcg);

	WRITE_ONCE(sock->sk->sk_uid, l->owner);
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
		rnic_port_take(l, &cfg, sock, &local, &remote);
	} else {
		rnic_port_drop(l, sock);
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

/* Also called for sockets that wait to be accepted, which have no port. */
static void rnic_port_data_ready(struct sock *sk)
{
	struct rnic_port *port;

	read_lock_bh(&sk->sk_callback_lock);
	port = __locked_read_sk_user_data_with_flags(sk, SK_USER_DATA_NOCOPY);
	if (port)
		mod_delayed_work(rnic_wq, &port->accept, 0);
	read_unlock_bh(&sk->sk_callback_lock);
}

/* Opening and closing ------------------------------------------------------ */

static bool rnic_port_v6only(const struct iw_cm_id *cm_id)
{
	return cm_id->local_addr.ss_family == AF_INET6 && cm_id->afonly;
}

/**
 * rnic_port_addr_equal() - compare IP addresses and ports
 * @a: an address
 * @b: another one
 *
 * Return: true if they are the same.
 */
bool rnic_port_addr_equal(const struct sockaddr_storage *a,
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

/**
 * rnic_port_addr_any() - does an address stand for all of its family?
 * @addr: of IPv4 or IPv6
 *
 * Return: true if so.
 */
bool rnic_port_addr_any(const struct sockaddr_storage *addr)
{
	if (addr->ss_family == AF_INET6)
		return ipv6_addr_any(&((const struct sockaddr_in6 *)addr)->sin6_addr);
	return ((const struct sockaddr_in *)addr)->sin_addr.s_addr == htonl(INADDR_ANY);
}

/*
 * The VRF that a socket for the address is bound to, or 0. TCP may be set to have one
 * socket for all VRFs.
 */
static int rnic_port_vrf(const struct rnic_dev *dev,
			 const struct sockaddr_storage *addr)
{
	if (rnic_port_addr_any(addr) && rnic_sock_any_vrf(dev_net(dev->netdev)))
		return 0;
	return l3mdev_master_ifindex(dev->netdev);
}

static struct rnic_port *rnic_port_find(const struct net *net, bool v6only, int vrf,
					const struct sockaddr_storage *addr)
{
	struct rnic_port *port;

	lockdep_assert_held(&rnic_ports_lock);
	hash_for_each_possible(rnic_ports, port, entry,
			       ntohs(rnic_addr_port(addr)))
		if (net_eq(sock_net(port->sock->sk), net) &&
		    port->v6only == v6only && port->vrf == vrf &&
		    rnic_port_addr_equal(&port->addr, addr))
			return port;
	return NULL;
}

static int rnic_port_bind_addr(struct rnic_port *port)
{
	struct sockaddr_storage *addr = &port->addr;

	return kernel_bind(port->sock, (struct mpa_sockaddr *)addr,
			   rnic_addr_len(addr));
}

/*
 * Has TCP assigned the port only to sockets that connect? They get no new connections
 * there. The core selects ports without TCP, which may have such sockets at
 * many of them. connect() marks a port like this, bind() takes the mark away.
 */
static bool rnic_port_only_connects(const struct rnic_port *port)
{
	const struct sock *sk = port->sock->sk;
	struct net *net = sock_net(sk);
	struct inet_hashinfo *table = net->ipv4.tcp_death_row.hashinfo;
	u16 number = ntohs(rnic_addr_port(&port->addr));
	int l3mdev = inet_sk_bound_l3mdev(sk);
	struct inet_bind_hashbucket *head;
	struct inet_bind_bucket *tb;
	bool only = false;

	head = &table->bhash[inet_bhashfn(net, number, table->bhash_size)];
	spin_lock_bh(&head->lock);
	inet_bind_bucket_for_each(tb, &head->chain)
		if (net_eq(ib_net(tb), net) && tb->port == number &&
		    tb->l3mdev == l3mdev)
			only = tb->fastreuse == -1 && tb->fastreuseport == -1;
	spin_unlock_bh(&head->lock);
	return only;
}

/*
 * The port mapper keeps a port that it has assigned bound, so that no program gets
 * it, but does not listen. Whether somebody else does is seen by rnic_port_in_use().
 */
static bool rnic_port_may_share(const struct rnic_port *port, bool mapped)
{
	struct net *net = sock_net(port->sock->sk);

	if (mapped && rnic_sock_port_ephemeral(net, rnic_addr_port(&port->addr)))
		return true;
	return rnic_port_only_connects(port);
}

/*
 * TCP can be made to share a port with any socket. One that is bound between the look-up
 * and this loses: its listen() fails, or ours does, see rnic_port_in_use().
 */
static int rnic_port_bind_shared(struct rnic_port *port, bool mapped)
{
	int ret = rnic_port_bind_addr(port);

	if (ret != -EADDRINUSE || !rnic_port_may_share(port, mapped))
		return ret;
	port->sock->sk->sk_reuse = SK_FORCE_REUSE;
	return rnic_port_bind_addr(port);
}

static int rnic_port_bind(struct rnic_port *port, bool mapped)
{
	int ret = 0;

	if (port->v6only)
		ret = ip6_sock_set_v6only(port->sock->sk);
	if (!ret)
		ret = rnic_port_bind_shared(port, mapped);
	if (ret)
		return ret;
	/* Port 0 was replaced by a real one. */
	ret = kernel_getsockname(port->sock, (struct sockaddr *)&port->addr);
	return min(ret, 0);
}

static void rnic_port_hook(struct rnic_port *port)
{
	struct sock *sk = port->sock->sk;

	write_lock_bh(&sk->sk_callback_lock);
	port->data_ready = sk->sk_data_ready;
	WRITE_ONCE(sk->sk_data_ready, rnic_port_data_ready);
	__rcu_assign_sk_user_data_with_flags(sk, port, SK_USER_DATA_NOCOPY);
	write_unlock_bh(&sk->sk_callback_lock);
}

static void rnic_port_unhook(struct rnic_port *port)
{
	struct sock *sk = port->sock->sk;

	write_lock_bh(&sk->sk_callback_lock);
	WRITE_ONCE(sk->sk_data_ready, port->data_ready);
	rcu_assign_sk_user_data(sk, NULL);
	write_unlock_bh(&sk->sk_callback_lock);
}

static struct rnic_port *rnic_port_alloc(const struct iw_cm_id *cm_id,
					 const struct sockaddr_storage *addr)
{
	struct rnic_port *port = kzalloc(sizeof(*port), GFP_KERNEL_ACCOUNT);

	if (!port)
		return NULL;
	port->addr = *addr;
	port->v6only = rnic_port_v6only(cm_id);
	INIT_DELAYED_WORK(&port->accept, rnic_port_accept);
	spin_lock_init(&port->lock);
	INIT_LIST_HEAD(&port->listeners);
	return port;
}

static struct rnic_port *rnic_port_open(const struct rnic_dev *dev,
					const struct iw_cm_id *cm_id, int vrf,
					const struct sockaddr_storage *addr,
					bool mapped)
{
	struct rnic_port *port = rnic_port_alloc(cm_id, addr);
	int ret;

	lockdep_assert_held(&rnic_ports_lock);
	if (!port)
		return ERR_PTR(-ENOMEM);
	ret = rnic_sock_open(dev, cm_id, &port->sock);
	if (ret)
		goto err_port;
	port->vrf = vrf;
	ret = rnic_sock_bind_vrf(port->sock, vrf);
	if (!ret)
		ret = rnic_port_bind(port, mapped);
	if (ret)
		goto err_sock;
	rnic_port_hook(port);
	hash_add(rnic_ports, &port->entry, ntohs(rnic_addr_port(&port->addr)));
	return port;

err_sock:
	sock_release(port->sock);
err_port:
	kfree(port);
	return ERR_PTR(ret);
}

/**
 * rnic_port_for() - find or open the port for an address of the core
 * @dev: the device
 * @cm_id: has the kind of address and the type of service
 * @addr: the address
 * @mapped: it is the port mapper's, which has it bound
 *
 * Process context, rnic_ports_lock held.
 *
 * Return: the port or an ERR_PTR().
 */
struct rnic_port *rnic_port_for(const struct rnic_dev *dev,
				const struct iw_cm_id *cm_id,
				const struct sockaddr_storage *addr, bool mapped)
{
	struct sockaddr_storage at = *addr;
	struct rnic_port *port;
	int vrf;

	rnic_addr_scope(dev, &at);
	vrf = rnic_port_vrf(dev, &at);
	port = rnic_port_find(dev_net(dev->netdev), rnic_port_v6only(cm_id), vrf, &at);
	return port ?: rnic_port_open(dev, cm_id, vrf, &at, mapped);
}

/**
 * rnic_port_close() - stop listening
 * @port: the port, without listeners; freed. rnic_ports_lock held
 */
void rnic_port_close(struct rnic_port *port)
{
	lockdep_assert_held(&rnic_ports_lock);
	hash_del(&port->entry);
	rnic_port_unhook(port);
	cancel_delayed_work_sync(&port->accept);
	/* Resets connections that were not accepted yet. */
	sock_release(port->sock);
	kfree(port);
}

/*
 * TCP would let a shared port listen although another socket does, and prefer the
 * later one.
 */
static bool rnic_port_in_use(struct rnic_port *port)
{
	const struct sock *sk = port->sock->sk;

	return inet_sk_state_load(sk) != TCP_LISTEN && sk->sk_reuse == SK_FORCE_REUSE &&
	       mpa_tcp_has_listener(sock_net(sk), &port->addr, port->vrf);
}

/*
 * A socket that somebody has ended (ss -K) would pass that on to those that it accepts.
 * It keeps its address and port.
 */
static void rnic_port_revive(struct sock *sk)
{
	lock_sock(sk);
	if (sk->sk_state == TCP_CLOSE)
		sk->sk_prot->disconnect(sk, 0);
	release_sock(sk);
}

/**
 * rnic_port_set_backlog() - raise the backlog of a port
 * @port: the port; rnic_ports_lock held
 * @backlog: connections that may wait, at least
 *
 * Return: 0 or an error of TCP.
 */
int rnic_port_set_backlog(struct rnic_port *port, int backlog)
{
	struct sock *sk = port->sock->sk;
	int ret;

	if (backlog <= port->backlog && inet_sk_state_load(sk) == TCP_LISTEN)
		return 0;
	if (rnic_port_in_use(port))
		return -EADDRINUSE;
	if (port->backlog)
		rnic_port_revive(sk);
	backlog = max(backlog, port->backlog);
	ret = kernel_listen(port->sock, backlog);
	if (ret)
		return ret;
	port->backlog = backlog;
	/* net.ipv4.tcp_fastopen: a stream begins when the handshake is over. */
	fastopen_queue_tune(sk, 0);
	return 0;
}

/**
 * rnic_port_serves() - does a device have a listener at the port?
 * @port: the port
 * @dev: the device
 *
 * Return: true if so.
 */
bool rnic_port_serves(struct rnic_port *port, const struct rnic_dev *dev)
{
	struct rnic_listener_port *lp;
	bool serves = false;

	spin_lock_bh(&port->lock);
	list_for_each_entry(lp, &port->listeners, entry)
		serves |= lp->l->dev == dev;
	spin_unlock_bh(&port->lock);
	return serves;
}
