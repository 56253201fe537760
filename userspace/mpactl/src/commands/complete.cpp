/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "commands/complete.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <ostream>
#include <set>

#include <fmt/format.h>

#include "model/names.hpp"
#include "model/settings.hpp"
#include "show/event_view.hpp"
#include "show/views.hpp"

namespace mpactl {

namespace {

struct Candidate {
	std::string word;
	std::string remark;
};

using Candidates = std::vector<Candidate>;
using Line = std::vector<std::string>;

Candidates words_of(const std::vector<std::string_view> &words)
{
	Candidates all;

	for (const auto word : words)
		all.push_back({std::string(word), ""});
	return all;
}

// --- live names ------------------------------------------------------------------

Candidates devices(Context &context)
{
	Candidates all;

	for (const auto &device : context.mpa().devices().items)
		all.push_back({device.name, "at " + device.ifname});
	return all;
}

Candidates listeners(Context &context)
{
	Candidates all;

	for (const auto &one : context.mpa().listeners().items)
		all.push_back({std::to_string(one.id), endpoint_text(one.local)});
	return all;
}

Candidates connections(Context &context)
{
	Candidates all;

	for (const auto &one : context.mpa().connections().items)
		all.push_back({std::to_string(one.id),
			       fmt::format("{} - {}", endpoint_text(one.local),
					   endpoint_text(one.remote))});
	return all;
}

// --- words of each command ---------------------------------------------------------

// Words that were typed already, separated by commas, and those that may follow.
Candidates set_members(const std::string &typed,
		       const std::vector<std::string_view> &members)
{
	const auto comma = typed.rfind(',');
	const auto before = comma == typed.npos ? "" : typed.substr(0, comma + 1);
	Candidates all;

	for (const auto member : members)
		if (("," + before).find(fmt::format(",{},", member)) ==
		    std::string::npos)
			all.push_back({before + std::string(member), ""});
	return all;
}

Candidates values(const Setting &setting, const std::string &typed)
{
	Candidates all;

	switch (setting.kind) {
	case Setting::Kind::set:
		all = set_members(typed, texts_of(setting.words));
		if (typed.find(',') == typed.npos)
			all.push_back({"all", ""});
		break;
	case Setting::Kind::word:
	case Setting::Kind::toggle:
		all = words_of(texts_of(setting.words));
		break;
	case Setting::Kind::number:
	case Setting::Kind::duration:
		// For the eye; it is no word that could be typed.
		break;
	}
	if (typed.find(',') == typed.npos)
		all.push_back({"inherit", "what is next above"});
	return all;
}

Candidates object(const Line &line, Context &context)
{
	if (line.size() == 2)
		return line[0] == "dev"	     ? devices(context)
		       : line[0] == "listen" ? listeners(context)
					     : Candidates();
	return {};
}

Candidates keys(const Line &line, std::size_t first)
{
	Candidates all;

	for (const auto &setting : settings()) {
		bool used = false;

		for (auto i = first; i + 1 < line.size(); i += 2)
			used |= line[i] == setting.name;
		if (!used)
			all.push_back({setting.name, setting.help});
	}
	return all;
}

// The line's last word is the one to be completed, here and below.
Candidates for_dev(const Line &line, Context &context)
{
	auto all = line.size() > 1 && line[0] != "show" ? Candidates()
							: devices(context);

	if (line.size() == 1)
		all.push_back({"show", ""});
	return line.size() > 2 ? Candidates() : all;
}

Candidates for_listen(const Line &line, Context &context)
{
	auto all = line.size() > 1 && line[0] != "show" ? Candidates()
							: listeners(context);

	if (line.size() == 1)
		all.push_back({"show", ""});
	return line.size() > 2 ? Candidates() : all;
}

Candidates for_conn(const Line &line, Context &context)
{
	const auto before = line.size() > 1 ? line[line.size() - 2] : "";

	if (before == "id")
		return connections(context);
	if (before == "dev")
		return devices(context);
	if (before == "phase")
		return words_of(texts_of(phase_words));
	if (before == "owner")
		return words_of(texts_of(owner_words));
	Candidates all;

	for (const auto *word : {"show", "id", "dev", "phase", "owner"})
		if (std::find(line.begin(), line.end() - 1, word) ==
			    line.end() - 1 &&
		    (line.size() == 1 || std::string_view(word) != "show"))
			all.push_back({word, ""});
	return all;
}

Candidates for_stat(const Line &line, Context &context)
{
	if (line.size() == 1)
		return words_of({"dev", "conn"});
	if (line.size() == 2 && line[0] == "conn")
		return connections(context);
	return line.size() == 2 && line[0] == "dev" ? devices(context)
						    : Candidates();
}

Candidates for_get(const Line &line, Context &context)
{
	return line.size() == 1 ? words_of({"dev", "listen"})
				: object(line, context);
}

Candidates for_set(const Line &line, Context &context)
{
	const bool named = line[0] == "dev" || line[0] == "listen";
	const std::size_t first = named && line.size() > 1 ? 2 : 0;

	if (first && line.size() == 2)
		return object(line, context);
	if ((line.size() - first) % 2 == 0) {
		const auto *setting = setting_named(line[line.size() - 2]);

		return setting ? values(*setting, line.back()) : Candidates();
	}
	auto all = keys(line, first);

	if (line.size() == 1)
		for (auto &one : words_of({"dev", "listen"}))
			all.push_back(std::move(one));
	return all;
}

Candidates for_file(const Line &line, Context &)
{
	return line.size() == 1 ? Candidates{{complete_files, ""}} : Candidates();
}

Candidates for_probe(const Line &line, Context &)
{
	return line.size() == 1 ? Candidates{{complete_hosts, ""}} : Candidates();
}

const std::map<std::string_view, Candidates (*)(const Line &, Context &)>
	by_command = {
		{"dev", for_dev},	{"listen", for_listen},
		{"conn", for_conn},	{"stat", for_stat},
		{"get", for_get},	{"set", for_set},
		{"save", for_file},	{"restore", for_file},
		{"probe", for_probe},
};

// --- options -------------------------------------------------------------------------

Candidates value_of_option(const std::string &option, const std::string &typed)
{
	if (option == "--color")
		return words_of({"auto", "always", "never"});
	if (option == "--kinds")
		return set_members(typed, event_kinds());
	return {};
}

Candidates options_of(const CLI::App &app)
{
	Candidates all;

	for (const auto *option : app.get_options())
		for (const auto &name : option->get_lnames())
			all.push_back({"--" + name, option->get_description()});
	return all;
}

// A line that is being typed, against the commands there are.
class Typed {
public:
	Typed(const CLI::App &app, const Line &words) : app_(app), command_(&app)
	{
		for (const auto &word : words)
			take(word, &word == &words.back());
	}

	Candidates candidates(Context &context) const
	{
		if (option_)
			return value_of_option(*option_, last_);
		if (last_.starts_with('-'))
			return options();
		if (command_ == &app_)
			return commands();
		const auto known = by_command.find(command_->get_name());

		return known == by_command.end() ? Candidates()
						 : known->second(line_, context);
	}

	const std::string &last() const { return last_; }

private:
	void take(const std::string &word, bool is_last)
	{
		if (is_last) {
			last_ = word;
			line_.push_back(word);
		} else if (option_) {
			option_.reset();
		} else if (after_watch_ && !word.empty() && word[0] >= '0' &&
			   word[0] <= '9') {
			after_watch_ = false;
		} else if (word.starts_with('-')) {
			after_watch_ = is_watch(word);
			if (takes_value(word))
				option_ = word;
		} else if (command_ == &app_) {
			command_ = named(word);
		} else {
			line_.push_back(word);
		}
	}

	// Its number may be left out.
	static bool is_watch(const std::string &word)
	{
		return word == "--watch" || word == "-w";
	}

	bool takes_value(const std::string &word) const
	{
		if (is_watch(word))
			return false;
		for (const auto *app : {&app_, command_})
			if (const auto *option = app->get_option_no_throw(word))
				return option->get_items_expected_max() > 0;
		return false;
	}

	const CLI::App *named(const std::string &word) const
	{
		static const CLI::App unknown;

		for (const auto *one : app_.get_subcommands(nullptr))
			if (one->get_name() == word)
				return one;
		return &unknown;
	}

	Candidates commands() const
	{
		Candidates all;

		for (const auto *one : app_.get_subcommands(nullptr))
			if (!one->get_group().empty())
				all.push_back({one->get_name(),
					       one->get_description()});
		return all;
	}

	Candidates options() const
	{
		auto all = options_of(*command_);

		if (command_ != &app_)
			for (auto &one : options_of(app_))
				all.push_back(std::move(one));
		// --help is everywhere.
		std::set<std::string> seen;

		std::erase_if(all, [&](const auto &one) {
			return !seen.insert(one.word).second;
		});
		return all;
	}

	const CLI::App &app_;
	const CLI::App *command_;
	// An option that waits for its value.
	std::optional<std::string> option_;
	bool after_watch_ = false;
	// Words of the command, the last one included.
	Line line_;
	std::string last_;
};

class CandidatesView : public View {
public:
	CandidatesView(const Candidates &all, const std::string &typed)
	{
		for (const auto &one : all)
			if (one.word.starts_with(':') ||
			    one.word.starts_with(typed))
				fitting_.push_back(one);
	}

	Json json() const override
	{
		Json all = Json::array();

		for (const auto &one : fitting_)
			all.push_back(one.word);
		return all;
	}

	void text(Text &to) const override
	{
		for (const auto &one : fitting_)
			to.line(one.remark.empty() ? one.word
						   : one.word + "\t" + one.remark);
	}

private:
	Candidates fitting_;
};

Exit run_complete(const CLI::App &app, const CompleteOptions &options,
		  Context &context)
{
	const Line nothing{""};
	const Typed typed(app, options.words.empty() ? nothing : options.words);
	Candidates all;

	try {
		all = typed.candidates(context);
	} catch (const Error &) {
		// Nobody wants to read of it while typing.
	}
	context.out.show(CandidatesView(all, typed.last()));
	return Exit::ok;
}

} // namespace

void setup_complete(CLI::App &app, Run &chosen)
{
	auto options = std::make_shared<CompleteOptions>();
	auto *command = app.add_subcommand("complete", "");

	// Not shown by --help.
	command->group("");
	command->add_option("words", options->words, "");
	command->callback([&app, &chosen, options] {
		chosen = [&app, options](Context &context) {
			return run_complete(app, *options, context);
		};
	});
}

} // namespace mpactl
