/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// mpactl doctor: why verbs do not work here, and what to do. Runs the checks of
// checks.hpp one after the other and shows their results.
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

// Of those that are wanted, and of those whose failure is in their way.
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

// 0: nothing wrong; 1: there are findings.
Exit doctor_status(const std::vector<CheckResult> &results);

void setup_doctor(CLI::App &app, Run &chosen);

} // namespace mpactl
