// SPDX-License-Identifier: GPL-2.0-only
/*
 * A kernel consumer of an RDMA device that checks how its work requests
 * complete without a connection. Runs once, when it is loaded:
 *
 *	modprobe mpa_unconnected device=mpa1
 *	cat /sys/module/mpa_unconnected/parameters/result
 *
 * The result is "ok", or what failed and its return value.
 */
#include <linux/module.h>
#include <rdma/ib_verbs.h>

enum {
	DEPTH	= 4,
};

static char *device = "mpa1";
module_param(device, charp, 0444);
MODULE_PARM_DESC(device, "name of the device");

static char result[64] = "no such device";
module_param_string(result, result, sizeof(result), 0444);
MODULE_PARM_DESC(result, "ok, or what was wrong");

/**
 * struct consumer - what the tests use
 * @pd: protection domain
 * @cq: for both directions
 * @qp: never connected
 */
struct consumer {
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_qp *qp;
};

static int modify(struct consumer *c, enum ib_qp_state state)
{
	struct ib_qp_attr attr = { .qp_state = state };

	return ib_modify_qp(c->qp, &attr, IB_QP_STATE);
}

static int post_receives(struct consumer *c)
{
	struct ib_recv_wr wr = {};
	int i, ret = 0;

	for (i = 0; i < DEPTH && !ret; i++) {
		wr.wr_id = i;
		ret = ib_post_recv(c->qp, &wr, NULL);
	}
	return ret;
}

static int post_too_long(struct consumer *c)
{
	struct ib_sge sge[2] = {
		{ .length = 0x80000000U, .lkey = c->pd->local_dma_lkey },
		{ .length = 1, .lkey = c->pd->local_dma_lkey },
	};
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND, .sg_list = sge, .num_sge = 2,
	};

	return ib_post_send(c->qp, &wr, NULL);
}

static int polled(struct consumer *c)
{
	struct ib_wc wc[2 * DEPTH];

	return ib_poll_cq(c->cq, ARRAY_SIZE(wc), wc);
}

static int flags_reported(struct consumer *c)
{
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;
	int ret;

	memset(&attr, 0x5a, sizeof(attr));
	memset(&init, 0x5a, sizeof(init));
	ret = ib_query_qp(c->qp, &attr, IB_QP_STATE, &init);
	if (ret)
		return ret;
	/* Fields that an iWARP queue pair does not have are zero. */
	return attr.qkey | attr.rq_psn | attr.sq_psn | attr.pkey_index |
	       attr.alt_port_num | attr.dest_qp_num | attr.rate_limit |
	       init.create_flags | init.port_num | init.source_qpn;
}

/* Compares the result of a step with the expected one. */
static bool is(const char *what, int got, int wanted)
{
	if (got != wanted)
		snprintf(result, sizeof(result), "%s: %d, not %d", what, got,
			 wanted);
	return got == wanted;
}

static bool run(struct consumer *c)
{
	return is("fields without meaning", flags_reported(c), 0) &&
	       /* Receives that were posted before RESET are removed by it. */
	       is("receives", post_receives(c), 0) &&
	       is("RESET", modify(c, IB_QPS_RESET), 0) &&
	       is("ERR after RESET", modify(c, IB_QPS_ERR), 0) &&
	       is("flushed after RESET", polled(c), 0) &&
	       /* So are their completions. */
	       is("receives in ERR", post_receives(c), 0) &&
	       is("ERR again", modify(c, IB_QPS_ERR), 0) &&
	       is("RESET from ERR", modify(c, IB_QPS_RESET), 0) &&
	       is("completions after RESET", polled(c), 0) &&
	       /* New receives fit, and complete. */
	       is("new receives", post_receives(c), 0) &&
	       is("ERR at last", modify(c, IB_QPS_ERR), 0) &&
	       is("a Send that is too long", post_too_long(c), -EINVAL) &&
	       is("new completions", polled(c), DEPTH);
}

static int create(struct consumer *c, struct ib_device *dev)
{
	struct ib_qp_init_attr attr = {
		.qp_type = IB_QPT_RC,
		.cap = {
			.max_send_wr = DEPTH, .max_recv_wr = DEPTH,
			.max_send_sge = 2, .max_recv_sge = 1,
		},
	};

	c->pd = ib_alloc_pd(dev, 0);
	if (IS_ERR(c->pd))
		return PTR_ERR(c->pd);
	c->cq = ib_alloc_cq(dev, NULL, 4 * DEPTH, 0, IB_POLL_DIRECT);
	if (IS_ERR(c->cq)) {
		ib_dealloc_pd(c->pd);
		return PTR_ERR(c->cq);
	}
	attr.send_cq = c->cq;
	attr.recv_cq = c->cq;
	c->qp = ib_create_qp(c->pd, &attr);
	if (IS_ERR(c->qp)) {
		ib_free_cq(c->cq);
		ib_dealloc_pd(c->pd);
		return PTR_ERR(c->qp);
	}
	return 0;
}

static int add(struct ib_device *dev)
{
	struct consumer c;

	if (strcmp(dev_name(&dev->dev), device))
		return -EOPNOTSUPP;
	if (create(&c, dev)) {
		strscpy(result, "could not be made", sizeof(result));
		return -EOPNOTSUPP;
	}
	if (run(&c))
		strscpy(result, "ok", sizeof(result));
	ib_destroy_qp(c.qp);
	ib_free_cq(c.cq);
	ib_dealloc_pd(c.pd);
	return -EOPNOTSUPP;
}

static struct ib_client client = {
	.name	= "mpa_unconnected",
	.add	= add,
};

static int __init mpa_unconnected_init(void)
{
	return ib_register_client(&client);
}
module_init(mpa_unconnected_init);

static void __exit mpa_unconnected_exit(void)
{
	ib_unregister_client(&client);
}
module_exit(mpa_unconnected_exit);

MODULE_DESCRIPTION("Work requests of a kernel consumer");
MODULE_LICENSE("GPL");
