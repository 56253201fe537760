// SPDX-License-Identifier: GPL-2.0-only
#include "client.hpp"

#include <cstring>

#include <poll.h>
#include <sched.h>
#include <sys/socket.h>

namespace nl {

using namespace harness;

namespace {

// Moves the thread into the namespace for the lifetime of this object.
class Inside {
public:
	explicit Inside(const std::string &host)
	{
		if (host.empty())
			return;
		const std::string name = "/run/netns/" + host;
		const mpa::descriptor there(::open(name.c_str(), O_RDONLY | O_CLOEXEC));

		must_call(there.get(), name);
		home_.reset(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
		must_call(::setns(there.get(), CLONE_NEWNET), "setns");
	}

	~Inside()
	{
		if (home_)
			::setns(home_.get(), CLONE_NEWNET);
	}

	Inside(const Inside &) = delete;
	Inside &operator=(const Inside &) = delete;

private:
	mpa::descriptor home_;
};

void set(int fd, int option, int value = 1)
{
	must_call(::setsockopt(fd, SOL_NETLINK, option, &value, sizeof(value)),
		  "netlink option " + std::to_string(option));
}

// As must_call(), for callers that expect an error.
long must_transfer(long returned, const std::string &what,
		   std::source_location at = std::source_location::current())
{
	const int error = errno;

	try {
		return must_call(returned, what, at);
	} catch (const Failed &failed) {
		throw TransferFailed{failed, error};
	}
}

// Calls a function with each message of a datagram.
template <typename Each> void each_message(const Bytes &datagram, Each each)
{
	std::size_t at = 0;

	while (at < datagram.size()) {
		nlmsghdr header;

		yes(datagram.size() - at >= sizeof(header), "a message's header");
		std::memcpy(&header, &datagram[at], sizeof(header));
		yes(header.nlmsg_len >= sizeof(header) &&
		    at + header.nlmsg_len <= datagram.size(), "a message's length");
		const auto first = datagram.begin() + at;
		each(header, Bytes(first + NLMSG_HDRLEN, first + header.nlmsg_len));
		at += NLMSG_ALIGN(header.nlmsg_len);
	}
}

Message message_of(const nlmsghdr &header, const Bytes &payload)
{
	yes(payload.size() >= GENL_HDRLEN, "a generic netlink header");
	return {
		.cmd = static_cast<std::uint8_t>(payload[0]),
		.seq = header.nlmsg_seq,
		.attrs = Got(Bytes(payload.begin() + GENL_HDRLEN, payload.end())),
	};
}

} // namespace

Client::Client(const std::string &host, std::size_t room) : room_(room)
{
	const Inside inside(host);

	fd_.reset(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC));
	must_call(fd_.get(), "netlink socket");
	set(fd_.get(), NETLINK_EXT_ACK);
	set(fd_.get(), NETLINK_CAP_ACK);
	find_family();
}

void Client::find_family()
{
	family_ = GENL_ID_CTRL;
	Attrs name;
	name.string(CTRL_ATTR_FAMILY_NAME, MPA_GENL_NAME);
	const Got found = one({.cmd = CTRL_CMD_GETFAMILY, .attrs = name, .version = 2});

	const Bytes id = found.bytes(CTRL_ATTR_FAMILY_ID);
	std::memcpy(&family_, id.data(), sizeof(family_));
	const Got groups = found.nest(CTRL_ATTR_MCAST_GROUPS).nest(1);
	is(groups.string(CTRL_ATTR_MCAST_GRP_NAME), MPA_GENL_EVENTS, "group");
	group_ = groups.u32(CTRL_ATTR_MCAST_GRP_ID);
}

void Client::send(const Request &request)
{
	const genlmsghdr head{
		.cmd = request.cmd,
		.version = request.version,
		.reserved = request.reserved,
	};
	Bytes payload = bytes_of(head);
	payload.resize(request.header);
	const Bytes &attrs = request.attrs.bytes();
	payload.insert(payload.end(), attrs.begin(), attrs.end());
	const nlmsghdr header{
		.nlmsg_len = static_cast<std::uint32_t>(NLMSG_HDRLEN + payload.size()),
		.nlmsg_type = family_,
		.nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | NLM_F_ACK |
							  request.flags),
		.nlmsg_seq = ++seq_,
		.nlmsg_pid = 0,
	};
	Bytes datagram = bytes_of(header);

	datagram.insert(datagram.end(), payload.begin(), payload.end());
	is(must_transfer(::send(fd_.get(), datagram.data(), datagram.size(), 0), "send"),
	   static_cast<long>(datagram.size()), "bytes sent");
}

bool Client::receive(Bytes &bytes, int flags)
{
	bytes.resize(room_);
	const long got = ::recv(fd_.get(), bytes.data(), bytes.size(),
				flags | MSG_TRUNC);

	if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return false;
	must_transfer(got, "receive");
	yes(got <= static_cast<long>(bytes.size()), "the datagram is complete");
	bytes.resize(got);
	return true;
}

// Attributes that follow the fixed part of an acknowledgement or end of a dump,
// if any.
void Client::read_ack(Answer &answer, const Bytes &bytes, const nlmsghdr &header,
		      std::size_t skip)
{
	std::int32_t error;

	yes(bytes.size() >= skip, "an acknowledgement's length");
	std::memcpy(&error, bytes.data(), sizeof(error));
	answer.error = -error;
	if (!(header.nlmsg_flags & NLM_F_ACK_TLVS))
		return;
	const Got more(Bytes(bytes.begin() + skip, bytes.end()));
	if (more.has(NLMSGERR_ATTR_MSG))
		answer.message = more.string(NLMSGERR_ATTR_MSG);
	if (more.has(NLMSGERR_ATTR_OFFS))
		answer.offset = more.u32(NLMSGERR_ATTR_OFFS);
	if (more.has(NLMSGERR_ATTR_MISS_TYPE))
		answer.missing = more.u32(NLMSGERR_ATTR_MISS_TYPE);
}

bool Client::more(Answer &answer)
{
	bool over = false;
	Bytes datagram;

	receive(datagram, 0);
	each_message(datagram, [&](const nlmsghdr &header, const Bytes &payload) {
		is(header.nlmsg_seq, seq_, "sequence number");
		answer.interrupted |= header.nlmsg_flags & NLM_F_DUMP_INTR;
		if (header.nlmsg_type == NLMSG_ERROR) {
			read_ack(answer, payload, header, sizeof(nlmsgerr));
			over = true;
		} else if (header.nlmsg_type == NLMSG_DONE) {
			read_ack(answer, payload, header, sizeof(int));
			over = answer.done = true;
		} else {
			answer.replies.push_back(message_of(header, payload));
		}
	});
	return over;
}

Answer Client::ask(const Request &request)
{
	Answer answer;

	send(request);
	while (!more(answer))
		;
	return answer;
}

Answer Client::get(const Request &request, std::source_location at)
{
	Answer answer = ask(request);

	is(Err{answer.error}, 0, "command " + std::to_string(request.cmd) + " (" +
	   answer.message + ")", at);
	return answer;
}

Got Client::one(const Request &request, std::source_location at)
{
	Answer answer = get(request, at);

	is(answer.replies.size(), 1u, "replies", at);
	return std::move(answer.replies.front().attrs);
}

void Client::subscribe(int buffer)
{
	if (buffer)
		must_call(::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVBUFFORCE, &buffer,
				       sizeof(buffer)), "SO_RCVBUFFORCE");
	set(fd_.get(), NETLINK_ADD_MEMBERSHIP, static_cast<int>(group_));
}

std::optional<Message> Client::event(std::chrono::milliseconds patience)
{
	if (waiting_.empty()) {
		pollfd one{.fd = fd_.get(), .events = POLLIN, .revents = 0};
		Bytes datagram;

		if (!::poll(&one, 1, static_cast<int>(patience.count())))
			return {};
		receive(datagram, MSG_DONTWAIT);
		each_message(datagram, [&](const nlmsghdr &header, const Bytes &payload) {
			is(header.nlmsg_seq, 0u, "sequence number of an event");
			waiting_.push_back(message_of(header, payload));
		});
	}
	Message first = std::move(waiting_.front());
	waiting_.erase(waiting_.begin());
	return first;
}

bool Client::lost()
{
	pollfd one{.fd = fd_.get(), .events = POLLIN, .revents = 0};
	char first;

	is(::poll(&one, 1, static_cast<int>(patience.count())), 1, "an event, or an error");
	const long got = ::recv(fd_.get(), &first, sizeof(first), MSG_PEEK | MSG_DONTWAIT);

	if (got < 0 && errno == ENOBUFS)
		return true;
	is(must_call(got, "receive"), 1L, "bytes of the event");
	return false;
}

} // namespace nl
