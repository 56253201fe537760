// SPDX-License-Identifier: GPL-2.0-only
//
// kernel/ulp/config.c: bounds of settings, how they are inherited, and the
// parameters of the startup exchange that follow from them.
#include "support.hpp"

#include <cstring>
#include <iterator>
#include <optional>

extern "C" {
#include "../../kernel/ulp/config.h"
}

using namespace mpa;

namespace {

constexpr u32 bit(unsigned int attr)
{
	return u32{1} << attr;
}

mpa_settings setting(unsigned int attr, u32 value)
{
	mpa_settings s = {};

	s.set = bit(attr);
	s.v[attr] = value;
	return s;
}

mpa_config builtin()
{
	mpa_config cfg;

	mpa_config_builtin(&cfg);
	return cfg;
}

using Values = std::vector<std::pair<unsigned int, u32>>;

mpa_config config(const Values &values)
{
	auto cfg = builtin();

	for (auto [attr, value] : values)
		cfg.v[attr] = value;
	return cfg;
}

struct Refused {
	std::string why;
	unsigned int attr;
};

std::optional<Refused> refuse(const mpa_settings &s,
			      const mpa_limits *lim = nullptr)
{
	unsigned int attr = ~0u;
	const char *why = mpa_config_refuse(&s, lim, &attr);

	if (!why)
		return {};
	return Refused{why, attr};
}

/* Bounds, as uapi/linux/mpa_netlink.h has them. */
struct Bounds {
	const char *name;
	unsigned int attr;
	u32 min, max, def;
};

constexpr Bounds bounds[] = {
	{ "crc", MPA_A_CONFIG_CRC, 0, 1, 1 },
	{ "markers", MPA_A_CONFIG_MARKERS, 0, 1, 0 },
	{ "revision", MPA_A_CONFIG_REVISION, 0, 3, 3 },
	{ "permissive", MPA_A_CONFIG_PERMISSIVE, 0, 1, 0 },
	{ "exchange", MPA_A_CONFIG_EXCHANGE, 0, 1, 1 },
	{ "peer to peer", MPA_A_CONFIG_PEER_TO_PEER, 0, 1, 1 },
	{ "rtr", MPA_A_CONFIG_RTR, 1, 7, 7 },
	{ "ird", MPA_A_CONFIG_IRD, 0, 16382, 16382 },
	{ "ord", MPA_A_CONFIG_ORD, 0, 16382, 16382 },
	{ "startup timeout", MPA_A_CONFIG_STARTUP_TIMEOUT, 100, 3600000, 5000 },
	{ "reply timeout", MPA_A_CONFIG_REPLY_TIMEOUT, 100, 3600000, 30000 },
	{ "half open max", MPA_A_CONFIG_HALF_OPEN_MAX, 1, 65536, 128 },
	{ "packing", MPA_A_CONFIG_PACKING, 0, 1, 0 },
	{ "segments", MPA_A_CONFIG_SEGMENTS, 0, 2, 1 },
	{ "first FPDU timeout", MPA_A_CONFIG_FIRST_FPDU_TIMEOUT, 0, 3600000, 0 },
	{ "close timeout", MPA_A_CONFIG_CLOSE_TIMEOUT, 100, 3600000, 1200000 },
	{ "linger max", MPA_A_CONFIG_LINGER_MAX, 1, 65536, 8192 },
	{ "keepalive", MPA_A_CONFIG_KEEPALIVE, 0, 1, 1 },
	{ "user qp max", MPA_A_CONFIG_USER_QP_MAX, 1, 65536, 8192 },
	{ "user cq max", MPA_A_CONFIG_USER_CQ_MAX, 1, 65536, 16384 },
	{ "user mr max", MPA_A_CONFIG_USER_MR_MAX, 1, 1048576, 131072 },
	{ "user pd max", MPA_A_CONFIG_USER_PD_MAX, 1, 65536, 1024 },
	{ "user rings max", MPA_A_CONFIG_USER_RINGS_MAX, 1, 1048576, 4096 },
	{ "rdmap extensions", MPA_A_CONFIG_RDMAP_EXTENSIONS, 0, 2, 1 },
	{ "receive wait", MPA_A_CONFIG_RECEIVE_WAIT, 0, 60000, 0 },
	{ "peer timeout", MPA_A_CONFIG_PEER_TIMEOUT, 0, 3600000, 0 },
	{ "port mapping", MPA_A_CONFIG_PORT_MAPPING, 0, 1, 1 },
	{ "early placement", MPA_A_CONFIG_EARLY_PLACEMENT, 0, 1, 0 },
	{ "rto min", MPA_A_CONFIG_RTO_MIN, 0, 200, 0 },
	{ "startup", MPA_A_CONFIG_STARTUP, 0, 2, 0 },
	{ "framing", MPA_A_CONFIG_FRAMING, 0, 1, 1 },
};

static_assert(std::size(bounds) == MPA_A_CONFIG_MAX);

class ConfigBounds : public testing::TestWithParam<Bounds> {};

TEST_P(ConfigBounds, are_kept)
{
	const auto &b = GetParam();

	EXPECT_EQ(builtin().v[b.attr], b.def);
	EXPECT_EQ(mpa_config_bounds[b.attr].def, b.def);
	for (u32 good : { b.min, b.def, b.max })
		EXPECT_FALSE(refuse(setting(b.attr, good))) << good;
	std::vector<u32> bad = { b.max + 1, 0x80000000u | b.def, ~0u };
	if (b.min)
		bad.push_back(b.min - 1);
	for (u32 value : bad) {
		auto refused = refuse(setting(b.attr, value));

		ASSERT_TRUE(refused) << value;
		EXPECT_EQ(refused->attr, b.attr);
		// The message contains the bounds; rtr is shown as a set.
		if (b.attr != MPA_A_CONFIG_RTR)
			EXPECT_NE(refused->why.find(std::to_string(b.max)),
				  std::string::npos) << refused->why;
	}
}

INSTANTIATE_TEST_SUITE_P(table, ConfigBounds, testing::ValuesIn(bounds),
			 row_name<Bounds>);

/*
 * Listeners refuse limits of user contexts and what makes them listen, and accept what
 * else a device accepts.
 */
TEST(ConfigAtListener, refuses_what_only_devices_have)
{
	for (const auto &b : bounds) {
		const unsigned int user =
			b.attr >= MPA_A_CONFIG_USER_QP_MAX &&
			b.attr <= MPA_A_CONFIG_USER_RINGS_MAX;
		const unsigned int first = user ? b.attr :
					   unsigned{MPA_A_CONFIG_USER_RINGS_MAX};
		mpa_settings s = setting(b.attr, b.def);
		unsigned int attr = ~0u;

		EXPECT_EQ(mpa_config_not_for_listener(&s, &attr) != nullptr,
			  user || b.attr == MPA_A_CONFIG_PORT_MAPPING)
			<< b.name;
		s.set |= bit(MPA_A_CONFIG_USER_RINGS_MAX);
		EXPECT_NE(mpa_config_not_for_listener(&s, &attr), nullptr) << b.name;
		EXPECT_EQ(attr, first) << b.name;
	}
}

/* What a device refuses in addition. */
constexpr mpa_limits device = { 128, 64, MPA_RTR_WRITE | MPA_RTR_READ };

struct AtDevice {
	const char *name;
	unsigned int attr;
	u32 value;
	bool good;
};

constexpr AtDevice at_device[] = {
	{ "ird of the device", MPA_A_CONFIG_IRD, 128, true },
	{ "ird beyond", MPA_A_CONFIG_IRD, 129, false },
	{ "no ird", MPA_A_CONFIG_IRD, 0, true },
	{ "ord of the device", MPA_A_CONFIG_ORD, 64, true },
	{ "ord beyond", MPA_A_CONFIG_ORD, 65, false },
	{ "ird out of bounds", MPA_A_CONFIG_IRD, 16383, false },
	{ "send, not known", MPA_A_CONFIG_RTR, 1, false },
	{ "write", MPA_A_CONFIG_RTR, 2, true },
	{ "send and write", MPA_A_CONFIG_RTR, 3, false },
	{ "read", MPA_A_CONFIG_RTR, 4, true },
	{ "send and read", MPA_A_CONFIG_RTR, 5, false },
	{ "write and read", MPA_A_CONFIG_RTR, 6, true },
	{ "all", MPA_A_CONFIG_RTR, 7, true },
	{ "none", MPA_A_CONFIG_RTR, 0, false },
	{ "packing", MPA_A_CONFIG_PACKING, 1, false },
	{ "no packing", MPA_A_CONFIG_PACKING, 0, false },
	{ "framing", MPA_A_CONFIG_FRAMING, 1, false },
	{ "no framing", MPA_A_CONFIG_FRAMING, 0, false },
	{ "segments", MPA_A_CONFIG_SEGMENTS, 0, true },
	{ "lone FPDUs", MPA_A_CONFIG_SEGMENTS, 2, true },
	{ "first FPDU", MPA_A_CONFIG_FIRST_FPDU_TIMEOUT, 1, true },
	{ "markers", MPA_A_CONFIG_MARKERS, 1, true },
	{ "no crc", MPA_A_CONFIG_CRC, 0, true },
};

class ConfigAtDevice : public testing::TestWithParam<AtDevice> {};

TEST_P(ConfigAtDevice, follows_the_table)
{
	const auto &row = GetParam();
	auto refused = refuse(setting(row.attr, row.value), &device);

	EXPECT_EQ(!refused, row.good) << (refused ? refused->why : "");
	if (refused)
		EXPECT_EQ(refused->attr, row.attr);
}

INSTANTIATE_TEST_SUITE_P(table, ConfigAtDevice, testing::ValuesIn(at_device),
			 row_name<AtDevice>);

TEST(mpa_config_refuse, knows_every_bit)
{
	for (unsigned int i = 0; i < 32; i++) {
		mpa_settings s = {};

		s.set = bit(i);
		for (const auto &b : bounds)
			s.v[b.attr] = b.min;
		auto refused = refuse(s);

		EXPECT_EQ(!refused, i >= 1 && i <= MPA_A_CONFIG_MAX) << i;
		if (refused)
			EXPECT_EQ(refused->attr, i);
	}
	EXPECT_FALSE(refuse({}));
}

TEST(mpa_config_refuse, reports_the_first_wrong_setting)
{
	auto s = setting(MPA_A_CONFIG_ORD, 16383);

	s.set |= bit(MPA_A_CONFIG_CRC) | bit(MPA_A_CONFIG_SEGMENTS);
	s.v[MPA_A_CONFIG_CRC] = 1;
	s.v[MPA_A_CONFIG_SEGMENTS] = 3;
	ASSERT_TRUE(refuse(s));
	EXPECT_EQ(refuse(s)->attr, unsigned{MPA_A_CONFIG_ORD});
}

/* Values that were not set do not matter. */
TEST(mpa_config_refuse, checks_only_what_is_set)
{
	auto s = setting(MPA_A_CONFIG_CRC, 0);

	for (unsigned int i = 0; i <= MPA_A_CONFIG_MAX; i++)
		if (i != MPA_A_CONFIG_CRC)
			s.v[i] = ~0u;
	EXPECT_FALSE(refuse(s, &device));
}

TEST(mpa_config_overlay, what_is_set_wins)
{
	for (unsigned int i = 1; i <= MPA_A_CONFIG_MAX; i++) {
		auto cfg = builtin(), before = cfg;
		auto s = setting(i, 77);

		for (unsigned int j = 1; j <= MPA_A_CONFIG_MAX; j++)
			if (j != i)
				s.v[j] = 99;
		mpa_config_overlay(&cfg, &s);
		for (unsigned int j = 1; j <= MPA_A_CONFIG_MAX; j++)
			EXPECT_EQ(cfg.v[j], j == i ? 77 : before.v[j]);
	}
}

struct Clip {
	const char *name;
	Values before;
	mpa_limits lim;
	Values after;
};

const Clip clips[] = {
	{ "deep", {}, device,
	  { { MPA_A_CONFIG_IRD, 128 }, { MPA_A_CONFIG_ORD, 64 },
	    { MPA_A_CONFIG_RTR, 6 }, { MPA_A_CONFIG_PEER_TO_PEER, 1 } } },
	{ "as deep as it can",
	  { { MPA_A_CONFIG_IRD, 128 }, { MPA_A_CONFIG_ORD, 64 } }, device,
	  { { MPA_A_CONFIG_IRD, 128 }, { MPA_A_CONFIG_ORD, 64 } } },
	{ "one more",
	  { { MPA_A_CONFIG_IRD, 129 }, { MPA_A_CONFIG_ORD, 65 } }, device,
	  { { MPA_A_CONFIG_IRD, 128 }, { MPA_A_CONFIG_ORD, 64 } } },
	{ "one less",
	  { { MPA_A_CONFIG_IRD, 127 }, { MPA_A_CONFIG_ORD, 63 } }, device,
	  { { MPA_A_CONFIG_IRD, 127 }, { MPA_A_CONFIG_ORD, 63 } } },
	{ "some kinds in common", { { MPA_A_CONFIG_RTR, 3 } }, device,
	  { { MPA_A_CONFIG_RTR, 2 }, { MPA_A_CONFIG_PEER_TO_PEER, 1 } } },
	{ "no kind in common", { { MPA_A_CONFIG_RTR, 1 } }, device,
	  { { MPA_A_CONFIG_RTR, 6 }, { MPA_A_CONFIG_PEER_TO_PEER, 0 } } },
	{ "a device without kinds", {}, { 128, 128, 0 },
	  { { MPA_A_CONFIG_RTR, 0 }, { MPA_A_CONFIG_PEER_TO_PEER, 0 } } },
	{ "packing of the namespace", { { MPA_A_CONFIG_PACKING, 1 } }, device,
	  { { MPA_A_CONFIG_PACKING, 0 } } },
	{ "all else stays",
	  { { MPA_A_CONFIG_CRC, 0 }, { MPA_A_CONFIG_MARKERS, 1 },
	    { MPA_A_CONFIG_HALF_OPEN_MAX, 9 },
	    { MPA_A_CONFIG_FIRST_FPDU_TIMEOUT, 7 } }, device,
	  { { MPA_A_CONFIG_CRC, 0 }, { MPA_A_CONFIG_MARKERS, 1 },
	    { MPA_A_CONFIG_HALF_OPEN_MAX, 9 }, { MPA_A_CONFIG_REVISION, 3 },
	    { MPA_A_CONFIG_STARTUP_TIMEOUT, 5000 },
	    { MPA_A_CONFIG_REPLY_TIMEOUT, 30000 },
	    { MPA_A_CONFIG_SEGMENTS, 1 },
	    { MPA_A_CONFIG_FIRST_FPDU_TIMEOUT, 7 } } },
};

class ConfigClip : public testing::TestWithParam<Clip> {};

TEST_P(ConfigClip, follows_the_table)
{
	const auto &row = GetParam();
	auto cfg = config(row.before);

	mpa_config_clip(&cfg, &row.lim);
	for (auto [attr, value] : row.after)
		EXPECT_EQ(cfg.v[attr], value) << attr;
}

INSTANTIATE_TEST_SUITE_P(table, ConfigClip, testing::ValuesIn(clips),
			 row_name<Clip>);

TEST(mpa_settings_change, sets_and_unsets)
{
	mpa_settings own = {};
	auto crc = setting(MPA_A_CONFIG_CRC, 0);
	auto ird = setting(MPA_A_CONFIG_IRD, 5);
	const mpa_settings nothing = {};

	mpa_settings_change(&own, &crc, 0);
	mpa_settings_change(&own, &ird, 0);
	EXPECT_EQ(own.set, bit(MPA_A_CONFIG_CRC) | bit(MPA_A_CONFIG_IRD));
	EXPECT_EQ(own.v[MPA_A_CONFIG_IRD], 5u);

	ird.v[MPA_A_CONFIG_IRD] = 6;
	mpa_settings_change(&own, &ird, 0);
	EXPECT_EQ(own.v[MPA_A_CONFIG_IRD], 6u);

	mpa_settings_change(&own, &nothing, bit(MPA_A_CONFIG_IRD));
	EXPECT_EQ(own.set, bit(MPA_A_CONFIG_CRC));
	EXPECT_EQ(own.v[MPA_A_CONFIG_IRD], 0u);

	// Unset a setting that is not set, and one in place of another.
	mpa_settings_change(&own, &ird,
			    bit(MPA_A_CONFIG_CRC) | bit(MPA_A_CONFIG_RTR));
	EXPECT_EQ(own.set, bit(MPA_A_CONFIG_IRD));
}

/* Parameters of the exchange that follow from settings. */
struct Params {
	const char *name;
	Values values;
	mpa_params p;
};

#define ALL_RTR MPA_RTR_SEND | MPA_RTR_WRITE | MPA_RTR_READ
#define NEG .extensions = MPA_EXTENSIONS_NEGOTIATE,
#define DEPTHS .ird = 16382, .ord = 16382, .ird_max = 16382

const Params params[] = {
	{ "built in", {},
	  { .crc = true, .p2p = true, NEG .rev = 2, .rev_min = 1, .rtr = ALL_RTR,
	    DEPTHS } },
	{ "markers", { { MPA_A_CONFIG_MARKERS, 1 } },
	  { .markers = true, .crc = true, .p2p = true, NEG .rev = 2, .rev_min = 1,
	    .rtr = ALL_RTR, DEPTHS } },
	{ "crc preferred off", { { MPA_A_CONFIG_CRC, 0 } },
	  { .p2p = true, NEG .rev = 2, .rev_min = 1, .rtr = ALL_RTR, DEPTHS } },
	{ "revision 0", { { MPA_A_CONFIG_REVISION, 0 } },
	  { .crc = true, NEG .rev = 0, .rev_min = 0, .rtr = ALL_RTR, DEPTHS } },
	{ "revision 0, permissive",
	  { { MPA_A_CONFIG_REVISION, 0 }, { MPA_A_CONFIG_PERMISSIVE, 1 } },
	  { .crc = true, NEG .rev = 0, .rev_min = 0, .rtr = ALL_RTR, DEPTHS } },
	{ "revision 1", { { MPA_A_CONFIG_REVISION, 1 } },
	  { .crc = true, NEG .rev = 1, .rev_min = 1, .rtr = ALL_RTR, DEPTHS } },
	{ "revision 1, permissive",
	  { { MPA_A_CONFIG_REVISION, 1 }, { MPA_A_CONFIG_PERMISSIVE, 1 } },
	  { .crc = true, .permissive = true, NEG .rev = 1, .rev_min = 0,
	    .rtr = ALL_RTR, DEPTHS } },
	{ "revision 2", { { MPA_A_CONFIG_REVISION, 2 } },
	  { .crc = true, .p2p = true, NEG .rev = 2, .rev_min = 2, .rtr = ALL_RTR,
	    DEPTHS } },
	{ "revision 2, permissive",
	  { { MPA_A_CONFIG_REVISION, 2 }, { MPA_A_CONFIG_PERMISSIVE, 1 } },
	  { .crc = true, .p2p = true, NEG .rev = 2, .rev_min = 2, .rtr = ALL_RTR,
	    DEPTHS } },
	{ "auto, permissive", { { MPA_A_CONFIG_PERMISSIVE, 1 } },
	  { .crc = true, .p2p = true, .permissive = true, NEG .rev = 2,
	    .rev_min = 0, .rtr = ALL_RTR, DEPTHS } },
	{ "plain", { { MPA_A_CONFIG_EXCHANGE, 0 } },
	  { .crc = true, .plain = true, NEG .rev = 2, .rev_min = 1, .rtr = ALL_RTR,
	    DEPTHS } },
	{ "plain, revision 2",
	  { { MPA_A_CONFIG_EXCHANGE, 0 }, { MPA_A_CONFIG_REVISION, 2 } },
	  { .crc = true, .plain = true, NEG .rev = 2, .rev_min = 2, .rtr = ALL_RTR,
	    DEPTHS } },
	{ "client to server", { { MPA_A_CONFIG_PEER_TO_PEER, 0 } },
	  { .crc = true, NEG .rev = 2, .rev_min = 1, .rtr = ALL_RTR, DEPTHS } },
	{ "one rtr", { { MPA_A_CONFIG_RTR, 2 } },
	  { .crc = true, .p2p = true, NEG .rev = 2, .rev_min = 1,
	    .rtr = MPA_RTR_WRITE, DEPTHS } },
	{ "no rtr is left", { { MPA_A_CONFIG_RTR, 0 } },
	  { .crc = true, NEG .rev = 2, .rev_min = 1, DEPTHS } },
	{ "depths", { { MPA_A_CONFIG_IRD, 7 }, { MPA_A_CONFIG_ORD, 3 } },
	  { .crc = true, .p2p = true, NEG .rev = 2, .rev_min = 1, .rtr = ALL_RTR,
	    .ird = 7, .ord = 3, .ird_max = 7 } },
	{ "no depths", { { MPA_A_CONFIG_IRD, 0 }, { MPA_A_CONFIG_ORD, 0 } },
	  { .crc = true, .p2p = true, NEG .rev = 2, .rev_min = 1,
	    .rtr = ALL_RTR } },
	{ "extensions off", { { MPA_A_CONFIG_RDMAP_EXTENSIONS, 0 } },
	  { .crc = true, .p2p = true, .rev = 2, .rev_min = 1, .rtr = ALL_RTR,
	    DEPTHS } },
	{ "extensions on", { { MPA_A_CONFIG_RDMAP_EXTENSIONS, 2 } },
	  { .crc = true, .p2p = true, .extensions = MPA_EXTENSIONS_ON,
	    .rev = 2, .rev_min = 1, .rtr = ALL_RTR, DEPTHS } },
};

class ConfigParams : public testing::TestWithParam<Params> {};

TEST_P(ConfigParams, follows_the_table)
{
	const auto &row = GetParam();
	auto cfg = config(row.values);
	mpa_params p;

	std::memset(&p, 0xee, sizeof(p));
	mpa_config_params(&cfg, &p);
	EXPECT_EQ(p.markers, row.p.markers);
	EXPECT_EQ(p.crc, row.p.crc);
	EXPECT_EQ(p.p2p, row.p.p2p);
	EXPECT_EQ(p.permissive, row.p.permissive);
	EXPECT_EQ(p.plain, row.p.plain);
	EXPECT_EQ(p.extensions, row.p.extensions);
	EXPECT_EQ(p.rev, row.p.rev);
	EXPECT_EQ(p.rev_min, row.p.rev_min);
	EXPECT_EQ(p.rtr, row.p.rtr);
	EXPECT_EQ(p.ird, row.p.ird);
	EXPECT_EQ(p.ord, row.p.ord);
	EXPECT_EQ(p.ird_max, row.p.ird_max);
}

INSTANTIATE_TEST_SUITE_P(table, ConfigParams, testing::ValuesIn(params),
			 row_name<Params>);

// Every possible combination leads to parameters that framing accepts: the
// Request has a revision in their range, and a Request made from the same
// parameters has a supported revision.
TEST(mpa_config_params, every_combination_works)
{
	for (u32 i = 0; i < 4 * 2 * 2 * 2 * 7; i++) {
		auto cfg = config({
			{ MPA_A_CONFIG_REVISION, i % 4 },
			{ MPA_A_CONFIG_PERMISSIVE, i / 4 % 2 },
			{ MPA_A_CONFIG_EXCHANGE, i / 8 % 2 },
			{ MPA_A_CONFIG_PEER_TO_PEER, i / 16 % 2 },
			{ MPA_A_CONFIG_RTR, i / 32 + 1 },
		});
		mpa_params p;
		mpa_frame req;

		mpa_config_params(&cfg, &p);
		ASSERT_LE(p.rev_min, p.rev);
		mpa_request_from(&p, &req);
		ASSERT_GE(req.rev, mpa_lowest_rev(&p)) << i;
		ASSERT_LE(req.rev, p.rev) << i;
		ASSERT_TRUE(mpa_rev_supported(&p, req.rev)) << i;
		ASSERT_EQ(req.enhanced, p.rev == MPA_REV_2 && !p.plain) << i;
		ASSERT_EQ(req.p2p, p.p2p) << i;
		ASSERT_EQ(req.extensions, req.enhanced) << i;
		ASSERT_EQ(mpa_rev_supported(&p, MPA_REV_RDMAC),
			  p.permissive || p.rev == MPA_REV_RDMAC) << i;
	}
}

} // namespace
