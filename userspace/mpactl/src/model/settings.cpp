/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "model/settings.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/words.hpp"

namespace mpactl {

namespace {

using Kind = Setting::Kind;

constexpr std::uint32_t rtr_all =
	MPA_CONFIG_RTR_SEND | MPA_CONFIG_RTR_WRITE | MPA_CONFIG_RTR_READ;

// The bounds are those of <linux/mpa_netlink.h>. The table is created at first use,
// because it needs words that another source defines.
std::vector<Setting> make_table()
{
	const std::vector<Word> crc_words = {
		{MPA_CONFIG_CRC_REQUIRED, "required"},
		{MPA_CONFIG_CRC_PREFERRED_OFF, "off"},
	};
	const std::vector<Word> toggle_words = {{0, "off"}, {1, "on"}};
	const std::vector<Word> revision_words = {
		{MPA_REVISION_AUTO, "auto"},
		{MPA_REVISION_0, "0"},
		{MPA_REVISION_1, "1"},
		{MPA_REVISION_2, "2"},
	};
	const std::vector<Word> exchange_words = {
		{MPA_EXCHANGE_ENHANCED, "enhanced"},
		{MPA_EXCHANGE_PLAIN, "plain"},
	};
	const std::vector<Word> startup_words = {
		{MPA_CONFIG_STARTUP_FRAMES, "frames"},
		{MPA_CONFIG_STARTUP_START_KEY, "start-key"},
		{MPA_CONFIG_STARTUP_EITHER, "either"},
	};
	const std::vector<Word> segments_words = {
		{MPA_SEGMENTS_AUTO, "auto"},
		{MPA_SEGMENTS_SINGLE, "single"},
		{MPA_SEGMENTS_LONE, "lone"},
	};
	const std::vector<Word> extensions_words = {
		{MPA_RDMAP_EXTENSIONS_OFF, "off"},
		{MPA_RDMAP_EXTENSIONS_NEGOTIATE, "negotiate"},
		{MPA_RDMAP_EXTENSIONS_ON, "on"},
	};

	return {
		{MPA_A_CONFIG_CRC, Kind::word, "crc", "crc", 0, 1, crc_words,
		 "always use CRCs, or none if the peer also prefers none"},
		{MPA_A_CONFIG_MARKERS, Kind::toggle, "markers", "markers", 0, 1,
		 toggle_words, "request Markers from the peer"},
		{MPA_A_CONFIG_REVISION, Kind::word, "revision", "revision", 0, 3,
		 revision_words, "revision of MPA"},
		{MPA_A_CONFIG_PERMISSIVE, Kind::toggle, "permissive",
		 "permissive", 0, 1, toggle_words, "accept peers of revision 0, too"},
		{MPA_A_CONFIG_EXCHANGE, Kind::word, "exchange", "exchange", 0, 1,
		 exchange_words,
		 "whether Initiators of devices send their Read depths"},
		{MPA_A_CONFIG_PEER_TO_PEER, Kind::toggle, "peer-to-peer",
		 "peer_to_peer", 0, 1, toggle_words,
		 "whether Initiators of devices request peer-to-peer mode"},
		{MPA_A_CONFIG_RTR, Kind::set, "rtr", "rtr", 1, rtr_all, rtr_words,
		 "ways to open a stream in peer-to-peer mode"},
		{MPA_A_CONFIG_IRD, Kind::number, "ird", "ird", 0, 16382, {},
		 "maximum number of outstanding Read Requests that are accepted"},
		{MPA_A_CONFIG_ORD, Kind::number, "ord", "ord", 0, 16382, {},
		 "maximum number of outstanding Read Requests that are sent"},
		{MPA_A_CONFIG_STARTUP_TIMEOUT, Kind::duration, "startup-timeout",
		 "startup_timeout", 100, 3600000, {},
		 "time limit for the peer's part of startup"},
		{MPA_A_CONFIG_REPLY_TIMEOUT, Kind::duration, "reply-timeout",
		 "reply_timeout", 100, 3600000, {},
		 "time limit for the Reply, for Initiators of devices"},
		{MPA_A_CONFIG_HALF_OPEN_MAX, Kind::number, "half-open-max",
		 "half_open_max", 1, 65536, {},
		 "maximum number of peers of a listener that have not sent a Request"},
		{MPA_A_CONFIG_PACKING, Kind::toggle, "packing", "packing", 0, 1,
		 toggle_words, "delay small ULPDUs of sockets to send them together"},
		{MPA_A_CONFIG_SEGMENTS, Kind::word, "segments", "segments", 0, 2,
		 segments_words,
		 "TCP segments passed to TCP in one call; lone: one, with one FPDU"},
		{MPA_A_CONFIG_FIRST_FPDU_TIMEOUT, Kind::duration,
		 "first-fpdu-timeout", "first_fpdu_timeout", 0, 3600000, {},
		 "time limit for the first FPDU, for Responders; 0: no limit"},
		{MPA_A_CONFIG_CLOSE_TIMEOUT, Kind::duration, "close-timeout",
		 "close_timeout", 100, 3600000, {},
		 "time limit for closing a device's connection"},
		{MPA_A_CONFIG_LINGER_MAX, Kind::number, "linger-max", "linger_max",
		 1, 65536, {}, "maximum number of connections of a device that close without a QP"},
		{MPA_A_CONFIG_KEEPALIVE, Kind::toggle, "keepalive", "keepalive",
		 0, 1, toggle_words, "TCP keepalive for connections of devices"},
		{MPA_A_CONFIG_USER_QP_MAX, Kind::number, "user-qp-max",
		 "user_qp_max", 1, 65536, {},
		 "maximum number of queue pairs of a user context of a device"},
		{MPA_A_CONFIG_USER_CQ_MAX, Kind::number, "user-cq-max",
		 "user_cq_max", 1, 65536, {},
		 "maximum number of completion queues of a user context of a device"},
		{MPA_A_CONFIG_USER_MR_MAX, Kind::number, "user-mr-max",
		 "user_mr_max", 1, 1048576, {},
		 "maximum number of memory regions of a user context of a device"},
		{MPA_A_CONFIG_USER_PD_MAX, Kind::number, "user-pd-max",
		 "user_pd_max", 1, 65536, {},
		 "maximum number of protection domains of a user context of a device"},
		{MPA_A_CONFIG_USER_RINGS_MAX, Kind::number, "user-rings-max",
		 "user_rings_max", 1, 1048576, {},
		 "maximum size of the rings of a user context of a device, in MiB"},
		{MPA_A_CONFIG_RDMAP_EXTENSIONS, Kind::word, "rdmap-extensions",
		 "rdmap_extensions", 0, 2, extensions_words,
		 "when devices use Immediate Data and atomics of RFC 7306"},
		{MPA_A_CONFIG_RECEIVE_WAIT, Kind::duration, "receive-wait",
		 "receive_wait", 0, 60000, {},
		 "how long a message waits for a receive; 0: not at all"},
		{MPA_A_CONFIG_PEER_TIMEOUT, Kind::duration, "peer-timeout",
		 "peer_timeout", 0, 3600000, {},
		 "time without a sign of life after which a peer is gone; 0: as TCP decides"},
		{MPA_A_CONFIG_PORT_MAPPING, Kind::toggle, "port-mapping", "port_mapping",
		 0, 1, toggle_words, "use the TCP ports that the port mapper assigns"},
		{MPA_A_CONFIG_EARLY_PLACEMENT, Kind::toggle, "early-placement",
		 "early_placement", 0, 1, toggle_words,
		 "place payload behind a gap in the stream at once, with Markers and CRC"},
		{MPA_A_CONFIG_RTO_MIN, Kind::duration, "rto-min", "rto_min", 0, 200, {},
		 "least time after which TCP repeats what was lost; 0: as TCP decides"},
		{MPA_A_CONFIG_STARTUP, Kind::word, "startup", "startup", 0, 2,
		 startup_words, "frames of RFC 5044 or Start Keys to begin with"},
		{MPA_A_CONFIG_FRAMING, Kind::toggle, "framing", "framing", 0, 1,
		 toggle_words, "let applications use tcp-framing(7)"},
	};
}

const std::vector<Setting> &all_settings()
{
	static const auto made = make_table();

	return made;
}

struct TimeUnit {
	std::string_view name;
	std::uint32_t ms;
};

// Longest unit first, because duration_text() uses the first one that fits.
constexpr TimeUnit time_units[] = {
	{"h", 3600000}, {"min", 60000}, {"s", 1000}, {"ms", 1},
};

[[noreturn]] void refuse(const Setting &setting, std::string_view text)
{
	throw UsageError(fmt::format("{}: '{}' is not {}{}", setting.name, text,
				     values_text(setting),
				     suggestion(text, texts_of(setting.words))));
}

// A value that fits into the attribute. The kernel checks its bounds.
std::uint32_t fitting(const Setting &setting, std::uint64_t value,
		      std::string_view text)
{
	if (value > UINT32_MAX)
		refuse(setting, text);
	return static_cast<std::uint32_t>(value);
}

// The number at the beginning of the text, and the rest of it.
std::uint64_t digits(const Setting &setting, std::string_view text,
		     std::string_view &rest)
{
	std::uint32_t value = 0;
	const auto *end = text.data() + text.size();
	const auto got = std::from_chars(text.data(), end, value);

	if (got.ec != std::errc{})
		refuse(setting, text);
	rest = {got.ptr, static_cast<std::size_t>(end - got.ptr)};
	return value;
}

std::uint32_t number_from(const Setting &setting, std::string_view text)
{
	std::string_view rest;
	const auto value = digits(setting, text, rest);

	if (!rest.empty())
		refuse(setting, text);
	return fitting(setting, value, text);
}

std::uint32_t duration_from(const Setting &setting, std::string_view text)
{
	std::string_view rest;
	const auto value = digits(setting, text, rest);

	if (rest.empty())
		return fitting(setting, value, text);
	for (const auto &unit : time_units)
		if (rest == unit.name)
			return fitting(setting, value * unit.ms, text);
	refuse(setting, text);
}

std::uint32_t set_from(const Setting &setting, std::string_view text)
{
	std::uint32_t set = 0;
	std::size_t at = 0;

	if (text == "all")
		return setting.max;
	while (at <= text.size()) {
		const auto end = std::min(text.find(',', at), text.size());
		const auto word = text.substr(at, end - at);
		const auto bit = number_for(setting.words, word);

		if (!bit)
			refuse(setting, word);
		set |= *bit;
		at = end + 1;
	}
	return set;
}

std::string duration_text(std::uint32_t ms)
{
	for (const auto &unit : time_units)
		if (ms % unit.ms == 0 && ms >= unit.ms)
			return fmt::format("{}{}", ms / unit.ms, unit.name);
	return "0ms";
}

// --- JSON ----------------------------------------------------------------------

[[noreturn]] void refuse_json(const Setting &setting, const Json &json)
{
	throw UsageError(fmt::format(
		"{} is not {}", json.dump(-1, ' ', false,
					  Json::error_handler_t::replace),
		values_text(setting)));
}

std::uint32_t number_from_json(const Setting &setting, const Json &json)
{
	// Compared before the conversion: 4294967297 must not become 1.
	if (!json.is_number_unsigned() ||
	    json.get<std::uint64_t>() < setting.min ||
	    json.get<std::uint64_t>() > setting.max)
		refuse_json(setting, json);
	return json.get<std::uint32_t>();
}

std::uint32_t word_from_json(const Setting &setting, const Json &json)
{
	if (json.is_string())
		if (const auto number = number_for(setting.words,
						   json.get<std::string>()))
			return *number;
	refuse_json(setting, json);
}

std::uint32_t set_from_json(const Setting &setting, const Json &json)
{
	std::uint32_t set = 0;

	if (!json.is_array() || json.empty())
		refuse_json(setting, json);
	for (const auto &word : json)
		set |= word_from_json(setting, word);
	return set;
}

} // namespace

std::span<const Setting> settings()
{
	return all_settings();
}

const Setting *setting_named(std::string_view name)
{
	for (const auto &setting : all_settings())
		if (setting.name == name)
			return &setting;
	return nullptr;
}

const Setting *setting_of(unsigned int key)
{
	for (const auto &setting : all_settings())
		if (setting.key == key)
			return &setting;
	return nullptr;
}

std::string values_text(const Setting &setting)
{
	const auto words = texts_of(setting.words);

	switch (setting.kind) {
	case Kind::word:
	case Kind::toggle:
		return fmt::format("one of {}", fmt::join(words, ", "));
	case Kind::set:
		return fmt::format("some of {}", fmt::join(words, ","));
	case Kind::number:
		return fmt::format("{} .. {}", setting.min, setting.max);
	case Kind::duration:
		return fmt::format("{} .. {}", duration_text(setting.min),
				   duration_text(setting.max));
	}
	return "";
}

std::uint32_t value_from(const Setting &setting, std::string_view text)
{
	switch (setting.kind) {
	case Kind::word:
	case Kind::toggle:
		if (const auto number = number_for(setting.words, text))
			return *number;
		break;
	case Kind::set:
		return set_from(setting, text);
	case Kind::number:
		return number_from(setting, text);
	case Kind::duration:
		return duration_from(setting, text);
	}
	refuse(setting, text);
}

std::string value_text(const Setting &setting, std::uint32_t value)
{
	switch (setting.kind) {
	case Kind::word:
	case Kind::toggle:
		return word_for(setting.words, value);
	case Kind::set:
		return set_text(setting.words, value);
	case Kind::duration:
		return duration_text(value);
	case Kind::number:
		break;
	}
	return std::to_string(value);
}

std::uint32_t value_from_json(const Setting &setting, const Json &json)
{
	switch (setting.kind) {
	case Kind::word:
		return word_from_json(setting, json);
	case Kind::toggle:
		if (!json.is_boolean())
			throw UsageError(json.dump() + " is not true or false");
		return json.get<bool>();
	case Kind::set:
		return set_from_json(setting, json);
	case Kind::number:
	case Kind::duration:
		break;
	}
	return number_from_json(setting, json);
}

Json value_json(const Setting &setting, std::uint32_t value)
{
	switch (setting.kind) {
	case Kind::word:
		return word_for(setting.words, value);
	case Kind::toggle:
		return value != 0;
	case Kind::set:
		return set_words(setting.words, value);
	case Kind::number:
	case Kind::duration:
		break;
	}
	return value;
}

Json settings_json(const Settings &values)
{
	Json json = Json::object();

	for (const auto &setting : all_settings())
		if (values.has(setting.key))
			json[setting.json] =
				value_json(setting, values.at(setting.key));
	return json;
}

std::vector<std::string> keys_of(std::uint32_t mask)
{
	std::vector<std::string> keys;

	for (const auto &setting : all_settings())
		if (mask & Settings::bit(setting.key))
			keys.push_back(setting.json);
	return keys;
}

} // namespace mpactl
