/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// Notices from a socket: events, lost events, the removal of the family.

#include <cerrno>
#include <deque>

#include <gtest/gtest.h>
#include <linux/genetlink.h>
#include <netlink/attr.h>

#include "base/error.hpp"
#include "netlink/events.hpp"
#include "netlink/netlink.hpp"

using namespace mpactl;

namespace {

constexpr int mpa_number = 30;

// What one call of receive() finds.
struct Received {
	std::vector<std::byte> datagram;
	int error = 0;
	// Messages that were dropped before the call returns.
	std::uint32_t drops = 0;
};

// A socket whose queue is written down. The user requests a stop when it is empty.
class FakeSocket : public netlink::EventSocket {
public:
	explicit FakeSocket(std::deque<Received> queue) : queue_(std::move(queue)) {}

	std::vector<std::byte> receive(int &error) override
	{
		if (queue_.empty()) {
			error = EAGAIN;
			return {};
		}
		auto one = std::move(queue_.front());

		queue_.pop_front();
		error = one.error;
		dropped_ += one.drops;
		return std::move(one.datagram);
	}

	std::uint32_t dropped() const override
	{
		// A flood: nobody receives, so each message is dropped.
		return stopping_ && floods_ ? ++dropped_ : dropped_;
	}

	bool stopping() const override { return stopping_; }
	void wait() const override
	{
		if (queue_.empty())
			stopping_ = true;
	}

	mutable bool stopping_ = false;
	bool floods_ = false;

private:
	std::deque<Received> queue_;
	// Not 0 at first: a socket may have dropped messages before.
	mutable std::uint32_t dropped_ = 5;
};

netlink::MessagePtr message_of(int type, std::uint8_t command)
{
	auto message = netlink::new_message();
	genlmsghdr header{};

	header.cmd = command;
	nlmsg_put(message.get(), 0, 0, type, 0, 0);
	nlmsg_append(message.get(), &header, sizeof(header), NLMSG_ALIGNTO);
	return message;
}

std::vector<std::byte> datagram_of(const netlink::MessagePtr &message)
{
	const auto *first = reinterpret_cast<const std::byte *>(nlmsg_hdr(message.get()));

	return {first, first + nlmsg_hdr(message.get())->nlmsg_len};
}

// An event whose command is recognised in notices.
Received event(std::uint8_t command, std::uint32_t drops = 0)
{
	return {datagram_of(message_of(mpa_number, command)), 0, drops};
}

Received failing(int number, std::uint32_t drops = 0)
{
	return {{}, number, drops};
}

Received family_event(std::uint8_t command, std::uint16_t family)
{
	const auto message = message_of(GENL_ID_CTRL, command);

	nla_put_u16(message.get(), CTRL_ATTR_FAMILY_ID, family);
	nla_put_string(message.get(), CTRL_ATTR_FAMILY_NAME, "mpa");
	return {datagram_of(message)};
}

std::string notice_text(const Notice &notice)
{
	if (const auto *one = std::get_if<Event>(&notice))
		return std::to_string(one->command);
	if (const auto *lost = std::get_if<Lost>(&notice))
		return lost->events ? "lost " + std::to_string(*lost->events) : "lost";
	return "stopped";
}

// The notices up to the end, at most a few more than any test expects.
std::vector<std::string> notices_of(std::unique_ptr<FakeSocket> socket)
{
	const auto events = netlink::read_events(std::move(socket), mpa_number);
	std::vector<std::string> all;

	while (all.size() < 20 && (all.empty() || all.back() != "stopped"))
		all.push_back(notice_text(events->next()));
	return all;
}

std::vector<std::string> notices_of(std::deque<Received> queue)
{
	return notices_of(std::make_unique<FakeSocket>(std::move(queue)));
}

using Texts = std::vector<std::string>;

TEST(Events, are_returned_in_order)
{
	auto two = event(1);
	const auto second = event(2);

	two.datagram.insert(two.datagram.end(), second.datagram.begin(),
			    second.datagram.end());
	EXPECT_EQ(notices_of({two, failing(EAGAIN), event(3)}),
		  (Texts{"1", "2", "3", "stopped"}));
}

// The queue is never empty, as under a load that does not end.
TEST(Events, lost_ones_are_reported_while_others_arrive)
{
	EXPECT_EQ(notices_of({event(1), failing(ENOBUFS, 7), event(2, 2), event(3),
			      failing(ENOBUFS, 4), event(4), event(5)}),
		  (Texts{"1", "2", "lost 9", "3", "4", "lost 4", "5", "stopped"}));
}

// The kernel drops messages until the queue is empty, without another error.
TEST(Events, ones_lost_after_the_error_are_reported_when_the_queue_is_empty)
{
	EXPECT_EQ(notices_of({failing(ENOBUFS, 1), event(1), event(2, 3), failing(EAGAIN),
			      event(3)}),
		  (Texts{"1", "lost 1", "2", "lost 3", "3", "stopped"}));
}

TEST(Events, lost_ones_are_reported_before_the_end)
{
	auto socket = std::make_unique<FakeSocket>(
		std::deque<Received>{failing(ENOBUFS, 6), failing(EAGAIN, 2)});
	auto &queue = *socket;
	const auto events = netlink::read_events(std::move(socket), mpa_number);

	// As if they were dropped before the first call.
	int number = 0;

	queue.receive(number);
	queue.stopping_ = true;
	EXPECT_EQ(notice_text(events->next()), "lost 6");
	EXPECT_EQ(notice_text(events->next()), "stopped");
}

TEST(Events, a_flood_does_not_delay_the_end)
{
	auto socket = std::make_unique<FakeSocket>(std::deque<Received>{event(1)});

	socket->floods_ = true;
	EXPECT_EQ(notices_of(std::move(socket)), (Texts{"1", "lost 1", "stopped"}));
}

// netlink_set_err() of the kernel counts nothing.
TEST(Events, lost_ones_may_have_no_number)
{
	EXPECT_EQ(notices_of({failing(ENOBUFS), event(1), event(2)}),
		  (Texts{"1", "lost", "2", "stopped"}));
	EXPECT_EQ(notices_of({failing(ENOBUFS), failing(EAGAIN), event(1)}),
		  (Texts{"lost", "1", "stopped"}));
}

TEST(Events, other_errors_end_it)
{
	EXPECT_THROW(notices_of({event(1), failing(EIO)}), IoError);
}

TEST(Events, end_when_the_family_is_removed)
{
	const auto events = netlink::read_events(
		std::make_unique<FakeSocket>(std::deque<Received>{
			event(1), family_event(CTRL_CMD_NEWFAMILY, mpa_number),
			family_event(CTRL_CMD_DELFAMILY, mpa_number + 1), event(2),
			family_event(CTRL_CMD_DELFAMILY, mpa_number), event(3)}),
		mpa_number);

	EXPECT_EQ(notice_text(events->next()), "1");
	EXPECT_EQ(notice_text(events->next()), "2");
	EXPECT_THROW(events->next(), Unavailable);
}

} // namespace
