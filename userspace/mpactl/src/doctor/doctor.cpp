/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "doctor/doctor.hpp"

#include <algorithm>
#include <exception>
#include <map>
#include <set>

#include <fmt/format.h>

#include "doctor/checks.hpp"

namespace mpactl {

// --- running the checks -------------------------------------------------------------

namespace {

using Causes = std::map<std::string_view, std::string_view>;

// Ids of the checks on which this one depends.
std::vector<std::string_view> needs_of(const Check &check)
{
	std::vector<std::string_view> ids;

	for (std::size_t from = 0; from < check.needs.size();) {
		const auto to = std::min(check.needs.find(' ', from),
					 check.needs.size());

		ids.push_back(check.needs.substr(from, to - from));
		from = to + 1;
	}
	return ids;
}

// The failed check because of which this one is skipped, or nothing.
std::string_view cause_for(const Check &check, const Causes &causes)
{
	for (const auto id : needs_of(check)) {
		const auto found = causes.find(id);

		if (found != causes.end())
			return found->second;
	}
	return {};
}

// An error of the check itself, or of a library that it calls, is not a finding.
Diagnosis perform(const Check &check, Examination &on)
try {
	return check.perform(on);
} catch (const std::exception &error) {
	return {Health::skip, error.what(), {}};
}

bool is_wanted(const DoctorOrder &order, const Check &check)
{
	return order.only.empty() ||
	       std::find(order.only.begin(), order.only.end(), check.id) !=
		       order.only.end();
}

// The checks that are wanted, and those on which they depend, which are earlier.
std::set<std::string_view> to_perform(const DoctorOrder &order)
{
	const auto &all = all_checks();
	std::set<std::string_view> ids;

	for (auto check = all.rbegin(); check != all.rend(); ++check) {
		if (!is_wanted(order, *check) && !ids.contains(check->id))
			continue;
		ids.insert(check->id);
		for (const auto id : needs_of(*check))
			ids.insert(id);
	}
	return ids;
}

struct StatusWord {
	const char *word;
	Style style;
};

StatusWord status_word(Health health)
{
	switch (health) {
	case Health::ok:
		return {"ok", Style::good};
	case Health::warn:
		return {"warn", Style::warn};
	case Health::fail:
		return {"fail", Style::bad};
	case Health::skip:
		break;
	}
	return {"skip", Style::dim};
}

bool is_finding(const CheckResult &result)
{
	return result.diagnosis.health == Health::warn ||
	       result.diagnosis.health == Health::fail;
}

std::size_t findings(const std::vector<CheckResult> &results)
{
	return static_cast<std::size_t>(
		std::count_if(results.begin(), results.end(), is_finding));
}

// --- the command ----------------------------------------------------------------------

struct DoctorOptions {
	DoctorOrder order;
	bool list = false;
};

class ListView : public View {
public:
	Json json() const override
	{
		auto json = Json::array();

		for (const auto &one : all_checks())
			json.push_back({{"id", one.id}, {"title", one.title}});
		return json;
	}

	void text(Text &to) const override
	{
		std::vector<Field> fields;

		for (const auto &one : all_checks())
			fields.push_back({one.id, {one.title}});
		to.fields(fields, 0);
	}
};

Values check_ids()
{
	Candidates ids;

	for (const auto &one : all_checks())
		ids.push_back({one.id, one.title});
	return one_of(std::move(ids), "ID");
}

void doctor_setup(Syntax command, DoctorOptions &options)
{
	auto &order = options.order;

	command.option("--port", order.port, any("PORT"),
		       "TCP port of the program that does not work")
		->check(CLI::Range(1, 65535));
	command.option("--peer", order.peer, host_name(),
		       "name or address of the other host");
	command.option("--check", order.only, check_ids(),
		       "do only this check (can be repeated)")
		->allow_extra_args(false);
	command.flag("--list", options.list, "list the checks and exit");
}

Exit doctor_run(const DoctorOptions &options, Context &context)
{
	if (options.list) {
		context.out.show(ListView());
		return Exit::ok;
	}
	const auto machine = this_machine(context.kernel);
	const auto results = examine(*machine, options.order);
	context.out.show(DoctorView(results));
	return doctor_status(results);
}

} // namespace

std::vector<CheckResult> examine(Machine &machine, const DoctorOrder &order)
{
	Examination on(machine, order);
	std::vector<CheckResult> results;
	// Checks that failed or were skipped, with the failure that caused it.
	Causes causes;
	std::set<std::string_view> reported;
	const auto needed = to_perform(order);

	for (const auto &check : all_checks()) {
		const auto cause = cause_for(check, causes);
		Diagnosis diagnosis;

		if (!needed.contains(check.id))
			continue;
		if (!cause.empty())
			diagnosis = {Health::skip,
				     fmt::format("{} failed", cause), {}};
		else
			diagnosis = perform(check, on);
		if (!cause.empty())
			causes[check.id] = cause;
		else if (diagnosis.health == Health::fail)
			causes[check.id] = check.id;
		if (is_wanted(order, check))
			reported.insert({std::string_view(check.id), cause});
		results.push_back({&check, std::move(diagnosis)});
	}
	std::erase_if(results, [&](const auto &one) {
		return !reported.contains(one.check->id);
	});
	return results;
}

Json DoctorView::json() const
{
	Json json{{"findings", findings(results_)}, {"checks", Json::array()}};

	for (const auto &[check, diagnosis] : results_)
		json["checks"].push_back({{"id", check->id},
					  {"title", check->title},
					  {"status",
					   status_word(diagnosis.health).word},
					  {"detail", diagnosis.detail},
					  {"remedy", diagnosis.remedy}});
	return json;
}

void DoctorView::text(Text &to) const
{
	Table table{{{"STATUS"}, {"CHECK"}, {"DETAIL"}}, {}};
	const auto count = findings(results_);

	for (const auto &[check, diagnosis] : results_) {
		const auto [word, style] = status_word(diagnosis.health);
		const auto &detail = diagnosis.detail;

		table.rows.push_back({{word, style}, {check->id},
				      {detail.empty() ? check->title : detail}});
	}
	to.table(table);
	to.line("");
	for (const auto &one : results_) {
		if (!is_finding(one))
			continue;
		const auto &[check, diagnosis] = one;
		to.line({{std::string(check->id) + ":",
			  status_word(diagnosis.health).style},
			 {diagnosis.detail}});
		to.line({{"  remedy:", Style::dim}, {diagnosis.remedy}});
	}
	to.line({{count ? fmt::format("{} finding{}", count, count > 1 ? "s" : "")
			: std::string("no problem was found"),
		  count ? Style::bad : Style::good}});
}

Exit doctor_status(const std::vector<CheckResult> &results)
{
	return findings(results) ? Exit::refused : Exit::ok;
}

void setup_doctor(CommandLine &line)
{
	add_command<DoctorOptions>(line, "doctor",
				   "Find out why verbs do not work here, and what "
				   "to do about it",
				   doctor_setup, doctor_run);
}

} // namespace mpactl
