/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// --help of every command: it shows each keyword, value and option that the parser
// accepts, and completion offers no others.

#include <algorithm>
#include <cctype>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "doctor/checks.hpp"
#include "fake.hpp"
#include "model/names.hpp"
#include "model/settings.hpp"
#include "show/event_view.hpp"

using namespace fake;

namespace {

using Line = std::vector<std::string>;

struct CommandHelp {
	const char *name;
	// Rows of the help, by the name in the left column.
	Line rows;
};

// Everything that can be typed behind a command.
const CommandHelp helps[] = {
	{"dev", {"DEVICE", "show", "-h,--help"}},
	{"conn",
	 {"show", "id ID", "dev DEVICE", "phase PHASE", "owner OWNER", "-h,--help"}},
	{"listen", {"ID", "show", "-h,--help"}},
	{"stat", {"dev DEVICE", "conn ID", "-w,--watch [SECONDS]", "-h,--help"}},
	{"get", {"dev DEVICE", "listen ID", "-h,--help"}},
	{"set",
	 {"dev DEVICE", "listen ID", "crc required|off|inherit",
	  "markers off|on|inherit", "revision auto|0|1|2|inherit",
	  "permissive off|on|inherit", "exchange enhanced|plain|inherit",
	  "peer-to-peer off|on|inherit", "rtr send,write,read|all|inherit",
	  "ird NUMBER|inherit", "ord NUMBER|inherit",
	  "startup-timeout TIME|inherit", "reply-timeout TIME|inherit",
	  "half-open-max NUMBER|inherit", "packing off|on|inherit",
	  "segments auto|single|lone|inherit", "first-fpdu-timeout TIME|inherit",
	  "close-timeout TIME|inherit", "linger-max NUMBER|inherit",
	  "keepalive off|on|inherit", "user-qp-max NUMBER|inherit",
	  "user-cq-max NUMBER|inherit", "user-mr-max NUMBER|inherit",
	  "user-pd-max NUMBER|inherit", "user-rings-max NUMBER|inherit",
	  "rdmap-extensions off|negotiate|on|inherit",
	  "receive-wait TIME|inherit", "peer-timeout TIME|inherit",
	  "port-mapping off|on|inherit", "early-placement off|on|inherit",
	  "rto-min TIME|inherit", "startup frames|start-key|either|inherit",
	  "framing off|on|inherit",
	  "--check", "-h,--help"}},
	{"monitor", {"--kinds KIND,...", "-h,--help"}},
	{"save", {"FILE", "-h,--help"}},
	{"restore",
	 {"FILE", "-n,--dry-run", "--defaults", "--netdev NAME", "--present",
	  "-h,--help"}},
	{"probe",
	 {"HOST", "PORT", "--revision 0|1|2", "--all", "--markers", "--no-crc",
	  "--no-peer-to-peer", "--ird DEPTH", "--ord DEPTH", "--private-data TEXT",
	  "--private-data-hex DIGITS", "--timeout TIME", "-4", "-6",
	  "--source ADDRESS", "-h,--help"}},
	{"doctor",
	 {"--port PORT", "--peer HOST", "--check ID", "--list", "-h,--help"}},
};

class HelpText : public testing::Test {
protected:
	HelpText() { furnish(world.mpa_); }

	std::string help(const std::string &command)
	{
		return world.output(command + " --help");
	}

	// Words that completion offers behind this line.
	Line offers(const Line &line)
	{
		Line arguments{"complete", "--"};
		Line words;

		arguments.insert(arguments.end(), line.begin(), line.end());
		EXPECT_EQ(world.run(arguments), Exit::ok);
		std::istringstream lines(world.out_);

		for (std::string one; std::getline(lines, one);)
			words.push_back(one.substr(0, one.find('\t')));
		return words;
	}

	// Whether the parser knows the word in this place.
	bool is_accepted(const std::string &line)
	{
		return world.run(line) != Exit::usage ||
		       world.err_.find("missing") != std::string::npos;
	}

	World world;
};

// Whether one of the lines of the help begins with this row.
bool has_row(const std::string &help, const std::string &row)
{
	const auto begin = "\n  " + row;

	for (auto at = help.find(begin); at != help.npos;
	     at = help.find(begin, at + 1)) {
		const auto end = help.substr(at + begin.size(), 2);

		if (end.empty() || end[0] == '\n' || end == "  ")
			return true;
	}
	return false;
}

// Whether the text has the word, not only as a part of another one.
bool has_word(const std::string &text, const std::string &word)
{
	const auto is_part = [](char c) {
		return std::isalnum(static_cast<unsigned char>(c)) || c == '-' ||
		       c == '_';
	};

	for (auto at = text.find(word); at != text.npos;
	     at = text.find(word, at + 1)) {
		const auto end = at + word.size();

		if ((at == 0 || !is_part(text[at - 1])) &&
		    (end == text.size() || !is_part(text[end])))
			return true;
	}
	return false;
}

// Every word that any command knows.
std::set<std::string> all_words()
{
	std::set<std::string> words{"inherit", "all", "nonsense"};

	for (const auto &command : helps) {
		words.insert(command.name);
		for (const auto &row : command.rows)
			words.insert(row.substr(0, row.find(' ')));
	}
	for (const auto *table : {&phase_words, &owner_words, &rtr_words,
				  &code_words, &failure_words})
		for (const auto text : texts_of(*table))
			words.emplace(text);
	for (const auto &setting : settings())
		for (const auto text : texts_of(setting.words))
			words.emplace(text);
	for (const auto &kind : event_kinds())
		words.emplace(kind.name);
	std::erase_if(words, [](const auto &one) { return one.starts_with('-'); });
	return words;
}

std::string first_word(const std::string &text)
{
	return text.substr(0, text.find(' '));
}

TEST_F(HelpText, that_cannot_be_written_is_4)
{
	world.output_fails_ = true;
	for (const auto *arguments : {"--help", "--version", "dev --help"}) {
		EXPECT_EQ(world.run(arguments), Exit::io) << arguments;
		EXPECT_EQ(world.err_,
			  "mpactl: standard output: cannot be written\n");
	}
}

TEST_F(HelpText, lists_the_commands)
{
	const auto text = help("");

	for (const auto &command : helps)
		EXPECT_TRUE(has_row(text, command.name)) << command.name;
	EXPECT_EQ(offers({""}).size(), std::size(helps));
}

TEST_F(HelpText, has_every_row_of_the_table)
{
	for (const auto &command : helps) {
		const auto text = help(command.name);

		for (const auto &row : command.rows)
			EXPECT_TRUE(has_row(text, row)) << row << "\n" << text;
	}
}

TEST_F(HelpText, has_no_line_that_is_too_long)
{
	for (const auto &command : helps) {
		std::istringstream lines(help(command.name));

		for (std::string line; std::getline(lines, line);)
			EXPECT_LE(line.size(), 80u) << line;
	}
}

// A row without an explanation ends with its name.
TEST_F(HelpText, explains_every_row)
{
	for (const auto &command : helps) {
		const auto text = help(command.name);

		for (const auto &row : command.rows) {
			const auto at = text.find("\n  " + row);
			const auto behind = text.substr(
				std::min(text.size(), at + 3 + row.size()));
			const auto next = behind.find_first_not_of(" \n");

			ASSERT_NE(next, behind.npos) << row;
			EXPECT_GE(next, 2u) << row;
			EXPECT_EQ(behind.substr(0, next).find("\n  -"),
				  behind.npos) << row;
		}
	}
}

// The commands whose next word is not the name of an object.
constexpr const char *with_keywords[] = {"conn", "stat", "get", "set", "monitor",
					 "doctor"};

TEST_F(HelpText, shows_every_keyword_that_is_accepted)
{
	const auto words = all_words();

	for (const std::string command : with_keywords) {
		const auto text = help(command);

		for (const auto &word : words)
			if (is_accepted(command + " " + word)) {
				EXPECT_TRUE(has_row(text, word) ||
					    text.find("\n  " + word + " ") !=
						    text.npos)
					<< command << " " << word;
			}
	}
}

// With the words of completion the other way round: what is shown is accepted.
TEST_F(HelpText, and_completion_have_accepted_keywords_only)
{
	for (const auto &command : helps) {
		const std::string name = command.name;
		const auto text = help(name);

		for (const auto &row : command.rows)
			if (std::islower(static_cast<unsigned char>(row[0]))) {
				EXPECT_TRUE(is_accepted(name + " " +
							first_word(row)))
					<< name << " " << row;
			}
		for (const auto &word : offers({name, ""}))
			if (std::islower(static_cast<unsigned char>(word[0])) &&
			    !word.starts_with("mpa")) {
				EXPECT_TRUE(text.find("\n  " + word) != text.npos &&
					    is_accepted(name + " " + word))
					<< name << " " << word;
			}
	}
}

struct Valued {
	std::string command;
	std::string keyword;
};

// Keywords whose values are words.
std::vector<Valued> valued_keywords()
{
	std::vector<Valued> all{{"conn", "phase"}, {"conn", "owner"}};

	for (const auto &setting : settings())
		if (!setting.words.empty())
			all.push_back({"set", setting.name});
	return all;
}

TEST_F(HelpText, shows_every_value_that_is_accepted)
{
	const auto words = all_words();

	for (const auto &[command, keyword] : valued_keywords()) {
		const auto line = command + " " + keyword;
		const auto text = help(line);
		const auto offered = offers({command, keyword, ""});

		for (const auto &word : words)
			if (world.run(line + " " + word) != Exit::usage) {
				EXPECT_TRUE(has_word(text, word))
					<< line << " " << word << "\n" << text;
				EXPECT_EQ(std::count(offered.begin(),
						     offered.end(), word), 1)
					<< line << " " << word;
			}
	}
}

// A value in the help of a command, with the values of all its keywords.
TEST_F(HelpText, of_a_command_shows_the_values_of_its_keywords)
{
	for (const auto &[command, keyword] : valued_keywords()) {
		const auto text = help(command);

		for (const auto &word : offers({command, keyword, ""}))
			EXPECT_TRUE(has_word(text, word))
				<< command << " " << keyword << " " << word;
	}
}

TEST_F(HelpText, shows_the_range_of_numbers)
{
	const auto text = help("set");

	for (const auto &setting : settings()) {
		auto words = values_text(setting);

		if (!setting.words.empty())
			continue;
		// A line can end within the range.
		std::string flat;

		std::unique_copy(text.begin(), text.end(),
				 std::back_inserter(flat), [](char a, char b) {
					 return std::isspace(a) && std::isspace(b);
				 });
		std::replace(flat.begin(), flat.end(), '\n', ' ');
		EXPECT_NE(flat.find(words), flat.npos) << setting.name << flat;
	}
}

TEST_F(HelpText, shows_the_values_of_options)
{
	for (const auto &kind : event_kinds())
		EXPECT_TRUE(has_word(help("monitor"), std::string(kind.name)));
	for (const auto &check : all_checks())
		EXPECT_TRUE(has_word(help("doctor"), check.id)) << check.id;
	for (const auto *word : {"auto", "always", "never"})
		EXPECT_TRUE(has_word(help(""), word));
}

TEST_F(HelpText, shows_every_option_that_is_accepted)
{
	const auto global = help("");
	std::set<std::string> options;

	for (const auto &command : helps)
		for (const auto &row : command.rows)
			if (const auto at = row.find("--"); at != row.npos)
				options.insert(first_word(row.substr(at)));
	for (const auto &command : helps) {
		const std::string name = command.name;
		const auto text = help(name);

		for (const auto &option : options) {
			world.run(name + " " + option);
			if (world.err_.find("unknown option") ==
			    std::string::npos) {
				EXPECT_TRUE(has_word(text, option) ||
					    has_word(global, option))
					<< name << " " << option;
			}
		}
		for (const auto &option : offers({name, "--"}))
			EXPECT_TRUE(has_word(text, option) ||
				    has_word(global, option))
				<< name << " " << option;
	}
}

TEST_F(HelpText, of_conn)
{
	EXPECT_EQ(help("conn"), R"(Show connections

Usage: mpactl conn [OPTIONS] [show] [id ID] [dev DEVICE] [phase PHASE]
              [owner OWNER]

Options:
  -h,--help               show this help and exit

Keywords:
  show                    optional, has no effect

Filters, all of which must match:
  id ID                   the connection with this id, in detail
  dev DEVICE              connections of this device
  phase PHASE             connections in this phase: attached, wait-reply,
                          wait-request, requested, operational, rx-ended,
                          exited, closed, replied
  owner OWNER             connections of sockets of applications, or of devices:
                          socket, device

Options of all commands: see 'mpactl --help'.
)");
	EXPECT_EQ(help("conn owner"), R"(connections of sockets of applications, or of devices

Usage: mpactl conn owner [OPTIONS] OWNER

Arguments:
  OWNER                   connections of sockets of applications, or of devices:
                          socket, device

Values:
  socket                  a socket of an application
  device                  a device

Options:
  -h,--help               show this help and exit

Options of all commands: see 'mpactl --help'.
)");
}

} // namespace
