// SPDX-License-Identifier: GPL-2.0-only
//
// Allocation faults: each allocation of an operation fails once.
#pragma once

#include <fstream>
#include <functional>

#include "harness.hpp"

namespace faults {

// Counts slab and page allocations of a thread; the one with number nth fails.
// The kernel needs CONFIG_FAULT_INJECTION (Documentation/fault-injection of its
// sources); allocations of interrupts and other threads do not count.
class Nth {
public:
	explicit Nth(unsigned int nth);
	// Ends the fault injection. True if an allocation has failed.
	bool end();

private:
	mpa::descriptor file_;
};

// Repeats an operation until it runs without a fault, and returns how many
// faults there were. It returns 0 or an error number, which must be ENOMEM or
// the other one if an allocation failed; it starts from the beginning each time
// and releases what it created. It may survive the failure of an allocation.
void each_allocation(const std::function<int()> &operation, int other = 0,
		     std::source_location at = std::source_location::current());

// A part of an operation in which allocations fail.
int with_fault(const std::function<int()> &part);

} // namespace faults
