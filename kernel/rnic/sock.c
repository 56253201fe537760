// SPDX-License-Identifier: GPL-2.0-only
/*
 * TCP sockets and addresses of connections and listeners.
 */
#include <linux/inetdevice.h>
#include <net/addrconf.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/l3mdev.h>
#include <net/sock.h>
#include <rdma/iw_cm.h>

#include "compat/net.h"
#include "device.h"
#include "sock.h"

/**
 * rnic_addr_len() - length of an IP address and port
 * @addr: the address
 *
 * Return: bytes; 0 if it is neither IPv4 nor IPv6.
 */
int rnic_addr_len(const struct sockaddr_storage *addr)
{
	switch (addr->ss_family) {
	case AF_INET:
		return sizeof(struct sockaddr_in);
	case AF_INET6:
		return sizeof(struct sockaddr_in6);
	default:
		return 0;
	}
}

static bool rnic_addr_on_netdev_ipv4(struct net_device *netdev, __be32 addr)
{
	const struct in_ifaddr *ifa;
	struct in_device *in_dev;
	bool has = false;

	rcu_read_lock();
	in_dev = __in_dev_get_rcu(netdev);
	if (in_dev)
		in_dev_for_each_ifa_rcu(ifa, in_dev)
			has |= ifa->ifa_local == addr;
	/* Every address of 127/8 is local, but only one is in the list. */
	has = has || __ip_dev_find(dev_net(netdev), addr, false) == netdev;
	rcu_read_unlock();
	return has;
}

/**
 * rnic_addr_on_netdev() - is an address one of a network device?
 * @netdev: the network device
 * @addr: the address
 *
 * Any context. Return: true if so.
 */
bool rnic_addr_on_netdev(struct net_device *netdev,
			 const struct sockaddr_storage *addr)
{
	const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)addr;
	const struct sockaddr_in *sin = (const struct sockaddr_in *)addr;
	bool has;

	if (addr->ss_family == AF_INET)
		return rnic_addr_on_netdev_ipv4(netdev, sin->sin_addr.s_addr);
	if (!IS_ENABLED(CONFIG_IPV6))
		return false;
	rcu_read_lock();
	has = ipv6_chk_addr(dev_net(netdev), &sin6->sin6_addr, netdev, 1);
	rcu_read_unlock();
	return has;
}

/**
 * rnic_addr_linklocal() - is an address unique only on a link?
 * @addr: the address
 *
 * Return: true if so.
 */
bool rnic_addr_linklocal(const struct sockaddr_storage *addr)
{
	const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)addr;

	return addr->ss_family == AF_INET6 &&
	       ipv6_addr_type(&sin6->sin6_addr) & IPV6_ADDR_LINKLOCAL;
}

/**
 * rnic_addr_scope() - set the scope of a link-local address without one
 * @dev: the device
 * @addr: the address
 */
void rnic_addr_scope(const struct rnic_dev *dev, struct sockaddr_storage *addr)
{
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)addr;

	if (rnic_addr_linklocal(addr) && !sin6->sin6_scope_id)
		sin6->sin6_scope_id = dev->netdev->ifindex;
}

/* The core expects IPv4 addresses of IPv6 sockets as IPv4 addresses. */
static void rnic_addr_unmap(struct sockaddr_storage *addr)
{
	const struct sockaddr_in6 sin6 = *(struct sockaddr_in6 *)addr;
	struct sockaddr_in *sin = (struct sockaddr_in *)addr;

	if (addr->ss_family != AF_INET6 ||
	    !ipv6_addr_v4mapped(&sin6.sin6_addr))
		return;
	memset(addr, 0, sizeof(*addr));
	sin->sin_family = AF_INET;
	sin->sin_port = sin6.sin6_port;
	sin->sin_addr.s_addr = sin6.sin6_addr.s6_addr32[3];
}

/**
 * rnic_sock_names() - get both addresses of a connected socket
 * @sock: the socket
 * @local: set to the local address
 * @remote: set to the peer's
 *
 * Process context; takes the socket lock. Return: 0, or -ENOTCONN if there is
 * no peer any more, with @local set.
 */
int rnic_sock_names(struct socket *sock, struct sockaddr_storage *local,
		    struct sockaddr_storage *remote)
{
	int ret;

	memset(local, 0, sizeof(*local));
	memset(remote, 0, sizeof(*remote));
	ret = kernel_getsockname(sock, (struct sockaddr *)local);
	if (ret >= 0)
		ret = kernel_getpeername(sock, (struct sockaddr *)remote);
	rnic_addr_unmap(local);
	rnic_addr_unmap(remote);
	return min(ret, 0);
}

static int rnic_sock_set_tos(struct socket *sock, u8 tos)
{
	int val = tos;

	ip_sock_set_tos(sock->sk, val);
	if (sock->sk->sk_family != AF_INET6)
		return 0;
	return sock->ops->setsockopt(sock, SOL_IPV6, IPV6_TCLASS,
				     KERNEL_SOCKPTR(&val), sizeof(val));
}

/*
 * The network device may be moved at any time, and the namespace go then: NULL. Otherwise
 * with a reference.
 */
static struct net *rnic_sock_get_net(const struct rnic_dev *dev)
{
	struct net *net;

	rcu_read_lock();
	net = maybe_get_net(dev_net(dev->netdev));
	rcu_read_unlock();
	return net;
}

/* The socket has a reference of its own to its namespace. */
static int rnic_sock_create(const struct rnic_dev *dev, int family, struct socket **sock)
{
	struct net *net = rnic_sock_get_net(dev);
	int ret;

	if (!net)
		return -ENODEV;
	ret = sock_create_kern(net, family, SOCK_STREAM, IPPROTO_TCP, sock);
	if (!ret)
		mpa_sk_hold_net((*sock)->sk);
	put_net(net);
	return ret;
}

/**
 * rnic_sock_open() - create a TCP socket for a connection or a listener
 * @dev: the device, in whose network namespace the socket will be
 * @cm_id: has the address family and the type of service
 * @sock: set to the socket, not bound yet
 *
 * Process context. Return: 0, -ENODEV (the namespace is going), or another negative error.
 */
int rnic_sock_open(const struct rnic_dev *dev, const struct iw_cm_id *cm_id,
		   struct socket **sock)
{
	int ret;

	if (!rnic_addr_len(&cm_id->local_addr))
		return -EAFNOSUPPORT;
	ret = rnic_sock_create(dev, cm_id->local_addr.ss_family, sock);
	if (ret)
		return ret;
	/* Old connections in TIME_WAIT must not prevent binding. */
	sock_set_reuseaddr((*sock)->sk);
	if (cm_id->tos_set)
		ret = rnic_sock_set_tos(*sock, cm_id->tos);
	if (ret)
		sock_release(*sock);
	return ret;
}

/**
 * rnic_addr_port() - port of an IP address
 * @addr: the address
 *
 * Return: the port, at the same offset for both families.
 */
__be16 rnic_addr_port(const struct sockaddr_storage *addr)
{
	return ((const struct sockaddr_in *)addr)->sin_port;
}

/**
 * rnic_sock_port_ephemeral() - is a port one that TCP assigns?
 * @net: the namespace
 * @port: the port
 *
 * Return: true if so.
 */
bool rnic_sock_port_ephemeral(struct net *net, __be16 port)
{
	int low, high;

	inet_get_local_port_range(net, &low, &high);
	return ntohs(port) >= low && ntohs(port) <= high;
}

/**
 * rnic_sock_any_vrf() - do listeners get connections of every VRF?
 * @net: the namespace
 *
 * Return: true if a socket that is bound to no VRF does (net.ipv4.tcp_l3mdev_accept).
 */
bool rnic_sock_any_vrf(const struct net *net)
{
#ifdef CONFIG_NET_L3_MASTER_DEV
	return READ_ONCE(net->ipv4.sysctl_tcp_l3mdev_accept);
#else
	return false;
#endif
}

/**
 * rnic_sock_bind_vrf() - bind a new socket to a VRF
 * @sock: the socket; its addresses and routes will be those of the VRF
 * @vrf: index of the VRF, or 0
 *
 * Process context. Return: 0 or a negative error.
 */
int rnic_sock_bind_vrf(struct socket *sock, int vrf)
{
	return vrf ? sock_bindtoindex(sock->sk, vrf, true) : 0;
}

/**
 * rnic_sock_bind() - bind a socket before connecting
 * @dev: the device
 * @sock: the socket
 * @cm_id: has the local address
 * @any_port: TCP chooses the port
 *
 * The core selects source ports without TCP. If TCP already uses one of the
 * ephemeral range, another one is as good: also if the consumer has requested it,
 * which looks the same. A port outside that range was requested for sure. The port
 * mapper's is not used: a peer that has one takes a port without a mapping as it is.
 *
 * Return: 0 or a negative error.
 */
int rnic_sock_bind(const struct rnic_dev *dev, struct socket *sock,
		   const struct iw_cm_id *cm_id, bool any_port)
{
	struct sockaddr_storage addr = cm_id->local_addr;
	/* At the same offset for both families. */
	__be16 *port = &((struct sockaddr_in *)&addr)->sin_port;
	int len = rnic_addr_len(&addr);
	int ret;

	ret = rnic_sock_bind_vrf(sock, l3mdev_master_ifindex(dev->netdev));
	if (ret)
		return ret;
	rnic_addr_scope(dev, &addr);
	if (any_port)
		*port = 0;
	ret = kernel_bind(sock, (struct mpa_sockaddr *)&addr, len);
	if (ret != -EADDRINUSE ||
	    !rnic_sock_port_ephemeral(sock_net(sock->sk), *port))
		return ret;
	*port = 0;
	return kernel_bind(sock, (struct mpa_sockaddr *)&addr, len);
}
