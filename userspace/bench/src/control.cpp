/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#include "control.hpp"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>

#include "failure.hpp"

namespace bench {

namespace {

constexpr std::size_t length_bytes = 4;

// A status other than those of mpa-bench is an ordinary failure; so is a server
// that was asked to end.
Status status_of(const wire::Failed &failed)
{
	for (const auto status : {Status::unavailable, Status::wrong_data})
		if (failed.status == static_cast<std::uint32_t>(status))
			return status;
	return Status::failed;
}

} // namespace

Control::Control(Fd fd, Milliseconds patience)
	: fd_(std::move(fd)), patience_(patience),
	  buffer_(length_bytes + wire::max_frame)
{
	set_blocking(fd_.get(), false);
	set_option(fd_.get(), IPPROTO_TCP, TCP_NODELAY, 1);
	// A machine that has gone is noticed after 5 + 3 * 2 seconds.
	set_option(fd_.get(), SOL_SOCKET, SO_KEEPALIVE, 1);
	set_option(fd_.get(), IPPROTO_TCP, TCP_KEEPIDLE, 5);
	set_option(fd_.get(), IPPROTO_TCP, TCP_KEEPINTVL, 2);
	set_option(fd_.get(), IPPROTO_TCP, TCP_KEEPCNT, 3);
}

// Frames are small compared with a socket's buffer: if one does not fit at
// once, the peer is not reading.
void Control::send(const wire::Message &message)
{
	const auto frame = wire::encode(message);
	const auto sent = ::send(fd_.get(), frame.data(), frame.size(), MSG_NOSIGNAL);

	if (sent < 0)
		fail("control connection");
	if (static_cast<std::size_t>(sent) != frame.size())
		throw Failure("the peer does not read its control connection");
}

void Control::refuse(const wire::Message &message)
{
	throw Failure(fmt::format("unexpected message {} from the peer",
				  wire::name(message)));
}

// Takes a message out of the buffer, if it is complete.
std::optional<wire::Message> Control::take()
{
	std::uint32_t size = 0;

	if (filled_ < length_bytes)
		return {};
	for (std::size_t i = 0; i < length_bytes; i++)
		size = size << 8 | std::to_integer<std::uint32_t>(buffer_[i]);
	if (size == 0 || size > wire::max_frame)
		throw Failure("the peer does not speak mpa-bench's protocol");
	if (filled_ < length_bytes + size)
		return {};
	auto message = wire::decode(std::span(buffer_).subspan(length_bytes, size));
	filled_ -= length_bytes + size;
	std::memmove(buffer_.data(), buffer_.data() + length_bytes + size, filled_);
	if (!message)
		throw Failure("a message of the peer is malformed or out of bounds");
	if (const auto *failed = std::get_if<wire::Failed>(&*message)) {
		peer_failed_ = true;
		throw Failure("the peer: " + failed->text, status_of(*failed));
	}
	return message;
}

// False: nothing has arrived.
bool Control::fill()
{
	const auto got = ::recv(fd_.get(), buffer_.data() + filled_,
				buffer_.size() - filled_, 0);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (got < 0)
		fail("control connection");
	if (got == 0) {
		ended_ = filled_ == 0;
		throw Failure("the peer has ended");
	}
	filled_ += static_cast<std::size_t>(got);
	return true;
}

std::optional<wire::Message> Control::poll()
{
	auto message = take();

	while (!message && fill())
		message = take();
	return message;
}

wire::Message Control::next(std::optional<Milliseconds> time)
{
	const int fds[] = {fd_.get()};
	const auto end = Clock::now() + time.value_or(Milliseconds(0));

	for (;;) {
		if (auto message = poll())
			return *std::move(message);
		const auto left = std::chrono::ceil<Milliseconds>(end - Clock::now());
		if (time && left <= Milliseconds(0))
			throw Failure("the peer does not answer");
		wait_readable(fds, time ? left : Milliseconds(1000));
	}
}

wire::Message Control::receive()
{
	return next(patience_);
}

std::optional<wire::Message> Control::receive_or_end()
{
	try {
		return receive();
	} catch (const Failure &) {
		if (!ended_)
			throw;
		return {};
	}
}

wire::Message Control::await()
{
	return next({});
}

} // namespace bench
