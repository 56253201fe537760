// SPDX-License-Identifier: GPL-2.0-only
#include "faults.hpp"

#include <array>
#include <algorithm>
#include <iostream>
#include <new>

#include <fcntl.h>

namespace faults {

using namespace harness;

namespace {

// No operation here makes as many allocations.
constexpr unsigned int most = 5000;

unsigned int number;
bool injected;

bool is_lack_of_memory(int error)
{
	// ENFILE: a socket, or its file, could not be created.
	static constexpr std::array errors{ENOMEM, ENOBUFS, EAGAIN, ENFILE};

	return std::ranges::find(errors, error) != errors.end();
}

} // namespace

Nth::Nth(unsigned int nth)
	: file_(::open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC))
{
	const std::string text = std::to_string(nth);

	must_call(file_.get(), "fail-nth");
	must_call(::pwrite(file_.get(), text.data(), text.size(), 0), "fail-nth");
}

bool Nth::end()
{
	char left[16] = "";

	// Reading may itself fail for lack of memory; then an allocation has
	// failed.
	const bool hit = ::pread(file_.get(), left, sizeof(left) - 1, 0) < 0 ||
			 std::string_view(left) == "0\n";
	must_call(::pwrite(file_.get(), "0", 1, 0), "fail-nth");
	return hit;
}

int with_fault(const std::function<int()> &part)
{
	Nth nth(number);
	int error;

	try {
		error = part();
	} catch (const std::bad_alloc &) {
		error = ENOMEM;
	}
	injected = nth.end();
	return error;
}

void each_allocation(const std::function<int()> &operation, int other,
		     std::source_location at)
{
	unsigned int refused = 0;

	for (number = 1; number <= most; number++) {
		const Row row("allocation", number);

		injected = false;
		const int error = operation();
		if (!injected) {
			is(Err{error}, 0, "without a fault", at);
			yes(number > 1, "something can fail", at);
			std::cout << "# " << number - 1 << " allocations, " << refused
				  << " of them refused the operation\n";
			return;
		}
		refused += error != 0;
		if (error && error != other && !is_lack_of_memory(error))
			is(Err{error}, ENOMEM, "the error", at);
	}
	fail("the operation fails without end", at);
}

} // namespace faults
