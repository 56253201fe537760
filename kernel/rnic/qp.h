/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Queue pairs.
 *
 * Locks, outermost first:
 *
 *  1. the socket lock of the bound stream: protects sending and receiving: the
 *     message in progress in either direction, outstanding Reads of either
 *     side, and the sequence numbers;
 *  2. rnic_qp.lock (irq-safe): the state, the kernel's indices of the send
 *     ring, the send records, the pointer to the endpoint; and, without a
 *     stream, the kernel's index of the receive ring, which the socket lock
 *     protects otherwise;
 *  3. rnic_cq.lock (irq-safe).
 *
 * rnic_mr.lock and rnic_srq.lock (irq-safe) nest inside 1 and are never held
 * together with 2 or 3, nor with each other, nor with that of another region
 * or window; rnic_dev.windows_lock nests between.
 * Completion handlers are called under the socket lock and rnic_ep.lock at most.
 */
#ifndef MPA_RNIC_QP_H
#define MPA_RNIC_QP_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "cq.h"
#include "ddp/check.h"
#include "ddp/terminate.h"
#include "ep.h"
#include "mr.h"
#include "reads.h"
#include "ring.h"
#include "states.h"
#include "ulp/mpa.h"

struct rnic_dev;
struct rnic_segment;
struct rnic_srq;

enum {
	/* Entries that are completed while interrupts are off. */
	RNIC_QP_CHUNK	= 16,
	/*
	 * Of these, how often where a stream ends, which may be in a softirq. Few
	 * programs have more entries posted; work completes the others.
	 */
	RNIC_QP_CHUNKS_AT_END	= 32,
	/* Asynchronous events of a user's queue pair without a new stream. */
	RNIC_QP_EVENTS	= 16,
};

enum {
	/* Words for the copies of two entries of few pieces. */
	RNIC_QP_FEW_ENTRIES	= 24,
	/* Rights that the core's connection manager gives every queue pair. */
	RNIC_QP_ACCESS_DEFAULT	= IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE,
};

/**
 * struct rnic_swr - record of a send work request, until it retires
 * @wr_id: identifier of the consumer
 * @len: bytes of the message; also read under the socket lock
 * @opcode: MPA_WR_*
 * @status: MPA_WC_*, valid once @done
 * @read: an RDMA Read or atomic operation: done when its response was placed
 * @signaled: a completion is requested also for success
 * @done: complete, to be reported in its turn
 *
 * Under rnic_qp.lock. There is one for each entry of the ring: four in a cache
 * line. What is known of a Read in flight besides is in &struct rnic_issued.
 */
struct rnic_swr {
	u64 wr_id;
	u32 len;
	u8 opcode;
	u8 status;
	u8 read:1;
	u8 signaled:1;
	u8 done:1;
};

static_assert(sizeof(struct rnic_swr) == 16);

/**
 * struct rnic_sq - a send queue
 * @ring: entries are struct mpa_sqe; written by the consumer
 * @wr: a record for each entry between @retired and @fetched
 * @fetched: entries taken from the ring and started
 * @retired: entries complete, reported if necessary; mirrored in ring cons
 * @cur: the entry being sent: of a user a private copy, ring stride bytes; of a
 *	kernel consumer that in the ring; socket lock
 * @max_sge: limit of mpa_sqe.num_sge; constant
 * @max_inline: limit of inline data; constant
 * @sig_all: every request is signaled; constant
 * @first_status: MPA_WC_* of the oldest request that was taken when the stream
 *	ended; MPA_WC_WR_FLUSH_ERR, that of the others, once it is used; rnic_qp.lock
 */
struct rnic_sq {
	struct rnic_ring ring;
	struct rnic_swr *wr;
	u32 fetched;
	u32 retired;
	struct mpa_sqe *cur;
	u32 max_sge;
	u32 max_inline;
	bool sig_all;
	u8 first_status;
};

/**
 * struct rnic_rq - a receive queue
 * @ring: entries are struct mpa_rqe; written by the consumer; none with @srq
 * @srq: the shared receive queue that entries are taken from, or NULL; constant
 * @taken: entries of @ring taken for messages; mirrored in ring cons when
 *	reported; socket lock
 * @cur: the entry in use: of a user or of @srq a private copy, rnic_rqe_stride()
 *	bytes; else that in the ring; socket lock
 * @cur_len: bytes @cur has room for
 * @busy: @cur is in use: its message has begun and not ended
 * @ended: with @srq, %IB_EVENT_QP_LAST_WQE_REACHED was raised for this end of
 *	the QP, or is not wanted any more; under rnic_qp.lock
 * @first_status: MPA_WC_* of the receive that was in use when the stream ended;
 *	rnic_qp.lock
 * @pd: protection domain of the regions that entries name; constant
 * @max_sge: limit of mpa_rqe.num_sge; constant
 */
struct rnic_rq {
	struct rnic_ring ring;
	struct rnic_srq *srq;
	u32 taken;
	struct mpa_rqe *cur;
	u64 cur_len;
	bool busy;
	bool ended;
	u8 first_status;
	struct ib_pd *pd;
	u32 max_sge;
};

/* Kind of the message in progress. */
enum rnic_tx_kind {
	RNIC_TX_NONE,
	RNIC_TX_RTR,		/* ready-to-receive of a peer-to-peer start */
	RNIC_TX_WR,		/* the work request in rnic_sq.cur */
	RNIC_TX_RESPONSE,	/* the Read Response at the head of the queue */
	RNIC_TX_TERMINATE,
};

enum {
	/*
	 * Regions and windows a batch may refer to. A dozen more, and struct
	 * rnic_qp would take 4 KiB instead of 2.
	 */
	RNIC_TX_HELD	= 24,
};

/**
 * struct rnic_out - a segment being built
 * @hdr: header bytes
 * @hdr_len: bytes of @hdr
 * @nr: pieces of payload
 * @len: bytes of payload
 * @first: index of the first of &rnic_tx.held that may have its payload
 * @fast_reg: the %RNIC_MR_FAST_REG that has some of its payload, or NULL
 * @epoch: &rnic_run.epoch of that payload
 * @kv: the pieces
 *
 * Not on the stack, which many kernels initialize: that would cost more than
 * the rest.
 */
struct rnic_out {
	u8 hdr[MPA_TX_HEADER_MAX];
	u32 hdr_len;
	unsigned int nr;
	u32 len;
	unsigned int first;
	struct rnic_mr *fast_reg;
	u32 epoch;
	struct kvec kv[RNIC_TX_PIECES];
};

/**
 * struct rnic_draft - state that exists only while a batch is open
 * @run: memory from the region held last
 * @out: the segment being built
 * @epochs: epochs of &rnic_tx.held when their memory was granted, see
 *	rnic_mr_unchanged()
 */
struct rnic_draft {
	struct rnic_run run;
	struct rnic_out out;
	u32 epochs[RNIC_TX_HELD];
};

static_assert(sizeof(struct rnic_draft) <= MPA_TX_WORKSPACE);

/**
 * struct rnic_tx - state of the sending side; socket lock
 * @kind: message in progress
 * @off: bytes of it added to batches so far
 * @len: bytes of it
 * @rtr: RTR to be sent first, one MPA_RTR_* bit, or 0
 * @send_msn: MSN of the next Send
 * @read_msn: MSN of the next Read Request or Atomic Request
 * @atomic_msn: MSN of the next Atomic Response
 * @sge: piece of the current request that holds byte @off
 * @sge_off: offset of that byte within the piece
 * @imm_due: the Write of the current request is in batches, and its Immediate
 *	Data is next
 * @whole: rnic_sq.fetched numbering: one past the last request that was executed
 *	locally, or is wholly in the current batch or in earlier ones
 * @taken: one past the last that is wholly in batches TCP has taken; never behind
 *	rnic_sq.retired; rnic_qp.lock
 * @prefer_wr: a work request goes before a waiting response
 * @fin_asked: an orderly end was requested from the endpoint
 * @term_sent: the Terminate is in a batch
 * @term_cause: error in @term: layer << 12 | type << 8 | code
 * @term_len: bytes of @term; 0: no Terminate to send
 * @term: the Terminate, a byte image of the ULPDU
 * @held: regions the current batch refers to; before a window its region
 * @nr_held: number of these
 * @draft: state of the open batch, or NULL
 * @segments: DDP segments of the current batch
 * @bytes: bytes of their payload
 * @starved: consecutive batches without memory, up to a limit
 */
struct rnic_tx {
	enum rnic_tx_kind kind;
	u32 off;
	u32 len;
	u8 rtr;
	u32 send_msn;
	u32 read_msn;
	u32 atomic_msn;
	u32 sge;
	u32 sge_off;
	bool imm_due;
	u32 whole;
	u32 taken;
	bool prefer_wr;
	bool fin_asked;
	bool term_sent;
	u32 term_cause;
	u8 term_len;
	u8 term[RDMAP_TERM_ULPDU_MAX];
	struct rnic_mr *held[RNIC_TX_HELD];
	unsigned int nr_held;
	struct rnic_draft *draft;
	u32 segments;
	u32 bytes;
	u8 starved;
};

/**
 * struct rnic_due - completion events that became due
 * @scq: for the send queue's completion queue
 * @rcq: for the receive queue's
 */
struct rnic_due {
	bool scq;
	bool rcq;
};

/**
 * struct rnic_rx_state - state of the receiving side; socket lock
 * @send_msn: MSN of the Send expected or in progress
 * @send_mo: bytes of it received
 * @send_opcode: opcode of its first segment
 * @write_len: bytes of the Write in progress
 * @wrote: bytes of the last Write since the last message that took a receive
 * @wait: how long a message may wait for a receive, jiffies; 0: not at all.
 *	Written under &rnic_qp.lock, read without
 * @waiting: the next message waits, or has waited
 * @writing: the last Write is not complete
 * @waits_since: @waiting: since when, jiffies
 * @read_msn: MSN of the next Read Request or Atomic Request
 * @atomic_msn: MSN of the next Atomic Response
 * @alone: segments that must not be joined with others
 * @sink: for placement
 * @segments: received segments that are not counted yet
 * @bytes: bytes of their payload
 * @due: completion events that became due
 * @asked: Read Requests arrived
 *
 * The last five are kept between ULPDUs: @sink, but for what was placed early, to
 * @due until rnic_rx_settled(), @asked until rnic_tx_answer().
 */
struct rnic_rx_state {
	u32 send_msn;
	u32 send_mo;
	u8 send_opcode;
	u64 write_len;
	u64 wrote;
	unsigned long wait;
	bool waiting;
	bool writing;
	unsigned long waits_since;
	u32 read_msn;
	u32 atomic_msn;
	u32 alone;
	struct rnic_sink sink;
	u32 segments;
	u32 bytes;
	struct rnic_due due;
	bool asked;
};

/**
 * struct rnic_end - why and how a stream ends
 * @fault: error for a Terminate to the peer, or NULL
 * @seg: the segment at fault, for the Terminate, or NULL
 * @send_status: MPA_WC_* of the oldest send request; the rest is flushed
 * @recv_status: MPA_WC_* of the receive in use, if one is
 * @cause: for vendor_err if there is no @fault
 * @event: enum ib_event_type to raise, or -1
 * @how: how TCP ends where no Terminate is sent
 */
struct rnic_end {
	const struct ddp_fault *fault;
	const struct rnic_segment *seg;
	u8 send_status;
	u8 recv_status;
	u32 cause;
	int event;
	enum rnic_ep_end_how how;
};

/* rnic_qp.receive_wait: as the setting says when a stream starts. */
#define RNIC_QP_WAIT_SETTING	(-1)

/**
 * struct rnic_qp - a queue pair
 * @ibqp: the core's part
 * @dev: its device; constant
 * @index: where it is in &rnic_dev.qps; constant
 * @cqe_qp: mpa_cqe.qp_num of its completions: its number for a user, for a kernel
 *	consumer @index, by which it is found faster; constant
 * @user: it belongs to a user, who shares the rings; else to a kernel consumer;
 *	constant
 * @ref: one of the consumer, one of every bound endpoint, CM identifier and
 *	queued work
 * @freed: completed with the last reference
 * @lock: see above
 * @state: under @lock
 * @ib_state: state reported by query_qp while @state is IDLE; under @lock
 * @access: IB_ACCESS_* of the peer on the stream, in addition to those of
 *	regions; written under @lock, read without. %RNIC_QP_ACCESS_DEFAULT
 *	until modify_qp changes them
 * @receive_wait: milliseconds that a message may wait for a receive, or
 *	%RNIC_QP_WAIT_SETTING; under @lock
 * @drain_event: IB_EVENT_SQ_DRAINED is to be raised when the send queue is empty
 *	in CLOSING; under @lock
 * @discard: RESET is in progress, or a user destroys the QP: posted requests are not
 *	reported, and the connection manager gets no reference; under @lock
 * @cm_ids: identifiers of the connection manager that have a reference; under
 *	@lock
 * @ep: endpoint of the stream, with a reference, or NULL; under @lock. Cleared
 *	only with the socket lock of the endpoint held, too
 * @unused: woken when @ep has become NULL, @cm_ids 0, or RESET has ended
 * @scq: completion queue of the send queue; constant
 * @rcq: completion queue of the receive queue; constant
 * @rings: memory of the rings of @sq and, behind it, @rq
 * @bell: of a user: its index at the doorbells of the context, or
 *	%MPA_NO_DOORBELL; constant
 * @events: of a user: asynchronous events since its last stream began
 * @sq: send queue
 * @rq: receive queue
 * @tx: sending side
 * @rx: receiving side
 * @reads: Reads in flight
 * @counters: what its counts go to while it is bound to a counter of the core,
 *	or NULL: to those of the device. Written under &rnic_dev.bind_lock
 * @windows: windows of type 2 that were bound on it last; under
 *	&rnic_dev.windows_lock
 * @version: DDP and RDMAP version of the stream; set at its start
 * @extensions: the stream carries messages of RFC 7306; set at its start, under
 *	@lock and the socket lock
 * @res: result of its startup exchange; under @lock
 * @started: @res is valid, for the present stream or the last one; under @lock
 * @cause: what ended the stream, for vendor_err; layer << 12 | type << 8 |
 *	code; under @lock
 * @end_event: asynchronous event of the end of the stream, enum ib_event_type, that
 *	follows the last completion; -1: none; under @lock
 * @tx_work: sends for callers that must not send themselves; flushes
 * @tx_retry: sends again after a lack of memory; holds a reference while
 *	pending
 * @entries: memory of the copies @sq.cur and @rq.cur
 * @few_entries: that memory, unless the pieces or the inline data of an entry may
 *	be more
 */
struct rnic_qp {
	struct ib_qp ibqp;
	struct rnic_dev *dev;
	u32 index;
	u32 cqe_qp;
	bool user;
	struct kref ref;
	struct completion freed;
	spinlock_t lock;		/* see above */
	enum rnic_qp_state state;
	enum ib_qp_state ib_state;
	int access;
	s32 receive_wait;
	bool drain_event;
	bool discard;
	unsigned int cm_ids;
	struct rnic_ep *ep;
	wait_queue_head_t unused;
	struct rnic_cq *scq;
	struct rnic_cq *rcq;
	struct rnic_area rings;
	u32 bell;
	atomic_t events;
	struct rnic_sq sq;
	struct rnic_rq rq;
	struct rnic_tx tx;
	struct rnic_rx_state rx;
	struct rnic_reads reads;
	struct rnic_counter_set __rcu *counters;
	struct list_head windows;
	u8 version;
	bool extensions;
	struct mpa_result res;
	bool started;
	u32 cause;
	int end_event;
	struct work_struct tx_work;
	struct delayed_work tx_retry;
	void *entries;
	u64 few_entries[RNIC_QP_FEW_ENTRIES];
};

static inline struct rnic_qp *to_rnic_qp(struct ib_qp *ibqp)
{
	return container_of(ibqp, struct rnic_qp, ibqp);
}

/**
 * rnic_qp_streaming() - does the QP take part in its stream?
 * @qp: the QP; its socket lock is held, so that the result stays valid
 *
 * Return: true in RTS and CLOSING.
 */
static inline bool rnic_qp_streaming(const struct rnic_qp *qp)
{
	enum rnic_qp_state state = READ_ONCE(qp->state);

	return state == RNIC_QP_RTS || state == RNIC_QP_CLOSING;
}

bool rnic_qp_move(struct rnic_qp *qp, enum rnic_qp_state to);
void rnic_qp_get(struct rnic_qp *qp);
bool rnic_qp_try_get(struct rnic_qp *qp);
void rnic_qp_put(struct rnic_qp *qp);
struct rnic_qp *rnic_qp_find(struct rnic_dev *dev, u32 qpn);
void rnic_qp_notify(struct rnic_qp *qp, const struct rnic_due *due);
void rnic_qp_event(struct rnic_qp *qp, int type);
bool rnic_qp_grants_read(const struct rnic_qp *qp, u32 size, struct ddp_fault *f);
bool rnic_qp_grants_atomic(const struct rnic_qp *qp, struct ddp_fault *f);
void rnic_qp_kick(struct rnic_qp *qp);
void rnic_qp_cqs_failed(struct work_struct *work);
struct rnic_ep *rnic_qp_ep_get(struct rnic_qp *qp);
void rnic_qp_end_ep(struct rnic_qp *qp, enum rnic_ep_end_how how);
bool rnic_qp_cq_overflown(const struct rnic_qp *qp);
int rnic_qp_may_bind(struct rnic_qp *qp);
int rnic_qp_bind(struct rnic_qp *qp, struct rnic_ep *ep);
void rnic_qp_unbind(struct rnic_qp *qp, struct rnic_ep *ep);
bool rnic_qp_cm_get(struct rnic_qp *qp);
void rnic_qp_cm_put(struct rnic_qp *qp);
bool rnic_qp_in_use(struct rnic_qp *qp);

#endif /* MPA_RNIC_QP_H */
