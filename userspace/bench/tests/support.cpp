/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#include "support.hpp"

#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>

namespace bench::test {

namespace {

class OwnNetwork : public testing::Environment {
public:
	void SetUp() override
	{
		const int user = ::geteuid() == 0 ? 0 : CLONE_NEWUSER;
		ASSERT_EQ(::unshare(user | CLONE_NEWNET), 0) << std::strerror(errno);
		const Fd fd(::socket(AF_INET, SOCK_DGRAM, 0));
		ifreq request{};
		std::strcpy(request.ifr_name, "lo");
		request.ifr_flags = IFF_UP | IFF_RUNNING;
		ASSERT_EQ(::ioctl(fd.get(), SIOCSIFFLAGS, &request), 0)
			<< std::strerror(errno);
	}
};

const auto *const environment = testing::AddGlobalTestEnvironment(new OwnNetwork);

std::pair<Fd, Fd> connected()
{
	const auto listener = listen_at("127.0.0.1", 0);
	const auto port = Address::local(listener.get()).port();
	Fd client = connect_to("127.0.0.1", port, patience);
	const int fds[] = {listener.get()};

	wait_readable(fds, patience);
	return {std::move(client), accept_from(listener.get()).fd};
}

} // namespace

FullOutput::FullOutput() : before_(::dup(STDOUT_FILENO))
{
	const Fd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));

	std::fflush(stdout);
	::dup2(full.get(), STDOUT_FILENO);
}

FullOutput::~FullOutput()
{
	std::fflush(stdout);
	std::clearerr(stdout);
	::dup2(before_.get(), STDOUT_FILENO);
}

Pair::Pair() : Pair(connected()) {}

Pair::Pair(std::pair<Fd, Fd> ends)
	: client(std::move(ends.first), patience), server(std::move(ends.second), patience)
{
}

} // namespace bench::test
