/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// Counters and their rates, as text and JSON.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "model/model.hpp"
#include "show/output.hpp"

namespace mpactl {

// The counters of the namespace, a device or a connection.
struct Counted {
	enum class Kind { defaults, device, connection };

	Kind kind = Kind::defaults;
	// Name of the device.
	std::string name;
	// Id of the connection.
	std::uint32_t id = 0;
	std::vector<Counter> counters;

	// True if it is the same object; the counters can differ.
	bool same(const Counted &other) const
	{
		return kind == other.kind && name == other.name && id == other.id;
	}
};

class StatView : public View {
public:
	explicit StatView(std::vector<Counted> all) : all_(std::move(all)) {}

	Json json() const override;
	void text(Text &to) const override;

private:
	std::vector<Counted> all_;
};

// Rates between two readings of the counters.
class RateView : public View {
public:
	RateView(std::vector<Counted> before, std::vector<Counted> after,
		 std::chrono::duration<double> between,
		 std::chrono::system_clock::time_point when)
		: before_(std::move(before)), after_(std::move(after)),
		  seconds_(between.count()), when_(when)
	{
	}

	Json json() const override;
	void text(Text &to) const override;

private:
	// Per second; 0 if the counter did not exist before or was reset.
	double rate(const Counted &object, const Counter &counter) const;

	std::vector<Counted> before_;
	std::vector<Counted> after_;
	double seconds_;
	std::chrono::system_clock::time_point when_;
};

} // namespace mpactl
