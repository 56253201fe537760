/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// Netlink functions for both families: messages and sockets of libnl with
// destructors, and answers with extended acknowledgements. libnl's own receive
// functions discard these, so datagrams are parsed here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <linux/netlink.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>

#include "base/error.hpp"

namespace mpactl::netlink {

template <auto function> struct Deleter {
	template <typename T> void operator()(T *what) const { function(what); }
};

using MessagePtr = std::unique_ptr<nl_msg, Deleter<nlmsg_free>>;
using SocketPtr = std::unique_ptr<nl_sock, Deleter<nl_socket_free>>;

// A message with room for `bytes`.
MessagePtr new_message(std::size_t bytes = 4096);

// Throws IoError if the result of an nla_put function shows that the message is full.
void fits(int result);

// Attributes that are added during its lifetime are in a nest.
class Nest {
public:
	Nest(nl_msg *message, int type);
	~Nest();
	Nest(const Nest &) = delete;
	Nest &operator=(const Nest &) = delete;

private:
	nl_msg *message_;
	nlattr *start_;
};

// The name of an attribute, for messages about refusals.
struct AttributeName {
	int type;
	const char *name;
	// Names of the nested attributes, or nullptr.
	const std::vector<AttributeName> *nested = nullptr;
};

// The position of an attribute in a request.
struct Place {
	// "config.ird"; empty if the attribute has no name.
	std::string path;
	// Index among all attributes of the top level.
	std::size_t index = 0;

	bool operator==(const Place &) const = default;
};

// The attribute at `offset` from the start of the request, whose attributes
// begin `header` bytes behind its nlmsghdr.
Place place_of(const nlmsghdr *request, std::size_t header, std::uint32_t offset,
	       const std::vector<AttributeName> &names);

// An answer, collected from messages.
struct Answer {
	bool done = false;
	// NLM_F_DUMP_INTR was seen.
	bool interrupted = false;
	// The extended acknowledgement; if the number is 0, a message on success.
	Refusal refusal;
	// Offset in the request of the attribute that caused it.
	std::optional<std::uint32_t> offset;
};

using OnMessage = std::function<void(const nlmsghdr *)>;

// Parses a datagram: messages with another sequence number are ignored, messages
// with data are passed to `on_message`, and the others complete the answer.
void take(std::span<const std::byte> datagram, std::uint32_t sequence,
	  const OnMessage &on_message, Answer &answer);

// Where requests go: the kernel, or in tests a fake.
class Channel {
public:
	virtual ~Channel() = default;

	// Sends the request and waits for the whole answer. The flags of the request
	// determine whether that is an acknowledgement or a dump.
	virtual Answer ask(nl_msg *request, const OnMessage &on_message) = 0;
};

// A connected socket.
class Socket : public Channel {
public:
	// Throws IoError, or Unavailable if the kernel does not support the protocol.
	explicit Socket(int protocol);

	nl_sock *get() const { return socket_.get(); }
	int fd() const { return nl_socket_get_fd(socket_.get()); }
	Answer ask(nl_msg *request, const OnMessage &on_message) override;
	// Returns a datagram, or an empty one if there is none or an error occurred.
	// Sets `error` to 0 or the error number.
	std::vector<std::byte> receive(int &error);

private:
	SocketPtr socket_;
};

} // namespace mpactl::netlink
