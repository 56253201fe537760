/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Direct verbs of mpa devices: what verbs have no words for. Nothing is to be linked.
 * See mpadv(3).
 */
#ifndef INFINIBAND_MPADV_H
#define INFINIBAND_MPADV_H

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <infiniband/verbs.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/mpa-abi.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A command of the driver with its attributes; not for applications. */
union mpadv_cmd {
	struct ib_uverbs_ioctl_hdr hdr;
	char room[sizeof(struct ib_uverbs_ioctl_hdr) + 6 * sizeof(struct ib_uverbs_attr)];
};

static inline void mpadv_cmd_add(union mpadv_cmd *cmd, uint16_t id, uint64_t data,
				 uint16_t len)
{
	struct ib_uverbs_attr *attr = &cmd->hdr.attrs[cmd->hdr.num_attrs++];

	attr->attr_id = id;
	attr->flags = UVERBS_ATTR_F_MANDATORY;
	attr->len = len;
	attr->data = data;
	cmd->hdr.length += sizeof(*attr);
}

/* Up to 8 bytes of input are in the attribute itself. */
static inline void mpadv_cmd_add_in(union mpadv_cmd *cmd, uint16_t id,
				    const void *bytes, uint32_t len)
{
	uint64_t data = (uintptr_t)bytes;

	if (!len)
		return;
	if (len <= sizeof(data))
		memcpy(&data, bytes, len);
	mpadv_cmd_add(cmd, id, data, (uint16_t)len);
}

static inline void mpadv_cmd_begin(union mpadv_cmd *cmd, uint16_t object,
				   uint16_t method, uint16_t id, uint64_t handle)
{
	memset(cmd, 0, sizeof(*cmd));
	cmd->hdr.length = sizeof(cmd->hdr);
	cmd->hdr.object_id = object;
	cmd->hdr.method_id = method;
	mpadv_cmd_add(cmd, id, handle, 0);
}

static inline int mpadv_cmd_run(union mpadv_cmd *cmd, const struct ibv_context *context)
{
	return ioctl(context->cmd_fd, RDMA_VERBS_IOCTL, cmd) ? errno : 0;
}

/**
 * mpadv_set_receive_wait() - let messages wait for receives
 * @qp: queue pair of an mpa device, in any state
 * @milliseconds: how long a message that finds no receive waits for one before it ends
 *	the connection, up to %MPA_MAX_RECEIVE_WAIT; 0: it does not wait
 *
 * Replaces the setting receive-wait of mpactl(8) for this queue pair, until it is
 * destroyed. Applies from the next message on, and to one that waits already.
 *
 * Return: 0 or a positive errno: %EINVAL: too long, or the queue pair of another driver;
 * %EPROTONOSUPPORT: the module is older than this; %EIO: the device is gone.
 */
static inline int mpadv_set_receive_wait(struct ibv_qp *qp, uint32_t milliseconds)
{
	union mpadv_cmd cmd;

	mpadv_cmd_begin(&cmd, UVERBS_OBJECT_QP, MPA_METHOD_QP_MODIFY,
			MPA_ATTR_QP_MODIFY_HANDLE, qp->handle);
	mpadv_cmd_add_in(&cmd, MPA_ATTR_QP_MODIFY_RECEIVE_WAIT, &milliseconds,
			 sizeof(milliseconds));
	return mpadv_cmd_run(&cmd, qp->context);
}

enum {
	MPADV_SOCKET_RESPONDER	= MPA_QP_SOCKET_RESPONDER,
	/* TCP_ULP of headers that not everyone can include */
	MPADV_TCP_ULP		= 31,
};

/**
 * struct mpadv_socket_attr - how a socket is handed to a queue pair
 * @fd: the socket: connected TCP, whose local address is one of the network device. It
 *	is closed, and set to -1; after an error it is the socket again, with the same
 *	number unless another thread has taken that, or -1 if the kernel still uses it
 * @flags: %MPADV_SOCKET_RESPONDER: waits for the peer's Request; else sends it
 * @last_message: Responder: sent to the peer before it may send the Request; or NULL
 * @last_message_len: bytes of it, up to %MPA_MAX_LAST_MESSAGE
 * @private_data: for the Request or the Reply; or NULL
 * @private_data_len: bytes of it, up to %MPA_MAX_SOCKET_PD
 * @ird: inbound Read depth to request; then the one agreed on or, after %ECONNREFUSED,
 *	the one that the peer would have needed
 * @ord: outbound Read depth to request; then the one agreed on or offered
 * @peer_data: room for private data of the peer; or NULL
 * @peer_data_len: bytes of room; then bytes that the peer has sent, perhaps more
 */
struct mpadv_socket_attr {
	int fd;
	uint32_t flags;
	const void *last_message;
	uint32_t last_message_len;
	const void *private_data;
	uint32_t private_data_len;
	uint32_t ird;
	uint32_t ord;
	void *peer_data;
	uint32_t peer_data_len;
};

/* Gives a descriptor its earlier number, if that is free, and flags. */
static inline int mpadv_renumber(int fd, int wanted, int flags)
{
	int copy;

	if (fd < 0)
		return -1;
	if (fd != wanted) {
		copy = fcntl(fd, F_DUPFD_CLOEXEC, wanted);
		if (copy == wanted) {
			close(fd);
			fd = copy;
		} else if (copy >= 0) {
			close(copy);
		}
	}
	fcntl(fd, F_SETFD, flags);
	return fd;
}

/**
 * mpadv_modify_qp_from_socket() - connect a queue pair by a socket in use
 * @qp: queue pair of an mpa device, in IBV_QPS_RESET or IBV_QPS_INIT
 * @attr: the socket, and how; results are stored
 *
 * The queue pair goes to IBV_QPS_RTS through the startup exchange of MPA, which the call
 * waits for. Another thread may end the wait by moving the queue pair to IBV_QPS_ERR; a
 * signal that does not kill has to wait.
 *
 * Return: 0 or a positive errno. The socket is ordinary TCP as before, except that the
 * protocol mpa is attached, after %ECONNREFUSED: either side has rejected; %EBUSY: the socket
 * has other users: another descriptor, a call, a set of epoll; %ENOTEMPTY: Initiator
 * with bytes that were not read; %EADDRNOTAVAIL, %ENODEV: the address, or the network
 * namespace, is not that of the device; %EISCONN, %EINVAL: the queue pair is connected, or
 * in another state; %EBADF, %ENOTSOCK, %ENOTCONN, %ENOENT, %EINVAL: the socket,
 * as for TCP_ULP of mpa(7); %EMSGSIZE: bytes in @attr; %EPROTONOSUPPORT: the module is
 * older than this; %ENOMEM, unless a part of the Request was sent. The connection has
 * ended after that, and after %EPROTO, %ETIMEDOUT, %ECONNRESET, %ECONNABORTED and others of
 * mpa(7).
 */
static inline int mpadv_modify_qp_from_socket(struct ibv_qp *qp,
					      struct mpadv_socket_attr *attr)
{
	struct mpa_qp_from_socket_resp resp;
	struct mpa_qp_from_socket params;
	union mpadv_cmd cmd;
	int flags, ret;

	/* Too long for a field of the command. */
	if (attr->last_message_len > MPA_MAX_LAST_MESSAGE ||
	    attr->private_data_len > MPA_MAX_SOCKET_PD)
		return EMSGSIZE;
	if (setsockopt(attr->fd, IPPROTO_TCP, MPADV_TCP_ULP, "mpa", 3) &&
	    errno != EEXIST)
		return errno;
	flags = fcntl(attr->fd, F_GETFD);
	memset(&resp, 0, sizeof(resp));
	resp.fd = attr->fd;
	params.fd = attr->fd;
	params.flags = attr->flags;
	params.ird = attr->ird;
	params.ord = attr->ord;
	mpadv_cmd_begin(&cmd, UVERBS_OBJECT_QP, MPA_METHOD_QP_FROM_SOCKET,
			MPA_ATTR_QP_FROM_SOCKET_HANDLE, qp->handle);
	mpadv_cmd_add_in(&cmd, MPA_ATTR_QP_FROM_SOCKET_PARAMS, &params, sizeof(params));
	mpadv_cmd_add_in(&cmd, MPA_ATTR_QP_FROM_SOCKET_LAST, attr->last_message,
			 attr->last_message_len);
	mpadv_cmd_add_in(&cmd, MPA_ATTR_QP_FROM_SOCKET_PD, attr->private_data,
			 attr->private_data_len);
	mpadv_cmd_add(&cmd, MPA_ATTR_QP_FROM_SOCKET_RESULT, (uintptr_t)&resp,
		      sizeof(resp));
	if (attr->peer_data_len)
		mpadv_cmd_add(&cmd, MPA_ATTR_QP_FROM_SOCKET_PEER_PD,
			      (uintptr_t)attr->peer_data,
			      attr->peer_data_len < UINT16_MAX ?
				      (uint16_t)attr->peer_data_len : UINT16_MAX);
	ret = mpadv_cmd_run(&cmd, qp->context);
	attr->fd = mpadv_renumber(resp.fd, attr->fd, flags);
	if (!ret || ret == ECONNREFUSED) {
		attr->ird = resp.ird;
		attr->ord = resp.ord;
		attr->peer_data_len = resp.peer_pd_len;
	}
	if (!ret)
		qp->state = IBV_QPS_RTS;
	return ret;
}

/**
 * mpadv_create_plain() - ask for the plain TCP connections of a listener
 * @context: context of an mpa device
 * @address: address of the listener, as rdma_get_local_addr() shows it, IPv4 or IPv6
 * @backlog: how many connections may wait, at least 1
 * @fd: set to a descriptor, closed by exec(), for mpadv_accept_plain() and close()
 *
 * The listener is one of rdma_cm, of the user who calls. From now on, a peer that does
 * not begin with an MPA Request, or with nothing until the setting startup-timeout, is
 * not reset: it has connected to a TCP server. The descriptor is readable for poll(),
 * select() and epoll while connections wait; POLLHUP: no more will come, because the
 * listener or the device are gone. Closing it resets those that wait.
 *
 * A listener at the unspecified address is one on each device: call it for each.
 *
 * Return: 0 or a positive errno: %ENOENT: no listener has this address on the device;
 * %EACCES: it is another user's, or root's, and the caller has no CAP_NET_ADMIN;
 * %EADDRINUSE: it has such a descriptor; %EAFNOSUPPORT, %EINVAL: bad parameters; %EMFILE, %ENFILE, %ENOMEM;
 * %EPROTONOSUPPORT: the module is older than this; %EIO: the device is gone.
 */
static inline int mpadv_create_plain(struct ibv_context *context,
				     const struct sockaddr *address, uint32_t backlog,
				     int *fd)
{
	struct mpa_plain_create params;
	struct sockaddr_in6 sin6;
	struct sockaddr_in sin;
	union mpadv_cmd cmd;
	int ret;

	memset(&params, 0, sizeof(params));
	params.family = address->sa_family;
	params.backlog = backlog;
	switch (address->sa_family) {
	case AF_INET:
		memcpy(&sin, address, sizeof(sin));
		memcpy(params.addr, &sin.sin_addr, sizeof(sin.sin_addr));
		params.port = sin.sin_port;
		break;
	case AF_INET6:
		memcpy(&sin6, address, sizeof(sin6));
		memcpy(params.addr, &sin6.sin6_addr, sizeof(sin6.sin6_addr));
		params.port = sin6.sin6_port;
		params.scope = sin6.sin6_scope_id;
		break;
	default:
		return EAFNOSUPPORT;
	}
	mpadv_cmd_begin(&cmd, MPA_OBJECT_PLAIN, MPA_METHOD_PLAIN_CREATE,
			MPA_ATTR_PLAIN_CREATE_HANDLE, 0);
	mpadv_cmd_add_in(&cmd, MPA_ATTR_PLAIN_CREATE_PARAMS, &params, sizeof(params));
	ret = mpadv_cmd_run(&cmd, context);
	if (!ret)
		*fd = (int)cmd.hdr.attrs[0].data_s64;
	return ret;
}

/**
 * mpadv_accept_plain() - fetch a plain TCP connection of a listener
 * @context: the context
 * @fd: descriptor of mpadv_create_plain()
 * @flags: %SOCK_CLOEXEC, %SOCK_NONBLOCK, as for accept4(2)
 * @socket: set to the descriptor of the socket
 *
 * Does not wait; poll() does. What the peer has sent is still to be read. The socket is
 * ordinary TCP, and may go to a queue pair by mpadv_modify_qp_from_socket() later.
 *
 * Return: 0 or a positive errno: %EAGAIN: none waits; %EINVAL: nor will there be more, or
 * bad @flags; %EBADF: not such a descriptor of @context; %EMFILE; %ENFILE, %ENOMEM: one is
 * lost; %EIO: the device is gone.
 */
static inline int mpadv_accept_plain(struct ibv_context *context, int fd, int flags,
				     int *socket)
{
	uint32_t word = (uint32_t)flags;
	union mpadv_cmd cmd;
	int32_t result = -1;
	int ret;

	mpadv_cmd_begin(&cmd, MPA_OBJECT_PLAIN, MPA_METHOD_PLAIN_ACCEPT,
			MPA_ATTR_PLAIN_ACCEPT_HANDLE, (uint64_t)fd);
	mpadv_cmd_add_in(&cmd, MPA_ATTR_PLAIN_ACCEPT_FLAGS, &word, sizeof(word));
	mpadv_cmd_add(&cmd, MPA_ATTR_PLAIN_ACCEPT_SOCKET, (uintptr_t)&result,
		      sizeof(result));
	ret = mpadv_cmd_run(&cmd, context);
	if (!ret)
		*socket = result;
	return ret;
}

#ifdef __cplusplus
}
#endif

#endif /* INFINIBAND_MPADV_H */
