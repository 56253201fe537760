/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// Counters, and what they do in time, as text and JSON.
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
	// Name of a device.
	std::string name;
	// Of a connection.
	std::uint32_t id = 0;
	std::vector<Counter> counters;

	// The same object, whatever it has counted.
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

// What was counted between two looks.
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
	// Per second; 0 for what was not there before, or has begun anew.
	double rate(const Counted &object, const Counter &counter) const;

	std::vector<Counted> before_;
	std::vector<Counted> after_;
	double seconds_;
	std::chrono::system_clock::time_point when_;
};

} // namespace mpactl
