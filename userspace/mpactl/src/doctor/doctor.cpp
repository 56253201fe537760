/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "doctor/doctor.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "doctor/checks.hpp"

namespace mpactl {

// --- the examination ----------------------------------------------------------------

namespace {

using Causes = std::map<std::string_view, std::string_view>;

// The failure that makes a check useless, or nothing.
std::string_view cause_for(const Check &check, const Causes &causes)
{
	for (std::size_t from = 0; from < check.needs.size();) {
		const auto to = std::min(check.needs.find(' ', from),
					 check.needs.size());
		const auto found =
			causes.find(check.needs.substr(from, to - from));

		if (found != causes.end())
			return found->second;
		from = to + 1;
	}
	return {};
}

// What keeps a check from looking is no fault of the machine.
Diagnosis look(const Check &check, Examination &on)
try {
	return check.look(on);
} catch (const Error &error) {
	return {Health::skip, error.what(), {}};
}

bool is_wanted(const DoctorOrder &order, const Check &check)
{
	return order.only.empty() ||
	       std::find(order.only.begin(), order.only.end(), check.id) !=
		       order.only.end();
}

struct Face {
	const char *word;
	Style style;
};

Face face_of(Health health)
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

void doctor_setup(CLI::App &app, DoctorOptions &options)
{
	auto &order = options.order;

	app.add_option("--port", order.port,
		       "TCP port of the program that does not work")
		->check(CLI::Range(1, 65535));
	app.add_option("--peer", order.peer, "name or address of the other side");
	app.add_option("--check", order.only, "only this check; may be repeated")
		->allow_extra_args(false)
		->type_name("ID");
	app.add_flag("--list", options.list, "the checks there are");
}

void check_ids(const std::vector<std::string> &ids)
{
	for (const auto &id : ids) {
		const auto all = all_checks();

		if (std::none_of(all.begin(), all.end(), [&](const Check &one) {
			    return one.id == id;
		    }))
			throw UsageError("--check: there is no '" + id +
					 "'; --list has them all");
	}
}

Exit doctor_run(const DoctorOptions &options, Context &context)
{
	if (options.list) {
		context.out.show(ListView());
		return Exit::ok;
	}
	check_ids(options.order.only);
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
	// What failed or could not be looked at for that, with the first cause.
	Causes causes;
	std::set<std::string_view> to_tell;

	for (const auto &check : all_checks()) {
		const auto cause = cause_for(check, causes);
		Diagnosis diagnosis;

		if (!cause.empty())
			diagnosis = {Health::skip,
				     fmt::format("because of {}", cause), {}};
		else
			diagnosis = look(check, on);
		if (!cause.empty())
			causes[check.id] = cause;
		else if (diagnosis.health == Health::fail)
			causes[check.id] = check.id;
		if (is_wanted(order, check))
			to_tell.insert({std::string_view(check.id), cause});
		results.push_back({&check, std::move(diagnosis)});
	}
	std::erase_if(results, [&](const auto &one) {
		return !to_tell.contains(one.check->id);
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
					   face_of(diagnosis.health).word},
					  {"detail", diagnosis.detail},
					  {"remedy", diagnosis.remedy}});
	return json;
}

void DoctorView::text(Text &to) const
{
	Table table{{{"STATUS"}, {"CHECK"}, {"WHAT"}}, {}};
	const auto count = findings(results_);

	for (const auto &[check, diagnosis] : results_) {
		const auto [word, style] = face_of(diagnosis.health);
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
			  face_of(diagnosis.health).style},
			 {diagnosis.detail}});
		to.line({{"  to do:", Style::dim}, {diagnosis.remedy}});
	}
	to.line({{count ? fmt::format("{} finding{}", count, count > 1 ? "s" : "")
			: std::string("nothing wrong was found"),
		  count ? Style::bad : Style::good}});
}

Exit doctor_status(const std::vector<CheckResult> &results)
{
	return findings(results) ? Exit::refused : Exit::ok;
}

void setup_doctor(CLI::App &app, Run &chosen)
{
	add_command<DoctorOptions>(app, chosen, "doctor",
				   "why verbs do not work here, and what to do",
				   doctor_setup, doctor_run);
}

} // namespace mpactl
