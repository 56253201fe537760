/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// The cost of a phase: processor time and memory, from /proc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bench {

// Processor time in nanoseconds: a reading, or the difference of two.
struct Usage {
	// Of this process, including its system calls.
	std::uint64_t process_user = 0;
	std::uint64_t process_system = 0;
	// Of the whole machine, all processors: time that was not idle, and the
	// part of it spent in soft interrupts.
	std::uint64_t machine_busy = 0;
	std::uint64_t machine_softirq = 0;

	bool operator==(const Usage &) const = default;
};

Usage operator-(const Usage &later, const Usage &earlier) noexcept;

// Bytes in use.
struct Memory {
	// Of the whole machine: everything except free memory, the page cache
	// and memory of applications.
	std::uint64_t kernel = 0;
	// The part used by slab caches.
	std::uint64_t slab = 0;
	// Private memory of this process.
	std::uint64_t process = 0;

	bool operator==(const Memory &) const = default;
};

// --- text of /proc, parsed ----------------------------------------------------

// Parses line "cpu" of /proc/stat into machine_busy and machine_softirq; tick:
// nanoseconds of a tick.
std::optional<Usage> parse_stat(std::string_view text, std::uint64_t tick);

// Parses a line "NAME:   123 kB" of /proc/meminfo or /proc/self/status into
// bytes.
std::optional<std::uint64_t> parse_kilobytes(std::string_view text,
					     std::string_view name);

// Parses /proc/meminfo into kernel and slab.
std::optional<Memory> parse_meminfo(std::string_view text);

// Parses /proc/zoneinfo: free pages in the processors' own lists, which do not
// count as free in /proc/meminfo.
std::optional<std::uint64_t> parse_zoneinfo(std::string_view text);

// --- readings -------------------------------------------------------------------

// Throw Failure if the contents of /proc are not as expected.
Usage usage_now();
Memory memory_now();
// As memory_now(), after recently freed memory has become free: waits until two
// readings in a row agree, or at most two seconds.
Memory memory_settled();
// The same for all processes of a machine until it is rebooted.
std::string machine_id();

} // namespace bench
