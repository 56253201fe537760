// SPDX-License-Identifier: GPL-2.0-only
//
// Devices: mpa1 of h1 and mpa2 of h2, over their eth0, and others that are
// created here; their listeners and connections.
#include <array>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <set>
#include <thread>

#include <netinet/in.h>
#include <sys/wait.h>

#include "sockets.hpp"
#include "values.hpp"

using namespace harness;
using namespace nl;

namespace {

void run(const std::string &command)
{
	is(std::system(command.c_str()), 0, command);
}

// A background program that runs for the lifetime of this object.
class Program {
public:
	explicit Program(std::vector<std::string> words)
	{
		std::vector<char *> argv;

		for (std::string &word : words)
			argv.push_back(word.data());
		argv.push_back(nullptr);
		child_ = ::fork();
		if (child_ == 0) {
			const int nowhere = ::open("/dev/null", O_WRONLY);

			::dup2(nowhere, STDOUT_FILENO);
			::execvp(argv[0], argv.data());
			::_exit(127);
		}
		must_call(child_, "fork");
	}

	~Program()
	{
		::kill(child_, SIGKILL);
		::waitpid(child_, nullptr, 0);
	}

	Program(const Program &) = delete;
	Program &operator=(const Program &) = delete;

private:
	pid_t child_;
};

// A network device of h1 that an RDMA device is created on; deleting it deletes
// both.
class Dummy {
public:
	Dummy() { run("ip -n h1 link add mv0 type dummy"); }
	~Dummy()
	{
		// In whichever namespace it is now.
		if (std::system("ip -n h1 link del mv0 2> /dev/null ||"
				" ip -n h2 link del mv0"))
			std::cout << "# mv0 cannot be deleted\n";
	}

	Dummy(const Dummy &) = delete;
	Dummy &operator=(const Dummy &) = delete;
};

// What a dump reports of the objects of a device.
std::vector<Got> of_device(Client &client, std::uint8_t cmd, const std::string &name)
{
	const int nest = cmd == MPA_CMD_LISTEN_GET ? MPA_A_LISTEN : MPA_A_CONN;
	std::vector<Got> all;

	for (const Message &one : client.get(dump(cmd, Attrs().nest(MPA_A_DEV,
			Attrs().string(MPA_A_DEV_NAME, name)))).replies)
		all.push_back(one.attrs.nest(nest));
	return all;
}

// Waits for the only one and returns it.
Got await_one(Client &client, std::uint8_t cmd, const std::string &name)
{
	await([&] { return of_device(client, cmd, name).size() == 1; },
	      "one of " + name);
	return of_device(client, cmd, name).front();
}

std::uint32_t index_of(Client &client, const std::string &name)
{
	return client.one(device(name).get()).nest(MPA_A_DEV).u32(MPA_A_DEV_INDEX);
}

// Peers that connect to an address, and are reset without a Request once others have
// come, for the lifetime of this object.
class Passers {
public:
	explicit Passers(const net::Address &address)
		: address_(address), thread_([this] { run(); })
	{
	}
	~Passers() { end(); }
	Passers(const Passers &) = delete;
	Passers &operator=(const Passers &) = delete;

	// Throws what has ended them before.
	void finish()
	{
		end();
		if (error_)
			std::rethrow_exception(error_);
	}

private:
	void end()
	{
		stop_ = true;
		if (thread_.joinable())
			thread_.join();
	}
	void run()
	{
		try {
			pass();
		} catch (...) {
			error_ = std::current_exception();
		}
	}
	void pass()
	{
		const linger now{.l_onoff = 1, .l_linger = 0};
		std::array<mpa::descriptor, 16> peers;

		for (std::size_t n = 0; !stop_; n++) {
			mpa::descriptor &peer = peers[n % peers.size()];

			peer = net::connect_to(net::Path::ipv4, address_);
			must_call(::setsockopt(peer.get(), SOL_SOCKET, SO_LINGER, &now,
					       sizeof(now)), "SO_LINGER");
		}
	}

	net::Address address_;
	std::atomic<bool> stop_ = false;
	std::exception_ptr error_;
	std::thread thread_;
};

// The next event must be this event of a device. A port may become active at
// any time, which is a change. No name: any.
Got expect_event(Client &client, std::uint8_t cmd, const std::string &name)
{
	auto event = client.event(patience);

	while (event && event->cmd == MPA_CMD_DEV_CHANGE_NTF && cmd != event->cmd)
		event = client.event(patience);
	yes(event.has_value(), "an event of " + name);
	is(int{event->cmd}, int{cmd}, "event of " + name);
	const Got dev = event->attrs.nest(MPA_A_DEV);
	if (!name.empty())
		is(dev.string(MPA_A_DEV_NAME), name, "name");
	return event->attrs;
}

} // namespace

CASE("device: what is reported of it, by get and by dump")
{
	Client client("h1");
	const Got one = client.one(device("mpa1").get());
	const Got dev = one.nest(MPA_A_DEV);

	is(dev.string(MPA_A_DEV_NAME), "mpa1", "name");
	is(dev.string(MPA_A_DEV_IFNAME), "eth0", "network device");
	yes(dev.u32(MPA_A_DEV_IFINDEX) != 0, "its index");
	is(dev.u32(MPA_A_DEV_ACTIVE), 1u, "active");
	yes(dev.u32(MPA_A_DEV_IRD_MAX) && dev.u32(MPA_A_DEV_ORD_MAX), "limits");
	is(dev.u32(MPA_A_DEV_CONNS), 0u, "connections");
	is(dev.u32(MPA_A_DEV_LISTENERS), 0u, "listeners");
	yes(one.nests(MPA_A_COUNTER).size() > 10, "counters");
	for (const Got &counter : one.nests(MPA_A_COUNTER))
		yes(!counter.string(MPA_A_COUNTER_NAME).empty() &&
		    counter.has(MPA_A_COUNTER_VALUE), "name and value of a counter");
	const Answer all = client.get(dump(MPA_CMD_DEV_GET));
	is(all.replies.size(), 1u, "devices of h1");
	is(all.replies[0].attrs.nest(MPA_A_DEV).string(MPA_A_DEV_NAME), "mpa1", "the one");
}

CASE("device: each setting is set, read back and reset")
{
	Client client("h1");

	values::every_setting(client, device("mpa1"));
	values::inherited_from(client, defaults(), device("mpa1"));
}

CASE("device: inherited values are cut to its limits")
{
	Client client("h1");
	const Object dev = device("mpa1");
	const Restored restored(client, defaults());
	const Got limits = client.one(dev.get()).nest(MPA_A_DEV);
	const std::uint32_t rtr = limits.u32(MPA_A_DEV_RTR);
	const State state = state_of(client, dev);

	is(state.values[MPA_A_CONFIG_IRD], limits.u32(MPA_A_DEV_IRD_MAX), "ird");
	is(state.values[MPA_A_CONFIG_ORD], limits.u32(MPA_A_DEV_ORD_MAX), "ord");
	is(state.values[MPA_A_CONFIG_RTR], rtr, "rtr");
	set_one(client, defaults(), MPA_A_CONFIG_PACKING, 1);
	is(state_of(client, dev).values[MPA_A_CONFIG_PACKING], 0u, "packing");
	for (std::uint32_t set = 1; set <= 7; set++) {
		set_one(client, defaults(), MPA_A_CONFIG_RTR, set);
		const State cut = state_of(client, dev);

		is(cut.values[MPA_A_CONFIG_RTR], set & rtr ? set & rtr : rtr, "rtr, cut");
		is(cut.values[MPA_A_CONFIG_PEER_TO_PEER], set & rtr ? 1u : 0u,
		   "peer-to-peer");
	}
}

CASE("device: its own values are reported as they were set, too")
{
	Client client("h1"), reader("h1");
	const Object dev = device("mpa1");
	const Restored restored(client, defaults());
	const Restored restored_device(client, dev);
	const auto own = [&] { return client.one(dev.get()).nest(MPA_A_OWN_CONFIG); };
	const std::uint32_t rtr =
		client.one(dev.get()).nest(MPA_A_DEV).u32(MPA_A_DEV_RTR);

	yes(!(rtr & MPA_CONFIG_RTR_SEND), "an RTR cannot be a Send");
	for (const Setting &one : settings)
		yes(!own().has(one.attr), std::string("no own ") + one.name);
	set_one(client, defaults(), MPA_A_CONFIG_RTR, MPA_CONFIG_RTR_SEND);
	set_one(client, dev, MPA_A_CONFIG_PEER_TO_PEER, 1);
	is(state_of(client, dev).values[MPA_A_CONFIG_PEER_TO_PEER], 0u, "in force");
	is(own().u32(MPA_A_CONFIG_PEER_TO_PEER), 1u, "own");
	yes(!own().has(MPA_A_CONFIG_RTR), "nothing that is inherited");

	reader.subscribe();
	set_one(client, dev, MPA_A_CONFIG_RTR, 7);
	is(state_of(client, dev).values[MPA_A_CONFIG_RTR], rtr, "in force");
	is(own().u32(MPA_A_CONFIG_RTR), 7u, "own");
	const Got event = expect_event(reader, MPA_CMD_CONFIG_NTF, "mpa1");
	is(event.nest(MPA_A_OWN_CONFIG).u32(MPA_A_CONFIG_RTR), 7u, "in the event");
	inherit(client, dev, 1u << MPA_A_CONFIG_RTR);
	yes(!own().has(MPA_A_CONFIG_RTR), "nothing of its own any more");
	is(own().u32(MPA_A_CONFIG_PEER_TO_PEER), 1u, "the other one");
	yes(!client.one(defaults().get()).has(MPA_A_OWN_CONFIG), "none of the namespace");
}

CASE("device: its index and its name select the same device")
{
	Client client("h1");
	const Object by_name = device("mpa1");
	const std::uint32_t index =
		client.one(by_name.get()).nest(MPA_A_DEV).u32(MPA_A_DEV_INDEX);
	const Object by_index{"device", MPA_A_DEV, Attrs().u32(MPA_A_DEV_INDEX, index)};
	const Restored restored(client, by_name);

	set_one(client, by_index, MPA_A_CONFIG_CRC, 0);
	is(state_of(client, by_name).values[MPA_A_CONFIG_CRC], 0u, "by name");
	inherit(client, by_name, 1u << MPA_A_CONFIG_CRC);
	is(state_of(client, by_index).values[MPA_A_CONFIG_CRC], 1u, "by index");
}

CASE("device: it is created, renamed, moved with its settings, and deleted")
{
	const Dummy netdev;
	Client one("h1"), two("h2");

	one.subscribe();
	two.subscribe();
	run("ip netns exec h1 rdma link add mv type mpa netdev mv0");
	const Got added = expect_event(one, MPA_CMD_DEV_ADD_NTF, "mv");
	is(added.nest(MPA_A_DEV).string(MPA_A_DEV_IFNAME), "mv0", "network device");
	Client asking("h1"), there("h2");
	const std::uint32_t index = index_of(asking, "mv");

	set_one(asking, device("mv"), MPA_A_CONFIG_CRC, 0);
	set_one(asking, device("mv"), MPA_A_CONFIG_HALF_OPEN_MAX, 17);
	const State state = state_of(asking, device("mv"));
	for (int n = 0; n < 2; n++)
		is(state_of(expect_event(one, MPA_CMD_CONFIG_NTF, "mv")).own & ~state.own,
		   0u, "own settings on the way");
	run("rdma dev set mv name mw");
	await([&] {
		return expect_event(one, MPA_CMD_DEV_CHANGE_NTF, "")
			.nest(MPA_A_DEV).string(MPA_A_DEV_NAME) == "mw";
	}, "an event of another name");
	is(Err{asking.ask(device("mv").get()).error}, ENODEV, "the old name");
	is(state_of(asking, device("mw")), state, "settings under the new name");

	run("ip -n h1 link set mv0 netns h2");
	expect_event(one, MPA_CMD_DEV_DEL_NTF, "mw");
	is(state_of(expect_event(two, MPA_CMD_DEV_ADD_NTF, "mw")), state,
	   "settings in the event");
	is(Err{asking.ask(device("mw").get()).error}, ENODEV, "where it was");
	is(state_of(there, device("mw")), state, "settings where it is");
	is(index_of(there, "mw"), index, "index");

	run("rdma link delete mw");
	expect_event(two, MPA_CMD_DEV_DEL_NTF, "mw");
	yes(!one.event(moment), "no more events of the first");
	yes(!two.event(moment), "no more events of the second");
}

CASE("device: its settings are deleted with it")
{
	const Dummy netdev;
	Client client("h1");

	for (int round = 0; round < 2; round++) {
		run("ip netns exec h1 rdma link add mv type mpa netdev mv0");
		is(state_of(client, device("mv")).own, 0u, "own settings of a new one");
		set_one(client, device("mv"), MPA_A_CONFIG_CRC, 0);
		run("rdma link delete mv");
	}
}

CASE("device: its listeners and connections, and not those of others")
{
	Client one("h1"), two("h2");
	const sockets::Listener socket(net::Path::ipv4);
	const Program server({"ip", "netns", "exec", "h2", "rping", "-s", "-P", "-a",
			      "10.77.0.2"});
	const Got listen = await_one(two, MPA_CMD_LISTEN_GET, "mpa2");
	const std::uint32_t id = listen.u32(MPA_A_LISTEN_ID);

	is(listen.u32(MPA_A_LISTEN_OWNER), std::uint32_t{MPA_OWNER_DEVICE}, "owner");
	is(listen.u32(MPA_A_LISTEN_DEV_INDEX), index_of(two, "mpa2"), "device");
	is(listen.u32(MPA_A_LISTEN_HALF_OPEN), 0u, "half open");
	is(listen.port(MPA_A_LISTEN_PORT), 7174, "port");
	yes(!listen.has(MPA_A_LISTEN_UID), "no user");
	is(two.get(dump(MPA_CMD_LISTEN_GET)).replies.size(), 2u, "all listeners");

	values::every_setting(two, listener(id, "mpa2"));
	values::inherited_from(two, device("mpa2"), listener(id, "mpa2"));
	values::inherited_from(two, defaults(), listener(id, "mpa2"));

	const Program client({"ip", "netns", "exec", "h1", "rping", "-c", "-a",
			      "10.77.0.2", "-C", "1000000"});
	const Got near = await_one(one, MPA_CMD_CONN_GET, "mpa1");
	const Got far = await_one(two, MPA_CMD_CONN_GET, "mpa2");
	for (const Got *conn : {&near, &far}) {
		is(conn->u32(MPA_A_CONN_OWNER), std::uint32_t{MPA_OWNER_DEVICE}, "owner");
		yes(!conn->has(MPA_A_CONN_UID) && !conn->has(MPA_A_CONN_INODE),
		    "nothing of a socket");
	}
	is(near.u32(MPA_A_CONN_DEV_INDEX), index_of(one, "mpa1"), "device of the near end");
	is(far.u32(MPA_A_CONN_LISTEN_ID), id, "listener of the far end");
	await([&] {
		const Got now = await_one(one, MPA_CMD_CONN_GET, "mpa1");

		return now.u32(MPA_A_CONN_PHASE) == MPA_PHASE_OPERATIONAL &&
		       now.has(MPA_A_CONN_QPN) && now.u32(MPA_A_CONN_INITIATOR) == 1;
	}, "full operation, and the queue pair's number");
	is(one.one(device("mpa1").get()).nest(MPA_A_DEV).u32(MPA_A_DEV_CONNS), 1u,
	   "connections that the device reports");
}

// A dump that waits for the lock of a new one gets it while the device attaches.
CASE("device: a connection is never seen without its device and its listener")
{
	constexpr std::size_t enough = 100;
	Client client("h2");
	const Program server({"ip", "netns", "exec", "h2", "rping", "-s", "-P", "-a",
			      "10.77.0.2"});
	const std::uint32_t id =
		await_one(client, MPA_CMD_LISTEN_GET, "mpa2").u32(MPA_A_LISTEN_ID);
	const std::uint32_t index = index_of(client, "mpa2");
	net::Address address = net::address_of(net::Path::ipv4);
	const auto end = std::chrono::steady_clock::now() + patience;
	std::set<std::uint32_t> seen;

	reinterpret_cast<sockaddr_in *>(address.generic())->sin_port = htons(7174);
	Passers passers(address);
	while (seen.size() < enough) {
		yes(std::chrono::steady_clock::now() < end, "enough in dumps");
		for (const Message &one : client.get(dump(MPA_CMD_CONN_GET)).replies) {
			const Got conn = one.attrs.nest(MPA_A_CONN);

			seen.insert(conn.u32(MPA_A_CONN_ID));
			is(conn.u32(MPA_A_CONN_OWNER), std::uint32_t{MPA_OWNER_DEVICE},
			   "owner");
			is(conn.u32(MPA_A_CONN_DEV_INDEX), index, "device");
			yes(conn.has(MPA_A_CONN_LISTEN_ID), "a listener");
			is(conn.u32(MPA_A_CONN_LISTEN_ID), id, "its listener");
		}
	}
	passers.finish();
}
