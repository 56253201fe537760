// SPDX-License-Identifier: GPL-2.0-only
/* Queue pairs: create, modify, query, destroy, post. */
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <net/sock.h>
#include <rdma/uverbs_ioctl.h>

#include "compat/verbs.h"
#include "cq.h"
#include "device.h"
#include "doorbell.h"
#include "early.h"
#include "ep.h"
#include "mw.h"
#include "qp.h"
#include "qp_stream.h"
#include "qp_verbs.h"
#include "qpn.h"
#include "reads.h"
#include "ring.h"
#include "rq.h"
#include "rqe.h"
#include "sq.h"
#include "sq_atomic.h"
#include "srq.h"
#include "tx.h"
#include "ucontext.h"

enum {
	/* Accepted rights. */
	RNIC_QP_ACCESS_KNOWN	= RNIC_QP_ACCESS_DEFAULT | IB_ACCESS_LOCAL_WRITE |
				  IB_ACCESS_REMOTE_ATOMIC | IB_ACCESS_MW_BIND,
	/*
	 * Accepted without effect: IB_ACCESS_FLUSH_GLOBAL and _PERSISTENT of later
	 * kernels. There is no such message, and programs find out by no other
	 * bit of a device whether they may set them.
	 */
	RNIC_QP_ACCESS_FLUSH	= BIT(8) | BIT(9),
};

/* Modify and query --------------------------------------------------------- */

static int rnic_qp_to_idle(struct rnic_qp *qp, enum ib_qp_state to)
{
	lockdep_assert_held(&qp->lock);
	if (qp->state != RNIC_QP_IDLE)
		return -EINVAL;
	qp->ib_state = to;
	return 0;
}

/* Only the connection manager moves a QP to RTS; in RTS this succeeds. */
static int rnic_qp_to_rts(struct rnic_qp *qp)
{
	lockdep_assert_held(&qp->lock);
	return qp->state == RNIC_QP_RTS ? 0 : -EINVAL;
}

/* An orderly end. Does nothing if the stream is ending already. */
static int rnic_qp_to_sqd(struct rnic_qp *qp)
{
	lockdep_assert_held(&qp->lock);
	if (qp->state == RNIC_QP_IDLE)
		return -EINVAL;
	rnic_qp_move(qp, RNIC_QP_CLOSING);
	return 0;
}

static int rnic_qp_set_locked(struct rnic_qp *qp, enum ib_qp_state to)
{
	switch (to) {
	case IB_QPS_INIT:
	case IB_QPS_RTR:
		return rnic_qp_to_idle(qp, to);
	case IB_QPS_RTS:
		return rnic_qp_to_rts(qp);
	case IB_QPS_SQD:
		return rnic_qp_to_sqd(qp);
	case IB_QPS_ERR:
		return 0;
	default:
		return -EINVAL;
	}
}

static bool rnic_qp_quiet(const struct rnic_qp *qp)
{
	const struct rnic_tx *tx = &qp->tx;
	/* A Read Response that was started and had no buffer space. */
	bool unsent = tx->kind == RNIC_TX_RESPONSE && !tx->off;
	/* After a fault, requests are only left to be flushed. */
	bool drained = rnic_sq_drained(&qp->sq) ||
		       READ_ONCE(qp->state) == RNIC_QP_TERMINATE;

	return (tx->kind == RNIC_TX_NONE || unsent) && !qp->rq.busy &&
	       !qp->rx.writing && drained;
}

/*
 * The consumer moves the QP to ERR. If no message is in progress, TCP delivers
 * what it has taken. Otherwise RST reports the truncated message.
 */
static void rnic_qp_to_error(struct rnic_qp *qp)
{
	struct rnic_end end = {
		.send_status = MPA_WC_WR_FLUSH_ERR,
		.recv_status = MPA_WC_WR_FLUSH_ERR,
		.event = -1,
		.how = rnic_qp_quiet(qp) ? RNIC_EP_END_RELEASE
					: RNIC_EP_END_ABORT,
	};

	rnic_qp_kill(qp, &end);
}

static void rnic_qp_set_attrs(struct rnic_qp *qp, const struct ib_qp_attr *attr,
			      int mask)
{
	lockdep_assert_held(&qp->lock);
	if (mask & IB_QP_ACCESS_FLAGS)
		WRITE_ONCE(qp->access,
			   attr->qp_access_flags & RNIC_QP_ACCESS_KNOWN);
	if (mask & IB_QP_EN_SQD_ASYNC_NOTIFY)
		qp->drain_event = attr->en_sqd_async_notify;
}

/*
 * Changes a QP whose endpoint is @ep, or that has none with @ep NULL: its state
 * and the other attributes, or nothing. -EAGAIN if the endpoint has changed, so
 * that another lock is needed.
 */
static int rnic_qp_set(struct rnic_qp *qp, struct rnic_ep *ep,
		       const struct ib_qp_attr *attr, int mask)
{
	unsigned long flags;
	int ret = -EAGAIN;

	spin_lock_irqsave(&qp->lock, flags);
	if (qp->ep == ep)
		ret = rnic_qp_set_locked(qp, attr->qp_state);
	/* An idle QP could be bound again; in ERROR it cannot. */
	if (!ret && attr->qp_state == IB_QPS_ERR && qp->state == RNIC_QP_IDLE)
		rnic_qp_move(qp, RNIC_QP_ERROR);
	if (!ret)
		rnic_qp_set_attrs(qp, attr, mask);
	spin_unlock_irqrestore(&qp->lock, flags);
	return ret;
}

/*
 * Acts on a move, under the same lock. A QP without an endpoint is in ERROR by
 * now and has no stream to end; one that it gets in the meantime, after RESET,
 * is not meant.
 */
static void rnic_qp_follow(struct rnic_qp *qp, struct rnic_ep *ep,
			   enum ib_qp_state to)
{
	if (to == IB_QPS_SQD && ep) {
		rnic_qp_kick(qp);
		rnic_ep_end(ep, RNIC_EP_END_SOON);
	} else if (to == IB_QPS_ERR) {
		if (ep)
			rnic_qp_to_error(qp);
		/* For a QP that was in ERROR or TERMINATE already. */
		rnic_qp_want_doorbell(qp);
		rnic_qp_flush(qp);
		if (ep)
			rnic_ep_end(ep, RNIC_EP_END_RELEASE);
	}
}

static int rnic_qp_try_state(struct rnic_qp *qp, const struct ib_qp_attr *attr,
			     int mask)
{
	struct rnic_ep *ep = rnic_qp_ep_get(qp);
	int ret;

	if (ep)
		lock_sock(ep->sock->sk);
	/* A Terminate that must be sent goes first. */
	if (ep && READ_ONCE(qp->state) == RNIC_QP_TERMINATE)
		rnic_tx_run(qp, ep);
	ret = rnic_qp_set(qp, ep, attr, mask);
	if (!ret)
		rnic_qp_follow(qp, ep, attr->qp_state);
	if (ep) {
		release_sock(ep->sock->sk);
		rnic_ep_put(ep);
	}
	return ret;
}

static int rnic_qp_set_state(struct rnic_qp *qp, const struct ib_qp_attr *attr,
			     int mask)
{
	int ret;

	/* Ends soon: the endpoint of a QP rarely changes. */
	do {
		ret = rnic_qp_try_state(qp, attr, mask);
	} while (ret == -EAGAIN);
	return ret;
}

static void rnic_qp_set_error(struct rnic_qp *qp)
{
	const struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	rnic_qp_set_state(qp, &attr, IB_QP_STATE);
}

/*
 * Moves from ERROR to IDLE, which ends RESET. Returns false if the QP has
 * another state, a stream, or an identifier of the connection manager.
 */
static bool rnic_qp_begin_again(struct rnic_qp *qp)
{
	unsigned long flags;
	bool idle;

	spin_lock_irqsave(&qp->lock, flags);
	idle = !qp->ep && !qp->cm_ids && rnic_qp_move(qp, RNIC_QP_IDLE);
	if (idle) {
		rnic_sq_forget(qp);
		rnic_rq_forget(qp);
		rnic_qp_forget_end(qp);
		rnic_qp_set_extensions(qp, false);
		qp->started = false;
		qp->ib_state = IB_QPS_INIT;
		qp->access = RNIC_QP_ACCESS_DEFAULT;
		qp->drain_event = false;
		qp->discard = false;
	}
	spin_unlock_irqrestore(&qp->lock, flags);
	return idle;
}

/*
 * One RESET at a time: until it has ended, nothing binds the QP again, so each
 * ends. Returns true if it is the caller's turn.
 */
static bool rnic_qp_discard(struct rnic_qp *qp)
{
	unsigned long flags;
	bool mine;

	spin_lock_irqsave(&qp->lock, flags);
	mine = !qp->discard;
	qp->discard = true;
	spin_unlock_irqrestore(&qp->lock, flags);
	return mine;
}

/* Only for kernel consumers; the provider does it for users. */
static void rnic_qp_forget_completions(struct rnic_qp *qp)
{
	if (qp->user)
		return;
	rnic_cq_forget(qp->scq, qp->cqe_qp);
	if (qp->rcq != qp->scq)
		rnic_cq_forget(qp->rcq, qp->cqe_qp);
}

/* The QP completes nothing more. */
static void rnic_qp_raise_held(struct rnic_qp *qp)
{
	rnic_cq_hold_no_more(qp->scq);
	if (qp->rcq != qp->scq)
		rnic_cq_hold_no_more(qp->rcq);
}

/*
 * Programs written for InfiniBand join two queue pairs by their numbers and a
 * path between their ports.
 */
static int rnic_qp_refuse_path(const struct rnic_qp *qp)
{
	ibdev_info_ratelimited(&qp->dev->ibdev,
			       "queue pairs are connected by rdma_cm, not by number\n");
	return -EOPNOTSUPP;
}

/*
 * RESET, from any state: ends a stream at once, and waits for the endpoint,
 * which does not wait for the peer, and for the connection manager: it would
 * end the next connection in place of this one.
 */
static int rnic_qp_reset(struct rnic_qp *qp)
{
	wait_event(qp->unused, rnic_qp_discard(qp));
	do {
		rnic_qp_set_error(qp);
		wait_event(qp->unused, !rnic_qp_in_use(qp));
		/* The next peer gets no window of this one. */
		rnic_mw_leave(qp);
		/* Discard completions before the QP can be used again. */
		rnic_qp_forget_completions(qp);
	} while (!rnic_qp_begin_again(qp));
	wake_up(&qp->unused);
	return 0;
}

/**
 * rnic_modify_qp() - verbs: modify_qp
 * @ibqp: the QP
 * @attr: new attributes
 * @mask: which ones; those that are neither refused nor named below are accepted
 *	without effect
 * @udata: input of the provider, which must be zero; NULL for kernel consumers
 *
 * State, access rights, and the event of an empty send queue are changed, all of
 * them or none, except with RESET.
 *
 * RESET is legal in every state: it ends the stream, waits for that, sets all
 * attributes but the time that messages wait for a receive to those of a new QP,
 * and discards posted requests and the unpolled completions of a kernel consumer.
 * Sleeps. As rnic_destroy_qp(), it waits for the connection manager; so the
 * handler of a kernel consumer may call either only in the event that ends the
 * connection of this QP.
 *
 * Return: 0, -EOPNOTSUPP (unknown attributes, those of a peer, other sizes of the
 * queues, path migration), -EINVAL (illegal move, unknown rights, unknown input of
 * the provider).
 */
int rnic_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		   struct ib_udata *udata)
{
	struct rnic_qp *qp = to_rnic_qp(ibqp);
	unsigned long flags;

	if (mask & ~IB_QP_ATTR_STANDARD_BITS ||
	    mask & (IB_QP_CAP | IB_QP_PATH_MIG_STATE | IB_QP_ALT_PATH))
		return -EOPNOTSUPP;
	if (mask & (IB_QP_AV | IB_QP_DEST_QPN))
		return rnic_qp_refuse_path(qp);
	if (!rnic_udata_clear(udata))
		return -EINVAL;
	if (mask & IB_QP_ACCESS_FLAGS &&
	    attr->qp_access_flags &
	    ~(RNIC_QP_ACCESS_KNOWN | RNIC_QP_ACCESS_FLUSH))
		return -EINVAL;
	if (mask & IB_QP_STATE && attr->qp_state == IB_QPS_RESET)
		return rnic_qp_reset(qp);
	if (mask & IB_QP_STATE)
		return rnic_qp_set_state(qp, attr, mask);
	spin_lock_irqsave(&qp->lock, flags);
	rnic_qp_set_attrs(qp, attr, mask);
	spin_unlock_irqrestore(&qp->lock, flags);
	return 0;
}

static enum ib_qp_state rnic_qp_ib_state(const struct rnic_qp *qp)
{
	switch (qp->state) {
	case RNIC_QP_IDLE:
		return qp->ib_state;
	case RNIC_QP_RTS:
		return IB_QPS_RTS;
	case RNIC_QP_CLOSING:
		return IB_QPS_SQD;
	default:
		return IB_QPS_ERR;
	}
}

static void rnic_qp_report_cap(const struct rnic_qp *qp, struct ib_qp_cap *cap)
{
	cap->max_send_wr = qp->sq.ring.size;
	cap->max_recv_wr = qp->rq.ring.size;
	cap->max_send_sge = qp->sq.max_sge;
	/* Receives are not posted to a QP that uses a shared queue. */
	cap->max_recv_sge = qp->rq.srq ? 0 : qp->rq.max_sge;
	cap->max_inline_data = qp->sq.max_inline;
}

/**
 * rnic_query_qp() - verbs: query_qp
 * @ibqp: the QP
 * @attr: filled in; attributes that do not apply to iWARP are 0
 * @mask: ignored, all attributes are reported
 * @init: filled in likewise
 *
 * Return: 0.
 */
int rnic_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_qp_init_attr *init)
{
	struct rnic_qp *qp = to_rnic_qp(ibqp);
	unsigned long flags;

	/* The core copies all of it to users and does not clear it. */
	memset(attr, 0, sizeof(*attr));
	memset(init, 0, sizeof(*init));
	spin_lock_irqsave(&qp->lock, flags);
	attr->qp_state = rnic_qp_ib_state(qp);
	attr->cur_qp_state = attr->qp_state;
	attr->qp_access_flags = qp->access;
	attr->max_rd_atomic = qp->reads.ord;
	attr->max_dest_rd_atomic = qp->reads.ird;
	attr->sq_draining = qp->state == RNIC_QP_CLOSING &&
			    !rnic_sq_drained(&qp->sq);
	attr->en_sqd_async_notify = qp->drain_event;
	spin_unlock_irqrestore(&qp->lock, flags);

	attr->path_mtu = ib_mtu_int_to_enum(qp->dev->netdev->mtu);
	attr->port_num = 1;
	rnic_qp_report_cap(qp, &attr->cap);

	init->qp_type = ibqp->qp_type;
	init->send_cq = ibqp->send_cq;
	init->recv_cq = ibqp->recv_cq;
	init->srq = ibqp->srq;
	mpa_qp_report_handler(ibqp, init);
	init->qp_context = ibqp->qp_context;
	init->sq_sig_type = qp->sq.sig_all ? IB_SIGNAL_ALL_WR :
					     IB_SIGNAL_REQ_WR;
	init->cap = attr->cap;
	return 0;
}

/* Create and destroy ------------------------------------------------------- */

static int rnic_qp_check(const struct ib_qp_init_attr *attr)
{
	const struct ib_qp_cap *cap = &attr->cap;

	if (attr->qp_type != IB_QPT_RC || attr->create_flags)
		return -EOPNOTSUPP;
	if (!attr->send_cq || !attr->recv_cq)
		return -EINVAL;
	if (cap->max_send_wr > RNIC_MAX_QP_WR ||
	    cap->max_send_sge > MPA_MAX_SGE ||
	    cap->max_inline_data > MPA_MAX_INLINE)
		return -EINVAL;
	if (!attr->srq && (cap->max_recv_wr > RNIC_MAX_QP_WR ||
			   cap->max_recv_sge > MPA_MAX_SGE))
		return -EINVAL;
	return 0;
}

/* Only kernel consumers have masks of atomic operations. */
static u32 rnic_sqe_stride(u32 sges, u32 inlined, bool user)
{
	u32 room = max_t(u32, sges * sizeof(struct mpa_sge), inlined);

	room = max_t(u32, room, sizeof(struct mpa_atomic) +
				(user ? 0 : sizeof(struct rnic_atomic_masks)));
	return round_up(sizeof(struct mpa_sqe) + room, 32);
}

/* Returns bytes of the ring. */
static u64 rnic_sq_plan(struct rnic_sq *sq, const struct ib_qp_init_attr *attr,
			bool user)
{
	u32 sges = max_t(u32, attr->cap.max_send_sge, 1);
	u32 stride = rnic_sqe_stride(sges, attr->cap.max_inline_data, user);

	sq->max_sge = sges;
	sq->max_inline = min_t(u32, stride - sizeof(struct mpa_sqe),
			       MPA_MAX_INLINE);
	sq->sig_all = attr->sq_sig_type == IB_SIGNAL_ALL_WR;
	return rnic_ring_plan(&sq->ring, max_t(u32, attr->cap.max_send_wr, 1),
			      stride);
}

/* Returns bytes of the ring: none if the QP uses a shared receive queue. */
static u64 rnic_rq_plan(struct rnic_rq *rq, const struct ib_qp_init_attr *attr)
{
	if (rq->srq) {
		rq->max_sge = rq->srq->max_sge;
		return 0;
	}
	rq->max_sge = max_t(u32, attr->cap.max_recv_sge, 1);
	return rnic_ring_plan(&rq->ring, max_t(u32, attr->cap.max_recv_wr, 1),
			      rnic_rqe_stride(rq->max_sge));
}

/* Without a receive ring, the send ring may have all of the area. */
static u32 rnic_rq_offset(const struct rnic_qp *qp)
{
	if (qp->rq.srq)
		return qp->rings.len;
	return (u8 *)qp->rq.ring.hdr - (u8 *)qp->rings.mem;
}

static int rnic_qp_respond(struct rnic_qp *qp, struct ib_udata *udata)
{
	struct mpa_create_qp_resp resp = {
		.key = rnic_area_key(&qp->rings),
		.len = qp->rings.len,
		.rq_offset = rnic_rq_offset(qp),
		.num_sqe = qp->sq.ring.size,
		.num_rqe = qp->rq.ring.size,
		.sqe_stride = qp->sq.ring.stride,
		.rqe_stride = qp->rq.ring.stride,
		.max_inline = qp->sq.max_inline,
		.qp_num = qp->ibqp.qp_num,
		.doorbell = qp->bell,
	};

	/* Older providers have no room for what came later. */
	if (udata->outlen < offsetofend(struct mpa_create_qp_resp, qp_num))
		return -EINVAL;
	return ib_copy_to_udata(udata, &resp,
				min(udata->outlen, sizeof(resp)));
}

/*
 * Reserves a number, by which the QP cannot be found yet. Numbers cannot be
 * predicted from others, and one is reused only after all others. 0 and 1 are
 * special QPs for the core; in completion queues, index 0 is none. The loop ends,
 * since at most RNIC_MAX_QP of 2^24 numbers are in use.
 */
static int rnic_qp_reserve(struct rnic_qp *qp)
{
	struct rnic_dev *dev = qp->dev;
	u32 index, qpn;
	int ret;

	do {
		index = atomic_inc_return(&dev->next_qp) & RNIC_QPN_MASK;
		qpn = rnic_qpn_of(&dev->qpn_key, index);
		ret = !index || qpn < 2 ? -EBUSY : xa_insert_irq(&dev->qps, index, NULL,
						       GFP_KERNEL_ACCOUNT);
	} while (ret == -EBUSY);
	if (ret)
		return ret;
	qp->index = index;
	qp->ibqp.qp_num = qpn;
	qp->cqe_qp = qp->user ? qpn : index;
	return 0;
}

static void rnic_qp_free_queues(struct rnic_qp *qp)
{
	rnic_reads_destroy(&qp->reads);
	rnic_early_destroy(qp->rx.sink.early);
	if (qp->entries != qp->few_entries)
		kfree(qp->entries);
	kvfree(qp->sq.wr);
	rnic_area_destroy(&qp->rings);
}

/* Returns false if there is no memory. */
static bool rnic_qp_alloc_entries(struct rnic_qp *qp)
{
	u32 sq_len = qp->user ? qp->sq.ring.stride : 0;
	u32 rq_len = qp->user || qp->rq.srq ? rnic_rqe_stride(qp->rq.max_sge) : 0;

	qp->entries = qp->few_entries;
	if (sq_len + rq_len > sizeof(qp->few_entries))
		qp->entries = kzalloc(sq_len + rq_len, GFP_KERNEL_ACCOUNT);
	if (!qp->entries)
		return false;
	if (sq_len)
		qp->sq.cur = qp->entries;
	if (rq_len)
		qp->rq.cur = qp->entries + sq_len;
	return true;
}

/* Both rings are in one area, so that small ones fit into one page. */
static int rnic_qp_alloc_queues(struct rnic_qp *qp, struct ib_qp_init_attr *attr,
				struct ib_ucontext *uctx)
{
	u64 sq_len = rnic_sq_plan(&qp->sq, attr, qp->user);
	u64 rq_len = rnic_rq_plan(&qp->rq, attr);
	int ret;

	ret = rnic_area_create(&qp->rings, RNIC_OWNED_QP, uctx, sq_len + rq_len);
	if (ret)
		return ret;
	rnic_ring_place(&qp->sq.ring, &qp->rings, 0);
	if (rq_len)
		rnic_ring_place(&qp->rq.ring, &qp->rings, sq_len);
	qp->sq.wr = kvcalloc(qp->sq.ring.size, sizeof(*qp->sq.wr),
			     GFP_KERNEL_ACCOUNT | __GFP_NOWARN |
			     __GFP_RETRY_MAYFAIL);
	if (qp->sq.wr && rnic_qp_alloc_entries(qp))
		return 0;
	rnic_qp_free_queues(qp);
	return -ENOMEM;
}

static void rnic_qp_init(struct rnic_qp *qp, struct rnic_dev *dev, bool user,
			 struct ib_qp_init_attr *attr)
{
	qp->dev = dev;
	qp->user = user;
	qp->state = RNIC_QP_IDLE;
	qp->ib_state = IB_QPS_INIT;
	qp->access = RNIC_QP_ACCESS_DEFAULT;
	qp->receive_wait = RNIC_QP_WAIT_SETTING;
	rnic_qp_forget_end(qp);
	init_waitqueue_head(&qp->unused);
	qp->scq = to_rnic_cq(attr->send_cq);
	qp->rcq = to_rnic_cq(attr->recv_cq);
	qp->rq.srq = attr->srq ? to_rnic_srq(attr->srq) : NULL;
	qp->rq.pd = attr->srq ? attr->srq->pd : qp->ibqp.pd;
	kref_init(&qp->ref);
	init_completion(&qp->freed);
	spin_lock_init(&qp->lock);
	INIT_LIST_HEAD(&qp->windows);
	rnic_reads_init(&qp->reads);
	INIT_WORK(&qp->tx_work, rnic_tx_work);
	INIT_DELAYED_WORK(&qp->tx_retry, rnic_tx_retry_work);
}

/**
 * rnic_create_qp() - verbs: create_qp
 * @ibqp: the QP, zeroed
 * @attr: requested attributes; the capabilities are set to those granted
 * @udata: the user's response buffer, NULL for kernel consumers
 *
 * With a shared receive queue it has no receive ring, and max_recv_wr and
 * max_recv_sge are ignored.
 *
 * Return: 0, -EOPNOTSUPP (not RC, flags), -EINVAL (beyond the limits,
 * unknown input of the provider), -ENOMEM (no memory, or the device or the
 * context has reached its limit), -EFAULT.
 */
int rnic_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr,
		   struct ib_udata *udata)
{
	struct rnic_ucontext *uctx = rdma_udata_to_drv_context(udata,
					struct rnic_ucontext, ibuctx);
	struct rnic_dev *dev = to_rnic_dev(ibqp->device);
	struct rnic_qp *qp = to_rnic_qp(ibqp);
	int ret;

	ret = rnic_qp_check(attr);
	if (ret)
		return ret;
	if (!rnic_udata_clear(udata))
		return -EINVAL;
	if (atomic_inc_return(&dev->nr_qp) > RNIC_MAX_QP) {
		ret = -ENOMEM;
		goto err_count;
	}
	rnic_qp_init(qp, dev, udata, attr);
	ret = rnic_qp_alloc_queues(qp, attr, uctx ? &uctx->ibuctx : NULL);
	if (ret)
		goto err_count;
	ret = rnic_qp_reserve(qp);
	if (ret)
		goto err_queues;
	if (uctx) {
		ret = rnic_bells_add(uctx, qp);
		if (ret)
			goto err_number;
		ret = rnic_qp_respond(qp, udata);
		if (ret)
			goto err_bell;
	}
	rnic_qp_report_cap(qp, &attr->cap);
	/*
	 * Last, since it can be connected from now on. The entry is reserved.
	 */
	WARN_ON(xa_err(xa_store_irq(&dev->qps, qp->index, qp, GFP_KERNEL)));
	if (uctx)
		rnic_bells_publish(uctx, qp);
	return 0;

err_bell:
	rnic_bells_remove(uctx, qp);
err_number:
	xa_erase_irq(&dev->qps, qp->index);
err_queues:
	rnic_qp_free_queues(qp);
err_count:
	atomic_dec(&dev->nr_qp);
	return ret;
}

/*
 * Nobody waits for the last entry of a QP that is being destroyed. The provider removes
 * all completions of a user's QP: more of them could only overrun completion queues, and
 * end other QPs that use them.
 */
static void rnic_qp_begin_destroy(struct rnic_qp *qp)
{
	unsigned long flags;

	spin_lock_irqsave(&qp->lock, flags);
	qp->rq.ended = true;
	qp->discard = qp->user;
	spin_unlock_irqrestore(&qp->lock, flags);
}

/**
 * rnic_destroy_qp() - verbs: destroy_qp
 * @ibqp: the QP; its stream, if any, ends
 * @udata: unused
 *
 * Waits until the endpoint and the connection manager release it, which does
 * not depend on the peer. Return: 0.
 */
int rnic_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct rnic_qp *qp = to_rnic_qp(ibqp);

	if (qp->user)
		rnic_bells_remove(qp->rings.uctx, qp);
	rnic_qp_begin_destroy(qp);
	rnic_qp_set_error(qp);
	/* Lookups by number take a reference under the lock of the table. */
	xa_erase_irq(&qp->dev->qps, qp->index);
	if (cancel_delayed_work(&qp->tx_retry))
		rnic_qp_put(qp);
	rnic_qp_put(qp);
	wait_for_completion(&qp->freed);
	rnic_mw_leave(qp);
	rnic_qp_raise_held(qp);
	rnic_qp_forget_completions(qp);
	rnic_qp_free_queues(qp);
	atomic_dec(&qp->dev->nr_qp);
	return 0;
}

/* Post --------------------------------------------------------------------- */

/**
 * rnic_post_send() - verbs: post_send, and the doorbell of user rings
 * @ibqp: the QP
 * @wr: work requests of a kernel consumer; NULL is a user's doorbell
 * @bad: the first request refused
 *
 * Return: 0, -EINVAL (malformed, or @wr of a user), -ENOMEM (queue full),
 * -ENOTCONN (never connected), -EOPNOTSUPP (the peer would not understand it).
 */
int rnic_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		   const struct ib_send_wr **bad)
{
	struct rnic_qp *qp = to_rnic_qp(ibqp);
	unsigned long flags;
	int ret = 0;

	if (qp->user) {
		if (wr) {
			*bad = wr;
			return -EINVAL;
		}
		rnic_tx_doorbell(qp);
		return 0;
	}
	spin_lock_irqsave(&qp->lock, flags);
	for (; wr; wr = wr->next) {
		ret = rnic_sq_post(qp, wr);
		if (ret) {
			*bad = wr;
			break;
		}
	}
	spin_unlock_irqrestore(&qp->lock, flags);
	rnic_qp_kick(qp);
	return ret;
}

/**
 * rnic_post_recv() - verbs: post_recv of kernel consumers
 * @ibqp: the QP
 * @wr: work requests
 * @bad: the first request refused
 *
 * Return: 0, -EINVAL (malformed, a call of a user, or a shared receive queue),
 * -ENOMEM (queue full).
 */
int rnic_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		   const struct ib_recv_wr **bad)
{
	struct rnic_qp *qp = to_rnic_qp(ibqp);
	unsigned long flags;
	bool flush;
	int ret = 0;

	if (qp->user) {
		*bad = wr;
		return -EINVAL;
	}
	spin_lock_irqsave(&qp->lock, flags);
	for (; wr; wr = wr->next) {
		ret = rnic_rq_post(qp, wr);
		if (ret) {
			*bad = wr;
			break;
		}
	}
	flush = qp->state == RNIC_QP_TERMINATE || qp->state == RNIC_QP_ERROR;
	spin_unlock_irqrestore(&qp->lock, flags);
	if (flush)
		rnic_qp_kick(qp);
	return ret;
}
