/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#include "stats.hpp"

#include <algorithm>

namespace bench {

Summary summarize(std::vector<double> values)
{
	if (values.empty())
		return {};
	std::sort(values.begin(), values.end());
	const std::size_t middle = values.size() / 2;
	Summary summary{values[middle], values.front(), values.back(), 0};

	if (values.size() % 2 == 0)
		summary.median = (values[middle - 1] + values[middle]) / 2;
	if (summary.median != 0)
		summary.spread = (summary.max - summary.min) / summary.median;
	return summary;
}

std::uint64_t Histogram::percentile(std::uint32_t millionths) const noexcept
{
	constexpr std::uint64_t million = 1'000'000;
	// ceil(count * p), in parts so that it cannot overflow.
	std::uint64_t rank = count_ / million * millionths +
		(count_ % million * millionths + million - 1) / million;
	rank = std::clamp<std::uint64_t>(rank, 1, std::max<std::uint64_t>(count_, 1));
	std::uint64_t seen = 0;

	for (std::size_t bucket = 0; bucket < buckets; bucket++) {
		seen += counts_[bucket];
		if (seen >= rank)
			return std::clamp(top_of(bucket), min_, max_);
	}
	return 0;
}

} // namespace bench
