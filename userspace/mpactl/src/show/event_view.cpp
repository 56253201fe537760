/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "show/event_view.hpp"

#include <fmt/format.h>

#include "base/time_text.hpp"
#include "model/names.hpp"
#include "model/settings.hpp"
#include "model/target.hpp"
#include "show/settings_view.hpp"

namespace mpactl {

namespace {

constexpr EventName event_names[] = {
	{MPA_CMD_CONN_UP_NTF, "conn-up", "conn"},
	{MPA_CMD_CONN_DOWN_NTF, "conn-down", "conn"},
	{MPA_CMD_DEV_ADD_NTF, "dev-add", "dev"},
	{MPA_CMD_DEV_CHANGE_NTF, "dev-change", "dev"},
	{MPA_CMD_DEV_DEL_NTF, "dev-del", "dev"},
	{MPA_CMD_LISTEN_ADD_NTF, "listen-add", "listen"},
	{MPA_CMD_LISTEN_DEL_NTF, "listen-del", "listen"},
	{MPA_CMD_CONFIG_NTF, "config", "config"},
	{MPA_CMD_FAILURE_NTF, "failure", "failure"},
};

constexpr EventKind kinds[] = {
	{"conn", "connections that begin or end"},
	{"dev", "devices that are added, changed or removed"},
	{"listen", "listeners that are added or removed"},
	{"config", "settings that are changed"},
	{"failure", "streams that are refused or fail"},
};

Style style_of(const Event &event)
{
	switch (event.command) {
	case MPA_CMD_CONN_UP_NTF:
	case MPA_CMD_DEV_ADD_NTF:
	case MPA_CMD_LISTEN_ADD_NTF:
		return Style::good;
	case MPA_CMD_CONN_DOWN_NTF:
	case MPA_CMD_DEV_DEL_NTF:
	case MPA_CMD_LISTEN_DEL_NTF:
		return Style::warn;
	case MPA_CMD_FAILURE_NTF:
		return Style::bad;
	default:
		return Style::plain;
	}
}

Target target_of(const Event &event)
{
	if (event.device)
		return Target::device(event.device->name);
	if (event.listener)
		return Target::listener(event.listener->id);
	return {};
}

const Config &config_of(const Event &event)
{
	static const Config none;

	if (event.device)
		return event.device->config;
	if (event.listener)
		return event.listener->config;
	return event.config ? *event.config : none;
}

Json failure_json(const Failure &failure)
{
	Json json{{"kind", word_for(failure_words, failure.kind)},
		  {"err", failure.err ? errno_text(failure.err) : ""}};

	if (failure.term)
		json["term"] = terminate_json(*failure.term);
	json["suppressed"] = failure.suppressed;
	return json;
}

// A summary of the negotiated parameters.
std::string agreed_text(const Agreement &agreed)
{
	return fmt::format("revision {}{}{}{}", agreed.revision,
			   agreed.crc ? "" : ", no CRC",
			   agreed.tx_markers || agreed.rx_markers ? ", Markers"
								  : "",
			   agreed.peer_to_peer ? ", peer-to-peer" : "");
}

} // namespace

const EventName *event_named(std::uint8_t command)
{
	for (const auto &name : event_names)
		if (name.command == command)
			return &name;
	return nullptr;
}

std::span<const EventKind> event_kinds()
{
	return kinds;
}

Json EventView::json() const
{
	const auto *name = event_named(event_.command);
	Json json{{"event", name ? std::string(name->name)
				 : std::to_string(event_.command)},
		  {"time", unix_seconds(when_)}};

	// The settings identify the changed object.
	if (event_.command == MPA_CMD_CONFIG_NTF) {
		json.update(config_json(target_of(event_), config_of(event_)));
		return json;
	}
	if (event_.device)
		json["dev"] = device_json(*event_.device);
	if (event_.listener)
		json["listen"] = listener_json(*event_.listener, names_);
	if (event_.connection)
		json["conn"] = connection_json(*event_.connection, names_);
	if (event_.failure)
		json["failure"] = failure_json(*event_.failure);
	return json;
}

std::string EventView::connection_text() const
{
	const auto &one = *event_.connection;
	auto text = fmt::format(
		"connection {}: {} {} {}, {}", one.id, endpoint_text(one.local),
		one.initiator.value_or(true) ? "->" : "<-",
		endpoint_text(one.remote),
		owner_text(one.owner, one.dev_index, one.uid, names_));

	if (one.agreed && event_.command == MPA_CMD_CONN_UP_NTF)
		text += ", " + agreed_text(*one.agreed);
	if (event_.command != MPA_CMD_CONN_DOWN_NTF)
		return text;
	text += fmt::format(
		", after {}, {} sent, {} received", age_text(one.age_ms),
		bytes_text(static_cast<double>(
			stat_of(one, MPA_A_CONN_STATS_TX_BYTES))),
		bytes_text(static_cast<double>(
			stat_of(one, MPA_A_CONN_STATS_RX_BYTES))));
	if (const auto end = end_text(one); !end.empty())
		text += ", by " + end;
	return text;
}

std::string EventView::listener_text() const
{
	const auto &one = *event_.listener;

	return fmt::format("listener {}: {}, {}", one.id, endpoint_text(one.local),
			   owner_text(one.owner, one.dev_index, one.uid, names_));
}

std::string EventView::config_text() const
{
	const auto &config = config_of(event_);
	auto text = target_text(target_of(event_)) + ":";

	for (const auto &setting : settings())
		if (config.own & Settings::bit(setting.key) &&
		    config.in_force.has(setting.key))
			text += fmt::format(
				" {} {}", setting.name,
				value_text(setting,
					   config.in_force.at(setting.key)));
	return config.own ? text : text + " all inherited";
}

std::string EventView::failure_text() const
{
	const auto &failure = *event_.failure;
	auto text = word_for(failure_words, failure.kind);

	if (failure.err)
		text += fmt::format(" ({})", errno_text(failure.err));
	if (failure.term)
		text += ", " + terminate_text(*failure.term);
	if (event_.connection)
		text += ", " + connection_text();
	else if (event_.listener)
		text += ", " + listener_text();
	if (failure.suppressed)
		text += fmt::format(", {} more not reported", failure.suppressed);
	return text;
}

std::string EventView::what() const
{
	if (event_.command == MPA_CMD_CONFIG_NTF)
		return config_text();
	if (event_.failure)
		return failure_text();
	if (event_.connection)
		return connection_text();
	if (event_.listener)
		return listener_text();
	if (event_.device)
		return fmt::format("device {} at {}", event_.device->name,
				   event_.device->ifname);
	return "";
}

void EventView::text(Text &to) const
{
	const auto *name = event_named(event_.command);

	to.line({{clock_text(when_), Style::dim},
		 {fmt::format("{:<10}", name ? std::string(name->name)
					     : std::to_string(event_.command)),
		  style_of(event_)},
		 {what()}});
}

Json LostView::json() const
{
	Json json{{"event", "lost"}, {"time", unix_seconds(when_)}};

	if (lost_.events)
		json["count"] = *lost_.events;
	return json;
}

void LostView::text(Text &to) const
{
	to.line({{clock_text(when_), Style::dim},
		 {lost_.events ? fmt::format("{} events lost", *lost_.events)
			       : "events lost",
		  Style::bad}});
}

} // namespace mpactl
