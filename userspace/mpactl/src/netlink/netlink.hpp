/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// Netlink as far as both families need it: messages and sockets of libnl that
// clean up after themselves, and answers with what extended acknowledgements
// say. libnl's own reception drops that, so datagrams are taken apart here.
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

// Throws IoError if what was put into a message found no room.
void fits(int result);

// Puts a nest around what is put into the message while it lives.
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

// Names of attributes, to tell which one a refusal is about.
struct AttributeName {
	int type;
	const char *name;
	// Those within, or nullptr.
	const std::vector<AttributeName> *nested = nullptr;
};

// Where in a request an attribute is.
struct Place {
	// "config.ird"; empty: at none that has a name.
	std::string path;
	// Index among all attributes of the top level.
	std::size_t index = 0;

	bool operator==(const Place &) const = default;
};

// The attribute at `offset` from the start of the request, whose attributes
// begin `header` bytes behind its nlmsghdr.
Place place_of(const nlmsghdr *request, std::size_t header, std::uint32_t offset,
	       const std::vector<AttributeName> &names);

// An answer, as it comes together from messages.
struct Answer {
	bool done = false;
	// NLM_F_DUMP_INTR was seen.
	bool interrupted = false;
	// The extended acknowledgement; number 0: a remark on success.
	Refusal refusal;
	// Offset in the request of what it is about.
	std::optional<std::uint32_t> offset;
};

using OnMessage = std::function<void(const nlmsghdr *)>;

// Takes a datagram apart: messages with another sequence number are left out,
// those with data go to `on_message`, the others into the answer.
void take(std::span<const std::byte> datagram, std::uint32_t sequence,
	  const OnMessage &on_message, Answer &answer);

// A connected socket.
class Socket {
public:
	// IoError, or Unavailable if the kernel does not know the protocol.
	explicit Socket(int protocol);

	nl_sock *get() const { return socket_.get(); }
	int fd() const { return nl_socket_get_fd(socket_.get()); }
	// Sends, and waits for the whole answer. The request's flags say whether
	// there is an acknowledgement, or a dump.
	Answer ask(nl_msg *request, const OnMessage &on_message);
	// A datagram; empty: none now, or none that could be received. Sets
	// `error` to 0 or the error number.
	std::vector<std::byte> receive(int &error);

private:
	SocketPtr socket_;
};

} // namespace mpactl::netlink
