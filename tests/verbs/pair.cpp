// SPDX-License-Identifier: GPL-2.0-only
#include "pair.hpp"

#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include <poll.h>

namespace verbs {

using namespace harness;

namespace {

ibv_context *open_device(int host)
{
	const std::string name = "mpa" + std::to_string(host);
	int count = 0;
	ibv_device **list = ibv_get_device_list(&count);

	for (int n = 0; n < count; n++)
		if (ibv_get_device_name(list[n]) == name)
			return ibv_open_device(list[n]);
	fail("there is no " + name);
}

// A thread on another host, which is joined.
class There {
public:
	There(int host, std::function<void()> work)
		: thread_([work = std::move(work), host, this] {
			  try {
				  const net::Inside inside(host);

				  work();
			  } catch (const Failed &failed) {
				  what_ = failed.what;
			  } catch (const std::exception &error) {
				  what_ = error.what();
			  }
			  over_ = true;
		  })
	{
	}

	// If a case fails the process ends, whatever this thread waits for.
	~There()
	{
		if (thread_.joinable())
			thread_.detach();
	}

	bool over() const { return over_; }

	void join()
	{
		thread_.join();
		if (!what_.empty())
			fail(what_);
	}

private:
	std::string what_;
	std::atomic<bool> over_{false};
	std::thread thread_;
};

std::string address_of(const Device &device)
{
	return "10.77.0." + std::to_string(device.host);
}

// False: there is none yet.
bool poll_one(ibv_cq *completions, ibv_wc &wc)
{
	const int got = ibv_poll_cq(completions, 1, &wc);

	yes(got >= 0, "ibv_poll_cq");
	return got > 0;
}

} // namespace

rdma_conn_param parameters(const Queue &queue)
{
	rdma_conn_param param{};

	param.responder_resources = param.initiator_depth = 4;
	param.qp_num = queue.qp->qp_num;
	return param;
}

rdmacm::Endpoint bare_endpoint(const std::string &address, const std::string &port,
			       int flags)
{
	rdma_cm_id *id = nullptr;
	const rdmacm::Address info =
		rdmacm::look_up(address.c_str(), port.c_str(), flags);

	must_call(rdma_create_ep(&id, info.get(), nullptr, nullptr), "rdma_create_ep");
	return rdmacm::Endpoint(id);
}

Device::Device(int host)
	: host(host), context(open_device(host))
{
	yes(context != nullptr, "the device opens");
	domain.reset(ibv_alloc_pd(context.get()));
	yes(domain != nullptr, "there is a protection domain");
	region.reset(ibv_reg_mr(domain.get(), memory.data(), memory.size(), all_rights));
	yes(region != nullptr, "there is a region");
}

std::optional<ibv_event_type> Device::event(std::chrono::milliseconds wait)
{
	pollfd poll{.fd = context->async_fd, .events = POLLIN, .revents = 0};
	ibv_async_event event{};

	if (::poll(&poll, 1, static_cast<int>(wait.count())) <= 0)
		return {};
	must_call(ibv_get_async_event(context.get(), &event), "ibv_get_async_event");
	ibv_ack_async_event(&event);
	return event.event_type;
}

std::string Device::events(unsigned int number)
{
	std::map<std::string, unsigned int> seen;
	std::string text;

	for (; number; number--) {
		const auto one = event(patience);

		yes(one.has_value(), "an event comes");
		seen[ibv_event_type_str(*one)]++;
	}
	for (const auto &[name, times] : seen)
		text += (text.empty() ? "" : ", ") + std::to_string(times) + " " + name;
	return text;
}

Queue::Queue(Device &on, Depth depth, ibv_cq *shared, ibv_srq *receives, ibv_pd *domain,
	     std::uint64_t ops)
	: device(on), completions(shared)
{
	ibv_qp_init_attr_ex attr{};

	if (!shared) {
		own.reset(ibv_create_cq(on.context.get(),
					static_cast<int>(depth.completions), nullptr,
					nullptr, 0));
		completions = own.get();
	}
	yes(completions != nullptr, "there is a completion queue");
	attr.cap.max_send_wr = depth.send;
	attr.cap.max_recv_wr = depth.recv;
	attr.cap.max_send_sge = attr.cap.max_recv_sge = 2;
	attr.cap.max_inline_data = 64;
	attr.send_cq = attr.recv_cq = completions;
	attr.srq = receives;
	attr.sq_sig_all = depth.all_signaled;
	attr.qp_type = IBV_QPT_RC;
	attr.comp_mask = IBV_QP_INIT_ATTR_PD;
	attr.pd = domain ? domain : on.domain.get();
	if (ops)
		attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	attr.send_ops_flags = ops;
	qp.reset(ibv_create_qp_ex(on.context.get(), &attr));
	yes(qp != nullptr, "there is a queue pair");
}

void Queue::post_receive(std::uint64_t number, std::uint32_t length)
{
	ibv_sge piece{.addr = reinterpret_cast<std::uintptr_t>(device.memory.data()),
		      .length = length,
		      .lkey = device.region->lkey};
	ibv_recv_wr wr{}, *bad = nullptr;

	wr.wr_id = number;
	wr.sg_list = &piece;
	wr.num_sge = 1;
	is(Err{ibv_post_recv(qp.get(), &wr, &bad)}, 0, "ibv_post_recv");
}

void Queue::post(ibv_send_wr &wr)
{
	ibv_send_wr *bad = nullptr;

	is(Err{ibv_post_send(qp.get(), &wr, &bad)}, 0, "ibv_post_send");
}

void Queue::send(std::uint64_t number, std::uint32_t length)
{
	ibv_sge piece{.addr = reinterpret_cast<std::uintptr_t>(device.memory.data()),
		      .length = length,
		      .lkey = device.region->lkey};
	ibv_send_wr wr{};

	wr.wr_id = number;
	wr.opcode = IBV_WR_SEND;
	wr.sg_list = &piece;
	wr.num_sge = 1;
	post(wr);
}

void Queue::access(ibv_wr_opcode opcode, std::uint32_t key, std::uint64_t address,
		   std::uint32_t length, std::uint32_t offset)
{
	ibv_sge piece{.addr = reinterpret_cast<std::uintptr_t>(device.memory.data()) +
			      offset,
		      .length = length,
		      .lkey = device.region->lkey};
	ibv_send_wr wr{};

	wr.wr_id = 1;
	wr.opcode = opcode;
	wr.sg_list = &piece;
	wr.num_sge = 1;
	wr.wr.rdma.remote_addr = address;
	wr.wr.rdma.rkey = key;
	post(wr);
}

void Queue::transfer(ibv_wr_opcode opcode, const Device &peer, std::uint32_t length)
{
	access(opcode, peer.region->rkey,
	       reinterpret_cast<std::uintptr_t>(peer.memory.data()), length);
}

void Queue::modify(ibv_qp_state state)
{
	ibv_qp_attr attr{};

	attr.qp_state = state;
	is(Err{ibv_modify_qp(qp.get(), &attr, IBV_QP_STATE)}, 0,
	   "to state " + std::to_string(state));
}

void Queue::modify_rights(int rights)
{
	ibv_qp_attr attr{};

	attr.qp_access_flags = static_cast<unsigned int>(rights);
	is(Err{ibv_modify_qp(qp.get(), &attr, IBV_QP_ACCESS_FLAGS)}, 0,
	   "rights " + std::to_string(rights));
}

ibv_qp_attr Queue::query()
{
	ibv_qp_init_attr init{};
	ibv_qp_attr attr{};

	is(Err{ibv_query_qp(qp.get(), &attr, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS, &init)},
	   0, "ibv_query_qp");
	return attr;
}

ibv_wc Queue::completion()
{
	const auto end = std::chrono::steady_clock::now() + patience;
	ibv_wc wc{};

	while (!poll_one(completions, wc)) {
		if (std::chrono::steady_clock::now() > end)
			fail("no completion");
		std::this_thread::sleep_for(std::chrono::milliseconds(1));
	}
	return wc;
}

std::vector<ibv_wc> Queue::drain()
{
	std::vector<ibv_wc> all;
	ibv_wc wc{};

	while (poll_one(completions, wc))
		all.push_back(wc);
	return all;
}

void accept(rdma_cm_id *id, rdma_conn_param &param)
{
	must_call(rdma_accept(id, &param), "rdma_accept");
}

rdmacm::Endpoint
accept_from(Queue &passive,
	    const std::function<void(const std::string &, const std::string &)> &active,
	    const Answer &answer)
{
	static int next = 7800;
	const std::string port = std::to_string(next++);
	const std::string address = address_of(passive.device);
	std::atomic<bool> listens{false};
	rdmacm::Endpoint accepted;
	There peer(passive.device.host, [&] {
		const rdmacm::Endpoint listening =
			bare_endpoint(address, port, RAI_PASSIVE);
		rdma_conn_param param = parameters(passive);
		rdma_cm_id *id = nullptr;

		must_call(rdma_listen(listening.get(), 4), "rdma_listen");
		listens = true;
		must_call(rdma_get_request(listening.get(), &id), "rdma_get_request");
		accepted.reset(id);
		answer(id, param);
	});
	await([&] { return listens || peer.over(); }, "the peer listens");
	if (!listens)
		peer.join();
	active(address, port);
	peer.join();
	return accepted;
}

Listening::Listening(net::Path path, bool any) : path(path)
{
	const net::Inside host(2);
	rdma_cm_id *made = nullptr;

	must_call(rdma_create_id(nullptr, &made, nullptr, RDMA_PS_TCP), "rdma_create_id");
	id.reset(made);
	own = address = net::address_of(path);
	if (any)
		std::memset(&own.storage, 0, sizeof(own.storage));
	own.storage.ss_family = address.storage.ss_family;
	must_call(rdma_bind_addr(made, own.generic()), "rdma_bind_addr");
	must_call(rdma_listen(made, 8), "rdma_listen");
	// At the same place in both families.
	for (net::Address *each : {&own, &address})
		reinterpret_cast<sockaddr_in *>(&each->storage)->sin_port =
			rdma_get_src_port(made);
}

std::string Listening::port() const
{
	return std::to_string(ntohs(rdma_get_src_port(id.get())));
}

Connection connect(Queue &active, Queue &passive)
{
	rdma_conn_param param = parameters(active);
	Connection connection;

	connection.passive = accept_from(passive, [&](const std::string &address,
						      const std::string &port) {
		connection.active = bare_endpoint(address, port, 0);
		must_call(rdma_connect(connection.active.get(), &param),
			  "rdma_connect");
	});
	return connection;
}

int connect_error(Queue &active, const Device &peer)
{
	const rdmacm::Endpoint id = bare_endpoint(address_of(peer), "7799", 0);
	rdma_conn_param param = parameters(active);

	return rdma_connect(id.get(), &param) ? errno : 0;
}

namespace {

SharedQueue shared_receives(const Device &device, const Depth &depth)
{
	ibv_srq_init_attr attr{.attr = {.max_wr = depth.recv, .max_sge = 2}};

	if (!depth.shared)
		return nullptr;
	SharedQueue queue(ibv_create_srq(device.domain.get(), &attr));
	yes(queue != nullptr, "there is a shared receive queue");
	return queue;
}

} // namespace

Pair::Pair(Depth depth)
	: near_receives(shared_receives(one, depth)),
	  far_receives(shared_receives(two, depth)),
	  near(one, depth, nullptr, near_receives.get()),
	  far(two, depth, nullptr, far_receives.get()), connection(connect(near, far))
{
}

ibv_send_wr write_imm(Queue &queue, const Device &peer, ibv_sge &piece,
		      std::uint32_t length)
{
	ibv_send_wr wr{};

	piece = {.addr = reinterpret_cast<std::uintptr_t>(queue.device.memory.data()),
		 .length = length,
		 .lkey = queue.device.region->lkey};
	wr.wr_id = 1;
	wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	wr.sg_list = &piece;
	wr.num_sge = 1;
	wr.imm_data = immediate;
	wr.wr.rdma.remote_addr = reinterpret_cast<std::uintptr_t>(peer.memory.data());
	wr.wr.rdma.rkey = peer.region->rkey;
	return wr;
}

Setting::Setting(int host, std::string name, const std::string &value)
	: host_(host), name_(std::move(name))
{
	yes(set(value), name_ + " is set to " + value);
}

Setting::~Setting()
{
	set("inherit");
}

bool Setting::set(const std::string &value) const
{
	const std::string host = std::to_string(host_);
	const std::string command = "ip netns exec h" + host +
				    " \"$MPA_REPO/build/bin/mpactl\" set dev mpa" + host +
				    " " + name_ + " " + value + " >/dev/null 2>&1";

	return std::system(command.c_str()) == 0;
}

std::uint64_t counter(int host, const std::string &name)
{
	const std::string number = std::to_string(host);
	const std::string command = "ip netns exec h" + number +
				    " rdma statistic show link mpa" + number +
				    "/1 | grep -o ' " + name + " [0-9]*'";
	std::unique_ptr<FILE, Ender<pclose>> pipe(popen(command.c_str(), "r"));
	std::uint64_t value = 0;

	yes(pipe && std::fscanf(pipe.get(), "%*s %" SCNu64, &value) == 1, command);
	return value;
}

std::string status_name(ibv_wc_status status)
{
	return ibv_wc_status_str(status);
}

} // namespace verbs
