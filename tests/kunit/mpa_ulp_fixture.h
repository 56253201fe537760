/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Fixture of the suites of kernel/ulp: pairs of loopback sockets, ends of
 * streams that record their callbacks and check what they receive, and a relay
 * between two pairs that can split and corrupt the bytes it forwards.
 */
#ifndef MPA_ULP_FIXTURE_H
#define MPA_ULP_FIXTURE_H

#include <kunit/test.h>
#include <linux/net.h>
#include <linux/types.h>
#include <linux/wait.h>

#include "../../kernel/ulp/mpa.h"

enum {
	NR_ENDS		= 2,
	NR_RAW		= 2,
	ROOM		= 128 * 1024,
	COUNTER		= 8,
	TIMEOUT_MS	= 20000,	/* emulated machines are slow */
	SETTLE_MS	= 30,		/* to see what must not happen */
};

/**
 * struct link_options - options of the sockets of a pair
 * @family: AF_INET or AF_INET6; 0: AF_INET
 * @mss: TCP_MAXSEG; 0: the device's
 * @rcvbuf: SO_RCVBUF of both; 0: the default
 * @sndbuf: send buffer of both; 0: the default
 */
struct link_options {
	int family;
	int mss;
	int rcvbuf;
	int sndbuf;
};

/**
 * struct end - one end of a stream under test
 * @fx: the fixture
 * @sock: its socket
 * @conn: its stream, or NULL
 * @requests: calls of ops->request
 * @operationals: calls of ops->operational
 * @replies: calls of ops->reply
 * @writables: calls of ops->writable
 * @ended: calls of ops->ended, by code
 * @req: the Request passed to ops->request
 * @res: the result passed to ops->operational
 * @status: status passed to the last ops->reply
 * @with_res: that call also passed a result
 * @err: error passed to the last ops->ended, by code
 * @pd: private data of the Request or Reply
 * @pd_len: bytes of it
 * @in_callback: a callback is running
 * @detached: no stream is attached: no callback may be called
 * @bad: number of errors: callbacks that were unexpected, nested, unlocked or
 *	had wrong data, and failed checks
 * @rx_ulpdus: ULPDUs received
 * @rx_bytes: bytes of them
 * @put_off: ops->ulpdu returns -EAGAIN so many times before it takes a ULPDU
 * @offers: calls of ops->ulpdu, if @put_off is set
 * @refuse_at: refuse the ULPDU of this number; U32_MAX: none
 * @skip: read only parts of each ULPDU
 * @counted: each ULPDU begins with a counter of COUNTER bytes: the number of
 *	payload bytes sent before it. The payload of all ULPDUs is one
 *	pattern; consecutive ULPDUs are joined
 * @rx_count: payload bytes received
 * @rx_joined: ULPDUs that were joined with the one passed to ops->ulpdu
 * @rx_joins: calls of ops->ulpdu that joined others; every second one was
 *	undone
 * @tx_count: payload bytes sent
 * @tx_series: ULPDUs sent in series
 * @tx_ulpdus: ULPDUs sent
 * @tx_bytes: bytes of them
 * @echo: returns the length of the ULPDU that answers a received one; NULL: no
 *	answers
 * @unanswered: answers not sent yet
 * @at_once: answers sent from ops->answer
 * @answers: calls of ops->answer
 * @shrink: the maximum packet is reduced while answers are passed to TCP
 * @buf: for receiving
 * @out: for sending, ROOM bytes
 */
struct end {
	struct fixture *fx;
	struct socket *sock;
	struct mpa_conn *conn;
	unsigned int requests;
	unsigned int operationals;
	unsigned int replies;
	unsigned int writables;
	unsigned int ended[MPA_ERROR_STARTUP + 1];
	struct mpa_frame req;
	struct mpa_result res;
	int status;
	bool with_res;
	int err[MPA_ERROR_STARTUP + 1];
	u8 pd[MPA_PRIVATE_DATA_MAX];
	u32 pd_len;
	bool in_callback;
	bool detached;
	unsigned int bad;
	u32 rx_ulpdus;
	u64 rx_bytes;
	u32 put_off;
	u32 offers;
	u32 refuse_at;
	bool skip;
	bool counted;
	u64 rx_count;
	u32 rx_joined;
	u32 rx_joins;
	u64 tx_count;
	u32 tx_series;
	u32 tx_ulpdus;
	u64 tx_bytes;
	u32 (*echo)(struct end *e, u32 room);
	u32 unanswered;
	u32 at_once;
	u32 answers;
	bool shrink;
	u8 buf[512];
	u8 *out;
};

/**
 * struct relay - forwards bytes between two sockets
 * @raw: the sockets; @raw[i] is the peer of end i
 * @passed: bytes forwarded from @raw[i]
 * @flip_at: number of the byte from @raw[i] to corrupt; U64_MAX: none
 * @chunk: maximum number of bytes forwarded at once; 0: no limit
 */
struct relay {
	struct socket *raw[NR_RAW];
	u64 passed[NR_RAW];
	u64 flip_at[NR_RAW];
	u32 chunk;
};

/**
 * struct fixture - everything that one test uses
 * @test: the test
 * @wq: woken by each callback
 * @end: ends of streams; end 0 is usually the Initiator
 * @relay: the relay, if used; its sockets are also the raw peers
 * @listener: listener of the pair that is being connected
 * @data: ROOM bytes for raw peers
 */
struct fixture {
	struct kunit *test;
	wait_queue_head_t wq;
	struct end end[NR_ENDS];
	struct relay relay;
	struct socket *listener;
	u8 *data;
};

/* Waits until callbacks have made @cond true. */
#define fx_wait(fx, cond)						\
	do {								\
		struct fixture *_fx = (fx);				\
		long _left = wait_event_timeout(_fx->wq, cond,		\
					msecs_to_jiffies(TIMEOUT_MS));	\
									\
		KUNIT_ASSERT_NE_MSG(_fx->test, _left, 0L,		\
				    "timed out: %s", #cond);		\
	} while (0)

int fx_init(struct kunit *test);
void fx_exit(struct kunit *test);

void fx_pair(struct fixture *fx, const struct link_options *lo,
	     struct socket **a, struct socket **b);
extern const struct mpa_label fx_label;
void fx_attach(struct end *e);
void fx_detach(struct end *e);
void fx_direct(struct fixture *fx, const struct link_options *lo);
void fx_relayed(struct fixture *fx, const struct link_options *lo);
void fx_with_raw(struct fixture *fx, unsigned int i,
		 const struct link_options *lo);
int fx_loopback(int family, struct sockaddr_storage *ss);
struct socket *fx_make_socket(struct fixture *fx, const struct link_options *lo);
void fx_set_option(struct socket *sock, int level, int name, int value);
void fx_set_options(struct socket *sock, const struct link_options *lo);
void fx_release(struct socket **sock);
void fx_reset(struct socket **sock);
void fx_settle(void);

int relay_step(struct relay *r, struct fixture *fx);

int raw_send(struct socket *sock, const void *p, u32 len);
int raw_recv(struct socket *sock, void *p, u32 len);
int raw_recv_all(struct socket *sock, void *p, u32 len);
u32 raw_frame(u8 *to, bool reply, u8 flags, u8 rev, u32 pd_len);
u32 raw_fpdu(u8 *to, const u8 *ulpdu, u32 len);

void pattern(u8 *to, u32 ulpdu, u32 off, u32 len);
int end_add_one(struct end *e, u32 at, u32 len);
int end_send(struct end *e, u32 nr, u32 (*length)(struct end *e, u32 room));
int end_send_counted(struct end *e, u32 len);
int end_send_shrunk(struct end *e);
int end_send_unanswered(struct end *e);
u32 random_length(struct end *e, u32 room);
u32 longest_length(struct end *e, u32 room);
unsigned int end_events(const struct end *e);

#endif /* MPA_ULP_FIXTURE_H */
