/* SPDX-License-Identifier: GPL-2.0-only */
/* TCP sockets and addresses of connections and listeners. */
#ifndef MPA_RNIC_SOCK_H
#define MPA_RNIC_SOCK_H

#include <linux/net.h>
#include <linux/socket.h>

struct iw_cm_id;
struct net;
struct net_device;
struct rnic_dev;

int rnic_addr_len(const struct sockaddr_storage *addr);
__be16 rnic_addr_port(const struct sockaddr_storage *addr);
bool rnic_sock_port_ephemeral(struct net *net, __be16 port);
bool rnic_addr_on_netdev(struct net_device *netdev,
			 const struct sockaddr_storage *addr);
bool rnic_addr_linklocal(const struct sockaddr_storage *addr);
void rnic_addr_scope(const struct rnic_dev *dev, struct sockaddr_storage *addr);
int rnic_sock_names(struct socket *sock, struct sockaddr_storage *local,
		    struct sockaddr_storage *remote);
int rnic_sock_open(const struct rnic_dev *dev, const struct iw_cm_id *cm_id,
		   struct socket **sock);
bool rnic_sock_any_vrf(const struct net *net);
int rnic_sock_bind_vrf(struct socket *sock, int vrf);
int rnic_sock_bind(const struct rnic_dev *dev, struct socket *sock,
		   const struct iw_cm_id *cm_id, bool any_port);

#endif /* MPA_RNIC_SOCK_H */
