// SPDX-License-Identifier: GPL-2.0-only
//
// Random programs: which calls are made with which arguments, by which thread.
//
// A program follows from numbers alone: the first is the seed of a fresh program, each
// further one the seed of a change. These numbers, with dots between, are its name. What a
// number of an argument means depends on the call; most select one of the objects there
// are at the time.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace programs
{

// SplitMix64: the same numbers everywhere.
class Random
{
public:
	explicit Random(std::uint64_t seed) : state_(seed) {}

	std::uint64_t next()
	{
		std::uint64_t z = state_ += 0x9e3779b97f4a7c15;

		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
		z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
		return z ^ (z >> 31);
	}
	// 0 .. limit - 1
	std::uint32_t below(std::uint32_t limit)
	{
		return static_cast<std::uint32_t>((next() >> 32) * limit >> 32);
	}
	bool one_in(std::uint32_t n) { return below(n) == 0; }
	// Mostly small, sometimes at a limit, sometimes anything.
	std::uint32_t number();

private:
	std::uint64_t state_;
};

struct Call {
	unsigned int kind;
	unsigned int thread;
	// If not 0, this allocation of the call fails, where faults are injected.
	unsigned int fault;
	std::array<std::uint32_t, 4> args;
};

using Name = std::vector<std::uint64_t>;

struct Program {
	unsigned int threads;
	std::vector<Call> calls;
};

inline constexpr unsigned int max_threads = 4;
inline constexpr std::size_t max_calls = 80;

Program make(const Name &name);

std::string to_string(const Name &name);
std::optional<Name> from_string(const std::string &text);

} // namespace programs
