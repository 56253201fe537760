/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "show/output.hpp"

#include "base/error.hpp"

#include <algorithm>
#include <ostream>

namespace mpactl {

namespace {

std::string_view escape(Style style)
{
	switch (style) {
	case Style::plain:
		return "";
	case Style::strong:
		return "\033[1m";
	case Style::dim:
		return "\033[2m";
	case Style::good:
		return "\033[32m";
	case Style::warn:
		return "\033[33m";
	case Style::bad:
		return "\033[31m";
	}
	return "";
}

// Blanks between columns.
constexpr std::size_t gap = 2;

// Number of UTF-8 characters. Each is assumed to have the width of one column.
std::size_t width_of(std::string_view text)
{
	return static_cast<std::size_t>(
		std::count_if(text.begin(), text.end(), [](char c) {
			return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
		}));
}

// Width of each column; 0 if it is empty in every row.
std::vector<std::size_t> widths_of(const Table &table)
{
	std::vector<std::size_t> widths(table.columns.size());

	for (const auto &row : table.rows)
		for (std::size_t i = 0; i < row.size(); i++)
			widths[i] = std::max(widths[i], width_of(row[i].text));
	for (std::size_t i = 0; i < widths.size(); i++)
		if (widths[i])
			widths[i] = std::max(
				widths[i], width_of(table.columns[i].heading));
	return widths;
}

std::string one_line(const Json &json)
{
	// Names are not necessarily UTF-8; invalid characters are replaced.
	return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

} // namespace

std::string Text::styled(const Cell &cell) const
{
	if (!colour_ || cell.style == Style::plain || cell.text.empty())
		return cell.text;
	return std::string(escape(cell.style)) + cell.text + "\033[0m";
}

// Writes blanks only before visible text, so that no line ends with blanks.
void Text::row(const std::vector<Cell> &cells, const std::vector<Place> &places,
	       std::size_t indent)
{
	static const Cell nothing;
	std::size_t blanks = indent;

	for (const auto &place : places) {
		const auto &cell = place.index < cells.size() ? cells[place.index]
							      : nothing;
		const auto own = width_of(cell.text);
		const auto rest = place.width > own ? place.width - own : 0;

		if (place.align == Align::right)
			blanks += rest;
		if (own) {
			out_ << std::string(blanks, ' ') << styled(cell);
			blanks = 0;
		}
		if (place.align == Align::left)
			blanks += rest;
		blanks += gap;
	}
	out_ << "\n";
}

void Text::table(const Table &table)
{
	const auto widths = widths_of(table);
	std::vector<Place> places;
	std::vector<Cell> headings;

	if (table.rows.empty())
		return;
	for (std::size_t i = 0; i < widths.size(); i++) {
		headings.push_back({table.columns[i].heading, Style::dim});
		if (widths[i])
			places.push_back({i, widths[i], table.columns[i].align});
	}
	row(headings, places, 0);
	for (const auto &cells : table.rows)
		row(cells, places, 0);
}

void Text::fields(const std::vector<Field> &fields, std::size_t indent)
{
	std::size_t width = 0;

	for (const auto &field : fields)
		width = std::max(width, width_of(field.name));
	for (const auto &field : fields)
		row({{field.name, Style::dim}, field.value},
		    {{0, width, Align::left}, {1, 0, Align::left}}, indent);
}

void Text::line(const std::vector<Cell> &cells)
{
	const char *between = "";

	for (const auto &cell : cells) {
		if (cell.text.empty())
			continue;
		out_ << between << styled(cell);
		between = " ";
	}
	out_ << "\n";
}

void Text::line(std::string_view text)
{
	out_ << text << "\n";
}

void TextSink::show(const View &view)
{
	view.text(text_);
}

void flush(std::ostream &out)
{
	if (!out.flush())
		throw IoError("standard output: cannot be written");
}

void TextSink::stream(const View &view)
{
	view.text(text_);
	flush(out_);
}

void JsonSink::show(const View &view)
{
	const auto json = view.json();
	const char *before = "[\n";

	if (!json.is_array() || json.empty()) {
		out_ << one_line(json) << "\n";
		return;
	}
	for (const auto &element : json) {
		out_ << before << one_line(element);
		before = ",\n";
	}
	out_ << "\n]\n";
}

void JsonSink::stream(const View &view)
{
	out_ << one_line(view.json()) << "\n";
	flush(out_);
}

} // namespace mpactl
