// SPDX-License-Identifier: GPL-2.0-only
//
// Memory that is not there: each allocation of an operation fails once.
#pragma once

#include <fstream>
#include <functional>

#include "harness.hpp"

namespace faults {

// Slab and page allocations of a thread count down: that with number nth fails. The
// kernel has CONFIG_FAULT_INJECTION (Documentation/fault-injection of its sources);
// what interrupts and other threads allocate does not count.
class Nth {
public:
	explicit Nth(unsigned int nth);
	// Nothing fails any more. True if one has.
	bool end();

private:
	mpa::descriptor file_;
};

// Tries an operation until it gets through without a fault, and says how many there
// were. It returns 0 or an error number, which must be one of lack of memory, or
// the other one, when something failed; it begins anew each time and ends what it
// began. Allocations whose failure it survives are fine.
void each_allocation(const std::function<int()> &operation, int other = 0,
		     std::source_location at = std::source_location::current());

// Part of an operation in which allocations fail.
int with_fault(const std::function<int()> &part);

} // namespace faults
