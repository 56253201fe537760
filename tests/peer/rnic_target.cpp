// SPDX-License-Identifier: GPL-2.0-only
//
// A target of mpa-peer: an application on an RDMA device that serves any number
// of connections, however they end.
//
//	rnic-target ADDR PORT CONTROL_PORT
//
// It accepts on ADDR:PORT, and takes commands on CONTROL_PORT (control.hpp).
//
// The last byte of a Request's private data, or MODE, selects what to do (see
// Mode in target.hpp). Its own private data contain the addresses of regions
// (aim()). A receive is answered by a Send of the same bytes. It also checks
// that memory around and outside of what a peer may write stays unchanged, and
// that each work request completes once, in order.

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <sys/socket.h>
#include <unistd.h>

#include "control.hpp"

namespace {

using namespace peer;
using std::chrono::milliseconds;
using target::Controller;
using target::Fd;
using Clock = std::chrono::steady_clock;
using Bytes = std::vector<std::uint8_t>;

constexpr std::size_t page = 4096;
constexpr std::uint32_t region_length = 128 * 1024;
constexpr std::uint32_t small_length = page;
constexpr std::uint32_t receive_size = 2048;
constexpr std::uint32_t receive_count = 8;
constexpr std::uint8_t guard = 0xa5;
constexpr int remote_rights = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
constexpr int remote_all = IBV_ACCESS_LOCAL_WRITE | remote_rights;

[[noreturn]] void fail(const std::string &what)
{
	throw std::system_error(errno, std::generic_category(), what);
}

template <typename T> T *must(T *got, const char *what)
{
	if (!got)
		fail(what);
	return got;
}

void must(int result, const char *what)
{
	if (result)
		fail(what);
}

template <auto function> struct Call {
	template <typename T> void operator()(T *object) const
	{
		function(object);
	}
};

using Channel = std::unique_ptr<rdma_event_channel,
				Call<rdma_destroy_event_channel>>;
using Id = std::unique_ptr<rdma_cm_id, Call<rdma_destroy_id>>;
using Pd = std::unique_ptr<ibv_pd, Call<ibv_dealloc_pd>>;
using Mr = std::unique_ptr<ibv_mr, Call<ibv_dereg_mr>>;
using Mw = std::unique_ptr<ibv_mw, Call<ibv_dealloc_mw>>;
using Cq = std::unique_ptr<ibv_cq, Call<ibv_destroy_cq>>;
using CompChannel = std::unique_ptr<ibv_comp_channel,
				    Call<ibv_destroy_comp_channel>>;
using Qp = std::unique_ptr<rdma_cm_id, Call<rdma_destroy_qp>>;

// A registered region between two guards that must not be accessed.
class Region {
public:
	Region(ibv_pd *pd, std::uint32_t length, int access)
		: length_(length), memory_(length + 2 * page, guard),
		  mr_(must(ibv_reg_mr(pd, at(), length, access), "ibv_reg_mr"))
	{
		std::fill_n(at(), length, 0);
	}

	std::uint8_t *at() { return memory_.data() + page; }
	std::uint32_t stag() const { return mr_->rkey; }
	std::uint32_t lkey() const { return mr_->lkey; }
	ibv_mr *verbs() const { return mr_.get(); }

	bool guards_hold() const
	{
		const auto good = [](std::uint8_t byte) { return byte == guard; };

		return std::all_of(memory_.begin(), memory_.begin() + page, good) &&
		       std::all_of(memory_.end() - page, memory_.end(), good);
	}

	bool untouched() const
	{
		return std::all_of(memory_.begin() + page, memory_.end() - page,
				   [](std::uint8_t byte) { return !byte; });
	}

private:
	std::uint32_t length_;
	std::vector<std::uint8_t> memory_;
	Mr mr_;
};

// Resources that all connections share.
struct Device {
	ibv_context *verbs;
	CompChannel completions;
	Pd pd, other_pd;
	Region read_only, write_only, other;

	explicit Device(ibv_context *verbs)
		: verbs(verbs),
		  completions(must(ibv_create_comp_channel(verbs),
				   "ibv_create_comp_channel")),
		  pd(must(ibv_alloc_pd(verbs), "ibv_alloc_pd")),
		  other_pd(must(ibv_alloc_pd(verbs), "ibv_alloc_pd")),
		  read_only(pd.get(), small_length, IBV_ACCESS_REMOTE_READ),
		  write_only(pd.get(), small_length,
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE),
		  other(other_pd.get(), small_length, remote_all)
	{
	}
};

target::Complaints complaints;

void complain(const std::string &what)
{
	complaints.add(what);
}

// Appends a number, most significant byte first.
void put(Bytes &to, std::uint64_t value, int bytes)
{
	for (int shift = (bytes - 1) * 8; shift >= 0; shift -= 8)
		to.push_back(static_cast<std::uint8_t>(value >> shift));
}

// One connection. Numbers of work requests increase, so that the order of their
// completions can be checked.
class Connection {
public:
	Connection(Device &device, rdma_cm_id *id, Mode mode)
		: device_(device), id_(id), mode_(mode),
		  region_(device.pd.get(), region_length,
			  remote_all | IBV_ACCESS_MW_BIND | IBV_ACCESS_REMOTE_ATOMIC),
		  buffers_(device.pd.get(), receive_size * receive_count,
			   IBV_ACCESS_LOCAL_WRITE),
		  sink_(device.pd.get(), reader_size, IBV_ACCESS_LOCAL_WRITE),
		  cq_(must(ibv_create_cq(device.verbs, 64, this,
					 device.completions.get(), 0),
			   "ibv_create_cq"))
	{
		ibv_qp_init_attr attr{};

		attr.send_cq = attr.recv_cq = cq_.get();
		attr.cap = {.max_send_wr = 16,
			    .max_recv_wr = receive_count,
			    .max_send_sge = 1,
			    .max_recv_sge = 1,
			    .max_inline_data = 0};
		attr.qp_type = IBV_QPT_RC;
		attr.sq_sig_all = 1;
		must(rdma_create_qp(id, device.pd.get(), &attr), "rdma_create_qp");
		qp_.reset(id);
		must(ibv_req_notify_cq(cq_.get(), 0), "ibv_req_notify_cq");
		if (mode != Mode::deaf)
			for (std::uint32_t i = 0; i < receive_count; i++)
				post_receive(i);
	}

	rdma_conn_param parameters()
	{
		rdma_conn_param param{};

		aim_ = aim();
		param.private_data = aim_.data();
		param.private_data_len = static_cast<std::uint8_t>(aim_.size());
		param.responder_resources = 4;
		param.initiator_depth = 4;
		return param;
	}

	void established()
	{
		if (mode_ == Mode::speak)
			send_message("I speak first");
		if (mode_ == Mode::reader)
			post_read();
		if (mode_ == Mode::windows)
			bind_windows();
	}

	void poll()
	{
		ibv_wc wc;
		int n;

		while ((n = ibv_poll_cq(cq_.get(), 1, &wc)) > 0)
			completed(wc);
		if (n < 0)
			complain("ibv_poll_cq fails");
	}

	void arm() { ibv_req_notify_cq(cq_.get(), 0); }

	// The stream is over: everything posted must complete soon.
	void finish()
	{
		ibv_qp_attr error{};

		rdma_disconnect(id_);
		// A connection that never had a stream is not flushed by that.
		error.qp_state = IBV_QPS_ERR;
		ibv_modify_qp(id_->qp, &error, IBV_QP_STATE);
		for (int i = 0; i < 200; i++) {
			poll();
			if (receives_.empty() && sends_.empty())
				break;
			std::this_thread::sleep_for(milliseconds(10));
		}
		if (!receives_.empty() || !sends_.empty())
			complain("work requests without completion");
		if (!guards_hold())
			complain("memory next to a region was written to");
	}

	bool guards_hold() const
	{
		return region_.guards_hold() && buffers_.guards_hold() &&
		       sink_.guards_hold();
	}

private:
	Bytes aim()
	{
		Bytes all{'A', 'I', 'M', '1'};
		const auto add = [&](Region &region) {
			put(all, region.stag(), 4);
			put(all, reinterpret_cast<std::uintptr_t>(region.at()), 8);
		};

		add(region_);
		put(all, region_length, 4);
		add(device_.read_only);
		add(device_.write_only);
		add(device_.other);
		put(all, small_length, 4);
		put(all, receive_size, 4);
		put(all, receive_count, 4);
		return all;
	}

	struct Work {
		std::uint64_t number;
		std::uint32_t buffer;
		bool is_read;
	};

	ibv_sge buffer(std::uint32_t index, std::uint32_t length)
	{
		return {.addr = reinterpret_cast<std::uintptr_t>(
				buffers_.at() + index * receive_size),
			.length = length,
			.lkey = buffers_.lkey()};
	}

	void post_receive(std::uint32_t index)
	{
		auto sge = buffer(index, receive_size);
		ibv_recv_wr wr{}, *bad;

		wr.wr_id = next_;
		wr.sg_list = &sge;
		wr.num_sge = 1;
		receives_.push_back({next_++, index, false});
		must(ibv_post_recv(id_->qp, &wr, &bad), "ibv_post_recv");
	}

	void post_send(std::uint32_t index, std::uint32_t length)
	{
		auto sge = buffer(index, length);
		ibv_send_wr wr{}, *bad;

		wr.wr_id = next_;
		wr.sg_list = &sge;
		wr.num_sge = 1;
		wr.opcode = IBV_WR_SEND;
		sends_.push_back({next_++, index, false});
		must(ibv_post_send(id_->qp, &wr, &bad), "ibv_post_send");
	}

	// Uses a buffer that is not needed any more.
	void send_message(std::string_view words)
	{
		std::copy(words.begin(), words.end(), region_.at());
		send_region(region_, static_cast<std::uint32_t>(words.size()));
	}

	void send_region(Region &region, std::uint32_t length)
	{
		ibv_sge sge{.addr = reinterpret_cast<std::uintptr_t>(region.at()),
			    .length = length,
			    .lkey = region.lkey()};
		ibv_send_wr wr{}, *bad;

		wr.wr_id = next_;
		wr.sg_list = &sge;
		wr.num_sge = 1;
		wr.opcode = IBV_WR_SEND;
		sends_.push_back({next_++, receive_count, false});
		must(ibv_post_send(id_->qp, &wr, &bad), "ibv_post_send");
	}

	void post_read()
	{
		ibv_sge sge{.addr = reinterpret_cast<std::uintptr_t>(sink_.at()),
			    .length = reader_size,
			    .lkey = sink_.lkey()};
		ibv_send_wr wr{}, *bad;

		wr.wr_id = next_;
		wr.sg_list = &sge;
		wr.num_sge = 1;
		wr.opcode = IBV_WR_RDMA_READ;
		wr.wr.rdma.remote_addr = reader_at;
		wr.wr.rdma.rkey = reader_stag;
		sends_.push_back({next_++, receive_count, true});
		must(ibv_post_send(id_->qp, &wr, &bad), "ibv_post_send");
	}

	// The next number, for a request without a buffer of its own.
	std::uint64_t number_send()
	{
		sends_.push_back({next_, receive_count, false});
		return next_++;
	}

	// Binds the next window_size bytes of the region, and appends to @words
	// where they are.
	void bind_window(ibv_mw_type type, unsigned int rights, Bytes &words)
	{
		Mw window(must(ibv_alloc_mw(device_.pd.get(), type), "ibv_alloc_mw"));
		const ibv_mw_bind_info info{
			.mr = region_.verbs(),
			.addr = reinterpret_cast<std::uintptr_t>(
				region_.at() + page * (1 + windows_.size())),
			.length = window_size,
			.mw_access_flags = rights};

		if (type == IBV_MW_TYPE_1) {
			ibv_mw_bind bind{};

			bind.wr_id = number_send();
			bind.bind_info = info;
			must(ibv_bind_mw(id_->qp, window.get(), &bind), "ibv_bind_mw");
		} else {
			ibv_send_wr wr{}, *bad;

			wr.wr_id = number_send();
			wr.opcode = IBV_WR_BIND_MW;
			wr.bind_mw.mw = window.get();
			wr.bind_mw.rkey = window->rkey = ibv_inc_rkey(window->rkey);
			wr.bind_mw.bind_info = info;
			must(ibv_post_send(id_->qp, &wr, &bad), "ibv_post_send");
		}
		put(words, window->rkey, 4);
		put(words, rights & IBV_ACCESS_ZERO_BASED ? 0 : info.addr, 8);
		windows_.push_back(std::move(window));
	}

	// The last one is invalidated. The message follows the binds in the send
	// queue, so they are executed when it arrives.
	void bind_windows()
	{
		Bytes words{'W', 'I', 'N', '1'};
		ibv_send_wr wr{}, *bad;

		bind_window(IBV_MW_TYPE_2, remote_rights, words);
		bind_window(IBV_MW_TYPE_1, IBV_ACCESS_REMOTE_READ, words);
		bind_window(IBV_MW_TYPE_2, remote_rights | IBV_ACCESS_ZERO_BASED, words);
		bind_window(IBV_MW_TYPE_2, remote_rights, words);
		wr.wr_id = number_send();
		wr.opcode = IBV_WR_LOCAL_INV;
		wr.invalidate_rkey = windows_.back()->rkey;
		must(ibv_post_send(id_->qp, &wr, &bad), "ibv_post_send");
		send_message({reinterpret_cast<const char *>(words.data()), words.size()});
	}

	// Completions of one queue arrive in the order of its requests.
	std::optional<Work> take(std::deque<Work> &queue, std::uint64_t number)
	{
		if (queue.empty() || queue.front().number != number)
			return std::nullopt;
		const auto work = queue.front();
		queue.pop_front();
		return work;
	}

	void completed(const ibv_wc &wc)
	{
		const auto received = take(receives_, wc.wr_id);
		const auto sent = received ? std::nullopt : take(sends_, wc.wr_id);

		if (!received && !sent) {
			complain("a completion out of order");
			return;
		}
		if (wc.status != IBV_WC_SUCCESS) {
			std::printf("completion: %s\n",
				    ibv_wc_status_str(wc.status));
			return;
		}
		try {
			succeeded(wc, received, sent);
		} catch (const std::system_error &error) {
			// The stream may have ended in the meantime.
			std::printf("%s\n", error.what());
		}
	}

	// The data as they are, and the bytes of the Write, into the receive's buffer.
	std::uint32_t put_immediate(const Work &received, const ibv_wc &wc)
	{
		std::uint8_t *at = buffers_.at() + received.buffer * receive_size;
		Bytes answer;

		std::memcpy(at, &wc.imm_data, sizeof(wc.imm_data));
		put(answer, wc.byte_len, 4);
		std::copy(answer.begin(), answer.end(), at + sizeof(wc.imm_data));
		return sizeof(wc.imm_data) + 4;
	}

	void succeeded(const ibv_wc &wc, const std::optional<Work> &received,
		       const std::optional<Work> &sent)
	{
		if (received && wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM) {
			post_send(received->buffer, put_immediate(*received, wc));
		} else if (received) {
			post_send(received->buffer, wc.byte_len);
		} else if (sent->is_read) {
			send_region(sink_, reader_size);
		} else if (sent->buffer < receive_count) {
			post_receive(sent->buffer);
		}
	}

	Device &device_;
	rdma_cm_id *id_;
	Mode mode_;
	Region region_;
	Region buffers_;
	// Of its own Read: a peer may not write to it.
	Region sink_;
	// Gone before the region.
	std::vector<Mw> windows_;
	Cq cq_;
	Qp qp_;
	Bytes aim_;
	std::deque<Work> receives_;
	std::deque<Work> sends_;
	std::uint64_t next_ = 1;
};

struct Entry {
	// Destroyed after the objects that use it.
	Id id;
	std::unique_ptr<Connection> connection;
	std::shared_ptr<Controller> controller;
	Mode mode = Mode::echo;
};

class Target {
public:
	Target(const char *address, const char *port, const char *control_port);
	void run();

private:
	void cm_event();
	void handle(rdma_cm_id *id, const rdma_cm_event &event);
	void requested(rdma_cm_id *id, const rdma_conn_param &param);
	void accept(Entry &entry);
	void accept_late();
	void connect(Entry &entry);
	void ended(rdma_cm_id *id, const std::string &words);
	void completion_event();
	void async_event();
	void new_customer();
	void serve(const std::shared_ptr<Controller> &controller);
	void command(const std::shared_ptr<Controller> &controller,
		     const target::Command &command);
	void connect_to(const std::shared_ptr<Controller> &controller,
			const target::Command &command);
	std::string check();

	Channel channel_;
	Id listener_;
	std::unique_ptr<Device> device_;
	Fd control_;
	std::map<rdma_cm_id *, Entry> entries_;
	std::vector<std::shared_ptr<Controller>> controllers_;
	std::deque<std::pair<Clock::time_point, rdma_cm_id *>> late_;
};

void no_blocking(int fd)
{
	must(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) < 0, "fcntl");
}

Target::Target(const char *address, const char *port, const char *control_port)
	: channel_(must(rdma_create_event_channel(), "rdma_create_event_channel"))
{
	target::Endpoint here(address, port);
	rdma_cm_id *id = nullptr;

	must(rdma_create_id(channel_.get(), &id, nullptr, RDMA_PS_TCP),
	     "rdma_create_id");
	listener_.reset(id);
	must(rdma_bind_addr(id, here.raw()), "rdma_bind_addr");
	device_ = std::make_unique<Device>(must(id->verbs, "no device"));
	must(rdma_listen(id, 512), "rdma_listen");

	control_ = target::listen_for_orders({address, control_port});
	no_blocking(channel_->fd);
	no_blocking(device_->completions->fd);
	no_blocking(device_->verbs->async_fd);
	std::printf("ready\n");
}

void Target::run()
{
	for (;;) {
		std::vector<pollfd> fds{
			{channel_->fd, POLLIN, 0},
			{device_->completions->fd, POLLIN, 0},
			{device_->verbs->async_fd, POLLIN, 0},
			{control_.get(), POLLIN, 0}};
		for (const auto &controller : controllers_)
			fds.push_back({controller->fd(), POLLIN, 0});

		if (poll(fds.data(), fds.size(), late_.empty() ? 1000 : 50) < 0)
			continue;
		accept_late();
		if (fds[2].revents)
			async_event();
		if (fds[1].revents)
			completion_event();
		if (fds[0].revents)
			cm_event();
		// Connections may be added and removed meanwhile.
		const auto now = controllers_;
		for (std::size_t i = 4; i < fds.size(); i++)
			if (fds[i].revents)
				serve(now[i - 4]);
		if (fds[3].revents)
			new_customer();
		std::fflush(stdout);
	}
}

void Target::cm_event()
{
	rdma_cm_event *event = nullptr;

	// One at a time: a flood of connections must not starve the others.
	if (!rdma_get_cm_event(channel_.get(), &event)) {
		const auto copy = *event;
		const auto *data = static_cast<const std::uint8_t *>(
			event->param.conn.private_data);
		Bytes kept;
		if (data)
			kept.assign(data, data + event->param.conn.private_data_len);
		rdma_ack_cm_event(event);
		auto mine = copy;
		mine.param.conn.private_data = kept.data();
		try {
			handle(mine.id, mine);
		} catch (const std::exception &error) {
			std::printf("%s: %s\n", rdma_event_str(mine.event),
				    error.what());
			ended(mine.id, "failed");
		}
	}
}

void Target::handle(rdma_cm_id *id, const rdma_cm_event &event)
{
	std::printf("%s %d\n", rdma_event_str(event.event), event.status);
	if (event.event == RDMA_CM_EVENT_CONNECT_REQUEST) {
		requested(id, event.param.conn);
		return;
	}
	const auto found = entries_.find(id);
	if (found == entries_.end())
		return;
	auto &entry = found->second;
	const auto result = std::to_string(event.status) + " " +
			    std::to_string(event.param.conn.private_data_len);
	switch (event.event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		must(rdma_resolve_route(id, 5000), "rdma_resolve_route");
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		connect(entry);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		if (entry.controller)
			entry.controller->tell("established");
		entry.connection->established();
		break;
	case RDMA_CM_EVENT_REJECTED:
		ended(id, (event.status == -ECONNREFUSED ? "rejected " : "failed ") +
				  result);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		ended(id, "disconnected");
		break;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		break;
	default:
		ended(id, "failed " + result);
	}
}

void Target::requested(rdma_cm_id *id, const rdma_conn_param &param)
{
	const auto *data = static_cast<const std::uint8_t *>(param.private_data);
	auto &entry = entries_[id];

	entry.id.reset(id);
	if (param.private_data_len)
		entry.mode = static_cast<Mode>(data[param.private_data_len - 1]);
	if (entry.mode == Mode::reject) {
		const Bytes why(100, 0x4a);
		must(rdma_reject(id, why.data(),
				 static_cast<std::uint8_t>(why.size())),
		     "rdma_reject");
		entries_.erase(id);
	} else if (entry.mode == Mode::slow) {
		late_.emplace_back(Clock::now() + milliseconds(1000), id);
	} else {
		accept(entry);
	}
}

void Target::accept(Entry &entry)
{
	entry.connection = std::make_unique<Connection>(*device_, entry.id.get(),
							entry.mode);
	auto param = entry.connection->parameters();
	must(rdma_accept(entry.id.get(), &param), "rdma_accept");
}

void Target::accept_late()
{
	while (!late_.empty() && late_.front().first <= Clock::now()) {
		auto *const id = late_.front().second;
		late_.pop_front();
		if (!entries_.contains(id))
			continue;
		try {
			accept(entries_.at(id));
		} catch (const std::exception &error) {
			std::printf("accept: %s\n", error.what());
			ended(id, "failed");
		}
	}
}

void Target::connect(Entry &entry)
{
	entry.connection = std::make_unique<Connection>(*device_, entry.id.get(),
							entry.mode);
	auto param = entry.connection->parameters();
	must(rdma_connect(entry.id.get(), &param), "rdma_connect");
}

void Target::ended(rdma_cm_id *id, const std::string &words)
{
	const auto found = entries_.find(id);

	if (found == entries_.end())
		return;
	if (found->second.connection)
		found->second.connection->finish();
	if (found->second.controller)
		found->second.controller->tell(words);
	entries_.erase(found);
}

void Target::completion_event()
{
	ibv_cq *cq;
	void *context;

	while (!ibv_get_cq_event(device_->completions.get(), &cq, &context)) {
		auto &connection = *static_cast<Connection *>(context);
		ibv_ack_cq_events(cq, 1);
		connection.arm();
		connection.poll();
	}
}

void Target::async_event()
{
	ibv_async_event event;

	while (!ibv_get_async_event(device_->verbs, &event)) {
		std::printf("%s\n", ibv_event_type_str(event.event_type));
		if (event.event_type == IBV_EVENT_CQ_ERR)
			complain("a completion queue has overflowed");
		ibv_ack_async_event(&event);
	}
}

void Target::new_customer()
{
	while (auto controller = Controller::accept(control_.get()))
		controllers_.push_back(
			std::make_shared<Controller>(*std::move(controller)));
}

void Target::serve(const std::shared_ptr<Controller> &controller)
{
	const auto commands = controller->commands();

	if (!commands) {
		std::erase(controllers_, controller);
		return;
	}
	for (const auto &one : *commands)
		command(controller, one);
}

void Target::command(const std::shared_ptr<Controller> &controller,
		     const target::Command &command)
{
	switch (command.kind) {
	case target::Command::Kind::check:
		controller->tell(check());
		break;
	case target::Command::Kind::complain:
		complain(command.text);
		break;
	case target::Command::Kind::connect:
		connect_to(controller, command);
		break;
	case target::Command::Kind::unknown:
		controller->tell("what?");
		break;
	}
}

void Target::connect_to(const std::shared_ptr<Controller> &controller,
			const target::Command &command)
{
	target::Endpoint to(command.host, command.port);
	rdma_cm_id *id = nullptr;

	must(rdma_create_id(channel_.get(), &id, nullptr, RDMA_PS_TCP),
	     "rdma_create_id");
	auto &entry = entries_[id];
	entry.id.reset(id);
	entry.controller = controller;
	entry.mode = command.mode;
	if (rdma_resolve_addr(id, nullptr, to.raw(), 5000))
		ended(id, "failed " + std::to_string(-errno));
}

std::string Target::check()
{
	const auto damaged = [](const auto &one) {
		const auto &connection = one.second.connection;

		return connection && !connection->guards_hold();
	};

	if (!device_->read_only.untouched() || !device_->other.untouched())
		complain("a region that may not be written to was");
	if (!device_->read_only.guards_hold() ||
	    !device_->write_only.guards_hold() || !device_->other.guards_hold() ||
	    std::any_of(entries_.begin(), entries_.end(), damaged))
		complain("memory next to a region was written to");
	return complaints.answer(entries_.size());
}

} // namespace

int main(int argc, char **argv)
{
	if (argc != 4) {
		std::fprintf(stderr, "usage: %s ADDR PORT CONTROL_PORT\n", argv[0]);
		return 2;
	}
	try {
		Target target(argv[1], argv[2], argv[3]);

		std::fflush(stdout);
		target.run();
	} catch (const std::exception &error) {
		std::fprintf(stderr, "rnic-target: %s\n", error.what());
		return 1;
	}
}
