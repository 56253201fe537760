/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "system.hpp"

#include <fstream>

#include <poll.h>

#include "base/release.hpp"
#include "netlink/genl.hpp"
#include "netlink/nldev.hpp"

namespace mpactl {

Transport &SystemKernel::mpa()
{
	if (!mpa_)
		mpa_ = open_genl();
	return *mpa_;
}

Rdma &SystemKernel::rdma()
{
	if (!rdma_)
		rdma_ = open_nldev();
	return *rdma_;
}

std::string SystemKernel::module_release()
{
	std::ifstream file(module_release_file);
	std::string release;

	std::getline(file, release);
	return release;
}

std::chrono::system_clock::time_point SystemClock::wall()
{
	return std::chrono::system_clock::now();
}

std::chrono::steady_clock::time_point SystemClock::steady()
{
	return std::chrono::steady_clock::now();
}

bool SystemClock::sleep_until(std::chrono::steady_clock::time_point when)
{
	if (!stop_)
		stop_ = std::make_unique<StopSignals>();
	for (;;) {
		const auto left = std::chrono::ceil<std::chrono::milliseconds>(
			when - steady());
		pollfd wait{stop_->fd(), POLLIN, 0};

		if (left.count() <= 0)
			return !stop_->pending();
		if (::poll(&wait, 1, static_cast<int>(left.count())) > 0)
			return false;
	}
}

} // namespace mpactl
