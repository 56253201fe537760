// SPDX-License-Identifier: GPL-2.0-only
//
// Dumps: what is reported of an object, and that a dump of thousands neither
// loses nor repeats one while others come and go.
#include <atomic>
#include <future>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <thread>

#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "settings.hpp"
#include "sockets.hpp"
#include "trap.hpp"

using namespace harness;
using namespace nl;
using sockets::Listener;
using sockets::Pair;
using sockets::Ports;

namespace {

// A receive size that makes a dump take many messages.
constexpr std::size_t small = 4096;

void raise_limit(std::size_t files)
{
	const rlimit limit{files, files};

	must_call(::setrlimit(RLIMIT_NOFILE, &limit), "RLIMIT_NOFILE");
}

// Connections with MPA on both ends, not started; each is two of
// sockets::many().
struct Crowd {
	explicit Crowd(std::size_t connections)
	{
		const net::Listener listener(net::Path::loopback, 128);

		for (std::size_t n = 0; n < connections / 2; n++) {
			ends.push_back(net::attach(net::connect_to(listener)));
			ends.push_back(net::attach(net::accept_from(listener)));
		}
		for (const auto &end : ends)
			ports.insert(sockets::ports_of(end.fd()));
	}

	std::vector<mpa::socket> ends;
	std::set<Ports> ports;
};

// Each is reported once, with a different number.
void expect_all(const Answer &answer, const Crowd &crowd)
{
	std::map<Ports, int> seen;
	std::set<std::uint32_t> ids;
	std::uint32_t last = 0;

	for (const Message &one : answer.replies) {
		const Got conn = one.attrs.nest(MPA_A_CONN);
		const std::uint32_t id = conn.u32(MPA_A_CONN_ID);

		yes(id > last, "numbers go up");
		last = id;
		if (crowd.ports.contains(sockets::ports_of(conn)))
			seen[sockets::ports_of(conn)]++;
	}
	is(seen.size(), crowd.ports.size(), "connections in the dump");
	for (const auto &[ports, count] : seen)
		is(count, 1, "times that one is in the dump");
}

// Opens and closes connections for its lifetime.
class Traffic {
public:
	Traffic() : thread_([this] { run(); }) {}
	~Traffic()
	{
		stop_ = true;
		thread_.join();
	}

	std::size_t count() const { return count_; }

private:
	void run()
	{
		const net::Listener listener(net::Path::loopback);

		while (!stop_) {
			mpa::socket near = net::attach(net::connect_to(listener));
			mpa::socket far = net::attach(net::accept_from(listener));

			sockets::abort(near);
			count_++;
		}
	}

	std::atomic<bool> stop_ = false;
	std::atomic<std::size_t> count_ = 0;
	std::thread thread_;
};

std::uint32_t number_of_conns(Client &client)
{
	for (const Got &counter :
	     client.one({.cmd = MPA_CMD_DEFAULTS_GET}).nests(MPA_A_COUNTER))
		if (counter.string(MPA_A_COUNTER_NAME) == "conns")
			return static_cast<std::uint32_t>(
				counter.u64(MPA_A_COUNTER_VALUE));
	fail("no counter conns");
}

} // namespace

CASE("dump: thousands of connections, quiet and among others that come and go")
{
	const std::size_t wanted = sockets::many();
	raise_limit(wanted + 100);
	Client client("h1");
	const std::uint32_t before = number_of_conns(client);
	const Crowd crowd(wanted);

	is(crowd.ports.size(), wanted, "connections");
	const Answer quiet = client.get(dump(MPA_CMD_CONN_GET));
	is(quiet.replies.size(), wanted + before, "replies");
	yes(!quiet.interrupted, "nothing has come or gone");
	expect_all(quiet, crowd);

	Client slow("h1", small);
	const Traffic traffic;
	for (int round = 0; round < 3; round++) {
		const Row row(round);
		Answer answer;

		slow.send(dump(MPA_CMD_CONN_GET));
		yes(!slow.more(answer), "there is more to come");
		// The first new ones may have been created before the dump
		// began.
		const std::size_t begun = traffic.count();
		await([&] { return traffic.count() > begun + 1; }, "traffic");
		while (!slow.more(answer))
			;
		yes(answer.interrupted, "the dump reports that it is inconsistent");
		expect_all(answer, crowd);
	}
	std::cout << "# " << traffic.count() << " came and went\n";
}

CASE("dump: a connection that goes while it is dumped, and one that comes")
{
	raise_limit(4096);
	Client client("h1", small);
	Crowd crowd(200);
	Answer answer;

	client.send(dump(MPA_CMD_CONN_GET));
	yes(!client.more(answer), "there is more to come");
	const std::size_t seen = answer.replies.size();
	yes(seen < 200, "not all at once");
	// The last one of the crowd, which has not been reported yet.
	const Ports gone = sockets::ports_of(crowd.ends.back().fd());
	crowd.ends.pop_back();
	crowd.ports.erase(gone);
	await([&] {
		Client other("h1");

		return !sockets::dumped(other, gone);
	}, "it is gone");
	while (!client.more(answer))
		;
	yes(answer.interrupted, "the dump reports that it is inconsistent");
	expect_all(answer, crowd);
}

CASE("dump: one that is not read to its end")
{
	Client client("h1", small);
	const Crowd crowd(100);
	Answer answer;

	client.send(dump(MPA_CMD_CONN_GET));
	yes(!client.more(answer), "there is more to come");
}

CASE("dump: a connection, before and in full operation, by its number and not")
{
	Client client("h1");
	Listener listener;
	mpa::socket near = net::attach(listener.connect());
	mpa::socket far = listener.accept();
	const Ports ports = sockets::ports_of(near.fd());
	struct stat file{};
	must_call(::fstat(near.fd(), &file), "stat");

	const Got before = sockets::find(client, ports);
	is(before.u32(MPA_A_CONN_OWNER), std::uint32_t{MPA_OWNER_SOCKET}, "owner");
	is(before.u32(MPA_A_CONN_PHASE), std::uint32_t{MPA_PHASE_ATTACHED}, "phase");
	is(before.u32(MPA_A_CONN_UID), 0u, "user");
	is(before.u64(MPA_A_CONN_INODE), file.st_ino, "inode");
	const in_addr loopback{htonl(INADDR_LOOPBACK)};
	yes(before.bytes(MPA_A_CONN_LOCAL_ADDR) == bytes_of(loopback), "address");
	yes(before.bytes(MPA_A_CONN_REMOTE_ADDR) == bytes_of(loopback), "peer");
	for (const int attr : {MPA_A_CONN_DEV_INDEX, MPA_A_CONN_QPN, MPA_A_CONN_LISTEN_ID,
			       MPA_A_CONN_INITIATOR, MPA_A_CONN_REVISION, MPA_A_CONN_CRC,
			       MPA_A_CONN_CODE, MPA_A_CONN_TERM_SENT,
			       MPA_A_CONN_TERM_RECEIVED})
		yes(!before.has(attr), "nothing of " + std::to_string(attr));

	must(near.set_params({.markers = true}), "parameters");
	must(near.start(mpa::role::initiator), "start");
	must(near.send(mpa::bytes("four")), "send");
	net::expect_ulpdu(far, mpa::bytes("four"));
	const std::uint32_t id = before.u32(MPA_A_CONN_ID);
	const Got after = client.one({.cmd = MPA_CMD_CONN_GET, .attrs =
		Attrs().nest(MPA_A_CONN, Attrs().u32(MPA_A_CONN_ID, id))})
		.nest(MPA_A_CONN);
	is(after.u32(MPA_A_CONN_ID), id, "number");
	is(after.u32(MPA_A_CONN_PHASE), std::uint32_t{MPA_PHASE_OPERATIONAL}, "phase");
	is(after.u32(MPA_A_CONN_INITIATOR), 1u, "initiator");
	is(after.u32(MPA_A_CONN_RX_MARKERS), 1u, "markers received");
	is(after.u32(MPA_A_CONN_TX_MARKERS), 0u, "markers sent");
	is(after.u32(MPA_A_CONN_CRC), 1u, "crc");
	is(after.u32(MPA_A_CONN_MULPDU), must(near.info(), "info").mulpdu, "mulpdu");
	is(after.nest(MPA_A_CONN_STATS).u64(MPA_A_CONN_STATS_TX_FPDUS), 1u, "sent");

	const Got other = sockets::find(client, sockets::ports_of(far.fd()));
	is(other.u32(MPA_A_CONN_INITIATOR), 0u, "the other's role");
	is(other.u32(MPA_A_CONN_LISTEN_ID), listener.id(client), "its listener");
	is(other.u32(MPA_A_CONN_TX_MARKERS), 1u, "markers sent");
	is(other.nest(MPA_A_CONN_STATS).u64(MPA_A_CONN_STATS_RX_FPDUS), 1u, "received");
}

// Its application may hold the lock as long as it likes, as any user can.
CASE("dump: connections whose locks are held do not hold up the dump")
{
	constexpr int count = 40;
	Client client("h1");
	net::Trap trap;
	std::vector<std::unique_ptr<net::Held>> held;
	std::set<Ports> ports;

	for (int n = 0; n < count; n++) {
		held.push_back(std::make_unique<net::Held>(net::Tcp(net::Path::loopback)));
		held.back()->read_into(trap);
		held.back()->start();
		ports.insert(sockets::ports_of(held.back()->fd()));
	}
	trap.await_waiting(count);

	std::promise<void> done;
	auto limit = std::async(std::launch::async, [&] {
		const bool in_time =
			done.get_future().wait_for(patience) == std::future_status::ready;

		// Threads within the kernel would prevent a normal exit.
		if (!in_time)
			trap.release();
		return in_time;
	});
	const Answer answer = client.get(dump(MPA_CMD_CONN_GET));
	done.set_value();
	yes(limit.get(), "the dump does not wait for the locks");
	int busy = 0;
	for (const Message &one : answer.replies) {
		const Got conn = one.attrs.nest(MPA_A_CONN);

		if (!ports.contains(sockets::ports_of(conn)))
			continue;
		yes(conn.has(MPA_A_CONN_BUSY), "it is reported as busy");
		is(conn.u32(MPA_A_CONN_PHASE),
		   std::uint32_t{MPA_PHASE_WAIT_REQUEST}, "phase");
		is(conn.u32(MPA_A_CONN_MULPDU), 0u, "MULPDU");
		busy++;
	}
	is(busy, count, "all of them are reported");
	trap.release();
	held.clear();
	Listener listener;
	Pair pair(listener);
	yes(!sockets::find(client, sockets::ports_of(pair.near.fd()))
		    .has(MPA_A_CONN_BUSY), "others are not busy");
}

// It waits for the lock of one that is not of the device, so it has nothing to put.
CASE("dump: connections that come while its end waits for a lock are noticed")
{
	Client client("h1");
	net::Trap trap;
	net::Held held{net::Tcp(net::Path::loopback)};

	held.read_into(trap);
	held.start();
	trap.await_waiting(1);
	{
		const Traffic traffic;

		await([&] {
			const Answer answer = client.get(dump(MPA_CMD_CONN_GET,
				Attrs().nest(MPA_A_DEV, Attrs().string(MPA_A_DEV_NAME,
								       "mpa1"))));

			is(answer.replies.size(), 0u, "connections of the device");
			return answer.interrupted;
		}, "a dump reports that it is inconsistent");
	}
	trap.release();
}

namespace {

// The link-local address of eth0, with its interface.
sockaddr_in6 link_local(int host)
{
	const net::Inside inside(host);
	ifaddrs *all = nullptr;
	sockaddr_in6 found{};

	must_call(::getifaddrs(&all), "getifaddrs");
	for (const ifaddrs *one = all; one; one = one->ifa_next) {
		const auto *address = reinterpret_cast<sockaddr_in6 *>(one->ifa_addr);

		if (address && address->sin6_family == AF_INET6 &&
		    !std::strcmp(one->ifa_name, "eth0") &&
		    IN6_IS_ADDR_LINKLOCAL(&address->sin6_addr))
			found = *address;
	}
	::freeifaddrs(all);
	yes(found.sin6_scope_id, "a link-local address");
	return found;
}

} // namespace

CASE("dump: a connection between link-local addresses shows the interface")
{
	Client client("h1");
	const sockaddr_in6 own = link_local(1);
	const mpa::descriptor there = net::tcp_socket(net::Path::ipv6, 2);
	mpa::descriptor near = net::tcp_socket(net::Path::ipv6, 1);
	sockaddr_in6 address = link_local(2);
	socklen_t size = sizeof(address);
	auto *generic = reinterpret_cast<sockaddr *>(&address);

	must_call(::bind(there.get(), generic, size), "bind");
	must_call(::listen(there.get(), 1), "listen");
	must_call(::getsockname(there.get(), generic, &size), "getsockname");
	address.sin6_scope_id = own.sin6_scope_id;
	must_call(::connect(near.get(), generic, size), "connect");
	const mpa::socket ours = net::attach(std::move(near));
	const Got conn = sockets::find(client, sockets::ports_of(ours.fd()));
	is(conn.u32(MPA_A_CONN_LOCAL_SCOPE), own.sin6_scope_id, "own interface");
	is(conn.u32(MPA_A_CONN_REMOTE_SCOPE), own.sin6_scope_id, "the peer's");
	Listener listener;
	Pair pair(listener);
	yes(!sockets::find(client, sockets::ports_of(pair.near.fd()))
		    .has(MPA_A_CONN_LOCAL_SCOPE), "other addresses have none");
}

CASE("dump: listeners, all of them and one")
{
	Client client("h1", small);
	const std::size_t before = client.get(dump(MPA_CMD_LISTEN_GET)).replies.size();
	std::vector<Listener> listeners;
	std::set<std::uint32_t> ids;

	for (int n = 0; n < 100; n++)
		listeners.emplace_back();
	const Answer all = client.get(dump(MPA_CMD_LISTEN_GET));
	is(all.replies.size(), before + 100, "listeners");
	for (const Listener &one : listeners)
		ids.insert(one.id(client));
	is(ids.size(), 100u, "numbers");
	const Got one = client.one(listener(*ids.begin()).get());
	const Got got = one.nest(MPA_A_LISTEN);
	is(got.u32(MPA_A_LISTEN_ID), *ids.begin(), "number");
	is(got.u32(MPA_A_LISTEN_OWNER), std::uint32_t{MPA_OWNER_SOCKET}, "owner");
	is(got.u32(MPA_A_LISTEN_UID), 0u, "user");
	is(got.u32(MPA_A_LISTEN_BACKLOG), 1024u, "backlog");
	yes(!got.has(MPA_A_LISTEN_DEV_INDEX), "no device");
	is(state_of(one).own, 0u, "own settings");
	listeners.clear();
	is(client.get(dump(MPA_CMD_LISTEN_GET)).replies.size(), before, "listeners left");
}
