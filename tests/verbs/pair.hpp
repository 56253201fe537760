// SPDX-License-Identifier: GPL-2.0-only
//
// Two queue pairs for the cases, on the devices mpa1 and mpa2 of the lab's
// hosts h1 and h2. They are created with libibverbs alone; rdma_cm only
// connects them, by number.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>

#include <rdma/rdma_verbs.h>

#include "harness.hpp"
#include "net.hpp"
#include "rdmacm.hpp"

namespace verbs {

using net::Bytes;
using rdmacm::Ender;

using Context = std::unique_ptr<ibv_context, Ender<ibv_close_device>>;
using Domain = std::unique_ptr<ibv_pd, Ender<ibv_dealloc_pd>>;
using Region = std::unique_ptr<ibv_mr, Ender<ibv_dereg_mr>>;
using Completions = std::unique_ptr<ibv_cq, Ender<ibv_destroy_cq>>;
using Queues = std::unique_ptr<ibv_qp, Ender<ibv_destroy_qp>>;
using SharedQueue = std::unique_ptr<ibv_srq, Ender<ibv_destroy_srq>>;

inline constexpr int all_rights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
				  IBV_ACCESS_REMOTE_WRITE;

// One host's device, open, with a protection domain and registered memory.
struct Device {
	explicit Device(int host);

	int host;
	Context context;
	Domain domain;
	Bytes memory = Bytes(65536);
	Region region;

	// The next asynchronous event within the time; it is acknowledged.
	std::optional<ibv_event_type> event(std::chrono::milliseconds wait);
	// Waits for so many events; returns them sorted: "1 name, 2 other
	// name".
	std::string events(unsigned int number);
};

struct Depth {
	unsigned int send = 16;
	unsigned int recv = 16;
	unsigned int completions = 64;
	// Else those with IBV_SEND_SIGNALED have a completion.
	bool all_signaled = true;
	// Of a pair: each queue pair takes receives from a shared queue of its own.
	bool shared = false;
};

// A queue pair of a device, with a completion queue for both directions.
struct Queue {
	// @receives: a shared queue in place of one of its own. @domain: not that of
	// the device. @ops: IBV_QP_EX_WITH_*, for the ibv_wr functions.
	explicit Queue(Device &on, Depth depth = {}, ibv_cq *shared = nullptr,
		       ibv_srq *receives = nullptr, ibv_pd *domain = nullptr,
		       std::uint64_t ops = 0);

	Device &device;
	Completions own;
	ibv_cq *completions;
	Queues qp;

	void post_receive(std::uint64_t number, std::uint32_t length = 1024);
	void send(std::uint64_t number, std::uint32_t length = 64);
	// A Write or Read of the memory of the device from @offset on.
	void access(ibv_wr_opcode opcode, std::uint32_t key, std::uint64_t address,
		    std::uint32_t length, std::uint32_t offset = 0);
	// A Write or Read between the beginnings of the memory of both devices.
	void transfer(ibv_wr_opcode opcode, const Device &peer, std::uint32_t length);
	void post(ibv_send_wr &wr);
	void modify(ibv_qp_state state);
	void modify_rights(int rights);
	ibv_qp_attr query();
	// Waits for the next completion.
	ibv_wc completion();
	// Completions that are ready now.
	std::vector<ibv_wc> drain();
};

// Identifiers of a connection; its queue pairs outlive it.
struct Connection {
	rdmacm::Endpoint active, passive;
};

// Listens on the host of a queue pair, calls @active with address and port of the
// listener, and answers the request that it makes: accepts it, unless @answer does
// something else.
using Answer = std::function<void(rdma_cm_id *, rdma_conn_param &)>;
void accept(rdma_cm_id *id, rdma_conn_param &param);
rdmacm::Endpoint
accept_from(Queue &passive,
	    const std::function<void(const std::string &, const std::string &)> &active,
	    const Answer &answer = accept);

// The parameters of a connection for a queue pair, and an identifier without one.
rdma_conn_param parameters(const Queue &queue);
rdmacm::Endpoint bare_endpoint(const std::string &address, const std::string &port,
			       int flags);

// A listener on host 2 without a queue pair, at its address or at any.
struct Listening {
	explicit Listening(net::Path path = net::Path::ipv4, bool any = false);

	// As an ordinary TCP client on host 1.
	net::descriptor connect() const { return net::connect_to(path, address); }
	std::string port() const;

	net::Path path;
	rdmacm::Endpoint id;
	// That of the listener, and one for peers.
	net::Address own, address;
};

// Connects them: active on host h1, passive on its host.
Connection connect(Queue &active, Queue &passive);

// The result of connecting to a port of @peer's where nothing listens: errno,
// or 0. ECONNREFUSED means that @active is all right.
int connect_error(Queue &active, const Device &peer);

// Devices, a queue pair on each, connected.
struct Pair {
	explicit Pair(Depth depth = {});

	Device one{1}, two{2};
	SharedQueue near_receives, far_receives;
	Queue near, far;
	Connection connection;
};

// A Write with Immediate between the beginnings of the memory of both devices, not posted;
// @piece must stay.
inline constexpr std::uint32_t immediate = 0xc0ffee42;
ibv_send_wr write_imm(Queue &queue, const Device &peer, ibv_sge &piece,
		      std::uint32_t length);

// A setting of the device of a host, until the end of the case.
class Setting {
public:
	Setting(int host, std::string name, const std::string &value);
	~Setting();
	Setting(const Setting &) = delete;
	Setting &operator=(const Setting &) = delete;

private:
	bool set(const std::string &value) const;

	int host_;
	std::string name_;
};

// A counter of the device of a host.
std::uint64_t counter(int host, const std::string &name);

std::string status_name(ibv_wc_status status);

} // namespace verbs
