/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// The model as attributes of the family "mpa", and back.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <linux/netlink.h>
#include <netlink/msg.h>

#include "model/model.hpp"
#include "netlink/netlink.hpp"

namespace mpactl::codec {

// Names of all attributes of requests, as refusals have them.
const std::vector<netlink::AttributeName> &request_names();

// Selectors.
void put_device(nl_msg *message, const std::string &name);
void put_listener(nl_msg *message, std::uint32_t id);
void put_connection(nl_msg *message, std::uint32_t id);

void put_change(nl_msg *message, const Change &change);
void put_check(nl_msg *message);
// Bytes that a message with these changes needs at most.
std::size_t room_for(std::span<const Change> changes);

// Each takes a message of the family, its generic netlink header first; IoError
// if it is not as <linux/mpa_netlink.h> says. What is unknown is left out.
Defaults defaults_of(const nlmsghdr *message);
Device device_of(const nlmsghdr *message);
Listener listener_of(const nlmsghdr *message);
Connection connection_of(const nlmsghdr *message);
Event event_of(const nlmsghdr *message);

} // namespace mpactl::codec
