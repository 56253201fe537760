/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "netlink/events.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include <linux/genetlink.h>
#include <netlink/attr.h>
#include <netlink/genl/genl.h>

#include "netlink/codec.hpp"
#include "netlink/netlink.hpp"

namespace mpactl::netlink {

namespace {

class EventReader : public Events {
public:
	EventReader(std::unique_ptr<EventSocket> socket, int family)
		: socket_(std::move(socket)), family_(family),
		  dropped_(socket_->dropped())
	{
	}

	Notice next() override
	{
		for (;;) {
			if (auto event = pending())
				return *std::move(event);
			if (stopping_)
				return Stopped{};
			// Checked here, because events may arrive faster than
			// they are written.
			stopping_ = socket_->stopping();
			if (check_ || stopping_)
				if (const auto lost = take_lost())
					return *lost;
			if (!stopping_)
				receive();
		}
	}

private:
	std::size_t left() const { return datagram_.size() - at_; }

	// From an overflow until the queue is empty, the kernel drops every message. It
	// returns ENOBUFS once, before the datagrams that were queued by then. So events
	// are missing when that error has occurred, and when the queue is empty.
	void receive()
	{
		int error = 0;

		// The kernel sets the error before it counts; by the next datagram it has
		// done both.
		check_ = overflow_;
		datagram_ = socket_->receive(error);
		at_ = 0;
		if (error == ENOBUFS)
			overflow_ = true;
		else if (error == EAGAIN)
			check_ = check_ || socket_->dropped() != dropped_;
		else if (error)
			throw IoError("netlink: " +
				      std::generic_category().message(error));
		if (error == EAGAIN && !check_)
			socket_->wait();
	}

	// Lost{} if the kernel has returned ENOBUFS and dropped nothing: it had no memory
	// for an event.
	std::optional<Lost> take_lost()
	{
		const std::uint32_t lost = socket_->dropped() - dropped_;
		const bool overflow = std::exchange(overflow_, false);

		check_ = false;
		dropped_ += lost;
		if (lost)
			return Lost{lost};
		return overflow ? std::optional(Lost{}) : std::nullopt;
	}

	// The next event of the datagram, if there is one.
	std::optional<Event> pending()
	{
		while (left() >= NLMSG_HDRLEN) {
			const auto *message = reinterpret_cast<const nlmsghdr *>(
				datagram_.data() + at_);

			if (!nlmsg_ok(message, static_cast<int>(left())))
				break;
			at_ = std::min<std::size_t>(
				at_ + NLMSG_ALIGN(message->nlmsg_len),
				datagram_.size());
			if (message->nlmsg_type == family_)
				return codec::event_of(message);
			if (is_end_of_family(message))
				throw Unavailable("the module mpa was removed; there "
						  "are no more events");
		}
		at_ = datagram_.size();
		return std::nullopt;
	}

	// The kernel has removed the membership with the family. When the module is
	// loaded again, the family has another number.
	bool is_end_of_family(const nlmsghdr *message) const
	{
		nlattr *tb[CTRL_ATTR_MAX + 1];
		auto *head = const_cast<nlmsghdr *>(message);

		if (message->nlmsg_type != GENL_ID_CTRL ||
		    !genlmsg_valid_hdr(head, 0) ||
		    genlmsg_hdr(head)->cmd != CTRL_CMD_DELFAMILY ||
		    genlmsg_parse(head, 0, tb, CTRL_ATTR_MAX, nullptr) < 0)
			return false;
		const auto *id = tb[CTRL_ATTR_FAMILY_ID];

		return id && nla_len(id) >= 2 && nla_get_u16(id) == family_;
	}

	std::unique_ptr<EventSocket> socket_;
	int family_;
	std::vector<std::byte> datagram_;
	std::size_t at_ = 0;
	// The number of dropped messages that have been reported.
	std::uint32_t dropped_;
	// ENOBUFS has occurred, and is not reported yet.
	bool overflow_ = false;
	// There may be something to report.
	bool check_ = false;
	// Latched, because messages may still be dropped: there is one last report.
	bool stopping_ = false;
};

} // namespace

std::unique_ptr<Events> read_events(std::unique_ptr<EventSocket> socket, int family)
{
	return std::make_unique<EventReader>(std::move(socket), family);
}

} // namespace mpactl::netlink
