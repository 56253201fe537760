// SPDX-License-Identifier: GPL-2.0-only
//
// Verbs and connections without memory. Device mpa1 is on host h1, where this
// program runs; its peers are on h2 and have memory.
#include "faults.hpp"
#include "net.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <thread>

#include <rdma/rdma_verbs.h>

#include "rdmacm.hpp"

using namespace harness;
using faults::each_allocation;
using faults::with_fault;
using net::Bytes;
using net::pattern;
using rdmacm::Address;
using rdmacm::Ender;
using rdmacm::Endpoint;
using rdmacm::look_up;
using rdmacm::make_endpoint;
using rdmacm::queue_sizes;

namespace {

using Context = std::unique_ptr<ibv_context, Ender<ibv_close_device>>;
using Domain = std::unique_ptr<ibv_pd, Ender<ibv_dealloc_pd>>;
using Region = std::unique_ptr<ibv_mr, Ender<ibv_dereg_mr>>;
using Window = std::unique_ptr<ibv_mw, Ender<ibv_dealloc_mw>>;
using Channel = std::unique_ptr<ibv_comp_channel, Ender<ibv_destroy_comp_channel>>;
using Completions = std::unique_ptr<ibv_cq, Ender<ibv_destroy_cq>>;
using Queues = std::unique_ptr<ibv_qp, Ender<ibv_destroy_qp>>;
using SharedQueue = std::unique_ptr<ibv_srq, Ender<ibv_destroy_srq>>;
using Identifier = std::unique_ptr<rdma_cm_id, Ender<rdma_destroy_id>>;

constexpr std::size_t message = 200000;

// Converts the errno of a call that returns an object or NULL.
template <typename Object> int error_of(const Object &object)
{
	return object ? 0 : errno;
}

ibv_device *device()
{
	int count = 0;
	ibv_device **list = ibv_get_device_list(&count);

	for (int n = 0; n < count; n++)
		if (std::string_view(ibv_get_device_name(list[n])) == "mpa1")
			return list[n];
	fail("there is no mpa1");
}

struct Opened {
	Context context{ibv_open_device(device())};
	Domain domain{ibv_alloc_pd(context.get())};
	Completions completions{ibv_create_cq(context.get(), 64, nullptr, nullptr, 0)};

	Opened() { yes(context && domain && completions, "the device can be used"); }
};

int error_of_call(int returned)
{
	return returned ? errno : 0;
}

rdma_conn_param parameters()
{
	rdma_conn_param param{};

	param.responder_resources = param.initiator_depth = 1;
	return param;
}

// A thread on another host, which is joined.
class There {
public:
	explicit There(std::function<void()> work)
		: thread_([work = std::move(work), this] {
			  try {
				  const net::Inside inside(2);

				  work();
			  } catch (const Failed &failed) {
				  what_ = failed.what;
			  } catch (const std::exception &error) {
				  what_ = error.what();
			  }
		  })
	{
	}

	// If a case fails the process ends, whatever this thread waits for.
	~There()
	{
		if (thread_.joinable())
			thread_.detach();
	}

	void join()
	{
		thread_.join();
		if (!what_.empty())
			fail(what_);
	}

private:
	std::string what_;
	std::thread thread_;
};

// The next connection, with room for one message; NULL: it was not established.
Endpoint accept_one(rdma_cm_id *listener, Bytes &room, Region &region)
{
	rdma_conn_param param = parameters();
	rdma_cm_id *id = nullptr;

	must_call(rdma_get_request(listener, &id), "rdma_get_request");
	Endpoint peer(id);
	region.reset(rdma_reg_msgs(id, room.data(), room.size()));
	yes(region != nullptr, "the peer has a region");
	must_call(rdma_post_recv(id, nullptr, room.data(), room.size(), region.get()),
		  "rdma_post_recv");
	if (rdma_accept(id, &param))
		return nullptr;
	return peer;
}

Endpoint listener_on(const char *address, const char *port)
{
	Endpoint listening = make_endpoint(look_up(address, port, RAI_PASSIVE).get());

	must_call(rdma_listen(listening.get(), 8), "rdma_listen");
	return listening;
}

// A connection whose two ends are in this process.
struct Connection {
	Connection()
	{
		There peer([&] {
			const Endpoint listening = listener_on("10.77.0.2", "7701");

			listens = true;
			far = accept_one(listening.get(), room, room_region);
		});
		await([&] { return listens.load(); }, "the peer listens");
		near = make_endpoint(look_up("10.77.0.2", "7701", 0).get());
		rdma_conn_param param = parameters();
		must_call(rdma_connect(near.get(), &param), "rdma_connect");
		peer.join();
		yes(far != nullptr, "the peer accepts");
		region.reset(rdma_reg_msgs(near.get(), bytes.data(), bytes.size()));
		yes(region != nullptr, "there is a region");
	}

	Bytes bytes = pattern(message, 7), room = Bytes(message);
	Endpoint near, far;
	// They use the endpoints' protection domains, so they are destroyed
	// first.
	Region region, room_region;
	std::atomic<bool> listens{false};
};

// Polls for one completion and returns its status.
ibv_wc_status completed(ibv_cq *completions)
{
	const auto end = std::chrono::steady_clock::now() + patience;
	ibv_wc wc{};
	int got;

	while (!(got = ibv_poll_cq(completions, 1, &wc)))
		if (std::chrono::steady_clock::now() > end)
			fail("no completion");
	is(got, 1, "ibv_poll_cq");
	return wc.status;
}

void expect_success(ibv_cq *completions, const char *what)
{
	const ibv_wc_status status = completed(completions);

	yes(status == IBV_WC_SUCCESS, std::string(what) + ": " +
					      ibv_wc_status_str(status));
}

} // namespace

CASE("verbs: a device is opened")
{
	ibv_device *const mpa1 = device();

	each_allocation([&] {
		return with_fault([&] {
			return error_of(Context(ibv_open_device(mpa1)));
		});
	}, ENOENT); // libibverbs, for files that it cannot open
}

CASE("verbs: a protection domain")
{
	const Opened opened;

	each_allocation([&] {
		Domain domain;

		return with_fault([&] {
			domain.reset(ibv_alloc_pd(opened.context.get()));
			return error_of(domain);
		});
	});
}

CASE("verbs: a memory region")
{
	const Opened opened;
	Bytes memory(1 << 20);

	each_allocation([&] {
		Region region;

		return with_fault([&] {
			region.reset(ibv_reg_mr(opened.domain.get(), memory.data(),
						memory.size(),
						IBV_ACCESS_LOCAL_WRITE |
							IBV_ACCESS_REMOTE_WRITE));
			return error_of(region);
		});
	});
}

// A peer's Writes show which memory the region has.
CASE("verbs: a memory region with other memory, or the memory of before")
{
	constexpr std::size_t size = 1 << 20, written = 5000;
	const Connection connection;
	std::array<Bytes, 2> memory{Bytes(size), Bytes(size)};
	const Region region(ibv_reg_mr(connection.near->pd, memory[0].data(), size,
				       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
	Bytes data(written);
	const Region source(rdma_reg_msgs(connection.far.get(), data.data(), written));
	std::size_t now = 0;
	unsigned int seed = 0;

	yes(region && source, "there are regions");
	const std::uint32_t key = region->rkey;
	each_allocation([&] {
		const std::size_t other = !now;
		const int error = with_fault([&] {
			return error_of_call(ibv_rereg_mr(
				region.get(), IBV_REREG_MR_CHANGE_TRANSLATION, nullptr,
				memory[other].data(), size, 0));
		});

		if (!error)
			now = other;
		is(region->rkey, key, "the key");
		std::ranges::copy(pattern(written, ++seed), data.begin());
		const auto to = reinterpret_cast<std::uintptr_t>(memory[now].data());
		must_call(rdma_post_write(connection.far.get(), nullptr, data.data(), written,
					  source.get(), 0, to, key),
			  "rdma_post_write");
		expect_success(connection.far->send_cq, "the Write");
		await([&] { return std::equal(data.begin(), data.end(), memory[now].begin()); },
		      "the Write is in memory");
		return error;
	});
}

CASE("verbs: a memory window")
{
	const Opened opened;

	each_allocation([&] {
		Window window;

		return with_fault([&] {
			window.reset(ibv_alloc_mw(opened.domain.get(), IBV_MW_TYPE_2));
			return error_of(window);
		});
	});
}

CASE("verbs: a completion queue with a channel")
{
	const Opened opened;

	each_allocation([&] {
		Channel channel;
		Completions completions;

		return with_fault([&] {
			channel.reset(ibv_create_comp_channel(opened.context.get()));
			if (!channel)
				return errno;
			completions.reset(ibv_create_cq(opened.context.get(), 1000,
							nullptr, channel.get(), 0));
			return error_of(completions);
		});
	});
}

CASE("verbs: a completion queue of another size keeps what is in it")
{
	const Opened opened;
	ibv_qp_init_attr sizes = queue_sizes(64);
	ibv_qp_attr attr{};
	std::uint64_t next = 0;

	sizes.send_cq = sizes.recv_cq = opened.completions.get();
	const Queues queues(ibv_create_qp(opened.domain.get(), &sizes));
	yes(queues != nullptr, "there is a queue pair");
	attr.qp_state = IBV_QPS_ERR;
	is(ibv_modify_qp(queues.get(), &attr, IBV_QP_STATE), 0, "to the error state");
	each_allocation([&] {
		ibv_recv_wr receive{.wr_id = ++next}, *bad = nullptr;
		const int before = opened.completions->cqe, wanted = before > 100 ? 64 : 200;
		ibv_wc wc{};

		is(ibv_post_recv(queues.get(), &receive, &bad), 0, "ibv_post_recv");
		const int error = with_fault([&] {
			return ibv_resize_cq(opened.completions.get(), wanted);
		});

		// If it could not be mapped it has changed.
		if (!error || opened.completions->cqe != before)
			yes(opened.completions->cqe >= wanted, "the entries are enough");
		is(ibv_poll_cq(opened.completions.get(), 1, &wc), 1, "completions");
		is(wc.wr_id, next, "which");
		return error;
	});
}

CASE("verbs: a queue pair")
{
	const Opened opened;

	each_allocation([&] {
		ibv_qp_init_attr attr = queue_sizes(4);
		Queues queues;

		attr.send_cq = attr.recv_cq = opened.completions.get();
		return with_fault([&] {
			queues.reset(ibv_create_qp(opened.domain.get(), &attr));
			return error_of(queues);
		});
	});
}

CASE("verbs: a shared receive queue, and a queue pair that uses it")
{
	const Opened opened;

	each_allocation([&] {
		ibv_qp_init_attr attr = queue_sizes(4);
		ibv_srq_init_attr shared{};
		SharedQueue receives;
		Queues queues;

		attr.send_cq = attr.recv_cq = opened.completions.get();
		shared.attr.max_wr = 1000;
		shared.attr.max_sge = 2;
		return with_fault([&] {
			receives.reset(ibv_create_srq(opened.domain.get(), &shared));
			if (!receives)
				return errno;
			attr.srq = receives.get();
			queues.reset(ibv_create_qp(opened.domain.get(), &attr));
			return error_of(queues);
		});
	});
}

CASE("connections: a listener")
{
	const Address address = look_up("10.77.0.1", "7702", RAI_PASSIVE);

	each_allocation([&] {
		Identifier id;
		rdma_cm_id *raw = nullptr;

		must_call(rdma_create_id(nullptr, &raw, nullptr, RDMA_PS_TCP),
			  "rdma_create_id");
		id.reset(raw);
		return with_fault([&] {
			if (rdma_bind_addr(id.get(), address->ai_src_addr))
				return errno;
			return error_of_call(rdma_listen(id.get(), 4));
		});
	}, EADDRINUSE); // TCP, for a port that it has no memory for
}

// Attempts that reach the peer end there as well: it accepts them one by one.
CASE("connections: an Initiator connects")
{
	std::atomic<bool> listens{false}, over{false};
	There peer([&] {
		const Endpoint listening = listener_on("10.77.0.2", "7703");

		listens = true;
		while (!over) {
			Bytes room(16);
			Region region;

			accept_one(listening.get(), room, region);
		}
	});
	await([&] { return listens.load(); }, "the peer listens");
	const Address address = look_up("10.77.0.2", "7703", 0);
	const auto connect = [&](const std::function<int(rdma_cm_id *)> &how) {
		const Endpoint id = make_endpoint(address.get());

		return how(id.get());
	};
	const auto plainly = [](rdma_cm_id *id) {
		rdma_conn_param param = parameters();

		return error_of_call(rdma_connect(id, &param));
	};

	each_allocation([&] {
		return connect([&](rdma_cm_id *id) {
			return with_fault([&] { return plainly(id); });
		});
	});
	over = true;
	// If the peer has not seen that yet, it waits for one more.
	static_cast<void>(connect(plainly));
	peer.join();
}

CASE("connections: a Responder accepts")
{
	const Endpoint listening = listener_on("10.77.0.1", "7704");

	each_allocation([&] {
		Bytes room(16);
		Region region;
		rdma_cm_id *raw = nullptr;
		There peer([] {
			const Endpoint id = make_endpoint(look_up("10.77.0.1", "7704", 0).get());
			rdma_conn_param param = parameters();

			// Whether it is established depends on the other side.
			static_cast<void>(rdma_connect(id.get(), &param));
		});

		must_call(rdma_get_request(listening.get(), &raw), "rdma_get_request");
		Endpoint id(raw);
		rdma_conn_param param = parameters();
		const int error = with_fault([&] {
			return error_of_call(rdma_accept(raw, &param));
		});
		id.reset();
		peer.join();
		return error;
	}, ECONNABORTED); // once the Reply is on its way
}

CASE("data: what is sent arrives")
{
	each_allocation([] {
		Connection connection;
		const int error = with_fault([&] {
			return error_of_call(rdma_post_send(
				connection.near.get(), nullptr,
				connection.bytes.data(), message,
				connection.region.get(), 0));
		});

		if (error)
			return error;
		expect_success(connection.near->send_cq, "the Send");
		expect_success(connection.far->recv_cq, "the receive");
		yes(connection.room == connection.bytes, "what arrived is what was sent");
		return 0;
	});
}
