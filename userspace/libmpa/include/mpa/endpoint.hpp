/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// What sockets with upper-layer protocol "mpa" have in common, whatever divides
// their stream: see mpa::socket in mpa.hpp and mpa::framing::socket in framing.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <limits>
#include <span>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "result.hpp"

namespace mpa {

using const_buffer = std::span<const std::byte>;
using buffer = std::span<std::byte>;

// The characters of a text as bytes, without a closing zero.
inline const_buffer bytes(std::string_view text) noexcept
{
	return std::as_bytes(std::span(text.data(), text.size()));
}

// Bytes as text, for printing.
inline std::string_view text(const_buffer data) noexcept
{
	return {reinterpret_cast<const char *>(data.data()), data.size()};
}

// Owns a file descriptor and closes it.
class descriptor {
public:
	descriptor() noexcept = default;
	explicit descriptor(int fd) noexcept : fd_(fd) {}
	descriptor(descriptor &&other) noexcept : fd_(other.release()) {}
	~descriptor() { reset(); }

	descriptor &operator=(descriptor &&other) noexcept
	{
		if (this != &other)
			reset(other.release());
		return *this;
	}

	int get() const noexcept { return fd_; }
	explicit operator bool() const noexcept { return fd_ >= 0; }
	int release() noexcept { return std::exchange(fd_, -1); }

	void reset(int fd = -1) noexcept
	{
		if (fd_ >= 0)
			::close(fd_);
		fd_ = fd;
	}

private:
	int fd_ = -1;
};

// Flags of sending. SIGPIPE is never raised.
enum class send_flags : int {
	none = 0,
	dont_wait = MSG_DONTWAIT,
	more = MSG_MORE, // pack it with the messages that follow
};

enum class receive_flags : int {
	none = 0,
	dont_wait = MSG_DONTWAIT,
	peek = MSG_PEEK,
	// Report the true length of a message that is cut. Not to be used while
	// the socket is ordinary TCP, where the flag discards bytes.
	true_length = MSG_TRUNC,
};

constexpr send_flags operator|(send_flags a, send_flags b) noexcept
{
	return static_cast<send_flags>(static_cast<int>(a) | static_cast<int>(b));
}

constexpr receive_flags operator|(receive_flags a, receive_flags b) noexcept
{
	return static_cast<receive_flags>(static_cast<int>(a) |
					  static_cast<int>(b));
}

// A time limit as poll(2) takes it, in milliseconds: negative means no limit;
// INT_MAX, 24 days, is used for anything longer.
constexpr int poll_time(std::chrono::milliseconds limit) noexcept
{
	return static_cast<int>(std::clamp<std::chrono::milliseconds::rep>(
		limit.count(), -1, std::numeric_limits<int>::max()));
}

// How many messages send_batch() or another system call handles at once.
inline constexpr std::size_t batch_max = 64;

// Owns the socket. One thread may send while another receives; the kernel serializes
// the calls.
class endpoint {
public:
	int fd() const noexcept { return fd_.get(); }
	explicit operator bool() const noexcept { return bool(fd_); }
	descriptor release() noexcept { return std::move(fd_); }
	void close() noexcept { fd_.reset(); }

	// Sends one message: a ULPDU of at most mulpdu() bytes, or a PDU of at
	// most emss(). message_size: it is longer, nothing was sent. io_error: the
	// direction is ordinary TCP, which has taken a part; that is for send_bytes().
	result<void> send(const_buffer message, send_flags flags = {}) noexcept
	{
		return whole(::send(fd_.get(), message.data(), message.size(),
				    static_cast<int>(flags) | MSG_NOSIGNAL),
			     message.size());
	}

	// Sends bytes in a direction that is ordinary TCP. Returns how many it has taken.
	result<std::size_t> send_bytes(const_buffer bytes,
				       send_flags flags = {}) noexcept
	{
		const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(),
					    static_cast<int>(flags) | MSG_NOSIGNAL);

		return sent < 0 ? result<std::size_t>(last_error())
				: static_cast<std::size_t>(sent);
	}

	// As send(), from several buffers.
	result<void> send_parts(std::span<const iovec> parts,
				send_flags flags = {}) noexcept
	{
		msghdr message{};

		message.msg_iov = const_cast<iovec *>(parts.data());
		message.msg_iovlen = parts.size();
		std::size_t size = 0;
		for (const iovec &part : parts)
			size += part.iov_len;
		return whole(::sendmsg(fd_.get(), &message,
				       static_cast<int>(flags) | MSG_NOSIGNAL),
			     size);
	}

	// Sends messages packed into as few segments as they fill. Returns how
	// many were sent if at least one was. The error that stopped the next
	// one is returned by the next call. io_error: as for send().
	result<std::size_t> send_batch(std::span<const const_buffer> messages,
				       send_flags flags = {}) noexcept
	{
		std::size_t done = 0;

		while (done < messages.size()) {
			const auto some = messages.subspan(done).first(
				std::min(messages.size() - done, batch_max));
			const bool last = done + some.size() == messages.size();
			const auto sent = send_some(
				some, last ? flags : flags | send_flags::more);

			if (!sent)
				return done && sent.error() != std::errc::io_error
					       ? result(done)
					       : sent;
			done += *sent;
			if (*sent < some.size())
				break;
		}
		return done;
	}

	// Length of the next message in bytes; 0: there is none, or it is empty.
	result<std::size_t> next_length() const noexcept
	{
		int length = 0;

		if (::ioctl(fd_.get(), FIONREAD, &length))
			return last_error();
		return static_cast<std::size_t>(length);
	}

	result<void> set_blocking(bool on) noexcept
	{
		const int flags = ::fcntl(fd_.get(), F_GETFL);

		if (flags < 0 ||
		    ::fcntl(fd_.get(), F_SETFL,
			    on ? flags & ~O_NONBLOCK : flags | O_NONBLOCK))
			return last_error();
		return {};
	}

	// Waits for poll(2) events and returns those that occurred; none if the
	// time has passed. A negative time is no limit.
	result<short> wait(short events,
			   std::chrono::milliseconds limit =
				   std::chrono::milliseconds(-1)) const noexcept
	{
		pollfd one{.fd = fd_.get(), .events = events, .revents = 0};

		if (::poll(&one, 1, poll_time(limit)) < 0)
			return last_error();
		return one.revents;
	}

	// Fetches and clears the error that POLLERR announced, SO_ERROR; 0 if
	// there is none.
	std::error_code pending_error() noexcept
	{
		int error = 0;
		socklen_t size = sizeof(error);

		if (::getsockopt(fd_.get(), SOL_SOCKET, SO_ERROR, &error, &size))
			return last_error();
		return {error, std::generic_category()};
	}

	// Shuts down sending (SHUT_WR), receiving (SHUT_RD), or both. ENOBUFS: TCP has no
	// memory for what waits to be sent; nothing was shut down.
	result<void> shutdown(int how = SHUT_WR) noexcept
	{
		return ::shutdown(fd_.get(), how) ? last_error()
						  : std::error_code{};
	}

protected:
	endpoint() noexcept = default;
	explicit endpoint(descriptor fd) noexcept : fd_(std::move(fd)) {}
	endpoint(endpoint &&) noexcept = default;
	endpoint &operator=(endpoint &&) noexcept = default;
	~endpoint() = default;

	// not_connected, no_such_file_or_directory, ...: the TCP socket is closed
	// then.
	static result<descriptor> attached(descriptor tcp) noexcept
	{
		if (::setsockopt(tcp.get(), SOL_TCP, TCP_ULP, "mpa", 3))
			return last_error();
		return tcp;
	}

	result<descriptor> accepted(int flags) noexcept
	{
		descriptor fd(::accept4(fd_.get(), nullptr, nullptr,
					flags | SOCK_CLOEXEC));

		if (!fd)
			return last_error();
		return fd;
	}

	result<void> set_option(int level, int option,
				const_buffer value) noexcept
	{
		if (value.size() > std::numeric_limits<int>::max())
			return std::errc::message_size;
		if (::setsockopt(fd_.get(), level, option, value.data(),
				 static_cast<socklen_t>(value.size())))
			return last_error();
		return {};
	}

	// Returns how many bytes the kernel has filled in.
	result<std::size_t> get_option(int level, int option,
				       buffer value) const noexcept
	{
		auto size = static_cast<socklen_t>(value.size());

		if (::getsockopt(fd_.get(), level, option, value.data(), &size))
			return last_error();
		return std::size_t{size};
	}

	template <typename T>
	result<void> set_value(int level, int option, const T &value) noexcept
	{
		return set_option(level, option,
				  std::as_bytes(std::span(&value, 1)));
	}

	// Fields that an older kernel does not fill in stay zero.
	template <typename T>
	result<T> get_value(int level, int option) const noexcept
	{
		T value{};
		auto got = get_option(level, option,
				      std::as_writable_bytes(std::span(&value, 1)));

		if (!got)
			return got.error();
		return value;
	}

	struct incoming {
		std::size_t length; // as recvmsg(2) has returned it
		int flags;	    // msg_flags
	};

	result<incoming> receive_message(buffer into,
					receive_flags flags) noexcept
	{
		iovec part{into.data(), into.size()};
		msghdr header{};

		header.msg_iov = &part;
		header.msg_iovlen = 1;
		const ssize_t got = ::recvmsg(fd_.get(), &header,
					      static_cast<int>(flags));
		if (got < 0)
			return last_error();
		return incoming{static_cast<std::size_t>(got), header.msg_flags};
	}

private:
	// Sends at most batch_max of them in one system call.
	result<std::size_t> send_some(std::span<const const_buffer> buffers,
				      send_flags flags) noexcept
	{
		std::array<iovec, batch_max> parts;
		std::array<mmsghdr, batch_max> messages{};

		for (std::size_t n = 0; n < buffers.size(); n++) {
			parts[n] = {const_cast<std::byte *>(buffers[n].data()),
				    buffers[n].size()};
			messages[n].msg_hdr.msg_iov = &parts[n];
			messages[n].msg_hdr.msg_iovlen = 1;
		}
		const int sent = ::sendmmsg(
			fd_.get(), messages.data(),
			static_cast<unsigned int>(buffers.size()),
			static_cast<int>(flags) | MSG_NOSIGNAL);
		if (sent < 0)
			return last_error();
		for (std::size_t n = 0; n < static_cast<std::size_t>(sent); n++)
			if (messages[n].msg_len < buffers[n].size())
				return std::errc::io_error;
		return static_cast<std::size_t>(sent);
	}

	static result<void> whole(ssize_t sent, std::size_t size) noexcept
	{
		if (sent < 0)
			return last_error();
		if (static_cast<std::size_t>(sent) < size)
			return std::errc::io_error;
		return {};
	}

	descriptor fd_;
};

} // namespace mpa
