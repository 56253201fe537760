/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// A key-value server that speaks plain text over TCP and, after UPGRADE rdma, lets its
// clients fetch values by RDMA Read, without work of its own; and a client of it.
//
//	mpa-kv --server [HOST] PORT	runs until killed; without arguments behind
//					--server it serves the socket of LISTEN_FDS
//	mpa-kv --client HOST PORT	sends the lines of its input, prints the answers
//	mpa-kv --direct HOST PORT	the same by RDMA from the start, without text
//
// Lines of text, and their answers:
//
//	SET key value			OK
//	GET key				VALUE value, or NONE
//	UPGRADE rdma			RDMA, and the connection is one of MPA from then on;
//					or SORRY reason
//
// One port serves both kinds of clients: what a client sends first decides.
//
// The table of all values is one memory region. Its address, key and size are the private
// data of the server's Reply. A client reads the slots that a key may be in, and reads them
// again if the server has changed one meanwhile. The socket goes to the queue pair by
// mpadv_modify_qp_from_socket(), which closes the descriptor.

#include <atomic>
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include <endian.h>
#include <infiniband/mpadv.h>
#include <infiniband/verbs.h>

#include <mpa/mpa.hpp>
#include <mpa/tcp.hpp>

namespace {

using namespace std::string_view_literals;

constexpr std::size_t slot_count = 4096;
// A key is in one of so many slots, from the one that its hash names.
constexpr std::size_t probes = 8;

// An entry of the table, as it is in the server's memory: in its byte order, which the
// client must share. A reader that reads it from the first to the last byte has what was there
// at one time if both versions are the same: the server changes the second one before
// everything else, and the first one after it.
struct Slot {
	std::uint64_t version;
	std::uint32_t key_size;
	std::uint32_t value_size;
	char key[64];
	char value[424];
	std::uint64_t version_behind;

	std::string_view key_view() const { return {key, key_size}; }
	std::string_view value_view() const { return {value, value_size}; }
};
static_assert(sizeof(Slot) == 512);

// Private data of the server's Reply, in network byte order.
struct Directory {
	std::uint64_t address;
	std::uint32_t rkey;
	std::uint32_t slots;
};
static_assert(sizeof(Directory) == 16);

// FNV-1a: both ends must compute the same.
std::size_t first_slot(std::string_view key)
{
	std::uint64_t hash = 0xcbf29ce484222325;

	for (const unsigned char byte : key)
		hash = (hash ^ byte) * 0x100000001b3;
	return hash % (slot_count - probes + 1);
}

// --- the table --------------------------------------------------------------

class Table {
public:
	std::span<Slot> slots() { return slots_; }

	bool set(std::string_view key, std::string_view value)
	{
		const std::lock_guard guard(lock_);
		Slot *slot = find(key, true);

		if (!slot || value.size() > sizeof(slot->value))
			return false;
		const std::uint64_t version = slot->version + 1;

		// Adapters may read it at any time.
		publish(slot->version_behind, version);
		slot->key_size = static_cast<std::uint32_t>(key.size());
		slot->value_size = static_cast<std::uint32_t>(value.size());
		std::memcpy(slot->key, key.data(), key.size());
		std::memcpy(slot->value, value.data(), value.size());
		publish(slot->version, version);
		return true;
	}

	std::optional<std::string> get(std::string_view key)
	{
		const std::lock_guard guard(lock_);
		const Slot *slot = find(key, false);

		if (!slot)
			return {};
		return std::string(slot->value_view());
	}

private:
	static void publish(std::uint64_t &version, std::uint64_t value)
	{
		std::atomic_thread_fence(std::memory_order_seq_cst);
		std::atomic_ref(version).store(value, std::memory_order_relaxed);
		std::atomic_thread_fence(std::memory_order_seq_cst);
	}

	Slot *find(std::string_view key, bool create)
	{
		Slot *const first = &slots_[first_slot(key)];

		if (key.empty() || key.size() > sizeof(first->key))
			return nullptr;
		for (Slot *slot = first; slot < first + probes; slot++)
			if (slot->key_view() == key)
				return slot;
		for (Slot *slot = first; create && slot < first + probes; slot++)
			if (!slot->key_size)
				return slot;
		return nullptr;
	}

	std::mutex lock_;
	std::vector<Slot> slots_{slot_count};
};

// --- RDMA -------------------------------------------------------------------

template <auto End> struct Ender {
	template <typename T> void operator()(T *object) const { End(object); }
};
using Context = std::unique_ptr<ibv_context, Ender<ibv_close_device>>;
using Domain = std::unique_ptr<ibv_pd, Ender<ibv_dealloc_pd>>;
using Region = std::unique_ptr<ibv_mr, Ender<ibv_dereg_mr>>;
using Channel = std::unique_ptr<ibv_comp_channel, Ender<ibv_destroy_comp_channel>>;
using Completions = std::unique_ptr<ibv_cq, Ender<ibv_destroy_cq>>;
using Queue = std::unique_ptr<ibv_qp, Ender<ibv_destroy_qp>>;

// A device with memory registered. Members are destroyed from the last to the first.
struct Adapter {
	Context context;
	Domain domain;
	Region region;
};

// All devices of the driver: a socket belongs to one of them by its address.
std::vector<Adapter> open_adapters(std::span<Slot> memory, int access)
{
	std::vector<Adapter> all;
	int count = 0;
	const std::unique_ptr<ibv_device *, Ender<ibv_free_device_list>> list(
		ibv_get_device_list(&count));

	for (int n = 0; n < count; n++) {
		Adapter one;

		one.context.reset(ibv_open_device(list.get()[n]));
		if (!one.context)
			continue;
		one.domain.reset(ibv_alloc_pd(one.context.get()));
		if (!one.domain)
			continue;
		one.region.reset(ibv_reg_mr(one.domain.get(), memory.data(),
					    memory.size_bytes(), access));
		if (one.region)
			all.push_back(std::move(one));
	}
	return all;
}

// A connected queue pair.
struct Connection {
	const Adapter *adapter = nullptr;
	Channel channel;
	Completions completions;
	Queue queue;
};

Connection make_queue(const Adapter &adapter)
{
	Connection made;
	ibv_qp_init_attr attr{};

	made.adapter = &adapter;
	made.channel.reset(ibv_create_comp_channel(adapter.context.get()));
	if (!made.channel)
		return made;
	made.completions.reset(ibv_create_cq(adapter.context.get(), 4, nullptr,
					     made.channel.get(), 0));
	if (!made.completions)
		return made;
	attr.send_cq = attr.recv_cq = made.completions.get();
	attr.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1,
		    .max_recv_sge = 1, .max_inline_data = 0};
	attr.qp_type = IBV_QPT_RC;
	attr.sq_sig_all = 1;
	made.queue.reset(ibv_create_qp(adapter.domain.get(), &attr));
	return made;
}

// Hands the socket to a queue pair of the device that has its address. @fill completes
// the attributes for a device. The result of the last attempt is in @error, 0 or errno;
// if it has failed, @fd is the socket again.
template <typename Fill>
Connection hand_over(const std::vector<Adapter> &adapters, mpa::descriptor &fd, int &error,
		     Fill fill)
{
	error = ENODEV;
	for (const Adapter &adapter : adapters) {
		Connection made = make_queue(adapter);
		mpadv_socket_attr attr{};

		error = errno;
		if (!made.queue)
			continue;
		attr.fd = fd.release();
		fill(adapter, attr);
		error = mpadv_modify_qp_from_socket(made.queue.get(), &attr);
		fd.reset(attr.fd);
		if (!error)
			return made;
		// With these, another device may be the right one.
		if (error != EADDRNOTAVAIL && error != ENODEV && error != EPROTONOSUPPORT)
			break;
	}
	return {};
}

// Waits for the next completion; one with an error if the queue cannot be polled.
ibv_wc wait_completion(const Connection &connection)
{
	ibv_wc wc{};
	// True: there is nothing to wait for.
	const auto polled = [&] {
		const int count = ibv_poll_cq(connection.completions.get(), 1, &wc);

		// Zeroes are IBV_WC_SUCCESS.
		if (count < 0)
			wc.status = IBV_WC_GENERAL_ERR;
		return count != 0;
	};

	while (!polled()) {
		ibv_cq *cq = nullptr;
		void *unused = nullptr;

		ibv_req_notify_cq(connection.completions.get(), 0);
		if (polled())
			break;
		if (!ibv_get_cq_event(connection.channel.get(), &cq, &unused))
			ibv_ack_cq_events(cq, 1);
	}
	return wc;
}

// --- text -------------------------------------------------------------------

// Lines of a socket. Nothing behind the end of a line is taken from the socket before it is
// asked for, since it may not be text: bytes are looked at first.
class Lines {
public:
	// The descriptor may change meanwhile.
	explicit Lines(const mpa::descriptor &fd) : fd_(fd) {}

	std::optional<std::string> next()
	{
		std::string line;

		while (line.size() < line_max) {
			char piece[512];
			const ssize_t seen = ::recv(fd_.get(), piece, sizeof(piece), MSG_PEEK);

			if (seen < 1)
				return {};
			const std::string_view text(piece, static_cast<std::size_t>(seen));
			const std::size_t end = text.find('\n');
			const std::size_t size = end == text.npos ? text.size() : end + 1;

			if (::recv(fd_.get(), piece, size, 0) != static_cast<ssize_t>(size))
				return {};
			line.append(piece, size);
			if (end != text.npos) {
				line.pop_back();
				return line;
			}
		}
		return {};
	}

	// Does the stream begin with a Request of MPA? It stays in the socket.
	bool begins_with_request() const
	{
		static constexpr auto key = "MPA ID Req Frame"sv;
		char bytes[key.size()];
		const auto peek = [&](std::size_t size) {
			return ::recv(fd_.get(), bytes, size, MSG_PEEK | MSG_WAITALL) ==
				       static_cast<ssize_t>(size) &&
			       std::string_view(bytes, size) == key.substr(0, size);
		};

		// No line of text begins with an M.
		return peek(1) && peek(key.size());
	}

private:
	static constexpr std::size_t line_max = 1024;
	const mpa::descriptor &fd_;
};

bool send_text(int fd, std::string_view text)
{
	while (!text.empty()) {
		const ssize_t sent = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);

		if (sent < 0)
			return false;
		text.remove_prefix(static_cast<std::size_t>(sent));
	}
	return true;
}

void say(const std::string &line)
{
	std::puts(line.c_str());
	std::fflush(stdout);
}

// --- server -----------------------------------------------------------------

class Server {
public:
	// Connections live as long as the process.
	[[noreturn]] void run(const mpa::descriptor &listener)
	{
		say("listening");
		for (;;) {
			mpa::descriptor fd(::accept4(listener.get(), nullptr, nullptr,
						     SOCK_CLOEXEC));

			// An error such as no free descriptor lasts for a while.
			if (!fd || !start(std::move(fd)))
				std::this_thread::sleep_for(std::chrono::milliseconds(100));
		}
	}

private:
	// False: there can be no further thread now, and the connection is closed.
	bool start(mpa::descriptor fd)
	try {
		std::thread(&Server::serve, this, std::move(fd)).detach();
		return true;
	} catch (const std::system_error &error) {
		say(std::string("no thread: ") + error.what());
		return false;
	}

	void serve(mpa::descriptor fd)
	{
		const std::string name = mpa::tcp::name_of(fd.get());
		Lines lines(fd);

		if (lines.begins_with_request()) {
			upgrade(name, fd, {});
			return;
		}
		while (const auto line = lines.next()) {
			if (*line == "UPGRADE rdma"sv) {
				if (upgrade(name, fd, "RDMA\n"sv))
					return;
				continue;
			}
			if (!send_text(fd.get(), answer(*line) + "\n"))
				return;
		}
	}

	std::string answer(std::string_view line)
	{
		const std::string_view command = line.substr(0, line.find(' '));

		line.remove_prefix(std::min(command.size() + 1, line.size()));
		const std::string_view key = line.substr(0, line.find(' '));

		line.remove_prefix(std::min(key.size() + 1, line.size()));
		if (command == "SET"sv)
			return table_.set(key, line) ? "OK" : "SORRY no room";
		if (command != "GET"sv)
			return "SORRY unknown command";
		const auto value = table_.get(key);

		return value ? "VALUE " + *value : "NONE";
	}

	// @last: the last line of text, if there was any. True if the socket is not one of
	// text any more.
	bool upgrade(const std::string &name, mpa::descriptor &fd, std::string_view last)
	{
		Directory directory;
		int error = 0;
		const Connection connection = hand_over(
			adapters_, fd, error,
			[&](const Adapter &adapter, mpadv_socket_attr &attr) {
				directory = {
					htobe64(reinterpret_cast<std::uintptr_t>(
						table_.slots().data())),
					htobe32(adapter.region->rkey),
					htobe32(slot_count),
				};
				attr.flags = MPADV_SOCKET_RESPONDER;
				attr.last_message = last.data();
				attr.last_message_len =
					static_cast<std::uint32_t>(last.size());
				attr.private_data = &directory;
				attr.private_data_len = sizeof(directory);
				attr.ird = 16;
			});

		if (!connection.queue) {
			say(name + " stays with text: " + std::strerror(error));
			return !send_text(fd.get(), "SORRY " +
						    std::string(std::strerror(error)) + "\n");
		}
		say(name + " reads by RDMA");
		wait_end(connection);
		say(name + " has ended");
		return true;
	}

	// A receive that nothing uses is completed when the connection ends.
	static void wait_end(const Connection &connection)
	{
		ibv_recv_wr wr{}, *bad = nullptr;

		if (!ibv_post_recv(connection.queue.get(), &wr, &bad))
			wait_completion(connection);
	}

	Table table_;
	const std::vector<Adapter> adapters_ =
		open_adapters(table_.slots(), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
};

// --- client -----------------------------------------------------------------

class Client {
public:
	explicit Client(mpa::descriptor fd) : fd_(std::move(fd)) {}

	// One line of input. False if the connection is over.
	bool run(const std::string &line)
	{
		if (connection_.queue)
			return run_rdma(line);
		if (!send_text(fd_.get(), line + "\n"))
			return false;
		const auto answer = lines_.next();

		if (!answer)
			return false;
		say(*answer);
		return line != "UPGRADE rdma"sv || *answer != "RDMA"sv || upgrade();
	}

	bool upgrade()
	{
		int error = 0;

		connection_ = hand_over(adapters_, fd_, error,
					[&](const Adapter &, mpadv_socket_attr &attr) {
						attr.ord = 1;
						attr.peer_data = &directory_;
						attr.peer_data_len = sizeof(directory_);
					});
		if (!connection_.queue) {
			say("no RDMA: " + std::string(std::strerror(error)));
			return false;
		}
		return be32toh(directory_.slots) == slot_count;
	}

private:
	bool run_rdma(std::string_view line)
	{
		if (!line.starts_with("GET "sv)) {
			say("SORRY only GET");
			return true;
		}
		line.remove_prefix(4);
		for (;;) {
			if (!read_slots(first_slot(line)))
				return false;
			if (!consistent())
				continue;
			for (const Slot &slot : slots_)
				if (!line.empty() && slot.key_view() == line) {
					say("VALUE " + std::string(slot.value_view()));
					return true;
				}
			say("NONE");
			return true;
		}
	}

	bool read_slots(std::size_t first)
	{
		ibv_sge piece{.addr = reinterpret_cast<std::uintptr_t>(slots_.data()),
			      .length = probes * sizeof(Slot),
			      .lkey = connection_.adapter->region->lkey};
		ibv_send_wr wr{}, *bad = nullptr;

		wr.opcode = IBV_WR_RDMA_READ;
		wr.sg_list = &piece;
		wr.num_sge = 1;
		wr.wr.rdma.remote_addr = be64toh(directory_.address) + first * sizeof(Slot);
		wr.wr.rdma.rkey = be32toh(directory_.rkey);
		return !ibv_post_send(connection_.queue.get(), &wr, &bad) &&
		       wait_completion(connection_).status == IBV_WC_SUCCESS;
	}

	// The server cannot be trusted with sizes, either.
	bool consistent() const
	{
		for (const Slot &slot : slots_)
			if (slot.version != slot.version_behind ||
			    slot.key_size > sizeof(slot.key) ||
			    slot.value_size > sizeof(slot.value))
				return false;
		return true;
	}

	mpa::descriptor fd_;
	Lines lines_{fd_};
	std::vector<Slot> slots_{probes};
	Directory directory_{};
	const std::vector<Adapter> adapters_ = open_adapters(slots_, IBV_ACCESS_LOCAL_WRITE);
	Connection connection_;
};

int usage()
{
	std::fputs("usage: mpa-kv --server [[HOST] PORT] | --client HOST PORT | "
		   "--direct HOST PORT\n", stderr);
	return 2;
}

int fail(const char *what, std::error_code error)
{
	std::fprintf(stderr, "mpa-kv: %s: %s\n", what, error.message().c_str());
	return 1;
}

int serve(std::span<char *const> arguments)
{
	// As sd_listen_fds(3) has it.
	if (arguments.empty() && std::getenv("LISTEN_FDS")) {
		Server().run(mpa::descriptor(3));
	} else if (arguments.empty() || arguments.size() > 2) {
		return usage();
	}
	const auto listener = mpa::tcp::listen(arguments.size() > 1 ? arguments.front() : "",
					       arguments.back());
	if (!listener)
		return fail("listen", listener.error());
	Server().run(*listener);
}

int talk(std::span<char *const> arguments, bool direct)
{
	if (arguments.size() != 2)
		return usage();
	auto fd = mpa::tcp::connect(arguments[0], arguments[1], std::chrono::seconds(10));
	if (!fd)
		return fail("connect", fd.error());
	Client client(*std::move(fd));
	std::string line;

	if (direct && !client.upgrade())
		return 1;
	while (std::getline(std::cin, line))
		if (!client.run(line)) {
			std::fputs("mpa-kv: the connection is over\n", stderr);
			return 1;
		}
	return 0;
}

} // namespace

int main(int argc, char **argv)
{
	const std::span<char *const> arguments(argv + 1, static_cast<std::size_t>(argc - 1));

	if (arguments.empty())
		return usage();
	if (arguments.front() == "--server"sv)
		return serve(arguments.subspan(1));
	if (arguments.front() == "--client"sv || arguments.front() == "--direct"sv)
		return talk(arguments.subspan(1), arguments.front() == "--direct"sv);
	return usage();
}
