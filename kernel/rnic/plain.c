// SPDX-License-Identifier: GPL-2.0-only
/*
 * Plain TCP on the port of a listener.
 *
 * A peer that does not begin with an MPA Request, or with nothing until the
 * startup timeout, does not use MPA. If the user of the listener has asked for
 * such connections, they wait in a queue, which has a descriptor, and become
 * sockets of the user. The listener points to the queue, the queue has a
 * reference to the listener; rnic_listener.lock protects both.
 */
#include <linux/cred.h>
#include <linux/module.h>
#include <linux/net.h>
#include <linux/nsproxy.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <net/sock.h>
#include <rdma/mpa-abi.h>
#include <rdma/uverbs_types.h>

#include "device.h"
#include "ep.h"
#include "ep_close.h"
#include "listener.h"
#include "plain.h"

/**
 * struct rnic_plain_socket - a connection in a queue
 * @entry: in rnic_plain.sockets
 * @sock: its socket, without MPA; belongs to the entry
 */
struct rnic_plain_socket {
	struct list_head entry;
	struct socket *sock;
};

static void rnic_plain_reset(struct rnic_plain_socket *s)
{
	sock_no_linger(s->sock->sk);
	sock_release(s->sock);
	kfree(s);
}

/* Links the queue with the listener. A listener has one queue at most. */
static int rnic_plain_join(struct rnic_plain *p, struct rnic_listener *l)
{
	int ret = 0;

	spin_lock_bh(&l->lock);
	if (!l->cm_id)
		ret = -ENOENT;
	else if (l->plain)
		ret = -EADDRINUSE;
	else
		WRITE_ONCE(l->plain, p);
	spin_unlock_bh(&l->lock);
	return ret;
}

/*
 * The user who listens, in the namespace of the listener, may get its connections.
 * A listener of root may be one of the kernel.
 */
static bool rnic_plain_may_open(const struct rnic_listener *l, struct net *net)
{
	if (ns_capable(net->user_ns, CAP_NET_ADMIN))
		return true;
	return uid_eq(l->owner, current_euid()) &&
	       !uid_eq(l->owner, GLOBAL_ROOT_UID) &&
	       net_eq(current->nsproxy->net_ns, net);
}

/*
 * Whether the user may make sockets of the family itself. Those of a queue are made by
 * the kernel, for which neither security modules nor BPF programs of cgroups are asked.
 */
static int rnic_plain_may_make(int family)
{
	struct socket *sock;
	int ret = sock_create(family, SOCK_STREAM, IPPROTO_TCP, &sock);

	if (!ret)
		sock_release(sock);
	return ret;
}

/**
 * rnic_plain_open() - begin to queue plain TCP connections of a listener
 * @p: the queue, new and zeroed
 * @l: the listener, which listens; the queue takes a reference
 * @params: its family, and how many connections may wait
 *
 * Process context, of the user. rnic_ports_lock is held, so the network namespace
 * of the listener exists.
 *
 * Return: 0, until rnic_plain_close(); -EACCES (the listener is another user's);
 * -EADDRINUSE (it has a queue already); -ENOENT (it is gone); or an error of
 * socket(2).
 */
int rnic_plain_open(struct rnic_plain *p, struct rnic_listener *l,
		    const struct mpa_plain_create *params)
{
	struct net *net = dev_net(l->dev->netdev);
	int ret;

	if (!rnic_plain_may_open(l, net))
		return -EACCES;
	ret = rnic_plain_may_make(params->family);
	if (ret)
		return ret;
	INIT_LIST_HEAD(&p->sockets);
	init_waitqueue_head(&p->wait);
	p->max = min_t(u32, params->backlog, READ_ONCE(net->core.sysctl_somaxconn));
	p->l = l;
	ret = rnic_plain_join(p, l);
	if (!ret)
		rnic_listener_get(l);
	return ret;
}

/**
 * rnic_plain_close() - undo rnic_plain_open()
 * @p: the queue, which no other call uses but that of its poll()
 *
 * Process context. Connections that the user has not fetched are reset.
 */
void rnic_plain_close(struct rnic_plain *p)
{
	struct rnic_listener *l = p->l;
	struct rnic_plain_socket *s, *next;
	LIST_HEAD(left);

	spin_lock_bh(&l->lock);
	if (l->plain == p)
		rnic_listener_end_plain(l);
	list_splice_init(&p->sockets, &left);
	WRITE_ONCE(p->count, 0);
	spin_unlock_bh(&l->lock);
	list_for_each_entry_safe(s, next, &left, entry)
		rnic_plain_reset(s);
	rnic_listener_put(l);
}

/**
 * rnic_plain_wanted() - has a listener a queue for plain TCP connections?
 * @l: the listener
 *
 * Return: true if so, at the moment.
 */
bool rnic_plain_wanted(const struct rnic_listener *l)
{
	return READ_ONCE(l->plain);
}

/* Others may be added meanwhile: the limit is not exact. */
static bool rnic_plain_has_room(struct rnic_listener *l)
{
	bool room;

	spin_lock_bh(&l->lock);
	room = l->plain && l->plain->count < l->plain->max;
	spin_unlock_bh(&l->lock);
	return room;
}

static void rnic_plain_add(struct rnic_listener *l, struct rnic_plain_socket *s)
{
	struct rnic_plain *p;

	spin_lock_bh(&l->lock);
	p = l->plain;
	if (p) {
		list_add_tail(&s->entry, &p->sockets);
		WRITE_ONCE(p->count, p->count + 1);
		wake_up_interruptible_poll(&p->wait, EPOLLIN | EPOLLRDNORM);
	}
	spin_unlock_bh(&l->lock);
	/* The user has closed the queue. */
	if (!p)
		rnic_plain_reset(s);
}

/**
 * rnic_ep_leave_plain() - the peer does not use MPA: end the endpoint, and give
 * its socket to the user of the listener
 * @ep: the endpoint, locked
 *
 * Process context.
 */
void rnic_ep_leave_plain(struct rnic_ep *ep)
{
	struct rnic_listener *l = ep->listener;
	struct rnic_plain_socket *s = NULL;

	if (READ_ONCE(ep->state) != RNIC_EP_AWAITING)
		return;
	if (rnic_plain_has_room(l))
		s = kmalloc(sizeof(*s), GFP_KERNEL_ACCOUNT);
	if (!s) {
		rnic_count(ep->dev, RNIC_CNT_CONN_STARTUP_ERROR);
		rnic_ep_abort(ep);
		return;
	}
	rnic_count(ep->dev, RNIC_CNT_CONN_PLAIN);
	s->sock = ep->sock;
	ep->plain = true;
	rnic_ep_finish(ep, false, 0);
	/* It is DEAD, so only freeing it would use the socket. */
	ep->sock = NULL;
	rnic_plain_add(l, s);
}

/* Descriptor ---------------------------------------------------------------- */

/* The oldest one, or an error. */
static struct rnic_plain_socket *rnic_plain_take(struct rnic_plain *p)
{
	struct rnic_listener *l = p->l;
	struct rnic_plain_socket *s;

	spin_lock_bh(&l->lock);
	s = list_first_entry_or_null(&p->sockets, struct rnic_plain_socket,
				     entry);
	if (s) {
		list_del(&s->entry);
		WRITE_ONCE(p->count, p->count - 1);
	} else {
		s = ERR_PTR(p->over ? -EINVAL : -EAGAIN);
	}
	spin_unlock_bh(&l->lock);
	return s;
}

/*
 * As if the user had created the socket. There are protocols that TCP_ULP may attach
 * to sockets of the kernel only, since they expect more of them.
 */
static void rnic_plain_chown(struct socket *sock)
{
	struct inode *inode = SOCK_INODE(sock);
	struct sock *sk = sock->sk;

	current_fsuid_fsgid(&inode->i_uid, &inode->i_gid);
	WRITE_ONCE(sk->sk_uid, inode->i_uid);
	lock_sock(sk);
	sk->sk_kern_sock = 0;
	release_sock(sk);
}

/**
 * rnic_plain_accept() - fetch the oldest connection
 * @p: the queue
 * @flags: %O_NONBLOCK or 0
 * @file: set to the file of its socket
 *
 * Process context, of the user; does not wait. Return: 0; -EAGAIN (there is none
 * at the moment); -EINVAL (nor will there be: the listener is gone); -ENFILE or
 * -ENOMEM, and the connection has ended.
 */
int rnic_plain_accept(struct rnic_plain *p, u32 flags, struct file **file)
{
	struct rnic_plain_socket *s = rnic_plain_take(p);

	if (IS_ERR(s))
		return PTR_ERR(s);
	rnic_plain_chown(s->sock);
	/* It releases the socket if it fails. */
	*file = sock_alloc_file(s->sock, flags, NULL);
	kfree(s);
	return PTR_ERR_OR_ZERO(*file);
}

static __poll_t rnic_plain_poll(struct file *file, struct poll_table_struct *wait)
{
	/* It exists as long as the file. */
	struct rnic_plain *p = container_of((struct ib_uobject *)file->private_data,
					    struct rnic_plain, uobj);
	__poll_t mask = 0;

	poll_wait(file, &p->wait, wait);
	if (READ_ONCE(p->count))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (READ_ONCE(p->over))
		mask |= EPOLLHUP;
	return mask;
}

const struct file_operations rnic_plain_fops = {
	.owner		= THIS_MODULE,
	.poll		= rnic_plain_poll,
	.release	= uverbs_uobject_fd_release,
};
