/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// What commands print. A command makes Views of what it knows; the Sink, text or
// JSON, takes what it needs of them. Nothing else writes to standard output.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"

namespace mpactl {

enum class Style { plain, strong, dim, good, warn, bad };

// A piece of text; its style shows on terminals only.
struct Cell {
	std::string text;
	Style style = Style::plain;
};

enum class Align { left, right };

struct Column {
	std::string heading;
	Align align = Align::left;
};

// Rows below headings. Columns that are empty in every row are left out.
struct Table {
	std::vector<Column> columns;
	std::vector<std::vector<Cell>> rows;
};

// A name and what it is, aligned with its neighbours.
struct Field {
	std::string name;
	Cell value;
};

// Text for a person.
class Text {
public:
	Text(std::ostream &out, bool colour) : out_(out), colour_(colour) {}

	void table(const Table &table);
	void fields(const std::vector<Field> &fields, std::size_t indent = 2);
	// The cells one after the other, with blanks between.
	void line(const std::vector<Cell> &cells);
	void line(std::string_view text);

private:
	// Where a cell of a row goes.
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

class Sink {
public:
	virtual ~Sink() = default;

	// The answer of a command.
	virtual void show(const View &view) = 0;
	// One of many answers over time: out at once, JSON in one line.
	virtual void stream(const View &view) = 0;
	// Whether there is an answer that is for persons only.
	virtual bool for_persons() const = 0;
};

class TextSink : public Sink {
public:
	TextSink(std::ostream &out, bool colour) : out_(out), text_(out, colour) {}

	void show(const View &view) override;
	void stream(const View &view) override;
	bool for_persons() const override { return true; }

private:
	std::ostream &out_;
	Text text_;
};

// Arrays have one element per line, all else is one line.
class JsonSink : public Sink {
public:
	explicit JsonSink(std::ostream &out) : out_(out) {}

	void show(const View &view) override;
	void stream(const View &view) override;
	bool for_persons() const override { return false; }

private:
	std::ostream &out_;
};

} // namespace mpactl
