/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// The table of settings: every word, numbers and times at their bounds, on the
// command line and in files.

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "base/words.hpp"
#include "model/settings.hpp"

using namespace mpactl;

namespace {

struct Good {
	const char *name;
	const char *text;
	std::uint32_t value;
	// As it is shown; nullptr: as it was written.
	const char *shown;
};

const Good good[] = {
	{"crc", "required", MPA_CONFIG_CRC_REQUIRED},
	{"crc", "off", MPA_CONFIG_CRC_PREFERRED_OFF},
	{"markers", "on", 1},
	{"markers", "off", 0},
	{"revision", "auto", MPA_REVISION_AUTO},
	{"revision", "0", MPA_REVISION_0},
	{"revision", "1", MPA_REVISION_1},
	{"revision", "2", MPA_REVISION_2},
	{"permissive", "on", 1},
	{"exchange", "enhanced", MPA_EXCHANGE_ENHANCED},
	{"exchange", "plain", MPA_EXCHANGE_PLAIN},
	{"peer-to-peer", "off", 0},
	{"rtr", "send", 1},
	{"rtr", "write", 2},
	{"rtr", "read", 4},
	{"rtr", "read,send", 5, "send,read"},
	{"rtr", "send,send", 1, "send"},
	{"rtr", "all", 7, "send,write,read"},
	{"ird", "0", 0},
	{"ird", "16382", 16382},
	// Whether it may be so much is the kernel's business.
	{"ird", "16383", 16383},
	{"ord", "4294967295", 4294967295},
	{"startup-timeout", "0", 0, "0ms"},
	{"startup-timeout", "100", 100, "100ms"},
	{"startup-timeout", "999", 999, "999ms"},
	{"startup-timeout", "1000", 1000, "1s"},
	{"startup-timeout", "1500ms", 1500},
	{"startup-timeout", "5s", 5000},
	{"reply-timeout", "90s", 90000},
	{"reply-timeout", "120s", 120000, "2min"},
	{"reply-timeout", "2min", 120000},
	{"reply-timeout", "1h", 3600000},
	{"reply-timeout", "1193h", 4294800000},
	{"half-open-max", "1", 1},
	{"half-open-max", "65536", 65536},
	{"packing", "on", 1},
	{"segments", "single", MPA_SEGMENTS_SINGLE},
	{"segments", "auto", MPA_SEGMENTS_AUTO},
	{"segments", "lone", MPA_SEGMENTS_LONE},
	{"first-fpdu-timeout", "0", 0, "0ms"},
	{"first-fpdu-timeout", "8s", 8000},
	{"close-timeout", "20min", 1200000},
	{"linger-max", "8192", 8192},
	{"keepalive", "off", 0},
	{"user-qp-max", "65536", 65536},
	{"user-cq-max", "65536", 65536},
	{"user-mr-max", "1048576", 1048576},
	{"user-pd-max", "65536", 65536},
	{"user-rings-max", "1048576", 1048576},
	{"rdmap-extensions", "off", MPA_RDMAP_EXTENSIONS_OFF},
	{"rdmap-extensions", "negotiate", MPA_RDMAP_EXTENSIONS_NEGOTIATE},
	{"rdmap-extensions", "on", MPA_RDMAP_EXTENSIONS_ON},
	{"receive-wait", "0", 0, "0ms"},
	{"receive-wait", "5s", 5000},
	{"peer-timeout", "1h", 3600000, "1h"},
	{"port-mapping", "off", 0},
	{"early-placement", "on", 1},
	{"rto-min", "20ms", 20, "20ms"},
	{"startup", "start-key", MPA_CONFIG_STARTUP_START_KEY},
	{"startup", "either", MPA_CONFIG_STARTUP_EITHER},
	{"framing", "off", 0},
};

TEST(Settings, values_are_read_and_shown)
{
	for (const auto &row : good) {
		const auto *setting = setting_named(row.name);

		ASSERT_NE(setting, nullptr) << row.name;
		EXPECT_EQ(value_from(*setting, row.text), row.value)
			<< row.name << " " << row.text;
		EXPECT_EQ(value_text(*setting, row.value),
			  row.shown ? row.shown : row.text);
	}
}

struct Bad {
	const char *name;
	const char *text;
};

const Bad bad[] = {
	{"crc", "on"},
	{"crc", ""},
	{"crc", "Required"},
	{"crc", "requiredx"},
	{"markers", "1"},
	{"revision", "3"},
	{"revision", ""},
	{"rtr", ""},
	{"rtr", ","},
	{"rtr", "send,"},
	{"rtr", ",send"},
	{"rtr", "send,,read"},
	{"rtr", "none"},
	{"rtr", "all,send"},
	{"ird", ""},
	{"ird", "-1"},
	{"ird", "+1"},
	{"ird", " 1"},
	{"ird", "1 "},
	{"ird", "0x10"},
	{"ird", "1s"},
	{"ird", "4294967296"},
	{"ird", "99999999999999999999"},
	{"startup-timeout", ""},
	{"startup-timeout", "s"},
	{"startup-timeout", "1.5s"},
	{"startup-timeout", "1m"},
	{"startup-timeout", "1 s"},
	{"startup-timeout", "-5s"},
	{"startup-timeout", "4294967296"},
	{"startup-timeout", "4294968s"},
	{"reply-timeout", "1194h"},
	{"segments", "many"},
	{"first-fpdu-timeout", "never"},
	{"close-timeout", "never"},
	{"linger-max", "-1"},
	{"keepalive", "2"},
	{"rdmap-extensions", "1"},
	{"rdmap-extensions", ""},
	{"receive-wait", "forever"},
	{"peer-timeout", "never"},
	{"port-mapping", "iwpmd"},
	{"early-placement", "1"},
	{"rto-min", "never"},
	{"startup", "key"},
	{"framing", "tuf"},
};

TEST(Settings, what_is_no_value_is_refused)
{
	for (const auto &row : bad)
		EXPECT_THROW(value_from(*setting_named(row.name), row.text),
			     UsageError)
			<< row.name << " '" << row.text << "'";
}

TEST(Settings, every_attribute_is_there_once)
{
	for (unsigned int key = 1; key <= MPA_A_CONFIG_MAX; key++) {
		const auto *setting = setting_of(key);

		ASSERT_NE(setting, nullptr) << key;
		EXPECT_EQ(setting_named(setting->name), setting);
	}
	EXPECT_EQ(settings().size(), std::size_t(MPA_A_CONFIG_MAX));
	EXPECT_EQ(setting_of(MPA_A_CONFIG_MAX + 1), nullptr);
}

struct GoodJson {
	const char *name;
	const char *json;
	std::uint32_t value;
};

const GoodJson good_json[] = {
	{"crc", R"("off")", 0},
	{"markers", "true", 1},
	{"markers", "false", 0},
	{"revision", R"("auto")", 3},
	{"revision", R"("2")", 2},
	{"rtr", R"(["send"])", 1},
	{"rtr", R"(["send","write","read"])", 7},
	{"ird", "0", 0},
	{"ird", "16382", 16382},
	{"startup-timeout", "100", 100},
	{"startup-timeout", "3600000", 3600000},
	{"half-open-max", "1", 1},
	{"half-open-max", "65536", 65536},
	{"close-timeout", "1200000", 1200000},
	{"linger-max", "65536", 65536},
	{"keepalive", "true", 1},
	{"rdmap-extensions", R"("on")", 2},
	{"receive-wait", "60000", 60000},
	{"peer-timeout", "0", 0},
	{"port-mapping", "false", 0},
	{"early-placement", "true", 1},
	{"rto-min", "200", 200},
	{"startup", R"("start-key")", MPA_CONFIG_STARTUP_START_KEY},
	{"framing", "false", 0},
};

TEST(Settings, json_goes_there_and_back)
{
	for (const auto &row : good_json) {
		const auto &setting = *setting_named(row.name);
		const auto json = Json::parse(row.json);

		EXPECT_EQ(value_from_json(setting, json), row.value) << row.json;
		EXPECT_EQ(value_json(setting, row.value), json) << row.json;
	}
}

const Bad bad_json[] = {
	{"crc", "true"},
	{"crc", "1"},
	{"crc", R"("on")"},
	{"markers", "1"},
	{"markers", R"("on")"},
	{"markers", "null"},
	{"revision", "2"},
	{"rtr", "[]"},
	{"rtr", R"("send")"},
	{"rtr", R"(["all"])"},
	{"rtr", "[1]"},
	{"ird", "16383"},
	{"ird", "-1"},
	{"ird", "1.0"},
	{"ird", R"("1")"},
	{"ird", "4294967296"},
	{"ird", "4294967297"},
	{"ird", "18446744073709551617"},
	{"startup-timeout", "99"},
	{"startup-timeout", "3600001"},
	{"startup-timeout", R"("5s")"},
	{"half-open-max", "0"},
	{"half-open-max", "65537"},
	{"half-open-max", "{}"},
	{"close-timeout", "99"},
	{"linger-max", "0"},
	{"keepalive", "1"},
	{"receive-wait", "60001"},
	{"peer-timeout", "3600001"},
	{"port-mapping", "0"},
	{"early-placement", "1"},
	{"rto-min", "201"},
	{"startup", "1"},
	{"framing", "1"},
};

TEST(Settings, json_out_of_bounds_is_refused)
{
	for (const auto &row : bad_json)
		EXPECT_THROW(value_from_json(*setting_named(row.name),
					     Json::parse(row.text)),
			     UsageError)
			<< row.name << " " << row.text;
}

TEST(Words, numbers_are_whole)
{
	EXPECT_EQ(number_of("0", "id"), 0u);
	EXPECT_EQ(number_of("4294967295", "id"), 4294967295u);
	for (const auto *text : {"", "-1", "4294967296", "1x", "x", " 1"})
		EXPECT_THROW(number_of(text, "id"), UsageError) << text;
}

TEST(Words, the_nearest_is_found)
{
	const std::vector<std::string_view> known{"crc", "markers", "peer-to-peer",
						  "startup-timeout", "dev"};

	EXPECT_EQ(nearest("crk", known), "crc");
	EXPECT_EQ(nearest("marker", known), "markers");
	EXPECT_EQ(nearest("peer_to_peer", known), "peer-to-peer");
	EXPECT_EQ(nearest("startup_timeout", known), "startup-timeout");
	EXPECT_EQ(nearest("start", known), "startup-timeout");
	EXPECT_EQ(nearest("xyzzy", known), "");
	EXPECT_EQ(nearest("", known), "");
	EXPECT_EQ(nearest(std::string(100000, 'c'), known), "");
}

struct Units {
	double value;
	const char *count;
	const char *bytes;
};

TEST(Units, are_what_fits)
{
	const Units rows[] = {
		{0, "0", "0 B"},
		{999, "999", "999 B"},
		{1000, "1.0 k", "1000 B"},
		{1023, "1.0 k", "1023 B"},
		{1024, "1.0 k", "1.0 KiB"},
		{9949, "9.9 k", "9.7 KiB"},
		{9950, "10 k", "9.7 KiB"},
		{999400, "999 k", "976 KiB"},
		{999500, "1.0 M", "976 KiB"},
		{1048575, "1.0 M", "1.0 MiB"},
		{1e18, "1000 P", "888 PiB"},
	};

	for (const auto &row : rows) {
		EXPECT_EQ(count_text(row.value), row.count);
		EXPECT_EQ(bytes_text(row.value), row.bytes);
	}
	EXPECT_EQ(age_text(0), "0 ms");
	EXPECT_EQ(age_text(999), "999 ms");
	EXPECT_EQ(age_text(1000), "1 s");
	EXPECT_EQ(age_text(59999), "59 s");
	EXPECT_EQ(age_text(60000), "1 min 0 s");
	EXPECT_EQ(age_text(3599999), "59 min 59 s");
	EXPECT_EQ(age_text(3600000), "1 h 0 min");
	EXPECT_EQ(age_text(86399999), "23 h 59 min");
	EXPECT_EQ(age_text(86400000), "1 d 0 h");
}

} // namespace
