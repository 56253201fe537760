// SPDX-License-Identifier: GPL-2.0-only
/*
 * Driver-specific details of queues, regions and identifiers for `rdma -dd
 * resource show`. All users can read them, so they contain no address and no
 * STag.
 *
 * The core keeps the memory of an object while it is shown, but not in all
 * releases what belongs to the driver. The comments below tell for each kind
 * what keeps that.
 */
#include <net/netlink.h>
#include <net/sock.h>
#include <rdma/rdma_cm.h>
#include <rdma/restrack.h>
#include <uapi/rdma/rdma_netlink.h>

#include "cq.h"
#include "details.h"
#include "device.h"
#include "ep.h"
#include "listen.h"
#include "listener.h"
#include "mr.h"
#include "qp.h"
#include "reads.h"
#include "ring.h"
#include "rq.h"
#include "srq.h"
#include "ulp/mpa.h"

/**
 * struct detail - a name and a value
 * @name: the name
 * @value: number
 * @word: string in place of the number, or NULL
 */
struct detail {
	const char *name;
	u32 value;
	const char *word;
};

static int details_put(struct sk_buff *msg, const struct detail *d, size_t nr)
{
	int ret = 0;

	for (; nr && !ret; nr--, d++)
		ret = d->word ? rdma_nl_put_driver_string(msg, d->name, d->word)
			      : rdma_nl_put_driver_u32(msg, d->name, d->value);
	return ret;
}

/* Ends the nest of nla_nest_start(), which may be NULL. */
static int details_end(struct sk_buff *msg, struct nlattr *nest, int ret)
{
	if (!nest)
		return -EMSGSIZE;
	if (ret) {
		nla_nest_cancel(msg, nest);
		return -EMSGSIZE;
	}
	nla_nest_end(msg, nest);
	return 0;
}

static int details_put_result(struct sk_buff *msg, const struct mpa_result *r)
{
	const struct detail details[] = {
		{ "role", .word = r->initiator ? "initiator" : "responder" },
		{ "revision", r->rev },
		{ "ddp_version", r->ddp_version },
		{ "enhanced", r->enhanced },
		{ "start_key", r->start_key },
		{ "peer_to_peer", r->p2p },
		{ "rtr", r->rtr },
		{ "tx_markers", r->tx_markers },
		{ "rx_markers", r->rx_markers },
		{ "crc", r->crc },
		{ "ird", r->ird },
		{ "ord", r->ord },
		{ "peer_ird", r->peer_ird },
		{ "peer_ord", r->peer_ord },
		{ "rdmap_extensions", r->extensions },
	};

	return details_put(msg, details, ARRAY_SIZE(details));
}

/* Queue pairs: a reference keeps the rings --------------------------------- */

/**
 * struct details_qp - consistent state of a queue pair
 * @state: its state
 * @sq_posted: send requests not reported yet
 * @sq_taken: those of them that are started
 * @rq_posted: receives not taken yet
 * @receive_wait: as in struct rnic_qp
 * @started: @res is valid
 * @res: result of the startup exchange
 * @cause: what ended the stream
 */
struct details_qp {
	enum rnic_qp_state state;
	u32 sq_posted;
	u32 sq_taken;
	u32 rq_posted;
	s32 receive_wait;
	bool started;
	struct mpa_result res;
	u32 cause;
};

static void details_read_qp(struct rnic_qp *qp, struct details_qp *s)
{
	const struct rnic_sq *sq = &qp->sq;
	unsigned long flags;

	spin_lock_irqsave(&qp->lock, flags);
	s->state = qp->state;
	s->sq_posted = rnic_ring_pending(&sq->ring, sq->retired);
	s->sq_taken = sq->fetched - sq->retired;
	s->rq_posted = rnic_rq_pending(&qp->rq);
	s->receive_wait = qp->receive_wait;
	s->started = qp->started;
	s->res = qp->res;
	s->cause = qp->cause;
	spin_unlock_irqrestore(&qp->lock, flags);
}

static int details_put_queues(struct sk_buff *msg, const struct rnic_qp *qp,
			      const struct details_qp *s)
{
	static const char * const states[] = {
		[RNIC_QP_IDLE]		= "idle",
		[RNIC_QP_RTS]		= "rts",
		[RNIC_QP_CLOSING]	= "closing",
		[RNIC_QP_TERMINATE]	= "terminate",
		[RNIC_QP_ERROR]		= "error",
	};
	const struct detail details[] = {
		{ "mpa_state", .word = states[s->state] },
		{ "sq_size", qp->sq.ring.size },
		{ "sq_posted", s->sq_posted },
		{ "sq_taken", s->sq_taken },
		{ "rq_size", qp->rq.ring.size },
		{ "rq_posted", s->rq_posted },
	};
	const struct detail wait = { "receive_wait_ms", s->receive_wait };
	int ret;

	BUILD_BUG_ON(ARRAY_SIZE(states) != RNIC_QP_STATES);
	ret = details_put(msg, details, ARRAY_SIZE(details));
	if (!ret && s->receive_wait != RNIC_QP_WAIT_SETTING)
		ret = details_put(msg, &wait, 1);
	return ret;
}

/* Adds what changes while the stream runs. */
static int details_put_stream(struct sk_buff *msg, struct rnic_qp *qp)
{
	struct rnic_ep *ep = rnic_qp_ep_get(qp);
	struct detail details[] = {
		{ "mulpdu" },
		{ "reads_out" },
		{ "reads_in" },
	};
	bool live;

	if (!ep)
		return 0;
	lock_sock(ep->sock->sk);
	live = ep->conn && rnic_qp_streaming(qp);
	if (live) {
		details[0].value = mpa_tx_mulpdu(ep->conn);
		details[1].value = rnic_reads_outstanding(&qp->reads);
		details[2].value = qp->reads.in_tail - qp->reads.in_head;
	}
	release_sock(ep->sock->sk);
	rnic_ep_put(ep);
	return live ? details_put(msg, details, ARRAY_SIZE(details)) : 0;
}

/**
 * rnic_fill_qp() - nldev: details of a queue pair
 * @msg: message to add them to
 * @ibqp: the queue pair
 *
 * Process context. Return: 0 or -EMSGSIZE.
 */
int rnic_fill_qp(struct sk_buff *msg, struct ib_qp *ibqp)
{
	struct rnic_qp *qp = to_rnic_qp(ibqp);
	struct details_qp s;
	struct nlattr *nest;
	int ret = 0;

	if (!rnic_qp_try_get(qp))
		return 0;
	details_read_qp(qp, &s);
	nest = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	if (nest)
		ret = details_put_queues(msg, qp, &s);
	if (nest && !ret && s.started)
		ret = details_put_result(msg, &s.res) ?: details_put_stream(msg, qp);
	if (nest && !ret && s.started && s.cause)
		ret = rdma_nl_put_driver_u32_hex(msg, "cause", s.cause);
	rnic_qp_put(qp);
	return details_end(msg, nest, ret);
}

/* Completion queues: rnic_cq.lock keeps the ring until @dead --------------- */

static const char *details_arm_word(u32 arm)
{
	switch (arm) {
	case MPA_ARM_NONE:
		return "none";
	case MPA_ARM_SOLICITED:
		return "solicited";
	case MPA_ARM_NEXT:
		return "next";
	}
	/* A user can write any value. */
	return "invalid";
}

/**
 * rnic_fill_cq() - nldev: details of a completion queue
 * @msg: message to add them to
 * @ibcq: the queue
 *
 * Any context. Return: 0 or -EMSGSIZE.
 */
int rnic_fill_cq(struct sk_buff *msg, struct ib_cq *ibcq)
{
	struct rnic_cq *cq = to_rnic_cq(ibcq);
	struct nlattr *nest;
	unsigned long flags;
	u32 size, used, arm;
	u16 max_held, max_held_us;
	bool overflown;
	int ret = 0;

	spin_lock_irqsave(&cq->lock, flags);
	if (cq->dead) {
		spin_unlock_irqrestore(&cq->lock, flags);
		return 0;
	}
	/* The consumer's index may have any value. */
	size = cq->ring.size;
	used = min(cq->prod - rnic_cq_consumed(cq), size);
	max_held = cq->max_held;
	max_held_us = cq->max_held_us;
	arm = READ_ONCE(cq->ring.hdr->arm);
	overflown = cq->overflown;
	spin_unlock_irqrestore(&cq->lock, flags);

	nest = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	if (nest) {
		const struct detail details[] = {
			{ "cq_size", size },
			{ "cq_used", used },
			{ "armed", .word = details_arm_word(arm) },
			{ "moderation_count", max_held },
			{ "moderation_us", max_held_us },
			{ "overflown", overflown },
		};

		ret = details_put(msg, details, ARRAY_SIZE(details));
	}
	return details_end(msg, nest, ret);
}

/* Shared receive queues: rnic_srq.lock keeps the ring until @dead ---------- */

/**
 * rnic_fill_srq() - nldev: details of a shared receive queue
 * @msg: message to add them to
 * @ibsrq: the queue
 *
 * Any context. Return: 0 or -EMSGSIZE.
 */
int rnic_fill_srq(struct sk_buff *msg, struct ib_srq *ibsrq)
{
	struct rnic_srq *srq = to_rnic_srq(ibsrq);
	struct detail details[] = {
		{ "srq_size", srq->ring.size },
		{ "srq_posted" },
		{ "srq_limit" },
	};
	struct nlattr *nest;
	unsigned long flags;
	bool dead;

	spin_lock_irqsave(&srq->lock, flags);
	dead = srq->dead;
	if (!dead) {
		details[1].value = rnic_ring_pending(&srq->ring, srq->taken);
		details[2].value = srq->limit;
	}
	spin_unlock_irqrestore(&srq->lock, flags);
	if (dead)
		return 0;

	nest = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	return details_end(msg, nest,
			   nest ? details_put(msg, details, ARRAY_SIZE(details)) : 0);
}

/* Memory regions: in every release the core waits -------------------------- */

/**
 * rnic_fill_mr_stat() - nldev: what peers have done with a memory region
 * @msg: message to add it to
 * @ibmr: the region
 *
 * Process context. Return: 0 or -EMSGSIZE.
 */
int rnic_fill_mr_stat(struct sk_buff *msg, struct ib_mr *ibmr)
{
	struct rnic_mr_traffic *t = &to_rnic_mr(ibmr)->traffic;
	struct nlattr *nest;
	int ret = 0;

	nest = nla_nest_start(msg, RDMA_NLDEV_ATTR_STAT_HWCOUNTERS);
	if (nest &&
	    (rdma_nl_stat_hwcounter_entry(msg, "remote_write_bytes",
					  atomic64_read(&t->written)) ||
	     rdma_nl_stat_hwcounter_entry(msg, "remote_read_bytes",
					  atomic64_read(&t->read)) ||
	     rdma_nl_stat_hwcounter_entry(msg, "remote_atomics",
					  atomic64_read(&t->atomics))))
		ret = -EMSGSIZE;
	return details_end(msg, nest, ret);
}

/**
 * rnic_fill_mr() - nldev: details of a memory region
 * @msg: message to add them to
 * @ibmr: the region
 *
 * Process context. Return: 0 or -EMSGSIZE.
 */
int rnic_fill_mr(struct sk_buff *msg, struct ib_mr *ibmr)
{
	static const char * const kinds[] = {
		[RNIC_MR_USER]		= "user",
		[RNIC_MR_DMA]		= "dma",
		[RNIC_MR_FAST_REG]	= "fast_reg",
	};
	struct rnic_mr *mr = to_rnic_mr(ibmr);
	struct detail details[] = {
		{ "kind", .word = kinds[mr->kind] },
		{ "stag_valid" },
		{ "pages" },
		{ "page_size" },
		{ "senders" },
		{ "windows" },
	};
	struct nlattr *nest;
	u32 access;
	int ret = 0;

	if (mr->dmabuf.buf)
		details[0].word = "dmabuf";
	rnic_mr_read_lock(mr);
	details[1].value = mr->valid;
	details[2].value = mr->nr_pages;
	details[3].value = mr->nr_pages ? 1U << mr->page_shift : 0;
	details[5].value = mr->nr_windows;
	access = mr->access & ~RNIC_MR_LOCAL_READ;
	rnic_mr_read_unlock(mr);
	details[4].value = refcount_read(&mr->refs) - 1;

	nest = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	if (nest)
		ret = details_put(msg, details, ARRAY_SIZE(details)) ?:
		      rdma_nl_put_driver_u32_hex(msg, "access", access);
	return details_end(msg, nest, ret);
}

/*
 * Identifiers: that of the core may be being destroyed, so it is only a key for
 * the lookup of an endpoint or listener, which is locked or has a reference.
 */

static int details_put_ep(struct sk_buff *msg, struct rnic_ep *ep)
{
	struct sock *sk = ep->sock->sk;
	struct detail details[] = {
		{ "mpa_state" },
		{ "role",
		  .word = ep->role->responder ? "responder" : "initiator" },
		{ "listen_id",
		  ep->listener ? rnic_listener_id(ep->listener) : 0 },
		{ "ird" },
		{ "ord" },
		{ "mpa_qpn" },
	};

	lock_sock(sk);
	details[0].word = rnic_ep_state_name(ep->state);
	details[3].value = ep->ird;
	details[4].value = ep->ord;
	details[5].value = ep->qpn;
	release_sock(sk);
	return details_put(msg, details, ARRAY_SIZE(details));
}

static int details_put_listener(struct sk_buff *msg, const struct mpa_node_view *v)
{
	const struct detail details[] = {
		{ "mpa_state", .word = "listening" },
		{ "listen_id", v->id },
		{ "backlog", v->backlog },
		{ "half_open", v->half_open },
	};

	return details_put(msg, details, ARRAY_SIZE(details));
}

static int details_fill_listener(struct sk_buff *msg, struct rnic_dev *dev,
				 const struct iw_cm_id *cm_id)
{
	struct mpa_node_view *v = kzalloc(sizeof(*v), GFP_KERNEL);
	struct nlattr *nest;
	int ret = 0;

	if (v && rnic_listener_of_id(dev, cm_id, v)) {
		nest = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
		ret = details_end(msg, nest, nest ? details_put_listener(msg, v) : 0);
	}
	kfree(v);
	return ret;
}

/**
 * rnic_fill_cm_id() - nldev: details of a connection identifier
 * @msg: message to add them to
 * @id: identifier of rdma_cm
 *
 * Process context. Return: 0 or -EMSGSIZE.
 */
int rnic_fill_cm_id(struct sk_buff *msg, struct rdma_cm_id *id)
{
	struct rnic_dev *dev = to_rnic_dev(id->device);
	const struct iw_cm_id *cm_id = rdma_iw_cm_id(id);
	struct nlattr *nest;
	struct rnic_ep *ep;
	int ret = 0;

	if (!cm_id)
		return 0;
	ep = rnic_ep_of_id(dev, cm_id);
	if (!ep)
		return details_fill_listener(msg, dev, cm_id);
	nest = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	if (nest)
		ret = details_put_ep(msg, ep);
	rnic_ep_put(ep);
	return details_end(msg, nest, ret);
}
