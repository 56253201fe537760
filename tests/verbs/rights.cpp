// SPDX-License-Identifier: GPL-2.0-only
//
// The rights of a queue pair: a peer may do what ibv_query_qp() reports, and no
// more, whatever the region grants.
#include "pair.hpp"

using namespace harness;
using namespace verbs;

namespace {

// RDMAP, remote protection error, access rights violation (RFC 5040 section 4.8).
constexpr unsigned int access_violation = 0 << 12 | 1 << 8 | 2;

struct RightsRow {
	const char *name;
	std::optional<int> rights;	// none: the program sets none
	bool write;			// a peer's Write is placed
	bool read;			// a peer's Read is answered
};

constexpr RightsRow rows[] = {
	{"as connected", {}, true, true},
	{"none", 0, false, false},
	{"local", IBV_ACCESS_LOCAL_WRITE, false, false},
	{"Write", IBV_ACCESS_REMOTE_WRITE, true, false},
	{"Read", IBV_ACCESS_REMOTE_READ, false, true},
	{"both", IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE, true, true},
	{"all", all_rights, true, true},
};

// The peer has refused: its queue pair has ended, and ours because of its
// Terminate.
void expect_refusal(Pair &pair)
{
	const ibv_wc flushed = pair.near.completion();

	is(flushed.wr_id, 77u, "the posted receive ends");
	is(status_name(flushed.status), status_name(IBV_WC_WR_FLUSH_ERR), "flushed");
	is(flushed.vendor_err, access_violation, "the Terminate's error");
	is(pair.two.events(1), "1 local access violation work queue error", "the event");
	is(pair.far.query().qp_state, IBV_QPS_ERR, "state of the refusing side");
}

} // namespace

CASE("rights: a peer's Write needs the right of the queue pair")
{
	for (const RightsRow &row : rows) {
		const Row name(row.name);
		Pair pair;

		if (row.rights)
			pair.far.modify_rights(*row.rights);
		pair.one.memory[0] = std::byte{0x5a};
		pair.near.post_receive(77);
		pair.near.transfer(IBV_WR_RDMA_WRITE, pair.two, 64);
		const ibv_wc sent = pair.near.completion();
		is(status_name(sent.status), status_name(IBV_WC_SUCCESS), "the Write is sent");
		if (!row.write) {
			expect_refusal(pair);
			is(int(pair.two.memory[0]), 0, "nothing is placed");
			continue;
		}
		// The message after it has arrived.
		pair.far.post_receive(5, 0);
		pair.near.send(2, 0);
		pair.near.completion();
		is(pair.far.completion().wr_id, 5u, "a Send arrives");
		is(int(pair.two.memory[0]), 0x5a, "the Write is placed");
	}
}

CASE("rights: a peer's Read needs the right of the queue pair")
{
	for (const RightsRow &row : rows) {
		const Row name(row.name);
		Pair pair;

		if (row.rights)
			pair.far.modify_rights(*row.rights);
		pair.two.memory[0] = std::byte{0xa5};
		pair.near.post_receive(77);
		pair.near.transfer(IBV_WR_RDMA_READ, pair.two, 64);
		const ibv_wc read = pair.near.completion();
		is(int(pair.one.memory[0]), row.read ? 0xa5 : 0, "what was read");
		is(status_name(read.status),
		   status_name(row.read ? IBV_WC_SUCCESS : IBV_WC_REM_ACCESS_ERR),
		   "the Read");
		if (!row.read)
			expect_refusal(pair);
	}
}

// What librdmacm does with the queue pair of the side that connects.
CASE("rights: setting none before the connection is not a choice")
{
	const unsigned int both = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
	Device one(1), two(2);
	Queue near(one), far(two);

	near.modify_rights(0);
	const Connection connection = connect(near, far);
	is(near.query().qp_access_flags, both, "of the connecting side");
	one.memory[0] = std::byte{0x5a};
	far.transfer(IBV_WR_RDMA_READ, one, 64);
	is(status_name(far.completion().status), status_name(IBV_WC_SUCCESS),
	   "a Read by the accepting side");
	is(int(two.memory[0]), 0x5a, "what was read");
}

CASE("rights: zero bytes need no right")
{
	for (const auto opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ}) {
		const Row name(opcode == IBV_WR_RDMA_READ ? "Read" : "Write");
		Pair pair;

		pair.far.modify_rights(0);
		pair.near.transfer(opcode, pair.two, 0);
		is(status_name(pair.near.completion().status),
		   status_name(IBV_WC_SUCCESS), "it succeeds");
		pair.far.post_receive(5);
		pair.near.send(2);
		pair.near.completion();
		is(pair.far.completion().wr_id, 5u, "a Send arrives after it");
	}
}

CASE("rights: the reported rights are those that were set")
{
	Device device(1);
	Queue queue(device);
	const unsigned int both = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;

	// Set by the connection manager of the core.
	is(queue.query().qp_access_flags, both, "of a new queue pair");
	for (const unsigned int rights : {0u, 1u, both, 7u, 0u}) {
		const Row row(rights);

		queue.modify_rights(static_cast<int>(rights));
		is(queue.query().qp_access_flags, rights, "rights");
	}
	// Those of later kernels to flush, which is a message that there is not.
	queue.modify_rights(both | 1 << 8 | 1 << 9);
	is(queue.query().qp_access_flags, both, "without those to flush");
	queue.modify_rights(0);
	ibv_qp_attr attr{};
	for (const unsigned int unknown : {1u << 5, 1u << 6, 1u << 7, 1u << 20, 1u << 30}) {
		const Row row(unknown);

		attr.qp_access_flags = unknown;
		is(Err{ibv_modify_qp(queue.qp.get(), &attr, IBV_QP_ACCESS_FLAGS)}, EINVAL,
		   "an unknown right");
		is(queue.query().qp_access_flags, 0u, "rights as before");
	}
}

CASE("rights: a call that fails changes nothing")
{
	Pair pair;
	ibv_qp_attr attr{};

	pair.near.modify_rights(IBV_ACCESS_REMOTE_READ);
	attr.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
	attr.en_sqd_async_notify = 1;
	for (const ibv_qp_state state : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_SQE}) {
		const Row row(state);

		attr.qp_state = state;
		is(Err{ibv_modify_qp(pair.near.qp.get(), &attr,
				     IBV_QP_STATE | IBV_QP_ACCESS_FLAGS |
					     IBV_QP_EN_SQD_ASYNC_NOTIFY)},
		   EINVAL, "from RTS");
		is(pair.near.query().qp_access_flags, unsigned{IBV_ACCESS_REMOTE_READ},
		   "rights as before");
		is(unsigned{pair.near.query().en_sqd_async_notify}, 0u, "no event");
	}
	for (const int mask : {+IBV_QP_CAP, +IBV_QP_PATH_MIG_STATE,
			       IBV_QP_CAP | IBV_QP_ACCESS_FLAGS}) {
		const Row row(mask);

		attr.cap.max_send_wr = 1000;
		is(Err{ibv_modify_qp(pair.near.qp.get(), &attr, mask)}, EOPNOTSUPP,
		   "what cannot be changed");
		is(pair.near.query().qp_access_flags, unsigned{IBV_ACCESS_REMOTE_READ},
		   "rights as before");
	}
}

CASE("rights: queue pairs that are joined by their numbers are refused clearly")
{
	Device device(1);
	Queue queue(device);
	ibv_qp_attr attr{};

	// The core refuses a path from another port than this one.
	attr.qp_state = IBV_QPS_INIT;
	attr.port_num = 1;
	is(Err{ibv_modify_qp(queue.qp.get(), &attr, IBV_QP_STATE | IBV_QP_PORT |
			     IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS)}, 0, "INIT");
	attr.qp_state = IBV_QPS_RTR;
	attr.dest_qp_num = queue.qp->qp_num;
	attr.path_mtu = IBV_MTU_1024;
	attr.ah_attr.port_num = 1;
	for (const int mask : {+IBV_QP_DEST_QPN, +IBV_QP_AV, IBV_QP_DEST_QPN | IBV_QP_AV}) {
		const Row row(mask);

		is(Err{ibv_modify_qp(queue.qp.get(), &attr,
				     mask | IBV_QP_STATE | IBV_QP_PATH_MTU)},
		   EOPNOTSUPP, "a peer's number or path");
		is(queue.query().qp_state, IBV_QPS_INIT, "state as before");
	}
}
