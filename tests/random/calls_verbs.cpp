// SPDX-License-Identifier: GPL-2.0-only
//
// Verbs: with the provider of this repository, as raw commands, and by writing into the
// rings that the kernel reads.
#include "address.hpp"
#include "calls.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <infiniband/mpadv.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/mpa.h>
#include <rdma/mpa-abi.h>

namespace calls
{

namespace
{

using Shared = std::shared_lock<std::shared_mutex>;
using Exclusive = std::unique_lock<std::shared_mutex>;

void open_device(World &world, const Args &args)
{
	int count = 0;
	ibv_device **const list = ibv_get_device_list(&count);
	if (!list)
		return;
	if (count)
		if (ibv_context *context =
			    ibv_open_device(list[args[0] % count])) {
			::fcntl(context->async_fd, F_SETFL, O_NONBLOCK);
			world.contexts.add(context);
		}
	ibv_free_device_list(list);
}

void import_device(World &world, const Args &args)
{
	const Shared hold(world.libraries);

	if (ibv_context *context = world.contexts.get(args[0]))
		if (ibv_context *other =
			    ibv_import_device(::dup(context->cmd_fd)))
			world.contexts.add(other);
}

void alloc_pd(World &world, const Args &args)
{
	const Shared hold(world.libraries);

	if (ibv_context *context = world.contexts.get(args[0]))
		if (ibv_pd *pd = ibv_alloc_pd(context))
			world.pds.add(pd);
}

// Mostly everything.
unsigned int access_of(std::uint32_t number)
{
	return number % 4
		       ? IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				 IBV_ACCESS_REMOTE_READ |
				 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND
		       : number / 4;
}

// Of a window, which others have no right to.
unsigned int window_access(std::uint32_t number)
{
	return number % 8 ? IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ
			  : number / 8;
}

std::size_t length_of(std::uint32_t number)
{
	return number % 8 ? 4096 : number;
}

void reg_mr(World &world, const Args &args)
{
	const Shared hold(world.libraries);
	ibv_pd *const pd = world.pds.get(args[0]);
	if (!pd)
		return;
	// No descriptor of a program is a DMA-BUF.
	ibv_mr *const mr =
		args[0] / 64 % 16 ? ibv_reg_mr(pd, world.at(args[1]), length_of(args[2]),
					       static_cast<int>(access_of(args[3])))
				  : ibv_reg_dmabuf_mr(pd, 0, 4096, 0, world.fds.get(args[1]),
						      static_cast<int>(access_of(args[3])));
	if (!mr)
		return;
	world.keep_key(mr->rkey);
	world.mrs.add(mr);
}

void rereg_mr(World &world, const Args &args)
{
	const Exclusive hold(world.libraries);
	ibv_mr *const mr = world.mrs.get(args[0]);
	ibv_pd *const pd = world.pds.get(args[1]);
	if (mr && pd)
		ibv_rereg_mr(mr, static_cast<int>(args[2] % 8), pd,
			     world.at(args[3]), length_of(args[2]),
			     static_cast<int>(access_of(args[3])));
}

void alloc_mw(World &world, const Args &args)
{
	const Shared hold(world.libraries);
	ibv_pd *const pd = world.pds.get(args[0]);
	if (!pd)
		return;
	if (ibv_mw *mw = ibv_alloc_mw(pd, args[1] % 2 ? IBV_MW_TYPE_1
						      : IBV_MW_TYPE_2)) {
		world.keep_key(mw->rkey);
		world.mws.add(mw);
	}
}

void create_channel(World &world, const Args &args)
{
	const Shared hold(world.libraries);

	if (ibv_context *context = world.contexts.get(args[0]))
		if (ibv_comp_channel *channel =
			    ibv_create_comp_channel(context)) {
			::fcntl(channel->fd, F_SETFL, O_NONBLOCK);
			world.channels.add(channel);
		}
}

int entries_of(std::uint32_t number)
{
	return static_cast<int>(number % 16 ? 1 + number % 64 : number);
}

void create_cq(World &world, const Args &args)
{
	const Shared hold(world.libraries);
	ibv_context *const context = world.contexts.get(args[0]);
	if (!context)
		return;
	ibv_comp_channel *channel = world.channels.get(args[2]);
	if (channel && channel->context != context)
		channel = nullptr;
	if (args[3] % 4 == 0) {
		ibv_cq_init_attr_ex attr{};

		attr.cqe = static_cast<std::uint32_t>(entries_of(args[1]));
		attr.channel = channel;
		attr.wc_flags = args[3] / 4 % 2
					? IBV_WC_EX_WITH_COMPLETION_TIMESTAMP
					: 0;
		if (ibv_cq_ex *cq = ibv_create_cq_ex(context, &attr))
			world.cqs.add(ibv_cq_ex_to_cq(cq));
	} else if (ibv_cq *cq = ibv_create_cq(context, entries_of(args[1]),
					      nullptr, channel, 0)) {
		world.cqs.add(cq);
	}
}

void create_srq(World &world, const Args &args)
{
	const Shared hold(world.libraries);
	ibv_pd *const pd = world.pds.get(args[0]);
	ibv_srq_init_attr attr{};
	if (!pd)
		return;
	attr.attr.max_wr = static_cast<std::uint32_t>(entries_of(args[1]));
	attr.attr.max_sge = 1 + args[2] % 4;
	attr.attr.srq_limit = args[3] % 8;
	if (ibv_srq *srq = ibv_create_srq(pd, &attr))
		world.srqs.add(srq);
}

void create_qp(World &world, const Args &args)
{
	const Shared hold(world.libraries);
	ibv_pd *const pd = world.pds.get(args[0]);
	ibv_qp_init_attr attr{};
	if (!pd)
		return;
	attr.send_cq = world.cqs.get(args[1]);
	attr.recv_cq = world.cqs.get(args[1] + args[2] % 2);
	if (!attr.send_cq || attr.send_cq->context != pd->context ||
	    attr.recv_cq->context != pd->context)
		return;
	attr.srq = args[3] % 4 ? nullptr : world.srqs.get(args[3]);
	if (attr.srq && attr.srq->context != pd->context)
		attr.srq = nullptr;
	attr.qp_type = IBV_QPT_RC;
	attr.sq_sig_all = args[2] % 2;
	attr.cap = {static_cast<std::uint32_t>(entries_of(args[2])),
		    static_cast<std::uint32_t>(entries_of(args[3])),
		    1 + args[1] % 4, 1 + args[2] % 4, args[3] % 64};
	// Entries that are as long as any.
	if (args[1] / 4 % 16 == 0)
		attr.cap = {8, 8, 1 + args[1] / 64 % 33, 1 + args[2] % 33, args[3] % 1100};
	if (ibv_qp *qp = ibv_create_qp(pd, &attr))
		world.qps.add(qp);
}

void modify_qp(World &world, const Args &args)
{
	static constexpr ibv_qp_state states[]{IBV_QPS_ERR,  IBV_QPS_RESET,
					       IBV_QPS_INIT, IBV_QPS_RTS,
					       IBV_QPS_SQD,  IBV_QPS_RTR};
	const Shared hold(world.libraries);
	ibv_qp *const qp = world.qps.get(args[0]);
	ibv_qp_attr attr{};
	if (!qp)
		return;
	attr.qp_state = states[args[1] % 6];
	attr.qp_access_flags = access_of(args[2]);
	attr.en_sqd_async_notify = static_cast<std::uint8_t>(args[2] % 2);
	int mask = args[3] % 3 == 0   ? IBV_QP_ACCESS_FLAGS
		   : args[3] % 3 == 1 ? IBV_QP_STATE
				      : IBV_QP_STATE | IBV_QP_ACCESS_FLAGS;
	if (attr.qp_state == IBV_QPS_SQD && args[3] / 3 % 2)
		mask |= IBV_QP_EN_SQD_ASYNC_NOTIFY;
	// As if it were to be connected by number.
	if (args[3] / 6 % 16 == 0)
		mask |= IBV_QP_AV | IBV_QP_DEST_QPN;
	ibv_modify_qp(qp, &attr, mask);
}

ibv_sge piece(World &world, std::uint32_t number)
{
	const ibv_mr *const mr = world.mrs.get(number);
	const std::uint32_t length = number % 16 ? number % 9000 : number;

	return {reinterpret_cast<std::uintptr_t>(mr ? mr->addr : world.memory),
		length, mr && number % 13 ? mr->lkey : number};
}

void post_send(World &world, const Args &args)
{
	static constexpr ibv_wr_opcode opcodes[]{IBV_WR_SEND,
						 IBV_WR_RDMA_WRITE,
						 IBV_WR_RDMA_READ,
						 IBV_WR_SEND_WITH_INV,
						 IBV_WR_LOCAL_INV,
						 IBV_WR_RDMA_WRITE_WITH_IMM,
						 IBV_WR_ATOMIC_CMP_AND_SWP,
						 IBV_WR_ATOMIC_FETCH_AND_ADD,
						 IBV_WR_SEND_WITH_IMM,
						 IBV_WR_BIND_MW};
	const Shared hold(world.libraries);
	ibv_qp *const qp = world.qps.get(args[0]);
	const ibv_mr *const target = world.mrs.get(args[2]);
	ibv_sge pieces[4];
	ibv_send_wr wr{}, *bad;
	if (!qp)
		return;
	wr.opcode = opcodes[args[1] % 10];
	for (std::uint32_t n = 0; n < 4; n++)
		pieces[n] = piece(world, args[3] + n);
	wr.sg_list = pieces;
	wr.num_sge = static_cast<int>(args[3] / 4 % 4);
	wr.send_flags = args[1] / 10 % 16;
	const std::uint64_t address = reinterpret_cast<std::uintptr_t>(
		target ? target->addr : world.memory);
	const std::uint32_t key =
		target && args[2] % 7 ? target->rkey : world.key(args[2]);
	if (wr.opcode == IBV_WR_SEND_WITH_INV ||
	    wr.opcode == IBV_WR_LOCAL_INV) {
		wr.invalidate_rkey = key;
	} else if (wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
		   wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		pieces[0].length = 8;
		wr.num_sge = 1;
		wr.wr.atomic = {address & ~std::uint64_t{7}, args[0], args[1],
				key};
	} else if (wr.opcode == IBV_WR_BIND_MW) {
		ibv_mr *const bound = world.mrs.get(args[3]);
		ibv_mw *const mw = world.mws.get(args[2]);

		if (!bound || !mw)
			return;
		wr.num_sge = 0;
		wr.bind_mw = {mw,
			      ibv_inc_rkey(mw->rkey),
			      {bound,
			       reinterpret_cast<std::uintptr_t>(bound->addr),
			       length_of(args[3]), window_access(args[0])}};
		world.keep_key(wr.bind_mw.rkey);
	} else {
		wr.wr.rdma = {address, key};
	}
	ibv_post_send(qp, &wr, &bad);
}

void post_recv(World &world, const Args &args)
{
	const Shared hold(world.libraries);
	ibv_qp *const qp = world.qps.get(args[0]);
	ibv_sge pieces[2]{piece(world, args[1]), piece(world, args[2])};
	ibv_recv_wr wr{}, *bad;
	if (!qp)
		return;
	wr.sg_list = pieces;
	wr.num_sge = static_cast<int>(1 + args[3] % 2);
	for (std::uint32_t n = 0; n <= args[3] / 2 % 8; n++)
		ibv_post_recv(qp, &wr, &bad);
}

void post_srq_recv(World &world, const Args &args)
{
	const Shared hold(world.libraries);
	ibv_srq *const srq = world.srqs.get(args[0]);
	ibv_sge one = piece(world, args[1]);
	ibv_recv_wr wr{}, *bad;
	if (!srq)
		return;
	wr.sg_list = &one;
	wr.num_sge = 1;
	for (std::uint32_t n = 0; n <= args[3] % 8; n++)
		ibv_post_srq_recv(srq, &wr, &bad);
}

void modify_srq(World &world, const Args &args)
{
	const Shared hold(world.libraries);
	ibv_srq *const srq = world.srqs.get(args[0]);
	ibv_srq_attr attr{args[1], 1, args[2] % 64};

	if (srq) {
		ibv_modify_srq(srq, &attr,
			       args[3] % 8 ? int{IBV_SRQ_LIMIT}
					   : static_cast<int>(args[3]));
		ibv_query_srq(srq, &attr);
	}
}

void bind_mw(World &world, const Args &args)
{
	const Shared hold(world.libraries);
	ibv_qp *const qp = world.qps.get(args[0]);
	ibv_mw *const mw = world.mws.get(args[1]);
	ibv_mr *const mr = world.mrs.get(args[2]);
	ibv_mw_bind bind{};
	if (!qp || !mw || !mr)
		return;
	bind.bind_info = {mr, reinterpret_cast<std::uintptr_t>(mr->addr),
			  length_of(args[3]), window_access(args[3])};
	ibv_bind_mw(qp, mw, &bind);
	world.keep_key(mw->rkey);
}

void advise_mr(World &world, const Args &args)
{
	const Shared hold(world.libraries);
	ibv_pd *const pd = world.pds.get(args[0]);
	ibv_sge pieces[3];

	for (std::uint32_t n = 0; n < 3; n++)
		pieces[n] = piece(world, args[1] + n);
	if (pd)
		ibv_advise_mr(pd, static_cast<ib_uverbs_advise_mr_advice>(args[2] % 4),
			      args[3] % 2, pieces, 1 + args[3] / 2 % 3);
}

void poll_cq(World &world, const Args &args)
{
	const Shared hold(world.libraries);
	ibv_wc completions[16];

	if (ibv_cq *cq = world.cqs.get(args[0])) {
		ibv_poll_cq(cq, static_cast<int>(1 + args[1] % 16),
			    completions);
		if (args[2] % 2)
			ibv_req_notify_cq(cq, static_cast<int>(args[3] % 2));
	}
}

void cq_event(World &world, const Args &args)
{
	const Shared hold(world.libraries);
	ibv_cq *cq;
	void *context;

	if (ibv_comp_channel *channel = world.channels.get(args[0]))
		if (!ibv_get_cq_event(channel, &cq, &context))
			ibv_ack_cq_events(cq, 1);
}

void async_event(World &world, const Args &args)
{
	const Shared hold(world.libraries);
	ibv_async_event event;

	if (ibv_context *context = world.contexts.get(args[0]))
		if (!ibv_get_async_event(context, &event))
			ibv_ack_async_event(&event);
}

void resize_cq(World &world, const Args &args)
{
	const Shared hold(world.libraries);
	ibv_cq *const cq = world.cqs.get(args[0]);
	if (!cq)
		return;
	if (args[2] % 2) {
		ibv_resize_cq(cq, entries_of(args[1]));
	} else {
		ibv_modify_cq_attr attr{IBV_CQ_ATTR_MODERATE,
					{static_cast<std::uint16_t>(args[1]),
					 static_cast<std::uint16_t>(args[3])}};
		ibv_modify_cq(cq, &attr);
	}
}

void query(World &world, const Args &args)
{
	const Shared hold(world.libraries);

	if (ibv_context *context = world.contexts.get(args[0])) {
		ibv_device_attr_ex attr;
		ibv_port_attr port;
		ibv_gid gid;

		ibv_query_device_ex(context, nullptr, &attr);
		ibv_query_port(context, static_cast<std::uint8_t>(args[1]),
			       &port);
		ibv_query_gid(context, 1, static_cast<int>(args[2]), &gid);
	}
	if (ibv_qp *qp = world.qps.get(args[0])) {
		ibv_qp_attr attr;
		ibv_qp_init_attr init;

		ibv_query_qp(qp, &attr, static_cast<int>(args[3]), &init);
	}
}

void receive_wait(World &world, const Args &args)
{
	const Shared hold(world.libraries);

	if (ibv_qp *qp = world.qps.get(args[0]))
		mpadv_set_receive_wait(qp, args[1]);
}

// A library does not expect that an object it has in use fails to go, so each of these may
// leave it with less than it believes to have. That is its user's business.
void destroy(World &world, const Args &args)
{
	const Exclusive hold(world.libraries);

	switch (args[0] % 8) {
	case 0:
		if (ibv_qp *qp = world.qps.take(args[1]))
			ibv_destroy_qp(qp);
		break;
	case 1:
		if (ibv_mr *mr = world.mrs.take(args[1]))
			ibv_dereg_mr(mr);
		break;
	case 2:
		if (ibv_mw *mw = world.mws.take(args[1]))
			ibv_dealloc_mw(mw);
		break;
	case 3:
		if (ibv_pd *pd = world.pds.get(args[1]);
		    pd && args[2] % 4 == 0) {
			ibv_dealloc_pd(world.pds.take(args[1]));
		}
		break;
	case 4:
		if (ibv_srq *srq = world.srqs.take(args[1]))
			ibv_destroy_srq(srq);
		break;
	default:
		if (ibv_qp *qp = world.qps.take(args[1]))
			ibv_destroy_qp(qp);
	}
}

// --- not by the provider ------------------------------------------------------

int command_fd(World &world, std::uint32_t number)
{
	const ibv_context *const context = world.contexts.get(number);

	return context ? context->cmd_fd : -1;
}

// A command of the old form; handles are small numbers.
void raw_write(World &world, const Args &args)
{
	static constexpr unsigned int commands[]{
		IB_USER_VERBS_CMD_DESTROY_QP,  IB_USER_VERBS_CMD_DESTROY_CQ,
		IB_USER_VERBS_CMD_DEREG_MR,    IB_USER_VERBS_CMD_DEALLOC_PD,
		IB_USER_VERBS_CMD_DESTROY_SRQ, IB_USER_VERBS_CMD_POST_SEND,
		IB_USER_VERBS_CMD_POST_RECV,   IB_USER_VERBS_CMD_POST_SRQ_RECV,
		IB_USER_VERBS_CMD_REG_MR,      IB_USER_VERBS_CMD_RESIZE_CQ,
		IB_USER_VERBS_CMD_CREATE_QP,   IB_USER_VERBS_CMD_MODIFY_QP,
		IB_USER_VERBS_CMD_DEALLOC_MW,  IB_USER_VERBS_CMD_REREG_MR,
		IB_USER_VERBS_CMD_CREATE_CQ,   IB_USER_VERBS_CMD_QUERY_QP,
		IB_USER_VERBS_CMD_ALLOC_PD,    IB_USER_VERBS_CMD_ALLOC_MW,
		IB_USER_VERBS_CMD_GET_CONTEXT, IB_USER_VERBS_CMD_CREATE_SRQ};
	const Shared hold(world.libraries);
	const int fd = command_fd(world, args[0]);
	std::uint32_t words[64] = {};
	programs::Random random(args[3]);
	const unsigned int length = 2 + args[2] % 60;

	words[0] = commands[args[1] % 20];
	words[1] = length | 32u << 16;
	const std::uint64_t room =
		reinterpret_cast<std::uintptr_t>(world.at(args[3]));
	std::memcpy(words + 2, &room, sizeof(room));
	for (unsigned int n = args[2] % 2 ? 4 : 2; n < 64; n++)
		words[n] = random.one_in(3)
				   ? 0
				   : random.number() %
					     (random.one_in(4) ? ~0u : 16);
	if (fd >= 0)
		(void)!::write(fd, words, length * 4);
}

void doorbell(World &world, const Args &args)
{
	const Shared hold(world.libraries);
	const ibv_qp *const qp = world.qps.get(args[0]);
	struct {
		ib_uverbs_cmd_hdr header;
		ib_uverbs_post_send command;
	} bell{};
	ib_uverbs_post_send_resp answer;
	if (!qp)
		return;
	bell.header = {IB_USER_VERBS_CMD_POST_SEND, sizeof(bell) / 4,
		       sizeof(answer) / 4};
	bell.command.response = reinterpret_cast<std::uintptr_t>(&answer);
	bell.command.qp_handle = qp->handle;
	bell.command.wqe_size = sizeof(ib_uverbs_send_wr);
	(void)!::write(qp->context->cmd_fd, &bell, sizeof(bell));
}

// An ioctl() of any object and method, the driver's own more often.
void raw_ioctl(World &world, const Args &args)
{
	const Shared hold(world.libraries);
	const int fd = command_fd(world, args[0]);
	programs::Random random(args[3]);
	alignas(8) unsigned char bytes[sizeof(ib_uverbs_ioctl_hdr) +
				       6 * sizeof(ib_uverbs_attr)] = {};
	auto &header = *reinterpret_cast<ib_uverbs_ioctl_hdr *>(bytes);
	const unsigned int count = random.below(7);
	const bool own = args[1] % 3;

	header.length = static_cast<std::uint16_t>(
		sizeof(header) + count * sizeof(ib_uverbs_attr));
	header.object_id = static_cast<std::uint16_t>(
		own && args[2] % 2 ? 4096u
		: args[2] % 2	   ? unsigned{UVERBS_OBJECT_QP}
				   : args[2] % 20);
	header.method_id = static_cast<std::uint16_t>(
		own ? 4096 + args[1] / 3 % 3 : args[1] / 3 % 10);
	header.num_attrs = static_cast<std::uint16_t>(count);
	for (unsigned int n = 0; n < count; n++) {
		ib_uverbs_attr &one = header.attrs[n];

		one.attr_id = static_cast<std::uint16_t>((own ? 4096 : 0) +
							 random.below(7));
		one.len = static_cast<std::uint16_t>(
			random.one_in(3)   ? 0
			: random.one_in(2) ? 4
					   : 16 * random.below(4));
		one.flags = random.below(2);
		one.data = random.one_in(3)
				   ? random.number()
				   : reinterpret_cast<std::uintptr_t>(
					     world.at(random.number()));
	}
	if (fd >= 0)
		::ioctl(fd, RDMA_VERBS_IOCTL, bytes);
}

// A queue for plain TCP connections of the listeners of the connection manager.
void plain_queue(World &world, const Args &args)
{
	const Shared hold(world.libraries);
	ibv_context *const context = world.contexts.get(args[0]);
	if (!context)
		return;
	Address address(args[2] % 2 ? Address::Kind::ipv4 : Address::Kind::any_ipv4, 1,
			listener_port(args[1]));
	int queue = -1;
	if (!mpadv_create_plain(context, address.get(), args[3] % 16, &queue))
		world.fds.add(queue);
}

void plain_accept(World &world, const Args &args)
{
	const Shared hold(world.libraries);
	ibv_context *const context = world.contexts.get(args[0]);
	if (!context)
		return;
	int fd = -1;
	if (!mpadv_accept_plain(
		    context, world.fds.get(args[1]),
		    static_cast<int>(args[2] % 2 ? SOCK_NONBLOCK : 0), &fd))
		world.fds.add(fd);
}

// A socket goes to a queue pair. Waits for the peer, which is another thread.
void hand_over(World &world, const Args &args)
{
	mpadv_socket_attr attr{};
	ibv_qp *qp;

	{
		const Shared hold(world.libraries);

		qp = world.qps.get(args[0]);
	}
	if (!qp)
		return;
	// Another descriptor, as one in the pool may be, is refused at once.
	attr.fd = args[2] / 16 % 4 ? world.fds.take(args[1])
				   : ::dup(world.fds.get(args[1]));
	attr.flags = args[2] % 2 ? std::uint32_t{MPADV_SOCKET_RESPONDER} : 0;
	attr.last_message = world.memory;
	attr.last_message_len = args[2] % 2 ? args[3] % 32 : 0;
	attr.private_data = world.memory;
	attr.private_data_len = args[3] % 16;
	attr.ird = args[2] / 2 % 8;
	attr.ord = args[3] % 8;
	mpadv_modify_qp_from_socket(qp, &attr);
	if (attr.fd >= 0)
		world.fds.add(attr.fd);
}

// Both ends of a connection go to queue pairs, one of them in a thread of its own, since each
// call waits for the other.
void hand_over_pair(World &world, const Args &args)
{
	ibv_qp *qps[2];

	{
		const Shared hold(world.libraries);

		qps[0] = world.qps.get(args[0]);
		qps[1] = world.qps.get(args[1]);
	}
	if (!qps[0] || !qps[1] || qps[0] == qps[1])
		return;
	const auto host_of = [](const ibv_qp *qp) {
		return std::uint32_t{
			ibv_get_device_name(qp->context->device)[3] == '2'};
	};
	world.enter(host_of(qps[1]));
	const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	Address address(Address::Kind::ipv4, host_of(qps[1]), 0);
	if (::bind(listener, address.get(), address.size()) ||
	    ::listen(listener, 1)) {
		::close(listener);
		return;
	}
	address = Address::of_socket(listener);
	world.enter(host_of(qps[0]));
	const int near = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const timeval soon{0, 300000};
	::setsockopt(near, SOL_SOCKET, SO_SNDTIMEO, &soon, sizeof(soon));
	::setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof(soon));
	::connect(near, address.get(), address.size());
	const int far = ::accept(listener, nullptr, nullptr);
	::close(listener);
	if (far < 0) {
		::close(near);
		return;
	}
	const auto give = [&world, args](ibv_qp *qp, int fd,
					 std::uint32_t flags) {
		mpadv_socket_attr attr{};

		attr.fd = fd;
		attr.flags = flags;
		attr.last_message = attr.private_data = world.memory;
		attr.last_message_len = flags ? args[2] % 32 : 0;
		attr.private_data_len = args[3] % 16;
		attr.ird = 1 + args[2] % 8;
		attr.ord = 1 + args[3] % 8;
		mpadv_modify_qp_from_socket(qp, &attr);
		if (attr.fd >= 0)
			world.fds.add(attr.fd);
	};
	// It reads what the Responder sends first.
	std::thread([=, &world] {
		give(qps[1], far, std::uint32_t{MPADV_SOCKET_RESPONDER});
	}).detach();
	if (args[2] % 32)
		(void)!::recv(near, world.at(args[3]), args[2] % 32,
			      MSG_WAITALL);
	give(qps[0], near, 0);
}

// --- rings --------------------------------------------------------------------

struct Mapping {
	unsigned char *begin;
	std::size_t length;
};

// A mapping of a uverbs device of this process.
Mapping ring(std::uint32_t number)
{
	std::vector<Mapping> found;
	FILE *const maps = std::fopen("/proc/self/maps", "re");
	char line[512];

	while (maps && std::fgets(line, sizeof(line), maps)) {
		unsigned long begin, end;

		if (std::strstr(line, "/dev/infiniband/uverbs") &&
		    std::sscanf(line, "%lx-%lx", &begin, &end) == 2)
			found.push_back(
				{reinterpret_cast<unsigned char *>(begin),
				 end - begin});
	}
	if (maps)
		std::fclose(maps);
	return found.empty() ? Mapping{} : found[number % found.size()];
}

// Words anywhere, mostly where indices and entries are.
void scribble(World &world, const Args &args)
{
	const Shared hold(world.libraries);
	const Mapping where = ring(args[0]);
	programs::Random random(args[1]);
	if (!where.length)
		return;
	for (unsigned int n = 0; n < 1 + args[2] % 32; n++) {
		static constexpr std::uint32_t words[]{0, 16, 17, 18};
		const std::uint32_t word =
			random.one_in(3) ? words[random.below(4)]
			: random.one_in(2)
				? 32 + random.below(64)
				: random.below(static_cast<std::uint32_t>(
					  where.length / 4));
		auto *const at =
			reinterpret_cast<std::uint32_t *>(where.begin) +
			word % (where.length / 4);
		const std::uint32_t old = __atomic_load_n(at, __ATOMIC_RELAXED);

		__atomic_store_n(at,
				 random.one_in(2) ? old + random.below(5) - 2
						  : random.number(),
				 __ATOMIC_RELAXED);
	}
}

// Whole entries of the send ring, as a provider could write them.
void write_entries(World &world, const Args &args)
{
	const Shared hold(world.libraries);
	const Mapping where = ring(args[0]);
	programs::Random random(args[1]);
	const ibv_mr *const mr = world.mrs.get(args[2]);
	if (where.length < 4096)
		return;
	auto *const header = reinterpret_cast<mpa_ring_hdr *>(where.begin);
	auto *const entry =
		reinterpret_cast<mpa_sqe *>(where.begin + MPA_RING_HDR_LEN);

	for (unsigned int n = 0; n < 8; n++) {
		auto *const words =
			reinterpret_cast<std::uint32_t *>(entry) + n * 16;

		if (words + 16 > reinterpret_cast<std::uint32_t *>(
					 where.begin + where.length))
			break;
		for (unsigned int word = 0; word < 16; word++)
			words[word] = random.number();
		auto *const one = reinterpret_cast<mpa_sqe *>(words);

		one->opcode =
			static_cast<std::uint8_t>(random.below(MPA_WR_OPCODES));
		one->flags = static_cast<std::uint8_t>(random.below(16));
		if (mr)
			words[8 + random.below(8)] =
				random.one_in(2) ? mr->lkey : mr->rkey;
	}
	__atomic_fetch_add(&header->prod, 1 + args[3] % 4, __ATOMIC_RELEASE);
}

void map_ring(World &world, const Args &args)
{
	const Shared hold(world.libraries);
	const int fd = command_fd(world, args[0]);
	const Mapping where = ring(args[1]);

	switch (args[2] % 4) {
	case 0:
		if (fd >= 0)
			::mmap(nullptr, (1 + args[1] % 4) * 4096ul,
			       PROT_READ | PROT_WRITE,
			       args[3] % 4 ? MAP_SHARED : MAP_PRIVATE, fd,
			       static_cast<off_t>(args[3] % 16) * 4096);
		break;
	case 1:
		if (where.length)
			::madvise(where.begin, where.length,
				  args[3] % 3 == 0   ? MADV_DONTNEED
				  : args[3] % 3 == 1 ? MADV_DONTFORK
						     : MADV_DOFORK);
		break;
	case 2:
		if (where.length)
			::mprotect(where.begin, where.length,
				   PROT_READ | PROT_WRITE);
		break;
	default:
		// A second mapping of the same; the first stays.
		if (where.length)
			::mremap(where.begin, 0, where.length, MREMAP_MAYMOVE);
	}
}

} // namespace

std::vector<Kind> of_verbs()
{
	return {{"open_device", 6, open_device},
		{"import_device", 1, import_device},
		{"alloc_pd", 6, alloc_pd},
		{"reg_mr", 10, reg_mr},
		{"rereg_mr", 3, rereg_mr},
		{"alloc_mw", 4, alloc_mw},
		{"create_channel", 3, create_channel},
		{"create_cq", 8, create_cq},
		{"create_srq", 4, create_srq},
		{"create_qp", 10, create_qp},
		{"modify_qp", 5, modify_qp},
		{"post_send", 40, post_send},
		{"post_recv", 15, post_recv},
		{"post_srq_recv", 6, post_srq_recv},
		{"modify_srq", 3, modify_srq},
		{"bind_mw", 5, bind_mw},
		{"advise_mr", 2, advise_mr},
		{"poll_cq", 12, poll_cq},
		{"cq_event", 3, cq_event},
		{"async_event", 2, async_event},
		{"resize_cq", 4, resize_cq},
		{"query", 2, query},
		{"receive_wait", 2, receive_wait},
		{"destroy", 10, destroy},
		{"raw_write", 8, raw_write},
		{"doorbell", 5, doorbell},
		{"raw_ioctl", 6, raw_ioctl},
		{"plain_queue", 2, plain_queue},
		{"plain_accept", 2, plain_accept},
		{"hand_over", 3, hand_over},
		{"hand_over_pair", 5, hand_over_pair},
		{"scribble", 10, scribble},
		{"write_entries", 8, write_entries},
		{"map_ring", 3, map_ring}};
}

} // namespace calls
