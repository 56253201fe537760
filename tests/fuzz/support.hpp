// SPDX-License-Identifier: GPL-2.0-only
//
// Shared by the fuzzers: reading the input field by field, memory of exactly the
// needed size, and the check that ends a run.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include <sanitizer/asan_interface.h>

namespace fuzz
{

using Bytes = std::vector<std::uint8_t>;
using View = std::span<const std::uint8_t>;

[[noreturn]] inline void fail(const char *what, const char *file, int line)
{
	std::fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
	std::abort();
}

// Ends the run; libFuzzer then keeps the input.
#define REQUIRE(condition) \
	((condition) ? (void)0 : fuzz::fail(#condition, __FILE__, __LINE__))

// How many frames of a peer the sources under test have found complete or wrong: FPDUs, frames
// of the startup, segments of DDP, units of TUF. Printed at the end of a run.
class Frames
{
public:
	~Frames()
	{
		std::fprintf(stderr, "stat::frames: %llu\n",
			     static_cast<unsigned long long>(count));
	}

	void add(std::uint64_t n) { count += n; }

private:
	std::uint64_t count = 0;
};

inline Frames frames;

// Takes fields from the start of an input; missing bytes read as zero.
class Input
{
public:
	Input(const std::uint8_t *data, std::size_t size) : left(data, size) {}

	std::uint8_t u8() { return get(1); }
	std::uint16_t u16() { return get(2); }
	std::uint32_t u32() { return get(4); }
	std::uint64_t u64() { return get(8); }

	bool empty() const { return left.empty(); }
	View rest() const { return left; }

private:
	std::uint64_t get(std::size_t bytes)
	{
		std::uint64_t value = 0;

		for (; bytes; bytes--) {
			value <<= 8;
			if (left.empty())
				continue;
			value |= left.front();
			left = left.subspan(1);
		}
		return value;
	}

	View left;
};

// A copy of exactly the size, so that ASan detects a read beyond its end.
class Exact
{
public:
	explicit Exact(View bytes)
		: size_(bytes.size()), bytes_(new std::uint8_t[bytes.size()])
	{
		std::copy(bytes.begin(), bytes.end(), bytes_.get());
	}

	const std::uint8_t *data() const { return bytes_.get(); }
	std::uint32_t size() const { return size_; }

private:
	std::size_t size_;
	std::unique_ptr<std::uint8_t[]> bytes_;
};

// A copy for a single call, without an allocation: memory behind its last byte is poisoned,
// so that ASan detects a read beyond it, and memory before it except for up to 7 bytes. Only
// one at a time.
class Edge
{
public:
	explicit Edge(View bytes) : data_(memory + most - bytes.size()), size_(bytes.size())
	{
		std::copy(bytes.begin(), bytes.end(), data_);
		__asan_poison_memory_region(memory + most, guard);
		__asan_poison_memory_region(data_ - guard, guard);
	}
	~Edge() { __asan_unpoison_memory_region(data_ - guard, guard); }
	Edge(const Edge &) = delete;
	Edge &operator=(const Edge &) = delete;

	const std::uint8_t *data() const { return data_; }
	std::uint32_t size() const { return size_; }

private:
	static constexpr std::size_t guard = 64, most = 1 << 17;
	alignas(64) static inline std::uint8_t memory[most + guard];

	std::uint8_t *data_;
	std::size_t size_;
};

// A copy of a stream whose portions are passed without another copy: while there is a Portion,
// a guard of memory behind its last byte is poisoned, and before it except for up to 7 bytes.
// Only one stream, and one portion, at a time.
class Stream
{
public:
	explicit Stream(View bytes) : data_(memory + most - bytes.size()), size_(bytes.size())
	{
		REQUIRE(bytes.size() <= most);
		std::copy(bytes.begin(), bytes.end(), data_);
		__asan_poison_memory_region(memory + most, guard);
	}
	~Stream() { __asan_unpoison_memory_region(memory + most, guard); }
	Stream(const Stream &) = delete;
	Stream &operator=(const Stream &) = delete;

	class Portion
	{
	public:
		Portion(const Stream &stream, std::size_t at, std::size_t bytes)
			: data_(stream.data_ + at), size_(bytes),
			  before(std::min(guard, at)),
			  hidden(std::min(guard, stream.size_ - at - bytes))
		{
			__asan_poison_memory_region(data_ - before, before);
			__asan_poison_memory_region(data_ + size_, hidden);
		}
		~Portion()
		{
			__asan_unpoison_memory_region(data_ - before, before);
			__asan_unpoison_memory_region(data_ + size_, hidden);
		}
		Portion(const Portion &) = delete;
		Portion &operator=(const Portion &) = delete;

		const std::uint8_t *data() const { return data_; }
		std::uint32_t size() const { return size_; }

	private:
		const std::uint8_t *data_;
		std::size_t size_, before, hidden;
	};

	Portion portion(std::size_t at, std::size_t bytes) const { return {*this, at, bytes}; }
	Portion rest(std::size_t at) const { return {*this, at, size_ - at}; }

private:
	// More than the distance of two Markers.
	static constexpr std::size_t guard = 1024, most = 1 << 18;
	alignas(64) static inline std::uint8_t memory[most + guard];

	std::uint8_t *data_;
	std::size_t size_;
};

// Bytes and portions derived from one byte of input (xorshift32).
class Sequence
{
public:
	explicit Sequence(std::uint32_t seed) : state(seed * 2654435761u | 1) {}

	std::uint32_t next()
	{
		state ^= state << 13;
		state ^= state >> 17;
		state ^= state << 5;
		return state;
	}

	Bytes bytes(std::size_t n)
	{
		Bytes result(n);

		for (std::size_t at = 0; at < n; at += 4) {
			const std::uint32_t word = next();

			std::memcpy(&result[at], &word, std::min<std::size_t>(4, n - at));
		}
		return result;
	}

private:
	std::uint32_t state;
};

// Sizes of the portions in which bytes are passed. The number of small portions
// is limited, else the longest FPDUs would take most of the time.
class Portions
{
public:
	explicit Portions(std::uint8_t choice)
		: kind(choice % 4), sequence(choice / 4)
	{
	}

	std::uint32_t next()
	{
		if (kind == 0)
			return 1u << 30;
		if (kind == 3 || small == 0)
			return 1 + sequence.next() % 3000;
		small--;
		return kind == 1 ? 1 : 1 + sequence.next() % 17;
	}

private:
	int kind;
	int small = 1500;
	Sequence sequence;
};

} // namespace fuzz
