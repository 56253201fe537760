/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// The real kernel and the real time.
#pragma once

#include <memory>

#include "context.hpp"

namespace mpactl {

// From the first object on, for the rest of the process: the first SIGINT or
// SIGTERM only asks for the end, the next one of its kind ends the process, so that
// one that is stuck, in a write to a full pipe for example, can be ended.
class StopSignals {
public:
	StopSignals();

	// Readable once the end was asked for.
	int fd() const;
	bool pending() const;
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
