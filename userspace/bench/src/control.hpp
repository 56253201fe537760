/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// The control connection: messages of wire.hpp over TCP.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "net.hpp"
#include "wire.hpp"

namespace bench {

class Control {
public:
	// Takes a connected socket. The time is the limit for messages that are
	// expected.
	Control(Fd fd, Milliseconds patience);

	int fd() const noexcept { return fd_.get(); }
	void set_patience(Milliseconds patience) noexcept { patience_ = patience; }

	void send(const wire::Message &message);

	// The next message. Throws Failure if none comes in time, if the
	// message is refused, or if the peer ends or reports a failure.
	wire::Message receive();
	// As receive(); empty if the peer has ended where it is allowed to.
	std::optional<wire::Message> receive_or_end();
	// As receive(), without a limit: TCP detects a dead peer.
	wire::Message await();
	// A message if one has arrived.
	std::optional<wire::Message> poll();

	// The next message, which must be of this type.
	template <typename T> T expect() { return as<T>(receive()); }

	// The contents of `message`; throws Failure if it is of another type.
	template <typename T> static T as(const wire::Message &message)
	{
		if (const T *one = std::get_if<T>(&message))
			return *one;
		refuse(message);
	}

	// Throws Failure: this message is unexpected here.
	[[noreturn]] static void refuse(const wire::Message &message);

	// True once the peer has reported a failure.
	bool peer_failed() const noexcept { return peer_failed_; }

private:
	std::optional<wire::Message> take();
	bool fill();
	wire::Message next(std::optional<Milliseconds> time);

	Fd fd_;
	Milliseconds patience_;
	std::vector<std::byte> buffer_;
	std::size_t filled_ = 0;
	bool peer_failed_ = false;
	bool ended_ = false;
};

} // namespace bench
