/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "netlink/netlink.hpp"

#include <cerrno>
#include <cstring>
#include <system_error>

#include <sys/socket.h>

#include <netlink/attr.h>

namespace mpactl::netlink {

namespace {

// Maximum size of the datagrams of a dump. Notifications are shorter.
constexpr std::size_t datagram_max = 65536;

std::string last_message()
{
	return std::generic_category().message(errno);
}

std::string text_of(const nlattr *attribute)
{
	const auto *data = static_cast<const char *>(nla_data(attribute));

	return {data, ::strnlen(data, static_cast<std::size_t>(nla_len(attribute)))};
}

// 32 bits or, in policies, 64 bits.
std::optional<std::uint64_t> number_of(const nlattr *attribute)
{
	if (!attribute)
		return std::nullopt;
	if (nla_len(attribute) >= 8)
		return nla_get_u64(attribute);
	if (nla_len(attribute) >= 4)
		return nla_get_u32(attribute);
	return std::nullopt;
}

void take_policy(const nlattr *nest, Answer &answer)
{
	nlattr *tb[NL_POLICY_TYPE_ATTR_MAX + 1];

	if (nla_parse_nested(tb, NL_POLICY_TYPE_ATTR_MAX,
			     const_cast<nlattr *>(nest), nullptr) < 0)
		return;
	const auto min = number_of(tb[NL_POLICY_TYPE_ATTR_MIN_VALUE_U]);
	const auto max = number_of(tb[NL_POLICY_TYPE_ATTR_MAX_VALUE_U]);

	if (min && max)
		answer.refusal.range = {*min, *max};
}

// The attributes of an extended acknowledgement.
void take_extended(const std::byte *first, std::size_t bytes, Answer &answer)
{
	nlattr *tb[NLMSGERR_ATTR_MAX + 1];
	// libnl only reads the attributes.
	auto *head = reinterpret_cast<nlattr *>(const_cast<std::byte *>(first));

	if (nla_parse(tb, NLMSGERR_ATTR_MAX, head, static_cast<int>(bytes),
		      nullptr) < 0)
		return;
	if (tb[NLMSGERR_ATTR_MSG])
		answer.refusal.message = text_of(tb[NLMSGERR_ATTR_MSG]);
	if (const auto offset = number_of(tb[NLMSGERR_ATTR_OFFS]))
		answer.offset = static_cast<std::uint32_t>(*offset);
	if (tb[NLMSGERR_ATTR_POLICY])
		take_policy(tb[NLMSGERR_ATTR_POLICY], answer);
}

// NLMSG_ERROR: an error number and the request, whole or its header, before the
// attributes. NLMSG_DONE: an error number before them.
void take_end(const nlmsghdr *message, Answer &answer)
{
	const auto *data = static_cast<const std::byte *>(
		nlmsg_data(const_cast<nlmsghdr *>(message)));
	const auto bytes = static_cast<std::size_t>(nlmsg_datalen(message));
	std::size_t before = NLMSG_ALIGN(sizeof(int));
	int error = 0;

	answer.done = true;
	if (bytes < sizeof(error))
		return;
	std::memcpy(&error, data, sizeof(error));
	answer.refusal.number = -error;
	if (message->nlmsg_type == NLMSG_ERROR) {
		if (bytes < sizeof(nlmsgerr))
			return;
		const auto *head = reinterpret_cast<const nlmsgerr *>(data);

		before = message->nlmsg_flags & NLM_F_CAPPED
				 ? sizeof(nlmsgerr)
				 : sizeof(int) + NLMSG_ALIGN(head->msg.nlmsg_len);
	}
	if (message->nlmsg_flags & NLM_F_ACK_TLVS && before < bytes)
		take_extended(data + before, bytes - before, answer);
}

const AttributeName *name_in(const std::vector<AttributeName> &names, int type)
{
	for (const auto &name : names)
		if (name.type == type)
			return &name;
	return nullptr;
}

// place_of() for the `bytes` of attributes from `head`, which has the offset `at`.
Place place_within(const nlattr *head, int bytes, std::uint32_t at,
		   std::uint32_t offset, const std::vector<AttributeName> &names)
{
	Place place;
	int left = bytes;

	for (const auto *one = head; nla_ok(one, left); one = nla_next(one, &left)) {
		const auto here = at + static_cast<std::uint32_t>(
					       reinterpret_cast<const char *>(one) -
					       reinterpret_cast<const char *>(head));
		const auto *name = name_in(names, nla_type(one));

		if (offset < here + static_cast<std::uint32_t>(
					    nla_total_size(nla_len(one)))) {
			if (!name)
				return place;
			place.path = name->name;
			if (offset == here || !name->nested)
				return place;
			const auto inner = place_within(
				static_cast<const nlattr *>(nla_data(one)),
				nla_len(one), here + NLA_HDRLEN, offset,
				*name->nested);

			if (!inner.path.empty())
				place.path += "." + inner.path;
			return place;
		}
		place.index++;
	}
	return {};
}

} // namespace

MessagePtr new_message(std::size_t bytes)
{
	MessagePtr message(nlmsg_alloc_size(bytes));

	if (!message)
		throw IoError("not enough memory for a message");
	return message;
}

void fits(int result)
{
	if (result < 0)
		throw IoError("the request is too long for a message");
}

Nest::Nest(nl_msg *message, int type)
	: message_(message),
	  start_(nla_nest_start(message, type | NLA_F_NESTED))
{
	fits(start_ ? 0 : -1);
}

Nest::~Nest()
{
	nla_nest_end(message_, start_);
}

Place place_of(const nlmsghdr *request, std::size_t header, std::uint32_t offset,
	       const std::vector<AttributeName> &names)
{
	const auto before = NLMSG_HDRLEN + header;

	if (offset < before || offset >= request->nlmsg_len)
		return {};
	return place_within(
		reinterpret_cast<const nlattr *>(
			reinterpret_cast<const char *>(request) + before),
		static_cast<int>(request->nlmsg_len - before),
		static_cast<std::uint32_t>(before), offset, names);
}

void take(std::span<const std::byte> datagram, std::uint32_t sequence,
	  const OnMessage &on_message, Answer &answer)
{
	const auto *message =
		reinterpret_cast<const nlmsghdr *>(datagram.data());
	int left = static_cast<int>(datagram.size());

	for (; !answer.done && nlmsg_ok(message, left);
	     message = nlmsg_next(const_cast<nlmsghdr *>(message), &left)) {
		if (message->nlmsg_seq != sequence)
			continue;
		if (message->nlmsg_flags & NLM_F_DUMP_INTR)
			answer.interrupted = true;
		if (message->nlmsg_type == NLMSG_ERROR ||
		    message->nlmsg_type == NLMSG_DONE)
			take_end(message, answer);
		else if (message->nlmsg_type >= NLMSG_MIN_TYPE)
			on_message(message);
	}
}

Socket::Socket(int protocol) : socket_(nl_socket_alloc())
{
	const int on = 1;

	if (!socket_)
		throw IoError("not enough memory for a socket");
	if (const int error = nl_connect(socket_.get(), protocol); error < 0) {
		if (errno == EPROTONOSUPPORT)
			throw Unavailable("the kernel does not support this netlink protocol");
		throw IoError(std::string("netlink: ") + nl_geterror(error));
	}
	// Extended acknowledgements, and strict checks of the filters of dumps.
	::setsockopt(fd(), SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof(on));
	::setsockopt(fd(), SOL_NETLINK, NETLINK_GET_STRICT_CHK, &on, sizeof(on));
}

std::vector<std::byte> Socket::receive(int &error)
{
	std::vector<std::byte> datagram(datagram_max);
	ssize_t got;

	do
		got = ::recv(fd(), datagram.data(), datagram.size(), MSG_TRUNC);
	while (got < 0 && errno == EINTR);
	error = got < 0 ? errno : 0;
	if (got > static_cast<ssize_t>(datagram.size()))
		error = EMSGSIZE;
	datagram.resize(error ? 0 : static_cast<std::size_t>(got));
	return datagram;
}

Answer Socket::ask(nl_msg *request, const OnMessage &on_message)
{
	Answer answer;

	if (nl_send_auto(socket_.get(), request) < 0)
		throw IoError("netlink: " + last_message());
	const auto sequence = nlmsg_hdr(request)->nlmsg_seq;

	while (!answer.done) {
		int error = 0;
		const auto datagram = receive(error);

		if (error)
			throw IoError("netlink: " +
				      std::generic_category().message(error));
		take(datagram, sequence, on_message, answer);
	}
	return answer;
}

} // namespace mpactl::netlink
