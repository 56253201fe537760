/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "base/stop_signals.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <system_error>

#include <poll.h>
#include <sys/eventfd.h>

#include "base/error.hpp"

namespace mpactl {

namespace {

// An eventfd that the handler writes to; one for the process, as handlers are.
std::atomic<int> stop_event = -1;

constexpr int stop_signals[] = {SIGINT, SIGTERM};

// The next one, of either kind, ends the process at once.
extern "C" void on_stop_signal(int)
{
	const int before = errno;
	struct sigaction action{};

	action.sa_handler = SIG_DFL;
	for (const int number : stop_signals)
		::sigaction(number, &action, nullptr);
	::eventfd_write(stop_event, 1);
	errno = before;
}

void install_stop_handlers()
{
	struct sigaction action{};

	stop_event = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (stop_event < 0)
		throw IoError("signals: " +
			      std::generic_category().message(errno));
	action.sa_handler = on_stop_signal;
	for (const int number : stop_signals)
		::sigaction(number, &action, nullptr);
}

} // namespace

StopSignals::StopSignals()
{
	if (stop_event < 0)
		install_stop_handlers();
}

int StopSignals::fd() const
{
	return stop_event;
}

bool StopSignals::pending() const
{
	pollfd one{fd(), POLLIN, 0};

	return ::poll(&one, 1, 0) > 0;
}

BlockedStopSignals::BlockedStopSignals() noexcept
{
	sigset_t all;

	::sigemptyset(&all);
	for (const int number : {SIGHUP, SIGINT, SIGTERM})
		::sigaddset(&all, number);
	::pthread_sigmask(SIG_BLOCK, &all, &before_);
}

BlockedStopSignals::~BlockedStopSignals()
{
	::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

} // namespace mpactl
