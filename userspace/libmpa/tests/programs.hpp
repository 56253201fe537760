/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// Standard input and output for the functions of programs.
#pragma once

#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <mpa/mpa.hpp>
#include <unistd.h>

namespace test {

// Standard input has this text, and standard output is kept, for the lifetime of this
// object.
class Streams {
public:
	explicit Streams(std::string_view text) : before_(::dup(STDIN_FILENO))
	{
		int ends[2] = {-1, -1};

		EXPECT_EQ(::pipe(ends), 0);
		const mpa::descriptor read_end(ends[0]), write_end(ends[1]);
		EXPECT_EQ(::write(write_end.get(), text.data(), text.size()),
			  static_cast<ssize_t>(text.size()));
		::dup2(read_end.get(), STDIN_FILENO);
		testing::internal::CaptureStdout();
	}
	~Streams() { ::dup2(before_.get(), STDIN_FILENO); }
	Streams(const Streams &) = delete;
	Streams &operator=(const Streams &) = delete;

	// To be called once.
	std::string output() { return testing::internal::GetCapturedStdout(); }

private:
	mpa::descriptor before_;
};

} // namespace test
