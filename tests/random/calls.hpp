// SPDX-License-Identifier: GPL-2.0-only
//
// The calls that programs are made of.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "program.hpp"
#include "world.hpp"

namespace calls
{

using programs::Random;
using Args = std::array<std::uint32_t, 4>;

struct Kind {
	const char *name;
	// How often, in comparison with others; 0: rarely, see choose().
	unsigned int weight;
	void (*run)(World &world, const Args &args);
};

// The kinds of each file.
std::vector<Kind> of_sockets();
std::vector<Kind> of_verbs();
std::vector<Kind> of_connections();
std::vector<Kind> of_pairs();
std::vector<Kind> of_system();

const std::vector<Kind> &all();
unsigned int choose(Random &random);
// Kinds that make the objects of one area.
std::vector<unsigned int> beginning(Random &random);
// Deletes and changes devices and links, which slows everything down.
void allow_disturbance();

} // namespace calls
