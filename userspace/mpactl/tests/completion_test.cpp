/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// Candidates of `mpactl complete`, and its use by bash, zsh and fish. The shells call
// a script instead of mpactl, which records its arguments.

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include <gtest/gtest.h>

#include "fake.hpp"

using namespace fake;

namespace {

// --- the program -------------------------------------------------------------------

// The candidates, separated by blanks, without remarks.
std::string offers(World &world, const std::vector<std::string> &line)
{
	std::vector<std::string> arguments{"complete", "--"};
	std::string words;

	arguments.insert(arguments.end(), line.begin(), line.end());
	EXPECT_EQ(world.run(arguments), Exit::ok) << world.err_;
	EXPECT_EQ(world.err_, "");
	std::istringstream lines(world.out_);

	for (std::string one; std::getline(lines, one);)
		words += (words.empty() ? "" : " ") + one.substr(0, one.find('\t'));
	return words;
}

struct Row {
	std::vector<std::string> line;
	const char *words;
};

const Row completions[] = {
	{{}, "dev conn listen stat get set monitor save restore probe doctor"},
	{{""}, "dev conn listen stat get set monitor save restore probe doctor"},
	{{"s"}, "stat set save"},
	{{"complet"}, ""},
	{{"-j", "l"}, "listen"},
	{{"--color", ""}, "auto always never"},
	{{"--color", "always", "ge"}, "get"},
	{{"nonsense", ""}, ""},
	{{"dev", ""}, "mpa1 mpa10 show"},
	{{"dev", "show", ""}, "mpa1 mpa10"},
	{{"dev", "mpa1", ""}, ""},
	{{"dev", "mpa10"}, "mpa10"},
	{{"dev", "--js"}, "--json"},
	{{"listen", ""}, "3 4 show"},
	{{"conn", ""}, "show id dev phase owner"},
	{{"conn", "id", ""}, "17 18"},
	{{"conn", "dev", ""}, "mpa1 mpa10"},
	{{"conn", "phase", "w"}, "wait-reply wait-request"},
	{{"conn", "phase", "exited", ""}, "id dev owner"},
	{{"conn", "owner", ""}, "socket device"},
	{{"stat", ""}, "dev conn"},
	{{"stat", "--watch", ""}, "dev conn"},
	{{"stat", "--watch", "2", "dev", ""}, "mpa1 mpa10"},
	{{"stat", "conn", ""}, "17 18"},
	{{"stat", "--w"}, "--watch"},
	{{"get", ""}, "dev listen"},
	{{"get", "listen", ""}, "3 4"},
	{{"set", "re"}, "revision reply-timeout receive-wait"},
	{{"set", "d"}, "dev"},
	{{"set", "dev", ""}, "mpa1 mpa10"},
	{{"set", "listen", ""}, "3 4"},
	{{"set", "dev", "mpa1", "cr"}, "crc"},
	{{"set", "dev", "mpa1", "d"}, ""},
	{{"set", "crc", ""}, "required off inherit"},
	{{"set", "crc", "off", "c"}, "close-timeout"},
	{{"set", "crc", "off", "segm"}, "segments"},
	{{"set", "rtr", ""}, "send write read all inherit"},
	{{"set", "rtr", "send,"}, "send,write send,read"},
	{{"set", "rtr", "send,w"}, "send,write"},
	{{"set", "ird", ""}, "inherit"},
	{{"set", "nonsense", ""}, ""},
	{{"set", "--ch"}, "--check"},
	{{"monitor", "--kinds", ""}, "conn dev listen config failure"},
	{{"monitor", "--kinds", "conn,d"}, "conn,dev"},
	{{"save", ""}, ":files"},
	{{"restore", "x"}, ":files"},
	{{"restore", "x", ""}, ""},
	{{"restore", "--dr"}, "--dry-run"},
	{{"probe", "h"}, ":hosts"},
	{{"probe", "host", ""}, ""},
	{{"probe", "--revision", ""}, "0 1 2"},
	{{"doctor", "--peer", "h"}, ":hosts"},
	{{"doctor", "--check", "mt"}, "mtu"},
	{{"set", "dev", "mpa1", "l"}, "linger-max"},
	{{"set", "crc", "off", ""}, "dev listen markers revision permissive exchange "
				    "peer-to-peer rtr ird ord startup-timeout "
				    "reply-timeout half-open-max packing segments "
				    "first-fpdu-timeout close-timeout linger-max "
				    "keepalive user-qp-max user-cq-max user-mr-max "
				    "user-pd-max user-rings-max "
				    "rdmap-extensions receive-wait peer-timeout "
				    "port-mapping early-placement rto-min startup framing"},
	{{"get", "dev", "mpa1", ""}, ""},
	{{"stat", "conn", "17", ""}, ""},
	{{"conn", "nonsense", ""}, ""},
};

TEST(Complete, offers_what_may_follow)
{
	World world;

	furnish(world.mpa_);
	for (const auto &row : completions)
		EXPECT_EQ(offers(world, row.line), row.words)
			<< ::testing::PrintToString(row.line);
}

TEST(Complete, offers_no_names_without_the_module)
{
	World world;

	world.loaded_ = false;
	EXPECT_EQ(offers(world, {"get", "dev", ""}), "");
	EXPECT_EQ(offers(world, {"set", "crc", "o"}), "off");
}

TEST(Complete, remarks_follow_a_tab)
{
	World world;

	furnish(world.mpa_);
	EXPECT_EQ(world.run(std::vector<std::string>{"complete", "--", "conn", "id",
						     "18"}),
		  Exit::ok);
	EXPECT_EQ(world.out_, "18\t[fd77::1]:7000 - [fd77::2]:50001\n");
}

// --- the shells ----------------------------------------------------------------------

class Shell : public testing::Test {
protected:
	Shell()
	{
		char name[] = "/tmp/mpactl-shell.XXXXXX";

		directory_ = ::mkdtemp(name);
		std::ofstream(directory_ / "mpactl")
			<< "#!/bin/sh\n"
			   "printf '<%s>' \"$@\" > " << (directory_ / "called")
			<< "\ncat " << (directory_ / "offers") << "\n";
		std::filesystem::permissions(directory_ / "mpactl",
					     std::filesystem::perms::owner_all);
	}

	~Shell() override { std::filesystem::remove_all(directory_); }

	// The output of the shell if `mpactl` offers this, with blanks for newlines.
	std::string run(const std::string &offered, const std::string &shell,
			const std::string &script)
	{
		std::ofstream(directory_ / "offers") << offered;
		std::ofstream(directory_ / "script") << script;
		const auto command =
			"cd " + directory_.string() + " && PATH=" +
			directory_.string() + ":$PATH HOME=" + directory_.string() +
			" " + shell + " ./script 2>&1";
		const std::unique_ptr<std::FILE, int (*)(std::FILE *)> pipe(
			::popen(command.c_str(), "r"), ::pclose);
		std::string text;

		for (int c; (c = std::fgetc(pipe.get())) != EOF;)
			text += c == '\n' ? ' ' : static_cast<char>(c);
		return text;
	}

	std::string called() const
	{
		std::ifstream file(directory_ / "called");

		return {std::istreambuf_iterator<char>(file), {}};
	}

	void touch(const std::string &name) const
	{
		std::ofstream(directory_ / name) << "";
	}

private:
	std::filesystem::path directory_;
};

const std::string tree = MPACTL_TREE "/completion/";

std::string bash_script(const std::string &words, const std::string &last)
{
	return ". " + tree + "mpactl.bash\n"
	       "COMP_WORDS=(mpactl " + words + " '" + last + "')\n"
	       "COMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n"
	       "_mpactl mpactl '" + last + "'\n"
	       "complete -p mpactl > /dev/null && printf '[%s]' \"${COMPREPLY[@]}\"\n";
}

TEST_F(Shell, bash)
{
	EXPECT_EQ(run("17\tan address\n18\n", "bash --norc",
		      bash_script("conn id", "1")),
		  "[17][18]");
	EXPECT_EQ(called(), "<complete><--><conn><id><1>");
	EXPECT_EQ(run("dev\tDevices\n", "bash --norc", bash_script("", "")),
		  "[dev]");
	EXPECT_EQ(called(), "<complete><--><>");
	touch("state.json");
	EXPECT_EQ(run(":files\n", "bash --norc", bash_script("restore", "sta")),
		  "[state.json]");
}

// Replaces the functions of zsh's completion that only work on a command line.
std::string zsh_script(const std::string &words, const std::string &last)
{
	return "_describe() { local name=${@[-1]}; print -rn -- \"[${(j:][:)${(P)name}}]\" }\n"
	       "_files() { print -n files }\n"
	       "_hosts() { print -n hosts }\n"
	       "words=(mpactl " + words + " '" + last + "rest')\n"
	       "CURRENT=$#words PREFIX='" + last + "'\n"
	       "fpath=(" + tree + " $fpath)\n"
	       "autoload -Uz _mpactl\n"
	       "_mpactl\n";
}

TEST_F(Shell, zsh)
{
	EXPECT_EQ(run("17\tan address:1\n18\n", "zsh -f",
		      zsh_script("conn id", "1")),
		  "[17:an address\\:1][18]");
	EXPECT_EQ(called(), "<complete><--><conn><id><1>");
	EXPECT_EQ(run("dev\tDevices\n", "zsh -f", zsh_script("", "")),
		  "[dev:Devices]");
	EXPECT_EQ(called(), "<complete><--><>");
	EXPECT_EQ(run(":files\n", "zsh -f", zsh_script("restore", "sta")), "files");
	EXPECT_EQ(run(":hosts\n", "zsh -f", zsh_script("probe", "")), "hosts");
}

std::string fish_script(const std::string &line)
{
	return "source " + tree + "mpactl.fish\ncomplete -C 'mpactl " + line + "'\n";
}

TEST_F(Shell, fish)
{
	EXPECT_EQ(run("17\tan address\n18\n", "fish --no-config",
		      fish_script("conn id 1")),
		  "17\tan address 18 ");
	EXPECT_EQ(called(), "<complete><--><conn><id><1>");
	EXPECT_EQ(run("dev\tDevices\n", "fish --no-config", fish_script("")),
		  "dev\tDevices ");
	EXPECT_EQ(called(), "<complete><--><>");
	touch("state.json");
	EXPECT_EQ(run(":files\n", "fish --no-config", fish_script("restore sta")),
		  "state.json ");
}

} // namespace
