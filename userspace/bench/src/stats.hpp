/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// Statistics: pure functions, and no allocation where samples are taken.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace bench {

// Of several runs of the same test.
struct Summary {
	double median = 0;
	double min = 0;
	double max = 0;
	// (max - min) / median; 0 if the median is.
	double spread = 0;

	bool operator==(const Summary &) const = default;
};

// All 0 if there are no values.
Summary summarize(std::vector<double> values);

// Counts values in buckets whose width is at most 1/128 of their lower bound;
// values below 256 have a bucket each. Minimum, maximum and mean are exact.
class Histogram {
public:
	void add(std::uint64_t value) noexcept
	{
		counts_[bucket_of(value)]++;
		count_++;
		sum_ += static_cast<double>(value);
		min_ = value < min_ ? value : min_;
		max_ = value > max_ ? value : max_;
	}

	void clear() noexcept { *this = Histogram(); }

	std::uint64_t count() const noexcept { return count_; }
	std::uint64_t min() const noexcept { return count_ ? min_ : 0; }
	std::uint64_t max() const noexcept { return max_; }
	double mean() const noexcept
	{
		return count_ ? sum_ / static_cast<double>(count_) : 0;
	}

	// Percentile by nearest rank, in parts of a million: the smallest value
	// that so many samples do not exceed, to the width of a bucket; 0
	// without samples.
	std::uint64_t percentile(std::uint32_t millionths) const noexcept;

	static constexpr std::size_t bucket_of(std::uint64_t value) noexcept
	{
		if (value < fine)
			return static_cast<std::size_t>(value);
		const unsigned int shift =
			static_cast<unsigned int>(std::bit_width(value)) - fine_bits;
		return shift * half + static_cast<std::size_t>(value >> shift);
	}

	// The largest value of the bucket.
	static constexpr std::uint64_t top_of(std::size_t bucket) noexcept
	{
		if (bucket < fine)
			return bucket;
		const std::size_t shift = bucket / half - 1;
		const std::uint64_t first = bucket - shift * half;
		return ((first + 1) << shift) - 1;
	}

	static constexpr unsigned int fine_bits = 8;
	static constexpr std::size_t fine = std::size_t{1} << fine_bits;
	static constexpr std::size_t half = fine / 2;
	static constexpr std::size_t buckets = (64 - fine_bits) * half + fine;

private:
	std::array<std::uint64_t, buckets> counts_{};
	std::uint64_t count_ = 0;
	std::uint64_t min_ = std::numeric_limits<std::uint64_t>::max();
	std::uint64_t max_ = 0;
	double sum_ = 0;
};

// Decides when to read the clock, which is a system call on some machines:
// after a number of messages that takes about 2 ms.
class Pacer {
public:
	// True if the clock is due.
	bool count(std::uint64_t messages) noexcept
	{
		left_ = messages < left_ ? left_ - messages : 0;
		return left_ == 0;
	}

	// The clock was read, so many nanoseconds after the last time.
	void looked(std::uint64_t since) noexcept
	{
		if (since < 1'000'000 && stride_ < max_stride)
			stride_ *= 2;
		else if (since > 4'000'000 && stride_ > 1)
			stride_ /= 2;
		left_ = stride_;
	}

	std::uint64_t stride() const noexcept { return stride_; }

	static constexpr std::uint64_t max_stride = std::uint64_t{1} << 24;

private:
	std::uint64_t stride_ = 1;
	std::uint64_t left_ = 1;
};

} // namespace bench
