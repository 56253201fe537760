/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What mpa.ko offers to other modules: MPA (RFC 5044) on a TCP socket that
 * the kernel owns. Symbols are exported in namespace MPA.
 *
 * A stream's life
 *
 *	mpa_attach ... mpa_start_initiator -> ops->operational, ops->reply
 *	mpa_attach ... mpa_start_responder -> ops->request
 *					   ... mpa_accept -> ops->operational
 *					   or  mpa_reject
 *	full operation: mpa_tx_*, ops->ulpdu, ops->writable
 *	ops->ended (once), mpa_detach
 *
 * Locking: the socket lock (lock_sock() or the softirq's bh_lock_sock())
 * protects a stream. Every call-up runs under it, in softirq or in process
 * context, and must not sleep. Functions say whether they take it themselves
 * or want it held by lock_sock(). No call-up but @answer may send.
 */
#ifndef MPA_ULP_MPA_H
#define MPA_ULP_MPA_H

#include <linux/net.h>
#include <linux/types.h>
#include <linux/uio.h>

#include "../framing/copy.h"
#include "../framing/startup.h"
#include "../framing/wire.h"
#include "node.h"

struct mpa_conn;
struct mpa_rx;

/* RFC 5044 section 8: why a stream, or its receiving half, has ended. */
enum mpa_error {
	MPA_ERROR_NONE		= 0,
	MPA_ERROR_CLOSED	= 1,	/* TCP closed, terminated or lost */
	MPA_ERROR_CRC		= 2,	/* CRC of an FPDU is wrong */
	MPA_ERROR_MARKER	= 3,	/* Marker or ULPDU_Length is wrong */
	MPA_ERROR_STARTUP	= 4,	/* invalid or missing startup frame */
};

/**
 * struct mpa_ops - call-ups of a stream's owner
 * @request: Responder: a valid Request Frame has arrived, with @pd_len bytes
 *	of private data at @pd (gone on return). Answer with mpa_accept() or
 *	mpa_reject(), later and from process context. Of a revision that
 *	mpa_rev_supported() denies only the latter can succeed.
 * @operational: the stream enters full operation with @res, which stays valid
 *	and unchanged until mpa_detach(). Initiator: before @reply; Responder:
 *	within mpa_accept().
 * @reply: Initiator: the exchange is over. @status: 0 (after @operational; with
 *	a stream that reviews before it, see mpa_reply_accept());
 *	-ECONNREFUSED: the peer rejected; -ENOSPC: its ORD is more than our IRD
 *	can be; -EOPNOTSUPP: no RTR in common (in both cases @operational came
 *	first, so that a Terminate can be sent); -ECONNRESET, -ETIMEDOUT: TCP
 *	ended or nothing came in time; -EPROTONOSUPPORT: a revision we do not
 *	speak, or an RDMAC peer's and the Request was enhanced; -EPROTO and its
 *	kin: improper frame. The last three want TCP closed.
 *	@res holds what was understood and may be NULL on improper frames.
 *	Failed startups call only this, not @ended.
 * @ulpdu: a ULPDU of @len bytes has arrived and was verified; read it with
 *	mpa_rx_read(). -EAGAIN: nothing was read, the owner will come for it
 *	(within mpa.ko). Another negative value refuses it and everything after
 *	it: further bytes are dropped unseen.
 * @settled: the ULPDUs that had arrived have been called up, one or more of
 *	them since the last time: for what is better done once for all of them.
 *	Dispensable: may be NULL.
 * @answer: as @settled, when also their bytes were given back to TCP, and what
 *	has ended was told: what they ask for may be sent from here, by
 *	mpa_tx_begin_atomic(), without waking anybody. Dispensable.
 * @writable: sending may go on: TCP has room again, or a Responder has
 *	received its first FPDU. Also after @ended with CLOSED, if that was the
 *	peer's FIN, which leaves our half open.
 * @ended: nothing more will be received; all that had arrived whole has been
 *	called up before. @code: CRC and MARKER leave TCP open for a last message
 *	(with MARKER @err is -EMSGSIZE if it was ULPDU_Length that was too much);
 *	CLOSED: @err is 0 for an orderly end at an FPDU boundary,
 *	-ECONNABORTED for a FIN within an FPDU, else the error TCP ended with;
 *	STARTUP (Responder): TCP is to be closed. Called at most once, and once
 *	more with CLOSED if TCP ends after CRC or MARKER.
 * @released: the socket is destroyed though mpa_detach() was not called, which
 *	must follow, not from here. Any context. Optional.
 * @pd_max: bytes of private data that the owner has room for; 0: all there can
 *	be. A frame with more is improper (RFC 5044 section 7.1.2 rule 9): the
 *	owner hears of its end by -EMSGSIZE, never of the data.
 */
struct mpa_ops {
	void (*request)(struct mpa_conn *conn, const struct mpa_frame *req,
			const void *pd, u32 pd_len);
	void (*operational)(struct mpa_conn *conn,
			    const struct mpa_result *res);
	void (*reply)(struct mpa_conn *conn, int status,
		      const struct mpa_result *res, const void *pd,
		      u32 pd_len);
	int (*ulpdu)(struct mpa_conn *conn, struct mpa_rx *rx, u32 len);
	void (*settled)(struct mpa_conn *conn);
	void (*answer)(struct mpa_conn *conn);
	void (*writable)(struct mpa_conn *conn);
	void (*ended)(struct mpa_conn *conn, enum mpa_error code, int err);
	void (*released)(struct mpa_conn *conn);
	u16 pd_max;
};

enum {
	MPA_STARTUP_TIMEOUT_MS	= 5000,
	/* Longest last streaming message mpa_start_responder() takes. */
	MPA_LAST_MESSAGE_MAX	= 65536,
	/* Longest header mpa_tx_add() takes beside the payload. */
	MPA_TX_HEADER_MAX	= 80,
	/* Bytes of mpa_tx_workspace(). */
	MPA_TX_WORKSPACE	= 1536,
};

/* Life (attach.c, conn.c) */
struct mpa_conn *mpa_attach(struct socket *sock, const struct mpa_ops *ops,
			    void *priv);
void mpa_detach(struct mpa_conn *conn);
void *mpa_priv(const struct mpa_conn *conn);
struct socket *mpa_socket(const struct mpa_conn *conn);

/**
 * struct mpa_label - whose a stream is, for those who look at it from outside
 * @dev_index: the RDMA core's index of the device
 * @qpn: the queue pair's number; 0: none yet
 * @listen_id: &mpa_node.id of the listener it came from; 0: none
 */
struct mpa_label {
	u32 dev_index;
	u32 qpn;
	u32 listen_id;
};

/* What mpa_set_terminate() takes beside layer << 12 | type << 8 | code. */
#define MPA_TERM_VALID	BIT(31)

/* What is told of a stream (view.c); lock_sock() or bh_lock_sock() held */
void mpa_set_label(struct mpa_conn *conn, const struct mpa_label *label);
void mpa_set_terminate(struct mpa_conn *conn, bool sent, u32 term);
/* Before startup, or never: what the stream is to keep to beside mpa_params */
void mpa_set_config(struct mpa_conn *conn, const struct mpa_config *cfg);

/* Startup (startup.c) */
int mpa_start_initiator(struct mpa_conn *conn, const struct mpa_params *own,
			const void *pd, u32 pd_len, unsigned int timeout_ms);
int mpa_start_responder(struct mpa_conn *conn, const void *last, u32 last_len,
			unsigned int timeout_ms);
int mpa_accept(struct mpa_conn *conn, const struct mpa_params *own,
	       const void *pd, u32 pd_len);
int mpa_reject(struct mpa_conn *conn, const struct mpa_params *own,
	       const void *pd, u32 pd_len);

/*
 * Sending (tx_batch.c, tx_queue.c, tx_emss.c); lock_sock() held. One batch at a time:
 *
 *	while (!mpa_tx_begin(conn)) {
 *		while ((room = mpa_tx_room(conn)) && more)
 *			mpa_tx_add(conn, ...);
 *		mpa_tx_send(conn);
 *	}
 *
 * After mpa_tx_begin_atomic() the same with the lock held in any way.
 */
int mpa_tx_begin(struct mpa_conn *conn);
int mpa_tx_begin_atomic(struct mpa_conn *conn);
void *mpa_tx_workspace(struct mpa_conn *conn);
u32 mpa_tx_room_for(struct mpa_conn *conn, u32 ulpdu_len);
u32 mpa_tx_room(struct mpa_conn *conn);
int mpa_tx_add(struct mpa_conn *conn, const void *hdr, u32 hdr_len,
	       const struct kvec *payload, unsigned int nr, u32 payload_len,
	       bool stable);
unsigned int mpa_tx_add_series(struct mpa_conn *conn, u8 *hdr, u32 hdr_len,
			       const struct kvec *payload, u32 *len);
void mpa_tx_undo(struct mpa_conn *conn, unsigned int nr);
int mpa_tx_send(struct mpa_conn *conn);
void mpa_tx_catch_up(struct mpa_conn *conn);
bool mpa_tx_drained(const struct mpa_conn *conn);
u32 mpa_tx_mulpdu(struct mpa_conn *conn);

/* Receiving (rx.c); only within ops->ulpdu */
void mpa_rx_read(struct mpa_rx *rx, void *to, u32 len);
const u8 *mpa_rx_peek(const struct mpa_rx *rx, u32 len);
u32 mpa_rx_left(const struct mpa_rx *rx);
const u8 *mpa_rx_next(const struct mpa_rx *rx, u32 len);
bool mpa_rx_join(struct mpa_rx *rx, u32 skip);
void mpa_rx_part(struct mpa_rx *rx);

/**
 * struct mpa_conn_stats - what a stream has counted
 * @tx_fpdus: FPDUs handed to TCP
 * @tx_batches: socket calls that carried them
 * @tx_bytes: stream bytes of these
 * @tx_short: socket calls that TCP took only in part
 * @rx_fpdus: FPDUs verified and called up, or joined with one that was
 * @rx_bytes: stream bytes of these
 * @rx_crc_errors: FPDUs refused for their CRC
 * @rx_marker_errors: FPDUs refused for a Marker
 * @rx_length_errors: FPDUs refused for a ULPDU_Length above %MPA_MULPDU_MAX
 * @rx_too_soon: Initiator: FPDUs that came before our first was sent
 * @rx_dropped: bytes dropped after an error
 *
 * Under the socket lock; read unlocked for display only.
 */
struct mpa_conn_stats {
	u64 tx_fpdus;
	u64 tx_batches;
	u64 tx_bytes;
	u64 tx_short;
	u64 rx_fpdus;
	u64 rx_bytes;
	u64 rx_crc_errors;
	u64 rx_marker_errors;
	u64 rx_length_errors;
	u64 rx_too_soon;
	u64 rx_dropped;
};

void mpa_conn_stats(const struct mpa_conn *conn, struct mpa_conn_stats *st);

#endif /* MPA_ULP_MPA_H */
