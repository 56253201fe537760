/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// Commands that do something, and what happens when they cannot.

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <new>
#include <stdexcept>

#include <gtest/gtest.h>

#include "commands/stat.hpp"
#include "fake.hpp"
#include "system.hpp"

using namespace fake;

namespace {

class Command : public testing::Test {
protected:
	Command() { furnish(world.mpa_); }

	World world;
};

// --- what is not understood --------------------------------------------------------

struct Wrong {
	const char *arguments;
	const char *says;
};

const Wrong wrong[] = {
	{"", "mpactl: A subcommand is required\n"},
	{"devs", "mpactl: there is no command 'devs'; 'dev'?\n"},
	{"restor -", "mpactl: there is no command 'restor'; 'restore'?\n"},
	{"frobnicate", "mpactl: there is no command 'frobnicate'\n"},
	{"dev a b", "mpactl: 'b' is not understood here\n"},
	{"dev show a b", "mpactl: 'b' is not understood here\n"},
	{"conn phse exited", "mpactl: 'phse' is not understood here; 'phase'?\n"},
	{"conn phase", "mpactl: phase is missing\n"},
	{"conn owner me",
	 "mpactl: owner: 'me' is not one of socket, device\n"},
	{"conn id x", "mpactl: id: 'x' is not a number of 0 .. 4294967295\n"},
	{"listen -1", nullptr},
	{"stat dev", "mpactl: name of the device is missing\n"},
	{"stat conn", "mpactl: id of the connection is missing\n"},
	{"stat all", "mpactl: 'all' is not understood here\n"},
	{"stat --watch 0",
	 "mpactl: --watch: the interval is 0.01 .. 86400 seconds\n"},
	{"stat --watch 86401",
	 "mpactl: --watch: the interval is 0.01 .. 86400 seconds\n"},
	{"stat --watch=nan",
	 "mpactl: --watch: the interval is 0.01 .. 86400 seconds\n"},
	{"get crc", "mpactl: 'crc' is not understood here\n"},
	{"set", "mpactl: setting is missing\n"},
	{"set dev mpa1", "mpactl: setting is missing\n"},
	{"set crc", "mpactl: value of crc is missing\n"},
	{"set crk off", "mpactl: there is no setting 'crk'; 'crc'?\n"},
	{"set xyzzy off",
	 "mpactl: there is no setting 'xyzzy'; 'mpactl get' shows all\n"},
	{"set crc off crc required", "mpactl: crc is there twice\n"},
	{"set crc off crc inherit", "mpactl: crc is there twice\n"},
	{"set crc of", "mpactl: crc: 'of' is not one of required, off; 'off'?\n"},
	{"set rtr send,rea",
	 "mpactl: rtr: 'rea' is not some of send,write,read; 'read'?\n"},
	{"monitor --kinds conn,devices",
	 "mpactl: --kinds: 'devices' is not one of conn, dev, listen, config, "
	 "failure\n"},
	{"restore", nullptr},
	{"--color blue dev", nullptr},
	{"dev --frob", nullptr},
};

TEST_F(Command, usage_errors_end_with_2_and_do_nothing)
{
	for (const auto &row : wrong) {
		EXPECT_EQ(world.run(row.arguments), Exit::usage) << row.arguments;
		EXPECT_EQ(world.out_, "") << row.arguments;
		if (row.says) {
			EXPECT_EQ(world.err_.substr(0, world.err_.find('\n') + 1),
				  row.says);
		}
		EXPECT_TRUE(world.err_.starts_with("mpactl: ")) << world.err_;
	}
	EXPECT_TRUE(world.mpa_.asked_.empty());
}

TEST_F(Command, help_and_version_are_no_errors)
{
	EXPECT_EQ(world.run("--version"), Exit::ok);
	EXPECT_EQ(world.out_, "mpactl 1\n");
	EXPECT_EQ(world.run("--help"), Exit::ok);
	EXPECT_NE(world.out_.find("monitor"), std::string::npos);
	// For shells only.
	EXPECT_EQ(world.out_.find("complete"), std::string::npos);
	EXPECT_EQ(world.run("set --help"), Exit::ok);
	EXPECT_NE(world.out_.find("--check"), std::string::npos);
}

TEST_F(Command, without_the_module_it_is_3)
{
	world.loaded_ = false;
	for (const auto *command :
	     {"dev", "conn", "listen", "stat", "get", "set crc off", "monitor",
	      "save", "stat --watch"}) {
		EXPECT_EQ(world.run(command), Exit::unavailable) << command;
		EXPECT_EQ(world.out_, "");
		EXPECT_EQ(world.err_, "mpactl: the module mpa is not loaded "
				      "(modprobe mpa)\n");
	}
}

TEST_F(Command, what_is_not_there_is_told_in_the_kernels_words)
{
	const Wrong rows[] = {
		{"dev mpa7", "mpactl: device mpa7: no such device mpa7\n"},
		{"conn dev mpa7", "mpactl: device mpa7: no such device mpa7\n"},
		{"conn id 99", "mpactl: connection 99: no such connection 99\n"},
		{"listen 99", "mpactl: listener 99: no such listener 99\n"},
		{"stat conn 99", "mpactl: connection 99: no such connection 99\n"},
		{"get dev mpa7", "mpactl: device mpa7: no such device mpa7\n"},
	};

	for (const auto &row : rows) {
		EXPECT_EQ(world.run(row.arguments), Exit::refused);
		EXPECT_EQ(world.out_, "");
		EXPECT_EQ(world.err_, row.says);
	}
}

TEST_F(Command, a_foreign_exception_gets_a_message)
{
	const struct {
		std::function<void()> fault;
		const char *says;
	} rows[] = {
		{[] { throw std::bad_alloc(); }, "mpactl: out of memory\n"},
		{[] { throw std::length_error("basic_string"); },
		 "mpactl: internal error: basic_string\n"},
		{[] { Json("\xff").dump(); }, nullptr},
	};

	for (const auto &row : rows) {
		world.mpa_.fault_ = row.fault;
		EXPECT_EQ(world.run("dev"), Exit::io);
		EXPECT_EQ(world.out_, "");
		if (row.says)
			EXPECT_EQ(world.err_, row.says);
		else
			EXPECT_TRUE(world.err_.starts_with(
				"mpactl: internal error: ")) << world.err_;
	}
}

// The first signal asks for the end; the second one does not ask.
TEST(Stop, a_second_signal_ends_the_process)
{
	testing::FLAGS_gtest_death_test_style = "threadsafe";
	for (const int number : {SIGINT, SIGTERM})
		EXPECT_EXIT(
			{
				const StopSignals stop;

				if (stop.pending())
					std::_Exit(1);
				::raise(number);
				if (!stop.pending() || !StopSignals().pending())
					std::_Exit(2);
				::raise(number);
				std::_Exit(3);
			},
			testing::KilledBySignal(number), "");
}

TEST_F(Command, a_dump_that_was_disturbed_is_shown_with_a_warning)
{
	world.mpa_.interrupted_ = true;
	EXPECT_EQ(world.run("conn -j"), Exit::ok);
	EXPECT_EQ(world.out_.substr(0, 2), "[\n");
	EXPECT_EQ(world.err_,
		  "mpactl: connections came and went while they were listed: the "
		  "list is not of one moment\n");
}

// --- set ---------------------------------------------------------------------------

TEST_F(Command, set_is_one_change)
{
	Change wanted{Target::device("mpa1"), {},
		      Settings::bit(MPA_A_CONFIG_CRC)};

	wanted.to.set(MPA_A_CONFIG_IRD, 5);
	wanted.to.set(MPA_A_CONFIG_STARTUP_TIMEOUT, 2000);
	EXPECT_EQ(world.output("set dev mpa1 ird 5 startup-timeout 2s crc inherit"),
		  "");
	EXPECT_EQ(world.mpa_.asked_,
		  std::vector<std::vector<Change>>{{wanted}});
	EXPECT_EQ(world.mpa_.checks_, std::vector<bool>{false});
}

TEST_F(Command, set_of_namespace_and_listener)
{
	Change defaults, listener{Target::listener(3), {}, 0};

	defaults.to.set(MPA_A_CONFIG_PACKING, 1);
	listener.to.set(MPA_A_CONFIG_MARKERS, 0);
	world.output("set packing on");
	world.output("set listen 3 markers off");
	EXPECT_EQ(world.mpa_.asked_,
		  (std::vector<std::vector<Change>>{{defaults}, {listener}}));
}

TEST_F(Command, set_only_asks)
{
	world.output("set --check crc off");
	world.output("set crc off --check");
	EXPECT_EQ(world.mpa_.checks_, (std::vector<bool>{true, true}));
}

TEST_F(Command, the_kernels_remark_is_told_once)
{
	world.mpa_.remark_ = "for new connections only";
	EXPECT_EQ(world.run("set crc off"), Exit::ok);
	EXPECT_EQ(world.out_, "");
	EXPECT_EQ(world.err_, "mpactl: for new connections only\n");
}

TEST_F(Command, a_refusal_has_message_attribute_and_range)
{
	struct Row {
		Refusal refusal;
		const char *says;
	};
	const Row rows[] = {
		{{EPERM, "CAP_NET_ADMIN is wanted", "", {}},
		 "mpactl: device mpa1: CAP_NET_ADMIN is wanted\n"},
		{{EPERM, "", "", {}},
		 "mpactl: device mpa1: Operation not permitted\n"},
		{{ERANGE, "too much", "config.ird", {}},
		 "mpactl: device mpa1: too much (attribute config.ird)\n"},
		{{ERANGE, "integer out of range", "config.ird", {{0, 16382}}},
		 "mpactl: device mpa1: integer out of range (attribute config.ird, "
		 "0 .. 16382)\n"},
	};

	for (const auto &row : rows) {
		world.mpa_.refusal_ = row.refusal;
		EXPECT_EQ(world.run("set dev mpa1 ird 99999"), Exit::refused);
		EXPECT_EQ(world.out_, "");
		EXPECT_EQ(world.err_, row.says);
	}
}

// --- stat --watch --------------------------------------------------------------------

TEST_F(Command, watch_shows_rates_until_interrupted)
{
	world.sleeps_ = {
		[&] { world.mpa_.devices_[0].counters[0].value += 5000; },
		[&] {},
	};
	EXPECT_EQ(world.output("stat dev mpa1 --watch 2"), R"(12:00:02.250
OBJECT       COUNTER      RATE  TOTAL
device mpa1  tx_fpdus  2.5 k/s   6000
12:00:04.250 nothing was counted
)");
}

TEST_F(Command, watch_as_json_is_an_object_to_a_line)
{
	world.sleeps_ = {
		[&] { world.mpa_.devices_[0].counters[0].value += 1; },
		[&] { world.mpa_.devices_[0].counters[1].value = 0; },
	};
	EXPECT_EQ(world.output("-j stat dev mpa1 --watch=3"), R"({"time":1795262403.25,"seconds":3.0,"stat":[{"kind":"device","dev":"mpa1","rates":{"tx_fpdus":0.333,"tx_bytes":0.0},"counters":{"tx_fpdus":1001,"tx_bytes":1258291}}]}
{"time":1795262406.25,"seconds":3.0,"stat":[{"kind":"device","dev":"mpa1","rates":{"tx_fpdus":0.0,"tx_bytes":0.0},"counters":{"tx_fpdus":1001,"tx_bytes":0}}]}
)");
}

TEST_F(Command, watch_takes_devices_that_come_and_go)
{
	world.sleeps_ = {
		[&] {
			auto fresh = world.mpa_.devices_[0];

			fresh.name = "mpa2";
			world.mpa_.devices_ = {fresh};
			world.mpa_.namespace_.counters[0].value += 3;
		},
	};
	EXPECT_EQ(world.output("stat -w"), R"(12:00:01.250
OBJECT     COUNTER   RATE  TOTAL
namespace  attached   3/s     15
)");
}

TEST_F(Command, watch_ends_when_its_object_has_gone)
{
	world.sleeps_ = {[&] { world.mpa_.connections_.clear(); }};
	EXPECT_EQ(world.run("stat conn 17 --watch"), Exit::refused);
	EXPECT_EQ(world.err_, "mpactl: connection 17: no such connection 17\n");
}

TEST(Watch, has_an_interval)
{
	using Line = std::vector<std::string>;

	EXPECT_EQ(with_interval({"stat", "--watch"}), (Line{"stat", "--watch=1"}));
	EXPECT_EQ(with_interval({"stat", "-w", "dev", "a"}),
		  (Line{"stat", "--watch=1", "dev", "a"}));
	EXPECT_EQ(with_interval({"stat", "--watch", "-j"}),
		  (Line{"stat", "--watch=1", "-j"}));
	EXPECT_EQ(with_interval({"stat", "--watch", "2"}),
		  (Line{"stat", "--watch", "2"}));
	EXPECT_EQ(with_interval({"stat", "-w", ".5"}), (Line{"stat", "-w", ".5"}));
}

// --- monitor -------------------------------------------------------------------------

// One of each.
std::deque<Notice> every_notice(const Mpa &mpa)
{
	Event up{.command = MPA_CMD_CONN_UP_NTF,
		 .connection = mpa.connections_[0]};
	Event down{.command = MPA_CMD_CONN_DOWN_NTF,
		   .connection = mpa.connections_[1]};
	Event add{.command = MPA_CMD_DEV_ADD_NTF, .device = mpa.devices_[1]};
	Event change{.command = MPA_CMD_DEV_CHANGE_NTF, .device = mpa.devices_[1]};
	Event gone{.command = MPA_CMD_DEV_DEL_NTF, .device = mpa.devices_[1]};
	Event heard{.command = MPA_CMD_LISTEN_ADD_NTF,
		    .listener = mpa.listeners_[0]};
	Event deaf{.command = MPA_CMD_LISTEN_DEL_NTF,
		   .listener = mpa.listeners_[1]};
	Event set_device{.command = MPA_CMD_CONFIG_NTF, .device = mpa.devices_[0]};
	Event set_all{.command = MPA_CMD_CONFIG_NTF, .config = Config{}};
	Event crc{.command = MPA_CMD_FAILURE_NTF,
		  .connection = mpa.connections_[0],
		  .failure = Failure{MPA_FAILURE_CRC, EBADMSG, {}, 7}};
	Event crowd{.command = MPA_CMD_FAILURE_NTF,
		    .listener = mpa.listeners_[0],
		    .failure = Failure{MPA_FAILURE_HALF_OPEN, 0,
				       Terminate{2, 0, 3}, 0}};

	return {up, down, add, change, gone, heard, deaf, set_device, set_all, crc,
		crowd, Lost{37}};
}

TEST_F(Command, monitor_tells_every_event)
{
	world.mpa_.notices_ = every_notice(world.mpa_);
	EXPECT_EQ(world.output("monitor"), R"(12:00:00.250 conn-up    connection 17: 10.77.0.1:40312 -> 10.77.0.2:7174, mpa1, revision 2, Markers, peer-to-peer
12:00:00.250 conn-down  connection 18: [fd77::1]:7000 <- [fd77::2]:50001, socket, user 1000, after 950 ms, 0 B sent, 0 B received, by startup (EPROTO)
12:00:00.250 dev-add    device mpa10 at enp3s0f1
12:00:00.250 dev-change device mpa10 at enp3s0f1
12:00:00.250 dev-del    device mpa10 at enp3s0f1
12:00:00.250 listen-add listener 3: *:7174, mpa1
12:00:00.250 listen-del listener 4: [::]:7000, socket, user 1000
12:00:00.250 config     device mpa1: crc off
12:00:00.250 config     defaults: all inherited
12:00:00.250 failure    crc (EBADMSG), connection 17: 10.77.0.1:40312 -> 10.77.0.2:7174, mpa1, 7 more not told of
12:00:00.250 failure    half-open, layer 2 type 0 code 0x03, listener 3: *:7174, mpa1
12:00:00.250 37 events lost
)");
}

TEST_F(Command, monitor_as_json)
{
	world.mpa_.notices_ = every_notice(world.mpa_);
	EXPECT_EQ(world.output("monitor -j"), R"({"event":"conn-up","time":1795262400.25,"conn":{"id":17,"owner":"device","dev_index":0,"dev":"mpa1","qpn":5,"local":{"addr":"10.77.0.1","port":40312},"remote":{"addr":"10.77.0.2","port":7174},"phase":"operational","role":"initiator","age_ms":185000,"revision":2,"ddp_version":1,"enhanced":true,"peer_to_peer":true,"rtr":["read"],"tx_markers":false,"rx_markers":true,"crc":true,"ird":8,"ord":16,"peer_ird":16,"peer_ord":8,"mulpdu":1440,"emss":1448,"code":"none","err":"","stats":{"tx_fpdus":1000,"tx_bytes":1258291,"rx_bytes":900}}}
{"event":"conn-down","time":1795262400.25,"conn":{"id":18,"owner":"socket","listen_id":4,"uid":1000,"inode":98765,"local":{"addr":"fd77::1","port":7000},"remote":{"addr":"fd77::2","port":50001},"phase":"exited","role":"responder","age_ms":950,"code":"startup","err":"EPROTO","term_sent":{"layer":2,"type":0,"code":3},"stats":{}}}
{"event":"dev-add","time":1795262400.25,"dev":{"index":1,"name":"mpa10","ifindex":3,"ifname":"enp3s0f1","active":false,"ird_max":128,"ord_max":128,"rtr":["send","write","read"],"conns":0,"listeners":0}}
{"event":"dev-change","time":1795262400.25,"dev":{"index":1,"name":"mpa10","ifindex":3,"ifname":"enp3s0f1","active":false,"ird_max":128,"ord_max":128,"rtr":["send","write","read"],"conns":0,"listeners":0}}
{"event":"dev-del","time":1795262400.25,"dev":{"index":1,"name":"mpa10","ifindex":3,"ifname":"enp3s0f1","active":false,"ird_max":128,"ord_max":128,"rtr":["send","write","read"],"conns":0,"listeners":0}}
{"event":"listen-add","time":1795262400.25,"listen":{"id":3,"owner":"device","dev_index":0,"dev":"mpa1","local":{"addr":"0.0.0.0","port":7174},"backlog":10,"half_open":2}}
{"event":"listen-del","time":1795262400.25,"listen":{"id":4,"owner":"socket","local":{"addr":"::","port":7000},"backlog":128,"uid":1000}}
{"event":"config","time":1795262400.25,"kind":"device","name":"mpa1","config":{"crc":"off","markers":false,"revision":"auto","permissive":false,"exchange":"enhanced","peer_to_peer":true,"rtr":["send","write","read"],"ird":128,"ord":128,"startup_timeout":2000,"reply_timeout":30000,"half_open_max":128,"packing":false,"segments":"auto","first_fpdu_timeout":0,"close_timeout":1200000,"linger_max":8192,"keepalive":true,"user_qp_max":8192,"user_cq_max":16384,"user_mr_max":131072,"user_pd_max":1024,"user_rings_max":4096},"own":["crc"]}
{"event":"config","time":1795262400.25,"kind":"defaults","config":{},"own":[]}
{"event":"failure","time":1795262400.25,"conn":{"id":17,"owner":"device","dev_index":0,"dev":"mpa1","qpn":5,"local":{"addr":"10.77.0.1","port":40312},"remote":{"addr":"10.77.0.2","port":7174},"phase":"operational","role":"initiator","age_ms":185000,"revision":2,"ddp_version":1,"enhanced":true,"peer_to_peer":true,"rtr":["read"],"tx_markers":false,"rx_markers":true,"crc":true,"ird":8,"ord":16,"peer_ird":16,"peer_ord":8,"mulpdu":1440,"emss":1448,"code":"none","err":"","stats":{"tx_fpdus":1000,"tx_bytes":1258291,"rx_bytes":900}},"failure":{"kind":"crc","err":"EBADMSG","suppressed":7}}
{"event":"failure","time":1795262400.25,"listen":{"id":3,"owner":"device","dev_index":0,"dev":"mpa1","local":{"addr":"0.0.0.0","port":7174},"backlog":10,"half_open":2},"failure":{"kind":"half-open","err":"","term":{"layer":2,"type":0,"code":3},"suppressed":0}}
{"event":"lost","time":1795262400.25,"count":37}
)");
}

// What was lost may have been of any kind.
TEST_F(Command, monitor_of_some_kinds)
{
	world.mpa_.notices_ = every_notice(world.mpa_);
	EXPECT_EQ(world.output("monitor --kinds listen"), R"(12:00:00.250 listen-add listener 3: *:7174, mpa1
12:00:00.250 listen-del listener 4: [::]:7000, socket, user 1000
12:00:00.250 37 events lost
)");
}

// --- colours ---------------------------------------------------------------------------

TEST_F(Command, colours_are_for_terminals_or_by_order)
{
	const std::string escape = "\033[";

	EXPECT_EQ(world.output("dev").find(escape), std::string::npos);
	EXPECT_NE(world.output("dev --color always").find(escape),
		  std::string::npos);
	world.colour_ = true;
	EXPECT_NE(world.output("dev").find(escape), std::string::npos);
	EXPECT_EQ(world.output("dev --color never").find(escape),
		  std::string::npos);
	EXPECT_EQ(world.output("dev -j --color always").find(escape),
		  std::string::npos);
}

} // namespace
