// SPDX-License-Identifier: GPL-2.0-only
//
// The rings of a queue pair as the kernel shares them, used without the
// provider: entries that no provider writes.
#pragma once

#include "pair.hpp"

extern "C" {
#include "mpa.h"
}

namespace raw {

using verbs::Queue;

// The next entry of the send ring, all zero, to be filled in and posted.
mpa_sqe &next_send(Queue &queue);
mpa_rqe &next_receive(Queue &queue);

// Publishes so many entries of a ring.
void publish_sends(Queue &queue, std::uint32_t number);
void publish_receives(Queue &queue, std::uint32_t number);

// Makes the kernel look at the ring.
void ring(Queue &queue);

std::uint32_t send_entries(Queue &queue);
std::uint32_t receive_entries(Queue &queue);

} // namespace raw
