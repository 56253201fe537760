/* SPDX-License-Identifier: GPL-2.0-only */
/* States and events of queue pairs, endpoints and regions, for tracepoints. */
#ifndef MPA_RNIC_STATES_H
#define MPA_RNIC_STATES_H

/**
 * enum rnic_qp_state - a QP's states; rnic_qp_moves[] has the legal moves
 * @RNIC_QP_IDLE: no stream; receives may be posted. INIT (or RTR, if they
 *	asked for that) to consumers
 * @RNIC_QP_RTS: full operation
 * @RNIC_QP_CLOSING: the consumer asked for an orderly end: the send queue
 *	drains, then TCP gets its FIN. SQD to consumers
 * @RNIC_QP_TERMINATE: a Terminate must be sent; both queues are flushed. ERR to
 *	consumers
 * @RNIC_QP_ERROR: the stream has ended; whatever is posted is flushed. ERR to
 *	consumers
 * @RNIC_QP_STATES: number of states
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
 * enum rnic_ep_state - life of an endpoint; rnic_ep_moves[] has the legal moves
 * @RNIC_EP_IDLE: the socket is not in use yet
 * @RNIC_EP_CONNECTING: active: TCP's handshake
 * @RNIC_EP_REQUESTING: active: Request sent, Reply awaited
 * @RNIC_EP_AWAITING: passive: Request awaited (half-open)
 * @RNIC_EP_REQUESTED: passive: Request received, answer of the consumer awaited
 * @RNIC_EP_ESTABLISHED: full operation
 * @RNIC_EP_CLOSING: the local FIN is sent or due, that of the peer awaited; QP
 *	and core wait for it, too
 * @RNIC_EP_LINGERING: the end is reported to QP and core; TCP sends what it
 *	holds, incoming bytes are dropped, until the FIN of the peer
 * @RNIC_EP_DEAD: ended; the socket is released with the last reference
 * @RNIC_EP_STATES: number of states
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

/* Events of a memory region or window. */
enum rnic_mr_event {
	RNIC_MR_EVENT_REG,
	RNIC_MR_EVENT_FAST_REG,
	RNIC_MR_EVENT_INVALIDATE,
	RNIC_MR_EVENT_REMOTE_INVALIDATE,
	RNIC_MR_EVENT_DEREG,
	RNIC_MR_EVENT_REREG,
	RNIC_MR_EVENT_ALLOC_WINDOW,
	RNIC_MR_EVENT_BIND,
	RNIC_MR_EVENT_UNBIND,
	RNIC_MR_EVENT_DEALLOC_WINDOW,
};

#endif /* MPA_RNIC_STATES_H */
