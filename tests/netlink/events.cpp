// SPDX-License-Identifier: GPL-2.0-only
//
// Events: each is sent once, to all sockets of the namespace in the group and
// to no others.
#include <future>
#include <iostream>
#include <map>
#include <set>

#include <sys/wait.h>

#include "settings.hpp"
#include "sockets.hpp"

using namespace harness;
using namespace nl;
using sockets::Listener;
using sockets::Pair;
using sockets::Ports;

namespace {

using namespace std::chrono_literals;

// Waits for an event of this kind and drops others.
Message await_event(Client &client, std::uint8_t cmd)
{
	const auto end = std::chrono::steady_clock::now() + patience;

	while (std::chrono::steady_clock::now() < end) {
		std::optional<Message> one = client.event(100ms);

		if (one && one->cmd == cmd)
			return *std::move(one);
	}
	fail("no event " + std::to_string(cmd));
}

std::map<std::string, std::uint64_t> counters(Client &client)
{
	std::map<std::string, std::uint64_t> all;

	for (const Got &one :
	     client.one({.cmd = MPA_CMD_DEFAULTS_GET}).nests(MPA_A_COUNTER))
		all[one.string(MPA_A_COUNTER_NAME)] = one.u64(MPA_A_COUNTER_VALUE);
	return all;
}

// The error codes that failures report.
constexpr std::array failure_counters{
	"startup_failures", "rejected", "crc_errors", "marker_errors",
	"length_errors", "tcp_lost", "terminates_sent", "terminates_received",
	"half_open_dropped",
};

std::uint64_t failures(const std::map<std::string, std::uint64_t> &counters)
{
	std::uint64_t sum = 0;

	for (const char *name : failure_counters)
		sum += counters.at(name);
	return sum;
}

// The events of a storm.
struct Reported {
	std::map<std::uint32_t, Ports> up; // by number
	std::set<std::uint32_t> down;
	std::uint64_t failures = 0;
	std::uint64_t suppressed = 0;
};

void note_conn(Reported &reported, const Message &event)
{
	const Got conn = event.attrs.nest(MPA_A_CONN);
	const std::uint32_t id = conn.u32(MPA_A_CONN_ID);
	const Ports ports = sockets::ports_of(conn);

	if (event.cmd == MPA_CMD_CONN_UP_NTF) {
		is(conn.u32(MPA_A_CONN_PHASE), std::uint32_t{MPA_PHASE_OPERATIONAL},
		   "phase of one that is up");
		is(conn.u32(MPA_A_CONN_CRC), 1u, "what was negotiated is reported");
		yes(reported.up.emplace(id, ports).second, "it is reported up once");
		return;
	}
	yes(reported.up.contains(id), "one that is down was up");
	is(ports, reported.up.at(id), "ports");
	yes(reported.down.insert(id).second, "it is reported down once");
}

void note(Reported &reported, const Message &event)
{
	if (event.cmd == MPA_CMD_CONN_UP_NTF || event.cmd == MPA_CMD_CONN_DOWN_NTF) {
		note_conn(reported, event);
	} else if (event.cmd == MPA_CMD_FAILURE_NTF) {
		reported.failures++;
		reported.suppressed += event.attrs.nest(MPA_A_FAILURE)
					   .u32(MPA_A_FAILURE_SUPPRESSED);
	}
}

// Peers that send no frame, in a burst: startups that fail at the same time.
void fail_startups(int count)
{
	std::vector<net::WithWire> all;

	for (int n = 0; n < count; n++) {
		all.emplace_back(net::Path::loopback);
		net::begin(all.back().ours, mpa::role::responder);
	}
	for (auto &one : all)
		one.wire.send(net::Bytes(20, std::byte{'x'}));
	for (auto &one : all)
		net::await_events(one.ours.fd(), POLLERR, "a failure");
}

// Causes one more failure when one may be reported again; returns how many were
// suppressed before it.
std::uint32_t next_failure(Client &listening)
{
	std::this_thread::sleep_for(1100ms);
	fail_startups(1);
	return await_event(listening, MPA_CMD_FAILURE_NTF)
		.attrs.nest(MPA_A_FAILURE).u32(MPA_A_FAILURE_SUPPRESSED);
}

// Connects repeatedly, and ends each connection in one of three ways.
std::vector<Ports> storm(int connects)
{
	Listener listener;
	std::vector<Ports> ports;

	for (int n = 0; n < connects; n++) {
		mpa::socket near = net::attach(listener.connect());
		ports.push_back(sockets::ports_of(near.fd()));
		mpa::socket far = listener.accept();
		must(near.start(mpa::role::initiator), "start");
		if (n % 3 == 0)
			near.close();
		else if (n % 3 == 1)
			far.close();
		else
			sockets::abort(near);
	}
	return ports;
}

} // namespace

CASE("events: a storm of connects, each is up once and down once")
{
	constexpr int threads = 4;
	const int connects = static_cast<int>(sockets::many() / 40);
	Client listening("h1"), asking("h1");
	std::vector<std::future<std::vector<Ports>>> storms;
	Reported reported;

	listening.subscribe(256 << 20);
	const auto before = counters(asking);
	for (int n = 0; n < threads; n++)
		storms.push_back(std::async(std::launch::async, storm, connects));
	const std::size_t wanted = 2 * threads * connects;
	while (reported.down.size() < wanted) {
		const auto event = listening.event(patience);

		yes(event.has_value(), "an event; so far up " +
		    std::to_string(reported.up.size()) + ", down " +
		    std::to_string(reported.down.size()));
		note(reported, *event);
	}
	// And no more events but a last failure.
	while (const auto event = listening.event(moment))
		note(reported, *event);
	is(reported.up.size(), wanted, "that were up");
	is(reported.down.size(), wanted, "that are down");
	std::set<Ports> seen;
	for (const auto &[id, one] : reported.up)
		seen.insert(one);
	for (auto &all : storms)
		for (const Ports one : all.get())
			yes(seen.contains(one) &&
			    seen.contains({one.remote, one.local}),
			    "both ends were reported");

	const auto after = counters(asking);
	is(after.at("opened") - before.at("opened"), wanted, "counter opened");
	is(after.at("conns_up"), before.at("conns_up"), "counter conns_up");
	const std::uint64_t suppressed =
		after.at("failures_suppressed") - before.at("failures_suppressed");
	is(reported.failures + suppressed, failures(after) - failures(before),
	   "failures reported and suppressed");
	yes(reported.suppressed <= suppressed,
	    "the number of suppressed failures is reported later");
	std::cout << "# " << reported.failures << " failures reported, " << suppressed
		  << " not\n";
}

CASE("events: failures are limited per second, and the others are counted")
{
	Client listening("h1"), asking("h1");
	std::uint64_t reported = 0;

	listening.subscribe();
	// Suppressed failures of earlier cases are reported by now, in another
	// second.
	next_failure(listening);
	std::this_thread::sleep_for(1100ms);
	const auto before = counters(asking);
	fail_startups(100);
	const auto after = counters(asking);
	is(after.at("startup_failures") - before.at("startup_failures"), 100u,
	   "counter startup_failures");
	const std::uint64_t counted =
		after.at("failures_suppressed") - before.at("failures_suppressed");
	std::uint64_t suppressed = 0;
	while (const auto event =
		       listening.event(reported + counted < 100 ? patience : moment)) {
		if (event->cmd != MPA_CMD_FAILURE_NTF)
			continue;
		const Got failure = event->attrs.nest(MPA_A_FAILURE);

		is(failure.u32(MPA_A_FAILURE_KIND), std::uint32_t{MPA_FAILURE_STARTUP},
		   "kind");
		yes(event->attrs.nest(MPA_A_CONN).u32(MPA_A_CONN_ID) != 0, "whose");
		reported++;
		suppressed += failure.u32(MPA_A_FAILURE_SUPPRESSED);
	}
	yes(reported > 0 && counted > 0, "some are reported, and some suppressed");
	is(reported + counted, 100u, "failures");
	suppressed += next_failure(listening);
	is(suppressed, counted, "reported as suppressed");
}

CASE("events: listeners come and go")
{
	Client listening("h1"), asking("h1");

	listening.subscribe();
	std::optional<Listener> socket(std::in_place);
	const Got added = await_event(listening, MPA_CMD_LISTEN_ADD_NTF)
		.attrs.nest(MPA_A_LISTEN);
	is(added.port(MPA_A_LISTEN_PORT), socket->port(), "port");
	const std::uint32_t id = socket->id(asking);
	is(added.u32(MPA_A_LISTEN_ID), id, "number");
	socket.reset();
	const Got gone = await_event(listening, MPA_CMD_LISTEN_DEL_NTF)
		.attrs.nest(MPA_A_LISTEN);
	is(gone.u32(MPA_A_LISTEN_ID), id, "number of the closed one");
	is(Err{asking.ask(listener(id).get()).error}, ENOENT, "get of it");
}

CASE("events: changes of settings, in their order")
{
	Client listening("h1"), asking("h1");
	const Listener socket;
	const Object below = listener(socket.id(asking));
	const Restored restored(asking, defaults());

	listening.subscribe();
	asking.get(set(change(defaults(), Attrs().u32(MPA_A_CONFIG_CRC, 0)), true));
	asking.get(set(Attrs()
		.add(change(defaults(), Attrs().u32(MPA_A_CONFIG_CRC, 0)))
		.add(change(below, Attrs().u32(MPA_A_CONFIG_MARKERS, 1)))));
	const Message first = await_event(listening, MPA_CMD_CONFIG_NTF);
	yes(!first.attrs.has(MPA_A_DEV) && !first.attrs.has(MPA_A_LISTEN),
	    "the first is the namespace's, and the check sent none");
	is(state_of(first.attrs), state_of(asking, defaults()), "its settings");
	const Message second = await_event(listening, MPA_CMD_CONFIG_NTF);
	is(second.attrs.nest(MPA_A_LISTEN).u32(MPA_A_LISTEN_ID), socket.id(asking),
	   "the second is the listener's");
	is(state_of(second.attrs), state_of(asking, below), "its settings");
	yes(!listening.event(moment), "no more events");
}

CASE("events: an unprivileged process receives them too")
{
	Client asking("h1");
	Client listening("h1");
	int ready[2];
	char token;

	must_call(::pipe(ready), "pipe");
	const pid_t child = must_call(::fork(), "fork");
	if (!child) {
		must_call(::setresuid(65534, 65534, 65534), "setresuid");
		listening.subscribe(0);
		must_call(::write(ready[1], "r", 1), "write");
		::_exit(listening.event(patience) ? 0 : 1);
	}
	::close(ready[1]);
	is(::read(ready[0], &token, 1), 1, "the child listens");
	set_one(asking, defaults(), MPA_A_CONFIG_CRC, 0);
	inherit(asking, defaults(), 1u << MPA_A_CONFIG_CRC);
	int status;
	must_call(::waitpid(child, &status, 0), "waitpid");
	is(status, 0, "status of the child");
}
