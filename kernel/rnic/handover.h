/* SPDX-License-Identifier: GPL-2.0-only */
/* Endpoints: sockets that applications hand over to queue pairs. */
#ifndef MPA_RNIC_HANDOVER_H
#define MPA_RNIC_HANDOVER_H

#include <linux/completion.h>
#include <linux/types.h>

#include "ep.h"

/**
 * struct rnic_handover - a call that hands a socket over
 * @fd: the socket; after an error a descriptor for it, perhaps another one, or
 *	negative
 * @responder: the application is the Responder
 * @last: Responder: last message of streaming mode
 * @last_len: bytes of it, 0 if there is none
 * @pd: private data of the Request or the Reply
 * @pd_len: bytes of it
 * @ird: inbound Read depth requested; then the one agreed on or, after a refusal,
 *	the one that the peer offers
 * @ord: outbound Read depth, likewise
 * @peer_pd: private data of the peer
 * @peer_pd_len: bytes of it
 * @open: the connection was established
 * @status: else why it was not, a negative error
 * @done: completed when the Request or the Reply has come, or the end
 * @has_ep: there is, or was, an endpoint
 * @freed: completed when it is freed, unless the queue pair keeps the socket
 *
 * What is set after the start is protected by the socket lock.
 */
struct rnic_handover {
	int fd;
	bool responder;
	const void *last;
	u32 last_len;
	const void *pd;
	u32 pd_len;
	u32 ird;
	u32 ord;
	u8 peer_pd[RNIC_EP_PD_MAX];
	u32 peer_pd_len;
	bool open;
	int status;
	struct completion done;
	bool has_ep;
	struct completion freed;
};

int rnic_qp_from_socket(struct rnic_qp *qp, struct rnic_handover *h);

#endif /* MPA_RNIC_HANDOVER_H */
