// SPDX-License-Identifier: GPL-2.0-only
//
// What an RNIC must do with the segments that it receives, written from RFC 5040, 5041 and
// 7306: what it answers, which memory it changes, and with which codes it may end the stream.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "session.hpp"

namespace peer {

// Memory that an STag names.
struct Grant {
	std::uint32_t stag;
	std::uint64_t at;
	std::uint32_t length;
	bool write, read, atomic;
	// Where it begins in the region that the model has the contents of; -1: elsewhere,
	// all zero if it can be read.
	std::int64_t offset;
};

class Model {
public:
	// At the end of the first region: for atomic operations alone.
	static constexpr std::uint32_t words = 64;

	struct Outcome {
		// With one of these the stream ends; empty: the segment is good.
		std::vector<Code> codes;
		// Nothing is required.
		bool unknown = false;
		bool good() const { return codes.empty() && !unknown; }
	};

	// What a Read or an atomic operation returns.
	struct Answer {
		Bytes data;
		// Bytes that a later Write may have changed before they were read.
		std::vector<bool> loose;
		std::uint32_t stag = 0;
		std::uint64_t to = 0;
		// Of an atomic operation.
		bool atomic = false;
		std::uint32_t id = 0;
		// Of the region; -1: of other memory.
		std::int64_t offset = -1;
	};

	// A message that is sent back; only its length is known of an Immediate.
	struct Echo {
		Bytes data;
		bool exact = true;
	};

	Model(const Aim &aim, const Windows *windows, bool extensions);

	Outcome take(const Bytes &ulpdu);
	// Compares what arrives; throws Mismatch.
	void arrived(const Bytes &ulpdu);
	bool waits() const { return !echoes_.empty() || !answers_.empty(); }
	const std::vector<Grant> &grants() const { return grants_; }
	bool extensions() const { return extensions_; }

private:
	Outcome tagged(const Bytes &ulpdu);
	Outcome message(const Bytes &ulpdu);
	Outcome request(const Bytes &ulpdu);
	void read(const ReadRequest &rd, const Grant *grant);
	void atomic(const Bytes &ulpdu, const Grant &grant);
	void written(std::int64_t offset, const Bytes &data);
	const Grant *find(std::uint32_t stag) const;

	std::uint32_t other_;
	std::vector<Grant> grants_;
	bool extensions_;
	Bytes memory_;
	std::deque<Echo> echoes_;
	std::deque<Answer> answers_;
	std::uint32_t send_msn_ = 1, request_msn_ = 1, response_msn_ = 1, their_msn_ = 1;
	// Of the message that has begun.
	Bytes message_;
	std::uint8_t opcode_ = 0;
	bool begun_ = false;
	// Of those that arrive.
	Bytes echo_, data_;
	// Sends and requests that the target may not have taken yet.
	std::size_t most_echoes_ = 4, most_answers_ = 4;
};

} // namespace peer
