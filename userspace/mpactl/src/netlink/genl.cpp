/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "netlink/genl.hpp"

#include <cerrno>
#include <system_error>

#include <fmt/format.h>
#include <linux/genetlink.h>
#include <linux/sock_diag.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/stop_signals.hpp"
#include "model/target.hpp"
#include "netlink/codec.hpp"
#include "netlink/events.hpp"
#include "netlink/netlink.hpp"

namespace mpactl {

namespace {

// Attempts at a dump until an inconsistent one is returned.
constexpr int dump_tries = 4;
// Receive buffer for events while the reader is busy, in bytes.
constexpr int event_buffer = 8 << 20;

int mpa_family(netlink::Socket &socket)
{
	const int family = genl_ctrl_resolve(socket.get(), MPA_GENL_NAME);

	if (family < 0)
		throw Unavailable("the module mpa is not loaded (modprobe mpa)");
	return family;
}

class GenlEventSocket : public netlink::EventSocket {
public:
	GenlEventSocket() : socket_(NETLINK_GENERIC)
	{
		enlarge();
		nl_socket_set_nonblocking(socket_.get());
	}

	// False if that fails.
	bool join(int group)
	{
		return nl_socket_add_membership(socket_.get(), group) >= 0;
	}

	std::vector<std::byte> receive(int &error) override
	{
		return socket_.receive(error);
	}

	std::uint32_t dropped() const override
	{
		std::uint32_t info[SK_MEMINFO_VARS] = {};
		socklen_t size = sizeof(info);

		if (::getsockopt(socket_.fd(), SOL_SOCKET, SO_MEMINFO, info, &size))
			return 0;
		return info[SK_MEMINFO_DROPS];
	}

	bool stopping() const override { return stop_.pending(); }

	void wait() const override
	{
		pollfd fds[] = {{socket_.fd(), POLLIN, 0},
				{stop_.fd(), POLLIN, 0}};

		while (::poll(fds, std::size(fds), -1) < 0)
			if (errno != EINTR)
				throw IoError("poll: " +
					      std::generic_category().message(
						      errno));
	}

private:
	// Exceeds the limit of the system if that is permitted.
	void enlarge()
	{
		if (::setsockopt(socket_.fd(), SOL_SOCKET, SO_RCVBUFFORCE,
				 &event_buffer, sizeof(event_buffer)))
			::setsockopt(socket_.fd(), SOL_SOCKET, SO_RCVBUF,
				     &event_buffer, sizeof(event_buffer));
	}

	StopSignals stop_;
	netlink::Socket socket_;
};

std::unique_ptr<Events> open_events()
{
	auto socket = std::make_unique<GenlEventSocket>();
	// libnl would take notifications for answers.
	netlink::Socket asking(NETLINK_GENERIC);

	// Joined first: a family that is removed from here on is noticed. The group
	// "notify" of nlctrl has the same number as nlctrl itself.
	if (!socket->join(GENL_ID_CTRL))
		throw Unavailable("the kernel does not report when the module mpa is removed");
	const int family = mpa_family(asking);
	const int group = genl_ctrl_resolve_grp(asking.get(), MPA_GENL_NAME,
						MPA_GENL_EVENTS);

	if (group < 0 || !socket->join(group))
		throw Unavailable("the module mpa does not provide events");
	return netlink::read_events(std::move(socket), family);
}

class Genl : public Transport {
public:
	Genl() : socket_(NETLINK_GENERIC), family_(mpa_family(socket_)) {}

	Defaults defaults() override
	{
		return get("defaults", request(MPA_CMD_DEFAULTS_GET),
			   codec::defaults_of);
	}

	Device device(const std::string &name) override
	{
		auto message = request(MPA_CMD_DEV_GET, name.size() + 128);

		codec::put_device(message.get(), name);
		return get("device " + name, std::move(message),
			   codec::device_of);
	}

	Listing<Device> devices() override
	{
		return dump("devices", MPA_CMD_DEV_GET, codec::device_of);
	}

	Listener listener(std::uint32_t id) override
	{
		auto message = request(MPA_CMD_LISTEN_GET);

		codec::put_listener(message.get(), id);
		return get(fmt::format("listener {}", id), std::move(message),
			   codec::listener_of);
	}

	Listing<Listener> listeners() override
	{
		return dump("listeners", MPA_CMD_LISTEN_GET, codec::listener_of);
	}

	Connection connection(std::uint32_t id) override
	{
		auto message = request(MPA_CMD_CONN_GET);

		codec::put_connection(message.get(), id);
		return get(fmt::format("connection {}", id), std::move(message),
			   codec::connection_of);
	}

	Listing<Connection> connections() override
	{
		return dump("connections", MPA_CMD_CONN_GET,
			    codec::connection_of);
	}

	std::string change(std::span<const Change> changes, bool check) override
	{
		auto message = request(MPA_CMD_SET, codec::room_for(changes));

		for (const auto &one : changes)
			codec::put_change(message.get(), one);
		if (check)
			codec::put_check(message.get());
		const auto answer = socket_.ask(message.get(),
						[](const nlmsghdr *) {});

		if (answer.refusal.number)
			throw change_refused(changes, message.get(), answer);
		return answer.refusal.message;
	}

	std::unique_ptr<Events> events() override
	{
		return open_events();
	}

private:
	netlink::MessagePtr request(mpa_cmd command, std::size_t bytes = 4096,
				    int flags = 0) const
	{
		auto message = netlink::new_message(bytes);

		netlink::fits(genlmsg_put(message.get(), NL_AUTO_PORT, NL_AUTO_SEQ,
					  family_, 0, flags,
					  static_cast<std::uint8_t>(command),
					  MPA_GENL_VERSION)
				      ? 0 : -1);
		return message;
	}

	// Sets the refusal with the name of its attribute, and returns the position of
	// the attribute.
	static netlink::Place complete(Refusal &refusal, nl_msg *request,
				       const netlink::Answer &answer)
	{
		refusal = answer.refusal;
		if (!answer.offset)
			return {};
		auto place = netlink::place_of(nlmsg_hdr(request), GENL_HDRLEN,
					       *answer.offset,
					       codec::request_names());

		if (place.path.starts_with("change."))
			place.path.erase(0, std::string_view("change.").size());
		refusal.attribute = place.path;
		return place;
	}

	static KernelError change_refused(std::span<const Change> changes,
					  nl_msg *request,
					  const netlink::Answer &answer)
	{
		Refusal refusal;
		const auto place = complete(refusal, request, answer);
		const auto known = answer.offset && place.index < changes.size();

		if (known)
			return {target_text(changes[place.index].target), refusal};
		return {changes.size() == 1 ? target_text(changes[0].target)
					    : "settings",
			refusal};
	}

	template <typename T>
	T get(const std::string &what, netlink::MessagePtr message,
	      T (*decode)(const nlmsghdr *))
	{
		std::optional<T> got;
		const auto answer =
			socket_.ask(message.get(), [&](const nlmsghdr *one) {
				got = decode(one);
			});

		if (answer.refusal.number) {
			Refusal refusal;

			complete(refusal, message.get(), answer);
			throw KernelError(what, refusal);
		}
		if (!got)
			throw IoError(what + ": the kernel has sent no answer");
		return *std::move(got);
	}

	template <typename T>
	Listing<T> dump(const char *what, mpa_cmd command,
			T (*decode)(const nlmsghdr *))
	{
		for (int tries = 1;; tries++) {
			const auto message = request(command, 64, NLM_F_DUMP);
			Listing<T> listing;
			const auto answer = socket_.ask(
				message.get(), [&](const nlmsghdr *one) {
					listing.items.push_back(decode(one));
				});

			// Generic netlink: no family has this number any more. No
			// dump of the family returns it.
			if (answer.refusal.number == ENOENT)
				throw Unavailable("the module mpa was removed");
			if (answer.refusal.number)
				throw KernelError(what, answer.refusal);
			listing.interrupted = answer.interrupted;
			if (!answer.interrupted || tries == dump_tries)
				return listing;
		}
	}

	netlink::Socket socket_;
	int family_;
};

} // namespace

std::unique_ptr<Transport> open_genl()
{
	return std::make_unique<Genl>();
}

} // namespace mpactl
