/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "show/stat_view.hpp"

#include <cmath>

#include <fmt/format.h>

#include "base/time_text.hpp"
#include "model/names.hpp"

namespace mpactl {

namespace {

Json head_json(const Counted &object)
{
	switch (object.kind) {
	case Counted::Kind::device:
		return {{"kind", "device"}, {"dev", object.name}};
	case Counted::Kind::connection:
		return {{"kind", "connection"}, {"conn", object.id}};
	case Counted::Kind::defaults:
		break;
	}
	return {{"kind", "defaults"}};
}

std::string head_text(const Counted &object)
{
	switch (object.kind) {
	case Counted::Kind::device:
		return "device " + object.name;
	case Counted::Kind::connection:
		return fmt::format("connection {}", object.id);
	case Counted::Kind::defaults:
		break;
	}
	return "namespace";
}

bool counts_bytes(const Counter &counter)
{
	return counter.name.ends_with("bytes");
}

std::string rate_text(const Counter &counter, double rate)
{
	return (counts_bytes(counter) ? bytes_text(rate) : count_text(rate)) +
	       "/s";
}

Json counters_json(const Counted &object)
{
	Json json = Json::object();

	for (const auto &counter : object.counters)
		json[counter.name] = counter.value;
	return json;
}

} // namespace

Json StatView::json() const
{
	Json all = Json::array();

	for (const auto &object : all_) {
		auto one = head_json(object);

		one["counters"] = counters_json(object);
		all.push_back(std::move(one));
	}
	return all;
}

void StatView::text(Text &to) const
{
	for (const auto &object : all_) {
		std::vector<Field> fields;

		for (const auto &counter : object.counters)
			fields.push_back({counter.name,
					  {std::to_string(counter.value),
					   counter.value ? Style::plain
							 : Style::dim}});
		to.line({{head_text(object), Style::strong}});
		to.fields(fields);
	}
}

double RateView::rate(const Counted &object, const Counter &counter) const
{
	for (const auto &old : before_) {
		if (!old.same(object))
			continue;
		for (const auto &was : old.counters)
			if (was.name == counter.name && was.value <= counter.value)
				return static_cast<double>(counter.value -
							   was.value) / seconds_;
	}
	return 0;
}

Json RateView::json() const
{
	Json all = Json::array();

	for (const auto &object : after_) {
		auto one = head_json(object);
		Json rates = Json::object();

		// Three decimal places are enough and easier to read.
		for (const auto &counter : object.counters)
			rates[counter.name] =
				std::round(rate(object, counter) * 1000) / 1000;
		one["rates"] = std::move(rates);
		one["counters"] = counters_json(object);
		all.push_back(std::move(one));
	}
	return {{"time", unix_seconds(when_)},
		{"seconds", std::round(seconds_ * 1000) / 1000},
		{"stat", std::move(all)}};
}

void RateView::text(Text &to) const
{
	Table table{{{"OBJECT"}, {"COUNTER"}, {"RATE", Align::right},
		     {"TOTAL", Align::right}}, {}};

	for (const auto &object : after_)
		for (const auto &counter : object.counters)
			if (const auto per_second = rate(object, counter);
			    per_second > 0)
				table.rows.push_back(
					{{head_text(object), Style::strong},
					 {counter.name},
					 {rate_text(counter, per_second)},
					 {std::to_string(counter.value)}});
	to.line({{clock_text(when_), Style::dim},
		 {table.rows.empty() ? "no counter changed" : ""}});
	to.table(table);
}

} // namespace mpactl
