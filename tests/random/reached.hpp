// SPDX-License-Identifier: GPL-2.0-only
//
// What the kernel modules have executed, by tests/random/module/mpa_reached.c.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

class Reached
{
public:
	// Without the device there is nothing to see, and nothing new.
	Reached();

	explicit operator bool() const { return map_; }
	// How many blocks were executed for the first time since the last call.
	std::size_t fresh();
	std::size_t total() const { return total_; }
	// Lines "module offset" of all that were executed.
	void write(const std::string &path) const;

private:
	volatile unsigned char *map_ = nullptr;
	std::vector<unsigned char> known_;
	std::size_t total_ = 0;
};
