/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "show/settings_view.hpp"

#include "model/settings.hpp"
#include "model/target.hpp"

namespace mpactl {

namespace {

const char *kind_word(Target::Kind kind)
{
	switch (kind) {
	case Target::Kind::device:
		return "device";
	case Target::Kind::listener:
		return "listener";
	case Target::Kind::defaults:
		break;
	}
	return "defaults";
}

} // namespace

Json config_json(const Target &target, const Config &config)
{
	Json json{{"kind", kind_word(target.kind)}};

	if (target.kind == Target::Kind::device)
		json["name"] = target.name;
	if (target.kind == Target::Kind::listener)
		json["id"] = target.id;
	json["config"] = settings_json(config.in_force);
	json["own"] = keys_of(config.own);
	return json;
}

const Source *SettingsView::origin(unsigned int key) const
{
	for (const auto &source : sources_)
		if (source.config.own & Settings::bit(key))
			return &source;
	return nullptr;
}

Json SettingsView::json() const
{
	const auto &config = sources_.front().config;
	auto json = config_json(sources_.front().target, config);
	Json from = Json::object();

	for (const auto &setting : settings()) {
		if (!config.in_force.has(setting.key))
			continue;
		const auto *source = origin(setting.key);

		from[setting.json] = source ? kind_word(source->target.kind)
					    : "built-in";
	}
	json["from"] = std::move(from);
	return json;
}

void SettingsView::text(Text &to) const
{
	const auto &values = sources_.front().config.in_force;
	Table table{{{"SETTING"}, {"VALUE"}, {"FROM"}}, {}};

	for (const auto &setting : settings()) {
		if (!values.has(setting.key))
			continue;
		const auto *source = origin(setting.key);
		const bool own = source == &sources_.front();

		table.rows.push_back(
			{{setting.name},
			 {value_text(setting, values.at(setting.key)),
			  own ? Style::strong : Style::plain},
			 source ? Cell{target_text(source->target),
				       own ? Style::strong : Style::plain}
				: Cell{"built in", Style::dim}});
	}
	to.table(table);
}

} // namespace mpactl
