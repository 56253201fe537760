/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "commands/restore.hpp"

#include <cerrno>
#include <set>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/files.hpp"
#include "commands/state.hpp"
#include "model/settings.hpp"
#include "model/target.hpp"

namespace mpactl {

namespace {

using What = Difference::What;

const char *what_word(What what)
{
	switch (what) {
	case What::made:
		return "made";
	case What::added:
		return "added";
	case What::changed:
		return "changed";
	case What::reset:
		break;
	}
	return "reset";
}

Style style_of(What what)
{
	switch (what) {
	case What::made:
	case What::added:
		return Style::good;
	case What::changed:
		return Style::warn;
	case What::reset:
		break;
	}
	return Style::bad;
}

class DifferenceView : public View {
public:
	DifferenceView(const std::vector<Difference> &all, bool dry_run)
		: all_(all), dry_run_(dry_run)
	{
	}

	Json json() const override
	{
		Json changes = Json::array();

		for (const auto &one : all_)
			changes.push_back(one_json(one));
		return {{"dry_run", dry_run_}, {"changes", std::move(changes)}};
	}

	void text(Text &to) const override
	{
		Table table{{{"OBJECT"}, {"CHANGE"}, {"SETTING"}, {"OLD"},
			     {"NEW"}}, {}};

		for (const auto &one : all_)
			table.rows.push_back(row(one));
		to.table(table);
		if (all_.empty())
			to.line("nothing to change");
	}

private:
	static Json one_json(const Difference &one)
	{
		const bool device = one.target.kind == Target::Kind::device;
		Json json{{"kind", device ? "device" : "defaults"}};

		if (device)
			json["name"] = one.target.name;
		json["what"] = what_word(one.what);
		if (one.what == What::made) {
			json["netdev"] = one.netdev;
			return json;
		}
		const auto &setting = *setting_of(one.key);

		json["setting"] = setting.json;
		if (one.what != What::added)
			json["old"] = value_json(setting, one.before);
		if (one.what != What::reset)
			json["new"] = value_json(setting, one.after);
		return json;
	}

	static std::vector<Cell> row(const Difference &one)
	{
		const Cell object{target_text(one.target), Style::strong};
		const Cell what{what_word(one.what), style_of(one.what)};

		if (one.what == What::made)
			return {object, what, {}, {}, {"at " + one.netdev}};
		const auto &setting = *setting_of(one.key);

		return {object,
			what,
			{setting.name},
			one.what == What::added
				? Cell{"inherited", Style::dim}
				: Cell{value_text(setting, one.before)},
			one.what == What::reset
				? Cell{"inherited", Style::dim}
				: Cell{value_text(setting, one.after)}};
	}

	const std::vector<Difference> &all_;
	bool dry_run_;
};

// Devices made for a restoration; removed again unless it succeeds.
class Made {
public:
	explicit Made(Context &context) : context_(context) {}

	~Made()
	{
		for (auto name = names_.rbegin(); name != names_.rend(); ++name)
			remove(*name);
	}

	Made(const Made &) = delete;
	Made &operator=(const Made &) = delete;

	void add(const std::string &name, const std::string &netdev)
	{
		context_.rdma().add(name, netdev);
		names_.push_back(name);
	}

	void keep() { names_.clear(); }

private:
	void remove(const std::string &name) noexcept
	try {
		context_.rdma().remove(name);
	} catch (const std::exception &error) {
		context_.warn(error.what());
	}

	Context &context_;
	std::vector<std::string> names_;
};

// Makes the devices. One whose network device is not there may be left out if
// `present`: nothing is to be done for it then.
void make_devices(std::vector<Difference> &all, bool present, Made &made,
		  Context &context)
{
	std::set<std::string> left_out;

	for (const auto &one : all) {
		if (one.what != What::made)
			continue;
		try {
			made.add(one.target.name, one.netdev);
		} catch (const KernelError &error) {
			if (!present || error.refusal().number != ENODEV)
				throw;
			context.warn(fmt::format("{}: left out, there is no "
						 "network device {}",
						 one.target.name, one.netdev));
			left_out.insert(one.target.name);
		}
	}
	std::erase_if(all, [&](const Difference &one) {
		return left_out.contains(one.target.name);
	});
}

void apply(std::vector<Difference> &all, bool present, Context &context)
{
	std::string remark;
	Made made(context);

	make_devices(all, present, made, context);
	const auto changes = changes_of(all);

	if (!changes.empty())
		remark = context.mpa().change(changes, false);
	made.keep();
	if (!remark.empty())
		context.warn(remark);
}

State part_of(const State &state, const RestoreOptions &options)
{
	if (options.defaults)
		return defaults_of(state);
	if (!options.netdev.empty())
		return devices_at(state, options.netdev);
	return state;
}

// The part of the file that is asked for.
State wanted_state(const RestoreOptions &options)
{
	auto wanted = part_of(state_from(read_file(options.file), options.file),
			      options);

	if (!options.present && !options.netdev.empty() &&
	    wanted.devices.empty())
		throw UsageError(fmt::format("{}: no device at {}", options.file,
					     options.netdev));
	return wanted;
}

} // namespace

void setup_restore(CLI::App &app, Run &chosen)
{
	add_command<RestoreOptions>(
		app, chosen, "restore",
		"Make the settings those of a file: FILE",
		[](CLI::App &command, RestoreOptions &options) {
			command.add_option("file", options.file,
					   "as written by save; - is standard "
					   "input")
				->required();
			command.add_flag("-n,--dry-run", options.dry_run,
					 "only show what would change");
			auto *defaults = command.add_flag(
				"--defaults", options.defaults,
				"only the namespace's defaults");
			command.add_option("--netdev", options.netdev,
					   "only devices at this network device")
				->type_name("NAME")
				->excludes(defaults);
			command.add_flag("--present", options.present,
					 "leave out devices without a network "
					 "device");
		},
		run_restore);
}

Exit run_restore(const RestoreOptions &options, Context &context)
{
	const auto wanted = wanted_state(options);
	auto all = differences(part_of(current_state(context), options),
			       wanted);

	if (!options.dry_run)
		apply(all, options.present, context);
	context.out.show(DifferenceView(all, options.dry_run));
	return Exit::ok;
}

} // namespace mpactl
