/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What mpa.ko offers to other modules: MPA (RFC 5044) on a TCP socket that
 * the kernel owns or has got from an application. Symbols are exported in namespace MPA.
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
 * An application may hand its socket to an owner in the kernel: mpa_take_fd
 * and mpa_set_owner in place of mpa_attach, mpa_give_back in place of mpa_detach.
 *
 * Locking: the socket lock (lock_sock() or the softirq's bh_lock_sock())
 * protects a stream. Every callback runs under it, in softirq or in process
 * context, and must not sleep. The comment of each function states whether it
 * takes the lock or requires lock_sock() to be held. No callback except @answer
 * may send.
 */
#ifndef MPA_ULP_MPA_H
#define MPA_ULP_MPA_H

#include <linux/fs.h>
#include <linux/net.h>
#include <linux/types.h>
#include <linux/uio.h>

#include "../compat/export.h"
#include "../framing/copy.h"
#include "../framing/startup.h"
#include "../framing/wire.h"
#include "node.h"

struct mpa_conn;
struct mpa_rx;
struct tcp_framing_info;

/* RFC 5044 section 8: why a stream or its receiving half has ended. */
enum mpa_error {
	MPA_ERROR_NONE		= 0,
	MPA_ERROR_CLOSED	= 1,	/* TCP closed, terminated or lost */
	MPA_ERROR_CRC		= 2,	/* CRC of an FPDU is wrong */
	MPA_ERROR_MARKER	= 3,	/* Marker or ULPDU_Length is wrong */
	MPA_ERROR_STARTUP	= 4,	/* invalid or missing startup frame */
};

/* To be raised if what is shared changes, but none of the sizes below. */
#define MPA_SHARED_NUMBER	2

/**
 * struct mpa_shared - what a module shares with mpa.ko
 * @number: %MPA_SHARED_NUMBER
 * @sizes: bytes of the structures, and of the workspace of a batch
 *
 * This structure never changes, so that modules of any two releases can compare
 * theirs: a kernel without versions of symbols loads both.
 */
struct mpa_shared {
	u32 number;
	u32 sizes[15];
};

bool mpa_shares(const struct mpa_shared *other);

/**
 * struct mpa_ops - callbacks of the owner of a stream
 * @request: Responder: a valid Request Frame has arrived, with @pd_len bytes of
 *	private data at @pd (only valid until return). The owner answers later,
 *	from process context, with mpa_accept() or mpa_reject(). For a Request
 *	that mpa_request_supported() refuses, only mpa_reject() can succeed.
 * @operational: the stream enters full operation with @res, which stays valid
 *	and unchanged until mpa_detach(). Initiator: before @reply; Responder:
 *	within mpa_accept().
 * @reply: Initiator: the startup exchange has ended with @status. 0: success
 *	(called after @operational; before it on a stream that reviews the
 *	Reply, see mpa_reply_accept()). -ECONNREFUSED: the peer rejected.
 *	-ENOSPC: the peer's ORD exceeds the largest IRD possible here;
 *	-EOPNOTSUPP: no RTR kind in common (in both cases @operational was
 *	called first, so that a Terminate can be sent). -ECONNRESET, -ETIMEDOUT:
 *	TCP ended, or no Reply came in time. -EPROTONOSUPPORT: a revision not
 *	supported here, or an RDMAC peer answered an enhanced Request. -EPROTO,
 *	-EALREADY, -EMSGSIZE, -EINVAL: malformed frame, see mpa_frame_parse().
 *	After errors from -ECONNRESET on the owner must close TCP. @res holds
 *	what was understood and may be NULL on malformed frames. A failed
 *	startup calls only @reply, not @ended.
 * @framing: what to show of another framing than that of MPA. Without the lock, and
 *	only as long as the socket exists. Returns whether there is one. Optional.
 * @ulpdu: a ULPDU of @len bytes has arrived and was verified; read it with
 *	mpa_rx_read(). Returns 0; -EAGAIN: the ULPDU stays, @ulpdu is called with
 *	it again, and nothing behind it is received until then, not even the end
 *	of the stream (an owner within mpa.ko reads it itself); another negative
 *	value refuses this ULPDU and everything after it: further bytes are
 *	dropped.
 * @early: bytes of stream are missing, and a ULPDU of @len bytes behind them has
 *	arrived and was verified; read it with mpa_rx_read(). The owner may use it
 *	only in ways that do no harm if it does not come again: @ulpdu gets it, or
 *	what the peer then sends in its place, in its turn. @end is what
 *	mpa_rx_end() will be then. Returns false if no more are wanted at the
 *	moment. Optional, see mpa_want_early().
 * @settled: all ULPDUs that had arrived were passed to @ulpdu, at least one
 *	since the last call: for work that is better done once for all of them.
 *	Optional; may be NULL.
 * @answer: as @settled, but called after their bytes were returned to TCP and
 *	after any end was reported. Answers to the ULPDUs may be sent from here
 *	with mpa_tx_begin_atomic(), without waking a thread. Optional.
 * @writable: sending may continue: TCP has room again, or a Responder has
 *	received its first FPDU. Also called after @ended with CLOSED, if that
 *	was the peer's FIN, which leaves the sending half open.
 * @ended: nothing more will be received; all complete ULPDUs were passed to
 *	@ulpdu before. @code: CRC and MARKER leave TCP open for a last message
 *	(with MARKER, @err is -EMSGSIZE if ULPDU_Length was too large); CLOSED:
 *	@err is 0 for an orderly end at an FPDU boundary, -ECONNABORTED for a
 *	FIN within an FPDU, else the error TCP ended with; STARTUP (Responder):
 *	the owner must close TCP. Called at most once, and once more with CLOSED
 *	if TCP ends after CRC or MARKER.
 * @plain: Responder with &mpa_conn.plain: the peer does not begin with a Request,
 *	so it does not use MPA, which has ended here and leaves TCP with all bytes
 *	in its queue to the owner. Optional, see mpa_allow_plain().
 * @released: the socket is being destroyed before mpa_detach() was called. The
 *	owner must still call mpa_detach(), but not from this callback. Any
 *	context. Optional.
 * @pd_max: bytes of private data that the owner has room for; 0: no limit. A
 *	frame with more is improper (RFC 5044 section 7.1.2 rule 9): startup
 *	fails with -EMSGSIZE and the data are not passed to the owner.
 */
struct mpa_ops {
	void (*request)(struct mpa_conn *conn, const struct mpa_frame *req,
			const void *pd, u32 pd_len);
	void (*operational)(struct mpa_conn *conn,
			    const struct mpa_result *res);
	void (*reply)(struct mpa_conn *conn, int status,
		      const struct mpa_result *res, const void *pd,
		      u32 pd_len);
	bool (*framing)(const struct mpa_conn *conn,
			struct tcp_framing_info *info);
	int (*ulpdu)(struct mpa_conn *conn, struct mpa_rx *rx, u32 len);
	bool (*early)(struct mpa_conn *conn, struct mpa_rx *rx, u32 len,
		      u32 end);
	void (*settled)(struct mpa_conn *conn);
	void (*answer)(struct mpa_conn *conn);
	void (*writable)(struct mpa_conn *conn);
	void (*ended)(struct mpa_conn *conn, enum mpa_error code, int err);
	void (*plain)(struct mpa_conn *conn);
	void (*released)(struct mpa_conn *conn);
	u16 pd_max;
};

/* What the module that contains this line was compiled with. */
#define MPA_SHARED_HERE							\
	((struct mpa_shared){						\
		.number = MPA_SHARED_NUMBER,				\
		.sizes = {						\
			sizeof(struct mpa_ops), sizeof(struct mpa_node), \
			sizeof(struct mpa_config),			\
			sizeof(struct mpa_params),			\
			sizeof(struct mpa_result),			\
			sizeof(struct mpa_frame),			\
			sizeof(struct mpa_node_ops),			\
			sizeof(struct mpa_node_view),			\
			sizeof(struct mpa_limits),			\
			sizeof(struct mpa_label), MPA_TX_WORKSPACE,	\
		},							\
	})

enum {
	MPA_STARTUP_TIMEOUT_MS	= 5000,
	/* Longest last streaming message mpa_start_responder() takes. */
	MPA_LAST_MESSAGE_MAX	= 65536,
	/* Longest header mpa_tx_add() takes in addition to the payload. */
	MPA_TX_HEADER_MAX	= 80,
	/* Bytes of mpa_tx_workspace(). */
	MPA_TX_WORKSPACE	= 1536,
};

/**
 * struct mpa_label - the owner of a stream, as shown to user space
 * @dev_index: the RDMA core's index of the device
 * @qpn: the queue pair's number; 0: none yet
 * @listen_id: &mpa_node.id of the listener it came from; 0: none
 */
struct mpa_label {
	u32 dev_index;
	u32 qpn;
	u32 listen_id;
};

/* Attaching and detaching (attach.c, conn.c, usock_handover.c) */
struct mpa_conn *mpa_attach(struct socket *sock, const struct mpa_ops *ops,
			    void *priv, const struct mpa_label *label);
void mpa_detach(struct mpa_conn *conn);
void mpa_detach_plain(struct mpa_conn *conn);
struct mpa_conn *mpa_take_fd(int *fd, struct file **file);
int mpa_give_fd(struct file *file);
void mpa_give_back(struct mpa_conn *conn);
void mpa_set_owner(struct mpa_conn *conn, const struct mpa_ops *ops,
		   void *priv, const struct mpa_label *label);
void mpa_stop(struct mpa_conn *conn);
void *mpa_priv(const struct mpa_conn *conn);
struct socket *mpa_socket(const struct mpa_conn *conn);

/* Marks a stored layer << 12 | type << 8 | code as valid. */
#define MPA_TERM_VALID	BIT(31)

/* What is shown of a stream (view.c); lock_sock() or bh_lock_sock() held */
void mpa_set_label(struct mpa_conn *conn, const struct mpa_label *label);
void mpa_set_terminate(struct mpa_conn *conn, bool sent, u32 term);
/* Optional, before startup: settings in addition to struct mpa_params */
void mpa_set_config(struct mpa_conn *conn, const struct mpa_config *cfg);
/* Optional, before startup (early.c) */
void mpa_want_early(struct mpa_conn *conn);

/* Startup (startup.c) */
void mpa_allow_plain(struct mpa_conn *conn);
int mpa_start_initiator(struct mpa_conn *conn, const struct mpa_params *own,
			const void *pd, u32 pd_len, unsigned int timeout_ms);
int mpa_start_responder(struct mpa_conn *conn, const void *last, u32 last_len,
			unsigned int timeout_ms);
int mpa_accept(struct mpa_conn *conn, const struct mpa_params *own,
	       const void *pd, u32 pd_len);
int mpa_reject(struct mpa_conn *conn, const struct mpa_params *own,
	       const void *pd, u32 pd_len);

/*
 * Sending (tx_batch.c, tx_queue.c, tx_emss.c); lock_sock() held. One batch at a
 * time:
 *
 *	while (!mpa_tx_begin(conn)) {
 *		while ((room = mpa_tx_room(conn)) && more)
 *			mpa_tx_add(conn, ...);
 *		mpa_tx_send(conn);
 *	}
 *
 * After mpa_tx_begin_atomic() the same with the lock held in any way.
 */
u8 *mpa_tx_one(struct mpa_conn *conn, u32 ulpdu_len);
int mpa_tx_one_send(struct mpa_conn *conn, u32 ulpdu_len);
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

/* Receiving (rx.c); only within ops->ulpdu, mpa_rx_read() also in ops->early */
void mpa_rx_read(struct mpa_rx *rx, void *to, u32 len);
const u8 *mpa_rx_peek(const struct mpa_rx *rx, u32 len);
void mpa_rx_skip_peeked(struct mpa_rx *rx, u32 len);
u32 mpa_rx_left(const struct mpa_rx *rx);
const u8 *mpa_rx_next(const struct mpa_rx *rx, u32 len);
bool mpa_rx_join(struct mpa_rx *rx, u32 skip);
void mpa_rx_part(struct mpa_rx *rx);
u32 mpa_rx_end(const struct mpa_conn *conn);

/**
 * struct mpa_conn_stats - counters of a stream
 * @tx_fpdus: FPDUs handed to TCP
 * @tx_batches: calls of TCP that sent them
 * @tx_bytes: stream bytes of these
 * @tx_short: calls of TCP that took only a part
 * @rx_fpdus: FPDUs verified and passed to the owner, alone or joined with
 *	others
 * @rx_bytes: stream bytes of these
 * @rx_crc_errors: FPDUs refused for their CRC
 * @rx_marker_errors: FPDUs refused for a Marker
 * @rx_length_errors: FPDUs refused for a ULPDU_Length above %MPA_MULPDU_MAX
 * @rx_too_soon: Initiator: FPDUs received before the first one was sent
 * @rx_aligned: framing PDUs of TUF that began a segment, as far as is known
 * @rx_unaligned: framing PDUs of TUF that did not
 * @rx_parted: framing PDUs of TUF of which a part was received before the rest
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
	u64 rx_aligned;
	u64 rx_unaligned;
	u64 rx_parted;
	u64 rx_dropped;
};

void mpa_conn_stats(const struct mpa_conn *conn, struct mpa_conn_stats *st);

#endif /* MPA_ULP_MPA_H */
