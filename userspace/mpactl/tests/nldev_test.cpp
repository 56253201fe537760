/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// Requests to the RDMA core while devices are added and removed.

#include <cerrno>
#include <map>

#include <gtest/gtest.h>
#include <netlink/attr.h>
#include <rdma/rdma_netlink.h>

#include "netlink/nldev.hpp"

using namespace mpactl;

namespace {

// What the RDMA core knows, outside of the channel, which belongs to its user.
struct Core {
	std::vector<RdmaDevice> devices;
	// Errors of requests for the ports of a device.
	std::map<std::uint32_t, int> port_errors;
	int removed = -1;
};

class FakeChannel : public netlink::Channel {
public:
	explicit FakeChannel(Core &core) : core_(core) {}

	netlink::Answer ask(nl_msg *request, const netlink::OnMessage &on_message) override
	{
		auto *head = nlmsg_hdr(request);
		netlink::Answer answer;

		answer.done = true;
		switch (head->nlmsg_type & 0xff) {
		case RDMA_NLDEV_CMD_GET:
			for (const auto &one : core_.devices)
				send(one, false, on_message);
			break;
		case RDMA_NLDEV_CMD_PORT_GET: {
			const auto index = index_in(head);

			answer.refusal.number = core_.port_errors[index];
			if (!answer.refusal.number)
				for (const auto &one : core_.devices)
					if (one.index == index)
						send(one, true, on_message);
			break;
		}
		case RDMA_NLDEV_CMD_DELLINK:
			core_.removed = static_cast<int>(index_in(head));
			break;
		default:
			answer.refusal.number = EOPNOTSUPP;
		}
		return answer;
	}

private:
	static std::uint32_t index_in(nlmsghdr *head)
	{
		const auto *index = nlmsg_find_attr(head, 0, RDMA_NLDEV_ATTR_DEV_INDEX);

		return index ? nla_get_u32(index) : ~0u;
	}

	static void send(const RdmaDevice &device, bool port,
			 const netlink::OnMessage &on_message)
	{
		const auto message = netlink::new_message();

		nlmsg_put(message.get(), 0, 0, NLMSG_MIN_TYPE, 0, 0);
		nla_put_u32(message.get(), RDMA_NLDEV_ATTR_DEV_INDEX, device.index);
		nla_put_string(message.get(), RDMA_NLDEV_ATTR_DEV_NAME,
			       device.name.c_str());
		if (port)
			nla_put_string(message.get(), RDMA_NLDEV_ATTR_NDEV_NAME,
				       device.netdev.c_str());
		on_message(nlmsg_hdr(message.get()));
	}

	Core &core_;
};

class RdmaDevices : public testing::Test {
protected:
	Core core{{{2, "mpa2", "eth1"}, {0, "siw0", "lo"}, {1, "mpa1", "eth0"}}, {}};
	std::unique_ptr<Rdma> rdma = nldev_over(std::make_unique<FakeChannel>(core));
};

TEST_F(RdmaDevices, lists_devices_by_index)
{
	EXPECT_EQ(rdma->devices(),
		  (std::vector<RdmaDevice>{{0, "siw0", "lo"}, {1, "mpa1", "eth0"},
					   {2, "mpa2", "eth1"}}));
}

TEST_F(RdmaDevices, a_device_that_goes_meanwhile_is_not_listed)
{
	core.port_errors[0] = ENODEV;
	EXPECT_EQ(rdma->devices(), (std::vector<RdmaDevice>{{1, "mpa1", "eth0"},
							    {2, "mpa2", "eth1"}}));
	core.port_errors[0] = EPERM;
	EXPECT_THROW(rdma->devices(), KernelError);
}

// restore removes what it has created, whatever happens to other devices.
TEST_F(RdmaDevices, removal_does_not_depend_on_other_devices)
{
	core.port_errors = {{0, ENODEV}, {1, EPERM}, {2, EPERM}};
	rdma->remove("mpa2");
	EXPECT_EQ(core.removed, 2);
	EXPECT_THROW(rdma->remove("mpa3"), Unavailable);
}

} // namespace
