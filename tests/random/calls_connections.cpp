// SPDX-License-Identifier: GPL-2.0-only
//
// The connection manager, with all events taken when they come, and whole connections of
// queue pairs to begin with.
#include "address.hpp"
#include "calls.hpp"

#include <cstring>

#include <arpa/inet.h>
#include <fcntl.h>
#include <infiniband/mpadv.h>
#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>

namespace calls
{

namespace
{

using Shared = std::shared_lock<std::shared_mutex>;
using Exclusive = std::unique_lock<std::shared_mutex>;

// Of IPv4, or of IPv6 if @kind is a multiple of 4; with @any that of all.
Address address_of(std::uint32_t host, std::uint16_t port, std::uint32_t kind, bool any = false)
{
	const Address::Kind of = kind % 4 ? any ? Address::Kind::any_ipv4 : Address::Kind::ipv4
				 : any	  ? Address::Kind::any_ipv6
					  : Address::Kind::ipv6;

	return {of, host, port};
}

// What has to be said before an identifier has an address.
void prepare_id(rdma_cm_id *id, std::uint32_t number)
{
	std::uint8_t tos = static_cast<std::uint8_t>(number / 4);
	int afonly = static_cast<int>(number / 4 % 2);

	if (number % 4 == 0)
		rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, sizeof(tos));
	else if (number % 4 == 1)
		rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &afonly,
				sizeof(afonly));
}

rdma_event_channel *make_channel(World &world)
{
	rdma_event_channel *const channel = rdma_create_event_channel();

	if (channel) {
		::fcntl(channel->fd, F_SETFL, O_NONBLOCK);
		world.events.add(channel);
	}
	return channel;
}

void cm_channel(World &world, const Args &)
{
	make_channel(world);
}

rdma_cm_id *make_id(World &world, std::uint32_t which, std::uint32_t host)
{
	rdma_event_channel *channel = world.events.get(which);
	rdma_cm_id *id = nullptr;

	if (!channel)
		channel = make_channel(world);
	world.enter(host);
	if (!channel || rdma_create_id(channel, &id, nullptr, RDMA_PS_TCP))
		return nullptr;
	world.ids.add(id);
	return id;
}

void cm_listen(World &world, const Args &args)
{
	const Shared hold(world.libraries);
	rdma_cm_id *const id = make_id(world, args[0], args[1]);
	Address address = address_of(args[1], listener_port(args[2]), args[2] / 4, args[3] % 4 == 0);

	if (!id)
		return;
	prepare_id(id, args[2] / 16);
	if (!rdma_bind_addr(id, address.get()))
		rdma_listen(id, static_cast<int>(args[3] % 8));
}

void cm_resolve(World &world, const Args &args)
{
	const Shared hold(world.libraries);
	rdma_cm_id *const id = args[3] % 4 ? make_id(world, args[0], args[1])
					   : world.ids.get(args[0]);
	Address address = address_of(args[1] + 1, listener_port(args[2]), args[2] / 4);

	if (!id)
		return;
	prepare_id(id, args[2] / 16);
	rdma_resolve_addr(id, nullptr, address.get(), 500);
}

rdma_conn_param parameters(World &world, const Args &args)
{
	const ibv_qp *const qp = world.qps.get(args[1]);
	rdma_conn_param param{};

	param.private_data = world.memory;
	param.private_data_len =
		static_cast<std::uint8_t>(args[2] % 4 ? args[2] % 32 : args[2]);
	param.responder_resources = static_cast<std::uint8_t>(args[3] % 8);
	param.initiator_depth = static_cast<std::uint8_t>(args[3] / 8 % 8);
	param.qp_num = qp ? qp->qp_num : args[1];
	return param;
}

void cm_connect(World &world, const Args &args)
{
	const Shared hold(world.libraries);

	if (rdma_cm_id *id = world.ids.get(args[0])) {
		rdma_conn_param param = parameters(world, args);

		rdma_connect(id, &param);
	}
}

// What the next event asks for; @action varies it.
bool take_event(World &world, rdma_event_channel *channel, const Args &args,
		std::uint32_t action)
{
	rdma_cm_event *event;

	if (rdma_get_cm_event(channel, &event))
		return false;
	rdma_cm_id *const id = event->id;
	const rdma_cm_event_type type = event->event;
	rdma_ack_cm_event(event);
	rdma_conn_param param = parameters(world, args);
	switch (type) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		rdma_resolve_route(id, 500);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		if (action % 16 == 0)
			break;
		rdma_connect(id, &param);
		break;
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		world.ids.add(id);
		if (action % 16 == 1)
			rdma_reject(id, world.memory, 4);
		else if (action % 16 != 2)
			rdma_accept(id, &param);
		break;
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		rdma_establish(id);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		if (action % 2)
			rdma_disconnect(id);
		break;
	default:
		break;
	}
	return true;
}

void cm_event(World &world, const Args &args)
{
	const Shared hold(world.libraries);
	rdma_event_channel *const channel = world.events.get(args[0]);
	if (!channel)
		return;
	for (std::uint32_t n = 0; n < 1 + args[3] % 6; n++)
		if (!take_event(world, channel, args, args[2])) {
			pollfd one{channel->fd, POLLIN, 0};

			::poll(&one, 1, 3);
		}
}

// Requests are rejected by take_event() only: an identifier that is rejected while it connects
// ends the machine in a BUG() of iw_cm when it is destroyed (Documentation/verbs.rst).
void cm_disconnect(World &world, const Args &args)
{
	const Shared hold(world.libraries);

	if (rdma_cm_id *id = world.ids.get(args[0]))
		rdma_disconnect(id);
}

// Its events are acknowledged already. One that a listener has gets none of these.
void cm_destroy(World &world, const Args &args)
{
	const Exclusive hold(world.libraries);

	if (rdma_cm_id *id = world.ids.take(args[0]))
		rdma_destroy_id(id);
}

void cm_option(World &world, const Args &args)
{
	const Shared hold(world.libraries);

	if (rdma_cm_id *id = world.ids.get(args[0]))
		rdma_set_option(
			id, RDMA_OPTION_ID, static_cast<int>(args[1] % 5),
			world.at(args[2]), args[3] % 4 ? args[3] % 9 : 4);
}

ibv_context *open_of(ibv_device *const *list, int host)
{
	const char name[]{'m', 'p', 'a', static_cast<char>('1' + host), 0};

	for (; list && *list; list++)
		if (!std::strcmp(ibv_get_device_name(*list), name))
			if (ibv_context *context = ibv_open_device(*list))
				return context;
	return nullptr;
}

// Mostly a device that was there at the beginning: asking for all takes a dozen system calls.
ibv_context *open_host(World &world, int host)
{
	ibv_context *context = open_of(World::devices, host);

	if (!context)
		if (ibv_device **list = ibv_get_device_list(nullptr)) {
			context = open_of(list, host);
			ibv_free_device_list(list);
		}
	if (context) {
		::fcntl(context->async_fd, F_SETFL, O_NONBLOCK);
		world.contexts.add(context);
	}
	return context;
}

Side make_side(World &world, int host, const Args &args)
{
	Side side;
	ibv_qp_init_attr attr{};

	side.context = open_host(world, host);
	if (!side.context || !(side.pd = ibv_alloc_pd(side.context)))
		return side;
	world.pds.add(side.pd);
	side.mr = ibv_reg_mr(side.pd, world.at(args[0] + host * 65536u), 65536,
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				     IBV_ACCESS_REMOTE_READ |
				     IBV_ACCESS_MW_BIND |
				     IBV_ACCESS_REMOTE_ATOMIC);
	if (side.mr) {
		world.keep_key(side.mr->rkey);
		world.mrs.add(side.mr);
	}
	ibv_comp_channel *const channel = ibv_create_comp_channel(side.context);
	if (channel) {
		::fcntl(channel->fd, F_SETFL, O_NONBLOCK);
		world.channels.add(channel);
	}
	attr.send_cq = attr.recv_cq =
		ibv_create_cq(side.context, static_cast<int>(1 + args[1] % 64),
			      nullptr, channel, 0);
	if (!attr.send_cq)
		return side;
	world.cqs.add(attr.send_cq);
	if (args[2] % 4 == 0) {
		ibv_srq_init_attr shared{nullptr, {16, 2, 0}};

		if ((attr.srq = ibv_create_srq(side.pd, &shared)))
			world.srqs.add(attr.srq);
	}
	attr.qp_type = IBV_QPT_RC;
	attr.sq_sig_all = args[2] % 2;
	attr.cap = {1 + args[2] % 32, 1 + args[3] % 32, 4, 2, 64};
	if ((side.qp = ibv_create_qp(side.pd, &attr))) {
		ibv_qp_attr rights{};

		rights.qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
					 IBV_ACCESS_REMOTE_READ |
					 IBV_ACCESS_REMOTE_ATOMIC;
		if (args[3] % 4)
			ibv_modify_qp(side.qp, &rights, IBV_QP_ACCESS_FLAGS);
		world.qps.add(side.qp);
	}
	return side;
}

void post_some(World &world, const Side &side, std::uint32_t count)
{
	ibv_mr *const mr = world.mrs.get(0);
	ibv_sge piece{reinterpret_cast<std::uintptr_t>(world.memory), 64,
		      mr ? mr->lkey : 0};
	ibv_recv_wr wr{}, *bad;

	wr.sg_list = &piece;
	wr.num_sge = 1;
	for (; count; count--) {
		if (side.qp->srq)
			ibv_post_srq_recv(side.qp->srq, &wr, &bad);
		else
			ibv_post_recv(side.qp, &wr, &bad);
	}
}

// A queue pair on either host, not connected.
void cm_side(World &world, const Args &args)
{
	const Shared hold(world.libraries);
	const Side side = make_side(world, static_cast<int>(args[0] % 2), args);

	if (side.qp)
		post_some(world, side, args[3] % 4);
}

// A listener whose plain connections are wanted, on host 2.
void cm_listen_plain(World &world, const Args &args)
{
	const Shared hold(world.libraries);
	ibv_context *const context = open_host(world, 1);
	rdma_cm_id *const id = make_id(world, args[0], 1);
	Address address = address_of(1, listener_port(args[1]), args[2] / 4);
	int queue = -1;

	if (!context || !id || rdma_bind_addr(id, address.get()) ||
	    rdma_listen(id, 4))
		return;
	if (!mpadv_create_plain(context, address.get(), 1 + args[2] % 4, &queue))
		world.fds.add(queue);
}

// An ordinary client of a listener.
void connect_to(World &world, Address address, std::uint32_t number)
{
	world.enter(0);
	const int fd =
		::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	::connect(fd, address.get(), address.size());
	// One that is gone when it is accepted.
	if (number / 16 % 8 == 0) {
		const linger at_once{1, 0};

		::setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
		::close(fd);
		return;
	}
	pollfd one{fd, POLLOUT, 0};
	::poll(&one, 1, 20);
	if (number % 4)
		(void)!::send(fd, "GET / HTTP/1.1\r\n", 4 + number % 12,
			      MSG_DONTWAIT | MSG_NOSIGNAL);
	world.fds.add(fd);
}

void connect_plain(World &world, const Args &args)
{
	connect_to(world, address_of(1, listener_port(args[1]), args[3] / 4), args[2]);
}

// The queue pairs with which events of a channel are answered.
struct Answers {
	const ibv_qp *connects, *accepts;
	const Args &depths;
};

// Takes so many events, unless one is a failure or they do not come.
void answer_events(World &world, rdma_event_channel *channel, const Answers &answers, int wanted)
{
	for (int waits = 0; wanted && waits < 60;) {
		rdma_cm_event *event;

		if (rdma_get_cm_event(channel, &event)) {
			pollfd ready{channel->fd, POLLIN, 0};

			::poll(&ready, 1, 5);
			waits++;
			continue;
		}
		rdma_cm_id *const id = event->id;
		const rdma_cm_event_type type = event->event;
		rdma_conn_param param{};

		rdma_ack_cm_event(event);
		param.responder_resources =
			static_cast<std::uint8_t>(1 + answers.depths[0] % 32);
		param.initiator_depth =
			static_cast<std::uint8_t>(1 + answers.depths[1] % 32);
		wanted--;
		if (type == RDMA_CM_EVENT_ADDR_RESOLVED) {
			rdma_resolve_route(id, 500);
		} else if (type == RDMA_CM_EVENT_ROUTE_RESOLVED) {
			param.qp_num = answers.connects->qp_num;
			rdma_connect(id, &param);
		} else if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
			world.ids.add(id);
			param.qp_num = answers.accepts ? answers.accepts->qp_num : 0;
			rdma_accept(id, &param);
		} else if (type == RDMA_CM_EVENT_CONNECT_RESPONSE) {
			rdma_establish(id);
		} else if (type != RDMA_CM_EVENT_ESTABLISHED) {
			return;
		}
	}
}

// Two connected queue pairs, one on each host.
void cm_pair(World &world, const Args &args)
{
	const Shared hold(world.libraries);
	const Side one = make_side(world, 0, args),
		   two = make_side(world, 1, args);
	rdma_event_channel *const channel = make_channel(world);
	rdma_cm_id *listener = nullptr, *near = nullptr;
	Address address = address_of(1, 0, args[3] / 4, args[3] / 16 % 8 == 0);

	if (!one.qp || !two.qp || !channel)
		return;
	post_some(world, one, args[3] % 4);
	post_some(world, two, args[3] % 4);
	world.enter(1);
	if (rdma_create_id(channel, &listener, nullptr, RDMA_PS_TCP))
		return;
	world.ids.add(listener);
	prepare_id(listener, args[2] / 8);
	if (rdma_bind_addr(listener, address.get()) || rdma_listen(listener, 4))
		return;
	address = address_of(1, 0, args[3] / 4);
	address.set_port(ntohs(rdma_get_src_port(listener)));
	world.enter(0);
	if (rdma_create_id(channel, &near, nullptr, RDMA_PS_TCP))
		return;
	world.ids.add(near);
	prepare_id(near, args[2] / 32);
	rdma_resolve_addr(near, nullptr, address.get(), 500);
	if (one.mr && two.mr)
		world.pairs.add(new Pair{{one, two}});
	// Resolved, a route, the Request, established twice; or a failure.
	answer_events(world, channel, {one.qp, two.qp, args}, 5);
}

// What a peer of RFC 5044 or RFC 6581 could answer, mostly nearly right.
std::vector<unsigned char> make_reply(programs::Random &random)
{
	std::vector<unsigned char> reply(20);
	const std::uint32_t extra = random.below(8);
	const bool enhanced = random.one_in(2);

	std::memcpy(reply.data(), "MPA ID Rep Frame", 16);
	// Markers, CRC, rejected, enhanced.
	reply[16] = static_cast<unsigned char>((random.one_in(4) ? 0x80 : 0) | 0x40 |
					       (random.one_in(8) ? 0x20 : 0) |
					       (enhanced ? 0x10 : 0));
	reply[17] = static_cast<unsigned char>(random.one_in(16) ? random.below(4)
					       : enhanced	 ? 2
								 : 1 + random.below(2));
	reply[19] = static_cast<unsigned char>((enhanced ? 4 : 0) + extra);
	// IRD and ORD, with the bits of the RTR.
	for (int n = 0; enhanced && n < 2; n++) {
		reply.push_back(static_cast<unsigned char>(
			(random.below(4) << 6) | (random.one_in(4) ? 0x3f : 0)));
		reply.push_back(static_cast<unsigned char>(
			random.one_in(4) ? 0xff : random.below(40)));
	}
	for (std::uint32_t n = 0; n < extra; n++)
		reply.push_back(static_cast<unsigned char>(random.next()));
	return reply;
}

// A queue pair connects to an ordinary socket, which answers like an RNIC.
void cm_to_plain(World &world, const Args &args)
{
	const Shared hold(world.libraries);
	programs::Random random(args[0] + (std::uint64_t{args[1]} << 32));
	const Side side = make_side(world, 0, args);
	rdma_event_channel *const channel = make_channel(world);
	Address address = address_of(1, 0, args[3] / 4);
	rdma_cm_id *id = nullptr;

	if (!side.qp || !channel)
		return;
	world.enter(1);
	const int listener = ::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (::bind(listener, address.get(), address.size()) || ::listen(listener, 1)) {
		::close(listener);
		return;
	}
	address = Address::of_socket(listener);
	world.enter(0);
	if (!rdma_create_id(channel, &id, nullptr, RDMA_PS_TCP)) {
		world.ids.add(id);
		rdma_resolve_addr(id, nullptr, address.get(), 500);
		answer_events(world, channel, {side.qp, nullptr, args}, 2);
	}
	pollfd ready{listener, POLLIN, 0};
	::poll(&ready, 1, 50);
	const int fd = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK);
	::close(listener);
	if (fd < 0)
		return;
	world.fds.add(fd);
	ready = {fd, POLLIN, 0};
	::poll(&ready, 1, 50);
	(void)!::recv(fd, world.at(args[2]), 4096, MSG_DONTWAIT);
	const std::vector<unsigned char> reply = make_reply(random);
	(void)!::send(fd, reply.data(), reply.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
	if (args[2] % 4 == 0)
		::shutdown(fd, static_cast<int>(args[2] / 4 % 3));
	answer_events(world, channel, {side.qp, nullptr, args}, 1);
}

// A listener whose plain connections are wanted, clients, and one of them accepted; at times
// when the listener is gone.
void plain_both(World &world, const Args &args)
{
	const Shared hold(world.libraries);
	ibv_context *const context = open_host(world, 1);
	rdma_event_channel *const channel = make_channel(world);
	Address address = address_of(1, 0, args[3] / 4);
	rdma_cm_id *listener = nullptr;
	int queue = -1, fd = -1;

	world.enter(1);
	if (!context || !channel || rdma_create_id(channel, &listener, nullptr, RDMA_PS_TCP))
		return;
	if (!rdma_bind_addr(listener, address.get()) && !rdma_listen(listener, 4)) {
		address.set_port(ntohs(rdma_get_src_port(listener)));
		mpadv_create_plain(context, address.get(), 1 + args[2] % 2, &queue);
	}
	for (std::uint32_t n = args[1] % 4; n; n--)
		connect_to(world, address, args[2]);
	pollfd ready{queue, POLLIN, 0};
	::poll(&ready, 1, 30);
	// No other thread has it so far.
	if (args[1] / 4 % 4 == 0)
		rdma_destroy_id(listener);
	else
		world.ids.add(listener);
	for (std::uint32_t n = args[1] / 16 % 4; n; n--)
		if (!mpadv_accept_plain(context, queue, 0, &fd))
			world.fds.add(fd);
	::poll(&ready, 1, 0);
	if (queue >= 0)
		world.fds.add(queue);
}

} // namespace

std::vector<Kind> of_connections()
{
	return {{"cm_channel", 2, cm_channel},
		{"cm_listen", 4, cm_listen},
		{"cm_resolve", 5, cm_resolve},
		{"cm_connect", 4, cm_connect},
		{"cm_event", 14, cm_event},
		{"cm_disconnect", 4, cm_disconnect},
		{"cm_destroy", 4, cm_destroy},
		{"cm_option", 2, cm_option},
		{"cm_side", 4, cm_side},
		{"cm_listen_plain", 3, cm_listen_plain},
		{"connect_plain", 4, connect_plain},
		{"plain_both", 4, plain_both},
		{"cm_to_plain", 5, cm_to_plain},
		{"cm_pair", 12, cm_pair}};
}

} // namespace calls
