/* SPDX-License-Identifier: GPL-2.0-only */
/* States and events of queue pairs, endpoints and regions, as tracepoints show them. */
#ifndef MPA_RNIC_STATES_H
#define MPA_RNIC_STATES_H

/**
 * enum rnic_qp_state - a QP's states; legal moves stand in a table in qp.c
 * @RNIC_QP_IDLE: no stream; receives may be posted. INIT (or RTR, if they
 *	asked for that) to consumers
 * @RNIC_QP_RTS: full operation
 * @RNIC_QP_CLOSING: the consumer asked for an orderly end: the send queue
 *	drains, then TCP gets its FIN. SQD to consumers
 * @RNIC_QP_TERMINATE: a Terminate is owed to the peer; both queues are flushed.
 *	ERR to consumers, as the next
 * @RNIC_QP_ERROR: over; whatever is posted is flushed
 * @RNIC_QP_STATES: how many there are
 */
enum rnic_qp_state {
	RNIC_QP_IDLE,
	RNIC_QP_RTS,
	RNIC_QP_CLOSING,
	RNIC_QP_TERMINATE,
	RNIC_QP_ERROR,
	RNIC_QP_STATES
};

/**
 * enum rnic_ep_state - life of an endpoint; legal moves stand in a table in ep.c
 * @RNIC_EP_IDLE: nothing was done with the socket yet
 * @RNIC_EP_CONNECTING: active: TCP's handshake
 * @RNIC_EP_REQUESTING: active: Request sent, Reply awaited
 * @RNIC_EP_AWAITING: passive: Request awaited (half-open)
 * @RNIC_EP_REQUESTED: passive: the consumer is to answer
 * @RNIC_EP_ESTABLISHED: full operation
 * @RNIC_EP_CLOSING: our FIN is sent or due, the peer's awaited; QP and core
 *	wait for it, too
 * @RNIC_EP_LINGERING: QP and core have been told; what TCP holds goes out, what
 *	comes in is dropped, until the peer's FIN
 * @RNIC_EP_DEAD: over; the socket goes with the last reference
 * @RNIC_EP_STATES: how many there are
 */
enum rnic_ep_state {
	RNIC_EP_IDLE,
	RNIC_EP_CONNECTING,
	RNIC_EP_REQUESTING,
	RNIC_EP_AWAITING,
	RNIC_EP_REQUESTED,
	RNIC_EP_ESTABLISHED,
	RNIC_EP_CLOSING,
	RNIC_EP_LINGERING,
	RNIC_EP_DEAD,
	RNIC_EP_STATES
};

/* What has happened to a memory region. */
enum rnic_mr_event {
	RNIC_MR_EVENT_REG,
	RNIC_MR_EVENT_FAST_REG,
	RNIC_MR_EVENT_INVALIDATE,
	RNIC_MR_EVENT_REMOTE_INVALIDATE,
	RNIC_MR_EVENT_DEREG,
};

#endif /* MPA_RNIC_STATES_H */
