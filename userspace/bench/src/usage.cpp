/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#include "usage.hpp"

#include <array>
#include <charconv>
#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

#include <sys/resource.h>
#include <unistd.h>

#include "failure.hpp"

namespace bench {

namespace {

std::string slurp(const char *path)
{
	std::ifstream file(path);
	std::ostringstream text;

	text << file.rdbuf();
	if (!file)
		throw Failure(std::string("cannot read ") + path);
	return text.str();
}

// Takes the next number off the text.
std::optional<std::uint64_t> next_number(std::string_view &text)
{
	std::uint64_t value = 0;

	text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
	const auto [end, error] =
		std::from_chars(text.data(), text.data() + text.size(), value);
	if (error != std::errc{})
		return {};
	text.remove_prefix(static_cast<std::size_t>(end - text.data()));
	return value;
}

std::uint64_t nanoseconds(const timeval &time)
{
	return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
		static_cast<std::uint64_t>(time.tv_usec) * 1000;
}

// A counter of the kernel may go back a little.
std::uint64_t growth(std::uint64_t later, std::uint64_t earlier)
{
	return later > earlier ? later - earlier : 0;
}

} // namespace

Usage operator-(const Usage &later, const Usage &earlier) noexcept
{
	return {
		growth(later.process_user, earlier.process_user),
		growth(later.process_system, earlier.process_system),
		growth(later.machine_busy, earlier.machine_busy),
		growth(later.machine_softirq, earlier.machine_softirq),
	};
}

std::optional<Usage> parse_stat(std::string_view text, std::uint64_t tick)
{
	// user nice system idle iowait irq softirq steal; guests are in user.
	enum { idle = 3, iowait = 4, softirq = 6, columns = 8 };
	std::uint64_t busy = 0, soft = 0;

	if (!text.starts_with("cpu "))
		return {};
	text.remove_prefix(4);
	for (int column = 0; column < columns; column++) {
		const auto ticks = next_number(text);

		if (!ticks)
			return {};
		if (column != idle && column != iowait)
			busy += *ticks;
		if (column == softirq)
			soft = *ticks;
	}
	return Usage{0, 0, busy * tick, soft * tick};
}

std::optional<std::uint64_t> parse_kilobytes(std::string_view text,
					     std::string_view name)
{
	while (!text.empty()) {
		const auto end = std::min(text.find('\n'), text.size());
		auto line = text.substr(0, end);

		text.remove_prefix(std::min(end + 1, text.size()));
		if (!line.starts_with(name) || !line.substr(name.size()).starts_with(":"))
			continue;
		line.remove_prefix(name.size() + 1);
		const auto value = next_number(line);
		if (!value || line != " kB")
			return {};
		return *value * 1024;
	}
	return {};
}

std::optional<Memory> parse_meminfo(std::string_view text)
{
	const auto total = parse_kilobytes(text, "MemTotal");
	const auto slab = parse_kilobytes(text, "Slab");
	std::uint64_t other = 0;

	for (const auto *name : {"MemFree", "Buffers", "Cached", "AnonPages"}) {
		const auto value = parse_kilobytes(text, name);

		if (!value)
			return {};
		other += *value;
	}
	if (!total || !slab || other > *total)
		return {};
	return Memory{*total - other, *slab, 0};
}

std::optional<std::uint64_t> parse_zoneinfo(std::string_view text)
{
	constexpr std::string_view name = "count:";
	std::optional<std::uint64_t> sum;

	while (!text.empty()) {
		const auto end = std::min(text.find('\n'), text.size());
		auto line = text.substr(0, end);

		text.remove_prefix(std::min(end + 1, text.size()));
		line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
		if (!line.starts_with(name))
			continue;
		line.remove_prefix(name.size());
		const auto pages = next_number(line);
		if (!pages)
			return {};
		sum = sum.value_or(0) + *pages;
	}
	return sum;
}

Usage usage_now()
{
	static const auto tick = static_cast<std::uint64_t>(
		1'000'000'000 / ::sysconf(_SC_CLK_TCK));
	rusage self{};

	if (::getrusage(RUSAGE_SELF, &self))
		fail("getrusage");
	auto usage = parse_stat(slurp("/proc/stat"), tick);
	if (!usage)
		throw Failure("/proc/stat is not as expected");
	usage->process_user = nanoseconds(self.ru_utime);
	usage->process_system = nanoseconds(self.ru_stime);
	return *usage;
}

Memory memory_now()
{
	auto memory = parse_meminfo(slurp("/proc/meminfo"));
	const auto process = parse_kilobytes(slurp("/proc/self/status"), "RssAnon");

	const auto kept = parse_zoneinfo(slurp("/proc/zoneinfo"));

	if (!memory || !process || !kept)
		throw Failure("/proc/meminfo, /proc/zoneinfo or /proc/self/status is not "
			      "as expected");
	memory->kernel = growth(memory->kernel,
				*kept * static_cast<std::uint64_t>(
						::sysconf(_SC_PAGESIZE)));
	memory->process = *process;
	return *memory;
}

Memory memory_settled()
{
	using namespace std::chrono_literals;
	constexpr std::uint64_t close = 64 << 10;
	auto last = memory_now();

	for (int tries = 0; tries < 20; tries++) {
		std::this_thread::sleep_for(100ms);
		const auto now = memory_now();
		const auto apart = growth(now.kernel, last.kernel) +
			growth(last.kernel, now.kernel);

		last = now;
		if (apart <= close)
			break;
	}
	return last;
}

std::string machine_id()
{
	auto id = slurp("/proc/sys/kernel/random/boot_id");

	while (!id.empty() && id.back() == '\n')
		id.pop_back();
	return id;
}

} // namespace bench
