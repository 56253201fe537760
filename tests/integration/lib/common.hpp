// SPDX-License-Identifier: GPL-2.0-only
//
// What most of the C++ tests include. It is compiled once, and added to each of them by the
// Makefile; sources include what they use all the same.
#ifndef TESTS_COMMON_HPP
#define TESTS_COMMON_HPP

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "harness.hpp"
#include "net.hpp"

#endif
