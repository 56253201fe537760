// SPDX-License-Identifier: GPL-2.0-only
/*
 * A kernel consumer whose queue pair is not connected yet:
 *
 *	ip netns exec h1 modprobe mpa_consumer address=10.77.0.2 port=7301
 *
 * resolves the address and creates a queue pair, whose number can be read from
 * the parameter "qpn". Any write to "connect" then connects it; "outcome" is
 * the resulting event (enum rdma_cm_event_type), or a negative error. "data" is Y if
 * the event has a pointer to private data; "depths" are its initiator_depth and
 * responder_resources.
 */
#include <linux/completion.h>
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

static char *address = "10.77.0.2";
module_param(address, charp, 0444);
MODULE_PARM_DESC(address, "of the listener, IPv4");

static ushort port = 7301;
module_param(port, ushort, 0444);
MODULE_PARM_DESC(port, "of the listener");

static uint qpn;
module_param(qpn, uint, 0444);
MODULE_PARM_DESC(qpn, "number of the queue pair");

static int outcome;
module_param(outcome, int, 0444);
MODULE_PARM_DESC(outcome, "result of connecting: an event, or a negative error");

static bool data;
module_param(data, bool, 0444);
MODULE_PARM_DESC(data, "the event of the connection had private data");

static uint depths[2];
module_param_array(depths, uint, NULL, 0444);
MODULE_PARM_DESC(depths, "initiator_depth and responder_resources of that event");

static struct rdma_cm_id *consumer_id;
static struct ib_pd *consumer_pd;
static struct ib_cq *consumer_cq;
static DECLARE_COMPLETION(consumer_event);
static int consumer_last;

static int consumer_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	consumer_last = event->status && event->event == RDMA_CM_EVENT_ADDR_ERROR ?
			event->status : (int)event->event;
	if (event->event == RDMA_CM_EVENT_ESTABLISHED) {
		data = event->param.conn.private_data;
		depths[0] = event->param.conn.initiator_depth;
		depths[1] = event->param.conn.responder_resources;
	}
	complete(&consumer_event);
	return 0;
}

/* Waits for the next event; if it does not come in time, that is an error. */
static int consumer_wait(void)
{
	if (!wait_for_completion_timeout(&consumer_event, 30 * HZ))
		return -ETIMEDOUT;
	return consumer_last;
}

static int consumer_resolve(void)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = in_aton(address),
	};
	int ret = rdma_resolve_addr(consumer_id, NULL, (struct sockaddr *)&to,
				    5000);

	if (!ret && consumer_wait() != RDMA_CM_EVENT_ADDR_RESOLVED)
		ret = -EADDRNOTAVAIL;
	if (!ret)
		ret = rdma_resolve_route(consumer_id, 5000);
	if (!ret && consumer_wait() != RDMA_CM_EVENT_ROUTE_RESOLVED)
		ret = -EHOSTUNREACH;
	return ret;
}

static int consumer_make_qp(void)
{
	struct ib_qp_init_attr attr = {
		.cap = { .max_send_wr = 4, .max_recv_wr = 4,
			 .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IB_QPT_RC,
	};
	int ret;

	consumer_pd = ib_alloc_pd(consumer_id->device, 0);
	if (IS_ERR(consumer_pd))
		return PTR_ERR(consumer_pd);
	consumer_cq = ib_alloc_cq(consumer_id->device, NULL, 16, 0,
				  IB_POLL_WORKQUEUE);
	if (IS_ERR(consumer_cq)) {
		ret = PTR_ERR(consumer_cq);
		goto err_pd;
	}
	attr.send_cq = consumer_cq;
	attr.recv_cq = consumer_cq;
	ret = rdma_create_qp(consumer_id, consumer_pd, &attr);
	if (ret)
		goto err_cq;
	qpn = consumer_id->qp->qp_num;
	return 0;

err_cq:
	ib_free_cq(consumer_cq);
err_pd:
	ib_dealloc_pd(consumer_pd);
	return ret;
}

/*
 * Runs in the process that writes, like consumers that are set up through a
 * file.
 */
static int consumer_connect(const char *val, const struct kernel_param *kp)
{
	struct rdma_conn_param param = { .responder_resources = 3,
					 .initiator_depth = 1 };
	int ret;

	if (!qpn)
		return -ENOTCONN;
	ret = rdma_connect(consumer_id, &param);
	outcome = ret ?: consumer_wait();
	return 0;
}

static const struct kernel_param_ops consumer_connect_ops = {
	.set = consumer_connect,
};

module_param_cb(connect, &consumer_connect_ops, NULL, 0200);
MODULE_PARM_DESC(connect, "write anything: connect");

static int __init consumer_init(void)
{
	int ret;

	consumer_id = rdma_create_id(current->nsproxy->net_ns, consumer_handler,
				     NULL, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(consumer_id))
		return PTR_ERR(consumer_id);
	ret = consumer_resolve();
	if (!ret)
		ret = consumer_make_qp();
	if (ret)
		rdma_destroy_id(consumer_id);
	return ret;
}

static void __exit consumer_exit(void)
{
	rdma_disconnect(consumer_id);
	rdma_destroy_qp(consumer_id);
	ib_free_cq(consumer_cq);
	ib_dealloc_pd(consumer_pd);
	rdma_destroy_id(consumer_id);
}

module_init(consumer_init);
module_exit(consumer_exit);

MODULE_DESCRIPTION("Kernel consumer with an idle queue pair, for tests");
MODULE_LICENSE("GPL");
