/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * ABI between mpa_rnic.ko and its verbs provider: responses of the verbs
 * commands, and the rings that both sides map.
 *
 * A ring is a struct mpa_ring_hdr and then, from byte MPA_RING_HDR_LEN on, a
 * power-of-two number of entries. The ring of a completion queue or of a shared
 * receive queue is one mmap()able object; the two rings of a queue pair share
 * one, or its send ring has one if it uses a shared receive queue. Indices run
 * freely and are reduced modulo the number of entries on use. The owner of an
 * index publishes entries with a store-release of it; the other side reads it
 * with a load-acquire. The kernel does not trust what it reads here: it copies
 * an entry before it checks it, and limits every index.
 *
 *			owner of prod	owner of cons
 *	send queue	user		kernel
 *	receive queue	user		kernel
 *	shared r. q.	user		kernel
 *	completion q.	kernel		user
 */
#ifndef MPA_ABI_H
#define MPA_ABI_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define MPA_ABI_VERSION		2

/* sysfs attribute of the ib_device that identifies it to a provider; "2\n". */
#define MPA_ABI_SYSFS_ATTR	"mpa_abi_version"

enum {
	MPA_MAX_SGE		= 16,
	MPA_MAX_INLINE		= 512,
	MPA_RING_HDR_LEN	= 128,
	/* Alignment of a ring in a mapping. */
	MPA_RING_ALIGN		= 64,
};

/* Most bytes of an RDMA message. Posting a longer request fails. */
#define MPA_MAX_MSG_SIZE	0x80000000U

/**
 * struct mpa_ring_hdr - indices at the start of every ring
 * @prod: entries produced since creation
 * @pad0: keeps the words of the two owners in separate cache lines
 * @cons: entries consumed since creation
 * @arm: completion queues: MPA_ARM_*; set by the user, cleared by the kernel.
 *	Receive queues: not %MPA_ARM_NONE if the kernel needs a doorbell after
 *	entries are published; the user reads it after a full fence
 * @carries: send queues: MPA_CARRIES_*, what the stream of the queue pair can
 *	carry in addition to RFC 5040; set by the kernel when it starts
 * @pad1: to %MPA_RING_HDR_LEN
 */
struct mpa_ring_hdr {
	__u32 prod;
	__u32 pad0[15];
	__u32 cons;
	__u32 arm;
	__u32 carries;
	__u32 pad1[13];
};

/* mpa_ring_hdr.arm: the completion that raises the next event. */
enum {
	MPA_ARM_NONE		= 0,
	MPA_ARM_SOLICITED	= 1,
	MPA_ARM_NEXT		= 2,
};

/* mpa_ring_hdr.carries */
enum {
	MPA_CARRIES_RFC7306	= 1 << 0,	/* WRITE_IMM, atomic operations */
};

/**
 * struct mpa_sge - a piece of registered memory
 * @addr: address within the region
 * @length: bytes
 * @lkey: STag of the region
 */
struct mpa_sge {
	__aligned_u64 addr;
	__u32 length;
	__u32 lkey;
};

/* mpa_sqe.opcode */
enum {
	MPA_WR_WRITE		= 0,
	MPA_WR_SEND		= 1,
	MPA_WR_SEND_INV		= 2,
	MPA_WR_READ		= 3,
	MPA_WR_READ_INV		= 4,	/* Read, then invalidate the sink */
	MPA_WR_LOCAL_INV	= 5,
	MPA_WR_REG_MR		= 6,	/* kernel consumers only */
	MPA_WR_BIND_MW		= 7,	/* with %MPA_FEATURE_MW */
	MPA_WR_WRITE_IMM	= 8,	/* Write, then Immediate Data */
	MPA_WR_FETCH_ADD	= 9,
	MPA_WR_CMP_SWAP		= 10,
	MPA_WR_SWAP		= 11,	/* CmpSwap that compares no bit */
	MPA_WR_MASKED_FETCH_ADD	= 12,	/* kernel consumers only */
	MPA_WR_MASKED_CMP_SWAP	= 13,	/* kernel consumers only */
	MPA_WR_OPCODES
};

/* mpa_sqe.flags */
enum {
	MPA_SQE_SIGNALED	= 1 << 0,
	MPA_SQE_SOLICITED	= 1 << 1,
	MPA_SQE_FENCE		= 1 << 2,
	MPA_SQE_INLINE		= 1 << 3,
	MPA_SQE_FLAGS		= 0xf
};

/**
 * struct mpa_sqe - a send queue entry
 * @wr_id: returned in the completion
 * @opcode: MPA_WR_*
 * @flags: MPA_SQE_* bits. %MPA_SQE_SOLICITED is for Sends and WRITE_IMM,
 *	%MPA_SQE_INLINE for Sends and Writes
 * @num_sge: pieces in @sge; at most one for a Read, one for BIND_MW. Zero with
 *	%MPA_SQE_INLINE, atomic operations, LOCAL_INV and REG_MR
 * @reserved: zero
 * @length: %MPA_SQE_INLINE: bytes of data in place of @sge; REG_MR, BIND_MW:
 *	access flags, IB_UVERBS_ACCESS_*; for BIND_MW those of the peer and
 *	ZERO_BASED; atomic operations: STag of the region for the result
 * @remote_addr: Write, Read, atomic operations: tagged offset at the peer;
 *	REG_MR: the region, a kernel pointer; BIND_MW: bytes of the window, 0 to
 *	unbind one of type 1
 * @stag: Write, Read, atomic operations: STag of the peer; SEND_INV: STag that
 *	the peer invalidates; LOCAL_INV: local STag; REG_MR, BIND_MW: the new
 *	STag, which may differ from the present one in its low byte
 * @imm_data: WRITE_IMM: passed to the peer's consumer as it is
 * @sge: the pieces, inline data or struct mpa_atomic; the stride has room for
 *	each. BIND_MW: the address of the window's first byte and the STag of its
 *	region, with a length of 0; all zero to unbind
 *
 * Bits and fields without a meaning for the entry must be zero, so that they
 * can get one later: otherwise the entry completes with %MPA_WC_LOC_QP_OP_ERR.
 * So do WRITE_IMM and atomic operations if the stream does not carry them, see
 * mpa_ring_hdr.carries.
 */
struct mpa_sqe {
	__aligned_u64 wr_id;
	__u8 opcode;
	__u8 flags;
	__u8 num_sge;
	__u8 reserved;
	__u32 length;
	__aligned_u64 remote_addr;
	__u32 stag;
	__be32 imm_data;
	struct mpa_sge sge[];
};

/**
 * struct mpa_atomic - operands of an atomic operation, in place of mpa_sqe.sge
 * @addr: where the value before the operation goes: eight bytes, in the byte
 *	order of the machine
 * @data: FETCH_ADD: what is added; CMP_SWAP, SWAP: the new value
 * @compare: CMP_SWAP: the value that is replaced; else zero
 */
struct mpa_atomic {
	__aligned_u64 addr;
	__aligned_u64 data;
	__aligned_u64 compare;
};

/**
 * struct mpa_rqe - a receive queue entry
 * @wr_id: returned in the completion
 * @num_sge: pieces in @sge
 * @reserved: zero
 * @sge: destination of the message
 *
 * If @reserved is set or there are more pieces than the queue was created for,
 * the entry completes with %MPA_WC_LOC_QP_OP_ERR when a message arrives for it,
 * and the queue pair of that message ends.
 */
struct mpa_rqe {
	__aligned_u64 wr_id;
	__u32 num_sge;
	__u32 reserved;
	struct mpa_sge sge[];
};

/* mpa_cqe.opcode: MPA_WR_* of the send queue, or one of these */
enum {
	MPA_CQE_RECV		= 0x80,
	MPA_CQE_RECV_IMM	= 0x81,	/* of Immediate Data */
};

/* mpa_cqe.flags */
enum {
	MPA_CQE_INVALIDATED	= 1 << 0,	/* inv_stag is valid */
	MPA_CQE_SOLICITED	= 1 << 1,	/* (kernel use) */
};

/* mpa_cqe.status; same numbers as enum ib_wc_status */
enum {
	MPA_WC_SUCCESS		= 0,
	MPA_WC_LOC_LEN_ERR	= 1,
	MPA_WC_LOC_QP_OP_ERR	= 2,
	MPA_WC_LOC_PROT_ERR	= 4,
	MPA_WC_WR_FLUSH_ERR	= 5,
	MPA_WC_MW_BIND_ERR	= 6,
	MPA_WC_LOC_ACCESS_ERR	= 8,
	MPA_WC_REM_INV_REQ_ERR	= 9,
	MPA_WC_REM_ACCESS_ERR	= 10,
	MPA_WC_REM_OP_ERR	= 11,
	MPA_WC_FATAL_ERR	= 19,
	MPA_WC_GENERAL_ERR	= 21,
};

/**
 * struct mpa_cqe - a completion queue entry
 * @wr_id: as in the work request
 * @qp_num: queue pair that the work request was posted to
 * @byte_len: bytes received or read; RECV_IMM: bytes of the Write directly
 *	before the Immediate Data
 * @inv_stag: STag invalidated by a Send with Invalidate
 * @status: MPA_WC_*
 * @opcode: MPA_WR_* or MPA_CQE_RECV*
 * @flags: MPA_CQE_*
 * @vendor_err: RDMAP/DDP/MPA error as layer << 12 | type << 8 | code; or 0
 * @imm_data: RECV_IMM: from the peer, as it was sent; else zero
 */
struct mpa_cqe {
	__aligned_u64 wr_id;
	__u32 qp_num;
	__u32 byte_len;
	__u32 inv_stag;
	__u8 status;
	__u8 opcode;
	__u16 flags;
	__u32 vendor_err;
	__be32 imm_data;
};

/*
 * What the module has beyond version 2 of this interface: in
 * mpa_alloc_ucontext_resp.features and %MPA_ATTR_QUERY_CONTEXT_FEATURES. A provider
 * uses nothing of a bit that is not set.
 */
enum {
	MPA_FEATURE_SRQ		= 1 << 0,	/* shared receive queues */
	MPA_FEATURE_MW		= 1 << 1,	/* MPA_WR_BIND_MW */
	MPA_FEATURE_RFC7306	= 1 << 2,	/* Immediate Data, atomic operations */
	MPA_FEATURE_DOORBELL	= 1 << 3,	/* MPA_OBJECT_DOORBELL */
};

/**
 * struct mpa_cqe_timed - an entry of a completion queue with time stamps
 * @cqe: the completion
 * @time: when it was appended, ns of CLOCK_MONOTONIC in the time namespace that the
 *	queue was created in
 *
 * The entries of a queue are of this type if it was created with
 * IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION.
 */
struct mpa_cqe_timed {
	struct mpa_cqe cqe;
	__aligned_u64 time;
};

/**
 * struct mpa_alloc_ucontext_resp - response of GET_CONTEXT
 * @abi_version: %MPA_ABI_VERSION
 * @features: MPA_FEATURE_*; zero from older modules
 */
struct mpa_alloc_ucontext_resp {
	__u32 abi_version;
	__u32 features;
};

/*
 * Attributes and commands of this driver: RDMA_VERBS_IOCTL with driver number 0. The
 * numbers of drivers begin at 1 << 12. mpadv(3) wraps the commands.
 */

/* Of UVERBS_METHOD_QUERY_CONTEXT, for a process that imports a context. */
enum {
	MPA_ATTR_QUERY_CONTEXT_FEATURES	= 1U << 12,	/* out: __u32, MPA_FEATURE_* */
};

/* Of UVERBS_OBJECT_QP. */
enum {
	MPA_METHOD_QP_MODIFY		= 1U << 12,
	MPA_METHOD_QP_FROM_SOCKET,
};

/**
 * enum mpa_attrs_qp_modify - attributes of MPA_METHOD_QP_MODIFY
 * @MPA_ATTR_QP_MODIFY_HANDLE: handle of the queue pair
 * @MPA_ATTR_QP_MODIFY_RECEIVE_WAIT: __u32, ms, up to %MPA_MAX_RECEIVE_WAIT; in place
 *	of the setting receive-wait from now on; optional
 */
enum mpa_attrs_qp_modify {
	MPA_ATTR_QP_MODIFY_HANDLE	= 1U << 12,
	MPA_ATTR_QP_MODIFY_RECEIVE_WAIT,
};

/**
 * enum mpa_attrs_qp_from_socket - attributes of MPA_METHOD_QP_FROM_SOCKET
 * @MPA_ATTR_QP_FROM_SOCKET_HANDLE: handle of the queue pair, which is in IDLE
 * @MPA_ATTR_QP_FROM_SOCKET_PARAMS: in: struct mpa_qp_from_socket
 * @MPA_ATTR_QP_FROM_SOCKET_LAST: in: last message of streaming mode, up to
 *	%MPA_MAX_LAST_MESSAGE bytes, that a Responder sends; optional
 * @MPA_ATTR_QP_FROM_SOCKET_PD: in: private data of the Request or the Reply, up to
 *	%MPA_MAX_SOCKET_PD bytes; optional
 * @MPA_ATTR_QP_FROM_SOCKET_RESULT: out: struct mpa_qp_from_socket_resp, also after
 *	errors of the exchange and of the socket
 * @MPA_ATTR_QP_FROM_SOCKET_PEER_PD: out: private data of the peer, after success and
 *	ECONNREFUSED, as far as there is room; optional
 *
 * The connection of a TCP socket of the caller, which must have the protocol mpa and
 * not have started it, goes to the queue pair. The call waits for the startup
 * exchange. The descriptor is closed; after an error there is another one, if the
 * kernel does not use the socket any more. See mpadv(3).
 */
enum mpa_attrs_qp_from_socket {
	MPA_ATTR_QP_FROM_SOCKET_HANDLE	= 1U << 12,
	MPA_ATTR_QP_FROM_SOCKET_PARAMS,
	MPA_ATTR_QP_FROM_SOCKET_LAST,
	MPA_ATTR_QP_FROM_SOCKET_PD,
	MPA_ATTR_QP_FROM_SOCKET_RESULT,
	MPA_ATTR_QP_FROM_SOCKET_PEER_PD,
};

/* mpa_qp_from_socket.flags */
enum {
	MPA_QP_SOCKET_RESPONDER	= 1 << 0,	/* waits for a Request; else sends it */
};

/* Bytes of a last message of streaming mode, and of private data. */
#define MPA_MAX_LAST_MESSAGE	4096
#define MPA_MAX_SOCKET_PD	508

/**
 * struct mpa_qp_from_socket - how a socket goes to a queue pair
 * @fd: the socket
 * @flags: MPA_QP_SOCKET_*
 * @ird: inbound Read depth to request; the settings of the device limit it
 * @ord: outbound Read depth to request; likewise
 */
struct mpa_qp_from_socket {
	__s32 fd;
	__u32 flags;
	__u32 ird;
	__u32 ord;
};

/**
 * struct mpa_qp_from_socket_resp - what came of it
 * @ird: inbound Read depth; after a refusal the one that the peer would have needed
 * @ord: outbound Read depth; after a refusal the one that the peer offers
 * @peer_pd_len: bytes of private data that the peer has sent, up to 255
 * @fd: after an error, a descriptor for the socket; else negative
 */
struct mpa_qp_from_socket_resp {
	__u32 ird;
	__u32 ord;
	__u32 peer_pd_len;
	__s32 fd;
};

/* Objects of this driver. */
enum {
	MPA_OBJECT_PLAIN		= 1U << 12,
	MPA_OBJECT_DOORBELL,
};

/* Of MPA_OBJECT_PLAIN: a file, the queue of a listener's plain TCP connections. */
enum {
	MPA_METHOD_PLAIN_CREATE		= 1U << 12,
	MPA_METHOD_PLAIN_ACCEPT,
};

/**
 * enum mpa_attrs_plain_create - attributes of MPA_METHOD_PLAIN_CREATE
 * @MPA_ATTR_PLAIN_CREATE_HANDLE: out: descriptor of the new queue
 * @MPA_ATTR_PLAIN_CREATE_PARAMS: in: struct mpa_plain_create
 *
 * From now on, peers of a listener of the caller that do not begin with a Request, or
 * with nothing until the startup timeout, are not reset: their connections wait in the
 * queue. It ends with its descriptor.
 */
enum mpa_attrs_plain_create {
	MPA_ATTR_PLAIN_CREATE_HANDLE	= 1U << 12,
	MPA_ATTR_PLAIN_CREATE_PARAMS,
};

/**
 * enum mpa_attrs_plain_accept - attributes of MPA_METHOD_PLAIN_ACCEPT
 * @MPA_ATTR_PLAIN_ACCEPT_HANDLE: descriptor of the queue
 * @MPA_ATTR_PLAIN_ACCEPT_FLAGS: in: __u32, SOCK_NONBLOCK, SOCK_CLOEXEC
 * @MPA_ATTR_PLAIN_ACCEPT_SOCKET: out: __s32, descriptor of the socket
 *
 * Does not wait. The socket is an ordinary one of TCP; what the peer has sent is in its
 * receive queue.
 */
enum mpa_attrs_plain_accept {
	MPA_ATTR_PLAIN_ACCEPT_HANDLE	= 1U << 12,
	MPA_ATTR_PLAIN_ACCEPT_FLAGS,
	MPA_ATTR_PLAIN_ACCEPT_SOCKET,
};

/**
 * struct mpa_plain_create - a listener, by its address, and the queue
 * @addr: IPv4 or IPv6 address, from its first byte on; zero: any
 * @family: AF_INET or AF_INET6
 * @port: TCP port
 * @scope: index of the network device of a link-local address, else 0
 * @backlog: how many connections may wait, at least 1; net.core.somaxconn limits it
 * @flags: 0
 */
struct mpa_plain_create {
	__u8 addr[16];
	__u16 family;
	__be16 port;
	__u32 scope;
	__u32 backlog;
	__u32 flags;
};

/* Of MPA_OBJECT_DOORBELL: a file that has posted requests sent; %MPA_FEATURE_DOORBELL. */
enum {
	MPA_METHOD_DOORBELL_CREATE	= 1U << 12,
};

/**
 * enum mpa_attrs_doorbell_create - attributes of MPA_METHOD_DOORBELL_CREATE
 * @MPA_ATTR_DOORBELL_CREATE_HANDLE: out: descriptor of the new doorbell
 *
 * It serves all queue pairs of the context that are created from the first doorbell
 * on. While it is open, the module cannot be unloaded, so the administrator must permit it with
 * the parameter doorbells of the module; else EOPNOTSUPP.
 */
enum mpa_attrs_doorbell_create {
	MPA_ATTR_DOORBELL_CREATE_HANDLE	= 1U << 12,
};

/*
 * ioctl() of a doorbell, with mpa_create_qp_resp.doorbell of the queue pair as the
 * argument itself. EINVAL: there is no such queue pair in the context; EIO: the
 * context has ended, or the device is gone. The type is that of RDMA_VERBS_IOCTL.
 */
#define MPA_DOORBELL_RING	_IO(0x1b, 0xd0)

/* mpa_create_qp_resp.doorbell of a queue pair that no doorbell serves. */
#define MPA_NO_DOORBELL		0xffffffffU

/* Milliseconds that a message may wait for a receive. */
#define MPA_MAX_RECEIVE_WAIT	60000

/**
 * struct mpa_create_cq_resp - response of CREATE_CQ and RESIZE_CQ
 * @cq_key: mmap() offset of the ring
 * @num_cqe: entries, a power of two
 * @ring_len: bytes to map
 *
 * RESIZE_CQ replaces the entries; those that were not consumed are in the new
 * ones. The header stays where CREATE_CQ has put it, and the one at the start of
 * the new mapping is not used. The user does not consume entries meanwhile. It
 * may reserve the addresses before: as many bytes as the header and the entries
 * take, rounded up to pages.
 */
struct mpa_create_cq_resp {
	__aligned_u64 cq_key;
	__u32 num_cqe;
	__u32 ring_len;
};

/**
 * struct mpa_create_qp_resp - response of CREATE_QP
 * @key: mmap() offset of both rings; the send ring comes first
 * @len: bytes to map
 * @rq_offset: offset of the receive ring in the mapping, a multiple of
 *	%MPA_RING_ALIGN
 * @num_sqe: send entries, a power of two
 * @num_rqe: receive entries, a power of two; 0 with a shared receive queue
 * @sqe_stride: bytes per send entry
 * @rqe_stride: bytes per receive entry; 0 with a shared receive queue
 * @max_inline: most bytes of inline data in an entry
 * @qp_num: number of the queue pair
 * @doorbell: its number at the doorbells of the context; %MPA_NO_DOORBELL: there was
 *	none
 * @reserved: zero
 *
 * The last two are there with %MPA_FEATURE_DOORBELL. Without it, and at any time, the
 * doorbell is a POST_SEND command without work requests. The receive queue
 * needs no doorbell while the queue pair is in operation. In the error state
 * mpa_ring_hdr.arm of its ring asks for one, so that the entry is flushed. A
 * queue pair that uses a shared receive queue has no receive ring.
 */
struct mpa_create_qp_resp {
	__aligned_u64 key;
	__u32 len;
	__u32 rq_offset;
	__u32 num_sqe;
	__u32 num_rqe;
	__u32 sqe_stride;
	__u32 rqe_stride;
	__u32 max_inline;
	__u32 qp_num;
	__u32 doorbell;
	__u32 reserved;
};

/**
 * struct mpa_create_srq_resp - response of CREATE_SRQ
 * @key: mmap() offset of the ring; its entries are struct mpa_rqe
 * @len: bytes to map
 * @num_rqe: entries, a power of two
 * @rqe_stride: bytes per entry
 * @reserved: zero
 *
 * A shared receive queue never needs a doorbell: its entries are not flushed.
 */
struct mpa_create_srq_resp {
	__aligned_u64 key;
	__u32 len;
	__u32 num_rqe;
	__u32 rqe_stride;
	__u32 reserved;
};

/**
 * struct mpa_reg_mr_resp - response of REG_MR
 * @stag: STag of the region (also its lkey and rkey)
 * @reserved: zero
 */
struct mpa_reg_mr_resp {
	__u32 stag;
	__u32 reserved;
};

#endif /* MPA_ABI_H */
