// SPDX-License-Identifier: GPL-2.0-only
/*
 * Delays the core's connection manager (iw_cm), which processes the events of all
 * connections one after the other, in one thread:
 *
 *	ip netns exec h2 modprobe mpa_late address=10.77.0.2 port=7398
 *	cat /sys/module/mpa_late/parameters/held
 *	echo 1 > /sys/module/mpa_late/parameters/pass
 *
 * A connection request to the port keeps that thread busy until "pass" is written,
 * and is refused then.
 */
#include <linux/delay.h>
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <rdma/rdma_cm.h>

enum {
	LATE_SECONDS	= 60,
};

static char *address = "10.77.0.2";
module_param(address, charp, 0444);
MODULE_PARM_DESC(address, "of the listener, IPv4");

static ushort port = 7398;
module_param(port, ushort, 0444);
MODULE_PARM_DESC(port, "of the listener");

static int held;
module_param(held, int, 0444);
MODULE_PARM_DESC(held, "1: the connection manager is delayed");

static int pass;
module_param(pass, int, 0644);
MODULE_PARM_DESC(pass, "1: it may continue");

static struct rdma_cm_id *late_id;

static int late_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	unsigned int tries = LATE_SECONDS * 50;

	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return 0;
	/* A write that came too late for the last request does not count. */
	WRITE_ONCE(pass, 0);
	WRITE_ONCE(held, 1);
	while (!READ_ONCE(pass) && tries--)
		msleep(20);
	WRITE_ONCE(held, 0);
	/* The core destroys the identifier, which refuses the request. */
	return -ECONNREFUSED;
}

static int __init mpa_late_init(void)
{
	struct sockaddr_in at = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = in_aton(address),
	};
	int ret;

	late_id = rdma_create_id(current->nsproxy->net_ns, late_handler, NULL,
				 RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(late_id))
		return PTR_ERR(late_id);
	ret = rdma_bind_addr(late_id, (struct sockaddr *)&at);
	if (!ret)
		ret = rdma_listen(late_id, 1);
	if (ret)
		rdma_destroy_id(late_id);
	return ret;
}

static void __exit mpa_late_exit(void)
{
	WRITE_ONCE(pass, 1);
	rdma_destroy_id(late_id);
}

module_init(mpa_late_init);
module_exit(mpa_late_exit);

MODULE_DESCRIPTION("Delays the connection manager of the RDMA core");
MODULE_LICENSE("GPL");
