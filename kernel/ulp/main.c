// SPDX-License-Identifier: GPL-2.0-only
/*
 * mpa.ko: Marker PDU Aligned Framing for TCP (RFC 5044) as a TCP upper layer
 * protocol.
 */
#include <linux/build_bug.h>
#include <linux/module.h>
#include <net/tcp.h>

#include "conn.h"
#include "scratch.h"

struct workqueue_struct *mpa_wq;

/*
 * Decides who may attach; the stream itself is bound by mpa_attach(), when the
 * core has linked the protocol to the socket. Under lock_sock().
 */
static int mpa_ulp_init(struct sock *sk)
{
	if (!sk->sk_kern_sock)
		return -EOPNOTSUPP;
	if (sk->sk_state != TCP_ESTABLISHED)
		return -ENOTCONN;
	/* Someone else's data (sockmap's too): he has callbacks of his own. */
	if (rcu_access_pointer(__sk_user_data((sk))))
		return -EEXIST;
	RCU_INIT_POINTER(inet_csk(sk)->icsk_ulp_data, NULL);
	return 0;
}

static struct tcp_ulp_ops mpa_ulp_ops __read_mostly = {
	.name		= "mpa",
	.owner		= THIS_MODULE,
	.init		= mpa_ulp_init,
	.release	= mpa_conn_released,
};

static int __init mpa_init(void)
{
	int ret;

	BUILD_BUG_ON(sizeof(struct mpa_frame_hdr) != MPA_FRAME_HDR_LEN);

	mpa_wq = alloc_workqueue("mpa", WQ_MEM_RECLAIM, 0);
	if (!mpa_wq)
		return -ENOMEM;

	ret = tcp_register_ulp(&mpa_ulp_ops);
	if (ret)
		goto err_destroy_wq;
	return 0;

err_destroy_wq:
	destroy_workqueue(mpa_wq);
	return ret;
}

/*
 * No socket has the protocol any more, each held a reference to the module;
 * streams are freed after a grace period by code of the core's.
 */
static void __exit mpa_exit(void)
{
	tcp_unregister_ulp(&mpa_ulp_ops);
	destroy_workqueue(mpa_wq);
	mpa_scratch_drain();
}

module_init(mpa_init);
module_exit(mpa_exit);

MODULE_DESCRIPTION("Marker PDU Aligned Framing for TCP (RFC 5044)");
MODULE_LICENSE("GPL");
MODULE_ALIAS_TCP_ULP("mpa");
