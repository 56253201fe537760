/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// Encrypted records that wait to be sent, and how they are laid into segments. Pure:
// nothing here knows of sockets or OpenSSL.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <mpa/tls.hpp>

namespace mpa::tls {

// Length of a record with its header. At least the header must be there.
inline std::size_t record_size(const_buffer record) noexcept
{
	assert(record.size() >= record_header_size);
	return record_header_size + (std::to_integer<std::size_t>(record[3]) << 8) +
	       std::to_integer<std::size_t>(record[4]);
}

class records {
public:
	bool empty() const noexcept { return head_ == bytes_.size(); }
	std::size_t size() const noexcept { return bytes_.size() - head_; }

	// What is kept, with bytes that were sent.
	std::size_t held() const noexcept { return bytes_.size(); }

	// Whole records, as TLS has written them.
	void append(const_buffer written)
	{
		// Each byte is moved once at the most.
		if (head_ >= size()) {
			bytes_.erase(bytes_.begin(),
				     bytes_.begin() + static_cast<std::ptrdiff_t>(head_));
			head_ = 0;
		}
		bytes_.insert(bytes_.end(), written.begin(), written.end());
	}

	// The bytes of the next segment: the next record, with pack also those behind
	// it as far as room has them whole; or what is left of a record, alone, so that
	// the segment after it begins with a record.
	const_buffer next(std::size_t room, bool pack) const noexcept
	{
		const auto waiting = view();
		std::size_t length = left_ ? left_ : size_of(waiting);

		while (pack && !left_ && length < waiting.size()) {
			const auto more = size_of(waiting.subspan(length));

			if (length + more > room)
				break;
			length += more;
		}
		return waiting.first(length);
	}

	// The first bytes of next() were sent: whole records, or a part of the first
	// one. Returns how many records have been sent whole by this and what was sent
	// before.
	std::size_t sent(std::size_t bytes) noexcept
	{
		std::size_t whole = 0;

		while (bytes) {
			const std::size_t length = left_ ? left_ : size_of(view());
			const std::size_t taken = std::min(bytes, length);

			left_ = length - taken;
			head_ += taken;
			bytes -= taken;
			whole += left_ == 0;
		}
		return whole;
	}

	// Whether the first bytes are not the beginning of a record.
	bool within_record() const noexcept { return left_ != 0; }

private:
	const_buffer view() const noexcept
	{
		return const_buffer(bytes_).subspan(head_);
	}

	static std::size_t size_of(const_buffer from) noexcept
	{
		return std::min(record_size(from), from.size());
	}

	std::vector<std::byte> bytes_;
	std::size_t head_ = 0;
	std::size_t left_ = 0; // of a record of which a part was sent
};

} // namespace mpa::tls
