/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the suite of kernel/ulp stands on: pairs of loopback sockets, ends of
 * streams that record their call-ups and check what they receive, and a relay
 * between two pairs that can cut up and falsify what passes.
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
	PATIENCE_MS	= 20000,	/* emulated machines are slow */
	SETTLE_MS	= 30,		/* for what must not happen */
};

/**
 * struct link_options - what kind of sockets to make
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
 * @req: the Request called up
 * @res: the result called up
 * @status: of the last reply
 * @with_res: a result came with it
 * @err: of the last ended, by code
 * @pd: private data of the Request or Reply
 * @pd_len: bytes of it
 * @within: a call-up is under way
 * @dead: detached: nothing may be called
 * @bad: call-ups that should not have come, came nested, unlocked or wrong
 * @rx_ulpdus: ULPDUs received
 * @rx_bytes: bytes of them
 * @refuse_at: refuse the ULPDU of this number; U32_MAX: none
 * @skip: read only parts of each ULPDU
 * @counted: ULPDUs begin with COUNTER bytes: how many others were sent before,
 *	which are of one pattern; those that follow each other are joined
 * @rx_count: of these others, received
 * @rx_joined: ULPDUs that came with the one called up
 * @rx_joins: call-ups with others to join; each second was undone
 * @tx_count: of those others, sent
 * @tx_series: ULPDUs sent in series
 * @tx_ulpdus: ULPDUs sent
 * @tx_bytes: bytes of them
 * @echo: says how long the ULPDUs are that answer those received; NULL: none do
 * @owed: answers not sent yet
 * @at_once: answers sent from ops->answer
 * @answers: calls of ops->answer
 * @shrink: the packet shrinks while answers are on their way to TCP
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
	bool within;
	bool dead;
	unsigned int bad;
	u32 rx_ulpdus;
	u64 rx_bytes;
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
	u32 owed;
	u32 at_once;
	u32 answers;
	bool shrink;
	u8 buf[512];
	u8 *out;
};

/**
 * struct relay - passes bytes between two sockets
 * @raw: the sockets; @raw[i] is the peer of end i
 * @passed: bytes passed on from @raw[i]
 * @flip_at: of those from @raw[i], the one to falsify; U64_MAX: none
 * @chunk: at most so many bytes at once; 0: no limit
 */
struct relay {
	struct socket *raw[NR_RAW];
	u64 passed[NR_RAW];
	u64 flip_at[NR_RAW];
	u32 chunk;
};

/**
 * struct fixture - one test's world
 * @test: the test
 * @wq: woken by each call-up
 * @end: ends of streams; 0 is meant to be the Initiator
 * @relay: in case there is one; its sockets serve as raw peers too
 * @listener: of the pair made last
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

/* Waits for @cond, which call-ups bring about. */
#define fx_wait(fx, cond)						\
	KUNIT_ASSERT_NE_MSG((fx)->test,					\
		wait_event_timeout((fx)->wq, cond,			\
				   msecs_to_jiffies(PATIENCE_MS)), 0L,	\
		"never: %s", #cond)

int fx_init(struct kunit *test);
void fx_exit(struct kunit *test);

void fx_pair(struct fixture *fx, const struct link_options *lo,
	     struct socket **a, struct socket **b);
void fx_attach(struct end *e);
void fx_detach(struct end *e);
void fx_direct(struct fixture *fx, const struct link_options *lo);
void fx_relayed(struct fixture *fx, const struct link_options *lo);
void fx_with_raw(struct fixture *fx, unsigned int i,
		 const struct link_options *lo);
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
int end_send(struct end *e, u32 nr, u32 (*length)(struct end *e, u32 room));
int end_send_counted(struct end *e, u32 len);
int end_send_shrunk(struct end *e);
int end_send_owed(struct end *e);
u32 random_length(struct end *e, u32 room);
u32 longest_length(struct end *e, u32 room);
unsigned int end_events(const struct end *e);

#endif /* MPA_ULP_FIXTURE_H */
