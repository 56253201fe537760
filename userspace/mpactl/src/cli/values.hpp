/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// The possible values of an argument. Help, completion and error messages use the
// same object, so that they cannot differ.
#pragma once

#include <string>
#include <vector>

#include "cli/context.hpp"
#include "model/names.hpp"

namespace mpactl {

// A word that can be typed, with an explanation or an empty string.
struct Candidate {
	std::string word;
	std::string remark;
};

using Candidates = std::vector<Candidate>;

struct Values {
	// What --help calls the value: "DEVICE", "required|off".
	std::string name;
	// The possible words.
	Candidates words = {};
	// Several of `words` are possible, separated by commas.
	bool list = false;
	// Words that cannot be part of a list.
	Candidates alone = {};
	// Any other word is an error while the command line is parsed. Otherwise
	// the command checks the value.
	bool closed = false;
	// Names of objects that exist now, from the kernel.
	Candidates (*names)(Context &context) = nullptr;

	// All possible words, "a, b, c"; empty if the set of words is open.
	std::string text() const;
	// The words that start with `typed`, which may be a list.
	Candidates starting_with(const std::string &typed, Context &context) const;
};

// Exactly one of the words. Without a name, help shows the words: "a|b|c".
Values one_of(Candidates words, std::string name = "");
// Any value that the command accepts.
Values any(std::string name);

// The words of a table, with their explanations.
Candidates candidates_of(const std::vector<Word> &words);

// Names and ids of existing objects.
Values device_name();
Values listener_id();
Values connection_id();

// Completion leaves these to the shell.
Values file_name();
Values host_name();

// The words printed for the last two in place of candidates.
constexpr const char *complete_files = ":files";
constexpr const char *complete_hosts = ":hosts";

} // namespace mpactl
