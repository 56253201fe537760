// SPDX-License-Identifier: GPL-2.0-only
//
// Shared receive queues: what can be created, who takes which entry, what is
// flushed, and the events.
#include "shared.hpp"

#include <thread>

using namespace harness;
using namespace srq;
using net::Bytes;
using verbs::connect;
using verbs::Connection;
using verbs::Depth;

namespace {

// Sends of a queue pair begin with these bytes of its device's memory.
void fill(Device &device, char with)
{
	std::fill(device.memory.begin(), device.memory.end(), std::byte(with));
}

char at_place(const Device &device, std::uint64_t number)
{
	return static_cast<char>(device.memory[number * Shared::place]);
}

std::string attempt(Device &on, std::uint32_t entries, std::uint32_t pieces)
{
	ibv_srq_init_attr attr{};

	attr.attr.max_wr = entries;
	attr.attr.max_sge = pieces;
	const SharedQueue queue(ibv_create_srq(on.domain.get(), &attr));
	if (!queue)
		return ::strerrorname_np(errno);
	return std::to_string(attr.attr.max_wr) + " of " +
	       std::to_string(attr.attr.max_sge);
}

int attempt_ex(Device &on, ibv_srq_type type)
{
	ibv_srq_init_attr_ex attr{};

	attr.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
	attr.srq_type = type;
	attr.pd = on.domain.get();
	attr.attr.max_wr = 4;
	attr.attr.max_sge = 1;
	return SharedQueue(ibv_create_srq_ex(on.context.get(), &attr)) ? 0 : errno;
}

// An MPA socket that is connected to a queue pair, and sends it single segments
// of Sends.
class Segments {
public:
	explicit Segments(Queue &to)
	{
		passive_ = verbs::accept_from(to, [&](const std::string &,
						      const std::string &port) {
			net::Address address = net::address_of(net::Path::ipv4);

			reinterpret_cast<sockaddr_in *>(address.generic())->sin_port =
				htons(static_cast<std::uint16_t>(std::stoi(port)));
			socket_ = net::attach(
				net::connect_to(net::Path::ipv4, address));
			must(socket_.start(mpa::role::initiator), "start");
		});
	}

	void send(std::uint32_t msn, std::uint32_t offset, std::uint32_t length,
		  bool last)
	{
		constexpr std::uint8_t ddp_version = 1, rdmap_send = 0x43;
		Bytes bytes(18 + length, std::byte{'s'});

		bytes[0] = std::byte(last ? 0x40 | ddp_version : ddp_version);
		bytes[1] = std::byte{rdmap_send};
		put(bytes, 2, 0);	// no STag
		put(bytes, 6, 0);	// queue 0
		put(bytes, 10, msn);
		put(bytes, 14, offset);
		must(socket_.send(bytes), "a segment");
	}

private:
	static void put(Bytes &bytes, std::size_t at, std::uint32_t value)
	{
		for (int shift = 24; shift >= 0; shift -= 8)
			bytes[at++] = std::byte(value >> shift);
	}

	rdmacm::Endpoint passive_;
	mpa::socket socket_;
};

constexpr char last_reached[] = "1 last WQE reached";

} // namespace

CASE("create: sizes and types")
{
	Device one(1);
	ibv_device_attr limits{};

	is(Err{ibv_query_device(one.context.get(), &limits)}, 0, "ibv_query_device");
	is(limits.max_srq, 65536, "max_srq");
	is(limits.max_srq_wr, 65536, "max_srq_wr");
	is(limits.max_srq_sge, 16, "max_srq_sge");
	is(attempt(one, 1, 1), "1 of 1", "the smallest");
	is(attempt(one, 100, 0), "128 of 1", "an odd one");
	is(attempt(one, 65536, 16), "65536 of 16", "the largest");
	is(attempt(one, 0, 1), "EINVAL", "no entries");
	is(attempt(one, 65537, 1), "EINVAL", "too many entries");
	is(attempt(one, 1U << 31, 1), "EINVAL", "2^31 entries");
	is(attempt(one, 1, 17), "EINVAL", "too many pieces");
	is(Err{attempt_ex(one, IBV_SRQT_BASIC)}, 0, "ibv_create_srq_ex, basic");
	is(Err{attempt_ex(one, IBV_SRQT_XRC)}, EOPNOTSUPP, "ibv_create_srq_ex, XRC");
	is(Err{attempt_ex(one, IBV_SRQT_TM)}, EOPNOTSUPP,
	   "ibv_create_srq_ex, tag matching");
}

CASE("modify: the limit, but not the size")
{
	Device one(1);
	Shared shared(one);
	ibv_srq_attr attr{};

	is(shared.query().max_wr, 16u, "max_wr");
	is(shared.query().max_sge, 2u, "max_sge");
	is(shared.query().srq_limit, 0u, "srq_limit");
	attr.max_wr = 32;
	is(Err{ibv_modify_srq(shared.queue.get(), &attr, IBV_SRQ_MAX_WR)}, EOPNOTSUPP,
	   "another size");
	is(Err{ibv_modify_srq(shared.queue.get(), &attr, 1 << 5)}, EOPNOTSUPP,
	   "an unknown attribute");
	is(Err{ibv_modify_srq(shared.queue.get(), &attr, 0)}, 0, "nothing");
	attr.srq_limit = 17;
	is(Err{ibv_modify_srq(shared.queue.get(), &attr, IBV_SRQ_LIMIT)}, EINVAL,
	   "a limit above the size");
	is(shared.query().max_wr, 16u, "max_wr then");
	is(shared.query().srq_limit, 0u, "srq_limit then");
	shared.post_range(0, 15);
	shared.set_limit(16);
	is(shared.query().srq_limit, 16u, "the largest limit");
	shared.set_limit(0);
	is(shared.query().srq_limit, 0u, "the limit, withdrawn");
	is(one.event(moment).has_value(), false, "there is an event");
}

CASE("use: receives are posted to the shared queue only")
{
	Device two(2);
	Shared shared(two);
	ibv_qp_init_attr init{};
	ibv_recv_wr wr{}, *bad = nullptr;
	ibv_qp_attr attr{};

	Queue user = user_of(shared);
	is(Err{ibv_post_recv(user.qp.get(), &wr, &bad)}, EINVAL, "ibv_post_recv");
	is(bad, &wr, "the request that was refused");
	is(Err{ibv_query_qp(user.qp.get(), &attr, IBV_QP_CAP, &init)}, 0, "ibv_query_qp");
	is(attr.cap.max_recv_wr, 0u, "max_recv_wr");
	is(attr.cap.max_recv_sge, 0u, "max_recv_sge");
	is(attr.cap.max_send_wr, 16u, "max_send_wr");
	is(init.srq, shared.queue.get(), "its shared queue");
	is(Err{ibv_destroy_srq(shared.queue.get())}, EBUSY, "ibv_destroy_srq");
	shared.post(3);
	user.qp.reset();
	is(Err{ibv_destroy_srq(shared.queue.release())}, 0, "ibv_destroy_srq then");
}

CASE("use: more pieces than granted, and a full queue, are refused")
{
	Device two(2);
	Shared shared(two, 4);
	ibv_sge pieces[3] = {};
	ibv_recv_wr wr{}, *bad = nullptr;

	wr.sg_list = pieces;
	wr.num_sge = 3;
	is(Err{ibv_post_srq_recv(shared.queue.get(), &wr, &bad)}, EINVAL, "three pieces");
	shared.post_range(0, 3);
	wr.num_sge = 1;
	is(Err{ibv_post_srq_recv(shared.queue.get(), &wr, &bad)}, ENOMEM, "a fifth");
	is(bad, &wr, "which");
}

CASE("take: several queue pairs, an entry each, in the order of arrival")
{
	Device one(1), two(2);
	Shared shared(two);
	Queue near[] = {Queue(one), Queue(one), Queue(one)};
	Queue far[] = {user_of(shared), user_of(shared), user_of(shared)};
	const Connection connections[] = {connect(near[0], far[0]), connect(near[1], far[1]),
					  connect(near[2], far[2])};
	std::uint64_t number = 0;

	shared.post_range(0, 8);
	for (unsigned int round = 0; round < 3; round++) {
		for (unsigned int n = 0; n < 3; n++, number++) {
			const Row row("message", number);

			fill(one, static_cast<char>('a' + number));
			near[n].send(1, 100);
			const ibv_wc wc = far[n].completion();
			is(described(wc), std::to_string(number) + " success", "the receive");
			is(wc.qp_num, far[n].qp->qp_num, "its queue pair");
			is(wc.byte_len, 100u, "its length");
			is(at_place(two, number), static_cast<char>('a' + number),
			   "its data");
			is(described(near[n].completion()), "1 success", "the Send");
		}
	}
	for (Queue &queue : far)
		is(queue.drain().size(), 0u, "other completions");
}

// The region that a receive names must be of the queue's protection domain.
CASE("take: the protection domain is that of the shared queue")
{
	Device one(1), two(2);
	const verbs::Domain other(ibv_alloc_pd(two.context.get()));
	Shared shared(two);
	Queue near(one);
	ibv_qp_init_attr attr{};

	yes(other != nullptr, "there is another protection domain");
	Queue far = user_of(shared);
	attr.send_cq = attr.recv_cq = far.completions;
	attr.srq = shared.queue.get();
	attr.cap.max_send_wr = attr.cap.max_send_sge = 1;
	attr.qp_type = IBV_QPT_RC;
	far.qp.reset(ibv_create_qp(other.get(), &attr));
	yes(far.qp != nullptr, "there is a queue pair of the other domain");
	const Connection connection = connect(near, far);
	shared.post(0);
	near.send(1);
	is(described(far.completion()), "0 success", "the receive");
	far.qp.reset();
}

CASE("take: a message takes its entry with its first segment")
{
	Device one(1), two(2);
	Shared shared(two);
	Queue slow = user_of(shared), fast = user_of(shared);
	Queue near(one);
	Segments segments(slow);
	const Connection connection = connect(near, fast);

	shared.post_range(0, 5);
	segments.send(1, 0, 100, false);
	shared.expect_left(5);
	near.send(7);
	near.send(8);
	is(described(fast.completion()), "1 success", "the other's first message");
	is(described(fast.completion()), "2 success", "its second");
	is(slow.drain().size(), 0u, "completions of an incomplete message");
	segments.send(1, 100, 50, false);
	segments.send(1, 150, 50, true);
	segments.send(2, 0, 10, true);
	ibv_wc wc = slow.completion();
	is(described(wc), "0 success", "the slow message");
	is(wc.byte_len, 200u, "its length");
	wc = slow.completion();
	is(described(wc), "3 success", "the one after it");
	is(wc.byte_len, 10u, "its length");
	shared.expect_left(2);
}

CASE("flush: only the entry of an incomplete message")
{
	Device one(1), two(2);
	Shared shared(two);
	Queue slow = user_of(shared), fast = user_of(shared);
	Queue near(one);
	Segments segments(slow);
	const Connection connection = connect(near, fast);

	shared.post_range(0, 3);
	segments.send(1, 0, 100, false);
	shared.expect_left(3);
	slow.modify(IBV_QPS_ERR);
	is(described(slow.completion()), "0 Work Request Flushed Error",
	   "the entry that it held");
	is(two.events(1), last_reached, "the event");
	is(slow.drain().size(), 0u, "other completions");
	shared.expect_left(3);
	for (unsigned int n = 1; n < 4; n++) {
		near.send(n);
		is(described(fast.completion()), std::to_string(n) + " success",
		   "an entry that was left");
	}
	is(two.event(moment).has_value(), false, "there is another event");
}

CASE("flush: nothing at a queue pair that holds no entry, and the event comes once")
{
	Device one(1), two(2);
	Shared shared(two);
	Queue near(one);
	Queue far = user_of(shared), idle = user_of(shared);

	shared.post_range(0, 3);
	{
		const Connection connection = connect(near, far);

		near.send(1);
		is(described(far.completion()), "0 success", "a message");
	}
	near.qp.reset();
	await([&] { return far.query().qp_state == IBV_QPS_ERR; }, "it has ended");
	is(two.events(1), last_reached, "the event when the peer has gone");
	far.modify(IBV_QPS_ERR);
	is(two.event(moment).has_value(), false, "there is another event");
	idle.modify(IBV_QPS_ERR);
	is(two.events(1), last_reached, "the event of one that was never connected");
	is(far.drain().size() + idle.drain().size(), 0u, "completions");
	shared.expect_left(3);

	// After RESET it can end once more.
	idle.modify(IBV_QPS_RESET);
	is(two.event(moment).has_value(), false, "there is an event of RESET");
	idle.modify(IBV_QPS_ERR);
	is(two.events(1), last_reached, "the event of its next end");
}

CASE("flush: a queue pair that is destroyed keeps the entry it held")
{
	Device one(1), two(2);
	Shared shared(two);
	Queue near(one);
	Queue fast = user_of(shared);

	shared.post_range(0, 3);
	{
		Queue slow = user_of(shared);
		Segments segments(slow);

		segments.send(1, 0, 100, false);
		shared.expect_left(3);
		slow.qp.reset();
	}
	is(two.event(moment).has_value(), false, "there is an event");
	shared.expect_left(3);
	const Connection connection = connect(near, fast);
	near.send(1);
	is(described(fast.completion()), "1 success", "the next entry");
}

CASE("empty: it is the same as an empty receive queue")
{
	std::string told_of[2];

	for (const bool is_shared : {false, true}) {
		Device one(1), two(2);
		Shared shared(two);
		Queue near(one);
		Queue far = is_shared ? user_of(shared) : Queue(two);
		const Connection connection = connect(near, far);
		std::string &text = told_of[is_shared];

		if (is_shared)
			shared.post(0);
		else
			far.post_receive(0);
		near.send(1);
		text += described(far.completion()) + ", ";
		near.send(2);
		text += two.events(is_shared ? 2 : 1) + ", ";
		await([&] { return near.query().qp_state == IBV_QPS_ERR; },
		      "the peer's end");
		text += one.events(1) + ", ";
		text += described(near.completion()) + ", " + described(near.completion());
		is(far.query().qp_state, IBV_QPS_ERR, "the state");
		is(far.drain().size(), 0u, "other completions");
	}
	is(told_of[1].find(last_reached) != std::string::npos, true, "its event");
	told_of[1].erase(told_of[1].find(last_reached), sizeof(last_reached) + 1);
	is(told_of[1], told_of[0], "what is reported");
}

CASE("short: a message that is too long ends its queue pair, not the others")
{
	Device one(1), two(2);
	Shared shared(two);
	Queue near[] = {Queue(one), Queue(one)};
	Queue far[] = {user_of(shared), user_of(shared)};
	const Connection connections[] = {connect(near[0], far[0]), connect(near[1], far[1])};

	shared.post(0, 10);
	shared.post(1);
	near[0].send(1, 11);
	is(described(far[0].completion()), "0 local length error", "the receive");
	near[1].send(1, 11);
	is(described(far[1].completion()), "1 success", "the other queue pair's");
}

CASE("limit: the event comes once, when fewer are left")
{
	Device one(1), two(2);
	Shared shared(two);
	Queue near(one);
	Queue far = user_of(shared);
	const Connection connection = connect(near, far);

	shared.post_range(0, 9);
	shared.set_limit(7);
	for (unsigned int n = 0; n < 3; n++) {
		near.send(n);
		far.completion();
	}
	is(shared.query().srq_limit, 7u, "the limit with seven left");
	is(two.event(moment).has_value(), false, "there is an event");
	near.send(3);
	far.completion();
	is(two.events(1), "1 SRQ limit reached", "the event with six left");
	is(shared.query().srq_limit, 0u, "the limit then");
	near.send(4);
	far.completion();
	is(two.event(moment).has_value(), false, "there is another event");

	shared.set_limit(4);
	shared.set_limit(0);
	near.send(5);
	near.send(6);
	far.completion();
	far.completion();
	is(two.event(moment).has_value(), false, "there is an event of none");
	shared.set_limit(4);
	is(two.events(1), "1 SRQ limit reached", "the event of fewer from the start");
}

// The core keeps events until they are read: as many as there are.
CASE("limit: events that nothing causes have a limit")
{
	Device one(1), two(2);
	Shared shared(two);
	Queue near(one);
	Queue far = user_of(shared);
	const Connection connection = connect(near, far);
	int events = 0;

	for (int n = 0; n < 100; n++)
		shared.set_limit(2);
	while (two.event(moment).has_value())
		events++;
	is(events, 16, "events of fewer from the start");
	is(shared.query().srq_limit, 2u, "the limit is kept");
	shared.post(0);
	near.send(0);
	far.completion();
	is(two.events(1), "1 SRQ limit reached", "the event of a receive");
	is(shared.query().srq_limit, 0u, "the limit then");
}
