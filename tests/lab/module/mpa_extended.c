// SPDX-License-Identifier: GPL-2.0-only
/*
 * A kernel consumer of the messages of RFC 7306, and of fast-register regions, connected
 * to itself. Runs once, when it is loaded:
 *
 *	ip netns exec h1 modprobe mpa_extended address=10.77.0.1
 *	cat /sys/module/mpa_extended/parameters/result
 *
 * The result is "ok", or what failed and its return value. With invalidate=1 it reads
 * its region, and invalidates that on the queue pair which reads, when 1 is written to
 * the parameter of this name once more; 0 is there then. The Read must be refused.
 */
#include <linux/completion.h>
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/random.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

enum {
	PORT	= 7311,
	DEPTH	= 16,
	WORDS	= 8,
	/* Of the region: more than is answered in softirqs. */
	BYTES	= 16384,
	/* Of each piece of a Send. */
	PIECE	= 3000,
	/* Attempts to poll, a millisecond each. */
	PATIENCE = 20000,
};

static char *address = "10.77.0.1";
module_param(address, charp, 0444);
MODULE_PARM_DESC(address, "of the device, IPv4");

static int invalidate;
module_param(invalidate, int, 0644);
MODULE_PARM_DESC(invalidate, "1: invalidate the region during a Read");

static char result[80] = "not run";
module_param_string(result, result, sizeof(result), 0444);
MODULE_PARM_DESC(result, "ok, or what was wrong");

/**
 * struct side - one end of the connection
 * @id: its identifier
 * @cq: for both directions
 */
struct side {
	struct rdma_cm_id *id;
	struct ib_cq *cq;
};

static struct side near, far;
/* Of both sides: one may invalidate what the other has registered. */
static struct ib_pd *pd;
static struct rdma_cm_id *listener;
static DECLARE_COMPLETION(near_event);
static DECLARE_COMPLETION(far_up);
static int last_event;
/* Words of both sides, in the region of the far side, and as much for other memory. */
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

	if (!pd)
		pd = ib_alloc_pd(side->id->device, 0);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	side->cq = ib_alloc_cq(side->id->device, NULL, 4 * DEPTH, 0,
			       IB_POLL_DIRECT);
	if (IS_ERR(side->cq))
		return PTR_ERR(side->cq);
	attr.send_cq = side->cq;
	attr.recv_cq = side->cq;
	return rdma_create_qp(side->id, pd, &attr);
}

static void side_end(struct side *side)
{
	if (!IS_ERR_OR_NULL(side->id) && side->id->qp) {
		rdma_disconnect(side->id);
		rdma_destroy_qp(side->id);
	}
	if (!IS_ERR_OR_NULL(side->cq))
		ib_free_cq(side->cq);
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

/* Registers memory by a work request. */
static struct ib_mr *fast_register(struct side *side, void *at, u32 len, int access)
{
	struct ib_mr *mr = ib_alloc_mr(pd, IB_MR_TYPE_MEM_REG,
				       DIV_ROUND_UP(BYTES, PAGE_SIZE) + 1);
	struct ib_reg_wr wr = { .wr.opcode = IB_WR_REG_MR, .access = access };
	struct scatterlist sg;
	struct ib_wc wc;

	if (!is("region", PTR_ERR_OR_ZERO(mr), 0))
		return mr;
	sg_init_one(&sg, at, len);
	wr.mr = mr;
	wr.key = mr->rkey;
	if (is("pieces", ib_dma_map_sg(side->id->device, &sg, 1, DMA_BIDIRECTIONAL), 1) &&
	    is("pieces of the region", ib_map_mr_sg(mr, &sg, 1, NULL, PAGE_SIZE), 1) &&
	    is("post registration", ib_post_send(side->id->qp, &wr.wr, NULL), 0)) {
		if (completes(side, &wc, 0))
			return mr;
		/* The request must not name a region that is gone. */
		ib_drain_sq(side->id->qp);
	}
	ib_dereg_mr(mr);
	return ERR_PTR(-EIO);
}

/* Other memory than the far side's region. */
static u8 *near_memory(void)
{
	return (u8 *)words + BYTES;
}

static bool post_read(struct ib_mr *mr, u32 len)
{
	struct ib_sge sge = { .addr = (uintptr_t)near_memory(), .length = len,
			      .lkey = pd->local_dma_lkey };
	struct ib_rdma_wr wr = {
		.wr = { .opcode = IB_WR_RDMA_READ, .sg_list = &sge, .num_sge = 1 },
		.remote_addr = mr->iova, .rkey = mr->rkey,
	};

	get_random_bytes(words, len);
	return is("post Read", ib_post_send(near.id->qp, &wr.wr, NULL), 0);
}

static bool reads(struct ib_mr *mr, u32 len)
{
	struct ib_wc wc;

	return post_read(mr, len) && completes(&near, &wc, 0) &&
	       is("bytes read", memcmp(near_memory(), words, len), 0);
}

static bool invalidates(struct ib_mr *mr)
{
	struct ib_send_wr inv = { .opcode = IB_WR_LOCAL_INV,
				  .ex.invalidate_rkey = mr->rkey };
	struct ib_wc wc;
	int i;

	/* The sender of the other side is about to copy. */
	WRITE_ONCE(invalidate, 0);
	if (!post_read(mr, BYTES))
		return false;
	for (i = 0; i < PATIENCE && !READ_ONCE(invalidate); i++)
		usleep_range(900, 1100);
	if (!is("post invalidation", ib_post_send(near.id->qp, &inv, NULL), 0))
		return false;
	/* Its completion comes after that of the Read. */
	msleep(1000);
	memset(words, 0, BYTES);
	WRITE_ONCE(invalidate, 0);
	return completes(&near, &wc, IB_WC_REM_ACCESS_ERR);
}

/* A Send of a piece of each region, into the memory of the far side's region. */
static bool send_pieces(struct ib_mr *first, struct ib_mr *second)
{
	struct ib_sge sge[2] = {
		{ .addr = first->iova, .length = PIECE, .lkey = first->lkey },
		{ .addr = second->iova, .length = PIECE, .lkey = second->lkey },
	};
	struct ib_sge sink = { .addr = (uintptr_t)words, .length = BYTES,
			       .lkey = pd->local_dma_lkey };
	struct ib_send_wr wr = { .opcode = IB_WR_SEND, .sg_list = sge, .num_sge = 2 };
	struct ib_recv_wr recv = { .sg_list = &sink, .num_sge = 1 };
	struct ib_wc wc;

	get_random_bytes(near_memory(), 2 * PIECE);
	memset(words, 0, BYTES);
	return is("post receive", ib_post_recv(far.id->qp, &recv, NULL), 0) &&
	       is("post Send", ib_post_send(near.id->qp, &wr, NULL), 0) &&
	       completes(&near, &wc, 0) && completes(&far, &wc, 0) &&
	       is("bytes received", wc.byte_len, 2 * PIECE) &&
	       is("bytes sent", memcmp(near_memory(), words, 2 * PIECE), 0);
}

static bool send_of_two(void)
{
	struct ib_mr *first, *second;
	bool good;

	first = fast_register(&near, near_memory(), PIECE, IB_ACCESS_LOCAL_WRITE);
	if (IS_ERR(first))
		return false;
	second = fast_register(&near, near_memory() + PIECE, PIECE,
			       IB_ACCESS_LOCAL_WRITE);
	good = !IS_ERR(second) && send_pieces(first, second);
	ib_dereg_mr(first);
	if (!IS_ERR(second))
		ib_dereg_mr(second);
	return good;
}

static bool immediate(struct ib_mr *mr)
{
	struct ib_sge sge = { .addr = (uintptr_t)words, .length = 24,
			      .lkey = pd->local_dma_lkey };
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
			      .lkey = pd->local_dma_lkey };
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
		{ .addr = (uintptr_t)words, .length = 4, .lkey = pd->local_dma_lkey },
		{ .addr = (uintptr_t)words, .length = 4, .lkey = pd->local_dma_lkey },
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
			      .lkey = pd->local_dma_lkey };
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

static bool all_messages(struct ib_mr *mr)
{
	bool good;
	int i;

	/* The second is answered in a softirq. */
	good = reads(mr, BYTES) && reads(mr, 2048) && send_of_two() && immediate(mr);
	for (i = 0; good && i < ARRAY_SIZE(operations); i++)
		good = operate(mr, &operations[i]);
	return good && refused(mr);
}

static bool run(void)
{
	struct ib_mr *mr;
	bool good;

	if (!connect())
		return false;
	mr = fast_register(&far, words, BYTES,
			   IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ |
			   IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC);
	if (IS_ERR(mr))
		return false;
	good = invalidate ? invalidates(mr) : all_messages(mr);
	/* Its queue pair must not use it any more. */
	rdma_disconnect(near.id);
	ib_dereg_mr(mr);
	return good;
}

static int __init extended_init(void)
{
	words = alloc_pages_exact(2 * BYTES, GFP_KERNEL | __GFP_ZERO);
	if (!words)
		return -ENOMEM;
	if (run())
		strscpy(result, "ok", sizeof(result));
	side_end(&near);
	side_end(&far);
	if (!IS_ERR_OR_NULL(listener))
		rdma_destroy_id(listener);
	if (!IS_ERR_OR_NULL(pd))
		ib_dealloc_pd(pd);
	return 0;
}

static void __exit extended_exit(void)
{
	free_pages_exact(words, 2 * BYTES);
}

module_init(extended_init);
module_exit(extended_exit);
MODULE_DESCRIPTION("kernel consumer of RFC 7306 and of fast-register regions");
MODULE_LICENSE("GPL");
