/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// The real kernel and the real time.
#pragma once

#include <memory>

#include "context.hpp"

namespace mpactl {

// Becomes readable at SIGINT and SIGTERM, which do nothing else from then on.
class StopSignals {
public:
	StopSignals();
	~StopSignals();
	StopSignals(const StopSignals &) = delete;
	StopSignals &operator=(const StopSignals &) = delete;

	int fd() const { return fd_; }

private:
	int fd_;
};

class SystemKernel : public Kernel {
public:
	Transport &mpa() override;
	Rdma &rdma() override;

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
