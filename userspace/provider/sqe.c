// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * Construction of send queue entries, for both ways of posting.
 *
 * An entry is written in place, after the last published one; the kernel sees
 * nothing before mpa_sq_submit().
 */
#include <errno.h>
#include <string.h>

#include "mpa.h"

/* Properties of an operation. */
enum {
	OP_DATA		= 1 << 0,	/* has local buffers */
	OP_ONE_SGE	= 1 << 1,	/* ... but at most one */
	OP_INLINE	= 1 << 2,	/* ... or inline data */
	OP_SOLICITED	= 1 << 3,	/* can raise an event at the peer */
	OP_EXTENSION	= 1 << 4,	/* a message of RFC 7306 */
	OP_ATOMIC	= 1 << 5,	/* has operands, and eight bytes for the result */
};

static const uint8_t op_traits[MPA_WR_OPCODES] = {
	[MPA_WR_WRITE]		= OP_DATA | OP_INLINE,
	[MPA_WR_SEND]		= OP_DATA | OP_INLINE | OP_SOLICITED,
	[MPA_WR_SEND_INV]	= OP_DATA | OP_INLINE | OP_SOLICITED,
	[MPA_WR_READ]		= OP_DATA | OP_ONE_SGE,
	[MPA_WR_WRITE_IMM]	= OP_DATA | OP_INLINE | OP_SOLICITED |
				  OP_EXTENSION,
	[MPA_WR_FETCH_ADD]	= OP_DATA | OP_ATOMIC | OP_EXTENSION,
	[MPA_WR_CMP_SWAP]	= OP_DATA | OP_ATOMIC | OP_EXTENSION,
};

enum {
	/* Bytes of an atomic operation's result. */
	ATOMIC_BYTES	= 8,
};

/*
 * From verbs opcodes to those of the ABI plus one; 0 means that iWARP has no
 * such operation.
 */
static const uint8_t op_codes[] = {
	[IBV_WR_RDMA_WRITE]	= 1 + MPA_WR_WRITE,
	[IBV_WR_SEND]		= 1 + MPA_WR_SEND,
	[IBV_WR_SEND_WITH_INV]	= 1 + MPA_WR_SEND_INV,
	[IBV_WR_RDMA_READ]	= 1 + MPA_WR_READ,
	[IBV_WR_LOCAL_INV]	= 1 + MPA_WR_LOCAL_INV,
	[IBV_WR_BIND_MW]	= 1 + MPA_WR_BIND_MW,
	[IBV_WR_RDMA_WRITE_WITH_IMM] = 1 + MPA_WR_WRITE_IMM,
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = 1 + MPA_WR_FETCH_ADD,
	[IBV_WR_ATOMIC_CMP_AND_SWP] = 1 + MPA_WR_CMP_SWAP,
};

static uint8_t sqe_flags(const struct mpa_qp *qp, uint8_t traits,
			 unsigned int send_flags)
{
	uint8_t flags = 0;

	if (send_flags & IBV_SEND_SIGNALED || qp->sq_sig_all)
		flags |= MPA_SQE_SIGNALED;
	if (send_flags & IBV_SEND_FENCE)
		flags |= MPA_SQE_FENCE;
	/* Flags that have no meaning for other operations and do no harm. */
	if (send_flags & IBV_SEND_SOLICITED && traits & OP_SOLICITED)
		flags |= MPA_SQE_SOLICITED;
	return flags;
}

/*
 * Can the peer understand the operation? If the kernel does not know it either,
 * the word is zero.
 */
static bool sqe_carried(const struct mpa_qp *qp, uint8_t traits)
{
	return !(traits & OP_EXTENSION) ||
	       __atomic_load_n(&qp->sq.ring.hdr->carries, __ATOMIC_RELAXED) &
		       MPA_CARRIES_RFC7306;
}

/**
 * mpa_sqe_start() - begin an entry
 * @qp: queue pair; sq.lock is held
 * @opcode: operation
 * @send_flags: IBV_SEND_*
 * @out: the entry at sq.next, without buffers and without a work request id
 *
 * The caller advances sq.next to keep the entry.
 *
 * Return: 0, %EINVAL for an unknown operation or flag, %EOPNOTSUPP for an
 * operation that RDMAP does not have, or that the connection does not carry,
 * %ENOMEM if the queue is full.
 */
int mpa_sqe_start(struct mpa_qp *qp, enum ibv_wr_opcode opcode,
		  unsigned int send_flags, struct mpa_sqe **out)
{
	const unsigned int known = IBV_SEND_FENCE | IBV_SEND_SIGNALED |
				   IBV_SEND_SOLICITED | IBV_SEND_INLINE;
	struct mpa_sqe *sqe;
	uint8_t code;

	/* RFC 7306 has Immediate Data without other data only. */
	if (opcode == IBV_WR_SEND_WITH_IMM)
		return EOPNOTSUPP;
	if ((size_t)opcode >= sizeof(op_codes) || !op_codes[opcode] ||
	    send_flags & ~known)
		return EINVAL;
	code = op_codes[opcode] - 1;
	if (send_flags & IBV_SEND_INLINE && !(op_traits[code] & OP_INLINE))
		return EINVAL;
	if (!mpa_ring_room(&qp->sq.ring, qp->sq.next))
		return ENOMEM;
	if (!sqe_carried(qp, op_traits[code]))
		return EOPNOTSUPP;

	sqe = mpa_ring_slot(&qp->sq.ring, qp->sq.next);
	*sqe = (struct mpa_sqe){
		.opcode = code,
		.flags = sqe_flags(qp, op_traits[code], send_flags),
	};
	*out = sqe;
	return 0;
}

/**
 * mpa_sqe_set_remote() - set the address at the peer
 * @sqe: a Write or Read
 * @remote_addr: tagged offset
 * @rkey: the peer's STag
 */
void mpa_sqe_set_remote(struct mpa_sqe *sqe, uint64_t remote_addr,
			uint32_t rkey)
{
	sqe->remote_addr = remote_addr;
	sqe->stag = rkey;
}

/**
 * mpa_sqe_set_stag() - set the STag to be invalidated
 * @sqe: a Send with Invalidate or a local invalidation
 * @stag: the STag
 */
void mpa_sqe_set_stag(struct mpa_sqe *sqe, uint32_t stag)
{
	sqe->stag = stag;
}

/**
 * mpa_sqe_set_bind() - set what is bound to which window
 * @sqe: a bind
 * @mw: the window
 * @rkey: its new key
 * @info: the memory; none unbinds
 *
 * The kernel checks the rest, and reports errors by a completion.
 *
 * Return: 0, or %EINVAL for the key of another window, an unknown right, or
 * bytes without a region.
 */
int mpa_sqe_set_bind(struct mpa_sqe *sqe, const struct ibv_mw *mw,
		     uint32_t rkey, const struct ibv_mw_bind_info *info)
{
	const unsigned int rights = IBV_ACCESS_REMOTE_WRITE |
				    IBV_ACCESS_REMOTE_READ |
				    IBV_ACCESS_REMOTE_ATOMIC |
				    IBV_ACCESS_ZERO_BASED;
	/* This end accesses the memory through its region. */
	const unsigned int known = rights | IBV_ACCESS_LOCAL_WRITE;

	if ((rkey ^ mw->rkey) >> 8 || info->mw_access_flags & ~known ||
	    (info->length && !info->mr))
		return EINVAL;
	sqe->stag = rkey;
	sqe->num_sge = 1;
	sqe->sge[0] = (struct mpa_sge){ 0 };
	if (!info->length)
		return 0;
	sqe->remote_addr = info->length;
	sqe->length = info->mw_access_flags & rights;
	sqe->sge[0].addr = info->addr;
	sqe->sge[0].lkey = info->mr->lkey;
	return 0;
}

/**
 * mpa_sqe_set_imm() - set the immediate data
 * @sqe: a Write with Immediate
 * @imm_data: the data, in any byte order
 */
void mpa_sqe_set_imm(struct mpa_sqe *sqe, __be32 imm_data)
{
	sqe->imm_data = imm_data;
}

static struct mpa_atomic *sqe_operands(struct mpa_sqe *sqe)
{
	return (struct mpa_atomic *)sqe->sge;
}

/**
 * mpa_sqe_set_atomic() - set the operands
 * @sqe: an atomic operation
 * @data: what is added, or the new value
 * @compare: the value that is replaced, or 0
 */
void mpa_sqe_set_atomic(struct mpa_sqe *sqe, uint64_t data, uint64_t compare)
{
	*sqe_operands(sqe) = (struct mpa_atomic){
		.data = data,
		.compare = compare,
	};
}

/* The buffer of the result lies among the operands. */
static int set_result(struct mpa_sqe *sqe, size_t num_sge,
		      const struct ibv_sge *sges)
{
	if (num_sge != 1 || !sges || sges->length != ATOMIC_BYTES)
		return EINVAL;
	sqe_operands(sqe)->addr = sges->addr;
	sqe->length = sges->lkey;
	return 0;
}

/**
 * mpa_sqe_set_sges() - set the buffers of an entry
 * @qp: queue pair of the entry
 * @sqe: a started entry
 * @num_sge: pieces
 * @sges: the pieces
 *
 * Return: 0, or %EINVAL for more pieces than the operation or the queue takes,
 * for a message longer than %MPA_MAX_MSG_SIZE, or for an atomic operation with
 * other than one piece of eight bytes.
 */
int mpa_sqe_set_sges(const struct mpa_qp *qp, struct mpa_sqe *sqe,
		     size_t num_sge, const struct ibv_sge *sges)
{
	uint8_t traits = op_traits[sqe->opcode];
	size_t most = traits & OP_ONE_SGE ? 1 : qp->sq.max_sge;
	uint64_t total = 0;
	size_t i;

	if (traits & OP_ATOMIC)
		return set_result(sqe, num_sge, sges);
	if (!(traits & OP_DATA) || num_sge > most || (num_sge && !sges))
		return EINVAL;

	for (i = 0; i < num_sge; i++) {
		total += sges[i].length;
		sqe->sge[i] = (struct mpa_sge){
			.addr = sges[i].addr,
			.length = sges[i].length,
			.lkey = sges[i].lkey,
		};
	}
	if (total > MPA_MAX_MSG_SIZE)
		return EINVAL;

	sqe->num_sge = (uint8_t)num_sge;
	sqe->flags &= (uint8_t)~MPA_SQE_INLINE;
	sqe->length = 0;
	return 0;
}

static int append_inline(const struct mpa_qp *qp, struct mpa_sqe *sqe,
			 const void *addr, size_t length)
{
	if (length > qp->max_inline - sqe->length || (length && !addr))
		return EINVAL;
	if (length)
		memcpy((uint8_t *)sqe->sge + sqe->length, addr, length);
	sqe->length += (uint32_t)length;
	return 0;
}

static int begin_inline(struct mpa_sqe *sqe)
{
	if (!(op_traits[sqe->opcode] & OP_INLINE))
		return EINVAL;
	sqe->num_sge = 0;
	sqe->length = 0;
	sqe->flags |= MPA_SQE_INLINE;
	return 0;
}

/**
 * mpa_sqe_set_inline() - copy inline data into an entry
 * @qp: queue pair of the entry
 * @sqe: a started entry
 * @num_buf: buffers to gather from
 * @bufs: the buffers; free for other use on return
 *
 * Return: 0, or %EINVAL for more data than fit, or an operation without any.
 */
int mpa_sqe_set_inline(const struct mpa_qp *qp, struct mpa_sqe *sqe,
		       size_t num_buf, const struct ibv_data_buf *bufs)
{
	int ret = begin_inline(sqe);
	size_t i;

	for (i = 0; !ret && i < num_buf; i++)
		ret = append_inline(qp, sqe, bufs[i].addr, bufs[i].length);
	return ret;
}

/**
 * mpa_sqe_set_inline_sges() - copy inline data from a gather list
 * @qp: queue pair of the entry
 * @sqe: a started entry
 * @num_sge: pieces to gather from; as many as without inlining
 * @sges: the pieces, whose keys are ignored
 *
 * Return: 0, or %EINVAL for more data or pieces than fit, or an operation
 * without any.
 */
int mpa_sqe_set_inline_sges(const struct mpa_qp *qp, struct mpa_sqe *sqe,
			    size_t num_sge, const struct ibv_sge *sges)
{
	int ret = begin_inline(sqe);
	size_t i;

	if (num_sge > qp->sq.max_sge || (num_sge && !sges))
		return EINVAL;
	for (i = 0; !ret && i < num_sge; i++)
		ret = append_inline(qp, sqe,
				    (const void *)(uintptr_t)sges[i].addr,
				    sges[i].length);
	return ret;
}
