// SPDX-License-Identifier: GPL-2.0-only
/*
 * A kernel consumer of the messages of RFC 7306, connected to itself. Runs once,
 * when it is loaded:
 *
 *	ip netns exec h1 modprobe mpa_extended address=10.77.0.1
 *	cat /sys/module/mpa_extended/parameters/result
 *
 * The result is "ok", or what failed and its return value.
 */
#include <linux/completion.h>
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

enum {
	PORT	= 7311,
	DEPTH	= 16,
	WORDS	= 8,
	/* Attempts to poll, a millisecond each. */
	PATIENCE = 20000,
};

static char *address = "10.77.0.1";
module_param(address, charp, 0444);
MODULE_PARM_DESC(address, "of the device, IPv4");

static char result[80] = "not run";
module_param_string(result, result, sizeof(result), 0444);
MODULE_PARM_DESC(result, "ok, or what was wrong");

/**
 * struct side - one end of the connection
 * @id: its identifier
 * @pd: its protection domain
 * @cq: for both directions
 */
struct side {
	struct rdma_cm_id *id;
	struct ib_pd *pd;
	struct ib_cq *cq;
};

static struct side near, far;
static struct rdma_cm_id *listener;
static DECLARE_COMPLETION(near_event);
static DECLARE_COMPLETION(far_up);
static int last_event;
/* Words of both sides, in one page. */
static u64 *words;

/* Compares the result of a step with the expected one. */
static bool is(const char *what, u64 got, u64 wanted)
{
	if (got != wanted)
		snprintf(result, sizeof(result), "%s: %llx, not %llx", what,
			 got, wanted);
	return got == wanted;
}

static int side_make_qp(struct side *side)
{
	struct ib_qp_init_attr attr = {
		.cap = { .max_send_wr = DEPTH, .max_recv_wr = DEPTH,
			 .max_send_sge = 2, .max_recv_sge = 1 },
		.qp_type = IB_QPT_RC,
		.sq_sig_type = IB_SIGNAL_ALL_WR,
	};

	side->pd = ib_alloc_pd(side->id->device, 0);
	if (IS_ERR(side->pd))
		return PTR_ERR(side->pd);
	side->cq = ib_alloc_cq(side->id->device, NULL, 4 * DEPTH, 0,
			       IB_POLL_DIRECT);
	if (IS_ERR(side->cq))
		return PTR_ERR(side->cq);
	attr.send_cq = side->cq;
	attr.recv_cq = side->cq;
	return rdma_create_qp(side->id, side->pd, &attr);
}

static void side_end(struct side *side)
{
	if (!IS_ERR_OR_NULL(side->id) && side->id->qp) {
		rdma_disconnect(side->id);
		rdma_destroy_qp(side->id);
	}
	if (!IS_ERR_OR_NULL(side->cq))
		ib_free_cq(side->cq);
	if (!IS_ERR_OR_NULL(side->pd))
		ib_dealloc_pd(side->pd);
	if (!IS_ERR_OR_NULL(side->id))
		rdma_destroy_id(side->id);
}

static int far_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct rdma_conn_param param = { .responder_resources = 4,
					 .initiator_depth = 4 };

	if (event->event == RDMA_CM_EVENT_ESTABLISHED)
		complete(&far_up);
	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return 0;
	/* What failed is missing when it is waited for. */
	far.id = id;
	if (!side_make_qp(&far))
		rdma_accept(id, &param);
	return 0;
}

static int near_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	last_event = event->event;
	complete(&near_event);
	return 0;
}

static bool near_gets(enum rdma_cm_event_type wanted)
{
	return wait_for_completion_timeout(&near_event, 30 * HZ) &&
	       is("event", last_event, wanted);
}

static bool connect(void)
{
	struct rdma_conn_param param = { .responder_resources = 4,
					 .initiator_depth = 4 };
	struct sockaddr_in at = {
		.sin_family = AF_INET,
		.sin_port = htons(PORT),
		.sin_addr.s_addr = in_aton(address),
	};
	struct net *net = current->nsproxy->net_ns;

	listener = rdma_create_id(net, far_handler, NULL, RDMA_PS_TCP,
				  IB_QPT_RC);
	near.id = rdma_create_id(net, near_handler, NULL, RDMA_PS_TCP,
				 IB_QPT_RC);
	return is("bind", rdma_bind_addr(listener, (struct sockaddr *)&at), 0) &&
	       is("listen", rdma_listen(listener, 1), 0) &&
	       is("resolve", rdma_resolve_addr(near.id, NULL,
					       (struct sockaddr *)&at, 5000),
		  0) &&
	       near_gets(RDMA_CM_EVENT_ADDR_RESOLVED) &&
	       is("route", rdma_resolve_route(near.id, 5000), 0) &&
	       near_gets(RDMA_CM_EVENT_ROUTE_RESOLVED) &&
	       is("queue pair", side_make_qp(&near), 0) &&
	       is("connect", rdma_connect(near.id, &param), 0) &&
	       near_gets(RDMA_CM_EVENT_ESTABLISHED) &&
	       is("accepted", !wait_for_completion_timeout(&far_up, 30 * HZ), 0);
}

static bool completes(struct side *side, struct ib_wc *wc, int status)
{
	int i;

	for (i = 0; i < PATIENCE; i++) {
		if (ib_poll_cq(side->cq, 1, wc))
			return is("status", wc->status, status);
		usleep_range(900, 1100);
	}
	return is("completions", 0, 1);
}

/* Registers the words for the peer, by a work request. */
static struct ib_mr *far_register(void)
{
	struct ib_mr *mr = ib_alloc_mr(far.pd, IB_MR_TYPE_MEM_REG, 1);
	struct ib_reg_wr wr = {
		.wr.opcode = IB_WR_REG_MR,
		.access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |
			  IB_ACCESS_REMOTE_ATOMIC,
	};
	struct scatterlist sg;
	struct ib_wc wc;

	if (IS_ERR(mr))
		return mr;
	sg_init_one(&sg, words, PAGE_SIZE);
	if (ib_dma_map_sg(far.id->device, &sg, 1, DMA_BIDIRECTIONAL) != 1 ||
	    ib_map_mr_sg(mr, &sg, 1, NULL, PAGE_SIZE) != 1)
		return ERR_PTR(-EIO);
	wr.mr = mr;
	wr.key = mr->rkey;
	if (ib_post_send(far.id->qp, &wr.wr, NULL) || !completes(&far, &wc, 0))
		return ERR_PTR(-EIO);
	return mr;
}

static bool immediate(struct ib_mr *mr)
{
	struct ib_sge sge = { .addr = (uintptr_t)words, .length = 24,
			      .lkey = near.pd->local_dma_lkey };
	struct ib_rdma_wr wr = {
		.wr = { .opcode = IB_WR_RDMA_WRITE_WITH_IMM, .sg_list = &sge,
			.num_sge = 1, .send_flags = IB_SEND_SOLICITED,
			.ex.imm_data = cpu_to_be32(0x12345678) },
		.remote_addr = mr->iova + 256, .rkey = mr->rkey,
	};
	struct ib_recv_wr recv = {};
	struct ib_wc wc;

	return is("receive", ib_post_recv(far.id->qp, &recv, NULL), 0) &&
	       is("post", ib_post_send(near.id->qp, &wr.wr, NULL), 0) &&
	       completes(&near, &wc, 0) &&
	       is("opcode", wc.opcode, IB_WC_RDMA_WRITE) &&
	       completes(&far, &wc, 0) &&
	       is("receive's opcode", wc.opcode, IB_WC_RECV_RDMA_WITH_IMM) &&
	       is("flags", wc.wc_flags, IB_WC_WITH_IMM) &&
	       is("data", be32_to_cpu(wc.ex.imm_data), 0x12345678) &&
	       is("bytes", wc.byte_len, 24);
}

/**
 * struct operation - an atomic operation and its effect
 * @opcode: the request
 * @wc: of its completion
 * @old: the word before
 * @compare_add: operand
 * @swap: operand
 * @compare_add_mask: mask of masked operations
 * @swap_mask: likewise
 * @now: the word after
 */
struct operation {
	enum ib_wr_opcode opcode;
	enum ib_wc_opcode wc;
	u64 old;
	u64 compare_add;
	u64 swap;
	u64 compare_add_mask;
	u64 swap_mask;
	u64 now;
};

static const struct operation operations[] = {
	{ IB_WR_ATOMIC_FETCH_AND_ADD, IB_WC_FETCH_ADD, 0xffffffff, 1, 0, 0, 0,
	  0x100000000ULL },
	{ IB_WR_ATOMIC_CMP_AND_SWP, IB_WC_COMP_SWAP, 7, 7, 9, 0, 0, 9 },
	{ IB_WR_ATOMIC_CMP_AND_SWP, IB_WC_COMP_SWAP, 8, 7, 9, 0, 0, 8 },
	{ IB_WR_MASKED_ATOMIC_FETCH_AND_ADD, IB_WC_MASKED_FETCH_ADD,
	  0xffffffff, 1, 0, 0x80000000, 0, 0 },
	{ IB_WR_MASKED_ATOMIC_CMP_AND_SWP, IB_WC_MASKED_COMP_SWAP,
	  0x1122334455667788ULL, 0x1122334400000000ULL, 0xaaaaaaaaaaaaaaaaULL,
	  0xffffffff00000000ULL, 0xffffffff, 0x11223344aaaaaaaaULL },
	/* Nothing compared: a Swap. */
	{ IB_WR_MASKED_ATOMIC_CMP_AND_SWP, IB_WC_MASKED_COMP_SWAP, 5, 0, 6, 0,
	  ~0ULL, 6 },
};

static bool operate(struct ib_mr *mr, const struct operation *o)
{
	struct ib_sge sge = { .addr = (uintptr_t)(words + WORDS), .length = 8,
			      .lkey = near.pd->local_dma_lkey };
	struct ib_atomic_wr wr = {
		.wr = { .opcode = o->opcode, .sg_list = &sge, .num_sge = 1 },
		.remote_addr = mr->iova, .rkey = mr->rkey,
		.compare_add = o->compare_add, .swap = o->swap,
		.compare_add_mask = o->compare_add_mask,
		.swap_mask = o->swap_mask,
	};
	struct ib_wc wc;

	WRITE_ONCE(words[0], o->old);
	return is("post atomic", ib_post_send(near.id->qp, &wr.wr, NULL), 0) &&
	       completes(&near, &wc, 0) &&
	       is("atomic opcode", wc.opcode, o->wc) &&
	       is("atomic bytes", wc.byte_len, 8) &&
	       is("value before", READ_ONCE(words[WORDS]), o->old) &&
	       is("value after", READ_ONCE(words[0]), o->now);
}

static bool refused_read(struct ib_mr *mr, enum ib_wr_opcode opcode)
{
	struct ib_sge sge[2] = {
		{ .addr = (uintptr_t)words, .length = 4, .lkey = near.pd->local_dma_lkey },
		{ .addr = (uintptr_t)words, .length = 4, .lkey = near.pd->local_dma_lkey },
	};
	struct ib_rdma_wr wr = {
		.wr = { .opcode = opcode, .sg_list = sge, .num_sge = 2 },
		.remote_addr = mr->iova, .rkey = mr->rkey,
	};
	const struct ib_send_wr *bad = NULL;

	return is("Read of two pieces", ib_post_send(near.id->qp, &wr.wr, &bad), -EINVAL) &&
	       is("the one at fault", bad == &wr.wr, true);
}

static bool refused(struct ib_mr *mr)
{
	struct ib_sge sge = { .addr = (uintptr_t)words, .length = 4,
			      .lkey = near.pd->local_dma_lkey };
	struct ib_atomic_wr wr = {
		.wr = { .opcode = IB_WR_ATOMIC_FETCH_AND_ADD, .sg_list = &sge,
			.num_sge = 1 },
		.remote_addr = mr->iova, .rkey = mr->rkey,
	};
	struct ib_send_wr imm = { .opcode = IB_WR_SEND_WITH_IMM };

	return is("four bytes", ib_post_send(near.id->qp, &wr.wr, NULL),
		  -EINVAL) &&
	       is("Send with Immediate", ib_post_send(near.id->qp, &imm, NULL),
		  -EOPNOTSUPP) &&
	       refused_read(mr, IB_WR_RDMA_READ) &&
	       refused_read(mr, IB_WR_RDMA_READ_WITH_INV) &&
	       /* The stream goes on. */
	       operate(mr, &operations[0]);
}

static bool run(void)
{
	struct ib_mr *mr;
	bool good = true;
	int i;

	if (!connect())
		return false;
	mr = far_register();
	if (!is("registration", PTR_ERR_OR_ZERO(mr), 0))
		return false;
	good = immediate(mr);
	for (i = 0; good && i < ARRAY_SIZE(operations); i++)
		good = operate(mr, &operations[i]);
	good = good && refused(mr);
	/* Its queue pair must not use it any more. */
	rdma_disconnect(near.id);
	ib_dereg_mr(mr);
	return good;
}

static int __init extended_init(void)
{
	words = (u64 *)get_zeroed_page(GFP_KERNEL);
	if (!words)
		return -ENOMEM;
	if (run())
		strscpy(result, "ok", sizeof(result));
	side_end(&near);
	side_end(&far);
	if (!IS_ERR_OR_NULL(listener))
		rdma_destroy_id(listener);
	return 0;
}

static void __exit extended_exit(void)
{
	free_page((unsigned long)words);
}

module_init(extended_init);
module_exit(extended_exit);
MODULE_DESCRIPTION("kernel consumer of the messages of RFC 7306");
MODULE_LICENSE("GPL");
