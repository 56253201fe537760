/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// The objects of a network namespace as values. The numbers are those of
// <linux/mpa_netlink.h>; names.hpp and settings.hpp have the words for them.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <linux/mpa_netlink.h>
#include <linux/tcp_framing.h>

namespace mpactl {

// A set of settings and their values.
class Settings {
public:
	static constexpr std::uint32_t bit(unsigned int key) { return 1u << key; }

	// Bits 1 << MPA_A_CONFIG_* of the settings that have a value.
	std::uint32_t mask() const { return mask_; }
	bool empty() const { return mask_ == 0; }
	bool has(unsigned int key) const { return mask_ & bit(key); }
	std::uint32_t at(unsigned int key) const { return value_.at(key); }

	void set(unsigned int key, std::uint32_t value)
	{
		value_.at(key) = value;
		mask_ |= bit(key);
	}

	void drop(unsigned int key)
	{
		value_.at(key) = 0;
		mask_ &= ~bit(key);
	}

	// The settings whose bits are set in `mask`.
	Settings only(std::uint32_t mask) const
	{
		Settings some = *this;

		for (unsigned int key = 1; key <= MPA_A_CONFIG_MAX; key++)
			if (!(mask & bit(key)))
				some.drop(key);
		return some;
	}

	bool operator==(const Settings &) const = default;

private:
	std::uint32_t mask_ = 0;
	std::array<std::uint32_t, MPA_A_CONFIG_MAX + 1> value_{};
};

// The settings that an object uses.
struct Config {
	Settings in_force;
	// Bits 1 << MPA_A_CONFIG_* of the settings that were set at the object
	// itself.
	std::uint32_t own = 0;
	// Of a device: these settings as they were set. It limits what is in force. Not
	// from modules that are older than the attribute.
	std::optional<Settings> as_set;

	Settings own_settings() const { return as_set ? *as_set : in_force.only(own); }

	bool operator==(const Config &) const = default;
};

struct Counter {
	std::string name;
	std::uint64_t value = 0;

	bool operator==(const Counter &) const = default;
};

struct Defaults {
	Config config;
	std::vector<Counter> counters;

	bool operator==(const Defaults &) const = default;
};

struct Device {
	std::uint32_t index = 0;
	std::string name;
	std::uint32_t ifindex = 0;
	std::string ifname;
	bool active = false;
	std::uint32_t ird_max = 0;
	std::uint32_t ord_max = 0;
	// Set of enum mpa_config_rtr.
	std::uint32_t rtr = 0;
	std::uint32_t conns = 0;
	std::uint32_t listeners = 0;
	Config config;
	std::vector<Counter> counters;

	bool operator==(const Device &) const = default;
};

// An IP address and port.
struct Endpoint {
	// 4 or 16, as received; empty: unknown.
	std::vector<std::uint8_t> bytes;
	// Host byte order.
	std::uint16_t port = 0;
	// Interface of a link-local address, or 0.
	std::uint32_t scope = 0;

	bool operator==(const Endpoint &) const = default;
};

struct Listener {
	std::uint32_t id = 0;
	std::uint32_t owner = 0;
	std::optional<std::uint32_t> dev_index;
	Endpoint local;
	std::uint32_t backlog = 0;
	std::optional<std::uint32_t> half_open;
	std::optional<std::uint32_t> uid;
	Config config;

	bool operator==(const Listener &) const = default;
};

// The result of the startup exchange.
struct Agreement {
	std::uint32_t revision = 0;
	std::uint32_t ddp_version = 0;
	bool enhanced = false;
	bool peer_to_peer = false;
	std::uint32_t rtr = 0;
	bool tx_markers = false;
	bool rx_markers = false;
	bool crc = false;
	std::uint32_t ird = 0;
	std::uint32_t ord = 0;
	std::uint32_t peer_ird = 0;
	std::uint32_t peer_ord = 0;
	bool rdmap_extensions = false;
	bool start_key = false;

	bool operator==(const Agreement &) const = default;
};

// MPA_A_CONN_FRAMING: TUF, linux/tcp_framing.h.
struct Framing {
	std::uint32_t mode = 0;
	std::uint32_t flags = 0;
	std::uint32_t emss = 0;
	std::uint32_t send_interval = 0;
	std::uint32_t recv_interval = 0;
	// By MPA_A_FRAMING_*, as far as the kernel has sent them.
	std::vector<std::pair<unsigned int, std::uint64_t>> stats;

	bool operator==(const Framing &) const = default;
};

// MPA_A_CONN_TERM_SENT and its kind.
struct Terminate {
	std::uint32_t layer = 0;
	std::uint32_t type = 0;
	std::uint32_t code = 0;

	bool operator==(const Terminate &) const = default;
};

constexpr Terminate terminate_of(std::uint32_t packed)
{
	return {packed >> 12 & 0xf, packed >> 8 & 0xf, packed & 0xff};
}

struct Connection {
	std::uint32_t id = 0;
	std::uint32_t owner = 0;
	std::optional<std::uint32_t> dev_index;
	std::optional<std::uint32_t> qpn;
	std::optional<std::uint32_t> listen_id;
	std::optional<std::uint32_t> uid;
	std::optional<std::uint64_t> inode;
	Endpoint local;
	Endpoint remote;
	std::uint32_t phase = 0;
	// Absent before startup.
	std::optional<bool> initiator;
	std::uint64_t age_ms = 0;
	// Absent before full operation.
	std::optional<Agreement> agreed;
	// Only if it is not that of MPA.
	std::optional<Framing> framing;
	// Read while a program held the lock of the socket: values may not fit together.
	bool busy = false;
	std::optional<std::uint32_t> mulpdu;
	std::optional<std::uint32_t> emss;
	std::optional<std::uint32_t> code;
	std::optional<std::uint32_t> err;
	std::optional<Terminate> term_sent;
	std::optional<Terminate> term_received;
	// By MPA_A_CONN_STATS_*, as far as the kernel has sent them.
	std::vector<std::pair<unsigned int, std::uint64_t>> stats;

	bool operator==(const Connection &) const = default;
};

// The result of a dump, sorted by id.
template <typename T> struct Listing {
	std::vector<T> items;
	// Objects were added or removed during the dump, and during all earlier
	// attempts.
	bool interrupted = false;
};

// The namespace, a device or a listener.
struct Target {
	enum class Kind { defaults, device, listener };

	Kind kind = Kind::defaults;
	// Of a device.
	std::string name;
	// Of a listener.
	std::uint32_t id = 0;

	static Target device(std::string name)
	{
		return {Kind::device, std::move(name), 0};
	}

	static Target listener(std::uint32_t id)
	{
		return {Kind::listener, {}, id};
	}

	bool operator==(const Target &) const = default;
};

// A change to the settings of one object.
struct Change {
	Target target;
	Settings to;
	// Bits 1 << MPA_A_CONFIG_* of settings to inherit again.
	std::uint32_t inherit = 0;

	bool operator==(const Change &) const = default;
};

struct Failure {
	std::uint32_t kind = 0;
	std::uint32_t err = 0;
	std::optional<Terminate> term;
	// Failures since the last reported one that were not reported.
	std::uint32_t suppressed = 0;

	bool operator==(const Failure &) const = default;
};

// A notification.
struct Event {
	// MPA_CMD_*_NTF.
	std::uint8_t command = 0;
	std::optional<Device> device;
	std::optional<Listener> listener;
	std::optional<Connection> connection;
	// Of the namespace itself: MPA_CMD_CONFIG_NTF without device and listener.
	std::optional<Config> config;
	std::optional<Failure> failure;

	bool operator==(const Event &) const = default;
};

// Notifications that were lost because the receive buffer was full, or without a number,
// because the kernel had no memory for them.
struct Lost {
	std::optional<std::uint64_t> events;

	bool operator==(const Lost &) const = default;
};

// The user has requested a stop.
struct Stopped {
	bool operator==(const Stopped &) const = default;
};

using Notice = std::variant<Event, Lost, Stopped>;

} // namespace mpactl
