/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// The inner markers of section 7.3.2 of draft-ietf-tsvwg-tcp-ulp-frame-00: those in the
// plaintext, which point to PDUs of the application. Their format is that of section 6.
// Written from the draft: the kernel's code for the outer ones has a licence that does
// not go together with OpenSSL's. Pure.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <mpa/framing.hpp>

namespace mpa::tls {

// Puts markers between the bytes of PDUs.
class marker_writer {
public:
	explicit marker_writer(std::uint32_t interval) noexcept : interval_(interval) {}

	// Appends a PDU with the markers that are due.
	void write(const_buffer pdu, std::vector<std::byte> &to)
	{
		for (std::size_t at = 0; at < pdu.size();) {
			if (!gap_)
				mark(at ? distance(pdu.size() - at) : 0, to);
			const auto next = pdu.subspan(
				at, std::min<std::size_t>(pdu.size() - at, gap_));

			to.insert(to.end(), next.begin(), next.end());
			gap_ -= static_cast<std::uint32_t>(next.size());
			at += next.size();
		}
	}

private:
	// From the end of a marker to the next PDU, with so many bytes of this one to
	// come. A marker that is due just behind its last byte counts.
	std::size_t distance(std::size_t left) const noexcept
	{
		return left + framing::marker_size *
				      (left / (interval_ - framing::marker_size));
	}

	void mark(std::size_t to_next, std::vector<std::byte> &to)
	{
		for (int copy = 0; copy < 2; copy++) {
			to.push_back(static_cast<std::byte>(to_next >> 8));
			to.push_back(static_cast<std::byte>(to_next));
		}
		gap_ = interval_ - framing::marker_size;
	}

	std::uint32_t interval_;
	std::uint32_t gap_ = 0; // bytes to the next marker
};

// Removes markers, and tells where a PDU ends as far as they say so.
class marker_reader {
public:
	struct step {
		std::size_t used = 0;  // bytes of the stream
		std::size_t made = 0;  // bytes of PDUs
		bool boundary = false; // a PDU ends behind them
		bool valid = true;     // false: a marker is wrong
	};

	explicit marker_reader(std::uint32_t interval) noexcept : interval_(interval) {}

	// Reads up to a known boundary, or as far as there are bytes and room.
	step read(const_buffer from, buffer to) noexcept
	{
		step done;

		while (done.used < from.size()) {
			if (!gap_) {
				field_[have_++] = from[done.used++];
				if (have_ < field_.size())
					continue;
				done.valid = take();
				done.boundary = known_ && !left_ && done.made;
				if (!done.valid || done.boundary)
					break;
				continue;
			}
			if (done.made == to.size())
				break;
			const auto n = run(std::min(from.size() - done.used,
						    to.size() - done.made));
			std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(done.used),
				    n, to.begin() + static_cast<std::ptrdiff_t>(done.made));
			done.used += n;
			done.made += n;
			done.boundary = known_ && !left_;
			if (done.boundary)
				break;
		}
		return done;
	}

	// Whether the stream may end here, as far as is known.
	bool may_end() const noexcept { return !have_ && (!known_ || !left_); }

private:
	// A marker is complete.
	bool take() noexcept
	{
		const std::uint32_t first = number(0);
		const std::uint32_t between = interval_ - framing::marker_size;
		const std::uint32_t behind = first % interval_;
		const std::uint32_t bytes = first / interval_ * between + behind;

		have_ = 0;
		gap_ = between;
		// The copies differ, it leads too far, or into another marker.
		if (first != number(2) || first > framing::pdu_max || behind > between)
			return false;
		// It contradicts the one before it.
		if (known_ && bytes != left_)
			return false;
		known_ = true;
		left_ = bytes;
		return true;
	}

	// Takes bytes of PDUs: up to the next marker or boundary.
	std::size_t run(std::size_t most) noexcept
	{
		std::size_t n = std::min<std::size_t>(most, gap_);

		// Behind a boundary the next one is not known.
		if (known_ && !left_)
			known_ = false;
		if (known_)
			n = std::min<std::size_t>(n, left_);
		gap_ -= static_cast<std::uint32_t>(n);
		left_ -= known_ ? static_cast<std::uint32_t>(n) : 0;
		return n;
	}

	std::uint32_t number(std::size_t at) const noexcept
	{
		return std::to_integer<std::uint32_t>(field_[at]) << 8 |
		       std::to_integer<std::uint32_t>(field_[at + 1]);
	}

	std::uint32_t interval_;
	std::uint32_t gap_ = 0;
	std::array<std::byte, framing::marker_size> field_{};
	std::size_t have_ = 0; // bytes of field_
	// At the beginning, and behind each boundary until its bytes come.
	bool known_ = true;
	std::uint32_t left_ = 0; // bytes to the boundary, if known_
};

} // namespace mpa::tls
