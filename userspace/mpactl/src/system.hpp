/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// The running kernel and the system clock.
#pragma once

#include <memory>

#include "base/stop_signals.hpp"
#include "cli/context.hpp"

namespace mpactl {

class SystemKernel : public Kernel {
public:
	Transport &mpa() override;
	Rdma &rdma() override;
	std::string module_release() override;

private:
	std::unique_ptr<Transport> mpa_;
	std::unique_ptr<Rdma> rdma_;
};

class SystemClock : public Clock {
public:
	std::chrono::system_clock::time_point wall() override;
	std::chrono::steady_clock::time_point steady() override;
	bool sleep_until(std::chrono::steady_clock::time_point when) override;

private:
	std::unique_ptr<StopSignals> stop_;
};

} // namespace mpactl
