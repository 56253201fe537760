/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "system.hpp"

#include <csignal>
#include <system_error>
#include <thread>

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "error.hpp"
#include "genl.hpp"
#include "nldev.hpp"

namespace mpactl {

StopSignals::StopSignals()
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	::pthread_sigmask(SIG_BLOCK, &set, nullptr);
	fd_ = ::signalfd(-1, &set, SFD_CLOEXEC);
	if (fd_ < 0)
		throw IoError("signals: " +
			      std::generic_category().message(errno));
}

StopSignals::~StopSignals()
{
	::close(fd_);
}

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
			return ::poll(&wait, 1, 0) == 0;
		if (::poll(&wait, 1, static_cast<int>(left.count())) > 0)
			return false;
	}
}

} // namespace mpactl
