/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "commands/conn.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/words.hpp"
#include "model/names.hpp"
#include "show/views.hpp"

namespace mpactl {

namespace {

constexpr const char *synopsis =
	"[show] [id N] [dev NAME] [phase PHASE] [owner socket|device]";

// Which connections are asked for.
struct Filter {
	std::optional<std::uint32_t> id;
	std::optional<std::string> device;
	std::optional<std::uint32_t> phase;
	std::optional<std::uint32_t> owner;
};

std::uint32_t need_word(Words &words, const char *what,
			const std::vector<Word> &known)
{
	const auto &text = words.need(what);

	if (const auto number = number_for(known, text))
		return *number;
	throw UsageError(fmt::format("{}: '{}' is not one of {}", what, text,
				     fmt::join(texts_of(known), ", ")));
}

Filter filter_from(Words &words)
{
	Filter filter;

	words.take("show");
	for (;;) {
		if (words.take("id"))
			filter.id = words.need_number("id");
		else if (words.take("dev"))
			filter.device = words.need("name of the device");
		else if (words.take("phase"))
			filter.phase = need_word(words, "phase", phase_words);
		else if (words.take("owner"))
			filter.owner = need_word(words, "owner", owner_words);
		else
			break;
	}
	words.expect_end({"show", "id", "dev", "phase", "owner"});
	return filter;
}

bool fits(const Filter &filter, const std::optional<std::uint32_t> &dev_index,
	  const Connection &connection)
{
	return (!filter.phase || connection.phase == *filter.phase) &&
	       (!filter.owner || connection.owner == *filter.owner) &&
	       (!dev_index || connection.dev_index == dev_index);
}

// The kernel's own words if there is no such device.
std::optional<std::uint32_t> index_of(const Filter &filter, Context &context)
{
	if (!filter.device)
		return std::nullopt;
	return context.mpa().device(*filter.device).index;
}

} // namespace

void setup_conn(CLI::App &app, Run &chosen)
{
	add_command<ConnOptions>(
		app, chosen, "conn", std::string("Connections: ") + synopsis,
		[](CLI::App &command, ConnOptions &options) {
			command.add_option("words", options.words, synopsis);
		},
		run_conn);
}

Exit run_conn(const ConnOptions &options, Context &context)
{
	Words words(options.words);
	const auto filter = filter_from(words);
	const auto dev_index = index_of(filter, context);
	const auto names = names_of(context.mpa().devices().items);
	std::vector<Connection> found;

	if (filter.id) {
		found.push_back(context.mpa().connection(*filter.id));
	} else {
		found = whole(context, context.mpa().connections(), "connections");
	}
	std::erase_if(found, [&](const Connection &connection) {
		return !fits(filter, dev_index, connection);
	});
	if (filter.id && !found.empty())
		context.out.show(ConnectionDetails(std::move(found[0]), names));
	else
		context.out.show(ConnectionTable(std::move(found), names));
	return Exit::ok;
}

} // namespace mpactl
