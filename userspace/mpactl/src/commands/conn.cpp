/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "commands/conn.hpp"

#include <algorithm>

#include "base/words.hpp"
#include "model/names.hpp"
#include "show/views.hpp"

namespace mpactl {

namespace {

constexpr const char *filters = "Filters, all of which must match";

// Which connections to show.
struct Filter {
	std::optional<std::uint32_t> phase;
	std::optional<std::uint32_t> owner;
	std::optional<std::uint32_t> dev_index;
};

std::optional<std::uint32_t> number_if(const std::vector<Word> &known,
				       const std::optional<std::string> &text)
{
	return text ? number_for(known, *text) : std::nullopt;
}

// Throws the kernel's message if there is no such device.
Filter filter_from(const ConnOptions &options, Context &context)
{
	Filter filter{number_if(phase_words, options.phase),
		      number_if(owner_words, options.owner), std::nullopt};

	if (options.device)
		filter.dev_index = context.mpa().device(*options.device).index;
	return filter;
}

bool matches(const Filter &filter, const Connection &connection)
{
	return (!filter.phase || connection.phase == *filter.phase) &&
	       (!filter.owner || connection.owner == *filter.owner) &&
	       (!filter.dev_index || connection.dev_index == filter.dev_index);
}

} // namespace

void setup_conn(CommandLine &line)
{
	add_command<ConnOptions>(
		line, "conn", "Show connections",
		[](Syntax command, ConnOptions &options) {
			command.synopsis("[show] [id ID] [dev DEVICE] "
					 "[phase PHASE] [owner OWNER]");
			command.keyword("show", "optional, has no effect");
			command.keyword("id", options.id, connection_id(),
					"the connection with this id, in detail",
					filters);
			command.keyword("dev", options.device, device_name(),
					"connections of this device", filters);
			command.keyword("phase", options.phase,
					one_of(candidates_of(phase_words), "PHASE"),
					"connections in this phase", filters);
			command.keyword("owner", options.owner,
					one_of(candidates_of(owner_words), "OWNER"),
					"connections of sockets of applications, "
					"or of devices", filters);
		},
		run_conn);
}

Exit run_conn(const ConnOptions &options, Context &context)
{
	std::vector<Connection> found;
	std::optional<std::uint32_t> id;

	if (options.id)
		id = number_of(*options.id, "id");
	const auto filter = filter_from(options, context);
	const auto names = names_of(context.mpa().devices().items);

	if (id)
		found.push_back(context.mpa().connection(*id));
	else
		found = whole(context, context.mpa().connections(), "connections");
	std::erase_if(found, [&](const Connection &connection) {
		return !matches(filter, connection);
	});
	if (id && !found.empty())
		context.out.show(ConnectionDetails(std::move(found[0]), names));
	else
		context.out.show(ConnectionTable(std::move(found), names));
	return Exit::ok;
}

} // namespace mpactl
