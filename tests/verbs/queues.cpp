// SPDX-License-Identifier: GPL-2.0-only
//
// Completion queues that change: their size, how many completions raise an event;
// those with time stamps, and those that ignore that they are full. Objects that
// another process made.
#include "raw.hpp"

#include <algorithm>
#include <atomic>
#include <fstream>
#include <iterator>
#include <thread>

#include <poll.h>
#include <unistd.h>

using namespace harness;
using namespace verbs;

namespace {

using Channel = std::unique_ptr<ibv_comp_channel, Ender<ibv_destroy_comp_channel>>;

constexpr Depth deep{.send = 256, .recv = 256, .completions = 1024};

// A queue with a channel for its events.
struct Watched {
	explicit Watched(Device &device, int entries)
		: channel(ibv_create_comp_channel(device.context.get())),
		  queue(ibv_create_cq(device.context.get(), entries, nullptr,
				      channel.get(), 0))
	{
		yes(queue != nullptr, "there is a completion queue");
	}

	Channel channel;
	Completions queue;

	void arm() { is(ibv_req_notify_cq(queue.get(), 0), 0, "ibv_req_notify_cq"); }

	// Whether an event comes within the time; it is acknowledged.
	bool event(std::chrono::milliseconds wait)
	{
		pollfd poll{.fd = channel->fd, .events = POLLIN, .revents = 0};
		ibv_cq *cq = nullptr;
		void *context = nullptr;

		if (::poll(&poll, 1, static_cast<int>(wait.count())) <= 0)
			return false;
		must_call(ibv_get_cq_event(channel.get(), &cq, &context),
			  "ibv_get_cq_event");
		ibv_ack_cq_events(cq, 1);
		return true;
	}
};

void moderate(ibv_cq *queue, std::uint16_t count, std::uint16_t period)
{
	ibv_modify_cq_attr attr{};

	attr.attr_mask = IBV_CQ_ATTR_MODERATE;
	attr.moderate = {count, period};
	is(Err{ibv_modify_cq(queue, &attr)}, 0, "ibv_modify_cq");
}

// Sends, and waits until all have completed at the peer.
void send_all(Queue &from, Queue &to, std::uint64_t first, std::uint64_t number)
{
	for (std::uint64_t n = first; n < first + number; n++)
		to.post_receive(n);
	for (std::uint64_t n = first; n < first + number; n++)
		from.send(n, 0);
	for (std::uint64_t n = first; n < first + number; n++)
		is(to.completion().wr_id, n, "which receive");
}

void expect_order(Queue &queue, std::uint64_t first, std::uint64_t end)
{
	for (std::uint64_t n = first; n < end; n++) {
		const ibv_wc wc = queue.completion();

		is(wc.wr_id, n, "which");
		is(status_name(wc.status), status_name(IBV_WC_SUCCESS), "how it ends");
	}
}

} // namespace

CASE("resize: completions stay in the queue, in order")
{
	Device one(1), two(2);
	Watched watched(one, 16);
	Queue near(one, deep, watched.queue.get()), far(two, deep);
	const Connection connection = connect(near, far);

	send_all(near, far, 0, 16);
	is(Err{ibv_resize_cq(watched.queue.get(), 100)}, 0, "to more entries");
	is(watched.queue->cqe, 128, "entries");
	send_all(near, far, 16, 100);
	is(Err{ibv_resize_cq(watched.queue.get(), 64)}, EINVAL,
	   "to fewer entries than there are completions");
	is(watched.queue->cqe, 128, "entries then");
	expect_order(near, 0, 60);
	is(Err{ibv_resize_cq(watched.queue.get(), 56)}, 0, "to as many as needed");
	expect_order(near, 60, 116);
	is(near.drain().size(), std::size_t{0}, "more completions");

	// What the new ring has no room for is lost as ever.
	is(Err{ibv_resize_cq(watched.queue.get(), 4)}, 0, "to very few");
	send_all(near, far, 116, 5);
	is(one.events(2), "1 CQ error, 1 local work queue catastrophic error", "events");
	expect_order(near, 116, 120);
}

CASE("resize: bounds")
{
	Device device(1);
	ibv_device_attr attr{};

	is(Err{ibv_query_device(device.context.get(), &attr)}, 0, "ibv_query_device");
	Watched watched(device, 16);
	for (const int entries : {0, -1, attr.max_cqe + 1}) {
		const Row row(entries);

		is(Err{ibv_resize_cq(watched.queue.get(), entries)}, EINVAL,
		   "ibv_resize_cq");
	}
	is(watched.queue->cqe, 16, "entries");
	is(Err{ibv_resize_cq(watched.queue.get(), attr.max_cqe)}, 0, "to the most");
	is(watched.queue->cqe, attr.max_cqe, "entries of the largest");
}

CASE("resize: takes no more addresses, and no more of what the context may own")
{
	const Setting limit(1, "user-cq-max", "1");
	Device one(1), two(2);
	Watched watched(one, 16);
	Queue near(one, deep, watched.queue.get()), far(two, deep);
	const Connection connection = connect(near, far);
	const auto mappings = [] {
		std::ifstream maps("/proc/self/maps");

		return std::count(std::istreambuf_iterator<char>(maps), {}, '\n');
	};

	is(Err{ibv_resize_cq(watched.queue.get(), 64)}, 0, "the first time");
	const auto before = mappings();
	for (int n = 0; n < 50; n++) {
		is(Err{ibv_resize_cq(watched.queue.get(), n % 2 ? 64 : 1024)}, 0,
		   "ibv_resize_cq");
		send_all(near, far, n, 1);
	}
	is(mappings(), before, "mappings");
	expect_order(near, 0, 50);
}

CASE("limits: fewer than a program has")
{
	Device one(1);
	std::vector<Domain> domains;

	for (int n = 0; n < 4; n++)
		domains.emplace_back(ibv_alloc_pd(one.context.get()));
	{
		const Setting limit(1, "user-pd-max", "2");

		for (std::size_t left = domains.size(); left; left--) {
			const Row row(left);
			const Domain more(ibv_alloc_pd(one.context.get()));

			// Besides that of the device.
			is(more == nullptr, true, "refused");
			is(errno, ENOMEM, "why");
			domains.pop_back();
		}
		const Domain more(ibv_alloc_pd(one.context.get()));
		is(more != nullptr, true, "as many as are allowed");
	}
	const Domain more(ibv_alloc_pd(one.context.get()));
	is(more != nullptr, true, "without the limit");
}

CASE("resize: a request for an event stays")
{
	Device one(1), two(2);
	Watched watched(one, 16);
	Queue near(one, deep, watched.queue.get()), far(two, deep);
	const Connection connection = connect(near, far);

	watched.arm();
	is(Err{ibv_resize_cq(watched.queue.get(), 64)}, 0, "ibv_resize_cq");
	is(watched.event(moment), false, "an event comes");
	send_all(near, far, 0, 1);
	is(watched.event(patience), true, "an event of the completion comes");
	send_all(near, far, 1, 1);
	is(watched.event(moment), false, "a second event comes");
}

// One thread polls and asks for events, another one resizes, a third one sends.
// User Mode Linux crashes if memory of vmalloc() comes and goes very often: it takes the
// pages of others away for a moment.
CASE("machine: a queue that is resized under traffic loses nothing and misses no event")
{
	constexpr std::uint64_t number = 5000;
	// Sends complete when TCP has taken them, so they may be ahead of the receives.
	const Setting waits(2, "receive-wait", "60s");
	Device one(1), two(2);
	Watched watched(one, 512);
	Queue near(one, deep, watched.queue.get()), far(two, deep);
	const Connection connection = connect(near, far);
	std::atomic<bool> over{false};
	std::atomic<std::uint64_t> seen{0};
	std::thread resizer([&] {
		for (int n = 0; !over; n++) {
			is(Err{ibv_resize_cq(watched.queue.get(), n % 2 ? 512 : 1024)}, 0,
			   "ibv_resize_cq");
		}
	});
	std::thread consumer([&] {
		while (seen < number) {
			watched.arm();
			for (const ibv_wc &wc : near.drain())
				is(wc.wr_id, seen++, "which");
			if (seen < number)
				yes(watched.event(patience), "an event comes");
		}
	});

	for (std::uint64_t n = 0; n < 200; n++)
		far.post_receive(n);
	for (std::uint64_t n = 0; n < number; n++) {
		await([&] { return n - seen < 200; }, "completions come");
		near.send(n, 0);
		for (const ibv_wc &wc : far.drain())
			far.post_receive(wc.wr_id);
	}
	consumer.join();
	over = true;
	resizer.join();
}

// A thread that never polls says that it has one more than there are, and takes it back.
CASE("machine: a queue is resized while its consumer index changes")
{
	Device one(1);
	Watched watched(one, 512);
	std::uint32_t *const cons = &to_mpa_cq(watched.queue.get())->ring.hdr->cons;
	std::atomic<bool> over{false};
	std::thread consumer([&] {
		while (!over) {
			__atomic_store_n(cons, 1, __ATOMIC_RELAXED);
			__atomic_store_n(cons, 0, __ATOMIC_RELAXED);
		}
	});
	const auto ends = std::chrono::steady_clock::now() + std::chrono::seconds(3);

	for (int n = 0; std::chrono::steady_clock::now() < ends; n++) {
		const int result = ibv_resize_cq(watched.queue.get(), n % 2 ? 512 : 1024);

		yes(!result || result == EINVAL, "resized, or refused");
	}
	over = true;
	consumer.join();
	is(Err{ibv_resize_cq(watched.queue.get(), 64)}, 0, "nothing is in it");
}

CASE("moderation: so many completions raise one event")
{
	Device one(1), two(2);
	Watched watched(one, 256);
	Queue near(one, deep, watched.queue.get()), far(two, deep);
	const Connection connection = connect(near, far);

	// A period that does not end here, as far as eight Sends are concerned.
	moderate(watched.queue.get(), 8, 65535);
	for (std::uint64_t round = 0; round < 4; round++) {
		watched.arm();
		send_all(near, far, 8 * round, 8);
		is(watched.event(patience), true, "the event of eight comes");
		expect_order(near, 8 * round, 8 * round + 8);
	}
	is(watched.event(moment), false, "another event comes");
}

CASE("moderation: after the period fewer raise it")
{
	Device one(1), two(2);
	Watched watched(one, 256);
	Queue near(one, deep, watched.queue.get()), far(two, deep);
	const Connection connection = connect(near, far);

	moderate(watched.queue.get(), 1000, 20000);
	watched.arm();
	const auto begin = std::chrono::steady_clock::now();
	send_all(near, far, 0, 3);
	is(watched.event(patience), true, "the event comes");
	yes(std::chrono::steady_clock::now() - begin >= std::chrono::milliseconds(15),
	    "it came after the period");
	expect_order(near, 0, 3);
	is(watched.event(moment), false, "a second event comes");

	// Without moderation each raises it at once.
	for (const auto &[count, period] : {std::pair{0, 100}, {100, 0}, {1, 65535}}) {
		const Row row(count, period);
		static std::uint64_t next = 3;

		moderate(watched.queue.get(), static_cast<std::uint16_t>(count),
			 static_cast<std::uint16_t>(period));
		watched.arm();
		send_all(near, far, next++, 1);
		is(watched.event(patience), true, "the event of one comes");
	}
}

CASE("moderation: an event does not wait longer than its queue pair exists")
{
	Device one(1), two(2);
	Watched watched(one, 256);
	auto near = std::make_unique<Queue>(one, deep, watched.queue.get());
	Queue far(two, deep);
	const Connection connection = connect(*near, far);

	moderate(watched.queue.get(), 1000, 65535);
	watched.arm();
	send_all(*near, far, 0, 3);
	near.reset();
	is(watched.event(std::chrono::milliseconds(0)), true, "the event has come");
	watched.queue.reset();
	watched.channel.reset();
	// Nothing is left that would raise another one.
	std::this_thread::sleep_for(std::chrono::milliseconds(150));
}

CASE("time stamps: of completions, in the clock of the device")
{
	Device one(1), two(2);
	ibv_device_attr_ex attr{};
	ibv_values_ex before{}, after{};
	ibv_cq_init_attr_ex init{};

	is(Err{ibv_query_device_ex(one.context.get(), nullptr, &attr)}, 0,
	   "ibv_query_device_ex");
	is(attr.hca_core_clock, std::uint64_t{1000000}, "kHz of the clock");
	is(attr.completion_timestamp_mask, ~std::uint64_t{0}, "bits of a time stamp");
	init.cqe = 16;
	init.wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
			IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
	ibv_cq_ex *timed = ibv_create_cq_ex(one.context.get(), &init);
	yes(timed != nullptr, "there is a completion queue");
	const Completions own(ibv_cq_ex_to_cq(timed));
	Queue near(one, deep, own.get()), far(two, deep);
	const Connection connection = connect(near, far);
	const auto now = [&](ibv_values_ex &values) {
		values.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
		is(Err{ibv_query_rt_values_ex(one.context.get(), &values)}, 0,
		   "ibv_query_rt_values_ex");
		// As programs for mlx5 read it.
		is(values.raw_clock.tv_sec, 0, "seconds");
		return std::uint64_t(values.raw_clock.tv_nsec);
	};

	const std::uint64_t begin = now(before);
	for (std::uint64_t n = 0; n < 40; n += 8) {
		send_all(near, far, n, 8);
		if (n == 16)
			is(Err{ibv_resize_cq(own.get(), 64)}, 0, "ibv_resize_cq");
		std::uint64_t last = begin;
		for (std::uint64_t m = n; m < n + 8; m++) {
			ibv_poll_cq_attr none{};

			await([&] { return !ibv_start_poll(timed, &none); },
			      "a completion comes");
			is(timed->wr_id, m, "which");
			const std::uint64_t time = ibv_wc_read_completion_ts(timed);
			const auto wall = std::chrono::nanoseconds(
				ibv_wc_read_completion_wallclock_ns(timed));
			ibv_end_poll(timed);
			yes(time >= last && time <= now(after), "its time is in order");
			last = time;
			const auto age =
				std::chrono::system_clock::now().time_since_epoch() - wall;
			yes(age >= std::chrono::nanoseconds(-1000000) &&
				    age < std::chrono::seconds(60),
			    "the time of day is right");
		}
	}
}

CASE("overruns that are ignored: completions are dropped, queue pairs go on")
{
	Device one(1), two(2);
	ibv_cq_init_attr_ex init{};

	init.cqe = 8;
	init.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
	init.flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
	const Completions own(
		ibv_cq_ex_to_cq(ibv_create_cq_ex(one.context.get(), &init)));
	yes(own != nullptr, "there is a completion queue");
	Queue near(one, deep, own.get()), far(two, deep);
	const Connection connection = connect(near, far);

	send_all(near, far, 0, 20);
	expect_order(near, 0, 8);
	is(near.drain().size(), std::size_t{0}, "completions without room");
	is(one.event(moment).has_value(), false, "an event comes");
	send_all(near, far, 20, 8);
	expect_order(near, 20, 28);
	is(near.query().qp_state, IBV_QPS_RTS, "the state");
}

CASE("imports: a device, its domain and its region")
{
	Device one(1);
	const int fd = ::dup(one.context->cmd_fd);

	yes(fd >= 0, "the file is duplicated");
	const Context device(ibv_import_device(fd));
	yes(device != nullptr, "the device is imported");
	ibv_pd *domain = ibv_import_pd(device.get(), one.domain->handle);
	yes(domain != nullptr, "the domain is imported");
	ibv_mr *region = ibv_import_mr(domain, one.region->handle);
	yes(region != nullptr, "the region is imported");
	is(region->lkey, one.region->lkey, "its lkey");
	is(region->rkey, one.region->rkey, "its rkey");
	is(region->length, one.memory.size(), "its length");
	ibv_unimport_mr(region);
	is(ibv_import_mr(domain, one.region->handle + 1000) == nullptr, true,
	   "a region that there is not is refused");

	// A queue pair in the imported domain uses the region of the other.
	const Completions own(ibv_create_cq(device.get(), 16, nullptr, nullptr, 0));
	ibv_qp_init_attr attr{};
	attr.send_cq = attr.recv_cq = own.get();
	attr.cap.max_send_wr = attr.cap.max_recv_wr = 4;
	attr.cap.max_send_sge = attr.cap.max_recv_sge = 1;
	attr.qp_type = IBV_QPT_RC;
	const Queues queue(ibv_create_qp(domain, &attr));
	yes(queue != nullptr, "there is a queue pair");

	// What only a module of today has.
	ibv_srq_init_attr shared{};
	shared.attr.max_wr = shared.attr.max_sge = 1;
	ibv_srq *srq = ibv_create_srq(domain, &shared);
	yes(srq != nullptr, "there is a shared receive queue");
	is(ibv_destroy_srq(srq), 0, "it is destroyed");
	ibv_mw *window = ibv_alloc_mw(domain, IBV_MW_TYPE_2);
	yes(window != nullptr, "there is a memory window");
	is(ibv_dealloc_mw(window), 0, "it is freed");
	ibv_unimport_pd(domain);
}
