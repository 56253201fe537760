// SPDX-License-Identifier: GPL-2.0-only
/*
 * mpa.ko: Marker PDU Aligned Framing for TCP (RFC 5044) as a TCP upper layer
 * protocol.
 */
#include <linux/build_bug.h>
#include <linux/genetlink.h>
#include <linux/module.h>
#include <net/genetlink.h>
#include <net/tcp.h>

#include "attach.h"
#include "compat/sock_ops.h"
#include "compat/workqueue.h"
#include "netlink/ulp.h"
#include "registry.h"
#include "scratch.h"
#include "usock_ops.h"
#include "usock_opt.h"

module_param_named(fast_path, mpa_fast_path, bool, 0644);
MODULE_PARM_DESC(fast_path, "Use the fast path for FPDUs that are contiguous in memory (default: yes)");

/*
 * A socket with a file belongs to an application, even if the kernel created
 * it.
 */
static bool ulp_is_users(const struct sock *sk)
{
	return sk->sk_socket && sk->sk_socket->file;
}

static bool ulp_may_attach(const struct sock *sk)
{
	/* An owner in the kernel attaches when it is connected. */
	if (sk->sk_state == TCP_LISTEN)
		return ulp_is_users(sk);
	/* Not one whose connection has ended. */
	if (sk->sk_state == TCP_CLOSE)
		return ulp_is_users(sk) &&
		       sk->sk_socket->state == SS_UNCONNECTED;
	return sk->sk_state == TCP_ESTABLISHED ||
	       sk->sk_state == TCP_CLOSE_WAIT;
}

/*
 * Checks whether a socket may be attached. The stream of a kernel socket is
 * bound by mpa_attach(), after the core has linked the protocol to the socket.
 * Under lock_sock().
 */
static int mpa_ulp_init(struct sock *sk)
{
	if (!ulp_may_attach(sk))
		return -ENOTCONN;
	/*
	 * Another user of the socket (as sockmap) has its own data and
	 * callbacks.
	 */
	if (rcu_access_pointer(__sk_user_data((sk))))
		return -EEXIST;
	RCU_INIT_POINTER(inet_csk(sk)->icsk_ulp_data, NULL);
	if (ulp_is_users(sk))
		return mpa_usock_init(sk);
	return sk->sk_kern_sock ? 0 : -EOPNOTSUPP;
}

static void mpa_ulp_clone(const struct request_sock *req, struct sock *newsk,
			  const gfp_t priority)
{
	/*
	 * The core drops a reference when the socket is destroyed, but takes
	 * none.
	 */
	__module_get(THIS_MODULE);
	mpa_conn_unclone(newsk);
}

MPA_DIAG_OPS(mpa_ulp_get_info, mpa_usock_diag, mpa_usock_diag_size)

static struct tcp_ulp_ops mpa_ulp_ops __read_mostly = {
	.name		= "mpa",
	.owner		= THIS_MODULE,
	.init		= mpa_ulp_init,
	.release	= mpa_conn_released,
	.clone		= mpa_ulp_clone,
	.get_info	= mpa_ulp_get_info,
	.get_info_size	= mpa_ulp_get_info_size,
};

/**
 * mpa_shares() - does another module share with mpa.ko what mpa.ko expects?
 * @other: what it was compiled with
 *
 * If not, it must not use mpa.ko. Any context. Return: true if so.
 */
bool mpa_shares(const struct mpa_shared *other)
{
	const struct mpa_shared own = MPA_SHARED_HERE;

	return !memcmp(&own, other, sizeof(own));
}
EXPORT_SYMBOL_NS_GPL(mpa_shares, MPA_NS);

static int __init mpa_init(void)
{
	int ret;

	BUILD_BUG_ON(sizeof(struct mpa_frame_hdr) != MPA_FRAME_HDR_LEN);

	ret = mpa_attach_init();
	if (ret)
		return ret;
	ret = mpa_registry_init();
	if (ret)
		goto err_attach;
	ret = mpa_netlink_init();
	if (ret)
		goto err_registry;
	mpa_wq = alloc_workqueue("mpa", WQ_MEM_RECLAIM | MPA_WQ_PERCPU, 0);
	if (!mpa_wq) {
		ret = -ENOMEM;
		goto err_netlink;
	}
	/*
	 * Shared by all users: no work on it waits for the lock of a socket
	 * that an application still has (sock.h).
	 */
	mpa_user_wq = alloc_workqueue("mpa_user", WQ_UNBOUND, 0);
	if (!mpa_user_wq) {
		ret = -ENOMEM;
		goto err_destroy_wq;
	}

	ret = tcp_register_ulp(&mpa_ulp_ops);
	if (ret)
		goto err_destroy_user_wq;
	return 0;

err_destroy_user_wq:
	destroy_workqueue(mpa_user_wq);
err_destroy_wq:
	destroy_workqueue(mpa_wq);
err_netlink:
	mpa_netlink_exit();
err_registry:
	mpa_registry_exit();
err_attach:
	mpa_attach_exit();
	return ret;
}

/*
 * No socket uses the protocol any more, because each holds a reference to the
 * module.
 */
static void __exit mpa_exit(void)
{
	tcp_unregister_ulp(&mpa_ulp_ops);
	destroy_workqueue(mpa_user_wq);
	destroy_workqueue(mpa_wq);
	/* The last streams were released by the work queues. */
	mpa_netlink_exit();
	mpa_registry_exit();
	mpa_scratch_drain();
	mpa_attach_exit();
}

module_init(mpa_init);
module_exit(mpa_exit);

MODULE_DESCRIPTION("Marker PDU Aligned Framing for TCP (RFC 5044)");
MODULE_LICENSE("GPL");
MODULE_VERSION(MPA_VERSION);
MODULE_ALIAS_TCP_ULP("mpa");
MODULE_ALIAS_GENL_FAMILY(MPA_GENL_NAME);
