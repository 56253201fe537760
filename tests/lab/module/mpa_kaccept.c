// SPDX-License-Identifier: GPL-2.0-only
/*
 * A server in the kernel that takes a listening socket by its descriptor, as
 * the NFS server does:
 *
 *	modprobe mpa_kaccept
 *	echo FD > /sys/module/mpa_kaccept/parameters/listener
 *
 * The write accepts a connection with kernel_accept(), receives once, sends the
 * same bytes back and releases the socket. @owned: sk_user_data is first set to
 * a pointer of the server, which accepted sockets inherit. Reading the
 * parameter returns the result of the last call: bytes, or a negative error.
 */
#include <linux/module.h>
#include <linux/net.h>
#include <net/sock.h>

static bool owned;
module_param(owned, bool, 0644);
MODULE_PARM_DESC(owned, "set sk_user_data of the listener (default: no)");

static int result;

static int echo(struct socket *sock)
{
	struct msghdr msg = {};
	struct kvec vec;
	char text[64];
	int ret;

	vec = (struct kvec){ .iov_base = text, .iov_len = sizeof(text) };
	ret = kernel_recvmsg(sock, &msg, &vec, 1, sizeof(text), 0);
	if (ret <= 0)
		return ret;
	msg = (struct msghdr){ .msg_flags = MSG_NOSIGNAL };
	vec = (struct kvec){ .iov_base = text, .iov_len = ret };
	return kernel_sendmsg(sock, &msg, &vec, 1, ret);
}

static void set_user_data(struct sock *sk, void *data)
{
	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_user_data = data;
	write_unlock_bh(&sk->sk_callback_lock);
}

static int serve(struct socket *listener)
{
	struct socket *sock;
	int ret;

	if (owned)
		set_user_data(listener->sk, listener);
	ret = kernel_accept(listener, &sock, 0);
	if (ret)
		return ret;
	ret = echo(sock);
	sock_release(sock);
	return ret;
}

static int set_listener(const char *val, const struct kernel_param *kp)
{
	struct socket *listener;
	int fd, ret;

	ret = kstrtoint(val, 0, &fd);
	if (ret)
		return ret;
	listener = sockfd_lookup(fd, &ret);
	if (!listener)
		return ret;
	result = serve(listener);
	sockfd_put(listener);
	return 0;
}

static int get_result(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%d\n", result);
}

static const struct kernel_param_ops listener_ops = {
	.set	= set_listener,
	.get	= get_result,
};
module_param_cb(listener, &listener_ops, NULL, 0644);
MODULE_PARM_DESC(listener, "descriptor of a listening socket");

MODULE_DESCRIPTION("Accepts a connection on a socket of a program");
MODULE_LICENSE("GPL");
