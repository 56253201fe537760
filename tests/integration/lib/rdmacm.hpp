// SPDX-License-Identifier: GPL-2.0-only
//
// Wrappers of librdmacm for programs of the tests: RAII, and calls that throw.
#pragma once

#include <cerrno>
#include <memory>
#include <string>
#include <system_error>

#include <rdma/rdma_cma.h>

namespace rdmacm {

// Ends an object with its function.
template <auto End> struct Ender {
	template <typename Object> void operator()(Object *object) const { End(object); }
};

using Endpoint = std::unique_ptr<rdma_cm_id, Ender<rdma_destroy_ep>>;
using Address = std::unique_ptr<rdma_addrinfo, Ender<rdma_freeaddrinfo>>;

// With errno.
[[noreturn]] inline void fail(const std::string &what)
{
	throw std::system_error(errno, std::generic_category(), what);
}

inline void must(int result, const char *what)
{
	if (result)
		fail(what);
}

inline Address look_up(const char *address, const char *port, int flags)
{
	rdma_addrinfo hints{};
	rdma_addrinfo *found = nullptr;

	hints.ai_flags = flags;
	hints.ai_port_space = RDMA_PS_TCP;
	must(rdma_getaddrinfo(address, port, &hints, &found), "rdma_getaddrinfo");
	return Address(found);
}

// RC, every request with a completion, one piece each, and so many requests in
// each direction.
inline ibv_qp_init_attr queue_sizes(unsigned int depth)
{
	ibv_qp_init_attr attr{};

	attr.cap.max_send_wr = attr.cap.max_recv_wr = depth;
	attr.cap.max_send_sge = attr.cap.max_recv_sge = 1;
	attr.sq_sig_all = 1;
	attr.qp_type = IBV_QPT_RC;
	return attr;
}

inline Endpoint make_endpoint(rdma_addrinfo *info, unsigned int depth = 2)
{
	ibv_qp_init_attr attr = queue_sizes(depth);
	rdma_cm_id *id = nullptr;

	must(rdma_create_ep(&id, info, nullptr, &attr), "rdma_create_ep");
	return Endpoint(id);
}

} // namespace rdmacm
