/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// mpactl probe: asks a port what it speaks.
#pragma once

#include "cli/command.hpp"
#include "probe/prober.hpp"
#include "show/output.hpp"

namespace mpactl {

class ProbeView : public View {
public:
	explicit ProbeView(const ProbeReport &report) : report_(report) {}

	Json json() const override;
	void text(Text &to) const override;

private:
	const ProbeReport &report_;
};

// 0: speaks MPA, be it to reject; 1: does not; 4: nobody can be reached.
Exit probe_status(const ProbeReport &report);

void setup_probe(CLI::App &app, Run &chosen);

} // namespace mpactl
