// SPDX-License-Identifier: GPL-2.0-only
//
// Definitions shared by mpa-peer and its targets: numbers only. The targets
// link nothing of the peer, so that a bug in the peer's code cannot hide one of
// the kernel by being on both sides.
#pragma once

#include <cstdint>

namespace peer {

// What the target must do: the last byte of our Request's private data, or a
// word of a connect command.
enum class Mode : char {
	echo = 'E',		// sends back each Send or ULPDU
	speak = 'S',		// echo, and has one Send of its own to send
	deaf = 'N',		// posts no receives
	reader = 'R',		// reads from the peer, sends the bytes back
	slow = 'D',		// accepts a second later
	reject = 'J',		// refuses, with private data
	windows = 'W',		// echo, and sends where its memory windows are
};

// The Read that a target in mode reader issues.
inline constexpr std::uint32_t reader_stag = 0xa1b2c301;
inline constexpr std::uint64_t reader_at = 0x1122334455667788;
inline constexpr std::uint32_t reader_size = 4096;

// Bytes of each memory window of a target in mode windows.
inline constexpr std::uint32_t window_size = 3000;

} // namespace peer
