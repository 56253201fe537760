/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// What the transports have in common. A transport is not a base class: the
// measuring loops are templates over it, so that no message needs an indirect
// call. A transport has
//
//	room(connection)		messages that may be posted now
//	post(connection, n, last)	starts n messages; last: no others follow
//	outstanding(connection)		messages posted and not reported as sent
//	ragged(connection)		of these, those that no completion is due for
//	fence(connection)		a request that completes after all is placed
//	reap(completions)		what has happened since, without waiting
//	block(fd)			sleeps until something may have, or fd is
//					readable, or 100 ms
//	attend(all)			whether block() is to end for whatever comes, or
//					only for what asks for it
//	prompt()			false: what comes last is noticed late
//	fill_round(), check_round()	verification of what is not seen to come
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <sys/mman.h>

#include "failure.hpp"
#include "job.hpp"
#include "net.hpp"
#include "pattern.hpp"

namespace bench {

struct Completion {
	enum class Kind : std::uint8_t {
		// So many messages no longer need their buffers.
		sent,
		// So many messages have arrived.
		received,
		// There is room again; no message has arrived.
		credit,
		fence,
	};
	Kind kind;
	std::uint32_t connection;
	std::uint32_t messages;
};

// How block() ended.
enum class Rest : std::uint8_t {
	// Something may have happened.
	woken,
	// Nothing has happened for a while.
	late,
	// The other descriptor is readable.
	readable,
};

using Completions = std::array<Completion, 64>;

// Memory for messages, with all pages populated.
class Buffer {
public:
	// As a file, its pages can be given to a socket.
	explicit Buffer(std::size_t size, bool as_file = false)
		: file_(as_file ? ::memfd_create("messages", MFD_CLOEXEC) : -1), size_(size)
	{
		if (as_file && (file_.get() < 0 ||
				::ftruncate(file_.get(), static_cast<off_t>(size_))))
			fail("memory for messages", Status::unavailable);
		address_ = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE,
				  MAP_POPULATE | (as_file ? MAP_SHARED
							  : MAP_PRIVATE | MAP_ANONYMOUS),
				  file_.get(), 0);
		if (address_ == MAP_FAILED)
			fail("memory for messages", Status::unavailable);
	}
	Buffer(const Buffer &) = delete;
	Buffer &operator=(const Buffer &) = delete;
	~Buffer() { ::munmap(address_, size_); }

	std::size_t size() const noexcept { return size_; }
	int file() const noexcept { return file_.get(); }
	std::byte *data() const noexcept { return static_cast<std::byte *>(address_); }

	std::span<std::byte> at(std::uint64_t offset, std::size_t size) const noexcept
	{
		return {data() + offset, size};
	}

private:
	Fd file_;
	void *address_;
	std::size_t size_;
};

// Position of the buffers in a region: those of one connection in verification,
// those of all connections otherwise.
class Slots {
public:
	Slots(const Job &job, std::uint64_t slots)
		: own_(job.verify), stride_(stride(job)),
		  count_(own_ ? slots / job.connections : slots)
	{
	}

	// Which of a connection's buffers it is.
	std::uint64_t index(std::uint64_t number) const noexcept { return number % count_; }

	// The offset of the buffer with that number.
	std::uint64_t offset(std::uint32_t connection, std::uint64_t number) const noexcept
	{
		const std::uint64_t first = own_ ? connection * count_ : 0;

		return (first + index(number)) * stride_;
	}

private:
	bool own_;
	std::uint64_t stride_;
	std::uint64_t count_;
};

} // namespace bench
