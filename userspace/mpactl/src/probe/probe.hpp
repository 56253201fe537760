/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// mpactl probe: finds out which protocol a TCP port uses.
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

// 0: uses MPA, even if it rejects; 1: does not use MPA; 4: no connection.
Exit probe_status(const ProbeReport &report);

void setup_probe(CommandLine &line);

} // namespace mpactl
