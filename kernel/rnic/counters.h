/* SPDX-License-Identifier: GPL-2.0-only */
/* What a device counts; shown by `rdma statistic`. */
#ifndef MPA_RNIC_COUNTERS_H
#define MPA_RNIC_COUNTERS_H

#include <linux/percpu.h>
#include <linux/types.h>

/**
 * enum mpa_counter - per-device counters, named by stat_descs[] in device.c
 * @MPA_CNT_TX_SEND: Send-type messages handed to TCP
 * @MPA_CNT_TX_WRITE: RDMA Write messages handed to TCP
 * @MPA_CNT_TX_READ_REQ: RDMA Read Requests handed to TCP
 * @MPA_CNT_TX_READ_RESP: RDMA Read Responses handed to TCP
 * @MPA_CNT_TX_READ_RESP_AT_ONCE: of these, those that went from where their
 *	request had come in, without a change of threads
 * @MPA_CNT_TX_SEGMENTS: DDP segments (FPDUs) handed to TCP
 * @MPA_CNT_TX_BYTES: payload bytes of these
 * @MPA_CNT_TX_BATCHES: socket calls that carried them
 * @MPA_CNT_TX_TERMINATE: Terminate messages sent
 * @MPA_CNT_RX_SEND: Send-type messages delivered
 * @MPA_CNT_RX_WRITE: RDMA Write messages placed
 * @MPA_CNT_RX_READ_REQ: RDMA Read Requests received
 * @MPA_CNT_RX_READ_RESP: RDMA Read Responses delivered
 * @MPA_CNT_RX_SEGMENTS: DDP segments (FPDUs) received
 * @MPA_CNT_RX_BYTES: payload bytes of these
 * @MPA_CNT_RX_TERMINATE: Terminate messages received
 * @MPA_CNT_RX_CRC_ERROR: streams ended by a wrong CRC
 * @MPA_CNT_RX_MARKER_ERROR: streams ended by a Marker
 * @MPA_CNT_RX_LENGTH_ERROR: streams ended by a ULPDU_Length that is too much
 * @MPA_CNT_RX_DDP_ERROR: streams ended by a DDP check
 * @MPA_CNT_RX_RDMAP_ERROR: streams ended by an RDMAP check
 * @MPA_CNT_CONN_ACTIVE: connections established as Initiator
 * @MPA_CNT_CONN_PASSIVE: connections established as Responder
 * @MPA_CNT_CONN_FALLBACK: connections retried with revision 1
 * @MPA_CNT_CONN_REJECTED: connections refused, by either side
 * @MPA_CNT_CONN_STARTUP_ERROR: startups that failed or timed out
 * @MPA_CNT_CONN_HALF_OPEN_DROP: peers turned away at the half-open cap
 * @MPA_CNT_CONN_RESET: streams TCP lost or reset
 * @MPA_CNT_CONN_QP_DENIED: connections not made because the queue pair that was
 *	named belongs to somebody else
 * @MPA_CNT_CONN_CLOSE_TIMEOUT: ends of connections that took too long and were
 *	cut short
 * @MPA_CNT_CONN_LINGER_DROP: ends that were cut short because too many others
 *	began
 * @MPA_CNT_CQ_OVERFLOW: completions lost to a full completion queue
 * @MPA_CNT_USER_LIMIT: objects and rings refused to users whose contexts have as much
 *	as the settings allow
 * @MPA_CNT_COUNT: how many there are
 */
enum mpa_counter {
	MPA_CNT_TX_SEND,
	MPA_CNT_TX_WRITE,
	MPA_CNT_TX_READ_REQ,
	MPA_CNT_TX_READ_RESP,
	MPA_CNT_TX_READ_RESP_AT_ONCE,
	MPA_CNT_TX_SEGMENTS,
	MPA_CNT_TX_BYTES,
	MPA_CNT_TX_BATCHES,
	MPA_CNT_TX_TERMINATE,
	MPA_CNT_RX_SEND,
	MPA_CNT_RX_WRITE,
	MPA_CNT_RX_READ_REQ,
	MPA_CNT_RX_READ_RESP,
	MPA_CNT_RX_SEGMENTS,
	MPA_CNT_RX_BYTES,
	MPA_CNT_RX_TERMINATE,
	MPA_CNT_RX_CRC_ERROR,
	MPA_CNT_RX_MARKER_ERROR,
	MPA_CNT_RX_LENGTH_ERROR,
	MPA_CNT_RX_DDP_ERROR,
	MPA_CNT_RX_RDMAP_ERROR,
	MPA_CNT_CONN_ACTIVE,
	MPA_CNT_CONN_PASSIVE,
	MPA_CNT_CONN_FALLBACK,
	MPA_CNT_CONN_REJECTED,
	MPA_CNT_CONN_STARTUP_ERROR,
	MPA_CNT_CONN_HALF_OPEN_DROP,
	MPA_CNT_CONN_RESET,
	MPA_CNT_CONN_QP_DENIED,
	MPA_CNT_CONN_CLOSE_TIMEOUT,
	MPA_CNT_CONN_LINGER_DROP,
	MPA_CNT_CQ_OVERFLOW,
	MPA_CNT_USER_LIMIT,
	MPA_CNT_COUNT
};

/**
 * struct mpa_counters - one CPU's share of a device's counters
 * @v: indexed by &enum mpa_counter
 */
struct mpa_counters {
	u64 v[MPA_CNT_COUNT];
};

#endif /* MPA_RNIC_COUNTERS_H */
