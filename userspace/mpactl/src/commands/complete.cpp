/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "commands/complete.hpp"

#include <set>
#include <utility>

namespace mpactl {

namespace {

struct CompleteOptions {
	// The command line after "mpactl", up to the cursor.
	std::vector<std::string> words;
};

Candidates options_of(const CLI::App &app)
{
	Candidates all;

	for (const auto *option : app.get_options())
		for (const auto &name : option->get_lnames())
			all.push_back({"--" + name, option->get_description()});
	return all;
}

// A command line that is being typed. Follows the parser's rules up to the last
// word, which is to be completed.
class Typed {
public:
	Typed(const CommandLine &line, const std::vector<std::string> &words)
		: line_(line), place_(&line.app), last_(words.back())
	{
		for (std::size_t i = 0; i + 1 < words.size(); i++)
			take(words[i]);
	}

	Candidates candidates(Context &context) const
	{
		if (lost_)
			return {};
		if (option_)
			return values_for(option_, context);
		if (last_.starts_with('-'))
			return options();
		if (place_ == &line_.app)
			return commands();
		if (const auto *argument = open_argument(true))
			return values_for(argument, context);
		return words(context);
	}

private:
	void take(const std::string &word)
	{
		if (option_) {
			option_ = nullptr;
		} else if (after_watch_ && !word.empty() && word[0] >= '0' &&
			   word[0] <= '9') {
			after_watch_ = false;
		} else if (word.starts_with('-')) {
			take_option(word);
		} else if (const auto *argument = open_argument(true)) {
			filled_.insert(argument);
		} else if (const auto *keyword = keyword_named(word)) {
			used_.insert(keyword);
			place_ = keyword;
		} else if (const auto *other = open_argument(false)) {
			filled_.insert(other);
		} else {
			lost_ = true;
		}
	}

	// The number of --watch can be left out.
	void take_option(const std::string &word)
	{
		after_watch_ = word == "--watch" || word == "-w";
		if (after_watch_)
			return;
		for (const auto *app = place_; app; app = app->get_parent()) {
			const auto *option = app->get_option_no_throw(word);

			if (option && option->get_items_expected_max() > 0) {
				option_ = option;
				return;
			}
		}
	}

	// A positional argument that has no value yet.
	const CLI::Option *open_argument(bool required) const
	{
		for (const auto *app = place_; app; app = app->get_parent())
			for (const auto *one : arguments_of(*app))
				if (one->get_required() == required &&
				    !filled_.contains(one))
					return one;
		return nullptr;
	}

	bool has_argument() const
	{
		for (const auto *app = place_; app; app = app->get_parent())
			for (const auto *one : arguments_of(*app))
				if (!one->get_required() && filled_.contains(one))
					return true;
		return false;
	}

	std::vector<const CLI::App *> keywords() const
	{
		return possible_keywords(line_, *place_, [this](const auto *one) {
			return used_.contains(one);
		});
	}

	const CLI::App *keyword_named(const std::string &word) const
	{
		for (const auto *one : keywords())
			if (one->get_name() == word)
				return one;
		return nullptr;
	}

	Candidates values_for(const CLI::Option *option, Context &context) const
	{
		const auto *values = values_of(line_, option);

		return values ? values->starting_with(last_, context)
			      : Candidates();
	}

	Candidates starting(Candidates all) const
	{
		std::erase_if(all, [this](const Candidate &one) {
			return !one.word.starts_with(last_);
		});
		return all;
	}

	Candidates commands() const
	{
		Candidates all;

		for (const auto *one : line_.app.get_subcommands(nullptr))
			if (!one->get_group().empty())
				all.push_back({one->get_name(),
					       one->get_description()});
		return starting(std::move(all));
	}

	// Values of an optional argument, and keywords.
	Candidates words(Context &context) const
	{
		const auto *argument = open_argument(false);
		auto all = argument ? values_for(argument, context) : Candidates();
		Candidates more;

		if (!has_argument())
			for (const auto *one : keywords())
				more.push_back({one->get_name(),
						one->get_description()});
		for (auto &one : starting(std::move(more)))
			all.push_back(std::move(one));
		return all;
	}

	Candidates options() const
	{
		std::set<std::string> seen;
		Candidates all;

		for (const auto *app = place_; app; app = app->get_parent())
			for (auto &one : options_of(*app))
				// --help is an option of each of them.
				if (seen.insert(one.word).second)
					all.push_back(std::move(one));
		return starting(std::move(all));
	}

	const CommandLine &line_;
	// The last command or keyword.
	const CLI::App *place_;
	const std::string &last_;
	std::set<const CLI::App *> used_;
	std::set<const CLI::Option *> filled_;
	// An option whose value is the next word.
	const CLI::Option *option_ = nullptr;
	bool after_watch_ = false;
	// There was a word that the parser refuses.
	bool lost_ = false;
};

class CandidatesView : public View {
public:
	explicit CandidatesView(Candidates all) : all_(std::move(all)) {}

	Json json() const override
	{
		Json words = Json::array();

		for (const auto &one : all_)
			words.push_back(one.word);
		return words;
	}

	void text(Text &to) const override
	{
		for (const auto &one : all_)
			to.line(one.remark.empty() ? one.word
						   : one.word + "\t" + one.remark);
	}

private:
	Candidates all_;
};

Exit run_complete(const CommandLine &line, const CompleteOptions &options,
		  Context &context)
{
	const std::vector<std::string> nothing{""};
	const Typed typed(line, options.words.empty() ? nothing : options.words);
	Candidates all;

	try {
		all = typed.candidates(context);
	} catch (const Error &) {
		// A message would disturb the user's typing.
	}
	context.out.show(CandidatesView(std::move(all)));
	return Exit::ok;
}

} // namespace

void setup_complete(CommandLine &line)
{
	auto options = std::make_shared<CompleteOptions>();
	auto *command = line.app.add_subcommand("complete", "");

	// Not shown by --help.
	command->group("");
	command->add_option("words", options->words, "");
	command->callback([&line, options] {
		line.chosen = [&line, options](Context &context) {
			return run_complete(line, *options, context);
		};
	});
}

} // namespace mpactl
