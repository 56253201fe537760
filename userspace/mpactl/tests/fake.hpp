/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// A fake kernel, clock and terminal. Commands run as from a shell, and tests compare
// their output.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "app.hpp"

namespace fake {

using namespace mpactl;

// The objects of the kernel, its refusals, and the requests that it received.
class Mpa : public Transport {
public:
	Defaults defaults() override;
	Device device(const std::string &name) override;
	Listing<Device> devices() override;
	Listener listener(std::uint32_t id) override;
	Listing<Listener> listeners() override;
	Connection connection(std::uint32_t id) override;
	Listing<Connection> connections() override;
	std::string change(std::span<const Change> changes, bool check) override;
	std::unique_ptr<Events> events() override;

	// The objects. A device that has config.as_set limits what is in force.
	Defaults namespace_;
	std::vector<Device> devices_;
	std::vector<Listener> listeners_;
	std::vector<Connection> connections_;
	bool interrupted_ = false;
	// Returned by events(), followed by Stopped.
	std::deque<Notice> notices_;
	// Called by devices(); can throw.
	std::function<void()> fault_;
	// Changes are refused with this.
	std::optional<Refusal> refusal_;
	// Changes are acknowledged with this.
	std::string remark_;
	// Called by change() after it has applied everything.
	std::function<void()> changed_;
	// Every call of change().
	std::vector<std::vector<Change>> asked_;
	std::vector<bool> checks_;

private:
	void apply(const Change &change);
	void limit(Device &device) const;
};

class RdmaCore : public Rdma {
public:
	explicit RdmaCore(Mpa &mpa) : mpa_(mpa) {}

	std::vector<RdmaDevice> devices() override;
	bool has_netdev(const std::string &name) override
	{
		return !absent_.contains(name);
	}
	void add(const std::string &name, const std::string &netdev) override;
	void remove(const std::string &name) override;

	// Network devices that do not exist.
	std::set<std::string> absent_;
	// Refusals by name of the device.
	std::map<std::string, Refusal> add_refusals_;
	std::map<std::string, Refusal> remove_refusals_;
	// "add mpa1 eth0", "remove mpa1".
	std::vector<std::string> calls_;
	// Called behind each add().
	std::function<void()> added_;

private:
	Mpa &mpa_;
};

class World : public Kernel, public Clock {
public:
	World() : rdma_(mpa_) {}

	Transport &mpa() override;
	Rdma &rdma() override { return rdma_; }
	std::string module_release() override { return release_; }

	std::chrono::system_clock::time_point wall() override;
	std::chrono::steady_clock::time_point steady() override { return now_; }
	bool sleep_until(std::chrono::steady_clock::time_point when) override;

	// Runs "mpactl ARGUMENTS", words separated by blanks.
	Exit run(const std::string &arguments);
	Exit run(const std::vector<std::string> &arguments);
	// Standard output of a run that must succeed.
	std::string output(const std::string &arguments);

	Mpa mpa_;
	RdmaCore rdma_;
	bool loaded_ = true;
	std::string release_ = MPA_VERSION;
	bool colour_ = false;
	// Called during each sleep. The sleep after the last one is interrupted.
	std::vector<std::function<void()>> sleeps_;
	// Standard output cannot be written.
	bool output_fails_ = false;
	// Of the last run.
	std::string out_;
	std::string err_;

private:
	std::size_t slept_ = 0;
	std::chrono::steady_clock::time_point now_{};
};

// Adds two devices, and a listener and a connection of each kind.
void furnish(Mpa &mpa);
Settings every_setting();
std::vector<std::uint8_t> bytes(std::initializer_list<int> values);

} // namespace fake
