// SPDX-License-Identifier: GPL-2.0-only
//
// Entries of the rings: fields without a meaning must be zero, so that they can
// get one later. Anything else is refused.
#include "raw.hpp"

using namespace harness;
using namespace verbs;

namespace {

struct Base {
	const char *name;
	std::uint8_t opcode;
	bool pieces;	// it has data in pieces
	bool remote;	// it names a location at the peer
	bool stag;	// ... or an STag only
	bool inlined;	// ... and its data may be in the entry
	bool solicited;
	bool immediate = false;
};

constexpr Base bases[] = {
	{"Write", MPA_WR_WRITE, true, true, true, true, false},
	{"Send", MPA_WR_SEND, true, false, false, true, true},
	{"Send with Invalidate", MPA_WR_SEND_INV, true, false, true, true, true},
	{"Read", MPA_WR_READ, true, true, true, false, false},
	{"Read with Invalidate", MPA_WR_READ_INV, true, true, true, false, false},
	{"Invalidate", MPA_WR_LOCAL_INV, false, false, true, false, false},
	{"Write with Immediate", MPA_WR_WRITE_IMM, true, true, true, true, true, true},
};

void fill(mpa_sqe &sqe, const Base &base, Pair &pair, ibv_mr *spare)
{
	sqe.wr_id = 1;
	sqe.opcode = base.opcode;
	sqe.flags = MPA_SQE_SIGNALED;
	if (base.pieces) {
		sqe.num_sge = 1;
		sqe.sge[0].addr = reinterpret_cast<std::uintptr_t>(spare->addr);
		sqe.sge[0].length = 32;
		sqe.sge[0].lkey = spare->lkey;
	}
	if (base.remote)
		sqe.remote_addr =
			reinterpret_cast<std::uintptr_t>(pair.two.memory.data());
	if (base.remote)
		sqe.stag = pair.two.region->rkey;
	else if (base.stag)
		sqe.stag = spare->lkey;
}

struct SendRow {
	const char *name;
	bool (*applies)(const Base &base);
	void (*spoil)(mpa_sqe &sqe);
	ibv_wc_status status;
};

bool always(const Base &)
{
	return true;
}

constexpr SendRow rows[] = {
	{"valid", always, [](mpa_sqe &) {}, IBV_WC_SUCCESS},
	{"fenced", always, [](mpa_sqe &sqe) { sqe.flags |= MPA_SQE_FENCE; },
	 IBV_WC_SUCCESS},
	{"an unknown flag, 4", always, [](mpa_sqe &sqe) { sqe.flags |= 1 << 4; },
	 IBV_WC_LOC_QP_OP_ERR},
	{"an unknown flag, 7", always, [](mpa_sqe &sqe) { sqe.flags |= 1 << 7; },
	 IBV_WC_LOC_QP_OP_ERR},
	// Nor does the provider know it when it completes.
	{"an unknown opcode", always, [](mpa_sqe &sqe) { sqe.opcode = MPA_WR_OPCODES; },
	 IBV_WC_GENERAL_ERR},
	{"the kernel's opcode", always, [](mpa_sqe &sqe) { sqe.opcode = MPA_WR_REG_MR; },
	 IBV_WC_GENERAL_ERR},
	{"reserved", always, [](mpa_sqe &sqe) { sqe.reserved = 1; }, IBV_WC_LOC_QP_OP_ERR},
	{"reserved, its top bit", always, [](mpa_sqe &sqe) { sqe.reserved = 0x80; },
	 IBV_WC_LOC_QP_OP_ERR},
	{"immediate data", [](const Base &base) { return !base.immediate; },
	 [](mpa_sqe &sqe) { sqe.imm_data = 1; }, IBV_WC_LOC_QP_OP_ERR},
	{"immediate data, its top bit", [](const Base &base) { return !base.immediate; },
	 [](mpa_sqe &sqe) { sqe.imm_data = 1U << 31; }, IBV_WC_LOC_QP_OP_ERR},
	{"any immediate data", [](const Base &base) { return base.immediate; },
	 [](mpa_sqe &sqe) { sqe.imm_data = ~0U; }, IBV_WC_SUCCESS},
	{"a length where there is none", always, [](mpa_sqe &sqe) { sqe.length = 1; },
	 IBV_WC_LOC_QP_OP_ERR},
	{"a location at the peer", [](const Base &base) { return !base.remote; },
	 [](mpa_sqe &sqe) { sqe.remote_addr = 1; }, IBV_WC_LOC_QP_OP_ERR},
	{"an STag", [](const Base &base) { return !base.stag; },
	 [](mpa_sqe &sqe) { sqe.stag = 0x100; }, IBV_WC_LOC_QP_OP_ERR},
	{"pieces without data", [](const Base &base) { return !base.pieces; },
	 [](mpa_sqe &sqe) { sqe.num_sge = 1; }, IBV_WC_LOC_QP_OP_ERR},
	{"solicited", [](const Base &base) { return base.solicited; },
	 [](mpa_sqe &sqe) { sqe.flags |= MPA_SQE_SOLICITED; }, IBV_WC_SUCCESS},
	{"solicited without a Send", [](const Base &base) { return !base.solicited; },
	 [](mpa_sqe &sqe) { sqe.flags |= MPA_SQE_SOLICITED; }, IBV_WC_LOC_QP_OP_ERR},
	{"inline", [](const Base &base) { return base.inlined; },
	 [](mpa_sqe &sqe) {
		 sqe.num_sge = 0;
		 sqe.flags |= MPA_SQE_INLINE;
		 sqe.length = 8;
	 },
	 IBV_WC_SUCCESS},
	{"inline with pieces", [](const Base &base) { return base.inlined; },
	 [](mpa_sqe &sqe) {
		 sqe.flags |= MPA_SQE_INLINE;
		 sqe.length = 8;
	 },
	 IBV_WC_LOC_QP_OP_ERR},
	{"inline where there is none", [](const Base &base) { return !base.inlined; },
	 [](mpa_sqe &sqe) {
		 sqe.num_sge = 0;
		 sqe.flags |= MPA_SQE_INLINE;
	 },
	 IBV_WC_LOC_QP_OP_ERR},
	{"inline, too long", [](const Base &base) { return base.inlined; },
	 [](mpa_sqe &sqe) {
		 sqe.num_sge = 0;
		 sqe.flags |= MPA_SQE_INLINE;
		 sqe.length = 4096;
	 },
	 IBV_WC_LOC_QP_OP_ERR},
	{"more pieces than granted", [](const Base &base) { return base.pieces; },
	 [](mpa_sqe &sqe) { sqe.num_sge = 17; }, IBV_WC_LOC_QP_OP_ERR},
};

void check(const Base &base, const SendRow &row)
{
	const Row name(base.name, row.name);
	Bytes bytes(4096);
	Pair pair;
	const Region spare(ibv_reg_mr(pair.one.domain.get(), bytes.data(), bytes.size(),
				      all_rights));

	yes(spare != nullptr, "there is a region to spare");
	// A user's region cannot be invalidated remotely: the peer refuses it
	// after the Send has completed here.
	pair.far.post_receive(9);
	mpa_sqe &sqe = raw::next_send(pair.near);
	fill(sqe, base, pair, spare.get());
	row.spoil(sqe);
	raw::publish_sends(pair.near, 1);
	raw::ring(pair.near);
	const ibv_wc wc = pair.near.completion();
	is(status_name(wc.status), status_name(row.status), "its completion");
	is(wc.wr_id, 1u, "whose");
	if (row.status != IBV_WC_SUCCESS)
		is(pair.near.query().qp_state, IBV_QPS_ERR, "the queue pair's state");
}

struct ReceiveRow {
	const char *name;
	void (*spoil)(mpa_rqe &rqe);
	ibv_wc_status status;
};

constexpr ReceiveRow receive_rows[] = {
	{"valid", [](mpa_rqe &) {}, IBV_WC_SUCCESS},
	{"no pieces", [](mpa_rqe &rqe) { rqe.num_sge = 0; }, IBV_WC_SUCCESS},
	{"reserved", [](mpa_rqe &rqe) { rqe.reserved = 1; }, IBV_WC_LOC_QP_OP_ERR},
	{"reserved, its top bit", [](mpa_rqe &rqe) { rqe.reserved = 1U << 31; },
	 IBV_WC_LOC_QP_OP_ERR},
	{"more pieces than granted", [](mpa_rqe &rqe) { rqe.num_sge = 3; },
	 IBV_WC_LOC_QP_OP_ERR},
	{"as many pieces as the field can hold",
	 [](mpa_rqe &rqe) { rqe.num_sge = 0xffffffff; },
	 IBV_WC_LOC_QP_OP_ERR},
};

} // namespace

CASE("entries: of the send queue")
{
	for (const Base &base : bases)
		for (const SendRow &row : rows)
			if (row.applies(base))
				check(base, row);
}

CASE("entries: of the receive queue")
{
	for (const ReceiveRow &row : receive_rows) {
		const Row name(row.name);
		Pair pair;
		mpa_rqe &rqe = raw::next_receive(pair.far);

		rqe.wr_id = 3;
		rqe.num_sge = 1;
		rqe.sge[0].addr =
			reinterpret_cast<std::uintptr_t>(pair.two.memory.data());
		rqe.sge[0].length = 64;
		rqe.sge[0].lkey = pair.two.region->lkey;
		row.spoil(rqe);
		raw::publish_receives(pair.far, 1);
		pair.near.send(1, 0);
		const ibv_wc wc = pair.far.completion();
		is(status_name(wc.status), status_name(row.status), "its completion");
		is(wc.wr_id, 3u, "whose");
		if (row.status != IBV_WC_SUCCESS)
			is(pair.far.query().qp_state, IBV_QPS_ERR, "the state");
	}
}

// Data that a Read placed, or would have placed, may not be accessed after it.
CASE("entries: a Read with invalidate of any length invalidates")
{
	for (const std::uint32_t length : {32u, 0u}) {
		const Row name(length, "bytes");
		Bytes bytes(4096);
		Pair pair;
		const Region sink(ibv_reg_mr(pair.one.domain.get(), bytes.data(),
					     bytes.size(), all_rights));

		mpa_sqe &sqe = raw::next_send(pair.near);
		fill(sqe, bases[4], pair, sink.get());
		sqe.sge[0].length = length;
		raw::publish_sends(pair.near, 1);
		raw::ring(pair.near);
		is(status_name(pair.near.completion().status), status_name(IBV_WC_SUCCESS),
		   "the Read");
		mpa_sqe &again = raw::next_send(pair.near);
		fill(again, bases[3], pair, sink.get());
		raw::publish_sends(pair.near, 1);
		raw::ring(pair.near);
		is(status_name(pair.near.completion().status),
		   status_name(IBV_WC_LOC_PROT_ERR), "a Read into the same region");
	}
}
