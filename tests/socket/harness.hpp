// SPDX-License-Identifier: GPL-2.0-only
//
// Test cases that print TAP. Each runs in its own process, with a time limit: a
// case that hangs or crashes has failed, and its resources are released as when
// a program dies.
#pragma once

#include <chrono>
#include <cstring>
#include <functional>
#include <source_location>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include <mpa/mpa.hpp>

namespace harness {

struct Case {
	std::string name;
	std::function<void()> run;
};

std::vector<Case> &cases();

struct Register {
	Register(std::string name, std::function<void()> run)
	{
		cases().push_back({std::move(name), std::move(run)});
	}
};

// A case: CASE("area: what is true") { ... }
#define CASE(name) CASE_AT(name, __LINE__)
#define CASE_AT(name, line) CASE_DEFINE(name, line)
#define CASE_DEFINE(name, line)                                                \
	static void case_##line();                                             \
	static const harness::Register register_##line(name, case_##line);     \
	static void case_##line()

struct Failed {
	std::string what;
};

// Rows of tables are named in failures while they are being checked.
class Row {
public:
	template <typename... Parts> explicit Row(const Parts &...parts)
	{
		std::ostringstream out;

		((out << parts << ' '), ...);
		names().push_back(out.str());
	}
	~Row() { names().pop_back(); }
	Row(const Row &) = delete;
	Row &operator=(const Row &) = delete;

	static std::vector<std::string> &names()
	{
		static thread_local std::vector<std::string> stack;

		return stack;
	}
};

// Keeps the text for a process that ends without its exception being caught: in a
// thread of a case, or while such a thread runs.
void note_failure(const std::string &text);

[[noreturn]] inline void fail(const std::string &what,
			      std::source_location at = std::source_location::current())
{
	std::ostringstream out;

	out << std::strrchr(at.file_name(), '/') + 1 << ':' << at.line() << ": ";
	for (const auto &row : Row::names())
		out << "[" << row << "] ";
	out << what;
	note_failure(out.str());
	throw Failed{out.str()};
}

// An error number that prints its name; 0 is success.
struct Err {
	int number;

	bool operator==(const Err &) const = default;
	friend std::ostream &operator<<(std::ostream &out, Err err)
	{
		const char *name = ::strerrorname_np(err.number);

		return err.number ? out << (name ? name : "?") : out << "success";
	}
};

inline Err err(std::error_code code)
{
	return {code.value()};
}

template <typename T> Err err(const mpa::result<T> &result)
{
	return {result.error().value()};
}

// The result of a system call that has just returned.
inline Err err_of(long returned)
{
	return {returned < 0 ? errno : 0};
}

template <typename Got, typename Wanted>
void is(const Got &got, const Wanted &wanted, const std::string &what,
	std::source_location at = std::source_location::current())
{
	if (got == wanted)
		return;
	std::ostringstream out;
	out << what << ": got " << got << ", wanted " << wanted;
	fail(out.str(), at);
}

inline void is(Err got, int wanted, const std::string &what,
	       std::source_location at = std::source_location::current())
{
	is(got, Err{wanted}, what, at);
}

inline void yes(bool got, const std::string &what,
		std::source_location at = std::source_location::current())
{
	if (!got)
		fail("not so: " + what, at);
}

// A step of a case, which must succeed.
template <typename T>
T must(mpa::result<T> result, const std::string &what,
       std::source_location at = std::source_location::current())
{
	if (!result)
		fail(what + ": " + result.error().message(), at);
	if constexpr (!std::is_void_v<T>)
		return *std::move(result);
}

inline long must_call(long returned, const std::string &what,
		      std::source_location at = std::source_location::current())
{
	if (returned < 0)
		fail(what + ": " + std::strerror(errno), at);
	return returned;
}

// For events that must occur: long, since the wait ends early. For events that
// must not: short.
inline constexpr std::chrono::milliseconds patience{60000};
inline constexpr std::chrono::milliseconds moment{250};

// Polls until the condition is true.
void await(const std::function<bool()> &so, const std::string &what,
	   std::source_location at = std::source_location::current());

// socket_test [--list] [GLOB...]: each glob must match a case.
int main(int argc, char **argv);

} // namespace harness
