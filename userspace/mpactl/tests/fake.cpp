/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "fake.hpp"

#include <cerrno>
#include <cstdlib>

#include <gtest/gtest.h>
#include <linux/mpa.h>

#include "model/target.hpp"

namespace fake {

namespace {

template <typename T, typename Fits>
T find(const std::vector<T> &all, const std::string &what, Fits fits)
{
	for (const auto &one : all)
		if (fits(one))
			return one;
	// As the kernel does.
	const int error = what.starts_with("device") ? ENODEV : ENOENT;
	throw KernelError(what, {error, "no such " + what, "", {}});
}

class QueuedEvents : public Events {
public:
	explicit QueuedEvents(std::deque<Notice> notices) : notices_(std::move(notices)) {}

	Notice next() override
	{
		if (notices_.empty())
			return Stopped{};
		auto notice = notices_.front();

		notices_.pop_front();
		return notice;
	}

private:
	std::deque<Notice> notices_;
};

void apply_to(Config &config, const Change &change)
{
	for (unsigned int key = 1; key <= MPA_A_CONFIG_MAX; key++)
		if (change.to.has(key))
			config.in_force.set(key, change.to.at(key));
	config.own = (config.own | change.to.mask()) & ~change.inherit;
	if (!config.as_set)
		return;
	for (unsigned int key = 1; key <= MPA_A_CONFIG_MAX; key++)
		if (change.to.has(key))
			config.as_set->set(key, change.to.at(key));
	*config.as_set = config.as_set->only(config.own);
}

} // namespace

Defaults Mpa::defaults()
{
	return namespace_;
}

Device Mpa::device(const std::string &name)
{
	return find(devices_, "device " + name,
		    [&](const auto &one) { return one.name == name; });
}

Listing<Device> Mpa::devices()
{
	if (fault_)
		fault_();
	return {devices_, interrupted_};
}

Listener Mpa::listener(std::uint32_t id)
{
	return find(listeners_, "listener " + std::to_string(id),
		    [&](const auto &one) { return one.id == id; });
}

Listing<Listener> Mpa::listeners()
{
	return {listeners_, interrupted_};
}

Connection Mpa::connection(std::uint32_t id)
{
	return find(connections_, "connection " + std::to_string(id),
		    [&](const auto &one) { return one.id == id; });
}

Listing<Connection> Mpa::connections()
{
	return {connections_, interrupted_};
}

std::string Mpa::change(std::span<const Change> changes, bool check)
{
	asked_.emplace_back(changes.begin(), changes.end());
	checks_.push_back(check);
	if (refusal_)
		throw KernelError(target_text(changes.back().target), *refusal_);
	if (!check)
		for (const auto &change : changes)
			apply(change);
	if (changed_)
		changed_();
	return remark_;
}

// A device without any of the RTR kinds that are set does not ask for one.
void Mpa::limit(Device &device) const
{
	const auto &own = *device.config.as_set;
	const auto &set = own.has(MPA_A_CONFIG_RTR) ? own : namespace_.config.in_force;
	const auto rtr = set.at(MPA_A_CONFIG_RTR) & device.rtr;

	device.config.in_force.set(MPA_A_CONFIG_RTR, rtr ? rtr : device.rtr);
	if (!rtr)
		device.config.in_force.set(MPA_A_CONFIG_PEER_TO_PEER, 0);
}

void Mpa::apply(const Change &change)
{
	if (change.target.kind == Target::Kind::defaults)
		apply_to(namespace_.config, change);
	for (auto &device : devices_)
		if (change.target == Target::device(device.name))
			apply_to(device.config, change);
	for (auto &listener : listeners_)
		if (change.target == Target::listener(listener.id))
			apply_to(listener.config, change);
	for (auto &device : devices_)
		if (device.config.as_set)
			limit(device);
}

std::unique_ptr<Events> Mpa::events()
{
	return std::make_unique<QueuedEvents>(notices_);
}

std::vector<RdmaDevice> RdmaCore::devices()
{
	std::vector<RdmaDevice> all;

	for (const auto &device : mpa_.devices_)
		all.push_back({device.index, device.name, device.ifname});
	return all;
}

void RdmaCore::add(const std::string &name, const std::string &netdev)
{
	calls_.push_back("add " + name + " " + netdev);
	if (const auto found = add_refusals_.find(name);
	    found != add_refusals_.end())
		throw KernelError("add device " + name + " at " + netdev,
				  found->second);
	Device device;

	device.index = static_cast<std::uint32_t>(mpa_.devices_.size());
	device.name = name;
	device.ifname = netdev;
	mpa_.devices_.push_back(device);
	if (added_)
		added_();
}

void RdmaCore::remove(const std::string &name)
{
	calls_.push_back("remove " + name);
	if (const auto found = remove_refusals_.find(name);
	    found != remove_refusals_.end())
		throw KernelError("remove device " + name, found->second);
	std::erase_if(mpa_.devices_,
		      [&](const auto &one) { return one.name == name; });
}

Transport &World::mpa()
{
	if (!loaded_)
		throw Unavailable("the module mpa is not loaded (modprobe mpa)");
	return mpa_;
}

// 21 November 2026, 12:00:00.25 UTC, plus the time of all sleeps.
std::chrono::system_clock::time_point World::wall()
{
	using namespace std::chrono;

	return system_clock::time_point(seconds(1795262400) + milliseconds(250)) +
	       duration_cast<system_clock::duration>(now_.time_since_epoch());
}

bool World::sleep_until(std::chrono::steady_clock::time_point when)
{
	if (slept_ == sleeps_.size())
		return false;
	sleeps_[slept_++]();
	now_ = when;
	return true;
}

Exit World::run(const std::vector<std::string> &arguments)
{
	std::ostringstream out, err;

	::setenv("TZ", "UTC", 1);
	if (output_fails_)
		out.setstate(std::ios::badbit);
	const auto status = mpactl::run(arguments, *this, *this,
					{out, err, colour_});

	out_ = out.str();
	err_ = err.str();
	return status;
}

Exit World::run(const std::string &arguments)
{
	std::istringstream words(arguments);
	std::vector<std::string> split;

	for (std::string word; words >> word;)
		split.push_back(word);
	return run(split);
}

std::string World::output(const std::string &arguments)
{
	EXPECT_EQ(run(arguments), Exit::ok) << err_;
	EXPECT_EQ(err_, "");
	return out_;
}

Settings every_setting()
{
	Settings all;

	all.set(MPA_A_CONFIG_CRC, MPA_CONFIG_CRC_REQUIRED);
	all.set(MPA_A_CONFIG_MARKERS, 0);
	all.set(MPA_A_CONFIG_REVISION, MPA_REVISION_AUTO);
	all.set(MPA_A_CONFIG_PERMISSIVE, 0);
	all.set(MPA_A_CONFIG_EXCHANGE, MPA_EXCHANGE_ENHANCED);
	all.set(MPA_A_CONFIG_PEER_TO_PEER, 1);
	all.set(MPA_A_CONFIG_RTR, MPA_CONFIG_RTR_SEND | MPA_CONFIG_RTR_WRITE |
					  MPA_CONFIG_RTR_READ);
	all.set(MPA_A_CONFIG_IRD, 16382);
	all.set(MPA_A_CONFIG_ORD, 16382);
	all.set(MPA_A_CONFIG_STARTUP_TIMEOUT, 5000);
	all.set(MPA_A_CONFIG_REPLY_TIMEOUT, 30000);
	all.set(MPA_A_CONFIG_HALF_OPEN_MAX, 128);
	all.set(MPA_A_CONFIG_PACKING, 0);
	all.set(MPA_A_CONFIG_SEGMENTS, MPA_SEGMENTS_AUTO);
	all.set(MPA_A_CONFIG_FIRST_FPDU_TIMEOUT, 0);
	all.set(MPA_A_CONFIG_CLOSE_TIMEOUT, 1200000);
	all.set(MPA_A_CONFIG_LINGER_MAX, 8192);
	all.set(MPA_A_CONFIG_KEEPALIVE, 1);
	all.set(MPA_A_CONFIG_USER_QP_MAX, 8192);
	all.set(MPA_A_CONFIG_USER_CQ_MAX, 16384);
	all.set(MPA_A_CONFIG_USER_MR_MAX, 131072);
	all.set(MPA_A_CONFIG_USER_PD_MAX, 1024);
	all.set(MPA_A_CONFIG_USER_RINGS_MAX, 4096);
	all.set(MPA_A_CONFIG_RDMAP_EXTENSIONS, MPA_RDMAP_EXTENSIONS_NEGOTIATE);
	all.set(MPA_A_CONFIG_RECEIVE_WAIT, 0);
	all.set(MPA_A_CONFIG_PEER_TIMEOUT, 0);
	all.set(MPA_A_CONFIG_PORT_MAPPING, 1);
	all.set(MPA_A_CONFIG_EARLY_PLACEMENT, 0);
	all.set(MPA_A_CONFIG_RTO_MIN, 0);
	all.set(MPA_A_CONFIG_STARTUP, MPA_CONFIG_STARTUP_FRAMES);
	all.set(MPA_A_CONFIG_FRAMING, 1);
	return all;
}

std::vector<std::uint8_t> bytes(std::initializer_list<int> values)
{
	return {values.begin(), values.end()};
}

namespace {

Device some_device(std::uint32_t index, const char *name, const char *netdev)
{
	Device device;

	device.index = index;
	device.name = name;
	device.ifindex = index + 2;
	device.ifname = netdev;
	device.active = index == 0;
	device.ird_max = 128;
	device.ord_max = 128;
	device.rtr = 7;
	device.config.in_force = every_setting();
	device.config.in_force.set(MPA_A_CONFIG_IRD, 128);
	device.config.in_force.set(MPA_A_CONFIG_ORD, 128);
	return device;
}

Connection device_connection()
{
	Connection one;

	one.id = 17;
	one.owner = MPA_OWNER_DEVICE;
	one.dev_index = 0;
	one.qpn = 5;
	one.local = {bytes({10, 77, 0, 1}), 40312, 0};
	one.remote = {bytes({10, 77, 0, 2}), 7174, 0};
	one.phase = MPA_PHASE_OPERATIONAL;
	one.initiator = true;
	one.age_ms = 185000;
	one.agreed = Agreement{2, 1, true, true, MPA_CONFIG_RTR_READ, false, true,
			       true, 8, 16, 16, 8, true};
	one.mulpdu = 1440;
	one.emss = 1448;
	one.code = MPA_CODE_NONE;
	one.err = 0;
	one.stats = {{MPA_A_CONN_STATS_TX_FPDUS, 1000},
		     {MPA_A_CONN_STATS_TX_BYTES, 1258291},
		     {MPA_A_CONN_STATS_RX_BYTES, 900}};
	return one;
}

Connection socket_connection()
{
	Connection one;

	one.id = 18;
	one.owner = MPA_OWNER_SOCKET;
	one.listen_id = 4;
	one.uid = 1000;
	one.inode = 98765;
	one.local = {bytes({0xfd, 0x77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}),
		     7000, 0};
	one.remote = {bytes({0xfd, 0x77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
			      2}),
		      50001, 0};
	one.phase = MPA_PHASE_EXITED;
	one.initiator = false;
	one.age_ms = 950;
	one.code = MPA_CODE_STARTUP;
	one.err = EPROTO;
	one.term_sent = Terminate{2, 0, 3};
	return one;
}

} // namespace

void furnish(Mpa &mpa)
{
	Listener of_device, of_socket;

	mpa.namespace_.config.in_force = every_setting();
	mpa.namespace_.config.in_force.set(MPA_A_CONFIG_STARTUP_TIMEOUT, 2000);
	mpa.namespace_.config.own = Settings::bit(MPA_A_CONFIG_STARTUP_TIMEOUT);
	mpa.namespace_.counters = {{"attached", 12}, {"failures", 0}};
	mpa.devices_ = {some_device(0, "mpa1", "eth0"),
			some_device(1, "mpa10", "enp3s0f1")};
	auto &device = mpa.devices_[0];

	device.conns = 1;
	device.listeners = 1;
	device.config.in_force.set(MPA_A_CONFIG_STARTUP_TIMEOUT, 2000);
	device.config.in_force.set(MPA_A_CONFIG_CRC,
				   MPA_CONFIG_CRC_PREFERRED_OFF);
	device.config.own = Settings::bit(MPA_A_CONFIG_CRC);
	device.counters = {{"tx_fpdus", 1000}, {"tx_bytes", 1258291}};
	of_device.id = 3;
	of_device.owner = MPA_OWNER_DEVICE;
	of_device.dev_index = 0;
	of_device.local = {bytes({0, 0, 0, 0}), 7174, 0};
	of_device.backlog = 10;
	of_device.half_open = 2;
	of_device.config.in_force = device.config.in_force;
	of_device.config.in_force.set(MPA_A_CONFIG_MARKERS, 1);
	of_device.config.own = Settings::bit(MPA_A_CONFIG_MARKERS);
	of_socket.id = 4;
	of_socket.owner = MPA_OWNER_SOCKET;
	of_socket.uid = 1000;
	of_socket.local = {std::vector<std::uint8_t>(16), 7000, 0};
	of_socket.backlog = 128;
	of_socket.config.in_force = mpa.namespace_.config.in_force;
	mpa.listeners_ = {of_device, of_socket};
	mpa.connections_ = {device_connection(), socket_connection()};
}

} // namespace fake
