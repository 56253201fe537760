// SPDX-License-Identifier: GPL-2.0-only
#include "program.hpp"

#include <algorithm>

#include "calls.hpp"

namespace programs
{

std::uint32_t Random::number()
{
	static constexpr std::array<std::uint32_t, 14> limits{
		0,   1,	   2,	  16,	 64,	     128,	 255,
		512, 4096, 65535, 65536, 0x7fffffff, 0x80000000, 0xffffffff};

	switch (below(8)) {
	case 0:
		return limits[below(limits.size())];
	case 1:
		return static_cast<std::uint32_t>(next());
	case 2:
		return below(1 << 16);
	default:
		return below(64);
	}
}

namespace
{

Call fresh_call(Random &random, unsigned int threads)
{
	Call call{calls::choose(random), random.below(threads), 0, {}};

	if (random.one_in(12))
		call.fault = 1 + random.below(6);
	for (std::uint32_t &arg : call.args)
		arg = random.number();
	return call;
}

Program fresh(std::uint64_t seed)
{
	Random random(seed);
	Program program{1 + random.below(max_threads), {}};
	const std::uint32_t count = 4 + random.below(40);

	// What most calls need comes first, more often than not.
	if (!random.one_in(8))
		for (unsigned int kind : calls::beginning(random))
			program.calls.push_back(
				{kind,
				 random.below(program.threads),
				 0,
				 {random.number(), random.number(),
				  random.number(), random.number()}});
	for (std::uint32_t n = 0; n < count; n++)
		program.calls.push_back(fresh_call(random, program.threads));
	return program;
}

void change(Program &program, std::uint64_t seed)
{
	Random random(seed);

	for (std::uint32_t n = 1 + random.below(4); n; n--) {
		const std::uint32_t at = random.below(
			static_cast<std::uint32_t>(program.calls.size()) + 1);
		const auto where = program.calls.begin() + at;

		switch (random.below(8)) {
		case 0:
			if (where != program.calls.end())
				program.calls.erase(where);
			break;
		case 1:
			if (where != program.calls.end())
				where->args[random.below(4)] = random.number();
			break;
		case 2:
			if (where != program.calls.end())
				where->thread = random.below(program.threads);
			break;
		case 3:
			program.threads = 1 + random.below(max_threads);
			for (Call &call : program.calls)
				call.thread %= program.threads;
			break;
		case 4:
			// The same once more, later.
			if (where != program.calls.end())
				program.calls.push_back(*where);
			break;
		default:
			program.calls.insert(
				where, fresh_call(random, program.threads));
		}
	}
	if (program.calls.size() > max_calls)
		program.calls.resize(max_calls);
}

} // namespace

Program make(const Name &name)
{
	Program program = fresh(name.front());

	std::for_each(name.begin() + 1, name.end(),
		      [&](std::uint64_t seed) { change(program, seed); });
	return program;
}

} // namespace programs
