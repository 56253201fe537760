/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "commands/state.hpp"

#include <algorithm>
#include <iterator>
#include <set>

#include <fmt/format.h>
#include <net/if.h>

#include "base/error.hpp"
#include "base/words.hpp"
#include "model/settings.hpp"
#include "show/views.hpp"

namespace mpactl {

namespace {

constexpr int file_version = 1;
// Like names in the RDMA core, without the NUL.
constexpr std::size_t name_max = 63;
constexpr std::size_t netdev_max = IFNAMSIZ - 1;

// A position in a file, for error messages.
class Spot {
public:
	Spot(std::string file, std::string path)
		: file_(std::move(file)), path_(std::move(path))
	{
	}

	Spot at(std::string_view key) const
	{
		return {file_, path_.empty() ? std::string(key)
					     : fmt::format("{}.{}", path_, key)};
	}

	Spot at(std::size_t index) const
	{
		return {file_, fmt::format("{}[{}]", path_, index)};
	}

	[[noreturn]] void wrong(const std::string &why) const
	{
		throw UsageError(path_.empty()
					 ? fmt::format("{}: {}", file_, why)
					 : fmt::format("{}: {}: {}", file_, path_,
						       why));
	}

private:
	std::string file_;
	std::string path_;
};

// A file that is valid has half of them.
constexpr int levels_max = 8;

// Refuses duplicate keys, which nlohmann-json accepts, and deep nesting, because Json::dump()
// calls itself for each level.
class Keys {
public:
	// depth: number of objects and arrays around the event.
	bool operator()(int depth, Json::parse_event_t event, Json &json)
	{
		if (depth >= levels_max && (event == Json::parse_event_t::object_start ||
					    event == Json::parse_event_t::array_start))
			throw UsageError(fmt::format("more than {} levels of nesting",
						     levels_max));
		if (event == Json::parse_event_t::object_start)
			open_.emplace_back();
		if (event == Json::parse_event_t::object_end)
			open_.pop_back();
		if (event == Json::parse_event_t::key &&
		    !open_.back().insert(json.get<std::string>()).second)
			throw UsageError(fmt::format("'{}' occurs twice",
						     json.get<std::string>()));
		return true;
	}

private:
	std::vector<std::set<std::string>> open_;
};

// The message without the number and the name that the library gives the error.
std::string parse_message(const Json::exception &error)
{
	std::string_view text = error.what();

	if (const auto end = text.find("] "); end != text.npos)
		text.remove_prefix(end + 2);
	if (text.starts_with("parse error at "))
		text.remove_prefix(std::string_view("parse error at ").size());
	return std::string(text);
}

Json parse(std::string_view text, const std::string &file)
try {
	return Json::parse(text, [keys = Keys()](int depth, auto event,
						 Json &json) mutable {
		return keys(depth, event, json);
	});
} catch (const Json::exception &error) {
	// A parse_error, or an out_of_range: a number is too large for any type.
	throw UsageError(file + ": " + parse_message(error));
} catch (const UsageError &error) {
	throw UsageError(file + ": " + error.what());
}

void need_object(const Json &json, const Spot &spot)
{
	if (!json.is_object())
		spot.wrong("must be an object");
}

// Refuses all keys but these.
void check_keys(const Json &json, const std::vector<std::string_view> &known,
		const Spot &spot)
{
	for (const auto &[key, value] : json.items()) {
		if (std::find(known.begin(), known.end(), key) != known.end())
			continue;
		spot.at(key).wrong("unknown key" + choices(key, known));
	}
}

std::string text_at(const Json &json, const char *key, std::size_t max,
		    const Spot &spot)
{
	if (!json.contains(key))
		spot.at(key).wrong("is missing");
	const auto &value = json[key];

	if (!value.is_string())
		spot.at(key).wrong("must be a string");
	auto text = value.get<std::string>();

	if (text.empty() || text.size() > max ||
	    text.find('\0') != text.npos)
		spot.at(key).wrong(
			fmt::format("must have 1 .. {} characters", max));
	return text;
}

Settings settings_from(const Json &json, const Spot &spot)
{
	Settings values;
	std::vector<std::string_view> known;

	need_object(json, spot);
	for (const auto &setting : settings())
		known.push_back(setting.json);
	check_keys(json, known, spot);
	for (const auto &setting : settings()) {
		if (!json.contains(setting.json))
			continue;
		try {
			values.set(setting.key,
				   value_from_json(setting, json[setting.json]));
		} catch (const UsageError &error) {
			spot.at(setting.json).wrong(error.what());
		}
	}
	return values;
}

SavedDevice device_from(const Json &json, const Spot &spot)
{
	SavedDevice device;

	need_object(json, spot);
	check_keys(json, {"name", "netdev", "config"}, spot);
	device.name = text_at(json, "name", name_max, spot);
	device.netdev = text_at(json, "netdev", netdev_max, spot);
	if (json.contains("config"))
		device.own = settings_from(json["config"], spot.at("config"));
	return device;
}

std::vector<SavedDevice> devices_from(const Json &json, const Spot &spot)
{
	std::vector<SavedDevice> devices;
	std::set<std::string> names;

	if (!json.is_array())
		spot.wrong("must be an array");
	for (std::size_t i = 0; i < json.size(); i++) {
		devices.push_back(device_from(json[i], spot.at(i)));
		if (!names.insert(devices.back().name).second)
			spot.at(i).at("name").wrong("occurs twice");
	}
	std::sort(devices.begin(), devices.end(),
		  [](const auto &a, const auto &b) { return a.name < b.name; });
	return devices;
}

void add_differences(const Target &target, const Settings &from,
		     const Settings &to, std::vector<Difference> &all)
{
	for (const auto &setting : settings()) {
		const auto key = setting.key;

		if (to.has(key) && !from.has(key))
			all.push_back({target, Difference::What::added, {}, key, 0,
				       to.at(key)});
		else if (to.has(key) && from.at(key) != to.at(key))
			all.push_back({target, Difference::What::changed, {}, key,
				       from.at(key), to.at(key)});
		else if (!to.has(key) && from.has(key))
			all.push_back({target, Difference::What::reset, {}, key,
				       from.at(key), 0});
	}
}

const SavedDevice *find(const State &state, const std::string &name)
{
	for (const auto &device : state.devices)
		if (device.name == name)
			return &device;
	return nullptr;
}

void check_netdev(const SavedDevice &from, const SavedDevice &to)
{
	if (from.netdev != to.netdev)
		throw Error(Exit::refused,
			    fmt::format("device {} is at {}, not at {}; restore "
					"does not move devices",
					from.name, from.netdev, to.netdev));
}

} // namespace

State current_state(const Context &context)
{
	const auto defaults = context.mpa().defaults().config;
	State state{defaults.own_settings(), {}};

	const auto devices = context.mpa().devices();
	// A device that is missing would be missing at the next boot.
	if (devices.interrupted)
		throw Error(Exit::refused,
			    "devices come and go: their list may be incomplete");
	for (const auto &device : devices.items)
		state.devices.push_back({device.name, device.ifname,
					 device.config.own_settings()});
	std::sort(state.devices.begin(), state.devices.end(),
		  [](const auto &a, const auto &b) { return a.name < b.name; });
	return state;
}

Json state_json(const State &state)
{
	Json devices = Json::array();

	for (const auto &device : state.devices)
		devices.push_back({{"name", device.name},
				   {"netdev", device.netdev},
				   {"config", settings_json(device.own)}});
	return {{"version", file_version},
		{"defaults", settings_json(state.defaults)},
		{"devices", std::move(devices)}};
}

State state_from(std::string_view text, const std::string &file)
{
	const auto json = parse(text, file);
	const Spot top(file, "");
	State state;

	need_object(json, top);
	if (!json.contains("version"))
		top.at("version").wrong("is missing");
	if (json["version"] != file_version)
		top.at("version").wrong(fmt::format("must be {}", file_version));
	check_keys(json, {"version", "defaults", "devices"}, top);
	if (json.contains("defaults"))
		state.defaults = settings_from(json["defaults"],
					       top.at("defaults"));
	if (json.contains("devices"))
		state.devices = devices_from(json["devices"], top.at("devices"));
	return state;
}

State defaults_of(const State &state)
{
	return {state.defaults, {}};
}

State devices_at(const State &state, const std::string &netdev)
{
	State part;

	std::ranges::copy_if(state.devices, std::back_inserter(part.devices),
			     [&](const SavedDevice &device) {
				     return device.netdev == netdev;
			     });
	return part;
}

std::vector<Difference> differences(const State &from, const State &to)
{
	std::vector<Difference> all;

	add_differences({}, from.defaults, to.defaults, all);
	for (const auto &device : to.devices) {
		const auto *now = find(from, device.name);
		const auto target = Target::device(device.name);

		if (now)
			check_netdev(*now, device);
		else
			all.push_back({target, Difference::What::created,
				       device.netdev});
		add_differences(target, now ? now->own : Settings(), device.own,
				all);
	}
	for (const auto &device : from.devices)
		if (!find(to, device.name))
			add_differences(Target::device(device.name), device.own,
					{}, all);
	return all;
}

std::vector<Change> changes_of(const std::vector<Difference> &differences)
{
	std::vector<Change> changes;

	for (const auto &one : differences) {
		if (one.what == Difference::What::created)
			continue;
		if (changes.empty() || changes.back().target != one.target)
			changes.push_back({one.target, {}, 0});
		if (one.what == Difference::What::reset)
			changes.back().inherit |= Settings::bit(one.key);
		else
			changes.back().to.set(one.key, one.after);
	}
	return changes;
}

} // namespace mpactl
