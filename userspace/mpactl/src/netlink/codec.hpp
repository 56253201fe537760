/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// Converts the model to and from attributes of the family "mpa".
#pragma once

#include <span>
#include <string>
#include <vector>

#include <linux/netlink.h>
#include <netlink/msg.h>

#include "model/model.hpp"
#include "netlink/netlink.hpp"

namespace mpactl::codec {

// Names of all attributes of requests, for messages about refusals.
const std::vector<netlink::AttributeName> &request_names();

// Selectors.
void put_device(nl_msg *message, const std::string &name);
void put_listener(nl_msg *message, std::uint32_t id);
void put_connection(nl_msg *message, std::uint32_t id);

void put_change(nl_msg *message, const Change &change);
void put_check(nl_msg *message);
// Upper bound of the size of a message with these changes, in bytes.
std::size_t room_for(std::span<const Change> changes);

// Each parses a message of the family, starting with its generic netlink header, and
// throws IoError if the format differs from <linux/mpa_netlink.h>. Unknown attributes
// are ignored.
Defaults defaults_of(const nlmsghdr *message);
Device device_of(const nlmsghdr *message);
Listener listener_of(const nlmsghdr *message);
Connection connection_of(const nlmsghdr *message);
Event event_of(const nlmsghdr *message);

} // namespace mpactl::codec
