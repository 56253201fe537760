/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// mpactl doctor: finds out why verbs do not work here, and suggests remedies. Runs the
// checks of checks.hpp and shows their results.
#pragma once

#include <vector>

#include "cli/command.hpp"
#include "doctor/examination.hpp"
#include "show/output.hpp"

namespace mpactl {

struct CheckResult {
	const Check *check;
	Diagnosis diagnosis;
};

// Results of the selected checks, and of failed checks on which these depend.
std::vector<CheckResult> examine(Machine &machine, const DoctorOrder &order);

class DoctorView : public View {
public:
	explicit DoctorView(const std::vector<CheckResult> &results)
		: results_(results)
	{
	}

	Json json() const override;
	void text(Text &to) const override;

private:
	const std::vector<CheckResult> &results_;
};

// 0: no problem was found; 1: there are findings.
Exit doctor_status(const std::vector<CheckResult> &results);

void setup_doctor(CommandLine &line);

} // namespace mpactl
