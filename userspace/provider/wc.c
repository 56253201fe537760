// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * Translation of the kernel's completions into those of verbs.
 */
#include <assert.h>

#include "mpa.h"

/* The two enumerations use the same numbers; these assertions check it. */
#define MPA_SAME_STATUS(name)						\
	static_assert((int)MPA_WC_##name == (int)IBV_WC_##name, #name)

MPA_SAME_STATUS(SUCCESS);
MPA_SAME_STATUS(LOC_LEN_ERR);
MPA_SAME_STATUS(LOC_QP_OP_ERR);
MPA_SAME_STATUS(LOC_PROT_ERR);
MPA_SAME_STATUS(WR_FLUSH_ERR);
MPA_SAME_STATUS(MW_BIND_ERR);
MPA_SAME_STATUS(LOC_ACCESS_ERR);
MPA_SAME_STATUS(REM_INV_REQ_ERR);
MPA_SAME_STATUS(REM_ACCESS_ERR);
MPA_SAME_STATUS(REM_OP_ERR);
MPA_SAME_STATUS(FATAL_ERR);
MPA_SAME_STATUS(GENERAL_ERR);

/* Statuses and opcodes are one byte each; a value in no table is an error. */
static const bool known_status[UINT8_MAX + 1] = {
	[MPA_WC_SUCCESS]		= true,
	[MPA_WC_LOC_LEN_ERR]		= true,
	[MPA_WC_LOC_QP_OP_ERR]		= true,
	[MPA_WC_LOC_PROT_ERR]		= true,
	[MPA_WC_WR_FLUSH_ERR]		= true,
	[MPA_WC_MW_BIND_ERR]		= true,
	[MPA_WC_LOC_ACCESS_ERR]		= true,
	[MPA_WC_REM_INV_REQ_ERR]	= true,
	[MPA_WC_REM_ACCESS_ERR]		= true,
	[MPA_WC_REM_OP_ERR]		= true,
	[MPA_WC_FATAL_ERR]		= true,
	[MPA_WC_GENERAL_ERR]		= true,
};

static const struct {
	bool known;
	enum ibv_wc_opcode opcode;
} wc_opcodes[UINT8_MAX + 1] = {
	[MPA_WR_WRITE]		= { true, IBV_WC_RDMA_WRITE },
	[MPA_WR_SEND]		= { true, IBV_WC_SEND },
	[MPA_WR_SEND_INV]	= { true, IBV_WC_SEND },
	[MPA_WR_READ]		= { true, IBV_WC_RDMA_READ },
	[MPA_WR_READ_INV]	= { true, IBV_WC_RDMA_READ },
	[MPA_WR_LOCAL_INV]	= { true, IBV_WC_LOCAL_INV },
	[MPA_WR_BIND_MW]	= { true, IBV_WC_BIND_MW },
	[MPA_WR_WRITE_IMM]	= { true, IBV_WC_RDMA_WRITE },
	[MPA_WR_FETCH_ADD]	= { true, IBV_WC_FETCH_ADD },
	[MPA_WR_CMP_SWAP]	= { true, IBV_WC_COMP_SWAP },
	[MPA_WR_SWAP]		= { true, IBV_WC_COMP_SWAP },
	[MPA_CQE_RECV]		= { true, IBV_WC_RECV },
	[MPA_CQE_RECV_IMM]	= { true, IBV_WC_RECV_RDMA_WITH_IMM },
};

/**
 * mpa_wc_status() - status of a completion
 * @cqe: the completion
 *
 * Return: as reported by the kernel; a status or opcode unknown to user space
 * is a general error.
 */
enum ibv_wc_status mpa_wc_status(const struct mpa_cqe *cqe)
{
	if (!known_status[cqe->status] || !wc_opcodes[cqe->opcode].known)
		return IBV_WC_GENERAL_ERR;
	return (enum ibv_wc_status)cqe->status;
}

/**
 * mpa_wc_opcode() - opcode of a completion
 * @cqe: the completion
 */
enum ibv_wc_opcode mpa_wc_opcode(const struct mpa_cqe *cqe)
{
	return wc_opcodes[cqe->opcode].known ? wc_opcodes[cqe->opcode].opcode :
					       IBV_WC_DRIVER1;
}

/**
 * mpa_wc_flags() - IBV_WC_* flags of a completion
 * @cqe: the completion
 */
unsigned int mpa_wc_flags(const struct mpa_cqe *cqe)
{
	if (cqe->opcode == MPA_CQE_RECV_IMM)
		return IBV_WC_WITH_IMM;
	return cqe->flags & MPA_CQE_INVALIDATED ? IBV_WC_WITH_INV : 0;
}

/**
 * mpa_wc_fill() - translate a completion
 * @cqe: from
 * @wc: to; fields that iWARP does not know become zero
 */
void mpa_wc_fill(const struct mpa_cqe *cqe, struct ibv_wc *wc)
{
	*wc = (struct ibv_wc){
		.wr_id = cqe->wr_id,
		.status = mpa_wc_status(cqe),
		.opcode = mpa_wc_opcode(cqe),
		.vendor_err = cqe->vendor_err,
		.byte_len = cqe->byte_len,
		.qp_num = cqe->qp_num,
		.wc_flags = mpa_wc_flags(cqe),
	};
	if (wc->wc_flags & IBV_WC_WITH_INV)
		wc->invalidated_rkey = cqe->inv_stag;
	if (wc->wc_flags & IBV_WC_WITH_IMM)
		wc->imm_data = cqe->imm_data;
}
