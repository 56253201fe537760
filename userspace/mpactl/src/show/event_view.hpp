/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// Events as lines and JSON.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "model/model.hpp"
#include "show/output.hpp"
#include "show/views.hpp"

namespace mpactl {

// The name of a notification, and the kind by which --kinds selects it.
struct EventName {
	std::uint8_t command;
	std::string_view name;
	std::string_view kind;
};

// nullptr if the notification is unknown.
const EventName *event_named(std::uint8_t command);

struct EventKind {
	std::string_view name;
	std::string_view help;
};

// In the order in which help lists them.
std::span<const EventKind> event_kinds();

class EventView : public View {
public:
	EventView(const Event &event, const DeviceNames &names,
		  std::chrono::system_clock::time_point when)
		: event_(event), names_(names), when_(when)
	{
	}

	Json json() const override;
	void text(Text &to) const override;

private:
	std::string connection_text() const;
	std::string listener_text() const;
	std::string config_text() const;
	std::string failure_text() const;
	std::string what() const;

	const Event &event_;
	const DeviceNames &names_;
	std::chrono::system_clock::time_point when_;
};

class LostView : public View {
public:
	LostView(Lost lost, std::chrono::system_clock::time_point when)
		: lost_(lost), when_(when)
	{
	}

	Json json() const override;
	void text(Text &to) const override;

private:
	Lost lost_;
	std::chrono::system_clock::time_point when_;
};

} // namespace mpactl
