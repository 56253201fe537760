/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// Output of commands. A command creates Views of its results, and the Sink writes
// them as text or JSON. Nothing else writes to standard output.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"

namespace mpactl {

enum class Style { plain, strong, dim, good, warn, bad };

// A text with a style, which is used only if colours are enabled.
struct Cell {
	std::string text;
	Style style = Style::plain;
};

enum class Align { left, right };

struct Column {
	std::string heading;
	Align align = Align::left;
};

// Rows below headings. Columns that are empty in every row are not written.
struct Table {
	std::vector<Column> columns;
	std::vector<std::vector<Cell>> rows;
};

// A name and a value. The values of consecutive fields are aligned.
struct Field {
	std::string name;
	Cell value;
};

// Text output.
class Text {
public:
	Text(std::ostream &out, bool colour) : out_(out), colour_(colour) {}

	void table(const Table &table);
	void fields(const std::vector<Field> &fields, std::size_t indent = 2);
	// Writes the cells, separated by blanks.
	void line(const std::vector<Cell> &cells);
	void line(std::string_view text);

private:
	// Column of a row.
	struct Place {
		std::size_t index;
		std::size_t width;
		Align align;
	};

	void row(const std::vector<Cell> &cells, const std::vector<Place> &places,
		 std::size_t indent);
	std::string styled(const Cell &cell) const;

	std::ostream &out_;
	bool colour_;
};

// Something that can be shown.
class View {
public:
	virtual ~View() = default;

	virtual Json json() const = 0;
	virtual void text(Text &to) const = 0;
};

// IoError: what was written has not arrived.
void flush(std::ostream &out);

class Sink {
public:
	virtual ~Sink() = default;

	// Writes the result of a command.
	virtual void show(const View &view) = 0;
	// Writes one of several results over time and flushes it; JSON in one line.
	virtual void stream(const View &view) = 0;
};

class TextSink : public Sink {
public:
	TextSink(std::ostream &out, bool colour) : out_(out), text_(out, colour) {}

	void show(const View &view) override;
	void stream(const View &view) override;

private:
	std::ostream &out_;
	Text text_;
};

// Writes an array with one element per line, and other values in one line.
class JsonSink : public Sink {
public:
	explicit JsonSink(std::ostream &out) : out_(out) {}

	void show(const View &view) override;
	void stream(const View &view) override;

private:
	std::ostream &out_;
};

} // namespace mpactl
