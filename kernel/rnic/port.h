/* SPDX-License-Identifier: GPL-2.0-only */
/* Listening sockets, shared by the listeners of several devices. */
#ifndef MPA_RNIC_PORT_H
#define MPA_RNIC_PORT_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/socket.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

struct iw_cm_id;
struct rnic_dev;
struct socket;

/**
 * struct rnic_port - a listening socket, shared by listeners
 * @sock: the socket; constant
 * @addr: address and port; constant
 * @v6only: IPv6 socket that does not accept IPv4 connections; constant
 * @vrf: index of the VRF whose connections it accepts, or 0; constant
 * @backlog: backlog of the socket; under rnic_ports_lock
 * @data_ready: saved sk_data_ready of the socket; constant
 * @accept: work that accepts connections
 * @lock: protects @listeners
 * @listeners: at most one per device (struct rnic_listener_port.entry)
 * @entry: in rnic_ports, under rnic_ports_lock
 */
struct rnic_port {
	struct socket *sock;
	struct sockaddr_storage addr;
	bool v6only;
	int vrf;
	int backlog;
	void (*data_ready)(struct sock *sk);
	struct delayed_work accept;
	spinlock_t lock;		/* see above */
	struct list_head listeners;
	struct hlist_node entry;
};

extern struct mutex rnic_ports_lock;

bool rnic_port_addr_equal(const struct sockaddr_storage *a,
			  const struct sockaddr_storage *b);
bool rnic_port_addr_any(const struct sockaddr_storage *addr);
struct rnic_port *rnic_port_for(const struct rnic_dev *dev,
				const struct iw_cm_id *cm_id,
				const struct sockaddr_storage *addr, bool mapped);
void rnic_port_close(struct rnic_port *port);
int rnic_port_set_backlog(struct rnic_port *port, int backlog);
bool rnic_port_serves(struct rnic_port *port, const struct rnic_dev *dev);

#endif /* MPA_RNIC_PORT_H */
