/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "netlink/nldev.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include <net/if.h>
#include <netlink/attr.h>
#include <rdma/rdma_netlink.h>

namespace mpactl {

namespace {

constexpr const char *link_type = "mpa";

const std::vector<netlink::AttributeName> request_names = {
	{RDMA_NLDEV_ATTR_DEV_INDEX, "dev_index"},
	{RDMA_NLDEV_ATTR_DEV_NAME, "name"},
	{RDMA_NLDEV_ATTR_LINK_TYPE, "type"},
	{RDMA_NLDEV_ATTR_NDEV_NAME, "netdev"},
};

// The attributes of a message of the RDMA core.
class Attributes {
public:
	explicit Attributes(const nlmsghdr *message)
	{
		if (nlmsg_parse(const_cast<nlmsghdr *>(message), 0, table_.data(),
				RDMA_NLDEV_ATTR_MAX - 1, nullptr) < 0)
			throw IoError("the format of the RDMA core's answer is unknown");
	}

	std::uint32_t u32(std::size_t type) const
	{
		const auto *one = table_[type];

		return one && nla_len(one) >= 4 ? nla_get_u32(one) : 0;
	}

	std::string text(std::size_t type) const
	{
		const auto *one = table_[type];

		return one ? std::string(static_cast<const char *>(nla_data(one)),
					 ::strnlen(static_cast<const char *>(
							   nla_data(one)),
						   static_cast<std::size_t>(
							   nla_len(one))))
			   : std::string();
	}

private:
	std::array<nlattr *, RDMA_NLDEV_ATTR_MAX> table_{};
};

class Nldev : public Rdma {
public:
	explicit Nldev(std::unique_ptr<netlink::Channel> channel)
		: channel_(std::move(channel))
	{
	}

	std::vector<RdmaDevice> devices() override
	{
		std::vector<RdmaDevice> found;

		for (auto &device : without_netdevs())
			if (auto netdev = netdev_of(device))
				found.push_back({device.index, std::move(device.name),
						 *std::move(netdev)});
		std::sort(found.begin(), found.end(),
			  [](const auto &a, const auto &b) {
				  return a.index < b.index;
			  });
		return found;
	}

	bool has_netdev(const std::string &name) override
	{
		return ::if_nametoindex(name.c_str());
	}

	void add(const std::string &name, const std::string &netdev) override
	{
		const auto message = request(RDMA_NLDEV_CMD_NEWLINK);

		put(message.get(), RDMA_NLDEV_ATTR_DEV_NAME, name);
		put(message.get(), RDMA_NLDEV_ATTR_LINK_TYPE, link_type);
		put(message.get(), RDMA_NLDEV_ATTR_NDEV_NAME, netdev);
		request_change("add device " + name + " at " + netdev,
			       message.get());
	}

	void remove(const std::string &name) override
	{
		const auto message = request(RDMA_NLDEV_CMD_DELLINK);

		netlink::fits(nla_put_u32(message.get(), RDMA_NLDEV_ATTR_DEV_INDEX,
					  index_of(name)));
		request_change("remove device " + name, message.get());
	}

private:
	using OnDevice = std::function<void(const Attributes &)>;

	static netlink::MessagePtr request(int command, int flags = 0)
	{
		auto message = netlink::new_message();

		netlink::fits(nlmsg_put(message.get(), NL_AUTO_PORT, NL_AUTO_SEQ,
					RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command),
					0, flags)
				      ? 0 : -1);
		return message;
	}

	static void put(nl_msg *message, int type, const std::string &text)
	{
		netlink::fits(nla_put_string(message, type, text.c_str()));
	}

	static KernelError refused(const std::string &what, nl_msg *request,
				   const netlink::Answer &answer)
	{
		auto refusal = answer.refusal;

		if (answer.offset)
			refusal.attribute =
				netlink::place_of(nlmsg_hdr(request), 0,
						  *answer.offset, request_names)
					.path;
		return {what, refusal};
	}

	void request_change(const std::string &what, nl_msg *request)
	{
		const auto answer = channel_->ask(request, [](const nlmsghdr *) {});

		if (answer.refusal.number)
			throw refused(what, request, answer);
	}

	netlink::Answer dump(nl_msg *request, const OnDevice &on_device)
	{
		return channel_->ask(request, [&](const nlmsghdr *one) {
			on_device(Attributes(one));
		});
	}

	std::vector<RdmaDevice> without_netdevs()
	{
		const auto message = request(RDMA_NLDEV_CMD_GET, NLM_F_DUMP);
		std::vector<RdmaDevice> found;
		const auto answer = dump(message.get(), [&](const Attributes &one) {
			found.push_back({one.u32(RDMA_NLDEV_ATTR_DEV_INDEX),
					 one.text(RDMA_NLDEV_ATTR_DEV_NAME), ""});
		});

		if (answer.refusal.number)
			throw refused("RDMA devices", message.get(), answer);
		return found;
	}

	// The network device is an attribute of ports. mpa devices have one port. Nothing
	// is returned if the device was removed meanwhile.
	std::optional<std::string> netdev_of(const RdmaDevice &device)
	{
		const auto message = request(RDMA_NLDEV_CMD_PORT_GET, NLM_F_DUMP);
		std::string netdev;

		netlink::fits(nla_put_u32(message.get(), RDMA_NLDEV_ATTR_DEV_INDEX,
					  device.index));
		const auto answer = dump(message.get(), [&](const Attributes &port) {
			if (netdev.empty())
				netdev = port.text(RDMA_NLDEV_ATTR_NDEV_NAME);
		});

		if (answer.refusal.number == ENODEV)
			return std::nullopt;
		if (answer.refusal.number)
			throw refused("port of " + device.name, message.get(), answer);
		return netdev;
	}

	// Does not ask for ports: other devices do not matter here.
	std::uint32_t index_of(const std::string &name)
	{
		for (const auto &device : without_netdevs())
			if (device.name == name)
				return device.index;
		throw Unavailable("there is no device " + name);
	}

	std::unique_ptr<netlink::Channel> channel_;
};

} // namespace

std::unique_ptr<Rdma> open_nldev()
{
	return nldev_over(std::make_unique<netlink::Socket>(NETLINK_RDMA));
}

std::unique_ptr<Rdma> nldev_over(std::unique_ptr<netlink::Channel> channel)
{
	return std::make_unique<Nldev>(std::move(channel));
}

} // namespace mpactl
