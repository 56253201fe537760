/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// mpa-bench(1).
#include <exception>

#include <fmt/format.h>

#include "failure.hpp"
#include "net.hpp"
#include "options.hpp"
#include "session.hpp"

#include "../../cli/streams.hpp"

namespace {

// A server that is asked to end has succeeded.
int run(const bench::Options &options)
{
	try {
		if (options.server) {
			bench::serve(*options.server);
			return 0;
		}
		const auto report = bench::measure(*options.client);
		if (options.client->json)
			fmt::print("{}\n", bench::to_json(report));
		if (const auto error = cli::flush_output())
			bench::fail("standard output", bench::Status::failed, error.value());
	} catch (const bench::Failure &failure) {
		if (options.server && failure.status() == bench::Status::interrupted)
			return 0;
		cli::print_error("mpa-bench", failure.what());
		return static_cast<int>(failure.status());
	} catch (const std::exception &failure) {
		cli::print_error("mpa-bench", failure.what());
		return static_cast<int>(bench::Status::failed);
	}
	return 0;
}

} // namespace

int main(int argc, char **argv)
{
	int status = 0;

	if (const auto error = cli::reserve_standard_descriptors()) {
		cli::print_error("mpa-bench", "/dev/null: " + error.message());
		return static_cast<int>(bench::Status::failed);
	}
	const auto options = bench::parse_options(argc, argv, status);

	if (!options)
		return status;
	bench::catch_signals();
	bench::allow_descriptors();
	return run(*options);
}
