/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// save and restore: contents of files, wrong files, and changes that are made and
// undone.

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/files.hpp"
#include "commands/state.hpp"
#include "fake.hpp"

using namespace fake;
using namespace std::string_literals;

// The linker redirects calls of fchmod() to this file (-Wl,--wrap).
static int fchmod_error;
static int raised_by_fchmod;

extern "C" {
int __real_fchmod(int, mode_t);
int __wrap_fchmod(int, mode_t);

int __wrap_fchmod(int fd, mode_t mode)
{
	if (raised_by_fchmod)
		::raise(raised_by_fchmod);
	if (!fchmod_error)
		return __real_fchmod(fd, mode);
	errno = fchmod_error;
	return -1;
}
}

namespace {

class Saved : public testing::Test {
protected:
	Saved()
	{
		char name[] = "/tmp/mpactl-test.XXXXXX";

		furnish(world.mpa_);
		directory_ = ::mkdtemp(name);
	}

	~Saved() override { std::filesystem::remove_all(directory_); }

	std::string path(const std::string &name) const
	{
		return (directory_ / name).string();
	}

	// A file with this text.
	std::string file(const std::string &text) const
	{
		const auto name = path("state.json");

		std::ofstream(name) << text;
		return name;
	}

	std::size_t files() const
	{
		std::size_t count = 0;

		for ([[maybe_unused]] const auto &one :
		     std::filesystem::directory_iterator(directory_))
			count++;
		return count;
	}

	World world;

private:
	std::filesystem::path directory_;
};

constexpr const char *furnished = R"({
  "version": 1,
  "defaults": {
    "startup_timeout": 2000
  },
  "devices": [
    {
      "name": "mpa1",
      "netdev": "eth0",
      "config": {
        "crc": "off"
      }
    },
    {
      "name": "mpa10",
      "netdev": "enp3s0f1",
      "config": {}
    }
  ]
}
)";

// --- save --------------------------------------------------------------------------

TEST_F(Saved, has_only_settings_that_were_set)
{
	EXPECT_EQ(world.output("save"), furnished);
	EXPECT_EQ(world.output("save -"), furnished);
	std::swap(world.mpa_.devices_[0], world.mpa_.devices_[1]);
	EXPECT_EQ(world.output("save"), furnished);
}

TEST_F(Saved, to_a_file_leaves_no_other_file)
{
	EXPECT_EQ(world.output("save " + path("a")), "");
	EXPECT_EQ(read_file(path("a")), furnished);
	EXPECT_EQ(files(), 1u);
}

TEST_F(Saved, replaces_keeps_permissions_and_follows_links)
{
	struct stat status;

	std::ofstream(path("a")) << "old";
	::chmod(path("a").c_str(), 0600);
	std::filesystem::create_symlink("a", path("b"));
	world.output("save " + path("b"));
	EXPECT_EQ(read_file(path("a")), furnished);
	EXPECT_TRUE(std::filesystem::is_symlink(path("b")));
	ASSERT_EQ(::stat(path("a").c_str(), &status), 0);
	EXPECT_EQ(status.st_mode & 07777, 0600u);
	EXPECT_EQ(files(), 2u);
}

TEST_F(Saved, makes_what_a_link_leads_to)
{
	std::filesystem::create_directory(path("there"));
	std::filesystem::create_symlink("there/b", path("a"));
	std::filesystem::create_symlink(path("c"), path("there/b"));
	world.output("save " + path("a"));
	EXPECT_TRUE(std::filesystem::is_symlink(path("a")));
	EXPECT_TRUE(std::filesystem::is_symlink(path("there/b")));
	EXPECT_EQ(read_file(path("c")), furnished);
}

TEST_F(Saved, keeps_the_group)
{
	struct stat status;
	// Root may use any.
	const gid_t other = 65534;

	std::ofstream(path("a")) << "old";
	if (::chown(path("a").c_str(), static_cast<uid_t>(-1), other))
		GTEST_SKIP() << "only root can";
	world.output("save " + path("a"));
	ASSERT_EQ(::stat(path("a").c_str(), &status), 0);
	EXPECT_EQ(status.st_gid, other);
}

TEST_F(Saved, to_an_unwritable_file_is_4)
{
	EXPECT_EQ(world.run("save " + path("no/such")), Exit::io);
	EXPECT_EQ(world.err_, "mpactl: " + path("no/such") +
				      ": No such file or directory\n");
	const std::string long_name(300, 'x');
	EXPECT_EQ(world.run("save " + path(long_name)), Exit::io);
	EXPECT_EQ(world.err_, "mpactl: " + path(long_name) + ": File name too long\n");
	EXPECT_EQ(world.run("save /dev/full"), Exit::io);
	EXPECT_EQ(world.err_, "mpactl: /dev/full: No space left on device\n");
}

// --- wrong files -----------------------------------------------------------------------

#define ALL_KEYS                                                              \
	"crc, markers, revision, permissive, exchange, peer_to_peer, rtr, ird, ord, " \
	"startup_timeout, reply_timeout, half_open_max, packing, segments, "     \
	"first_fpdu_timeout, close_timeout, linger_max, keepalive, user_qp_max, " \
	"user_cq_max, user_mr_max, user_pd_max, user_rings_max, rdmap_extensions, " \
	"receive_wait, peer_timeout, port_mapping, early_placement, rto_min, startup, " \
	"framing"

struct WrongFile {
	const char *text;
	const char *message;
};

const WrongFile wrong_files[] = {
	{"", "line 1, column 1: syntax error while parsing value - unexpected end "
	     "of input; expected '[', '{', or a literal"},
	{"{\n \"version\": 1,\n}",
	 "line 3, column 1: syntax error while parsing object key - unexpected "
	 "'}'; expected string literal"},
	{"[]", "must be an object"},
	{"{}", "version: is missing"},
	{R"({"version":2})", "version: must be 1"},
	{R"({"version":"1"})", "version: must be 1"},
	{R"({"version":1,"version":1})", "'version' occurs twice"},
	{R"({"version":1,"default":{}})", "default: unknown key; did you mean 'defaults'? Possible: version, defaults, "
	 "devices"},
	{R"({"version":1,"defaults":[]})", "defaults: must be an object"},
	{R"({"version":1,"defaults":{"crk":"off"}})",
	 "defaults.crk: unknown key; did you mean 'crc'? Possible: " ALL_KEYS},
	{R"({"version":1,"defaults":{"peer-to-peer":true}})",
	 "defaults.peer-to-peer: unknown key; did you mean 'peer_to_peer'? "
	 "Possible: " ALL_KEYS},
	{R"({"version":1,"defaults":{"crc":"off","crc":"off"}})",
	 "'crc' occurs twice"},
	{R"({"version":1,"defaults":{"crc":false}})",
	 "defaults.crc: false is not one of required, off"},
	{R"({"version":1,"defaults":{"ird":16383}})",
	 "defaults.ird: 16383 is not 0 .. 16382"},
	{R"({"version":1,"defaults":{"ird":1e999}})",
	 "number overflow parsing '1e999'"},
	{R"({"version":1,"defaults":{"ird":[[[[[[]]]]]]}})",
	 "defaults.ird: [[[[[[]]]]]] is not 0 .. 16382"},
	{R"({"version":1,"defaults":{"packing":1}})",
	 "defaults.packing: 1 is not true or false"},
	{R"({"version":1,"defaults":{"reply_timeout":99}})",
	 "defaults.reply_timeout: 99 is not 100ms .. 1h"},
	{R"({"version":1,"devices":{}})", "devices: must be an array"},
	{R"({"version":1,"devices":[1]})", "devices[0]: must be an object"},
	{R"({"version":1,"devices":[{}]})", "devices[0].name: is missing"},
	{R"({"version":1,"devices":[{"name":1,"netdev":"a"}]})",
	 "devices[0].name: must be a string"},
	{R"({"version":1,"devices":[{"name":"","netdev":"a"}]})",
	 "devices[0].name: must have 1 .. 63 characters"},
	{R"({"version":1,"devices":[{"name":"a"}]})",
	 "devices[0].netdev: is missing"},
	{R"({"version":1,"devices":[{"name":"a","netdev":"0123456789abcdef"}]})",
	 "devices[0].netdev: must have 1 .. 15 characters"},
	{R"({"version":1,"devices":[{"name":"a","netdev":"b\u0000c"}]})",
	 "devices[0].netdev: must have 1 .. 15 characters"},
	{R"({"version":1,"devices":[{"name":"a","netdev":"b","cfg":{}}]})",
	 "devices[0].cfg: unknown key; possible: name, netdev, config"},
	{R"({"version":1,"devices":[{"name":"a","netdev":"b"},)"
	 R"({"name":"a","netdev":"c"}]})",
	 "devices[1].name: occurs twice"},
	{R"({"version":1,"devices":[{"name":"a","netdev":"b"},)"
	 R"({"name":"b","netdev":"c","config":{"rtr":[]}}]})",
	 "devices[1].config.rtr: [] is not some of send,write,read"},
};

TEST_F(Saved, wrong_files_are_refused_as_a_whole)
{
	for (const auto &row : wrong_files) {
		const auto name = file(row.text);

		EXPECT_EQ(world.run("restore " + name), Exit::usage) << row.text;
		EXPECT_EQ(world.out_, "");
		EXPECT_EQ(world.err_,
			  "mpactl: " + name + ": " + row.message + "\n");
	}
	EXPECT_TRUE(world.mpa_.asked_.empty());
	EXPECT_TRUE(world.rdma_.calls_.empty());
}

std::string repeated(std::string_view text, std::size_t times)
{
	std::string all;

	while (times--)
		all += text;
	return all;
}

// Below the limit of a file there is room for more levels than the stack has room for.
TEST_F(Saved, files_with_deep_nesting_are_refused)
{
	for (const std::size_t levels : {7u, 170000u})
		for (const auto &value :
		     {repeated("[", levels) + repeated("]", levels),
		      repeated(R"({"":)", levels) + "0" + repeated("}", levels)}) {
			const auto name =
				file(R"({"version":1,"defaults":{"ird":)" + value + "}}");

			EXPECT_EQ(world.run("restore " + name), Exit::usage);
			EXPECT_EQ(world.err_, "mpactl: " + name +
						      ": more than 8 levels of nesting\n");
		}
}

TEST_F(Saved, files_that_cannot_be_read_are_4)
{
	const auto name = file(std::string(file_max + 1, ' '));

	EXPECT_EQ(world.run("restore " + name), Exit::io);
	EXPECT_EQ(world.err_, "mpactl: " + name + ": longer than 1 MiB\n");
	EXPECT_EQ(world.run("restore " + path("none")), Exit::io);
	EXPECT_EQ(world.err_, "mpactl: " + path("none") +
				      ": No such file or directory\n");
	EXPECT_EQ(world.run("restore /tmp"), Exit::io);
	EXPECT_EQ(world.err_, "mpactl: /tmp: Is a directory\n");
}

TEST_F(Saved, no_temporary_file_is_left_if_its_mode_cannot_be_set)
{
	const auto name = file("before");

	fchmod_error = EPERM;
	EXPECT_EQ(world.run("save " + name), Exit::io);
	fchmod_error = 0;
	EXPECT_EQ(world.err_,
		  "mpactl: " + name + ": Operation not permitted\n");
	EXPECT_EQ(read_file(name), "before");
	EXPECT_EQ(files(), 1u);
}

TEST_F(Saved, a_name_that_is_not_utf8_is_refused)
{
	world.mpa_.devices_[0].ifname = "eth\xff";
	for (const auto &command : {"save " + path("state.json"), "save"s, "save -j"s}) {
		EXPECT_EQ(world.run(command), Exit::io) << command;
		EXPECT_EQ(world.err_, "mpactl: a name is not UTF-8 and cannot be saved\n");
		EXPECT_EQ(world.out_, "");
	}
	EXPECT_EQ(files(), 0u);
}

// --- restore -----------------------------------------------------------------------------

constexpr const char *other = R"({
  "version": 1,
  "defaults": {"startup_timeout": 3000, "markers": true},
  "devices": [
    {"name": "mpa3", "netdev": "eth3", "config": {"ird": 8, "rtr": ["read"]}},
    {"name": "mpa1", "netdev": "eth0", "config": {"packing": false}},
    {"name": "mpa2", "netdev": "eth2"}
  ]
})";

constexpr const char *other_difference =
	R"(OBJECT       CHANGE   SETTING          OLD        NEW
defaults     added    markers          inherited  on
defaults     changed  startup-timeout  2s         3s
device mpa1  reset    crc              off        inherited
device mpa1  added    packing          inherited  off
device mpa2  created                              at eth2
device mpa3  created                              at eth3
device mpa3  added    rtr              inherited  read
device mpa3  added    ird              inherited  8
)";

TEST_F(Saved, the_same_state_changes_nothing)
{
	const auto name = file(furnished);

	EXPECT_EQ(world.output("restore " + name), "nothing to change\n");
	EXPECT_EQ(world.output("restore " + name + " -j"),
		  "{\"dry_run\":false,\"changes\":[]}\n");
	EXPECT_TRUE(world.mpa_.asked_.empty());
}

TEST_F(Saved, dry_run_shows_and_does_nothing)
{
	const auto name = file(other);

	EXPECT_EQ(world.output("restore --dry-run " + name), other_difference);
	EXPECT_EQ(world.output("restore -n -j " + name), R"({"dry_run":true,"changes":[{"kind":"defaults","what":"added","setting":"markers","new":true},{"kind":"defaults","what":"changed","setting":"startup_timeout","old":2000,"new":3000},{"kind":"device","name":"mpa1","what":"reset","setting":"crc","old":"off"},{"kind":"device","name":"mpa1","what":"added","setting":"packing","new":false},{"kind":"device","name":"mpa2","what":"created","netdev":"eth2"},{"kind":"device","name":"mpa3","what":"created","netdev":"eth3"},{"kind":"device","name":"mpa3","what":"added","setting":"rtr","new":["read"]},{"kind":"device","name":"mpa3","what":"added","setting":"ird","new":8}]}
)");
	EXPECT_TRUE(world.mpa_.asked_.empty());
	EXPECT_TRUE(world.rdma_.calls_.empty());
}

TEST_F(Saved, dry_run_shows_no_device_that_would_be_skipped)
{
	world.rdma_.absent_ = {"eth3"};
	EXPECT_EQ(world.run("restore -n --present " + file(other)), Exit::ok);
	EXPECT_EQ(world.out_.find("mpa3"), std::string::npos);
	EXPECT_NE(world.out_.find("mpa2  created"), std::string::npos);
	EXPECT_EQ(world.err_, "mpactl: mpa3: skipped, because there is no network device "
			      "eth3\n");
	EXPECT_TRUE(world.rdma_.calls_.empty());
}

TEST_F(Saved, restore_creates_devices_and_changes_all_at_once)
{
	EXPECT_EQ(world.output("restore " + file(other)), other_difference);
	EXPECT_EQ(world.rdma_.calls_,
		  (std::vector<std::string>{"add mpa2 eth2", "add mpa3 eth3"}));
	Change defaults, mpa1{Target::device("mpa1"), {}, 0},
		mpa3{Target::device("mpa3"), {}, 0};

	defaults.to.set(MPA_A_CONFIG_STARTUP_TIMEOUT, 3000);
	defaults.to.set(MPA_A_CONFIG_MARKERS, 1);
	mpa1.to.set(MPA_A_CONFIG_PACKING, 0);
	mpa1.inherit = Settings::bit(MPA_A_CONFIG_CRC);
	mpa3.to.set(MPA_A_CONFIG_IRD, 8);
	mpa3.to.set(MPA_A_CONFIG_RTR, MPA_CONFIG_RTR_READ);
	EXPECT_EQ(world.mpa_.asked_, (std::vector<std::vector<Change>>{
					     {defaults, mpa1, mpa3}}));
	EXPECT_EQ(world.output("restore " + file(other)), "nothing to change\n");
}

TEST_F(Saved, settings_that_are_not_in_the_file_are_inherited)
{
	EXPECT_EQ(world.output("restore " + file(R"({"version":1})")), R"(OBJECT       CHANGE  SETTING          OLD  NEW
defaults     reset   startup-timeout  2s   inherited
device mpa1  reset   crc              off  inherited
)");
	EXPECT_TRUE(world.rdma_.calls_.empty());
	EXPECT_EQ(world.mpa_.namespace_.config.own, 0u);
	EXPECT_EQ(world.mpa_.devices_[0].config.own, 0u);
}

TEST_F(Saved, devices_are_removed_again_if_settings_are_refused)
{
	world.mpa_.refusal_ = Refusal{EINVAL, "no", "config.ird", {}};
	EXPECT_EQ(world.run("restore " + file(other)), Exit::refused);
	EXPECT_EQ(world.out_, "");
	EXPECT_EQ(world.err_,
		  "mpactl: device mpa3: no (attribute config.ird)\n");
	EXPECT_EQ(world.rdma_.calls_,
		  (std::vector<std::string>{"add mpa2 eth2", "add mpa3 eth3",
					    "remove mpa3", "remove mpa2"}));
	world.mpa_.refusal_.reset();
	EXPECT_EQ(world.output("save"), furnished);
}

TEST_F(Saved, devices_are_removed_again_if_one_cannot_be_created)
{
	world.rdma_.add_refusals_["mpa3"] = {ENODEV, "", "netdev", {}};
	EXPECT_EQ(world.run("restore " + file(other)), Exit::unavailable);
	EXPECT_EQ(world.err_, "mpactl: add device mpa3 at eth3: No such device "
			      "(attribute netdev)\n");
	EXPECT_EQ(world.rdma_.calls_,
		  (std::vector<std::string>{"add mpa2 eth2", "add mpa3 eth3",
					    "remove mpa2"}));
	EXPECT_TRUE(world.mpa_.asked_.empty());
	EXPECT_EQ(world.output("save"), furnished);
}

TEST_F(Saved, a_device_that_cannot_be_removed_is_reported)
{
	world.mpa_.refusal_ = Refusal{EINVAL, "no", "", {}};
	world.rdma_.remove_refusals_["mpa3"] = {EBUSY, "", "", {}};
	EXPECT_EQ(world.run("restore " + file(other)), Exit::refused);
	EXPECT_EQ(world.err_,
		  "mpactl: remove device mpa3: Device or resource busy\n"
		  "mpactl: device mpa3: no\n");
	EXPECT_EQ(world.rdma_.calls_.back(), "remove mpa2");
}

TEST_F(Saved, devices_are_not_moved)
{
	const auto name = file(R"({"version":1,"devices":[)"
			       R"({"name":"mpa1","netdev":"eth9"},)"
			       R"({"name":"mpa0","netdev":"eth8"}]})");

	for (const auto *option : {"", " -n"}) {
		EXPECT_EQ(world.run("restore " + name + option), Exit::refused);
		EXPECT_EQ(world.err_, "mpactl: device mpa1 is at eth0, not at eth9; "
				      "restore does not move devices\n");
	}
	EXPECT_TRUE(world.rdma_.calls_.empty());
}

// No device is left without its settings.
TEST_F(Saved, a_signal_does_not_end_restore_halfway)
{
	const auto name = file(other);

	testing::FLAGS_gtest_death_test_style = "fast";
	for (const int number : {SIGHUP, SIGINT, SIGTERM})
		EXPECT_EXIT(
			{
				// It is ignored in jobs that a shell runs in background.
				::signal(number, SIG_DFL);
				world.rdma_.added_ = [&] { ::raise(number); };
				world.mpa_.changed_ = [] { std::cerr << "changed"; };
				world.run("restore " + name);
				std::_Exit(1);
			},
			testing::KilledBySignal(number), "changed");
}

// Nor does it leave a temporary file of save.
TEST_F(Saved, a_signal_does_not_end_save_halfway)
{
	testing::FLAGS_gtest_death_test_style = "fast";
	EXPECT_EXIT(
		{
			::signal(SIGTERM, SIG_DFL);
			raised_by_fchmod = SIGTERM;
			world.run("save " + path("a"));
			std::_Exit(1);
		},
		testing::KilledBySignal(SIGTERM), "");
	EXPECT_EQ(read_file(path("a")), furnished);
	EXPECT_EQ(files(), 1u);
}

// What is in force there may be less.
TEST_F(Saved, settings_of_a_device_are_saved_as_they_were_set)
{
	auto &device = world.mpa_.devices_[0];
	const auto &in_force = device.config.in_force;

	device.rtr = MPA_CONFIG_RTR_WRITE | MPA_CONFIG_RTR_READ;
	device.config.as_set = in_force.only(device.config.own);
	world.output("set rtr send");
	world.output("set dev mpa1 peer-to-peer on");
	EXPECT_EQ(in_force.at(MPA_A_CONFIG_PEER_TO_PEER), 0u);
	auto text = world.output("save");
	EXPECT_EQ(state_from(text, "file").devices[0].own.at(MPA_A_CONFIG_PEER_TO_PEER),
		  1u);
	EXPECT_EQ(world.output("restore " + file(text)), "nothing to change\n");

	world.output("set dev mpa1 rtr send,write,read");
	EXPECT_EQ(in_force.at(MPA_A_CONFIG_RTR), device.rtr);
	text = world.output("save");
	EXPECT_EQ(state_from(text, "file").devices[0].own.at(MPA_A_CONFIG_RTR),
		  device.rtr | MPA_CONFIG_RTR_SEND);
	EXPECT_EQ(world.output("restore " + file(text)), "nothing to change\n");

	world.output("set dev mpa1 rtr inherit peer-to-peer inherit");
	EXPECT_EQ(world.output("restore " + file(text)),
		  R"(OBJECT       CHANGE  SETTING       OLD        NEW
device mpa1  added   peer-to-peer  inherited  on
device mpa1  added   rtr           inherited  send,write,read
)");
	EXPECT_EQ(world.output("save"), text);
	EXPECT_EQ(world.output("restore " + file(text)), "nothing to change\n");
}

TEST_F(Saved, every_setting_is_saved_and_restored)
{
	auto &config = world.mpa_.namespace_.config;

	config.own = config.in_force.mask();
	const auto text = world.output("save");
	State state = state_from(text, "file");

	EXPECT_EQ(state.defaults, config.in_force);
	EXPECT_EQ(state_json(state).dump(2) + "\n", text);
}

} // namespace
