/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "commands/save.hpp"

#include "base/files.hpp"
#include "commands/state.hpp"

namespace mpactl {

namespace {

// A replaced character would change the name that is restored.
std::string file_text(const State &state)
try {
	return state_json(state).dump(2);
} catch (const Json::type_error &) {
	throw IoError("a name is not UTF-8 and cannot be saved");
}

class StateView : public View {
public:
	explicit StateView(const State &state) : state_(state) {}

	Json json() const override { return state_json(state_); }
	void text(Text &to) const override { to.line(file_text(state_)); }

private:
	const State &state_;
};

} // namespace

void setup_save(CommandLine &line)
{
	add_command<SaveOptions>(
		line, "save", "Write the settings that were changed to a file",
		[](Syntax command, SaveOptions &options) {
			command.synopsis("[FILE]");
			command.argument(options.file, file_name(),
					 "file to replace; '-', the default, is "
					 "standard output");
		},
		run_save);
}

Exit run_save(const SaveOptions &options, Context &context)
{
	const auto state = current_state(context);
	const auto text = file_text(state);

	if (options.file == "-")
		context.out.show(StateView(state));
	else
		write_file(options.file, text + "\n");
	return Exit::ok;
}

} // namespace mpactl
