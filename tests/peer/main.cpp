// SPDX-License-Identifier: GPL-2.0-only
//
// A peer that uses MPA over plain TCP and violates the protocol on request:
//
//	mpa-peer list [GLOB...]
//	mpa-peer run --target ADDR:PORT [OPTION...] [GLOB...]
//
// Options of run: --role initiator|responder, the peer's own (initiator);
// --kind rnic|socket, of the target (rnic); --control ADDR:PORT, where a target
// takes commands, and --here ADDR, where the peer listens: both needed as
// responder; --markers: the target asks for Markers; --jobs N, cases at a time
// (16); --patience MS, for what the target does at once (30000).
//
// Each glob must match a case that fits the target.
//
// Results are lines of the Test Anything Protocol. After each case a good
// connection must be served. A last line "# counted NAME=N ..." has the counts
// that an RNIC must report. Exit status 0: all good.

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <fnmatch.h>

#include "cases.hpp"

namespace {

using namespace peer;

struct Options {
	Environment env;
	std::vector<std::string> globs;
	unsigned jobs = 16;
};

[[noreturn]] void usage()
{
	std::fputs("usage: mpa-peer list [GLOB...]\n"
		   "       mpa-peer run --target ADDR:PORT "
		   "[--role initiator|responder] [--kind rnic|socket]\n"
		   "           [--control ADDR:PORT] [--here ADDR] [--markers] "
		   "[--jobs N] [--patience MS] [GLOB...]\n",
		   stderr);
	std::exit(2);
}

Role role_of(const std::string &name)
{
	if (name == "initiator")
		return Role::initiator;
	if (name == "responder")
		return Role::responder;
	usage();
}

Kind kind_of(const std::string &name)
{
	if (name == "rnic")
		return Kind::rnic;
	if (name == "socket")
		return Kind::socket;
	usage();
}

Options parse(const std::vector<std::string> &words)
{
	Options options;

	for (std::size_t i = 0; i < words.size(); i++) {
		const auto value = [&]() -> const std::string & {
			return ++i < words.size() ? words[i] : (usage(), words[0]);
		};
		const auto &word = words[i];

		if (word == "--target")
			options.env.target = Address::parse(value());
		else if (word == "--control")
			options.env.control = Address::parse(value());
		else if (word == "--here")
			options.env.here = Address::parse(value() + ":0");
		else if (word == "--role")
			options.env.role = role_of(value());
		else if (word == "--kind")
			options.env.kind = kind_of(value());
		else if (word == "--markers")
			options.env.markers = true;
		else if (word == "--jobs")
			options.jobs = std::stoul(value());
		else if (word == "--patience")
			options.env.patience = milliseconds(std::stol(value()));
		else if (word.starts_with("--"))
			usage();
		else
			options.globs.push_back(word);
	}
	return options;
}

bool matches(const std::string &glob, const Case &row)
{
	return !fnmatch(glob.c_str(), row.name.c_str(), 0);
}

bool chosen(const Case &row, const std::vector<std::string> &globs)
{
	for (const auto &glob : globs)
		if (matches(glob, row))
			return true;
	return globs.empty();
}

// Whether each glob matches one of the rows; says which one does not.
bool all_match(const std::vector<std::string> &globs, const std::vector<const Case *> &rows)
{
	bool all = true;

	for (const auto &glob : globs) {
		if (std::any_of(rows.begin(), rows.end(), [&](const Case *row) {
			    return matches(glob, *row);
		    }))
			continue;
		std::fprintf(stderr, "mpa-peer: no case fits %s\n", glob.c_str());
		all = false;
	}
	return all;
}

const char *who(const Case &row)
{
	if (row.markers)
		return "with markers";
	if (!row.role)
		return "both roles";
	return *row.role == Role::initiator ? "initiator" : "responder";
}

int list(const Options &options)
{
	std::vector<const Case *> rows;

	for (const auto &row : all_cases().rows()) {
		if (!chosen(row, options.globs))
			continue;
		rows.push_back(&row);
		std::printf("%s (%s, %s)\n\t%s\n\t-> %s\n", row.name.c_str(),
			    who(row),
			    !row.kind		       ? "rnic, socket"
			    : *row.kind == Kind::rnic ? "rnic"
						       : "socket",
			    row.what.c_str(), row.outcome.text.c_str());
		if (row.socket_outcome)
			std::printf("\t-> socket: %s\n",
				    row.socket_outcome->text.c_str());
	}
	std::printf("%zu cases\n", rows.size());
	return all_match(options.globs, rows) ? 0 : 2;
}

void set_up(Session &s, const Setup &setup)
{
	switch (setup.phase) {
	case Setup::Phase::nothing:
		if (s.env.role == Role::responder)
			s.listen();
		break;
	case Setup::Phase::connected:
		s.open(setup.mode);
		break;
	case Setup::Phase::operational:
		s.start(setup.mode);
		break;
	case Setup::Phase::exchanged:
		s.start(setup.mode);
		s.good_exchange();
		break;
	}
}

// The error; empty if there was none.
std::string play(const Case &row, const Environment &env, Tally &tally)
{
	try {
		Session s(env, tally);

		s.mode = row.setup.mode;
		s.before_terminate = row.before_terminate;
		set_up(s, row.setup);
		for (const auto &step : row.steps)
			step(s);
		row.required(env.kind).check(s);
	} catch (const std::exception &error) {
		return error.what();
	}
	return {};
}

std::string serve_afterwards(const Environment &env, Tally &tally)
{
	try {
		Session s(env, tally);

		s.start();
		s.good_exchange();
	} catch (const std::exception &error) {
		return std::string("a good connection afterwards fails: ") +
		       error.what();
	}
	return {};
}

class Runner {
public:
	explicit Runner(const Options &options) : options_(options)
	{
		for (const auto &row : all_cases().rows())
			if (row.fits(options.env) && chosen(row, options.globs))
				rows_.push_back(&row);
		std::stable_sort(rows_.begin(), rows_.end(),
				 [](const Case *a, const Case *b) {
					 return rank(*a) < rank(*b);
				 });
	}

	// The number of cases that failed.
	std::size_t run()
	{
		const auto side_by_side = static_cast<std::size_t>(
			std::count_if(rows_.begin(), rows_.end(),
				      [](const Case *row) { return !row->alone; }));

		std::vector<std::jthread> threads;
		for (unsigned i = 0; i < options_.jobs; i++)
			threads.emplace_back([&] { work(side_by_side); });
		threads.clear();
		for (auto i = side_by_side; i < rows_.size(); i++)
			run_one(*rows_[i]);
		std::printf("1..%zu\n", rows_.size());
		say_counters();
		return failed_;
	}

	bool empty() const { return rows_.empty(); }
	bool all_globs_match() const { return all_match(options_.globs, rows_); }

private:
	static int rank(const Case &row)
	{
		return row.alone ? 2 : row.slow ? 0 : 1;
	}

	void work(std::size_t end)
	{
		for (auto i = next_++; i < end; i = next_++)
			run_one(*rows_[i]);
	}

	void run_one(const Case &row)
	{
		const auto start = Clock::now();
		const auto wrong = play(row, options_.env, tally_);
		const auto after = serve_afterwards(options_.env, tally_);
		const auto took = std::chrono::duration_cast<milliseconds>(
			Clock::now() - start);

		for (const auto &[name, by] : row.counters)
			tally_.add(name, by);
		report(row, wrong, after, took);
	}

	void report(const Case &row, const std::string &wrong,
		    const std::string &after, milliseconds took)
	{
		const bool good = wrong.empty() && after.empty();
		std::lock_guard guard(lock_);

		std::printf("%sok %zu - %s\n", good ? "" : "not ", ++done_,
			    row.name.c_str());
		if (!good) {
			failed_++;
			std::printf("#   peer:     %s\n#   required: %s\n",
				    row.what.c_str(),
				    row.required(options_.env.kind).text.c_str());
		}
		if (!wrong.empty())
			std::printf("#   seen:     %s\n", wrong.c_str());
		if (!after.empty())
			std::printf("#   seen:     %s\n", after.c_str());
		if (!good || took > milliseconds(8000))
			std::printf("#   took:     %ld ms\n",
				    static_cast<long>(took.count()));
		std::fflush(stdout);
	}

	void say_counters() const
	{
		std::printf("# counted");
		for (const auto &[name, by] : tally_.take())
			std::printf(" %s=%d", name.c_str(), by);
		std::printf("\n");
	}

	const Options &options_;
	std::vector<const Case *> rows_;
	std::atomic<std::size_t> next_ = 0;
	std::mutex lock_;
	std::size_t done_ = 0;
	std::size_t failed_ = 0;
	Tally tally_;
};

int run(const Options &options)
{
	const bool responder = options.env.role == Role::responder;

	if (responder ? !options.env.control.port() || !options.env.here.family()
		      : !options.env.target.port())
		usage();
	Runner runner(options);
	if (!runner.all_globs_match())
		return 2;
	if (runner.empty()) {
		std::fputs("mpa-peer: no case fits\n", stderr);
		return 2;
	}
	return runner.run() ? 1 : 0;
}

} // namespace

int main(int argc, char **argv)
{
	std::vector<std::string> words(argv + 1, argv + argc);

	if (words.empty())
		usage();
	const auto verb = words.front();
	words.erase(words.begin());
	try {
		const auto options = parse(words);

		if (verb == "run")
			return run(options);
		if (verb != "list")
			usage();
		return list(options);
	} catch (const std::exception &error) {
		std::fprintf(stderr, "mpa-peer: %s\n", error.what());
		return 2;
	}
	return 0;
}
