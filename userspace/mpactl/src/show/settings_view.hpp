/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// Settings of an object as text and JSON.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model/model.hpp"
#include "show/output.hpp"

namespace mpactl {

// An object and its settings.
struct Source {
	Target target;
	Config config;
};

// {"kind", "name" or "id", "config", "own"}.
Json config_json(const Target &target, const Config &config);

class SettingsView : public View {
public:
	// The object itself, followed by the objects from which it inherits.
	explicit SettingsView(std::vector<Source> sources)
		: sources_(std::move(sources))
	{
	}

	Json json() const override;
	void text(Text &to) const override;

private:
	// The object at which the setting was set; nullptr: built in.
	const Source *origin(unsigned int key) const;

	std::vector<Source> sources_;
};

} // namespace mpactl
