/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The provider's objects, and what its files offer each other.
 *
 * Locks: each send queue, receive queue (shared or not) and completion queue has
 * one, and none is taken while another is held. All are mutexes: a program holds
 * the send queue's between ibv_wr_start() and ibv_wr_complete(), and the
 * completion queue's between ibv_start_poll() and ibv_end_poll(), for as long as
 * it likes.
 */
#ifndef MPA_PROVIDER_H
#define MPA_PROVIDER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "provider_abi.h"
#include "ring.h"

#define mpa_container_of(ptr, type, member)				\
	((type *)((uintptr_t)(ptr) - offsetof(type, member)))

/**
 * struct mpa_device - a device of this driver
 * @base: libibverbs' part
 */
struct mpa_device {
	struct verbs_device base;
};

/**
 * struct mpa_context - an open device
 * @base: libibverbs' part
 * @features: MPA_FEATURE_*, what the module offers
 * @doorbell: descriptor that has posted requests sent; negative: the module has none
 * @doorbell_ioctl: without @doorbell: write() is refused to this process; set once,
 *	atomically
 */
struct mpa_context {
	struct verbs_context base;
	uint32_t features;
	int doorbell;
	bool doorbell_ioctl;
};

/**
 * struct mpa_cq - a completion queue
 * @base: libibverbs' part
 * @lock: protects all below
 * @unlocked: the program promised to use it from one thread only
 * @timed: entries are of struct mpa_cqe_timed; constant
 * @cons: index of the next entry to be read; looked at without the lock, too
 * @area: memory of the header of @ring, and of its entries until the queue is
 *	resized; constant
 * @resized: memory of the entries since then
 * @ring: the entries; its header is constant, and looked at without the lock
 * @unmapped: where @ring is if there was no memory to map it; its entries are 0 then
 * @cur: entry that the program looks at between start_poll and end_poll; its
 *	time is valid if @timed
 */
struct mpa_cq {
	struct verbs_cq base;
	pthread_mutex_t lock;
	bool unlocked;
	bool timed;
	uint32_t cons;
	struct mpa_area area;
	struct mpa_area resized;
	struct mpa_ring ring;
	struct mpa_create_cq_resp unmapped;
	struct mpa_cqe_timed cur;
};

/**
 * struct mpa_wq - a send or receive queue
 * @lock: protects all below
 * @ring: the entries
 * @prod: entries published
 * @next: entries written; runs ahead of @prod only while the lock is held
 * @max_sge: pieces an entry takes
 */
struct mpa_wq {
	pthread_mutex_t lock;
	struct mpa_ring ring;
	uint32_t prod;
	uint32_t next;
	uint32_t max_sge;
};

/**
 * struct mpa_srq - a shared receive queue
 * @base: libibverbs' part
 * @area: memory of the ring
 * @rq: the queue
 */
struct mpa_srq {
	struct ibv_srq base;
	struct mpa_area area;
	struct mpa_wq rq;
};

/**
 * struct mpa_doorbell - the command that makes the kernel look at a send queue
 * @hdr: of the write() interface
 * @cmd: POST_SEND without work requests
 */
struct mpa_doorbell {
	struct ib_uverbs_cmd_hdr hdr;
	struct ib_uverbs_post_send cmd;
};

/**
 * struct mpa_qp - a queue pair
 * @base: libibverbs' part
 * @rings: memory of the rings of both queues
 * @sq: send queue
 * @rq: receive queue; without entries if the queue pair has a shared one
 * @doorbell: its number at the doorbell of the context, or %MPA_NO_DOORBELL
 * @max_inline: bytes of inline data a send entry takes
 * @sq_sig_all: every send entry is signalled
 * @wr_sqe: entry under construction by the ibv_wr functions, or NULL; sq.lock
 * @wr_err: first error since ibv_wr_start(), a positive errno; sq.lock
 */
struct mpa_qp {
	struct verbs_qp base;
	struct mpa_area rings;
	struct mpa_wq sq;
	struct mpa_wq rq;
	uint32_t doorbell;
	uint32_t max_inline;
	bool sq_sig_all;
	struct mpa_sqe *wr_sqe;
	int wr_err;
};

static inline void mpa_cq_lock(struct mpa_cq *cq)
{
	if (!cq->unlocked)
		pthread_mutex_lock(&cq->lock);
}

static inline void mpa_cq_unlock(struct mpa_cq *cq)
{
	if (!cq->unlocked)
		pthread_mutex_unlock(&cq->lock);
}

/* Gives all entries before @cons back to the producer; the lock is held. */
static inline void mpa_cq_consume(struct mpa_cq *cq, uint32_t cons)
{
	__atomic_store_n(&cq->cons, cons, __ATOMIC_RELAXED);
	mpa_ring_consume(&cq->ring, cons);
}

void mpa_cq_map_again(struct mpa_cq *cq);

/* Entries that may be read, or -1; the lock is held. */
static inline int64_t mpa_cq_ready(struct mpa_cq *cq)
{
	if (!cq->ring.entries)
		mpa_cq_map_again(cq);
	return mpa_ring_ready(&cq->ring, cq->cons);
}

static inline struct mpa_context *to_mpa_context(struct ibv_context *context)
{
	return mpa_container_of(context, struct mpa_context, base.context);
}

static inline struct mpa_cq *to_mpa_cq(struct ibv_cq *cq)
{
	return mpa_container_of(cq, struct mpa_cq, base.cq);
}

static inline struct mpa_cq *to_mpa_cq_ex(struct ibv_cq_ex *cq)
{
	return mpa_container_of(cq, struct mpa_cq, base.cq_ex);
}

static inline struct mpa_qp *to_mpa_qp(struct ibv_qp *qp)
{
	return mpa_container_of(qp, struct mpa_qp, base.qp);
}

static inline struct mpa_qp *to_mpa_qp_ex(struct ibv_qp_ex *qp)
{
	return mpa_container_of(qp, struct mpa_qp, base.qp_ex);
}

static inline struct mpa_srq *to_mpa_srq(struct ibv_srq *srq)
{
	return mpa_container_of(srq, struct mpa_srq, base);
}

static inline void mpa_wq_init(struct mpa_wq *wq)
{
	pthread_mutex_init(&wq->lock, NULL);
}

static inline void mpa_wq_uninit(struct mpa_wq *wq)
{
	pthread_mutex_destroy(&wq->lock);
}

/* Pieces that fit into an entry of a receive ring, at most those granted. */
static inline uint32_t mpa_rq_sges(const struct mpa_ring *ring, uint32_t granted)
{
	uint32_t fit;

	if (!ring->entries)
		return 0;
	fit = (ring->stride - (uint32_t)sizeof(struct mpa_rqe)) /
	      (uint32_t)sizeof(struct mpa_sge);
	return granted < fit ? granted : fit;
}

#define mpa_err(context, format, ...)					\
	__verbs_log(&(context)->base, VERBS_LOG_ERR, "mpa: " format "\n", \
		    ##__VA_ARGS__)

/* ring.c */
int mpa_area_reserve(struct mpa_area *area, size_t len);
int mpa_area_map(struct mpa_area *area, int fd, uint64_t key, uint32_t len);
void mpa_area_unmap(struct mpa_area *area);
int mpa_ring_plan(struct mpa_ring *ring, uint32_t entries, uint32_t stride,
		  uint32_t least_stride, uint32_t len);
void mpa_ring_place(struct mpa_ring *ring, const struct mpa_area *area,
		    uint32_t offset);

/* domain.c */
struct ibv_pd *mpa_alloc_pd(struct ibv_context *ibctx);
int mpa_dealloc_pd(struct ibv_pd *ibpd);
struct ibv_td *mpa_alloc_td(struct ibv_context *ibctx,
			    struct ibv_td_init_attr *attr);
int mpa_dealloc_td(struct ibv_td *ibtd);
struct ibv_pd *mpa_alloc_parent_domain(struct ibv_context *ibctx,
				       struct ibv_parent_domain_init_attr *attr);
bool mpa_pd_is_parent(struct ibv_pd *ibpd);
bool mpa_pd_one_thread(struct ibv_pd *ibpd);
struct ibv_pd *mpa_import_pd(struct ibv_context *ibctx, uint32_t handle);
void mpa_unimport_pd(struct ibv_pd *ibpd);
struct ibv_mr *mpa_import_mr(struct ibv_pd *ibpd, uint32_t handle);
void mpa_unimport_mr(struct ibv_mr *ibmr);

/* cq.c */
struct ibv_cq *mpa_create_cq(struct ibv_context *ibctx, int cqe,
			     struct ibv_comp_channel *channel, int comp_vector);
struct ibv_cq_ex *mpa_create_cq_ex(struct ibv_context *ibctx,
				   struct ibv_cq_init_attr_ex *attr);
int mpa_resize_cq(struct ibv_cq *ibcq, int cqe);
int mpa_modify_cq(struct ibv_cq *ibcq, struct ibv_modify_cq_attr *attr);
int mpa_destroy_cq(struct ibv_cq *ibcq);
int mpa_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc);
int mpa_req_notify_cq(struct ibv_cq *ibcq, int solicited_only);
void mpa_cq_purge(struct mpa_cq *cq, uint32_t qp_num);

/* cq_ex.c */
void mpa_cq_set_ex_ops(struct ibv_cq_ex *cq);

/* wc.c */
enum ibv_wc_status mpa_wc_status(const struct mpa_cqe *cqe);
enum ibv_wc_opcode mpa_wc_opcode(const struct mpa_cqe *cqe);
unsigned int mpa_wc_flags(const struct mpa_cqe *cqe);
void mpa_wc_fill(const struct mpa_cqe *cqe, struct ibv_wc *wc);

/* qp.c */
struct ibv_qp *mpa_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr);
struct ibv_qp *mpa_create_qp_ex(struct ibv_context *ibctx,
				struct ibv_qp_init_attr_ex *attr);
int mpa_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask);
int mpa_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask,
		 struct ibv_qp_init_attr *init_attr);
int mpa_destroy_qp(struct ibv_qp *ibqp);

/* sqe.c */
int mpa_sqe_start(struct mpa_qp *qp, enum ibv_wr_opcode opcode,
		  unsigned int send_flags, struct mpa_sqe **out);
void mpa_sqe_set_remote(struct mpa_sqe *sqe, uint64_t remote_addr,
			uint32_t rkey);
void mpa_sqe_set_stag(struct mpa_sqe *sqe, uint32_t stag);
void mpa_sqe_set_imm(struct mpa_sqe *sqe, __be32 imm_data);
void mpa_sqe_set_atomic(struct mpa_sqe *sqe, uint64_t data, uint64_t compare);
int mpa_sqe_set_sges(const struct mpa_qp *qp, struct mpa_sqe *sqe,
		     size_t num_sge, const struct ibv_sge *sges);
int mpa_sqe_set_inline(const struct mpa_qp *qp, struct mpa_sqe *sqe,
		       size_t num_buf, const struct ibv_data_buf *bufs);
int mpa_sqe_set_inline_sges(const struct mpa_qp *qp, struct mpa_sqe *sqe,
			    size_t num_sge, const struct ibv_sge *sges);
int mpa_sqe_set_bind(struct mpa_sqe *sqe, const struct ibv_mw *mw,
		     uint32_t rkey, const struct ibv_mw_bind_info *info);

/* mw.c */
struct ibv_mw *mpa_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int mpa_dealloc_mw(struct ibv_mw *mw);
int mpa_bind_mw(struct ibv_qp *ibqp, struct ibv_mw *mw,
		struct ibv_mw_bind *bind);

/* post.c */
int mpa_sq_submit(struct mpa_qp *qp);
int mpa_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
		  struct ibv_send_wr **bad_wr);
int mpa_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
		  struct ibv_recv_wr **bad_wr);
int mpa_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr,
		      struct ibv_recv_wr **bad_wr);

/* srq.c */
struct ibv_srq *mpa_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr);
int mpa_modify_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr, int mask);
int mpa_query_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr);
int mpa_destroy_srq(struct ibv_srq *ibsrq);

/* wr.c */
int mpa_qp_check_wr_ops(const struct mpa_context *ctx, uint64_t send_ops_flags);
void mpa_qp_set_wr_ops(struct ibv_qp_ex *qp);

#endif /* MPA_PROVIDER_H */
