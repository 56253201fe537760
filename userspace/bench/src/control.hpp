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
	// Takes a connected socket. Messages that are due come within the time.
	Control(Fd fd, Milliseconds patience);

	int fd() const noexcept { return fd_.get(); }
	void set_patience(Milliseconds patience) noexcept { patience_ = patience; }

	void send(const wire::Message &message);

	// The next message; throws Failure if none comes in time, what comes is
	// refused, the peer ends, or says that it has failed.
	wire::Message receive();
	// As receive(); nothing if the peer has ended, where it may.
	std::optional<wire::Message> receive_or_end();
	// As receive(), as long as it takes: a dead peer is noticed by TCP.
	wire::Message await();
	// A message if one is there.
	std::optional<wire::Message> poll();

	// The next message, which must be of this type.
	template <typename T> T expect() { return as<T>(receive()); }

	// What `message` holds; throws Failure if it is of another type.
	template <typename T> static T as(const wire::Message &message)
	{
		if (const T *one = std::get_if<T>(&message))
			return *one;
		refuse(message);
	}

	// Throws Failure: this message has no place here.
	[[noreturn]] static void refuse(const wire::Message &message);

	// True once the peer has said that it has failed.
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
