/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// Commands that change or watch something, usage errors and refusals.

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <map>
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

// --- usage errors -----------------------------------------------------------------

struct Wrong {
	const char *arguments;
	// The first line of the message.
	const char *message;
};

const char *const commands =
	"dev, conn, listen, stat, get, set, monitor, save, restore, probe, doctor\n";
const char *const setting_names =
	"crc, markers, revision, permissive, exchange, peer-to-peer, rtr, ird, ord, "
	"startup-timeout, reply-timeout, half-open-max, packing, segments, "
	"first-fpdu-timeout, close-timeout, linger-max, keepalive, user-qp-max, "
	"user-cq-max, user-mr-max, user-pd-max, user-rings-max, "
	"rdmap-extensions, receive-wait, peer-timeout, port-mapping, "
	"early-placement, rto-min, startup, framing\n";

const Wrong wrong[] = {
	{"dev a b", "mpactl: dev: unexpected argument 'b'\n"},
	{"dev show a b", "mpactl: dev: unexpected argument 'b'\n"},
	{"conn phse exited",
	 "mpactl: conn: unexpected argument 'phse'; did you mean 'phase'? "
	 "Possible: show, id, dev, phase, owner\n"},
	{"conn phase exited x",
	 "mpactl: conn: unexpected argument 'x'; possible: id, dev, owner\n"},
	{"conn phase",
	 "mpactl: conn phase: a value is missing; possible: attached, wait-reply, "
	 "wait-request, requested, operational, rx-ended, exited, closed, "
	 "replied\n"},
	{"conn phase exitted",
	 "mpactl: phase: 'exitted' is not one of attached, wait-reply, "
	 "wait-request, requested, operational, rx-ended, exited, closed, replied; "
	 "did you mean 'exited'?\n"},
	{"conn owner me",
	 "mpactl: owner: 'me' is not one of socket, device\n"},
	{"conn id x", "mpactl: id: 'x' is not a number of 0 .. 4294967295\n"},
	{"conn id", "mpactl: conn id: ID is missing\n"},
	{"conn id 1 id 2", "mpactl: conn: 'id' is given twice\n"},
	{"listen -1", nullptr},
	{"stat dev", "mpactl: stat dev: DEVICE is missing\n"},
	{"stat conn", "mpactl: stat conn: ID is missing\n"},
	{"stat all",
	 "mpactl: stat: unexpected argument 'all'; possible: dev, conn\n"},
	{"stat dev mpa1 conn 17", "mpactl: stat conn: dev excludes conn\n"},
	{"stat --watch 0",
	 "mpactl: --watch: the interval must be 0.01 .. 86400 seconds\n"},
	{"stat --watch 86401",
	 "mpactl: --watch: the interval must be 0.01 .. 86400 seconds\n"},
	{"stat --watch=nan",
	 "mpactl: --watch: the interval must be 0.01 .. 86400 seconds\n"},
	{"get crc",
	 "mpactl: get: unexpected argument 'crc'; possible: dev, listen\n"},
	{"set crc",
	 "mpactl: set crc: a value is missing; possible: required, off, inherit\n"},
	{"set crc off crc required", "mpactl: set: 'crc' is given twice\n"},
	{"set crc off crc inherit", "mpactl: set: 'crc' is given twice\n"},
	{"set crc of",
	 "mpactl: crc: 'of' is not one of required, off, inherit; did you mean "
	 "'off'?\n"},
	{"set rtr send,rea",
	 "mpactl: rtr: 'rea' is not some of send,write,read; did you mean "
	 "'read'?\n"},
	{"set ird x", "mpactl: ird: 'x' is not 0 .. 16382\n"},
	{"monitor --kinds conn,devices",
	 "mpactl: --kinds: 'devices' is not one of conn, dev, listen, config, "
	 "failure\n"},
	{"restore", "mpactl: restore: FILE is missing\n"},
	{"probe host", "mpactl: probe: PORT is missing\n"},
	{"probe host 1 --revision 3",
	 "mpactl: --revision: '3' is not one of 0, 1, 2\n"},
	{"probe host 1 --ird 010", "mpactl: probe: --ird: '010' is not a decimal number\n"},
	{"doctor --port 0443", "mpactl: doctor: --port: '0443' is not a decimal number\n"},
	{"doctor --check mtv", nullptr},
	{"--color blue dev",
	 "mpactl: --color: 'blue' is not one of auto, always, never\n"},
	{"dev --frob",
	 "mpactl: dev: unknown option '--frob'; possible: --help, --json, --color, "
	 "--version\n"},
	{"set crc off --chek",
	 "mpactl: set crc: unknown option '--chek'; did you mean '--check'? "
	 "Possible: --help, --check, --json, --color, --version\n"},
};

std::string first_line(const std::string &text)
{
	return text.substr(0, text.find('\n') + 1);
}

TEST_F(Command, usage_errors_end_with_2_and_do_nothing)
{
	for (const auto &row : wrong) {
		EXPECT_EQ(world.run(row.arguments), Exit::usage) << row.arguments;
		EXPECT_EQ(world.out_, "") << row.arguments;
		if (row.message) {
			EXPECT_EQ(first_line(world.err_), row.message);
		}
		EXPECT_TRUE(world.err_.starts_with("mpactl: ")) << world.err_;
	}
	EXPECT_TRUE(world.mpa_.asked_.empty());
}

TEST_F(Command, a_message_lists_all_commands)
{
	const std::pair<const char *, std::string> rows[] = {
		{"", "mpactl: a command is missing; possible: "},
		{"devs", "mpactl: unknown command 'devs'; did you mean 'dev'? "
			 "Possible: "},
		{"restor -", "mpactl: unknown command 'restor'; did you mean "
			     "'restore'? Possible: "},
		{"frobnicate", "mpactl: unknown command 'frobnicate'; possible: "},
	};

	for (const auto &[arguments, message] : rows) {
		EXPECT_EQ(world.run(arguments), Exit::usage);
		EXPECT_EQ(first_line(world.err_), message + commands);
	}
}

TEST_F(Command, a_message_lists_all_settings)
{
	const std::pair<const char *, std::string> rows[] = {
		{"set", "mpactl: set: a setting is missing; possible: "},
		{"set dev mpa1", "mpactl: set: a setting is missing; possible: "},
		{"set dev mpa1 crk off", "mpactl: set: unexpected argument 'crk'; "
					 "did you mean 'crc'? Possible: "},
		{"set xyzzy off",
		 "mpactl: set: unexpected argument 'xyzzy'; possible: dev, "
		 "listen, "},
	};

	for (const auto &[arguments, message] : rows) {
		EXPECT_EQ(world.run(arguments), Exit::usage);
		EXPECT_EQ(first_line(world.err_), message + setting_names);
	}
}

TEST_F(Command, a_usage_error_names_the_help_of_its_command)
{
	world.run("dev a b");
	EXPECT_TRUE(world.err_.ends_with("\nTry 'mpactl dev --help'.\n"));
	world.run("frobnicate");
	EXPECT_TRUE(world.err_.ends_with("\nTry 'mpactl --help'.\n"));
}

// A value can have the name of a keyword or a command.
TEST_F(Command, keywords_take_the_next_word_as_their_value)
{
	world.mpa_.devices_[0].name = "id";
	world.mpa_.devices_[1].name = "set";
	EXPECT_EQ(world.output("dev id"), world.output("dev show id"));
	world.output("conn dev id phase exited");
	world.output("get dev set");
	world.output("set dev set crc off");
	EXPECT_EQ(world.mpa_.asked_.back()[0].target, Target::device("set"));
	EXPECT_EQ(world.output("conn id 17 dev id"),
		  world.output("conn show dev id id 17"));
}

TEST_F(Command, help_and_version_are_no_errors)
{
	EXPECT_EQ(world.run("--version"), Exit::ok);
	EXPECT_EQ(world.out_, "mpactl " MPA_VERSION "\n");
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

TEST_F(Command, missing_objects_get_the_kernels_message)
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
		const bool device = std::string(row.message).starts_with("mpactl: device");

		EXPECT_EQ(world.run(row.arguments),
			  device ? Exit::unavailable : Exit::refused);
		EXPECT_EQ(world.out_, "");
		EXPECT_EQ(world.err_, row.message);
	}
}

TEST_F(Command, an_unexpected_exception_gets_a_message)
{
	const struct {
		std::function<void()> fault;
		const char *message;
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
		if (row.message)
			EXPECT_EQ(world.err_, row.message);
		else
			EXPECT_TRUE(world.err_.starts_with(
				"mpactl: internal error: ")) << world.err_;
	}
}

// The first signal requests a stop; the second one ends the process.
TEST(Stop, a_second_signal_ends_the_process)
{
	testing::FLAGS_gtest_death_test_style = "threadsafe";
	for (const int first : {SIGINT, SIGTERM})
		for (const int second : {SIGINT, SIGTERM})
			EXPECT_EXIT(
				{
					const StopSignals stop;

					if (stop.pending())
						std::_Exit(1);
					::raise(first);
					if (!stop.pending() || !StopSignals().pending())
						std::_Exit(2);
					::raise(second);
					std::_Exit(3);
				},
				testing::KilledBySignal(second), "");
}

TEST_F(Command, an_inconsistent_dump_is_shown_with_a_warning)
{
	world.mpa_.interrupted_ = true;
	EXPECT_EQ(world.run("conn -j"), Exit::ok);
	EXPECT_EQ(world.out_.substr(0, 2), "[\n");
	EXPECT_EQ(world.err_,
		  "mpactl: connections were added or removed while they were "
		  "listed; the list may be inconsistent\n");
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

TEST_F(Command, set_with_check_only_asks)
{
	world.output("set --check crc off");
	world.output("set crc off --check");
	EXPECT_EQ(world.mpa_.checks_, (std::vector<bool>{true, true}));
}

TEST_F(Command, the_kernels_remark_is_written_once)
{
	world.mpa_.remark_ = "for new connections only";
	EXPECT_EQ(world.run("set crc off"), Exit::ok);
	EXPECT_EQ(world.out_, "");
	EXPECT_EQ(world.err_, "mpactl: for new connections only\n");
}

TEST_F(Command, a_refusal_by_another_release_says_who_must_be_upgraded)
{
	const std::string own = MPA_VERSION;

	for (const auto &[release, advice] : std::map<std::string, std::string>{
		     {own, ""},
		     {"", ""},
		     {"unknown", ""},
		     {"0.0.1", "mpactl is " + own + ", the module mpa 0.0.1: upgrade the "
			       "modules\n"},
		     {"99.0.0", "mpactl is " + own + ", the module mpa 99.0.0: upgrade "
				"mpactl\n"}}) {
		world.release_ = release;
		world.mpa_.refusal_ = Refusal{.number = EINVAL, .message = "no"};
		EXPECT_EQ(world.run("set dev mpa1 ird 1"), Exit::refused);
		EXPECT_TRUE(world.err_.ends_with(advice)) << world.err_;
		EXPECT_EQ(std::count(world.err_.begin(), world.err_.end(), '\n'),
			  advice.empty() ? 1 : 2)
			<< world.err_;
	}
	world.mpa_.refusal_.reset();
	EXPECT_EQ(world.run("set dev mpa1 ird 1"), Exit::ok);
	EXPECT_EQ(world.err_, "");
}

TEST_F(Command, a_refusal_has_message_attribute_and_range)
{
	struct Row {
		Refusal refusal;
		const char *message;
	};
	const Row rows[] = {
		{{EPERM, "CAP_NET_ADMIN required", "", {}},
		 "mpactl: device mpa1: CAP_NET_ADMIN required\n"},
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
		EXPECT_EQ(world.err_, row.message);
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
12:00:04.250 no counter changed
)");
}

TEST_F(Command, watch_as_json_is_one_object_per_line)
{
	world.sleeps_ = {
		[&] { world.mpa_.devices_[0].counters[0].value += 1; },
		[&] { world.mpa_.devices_[0].counters[1].value = 0; },
	};
	EXPECT_EQ(world.output("-j stat dev mpa1 --watch=3"), R"({"time":1795262403.25,"seconds":3.0,"stat":[{"kind":"device","dev":"mpa1","rates":{"tx_fpdus":0.333,"tx_bytes":0.0},"counters":{"tx_fpdus":1001,"tx_bytes":1258291}}]}
{"time":1795262406.25,"seconds":3.0,"stat":[{"kind":"device","dev":"mpa1","rates":{"tx_fpdus":0.0,"tx_bytes":0.0},"counters":{"tx_fpdus":1001,"tx_bytes":0}}]}
)");
}

TEST_F(Command, watch_handles_devices_that_are_added_and_removed)
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

TEST_F(Command, watch_ends_when_its_object_is_removed)
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

// One notice of each kind.
std::deque<Notice> every_notice(const Mpa &mpa)
{
	Event up{.command = MPA_CMD_CONN_UP_NTF,
		 .connection = mpa.connections_[0]};
	Event down{.command = MPA_CMD_CONN_DOWN_NTF,
		   .connection = mpa.connections_[1]};
	Event add{.command = MPA_CMD_DEV_ADD_NTF, .device = mpa.devices_[1]};
	Event change{.command = MPA_CMD_DEV_CHANGE_NTF, .device = mpa.devices_[1]};
	Event removed{.command = MPA_CMD_DEV_DEL_NTF, .device = mpa.devices_[1]};
	Event listen_add{.command = MPA_CMD_LISTEN_ADD_NTF,
			 .listener = mpa.listeners_[0]};
	Event listen_del{.command = MPA_CMD_LISTEN_DEL_NTF,
			 .listener = mpa.listeners_[1]};
	Event set_device{.command = MPA_CMD_CONFIG_NTF, .device = mpa.devices_[0]};
	Event set_all{.command = MPA_CMD_CONFIG_NTF, .config = Config{}};
	Event crc{.command = MPA_CMD_FAILURE_NTF,
		  .connection = mpa.connections_[0],
		  .failure = Failure{MPA_FAILURE_CRC, EBADMSG, {}, 7}};
	Event half_open{.command = MPA_CMD_FAILURE_NTF,
			.listener = mpa.listeners_[0],
			.failure = Failure{MPA_FAILURE_HALF_OPEN, 0,
					   Terminate{2, 0, 3}, 0}};

	return {up, down, add, change, removed, listen_add, listen_del, set_device,
		set_all, crc, half_open, Lost{37}, Lost{}};
}

TEST_F(Command, monitor_shows_every_event)
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
12:00:00.250 failure    crc (EBADMSG), connection 17: 10.77.0.1:40312 -> 10.77.0.2:7174, mpa1, 7 more not reported
12:00:00.250 failure    half-open, layer 2 type 0 code 0x03, listener 3: *:7174, mpa1
12:00:00.250 37 events lost
12:00:00.250 events lost
)");
}

TEST_F(Command, monitor_as_json)
{
	world.mpa_.notices_ = every_notice(world.mpa_);
	EXPECT_EQ(world.output("monitor -j"), R"({"event":"conn-up","time":1795262400.25,"conn":{"id":17,"owner":"device","dev_index":0,"dev":"mpa1","qpn":5,"local":{"addr":"10.77.0.1","port":40312},"remote":{"addr":"10.77.0.2","port":7174},"phase":"operational","role":"initiator","age_ms":185000,"revision":2,"ddp_version":1,"enhanced":true,"peer_to_peer":true,"rtr":["read"],"tx_markers":false,"rx_markers":true,"crc":true,"ird":8,"ord":16,"peer_ird":16,"peer_ord":8,"rdmap_extensions":true,"start_key":false,"mulpdu":1440,"emss":1448,"code":"none","err":"","stats":{"tx_fpdus":1000,"tx_bytes":1258291,"rx_bytes":900}}}
{"event":"conn-down","time":1795262400.25,"conn":{"id":18,"owner":"socket","listen_id":4,"uid":1000,"inode":98765,"local":{"addr":"fd77::1","port":7000},"remote":{"addr":"fd77::2","port":50001},"phase":"exited","role":"responder","age_ms":950,"code":"startup","err":"EPROTO","term_sent":{"layer":2,"type":0,"code":3},"stats":{}}}
{"event":"dev-add","time":1795262400.25,"dev":{"index":1,"name":"mpa10","ifindex":3,"ifname":"enp3s0f1","active":false,"ird_max":128,"ord_max":128,"rtr":["send","write","read"],"conns":0,"listeners":0}}
{"event":"dev-change","time":1795262400.25,"dev":{"index":1,"name":"mpa10","ifindex":3,"ifname":"enp3s0f1","active":false,"ird_max":128,"ord_max":128,"rtr":["send","write","read"],"conns":0,"listeners":0}}
{"event":"dev-del","time":1795262400.25,"dev":{"index":1,"name":"mpa10","ifindex":3,"ifname":"enp3s0f1","active":false,"ird_max":128,"ord_max":128,"rtr":["send","write","read"],"conns":0,"listeners":0}}
{"event":"listen-add","time":1795262400.25,"listen":{"id":3,"owner":"device","dev_index":0,"dev":"mpa1","local":{"addr":"0.0.0.0","port":7174},"backlog":10,"half_open":2}}
{"event":"listen-del","time":1795262400.25,"listen":{"id":4,"owner":"socket","local":{"addr":"::","port":7000},"backlog":128,"uid":1000}}
{"event":"config","time":1795262400.25,"kind":"device","name":"mpa1","config":{"crc":"off","markers":false,"revision":"auto","permissive":false,"exchange":"enhanced","peer_to_peer":true,"rtr":["send","write","read"],"ird":128,"ord":128,"startup_timeout":2000,"reply_timeout":30000,"half_open_max":128,"packing":false,"segments":"auto","first_fpdu_timeout":0,"close_timeout":1200000,"linger_max":8192,"keepalive":true,"user_qp_max":8192,"user_cq_max":16384,"user_mr_max":131072,"user_pd_max":1024,"user_rings_max":4096,"rdmap_extensions":"negotiate","receive_wait":0,"peer_timeout":0,"port_mapping":true,"early_placement":false,"rto_min":0,"startup":"frames","framing":true},"own":["crc"]}
{"event":"config","time":1795262400.25,"kind":"defaults","config":{},"own":[]}
{"event":"failure","time":1795262400.25,"conn":{"id":17,"owner":"device","dev_index":0,"dev":"mpa1","qpn":5,"local":{"addr":"10.77.0.1","port":40312},"remote":{"addr":"10.77.0.2","port":7174},"phase":"operational","role":"initiator","age_ms":185000,"revision":2,"ddp_version":1,"enhanced":true,"peer_to_peer":true,"rtr":["read"],"tx_markers":false,"rx_markers":true,"crc":true,"ird":8,"ord":16,"peer_ird":16,"peer_ord":8,"rdmap_extensions":true,"start_key":false,"mulpdu":1440,"emss":1448,"code":"none","err":"","stats":{"tx_fpdus":1000,"tx_bytes":1258291,"rx_bytes":900}},"failure":{"kind":"crc","err":"EBADMSG","suppressed":7}}
{"event":"failure","time":1795262400.25,"listen":{"id":3,"owner":"device","dev_index":0,"dev":"mpa1","local":{"addr":"0.0.0.0","port":7174},"backlog":10,"half_open":2},"failure":{"kind":"half-open","err":"","term":{"layer":2,"type":0,"code":3},"suppressed":0}}
{"event":"lost","time":1795262400.25,"count":37}
{"event":"lost","time":1795262400.25}
)");
}

// Lost events can have been of any kind.
TEST_F(Command, monitor_of_some_kinds)
{
	world.mpa_.notices_ = every_notice(world.mpa_);
	EXPECT_EQ(world.output("monitor --kinds listen"), R"(12:00:00.250 listen-add listener 3: *:7174, mpa1
12:00:00.250 listen-del listener 4: [::]:7000, socket, user 1000
12:00:00.250 37 events lost
12:00:00.250 events lost
)");
}

// The events that gave the devices their names may be among the lost ones.
TEST_F(Command, monitor_lists_devices_again_when_events_were_lost)
{
	auto down = world.mpa_.connections_[0];
	int lists = 0;

	down.phase = MPA_PHASE_CLOSED;
	world.mpa_.notices_ = {
		Event{.command = MPA_CMD_CONN_DOWN_NTF, .connection = down}, Lost{1},
		Event{.command = MPA_CMD_CONN_DOWN_NTF, .connection = down}};
	world.mpa_.fault_ = [&] {
		if (++lists == 2)
			world.mpa_.devices_[0].name = "other";
	};
	const auto text = world.output("monitor");

	EXPECT_NE(text.find("10.77.0.2:7174, mpa1, after"), std::string::npos) << text;
	EXPECT_NE(text.find("10.77.0.2:7174, other, after"), std::string::npos) << text;
	EXPECT_EQ(lists, 2);
}

TEST_F(Command, monitor_goes_on_if_devices_cannot_be_listed_again)
{
	int lists = 0;

	world.mpa_.notices_ = {Lost{}, Lost{1}};
	world.mpa_.fault_ = [&] {
		if (++lists > 1)
			throw KernelError("devices", {.number = ENOBUFS});
	};
	const auto text = world.output("monitor");

	EXPECT_NE(text.find("1 events lost"), std::string::npos) << text;
	EXPECT_EQ(lists, 3);
}

// --- colours ---------------------------------------------------------------------------

TEST_F(Command, colours_are_for_terminals_or_on_request)
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
