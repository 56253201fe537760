/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "doctor/machine.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <linux/capability.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <paths.h>
#include <poll.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mpa/mpa.hpp>
#include <mpa/tcp.hpp>

#include "base/error.hpp"

namespace mpactl {

namespace {

using Steady = std::chrono::steady_clock;
using mpa::descriptor;
using mpa::tcp::addresses;
using std::chrono::milliseconds;

constexpr std::size_t most_text = 4 << 20;
constexpr milliseconds command_limit{5000};
constexpr milliseconds loop_limit{1500};
constexpr milliseconds answer_limit{700};
// A port that is normally closed; traceroute(8) uses it, too.
constexpr const char *closed_port = "33434";

std::string words_of(int error)
{
	return std::generic_category().message(error);
}

milliseconds left_until(Steady::time_point when)
{
	return std::max(std::chrono::ceil<milliseconds>(when - Steady::now()),
			milliseconds(0));
}

bool ready(int fd, short events, Steady::time_point when)
{
	pollfd one{.fd = fd, .events = events, .revents = 0};

	return ::poll(&one, 1, static_cast<int>(left_until(when).count())) > 0;
}

addresses numerical(const std::string &address, const std::string &port,
		    int type)
{
	addrinfo hints{};
	addrinfo *found = nullptr;

	hints.ai_socktype = type;
	hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
	return addresses(::getaddrinfo(address.c_str(), port.c_str(), &hints,
				       &found)
				 ? nullptr : found);
}

// --- commands -----------------------------------------------------------------

struct Pipe {
	descriptor read_end;
	descriptor write_end;

	Pipe()
	{
		int ends[2];

		if (::pipe2(ends, O_CLOEXEC))
			throw IoError("pipe: " + words_of(errno));
		read_end.reset(ends[0]);
		write_end.reset(ends[1]);
	}
};

class SpawnActions {
public:
	SpawnActions() { ::posix_spawn_file_actions_init(&actions_); }
	~SpawnActions() { ::posix_spawn_file_actions_destroy(&actions_); }
	SpawnActions(const SpawnActions &) = delete;
	SpawnActions &operator=(const SpawnActions &) = delete;

	posix_spawn_file_actions_t *get() { return &actions_; }

private:
	posix_spawn_file_actions_t actions_;
};

// Reads both streams to their ends, or until the time is over.
bool drain(descriptor &out, descriptor &err, CommandEnd &end,
	   Steady::time_point when)
{
	std::array<std::pair<descriptor *, std::string *>, 2> streams{
		{{&out, &end.out}, {&err, &end.err}}};
	std::array<char, 65536> piece;

	while (out || err) {
		pollfd both[2] = {{out.get(), POLLIN, 0}, {err.get(), POLLIN, 0}};

		if (::poll(both, 2, static_cast<int>(left_until(when).count())) <=
		    0)
			return false;
		for (std::size_t i = 0; i < 2; i++) {
			if (!both[i].revents)
				continue;
			auto [stream, text] = streams[i];
			const auto size = ::read(stream->get(), piece.data(),
						 piece.size());
			const bool full = text->size() > most_text;

			end.too_long = end.too_long || (size > 0 && full);
			if (size <= 0 || full)
				stream->reset();
			else
				text->append(piece.data(),
					     static_cast<std::size_t>(size));
		}
	}
	return true;
}

// Returns the exit status; empty: not known. Kills the process if it has not ended by
// then.
std::optional<int> reap(pid_t pid, bool in_time, Steady::time_point when)
{
	int status = 0;

	while (in_time && Steady::now() < when) {
		const pid_t ended = ::waitpid(pid, &status, WNOHANG);

		if (ended == pid)
			return status;
		// It is no child any more, and another process may have its number.
		if (ended < 0)
			return {};
		::poll(nullptr, 0, 5);
	}
	::kill(pid, SIGKILL);
	while (::waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return {};
	return status;
}

// Users' PATH does not have the directories of programs that mostly root runs: nft, modinfo.
void search_sbin()
{
	// An empty element, which this must not add, is the working directory.
	const char *set = std::getenv("PATH");
	std::string path = set && *set ? set : _PATH_DEFPATH;

	for (const char *dir : {"/usr/local/sbin", "/usr/sbin", "/sbin"})
		if ((":" + path + ":").find(fmt::format(":{}:", dir)) == path.npos)
			path += fmt::format(":{}", dir);
	::setenv("PATH", path.c_str(), 1);
}

CommandEnd run_command(const std::vector<std::string> &command)
{
	const auto when = Steady::now() + command_limit;
	std::vector<char *> words;
	SpawnActions actions;
	CommandEnd end;
	Pipe out, err;
	pid_t pid = 0;

	for (const auto &word : command)
		words.push_back(const_cast<char *>(word.c_str()));
	words.push_back(nullptr);
	// While it is ignored, which programs inherit, children leave no exit status.
	::signal(SIGCHLD, SIG_DFL);
	search_sbin();
	::posix_spawn_file_actions_addopen(actions.get(), 0, "/dev/null",
					   O_RDONLY, 0);
	::posix_spawn_file_actions_adddup2(actions.get(), out.write_end.get(), 1);
	::posix_spawn_file_actions_adddup2(actions.get(), err.write_end.get(), 2);
	if (::posix_spawnp(&pid, words[0], actions.get(), nullptr, words.data(),
			   environ)) {
		end.found = false;
		return end;
	}
	out.write_end.reset();
	err.write_end.reset();
	const bool in_time = drain(out.read_end, err.read_end, end, when);
	const auto status = reap(pid, in_time, when);
	end.timed_out = !in_time || (status && WIFSIGNALED(*status) &&
				     WTERMSIG(*status) == SIGKILL);
	end.status = status && WIFEXITED(*status) ? WEXITSTATUS(*status) : 128;
	// posix_spawnp() of some libraries reports a missing program like this.
	end.found = end.status != 127;
	return end;
}

// --- network devices ------------------------------------------------------------

unsigned int mtu_of(const std::string &name)
{
	descriptor fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
	ifreq request{};

	std::strncpy(request.ifr_name, name.c_str(), IFNAMSIZ - 1);
	return fd && !::ioctl(fd.get(), SIOCGIFMTU, &request)
		? static_cast<unsigned int>(request.ifr_mtu) : 0;
}

std::string address_of(const sockaddr *address)
{
	char host[NI_MAXHOST];
	socklen_t size = 0;

	if (address && address->sa_family == AF_INET)
		size = sizeof(sockaddr_in);
	else if (address && address->sa_family == AF_INET6)
		size = sizeof(sockaddr_in6);
	if (!size || ::getnameinfo(address, size, host, sizeof(host), nullptr, 0,
				   NI_NUMERICHOST))
		return {};
	const std::string text = host;
	return text.substr(0, text.find('%'));
}

std::vector<Netdev> all_netdevs()
{
	ifaddrs *first = nullptr;

	if (::getifaddrs(&first))
		throw IoError("network devices: " + words_of(errno));
	const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> all(
		first, ::freeifaddrs);
	auto list = netdevs_of(first);
	for (auto &netdev : list) {
		netdev.mtu = mtu_of(netdev.name);
		netdev.index = ::if_nametoindex(netdev.name.c_str());
	}
	return list;
}

// --- TCP connections to local addresses -----------------------------------------

descriptor listen_at(const addrinfo &at)
{
	descriptor fd(::socket(at.ai_family,
			       SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));

	if (fd && (::bind(fd.get(), at.ai_addr, at.ai_addrlen) ||
		   ::listen(fd.get(), 1)))
		fd.reset();
	return fd;
}

// 0, or an error number.
int connect_in_time(const sockaddr *to, socklen_t size)
{
	descriptor fd(::socket(to->sa_family,
			       SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	int error = 0;
	socklen_t error_size = sizeof(error);

	if (!fd)
		return errno;
	if (!::connect(fd.get(), to, size))
		return 0;
	if (errno != EINPROGRESS)
		return errno;
	if (!ready(fd.get(), POLLOUT, Steady::now() + loop_limit))
		return ETIMEDOUT;
	::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &error_size);
	return error;
}

Loop loop_at(const std::string &address, std::uint16_t port)
{
	const auto at = numerical(address, std::to_string(port), SOCK_STREAM);
	sockaddr_storage own{};
	socklen_t size = sizeof(own);

	if (!at)
		return {LoopEnd::failed, "not an address"};
	const auto listener = listen_at(*at);
	if (!listener)
		return {LoopEnd::not_bound, words_of(errno)};
	auto *generic = reinterpret_cast<sockaddr *>(&own);
	::getsockname(listener.get(), generic, &size);
	const int error = connect_in_time(generic, size);
	if (!error)
		return {};
	return {error == ETIMEDOUT      ? LoopEnd::timeout
		: error == ECONNREFUSED ? LoopEnd::refused
					: LoopEnd::failed,
		words_of(error)};
}

// --- the path to a peer ---------------------------------------------------------

// Whether the peer answers a datagram with that many bytes of data by "port
// unreachable" until then. What a program there may answer does not count.
bool answered_until(const descriptor &fd, std::size_t size, Steady::time_point when)
{
	const std::vector<char> bytes(size);
	char ignored;

	// An error of an earlier datagram may be reported first.
	if (::send(fd.get(), bytes.data(), bytes.size(), 0) < 0)
		return errno == ECONNREFUSED;
	while (Steady::now() < when && ready(fd.get(), POLLIN, when))
		if (::recv(fd.get(), &ignored, 1, 0) < 0)
			return errno == ECONNREFUSED;
	return false;
}

// A peer limits such answers to one per second after the first few
// (icmp_ratelimit), so the datagram is repeated for longer than a second: three
// times at the most.
bool answered(const descriptor &fd, std::size_t size)
{
	constexpr milliseconds rate_limit{1000};
	const auto limit = Steady::now() + rate_limit + answer_limit;

	do {
		const auto when = Steady::now() + answer_limit;

		if (answered_until(fd, size, when))
			return true;
		// It may have failed at once.
		::poll(nullptr, 0, static_cast<int>(left_until(when).count()));
	} while (Steady::now() < limit);
	return false;
}

Path path_to(const std::string &address, unsigned int size)
{
	const auto to = numerical(address, closed_port, SOCK_DGRAM);
	Path path;

	if (!to)
		return {.why = "not an address"};
	const bool six = to->ai_family == AF_INET6;
	const int level = six ? int{IPPROTO_IPV6} : int{IPPROTO_IP};
	const int whole = six ? int{IPV6_PMTUDISC_DO} : int{IP_PMTUDISC_DO};
	const unsigned int headers = (six ? 40 : 20) + 8;
	descriptor fd(::socket(to->ai_family,
			       SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	int mtu = 0;
	socklen_t mtu_size = sizeof(mtu);

	if (!fd ||
	    ::setsockopt(fd.get(), level, six ? IPV6_MTU_DISCOVER
					      : IP_MTU_DISCOVER,
			 &whole, sizeof(whole)) ||
	    ::connect(fd.get(), to->ai_addr, to->ai_addrlen))
		return {.why = words_of(errno)};
	path.small_answered = answered(fd, 8);
	path.large_answered = answered(fd, size > headers ? size - headers : 0);
	if (!::getsockopt(fd.get(), level, six ? IPV6_MTU : IP_MTU, &mtu,
			  &mtu_size))
		path.mtu = static_cast<unsigned int>(mtu);
	return path;
}

// --- the machine ----------------------------------------------------------------

class ThisMachine : public Machine {
public:
	explicit ThisMachine(Kernel &kernel) : kernel_(kernel) {}

	std::string release() override
	{
		utsname names{};

		::uname(&names);
		return names.release;
	}

	std::string host_name() override
	{
		utsname names{};

		::uname(&names);
		return names.nodename;
	}

	unsigned int uid() override { return ::geteuid(); }

	bool capable(unsigned int capability) override
	{
		__user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
		__user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3]{};

		if (::syscall(SYS_capget, &header, data))
			return false;
		return data[CAP_TO_INDEX(capability)].effective &
		       CAP_TO_MASK(capability);
	}

	std::string environment(const std::string &name) override
	{
		const char *value = std::getenv(name.c_str());

		return value ? value : "";
	}

	FileText read(const std::string &path) override
	{
		descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC |
							   O_NONBLOCK));
		std::array<char, 65536> piece;
		FileText file;
		ssize_t size;

		if (!fd)
			return {errno, {}};
		while (file.text.size() < most_text &&
		       (size = ::read(fd.get(), piece.data(), piece.size())) > 0)
			file.text.append(piece.data(),
					 static_cast<std::size_t>(size));
		return file;
	}

	std::vector<std::string> list(const std::string &path) override
	{
		using std::filesystem::directory_iterator;
		std::vector<std::string> names;
		std::error_code error;

		// After an error it is at the end. Its ++ would throw.
		for (directory_iterator at(path, error); at != directory_iterator();
		     at.increment(error))
			names.push_back(at->path().filename());
		std::sort(names.begin(), names.end());
		return names;
	}

	bool exists(const std::string &path) override
	{
		return ::access(path.c_str(), F_OK) == 0;
	}

	int access(const std::string &path) override
	{
		return ::faccessat(AT_FDCWD, path.c_str(), R_OK | W_OK, AT_EACCESS)
			? errno : 0;
	}

	std::optional<std::uint64_t> memlock() override
	{
		rlimit limit{};

		::getrlimit(RLIMIT_MEMLOCK, &limit);
		if (limit.rlim_cur == RLIM_INFINITY)
			return {};
		return limit.rlim_cur;
	}

	CommandEnd run(const std::vector<std::string> &command) override
	{
		return run_command(command);
	}

	std::vector<Netdev> netdevs() override { return all_netdevs(); }

	// The request would load the RDMA core, but the doctor changes nothing.
	std::vector<RdmaDevice> rdma_devices() override
	try {
		if (!exists("/sys/module/ib_core"))
			return {};
		return kernel_.rdma().devices();
	} catch (const Error &) {
		return {};
	}

	// Likewise: the kernel would load the module for its family of netlink.
	Transport *mpa() override
	try {
		if (!exists("/sys/module/mpa"))
			return nullptr;
		return &kernel_.mpa();
	} catch (const Error &) {
		return nullptr;
	}

	Loop loop(const std::string &address, std::uint16_t port) override
	{
		return loop_at(address, port);
	}

	Path path(const std::string &address, unsigned int size) override
	{
		return path_to(address, size);
	}

private:
	Kernel &kernel_;
};

} // namespace

std::vector<Netdev> netdevs_of(const ifaddrs *list)
{
	std::map<std::string, Netdev> found;
	std::vector<Netdev> all;

	for (const auto *one = list; one; one = one->ifa_next) {
		// An address with a label has it instead of the name: eth0:vip.
		const std::string_view name = one->ifa_name;
		auto &netdev = found[std::string(name.substr(0, name.find(':')))];
		const auto address = address_of(one->ifa_addr);

		netdev.up = one->ifa_flags & IFF_UP;
		netdev.carrier = one->ifa_flags & IFF_RUNNING;
		netdev.loopback = one->ifa_flags & IFF_LOOPBACK;
		if (!address.empty())
			netdev.addresses.push_back(address);
	}
	for (auto &[name, netdev] : found) {
		netdev.name = name;
		all.push_back(std::move(netdev));
	}
	return all;
}

std::unique_ptr<Machine> this_machine(Kernel &kernel)
{
	return std::make_unique<ThisMachine>(kernel);
}

} // namespace mpactl
