// SPDX-License-Identifier: GPL-2.0-only
//
// Settings of the family, and the objects that have them.
#pragma once

#include <array>

#include "client.hpp"

namespace nl {

// A setting: its range, and its built-in value.
struct Setting {
	int attr;
	const char *name;
	std::uint32_t min;
	std::uint32_t max;
	std::uint32_t builtin;
	bool devices = true; // can be set there
	bool listeners = true;
};

inline constexpr std::array settings{
	Setting{MPA_A_CONFIG_CRC, "crc", 0, 1, 1},
	Setting{MPA_A_CONFIG_MARKERS, "markers", 0, 1, 0},
	Setting{MPA_A_CONFIG_REVISION, "revision", 0, 3, 3},
	Setting{MPA_A_CONFIG_PERMISSIVE, "permissive", 0, 1, 0},
	Setting{MPA_A_CONFIG_EXCHANGE, "exchange", 0, 1, 1},
	Setting{MPA_A_CONFIG_PEER_TO_PEER, "peer-to-peer", 0, 1, 1},
	Setting{MPA_A_CONFIG_RTR, "rtr", 1, 7, 7},
	Setting{MPA_A_CONFIG_IRD, "ird", 0, 16382, 16382},
	Setting{MPA_A_CONFIG_ORD, "ord", 0, 16382, 16382},
	Setting{MPA_A_CONFIG_STARTUP_TIMEOUT, "startup-timeout", 100, 3600000, 5000},
	Setting{MPA_A_CONFIG_REPLY_TIMEOUT, "reply-timeout", 100, 3600000, 30000},
	Setting{MPA_A_CONFIG_HALF_OPEN_MAX, "half-open-max", 1, 65536, 128},
	Setting{MPA_A_CONFIG_PACKING, "packing", 0, 1, 0, false},
	Setting{MPA_A_CONFIG_SEGMENTS, "segments", 0, 2, 1},
	Setting{MPA_A_CONFIG_FIRST_FPDU_TIMEOUT, "first-fpdu-timeout", 0, 3600000, 0},
	Setting{MPA_A_CONFIG_CLOSE_TIMEOUT, "close-timeout", 100, 3600000, 1200000},
	Setting{MPA_A_CONFIG_LINGER_MAX, "linger-max", 1, 65536, 8192},
	Setting{MPA_A_CONFIG_KEEPALIVE, "keepalive", 0, 1, 1},
	Setting{MPA_A_CONFIG_USER_QP_MAX, "user-qp-max", 1, 65536, 8192, true, false},
	Setting{MPA_A_CONFIG_USER_CQ_MAX, "user-cq-max", 1, 65536, 16384, true, false},
	Setting{MPA_A_CONFIG_USER_MR_MAX, "user-mr-max", 1, 1048576, 131072, true, false},
	Setting{MPA_A_CONFIG_USER_PD_MAX, "user-pd-max", 1, 65536, 1024, true, false},
	Setting{MPA_A_CONFIG_USER_RINGS_MAX, "user-rings-max", 1, 1048576, 4096, true, false},
	Setting{MPA_A_CONFIG_RDMAP_EXTENSIONS, "rdmap-extensions", 0, 2, 1},
	Setting{MPA_A_CONFIG_RECEIVE_WAIT, "receive-wait", 0, 60000, 0},
	Setting{MPA_A_CONFIG_PEER_TIMEOUT, "peer-timeout", 0, 3600000, 0},
	Setting{MPA_A_CONFIG_PORT_MAPPING, "port-mapping", 0, 1, 1, true, false},
	Setting{MPA_A_CONFIG_EARLY_PLACEMENT, "early-placement", 0, 1, 0},
	Setting{MPA_A_CONFIG_RTO_MIN, "rto-min", 0, 200, 0},
	Setting{MPA_A_CONFIG_STARTUP, "startup", 0, 2, 0},
	Setting{MPA_A_CONFIG_FRAMING, "framing", 0, 1, 1, false},
};
static_assert(settings.size() == MPA_A_CONFIG_MAX);

// An object as a selector; empty: the defaults of the namespace.
struct Object {
	std::string name;
	int nest = 0;
	Attrs selector{};
	// The name of the device whose limits apply, if any.
	std::string limited{};

	Request get() const;
};

Object defaults();
Object device(const std::string &name);
Object listener(std::uint32_t id, const std::string &device = "");

// A change for this object.
Attrs change(const Object &object, const Attrs &config, std::uint32_t inherit = 0);
Request set(const Attrs &changes, bool check = false);

// All effective values, by number, and the set of those that the object has
// itself.
struct State {
	std::array<std::uint32_t, MPA_A_CONFIG_MAX + 1> values{};
	std::uint32_t own = 0;

	bool operator==(const State &) const = default;
};
std::ostream &operator<<(std::ostream &out, const State &state);

State state_of(const Got &got);
State state_of(Client &client, const Object &object);

// Sets one value, which must succeed and report that it applies to new
// connections only.
void set_one(Client &client, const Object &object, int attr, std::uint32_t value);
void inherit(Client &client, const Object &object, std::uint32_t bits);

// Resets every setting to the inherited value, at construction and destruction.
class Restored {
public:
	Restored(Client &client, Object object);
	~Restored();
	Restored(const Restored &) = delete;
	Restored &operator=(const Restored &) = delete;

private:
	Client &client_;
	Object object_;
};

} // namespace nl
