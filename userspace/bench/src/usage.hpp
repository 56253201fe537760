/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// What a phase cost: processor time and memory, from /proc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bench {

// Processor time in nanoseconds: a reading, or the difference of two.
struct Usage {
	// Of this process, in the kernel's system calls with them.
	std::uint64_t process_user = 0;
	std::uint64_t process_system = 0;
	// Of the whole machine, all processors: what was not idle, and of that
	// what went into soft interrupts.
	std::uint64_t machine_busy = 0;
	std::uint64_t machine_softirq = 0;

	bool operator==(const Usage &) const = default;
};

Usage operator-(const Usage &later, const Usage &earlier) noexcept;

// Bytes in use.
struct Memory {
	// Of the whole machine: all that is neither free, nor cache of files, nor
	// memory of applications.
	std::uint64_t kernel = 0;
	// Of that, slab caches.
	std::uint64_t slab = 0;
	// Private memory of this process.
	std::uint64_t process = 0;

	bool operator==(const Memory &) const = default;
};

// --- text of /proc, parsed ----------------------------------------------------

// Line "cpu" of /proc/stat into machine_busy and machine_softirq; one tick is so
// many nanoseconds.
std::optional<Usage> parse_stat(std::string_view text, std::uint64_t tick);

// A line "NAME:   123 kB" of /proc/meminfo or /proc/self/status, in bytes.
std::optional<std::uint64_t> parse_kilobytes(std::string_view text,
					     std::string_view name);

// /proc/meminfo into kernel and slab.
std::optional<Memory> parse_meminfo(std::string_view text);

// /proc/zoneinfo: free pages that processors keep for themselves, which do not
// count as free in /proc/meminfo.
std::optional<std::uint64_t> parse_zoneinfo(std::string_view text);

// --- readings -------------------------------------------------------------------

// Throw Failure where /proc is not what is expected.
Usage usage_now();
Memory memory_now();
// As memory_now(), once what was just freed is free: waits until two readings in
// a row agree, or at most two seconds.
Memory memory_settled();
// The same for all processes of a machine as long as it runs.
std::string machine_id();

} // namespace bench
