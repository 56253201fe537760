/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "commands/restore.hpp"

#include <cerrno>
#include <functional>
#include <set>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/stop_signals.hpp"
#include "commands/state.hpp"
#include "model/settings.hpp"
#include "model/target.hpp"

namespace mpactl {

namespace {

using What = Difference::What;

const char *what_word(What what)
{
	switch (what) {
	case What::created:
		return "created";
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
	case What::created:
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
		if (one.what == What::created) {
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

		if (one.what == What::created)
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

// Devices that were created by restore. They are removed again if it fails.
class CreatedDevices {
public:
	explicit CreatedDevices(Context &context) : context_(context) {}

	~CreatedDevices()
	{
		for (auto name = names_.rbegin(); name != names_.rend(); ++name)
			remove(*name);
	}

	CreatedDevices(const CreatedDevices &) = delete;
	CreatedDevices &operator=(const CreatedDevices &) = delete;

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

// Devices without their network device are skipped: removes their differences from `all`.
// `create`: called for each device that is to be created; false if its network device does
// not exist.
void skip_absent(std::vector<Difference> &all, Context &context,
		 const std::function<bool(const Difference &)> &create)
{
	std::set<std::string> skipped;

	for (const auto &one : all) {
		if (one.what != What::created || create(one))
			continue;
		context.warn(fmt::format("{}: skipped, because there is no "
					 "network device {}",
					 one.target.name, one.netdev));
		skipped.insert(one.target.name);
	}
	std::erase_if(all, [&](const Difference &one) {
		return skipped.contains(one.target.name);
	});
}

void create_devices(std::vector<Difference> &all, bool present,
		    CreatedDevices &created, Context &context)
{
	skip_absent(all, context, [&](const Difference &one) {
		try {
			created.add(one.target.name, one.netdev);
		} catch (const KernelError &error) {
			if (!present || error.refusal().number != ENODEV)
				throw;
			return false;
		}
		return true;
	});
}

void apply(std::vector<Difference> &all, bool present, Context &context)
{
	// A device must not be left without its settings. The destructor of this object is
	// called last, when the devices of a failure have been removed.
	const BlockedStopSignals until_complete;
	std::string remark;
	CreatedDevices created(context);

	create_devices(all, present, created, context);
	const auto changes = changes_of(all);

	if (!changes.empty())
		remark = context.mpa().change(changes, false);
	created.keep();
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

// The selected part of the file.
State wanted_state(const RestoreOptions &options)
{
	auto wanted = part_of(state_from(read_file(options.file), options.file),
			      options);

	if (!options.present && !options.netdev.empty() &&
	    wanted.devices.empty())
		throw UsageError(fmt::format("{}: there is no device at {}",
					     options.file, options.netdev));
	return wanted;
}

} // namespace

void setup_restore(CommandLine &line)
{
	add_command<RestoreOptions>(
		line, "restore", "Apply the settings of a file",
		[](Syntax command, RestoreOptions &options) {
			command.synopsis("FILE");
			command.argument(options.file, file_name(),
					 "file that 'mpactl save' has written; '-' "
					 "is standard input")
				->required();
			command.flag("-n,--dry-run", options.dry_run,
				     "only show what would change");
			auto *defaults =
				command.flag("--defaults", options.defaults,
					     "only the settings of the namespace");
			command.option("--netdev", options.netdev, any("NAME"),
				       "only devices at this network device")
				->excludes(defaults);
			command.flag("--present", options.present,
				     "skip devices whose network device does not "
				     "exist");
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
	else if (options.present)
		skip_absent(all, context, [&](const Difference &one) {
			return context.rdma().has_netdev(one.netdev);
		});
	context.out.show(DifferenceView(all, options.dry_run));
	return Exit::ok;
}

} // namespace mpactl
