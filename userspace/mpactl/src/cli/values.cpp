/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "cli/values.hpp"

#include <fmt/format.h>

namespace mpactl {

namespace {

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

std::string joined(const Candidates &words, std::string_view between)
{
	std::string text;

	for (const auto &one : words) {
		if (!text.empty())
			text += between;
		text += one.word;
	}
	return text;
}

} // namespace

std::string Values::text() const
{
	auto all = words;

	all.insert(all.end(), alone.begin(), alone.end());
	return joined(all, ", ");
}

Candidates candidates_of(const std::vector<Word> &words)
{
	Candidates all;

	for (const auto &one : words)
		all.push_back({std::string(one.text), std::string(one.help)});
	return all;
}

// `typed` may hold complete words of a list, which are not offered again.
Candidates Values::starting_with(const std::string &typed, Context &context) const
{
	const auto comma = list ? typed.rfind(',') : typed.npos;
	const auto before = comma == typed.npos ? "" : typed.substr(0, comma + 1);
	auto all = names ? names(context) : Candidates();

	for (const auto &one : words)
		if (("," + before).find(fmt::format(",{},", one.word)) ==
		    std::string::npos)
			all.push_back({before + one.word, one.remark});
	if (before.empty())
		all.insert(all.end(), alone.begin(), alone.end());
	std::erase_if(all, [&](const Candidate &one) {
		return !one.word.starts_with(':') && !one.word.starts_with(typed);
	});
	return all;
}

Values one_of(Candidates words, std::string name)
{
	if (name.empty())
		name = joined(words, "|");
	return {.name = std::move(name), .words = std::move(words), .closed = true};
}

Values any(std::string name)
{
	return {.name = std::move(name)};
}

Values device_name()
{
	return {.name = "DEVICE", .names = devices};
}

Values listener_id()
{
	return {.name = "ID", .names = listeners};
}

Values connection_id()
{
	return {.name = "ID", .names = connections};
}

Values file_name()
{
	return {.name = "FILE",
		.names = [](Context &) { return Candidates{{complete_files, ""}}; }};
}

Values host_name()
{
	return {.name = "HOST",
		.names = [](Context &) { return Candidates{{complete_hosts, ""}}; }};
}

} // namespace mpactl
