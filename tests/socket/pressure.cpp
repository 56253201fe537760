// SPDX-License-Identifier: GPL-2.0-only
//
// Many connections that hold parts of FPDUs while TCP is short of memory: the
// memory is charged, TCP's limits apply to it, and all connections complete.
#include "net.hpp"

#include <fstream>
#include <iostream>
#include <memory>
#include <optional>

#include <linux/sock_diag.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>

using namespace harness;
using namespace net;

namespace {

using mpa::role;

constexpr std::size_t page = 4096;
constexpr std::size_t connections = 128;
constexpr std::size_t part = 60000;
constexpr std::size_t whole = 64000;
// Deviation of TCP's counter because of the processors' own counts: 1 MiB each.
const long slack = 256 * ::sysconf(_SC_NPROCESSORS_ONLN);

// Sets net.ipv4.tcp_mem, in pages, for the lifetime of this object.
class Limits {
public:
	explicit Limits(const std::string &limits)
	{
		std::getline(std::ifstream(path), before_);
		set(limits);
	}
	~Limits() { set(before_); }
	Limits(const Limits &) = delete;
	Limits &operator=(const Limits &) = delete;

private:
	static constexpr const char *path = "/proc/sys/net/ipv4/tcp_mem";

	static void set(const std::string &limits)
	{
		std::ofstream file(path);

		file << limits << std::flush;
		yes(file.good(), "tcp_mem");
	}

	std::string before_;
};

// Pages that TCP has charged to its sockets.
long charged()
{
	std::ifstream file("/proc/net/sockstat");
	std::string word;
	long pages = -1;

	while (file >> word)
		if (word == "TCP:") {
			while (file >> word && word != "mem")
				;
			file >> pages;
			break;
		}
	yes(pages >= 0, "sockstat shows TCP's memory");
	return pages;
}

std::size_t unacknowledged(const Wire &wire)
{
	int bytes;

	must_call(::ioctl(wire.fd(), SIOCOUTQ, &bytes), "SIOCOUTQ");
	return static_cast<std::size_t>(bytes);
}

std::size_t queued(const mpa::socket &socket)
{
	std::uint32_t info[SK_MEMINFO_VARS] = {};
	socklen_t size = sizeof(info);

	must_call(::getsockopt(socket.fd(), SOL_SOCKET, SO_MEMINFO, info, &size),
		  "SO_MEMINFO");
	return info[SK_MEMINFO_RMEM_ALLOC];
}

struct One {
	explicit One(Buffers buffers)
		: running(role::initiator, {}, flag_crc, buffers)
	{
	}

	Running running;
	Bytes frame;
	std::size_t sent = 0;
};

using All = std::vector<std::unique_ptr<One>>;

All connect_all(Buffers buffers)
{
	All all;

	for (unsigned int n = 0; n < connections; n++) {
		all.push_back(std::make_unique<One>(buffers));
		all.back()->frame = fpdu(pattern(whole, n));
	}
	return all;
}

// From all of them at once, so that none waits for another's memory.
void send_up_to(All &all, std::size_t limit)
{
	await([&] {
		bool done = true;

		for (auto &one : all) {
			const auto left = mpa::const_buffer(one->frame)
						  .first(std::min(limit, one->frame.size()))
						  .subspan(one->sent);
			const auto n = ::send(one->running.wire.fd(), left.data(),
					      left.size(), MSG_DONTWAIT | MSG_NOSIGNAL);

			if (n > 0)
				one->sent += static_cast<std::size_t>(n);
			done = done && std::size_t(n) == left.size() &&
			       !unacknowledged(one->running.wire);
		}
		return done;
	}, "acknowledgement of all that was sent");
}

void receive_all(All &all)
{
	for (unsigned int n = 0; n < all.size(); n++) {
		const Row row("connection", n);

		expect_ulpdu(all[n]->running.ours, pattern(whole, n));
	}
}

struct Scene {
	const char *name;
	const char *limits;
	Buffers buffers;
	// Parts stay in TCP's queue: the window is open.
	bool in_queue;
};

void play(const Scene &scene)
{
	const Row row(scene.name);
	const long before = charged();
	{
		All all = connect_all(scene.buffers);
		const Limits limits(scene.limits);

		send_up_to(all, part);
		const long held = charged() - before;
		std::cout << "# " << scene.name << ": " << held << " pages charged for "
			  << connections * part / page << " of parts" << std::endl;
		yes(held >= long(connections * part / page) - slack,
		    "received data is charged");
		if (scene.in_queue)
			for (const auto &one : all)
				yes(queued(one->running.ours) >= part,
				    "the part is in TCP's queue");
		send_up_to(all, whole * 2);
		receive_all(all);
	}
	await([&] { return charged() - before <= slack; },
	      "return of what was charged");
}

CASE("pressure: memory is scarce, windows are open")
{
	play({"soft", "100 200 100000", {}, true});
}

CASE("pressure: there is no memory")
{
	play({"hard", "100 200 400", {}, false});
}

CASE("pressure: small receive buffers, and plenty of memory")
{
	play({"closed windows", "100000 100000 100000", {0, 4096}, false});
}

CASE("pressure: small receive buffers, and no memory")
{
	play({"closed windows, hard", "100 200 400", {0, 4096}, false});
}

// More ULPDUs than TCP has memory for: some wait for it. How many were accepted.
std::size_t send_until_full(mpa::socket &socket)
{
	const Bytes ulpdu = pattern(whole / 64);
	std::size_t sent = 0;
	long got;

	while ((got = ::send(socket.fd(), ulpdu.data(), ulpdu.size(), MSG_DONTWAIT)) > 0)
		sent++;
	is(err_of(got), EAGAIN, "the last one");
	return sent;
}

// A buffer of fixed size makes TCP refuse memory: it cannot ask for less instead.
struct Refused {
	Refused()
	    : running(role::initiator, {}, flag_crc, {65536, 0}),
	      limits(std::in_place, "1 1 1"), sent(send_until_full(running.ours))
	{
	}

	Running running;
	std::optional<Limits> limits;
	std::size_t sent;
};

// How the stream of a plain peer ends.
Err read_to_end(const Wire &wire)
{
	Bytes into(65536);
	long got;

	while ((got = ::recv(wire.fd(), into.data(), into.size(), 0)) > 0)
		;
	return err_of(got);
}

CASE("pressure: closed while TCP has no memory for the rest")
{
	Refused scene;

	scene.running.ours.close();
	is(read_to_end(scene.running.wire), ECONNRESET, "the end");
}

CASE("pressure: shut down while TCP has no memory for the rest")
{
	Refused scene;
	const int fd = scene.running.ours.fd();

	for (int how : {SHUT_WR, SHUT_RDWR})
		is(err_of(::shutdown(fd, how)), ENOBUFS, "shutdown");
	scene.limits.reset();
	for (std::size_t n = 0; n < scene.sent; n++)
		yes(scene.running.wire.read_fpdu() == pattern(whole / 64), "every ULPDU arrives");
	must_call(::shutdown(fd, SHUT_WR), "shutdown");
	scene.running.wire.expect_end();
}

} // namespace
