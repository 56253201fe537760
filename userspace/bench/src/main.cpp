/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// mpa-bench(1).
#include <cstdio>
#include <exception>

#include <fmt/format.h>

#include "failure.hpp"
#include "net.hpp"
#include "options.hpp"
#include "session.hpp"

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
	} catch (const bench::Failure &failure) {
		if (options.server && failure.status() == bench::Status::interrupted)
			return 0;
		fmt::print(stderr, "mpa-bench: {}\n", failure.what());
		return static_cast<int>(failure.status());
	} catch (const std::exception &failure) {
		fmt::print(stderr, "mpa-bench: {}\n", failure.what());
		return static_cast<int>(bench::Status::failed);
	}
	if (std::fflush(stdout)) {
		std::perror("mpa-bench: standard output");
		return static_cast<int>(bench::Status::failed);
	}
	return 0;
}

} // namespace

int main(int argc, char **argv)
{
	int status = 0;
	const auto options = bench::parse_options(argc, argv, status);

	if (!options)
		return status;
	bench::catch_signals();
	bench::allow_descriptors();
	return run(*options);
}
