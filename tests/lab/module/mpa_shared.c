// SPDX-License-Identifier: GPL-2.0-only
/*
 * A kernel consumer with a shared receive queue, without a connection. Runs once,
 * when it is loaded:
 *
 *	modprobe mpa_shared device=mpa1
 *	cat /sys/module/mpa_shared/parameters/result
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
 * struct shared - what the tests use
 * @pd: protection domain
 * @cq: for both directions
 * @srq: the queue
 * @qp: uses it; never connected
 * @limits: events of its limit
 * @lasts: events of the last entry that the queue pair took
 * @others: all other events
 */
struct shared {
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_srq *srq;
	struct ib_qp *qp;
	int limits;
	int lasts;
	int others;
};

static void shared_event(struct ib_event *event, void *context)
{
	struct shared *s = context;

	if (event->event == IB_EVENT_SRQ_LIMIT_REACHED && event->element.srq == s->srq)
		s->limits++;
	else if (event->event == IB_EVENT_QP_LAST_WQE_REACHED && event->element.qp == s->qp)
		s->lasts++;
	else
		s->others++;
}

static int shared_post(struct shared *s, int pieces)
{
	struct ib_sge sge[2] = {};
	struct ib_recv_wr wr = { .sg_list = sge, .num_sge = pieces };

	return ib_post_srq_recv(s->srq, &wr, NULL);
}

static int shared_fill(struct shared *s)
{
	int i, ret = 0;

	for (i = 0; i < DEPTH && !ret; i++)
		ret = shared_post(s, 1);
	return ret;
}

static int shared_modify(struct shared *s, enum ib_srq_attr_mask mask, u32 value)
{
	struct ib_srq_attr attr = { .max_wr = value, .srq_limit = value };

	return ib_modify_srq(s->srq, &attr, mask);
}

static int shared_limit(struct shared *s)
{
	struct ib_srq_attr attr;

	memset(&attr, 0x5a, sizeof(attr));
	return ib_query_srq(s->srq, &attr) ?:
	       attr.max_wr != DEPTH || attr.max_sge != 1 ? -EIO : attr.srq_limit;
}

static int shared_post_to_qp(struct shared *s)
{
	struct ib_recv_wr wr = {};

	return ib_post_recv(s->qp, &wr, NULL);
}

static int shared_drain(struct shared *s)
{
	struct ib_wc wc[DEPTH];

	/* On later kernels it waits for the event of the last entry. */
	ib_drain_qp(s->qp);
	return ib_poll_cq(s->cq, ARRAY_SIZE(wc), wc);
}

/* Compares the result of a step with the expected one. */
static bool is(const char *what, int got, int wanted)
{
	if (got != wanted)
		snprintf(result, sizeof(result), "%s: %d, not %d", what, got,
			 wanted);
	return got == wanted;
}

static bool shared_run(struct shared *s)
{
	return is("receives", shared_fill(s), 0) &&
	       is("one too many", shared_post(s, 1), -ENOMEM) &&
	       is("too many pieces", shared_post(s, 2), -EINVAL) &&
	       is("another size", shared_modify(s, IB_SRQ_MAX_WR, 8), -EOPNOTSUPP) &&
	       is("limit above the size",
		  shared_modify(s, IB_SRQ_LIMIT, DEPTH + 1), -EINVAL) &&
	       is("no limit", shared_limit(s), 0) &&
	       is("limit", shared_modify(s, IB_SRQ_LIMIT, DEPTH), 0) &&
	       is("the limit", shared_limit(s), DEPTH) &&
	       is("limits reached", s->limits, 0) &&
	       is("receive of the queue pair", shared_post_to_qp(s), -EINVAL) &&
	       is("destroyed in use", ib_destroy_srq_user(s->srq, NULL), -EBUSY) &&
	       /* Nothing is flushed. */
	       is("completions", shared_drain(s), 0) &&
	       is("events of the last entry", s->lasts, 1) &&
	       is("still full", shared_post(s, 1), -ENOMEM);
}

static int shared_create_queues(struct shared *s)
{
	struct ib_srq_init_attr shared = {
		.event_handler = shared_event,
		.srq_context = s,
		.attr = { .max_wr = DEPTH - 1, .max_sge = 1, .srq_limit = 1 },
		.srq_type = IB_SRQT_BASIC,
	};
	struct ib_qp_init_attr attr = {
		.event_handler = shared_event,
		.qp_context = s,
		.qp_type = IB_QPT_RC,
		.send_cq = s->cq,
		.recv_cq = s->cq,
		.cap = { .max_send_wr = DEPTH, .max_send_sge = 1 },
	};

	s->srq = ib_create_srq(s->pd, &shared);
	if (IS_ERR(s->srq))
		return PTR_ERR(s->srq);
	attr.srq = s->srq;
	s->qp = ib_create_qp(s->pd, &attr);
	if (!IS_ERR(s->qp))
		return 0;
	ib_destroy_srq(s->srq);
	return PTR_ERR(s->qp);
}

static int shared_create(struct shared *s, struct ib_device *dev)
{
	int ret;

	s->pd = ib_alloc_pd(dev, 0);
	if (IS_ERR(s->pd))
		return PTR_ERR(s->pd);
	s->cq = ib_alloc_cq(dev, NULL, 4 * DEPTH, 0, IB_POLL_DIRECT);
	if (IS_ERR(s->cq)) {
		ret = PTR_ERR(s->cq);
		goto err_pd;
	}
	ret = shared_create_queues(s);
	if (!ret)
		return 0;
	ib_free_cq(s->cq);
err_pd:
	ib_dealloc_pd(s->pd);
	return ret;
}

static int shared_add(struct ib_device *dev)
{
	struct shared s = {};
	bool good;

	if (strcmp(dev_name(&dev->dev), device))
		return -EOPNOTSUPP;
	if (shared_create(&s, dev)) {
		strscpy(result, "could not be made", sizeof(result));
		return -EOPNOTSUPP;
	}
	good = shared_run(&s);
	ib_destroy_qp(s.qp);
	good = good && is("destroyed", ib_destroy_srq_user(s.srq, NULL), 0) &&
	       is("events of the last entry then", s.lasts, 1) &&
	       is("other events", s.others, 0);
	ib_free_cq(s.cq);
	ib_dealloc_pd(s.pd);
	if (good)
		strscpy(result, "ok", sizeof(result));
	return -EOPNOTSUPP;
}

static struct ib_client shared_client = {
	.name	= "mpa_shared",
	.add	= shared_add,
};

static int __init shared_init(void)
{
	return ib_register_client(&shared_client);
}
module_init(shared_init);

static void __exit shared_exit(void)
{
	ib_unregister_client(&shared_client);
}
module_exit(shared_exit);

MODULE_DESCRIPTION("A shared receive queue of a kernel consumer");
MODULE_LICENSE("GPL");
