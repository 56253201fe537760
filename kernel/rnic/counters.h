/* SPDX-License-Identifier: GPL-2.0-only */
/* Counters of a device and of queue pairs; shown by `rdma statistic`. */
#ifndef MPA_RNIC_COUNTERS_H
#define MPA_RNIC_COUNTERS_H

#include <linux/percpu.h>
#include <linux/types.h>
#include <linux/u64_stats_sync.h>

/**
 * enum rnic_counter - counters of a device; rnic_stats_descs[] has their names
 * @RNIC_CNT_TX_SEND: Send-type messages handed to TCP
 * @RNIC_CNT_TX_WRITE: RDMA Write messages handed to TCP
 * @RNIC_CNT_TX_IMM: Immediate Data messages handed to TCP
 * @RNIC_CNT_TX_READ_REQ: RDMA Read Requests handed to TCP
 * @RNIC_CNT_TX_READ_RESP: RDMA Read Responses handed to TCP
 * @RNIC_CNT_TX_READ_RESP_AT_ONCE: of these and of the Atomic Responses, those
 *	sent in the context that received their request, without a change of
 *	threads
 * @RNIC_CNT_TX_ATOMIC_REQ: Atomic Requests handed to TCP
 * @RNIC_CNT_TX_ATOMIC_RESP: Atomic Responses handed to TCP
 * @RNIC_CNT_TX_SEGMENTS: DDP segments (FPDUs) handed to TCP
 * @RNIC_CNT_TX_BYTES: payload bytes of these
 * @RNIC_CNT_TX_BATCHES: socket calls that carried them
 * @RNIC_CNT_TX_TERMINATE: Terminate messages sent
 * @RNIC_CNT_RX_SEND: Send-type messages delivered
 * @RNIC_CNT_RX_WRITE: RDMA Write messages placed
 * @RNIC_CNT_RX_IMM: Immediate Data messages delivered
 * @RNIC_CNT_RX_READ_REQ: RDMA Read Requests received
 * @RNIC_CNT_RX_READ_RESP: RDMA Read Responses delivered
 * @RNIC_CNT_RX_ATOMIC_REQ: Atomic Requests received
 * @RNIC_CNT_RX_ATOMIC_RESP: Atomic Responses delivered
 * @RNIC_CNT_RX_RECEIVE_WAIT: messages that had to wait for a receive
 * @RNIC_CNT_RX_RECEIVE_LATE: of these, those whose receive did not come in time
 * @RNIC_CNT_RX_EARLY: FPDUs placed before the bytes ahead of them arrived
 * @RNIC_CNT_RX_EARLY_LEFT: FPDUs that came early and were left to their turn
 * @RNIC_CNT_RX_EARLY_USED: FPDUs placed early that needed no second copy in
 *	their turn
 * @RNIC_CNT_RX_EARLY_REDONE: FPDUs placed early that were copied again in their
 *	turn
 * @RNIC_CNT_RX_SEGMENTS: DDP segments (FPDUs) received
 * @RNIC_CNT_RX_BYTES: payload bytes of these
 * @RNIC_CNT_RX_TERMINATE: Terminate messages received
 * @RNIC_CNT_RX_CRC_ERROR: streams ended by a wrong CRC
 * @RNIC_CNT_RX_MARKER_ERROR: streams ended by a Marker
 * @RNIC_CNT_RX_LENGTH_ERROR: streams ended by a ULPDU_Length that is too large
 * @RNIC_CNT_RX_DDP_ERROR: streams ended by a DDP check
 * @RNIC_CNT_RX_RDMAP_ERROR: streams ended by an RDMAP check
 * @RNIC_CNT_CONN_ACTIVE: connections established as Initiator
 * @RNIC_CNT_CONN_PASSIVE: connections established as Responder
 * @RNIC_CNT_CONN_FALLBACK: connections retried with revision 1
 * @RNIC_CNT_CONN_REJECTED: connections refused, by either side
 * @RNIC_CNT_CONN_STARTUP_ERROR: startups that failed or timed out
 * @RNIC_CNT_CONN_HALF_OPEN_DROP: peers refused because of half-open-max
 * @RNIC_CNT_CONN_PLAIN: peers that do not use MPA, whose connections the user of
 *	the listener gets
 * @RNIC_CNT_CONN_RESET: streams TCP lost or reset
 * @RNIC_CNT_CONN_QP_DENIED: connections refused because the queue pair belongs
 *	to another process
 * @RNIC_CNT_CONN_CLOSE_TIMEOUT: connections aborted at the end of close-timeout
 * @RNIC_CNT_CONN_LINGER_DROP: lingering connections aborted because of
 *	linger-max
 * @RNIC_CNT_CQ_OVERFLOW: completions lost to a full completion queue
 * @RNIC_CNT_USER_LIMIT: objects and rings refused because a user's context
 *	reached a limit
 * @RNIC_CNT_MW_BIND: binds of memory windows executed, those of zero bytes
 *	included
 * @RNIC_CNT_COUNT: number of counters
 */
enum rnic_counter {
	RNIC_CNT_TX_SEND,
	RNIC_CNT_TX_WRITE,
	RNIC_CNT_TX_IMM,
	RNIC_CNT_TX_READ_REQ,
	RNIC_CNT_TX_READ_RESP,
	RNIC_CNT_TX_READ_RESP_AT_ONCE,
	RNIC_CNT_TX_ATOMIC_REQ,
	RNIC_CNT_TX_ATOMIC_RESP,
	RNIC_CNT_TX_SEGMENTS,
	RNIC_CNT_TX_BYTES,
	RNIC_CNT_TX_BATCHES,
	RNIC_CNT_TX_TERMINATE,
	RNIC_CNT_RX_SEND,
	RNIC_CNT_RX_WRITE,
	RNIC_CNT_RX_IMM,
	RNIC_CNT_RX_READ_REQ,
	RNIC_CNT_RX_READ_RESP,
	RNIC_CNT_RX_ATOMIC_REQ,
	RNIC_CNT_RX_ATOMIC_RESP,
	RNIC_CNT_RX_RECEIVE_WAIT,
	RNIC_CNT_RX_RECEIVE_LATE,
	RNIC_CNT_RX_EARLY,
	RNIC_CNT_RX_EARLY_LEFT,
	RNIC_CNT_RX_EARLY_USED,
	RNIC_CNT_RX_EARLY_REDONE,
	RNIC_CNT_RX_SEGMENTS,
	RNIC_CNT_RX_BYTES,
	RNIC_CNT_RX_TERMINATE,
	RNIC_CNT_RX_CRC_ERROR,
	RNIC_CNT_RX_MARKER_ERROR,
	RNIC_CNT_RX_LENGTH_ERROR,
	RNIC_CNT_RX_DDP_ERROR,
	RNIC_CNT_RX_RDMAP_ERROR,
	RNIC_CNT_CONN_ACTIVE,
	RNIC_CNT_CONN_PASSIVE,
	RNIC_CNT_CONN_FALLBACK,
	RNIC_CNT_CONN_REJECTED,
	RNIC_CNT_CONN_STARTUP_ERROR,
	RNIC_CNT_CONN_HALF_OPEN_DROP,
	RNIC_CNT_CONN_PLAIN,
	RNIC_CNT_CONN_RESET,
	RNIC_CNT_CONN_QP_DENIED,
	RNIC_CNT_CONN_CLOSE_TIMEOUT,
	RNIC_CNT_CONN_LINGER_DROP,
	RNIC_CNT_CQ_OVERFLOW,
	RNIC_CNT_USER_LIMIT,
	RNIC_CNT_MW_BIND,
	RNIC_CNT_COUNT
};

/**
 * struct rnic_counters - one CPU's share of counters
 * @v: indexed by &enum rnic_counter
 * @sync: on 32-bit machines, keeps readers from seeing one half of a number;
 *	empty on others
 */
struct rnic_counters {
	u64 v[RNIC_CNT_COUNT];
	struct u64_stats_sync sync;
};

/**
 * rnic_counters_add() - add to a counter
 * @cpus: the counters
 * @c: which of them
 * @n: how much
 *
 * Any context.
 */
static inline void rnic_counters_add(struct rnic_counters __percpu *cpus,
				     enum rnic_counter c, u64 n)
{
	struct rnic_counters *own;
	unsigned long flags;

	if (BITS_PER_LONG == 64) {
		this_cpu_add(cpus->v[c], n);
		return;
	}
	own = get_cpu_ptr(cpus);
	flags = u64_stats_update_begin_irqsave(&own->sync);
	own->v[c] += n;
	u64_stats_update_end_irqrestore(&own->sync, flags);
	put_cpu_ptr(cpus);
}

#endif /* MPA_RNIC_COUNTERS_H */
