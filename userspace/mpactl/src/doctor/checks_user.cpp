/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// User space: rdma-core, the mpa provider, limits.

#include <algorithm>
#include <cctype>
#include <string_view>

#include <fmt/format.h>
#include <linux/capability.h>

#include "doctor/checks.hpp"

namespace mpactl::checks {

namespace {

constexpr const char *config_dir = "/etc/libibverbs.d";
// "make deb" has made it with the other packages.
constexpr const char *from_package = "apt install ./ibverbs-provider-mpa_*.deb";
constexpr const char *from_source =
	"in linux-mpa: make userspace && make install-provider";

// Directories of libraries: those of Debian's architectures first.
std::vector<std::string> library_dirs(Examination &on)
{
	std::vector<std::string> dirs;

	for (const auto &name : on.machine.list("/usr/lib"))
		if (name.find("-linux-gnu") != std::string::npos)
			dirs.push_back("/usr/lib/" + name);
	dirs.insert(dirs.end(), {"/usr/lib64", "/usr/lib", "/usr/local/lib"});
	return dirs;
}

// The architecture that an ELF file is for, or an empty string.
std::string architecture_of(Examination &on, const std::string &path)
{
	// e_machine.
	constexpr std::size_t at = 18, size = 2;
	const auto text = on.machine.read(path).text;

	return text.starts_with("\x7f""ELF") && text.size() >= at + size
		? text.substr(at, size) : std::string();
}

// The first directory that has the library for the architecture of this program, or an
// empty string.
std::string dir_of(Examination &on, const std::string &library)
{
	const auto own = architecture_of(on, "/proc/self/exe");

	for (const auto &dir : library_dirs(on)) {
		const auto file = dir + "/" + library;

		if (!on.machine.exists(file))
			continue;
		const auto its = architecture_of(on, file);
		if (own.empty() || its.empty() || its == own)
			return dir;
	}
	return {};
}

// The version of libibverbs' private interface, which is in the name of a symbol
// version.
std::string private_abi(Examination &on, const std::string &dir)
{
	static constexpr std::string_view node = "IBVERBS_PRIVATE_";
	const auto file = on.machine.read(dir + "/libibverbs.so.1");
	const auto at = file.text.find(node);
	std::string digits;

	if (at == std::string::npos)
		return {};
	for (auto i = at + node.size();
	     i < file.text.size() &&
	     std::isdigit(static_cast<unsigned char>(file.text[i]));
	     i++)
		digits += file.text[i];
	return digits;
}

// The drivers in IBV_DRIVERS, or in the older variable. libibverbs ignores both in
// programs that have more privileges than their user.
std::vector<std::string> drivers_by_environment(Examination &on)
{
	auto text = on.machine.environment("IBV_DRIVERS");
	std::vector<std::string> drivers(1);

	if (text.empty())
		text = on.machine.environment("RDMAV_DRIVERS");
	for (const char c : text)
		if (c == ':' || c == ';')
			drivers.emplace_back();
		else
			drivers.back() += c;
	std::erase(drivers, "");
	return drivers;
}

// Other versions of the interface for which the provider is installed.
std::vector<std::string> other_abis(Examination &on, const std::string &dir)
{
	static constexpr std::string_view begin = "libmpa-rdmav", end = ".so";
	std::vector<std::string> found;

	for (const auto &name : on.machine.list(dir))
		if (name.starts_with(begin) && name.ends_with(end))
			found.push_back(name.substr(begin.size(),
						    name.size() - begin.size() -
							    end.size()));
	return found;
}

// The driver that a .driver file names, or an empty string.
std::string driver_in(const std::string &text)
{
	static constexpr std::string_view key = "driver";
	std::size_t from = 0;

	while (from < text.size()) {
		const auto to = std::min(text.find('\n', from), text.size());
		const auto line = text.substr(from, to - from);

		from = to + 1;
		if (!line.starts_with(key) || line.size() == key.size())
			continue;
		const auto at = line.find_first_not_of(" \t", key.size());
		if (at != std::string::npos && at > key.size())
			return line.substr(at, line.find_first_of(" \t", at) - at);
	}
	return {};
}

// Whether it is the name of the mpa driver: "mpa", ".../libmpa".
bool is_mpa_driver(const std::string &driver)
{
	return driver == "mpa" || driver.ends_with("/libmpa");
}

// The path of the mpa driver, or an empty string if it is in the usual directory.
std::string named_path(Examination &on)
{
	for (const auto &driver : drivers_by_environment(on))
		if (driver.find('/') != std::string::npos && is_mpa_driver(driver))
			return driver;
	for (const auto &name : on.machine.list(config_dir)) {
		const auto driver = driver_in(
			on.machine.read(std::string(config_dir) + "/" + name).text);

		if (driver.starts_with('/') && is_mpa_driver(driver))
			return driver;
	}
	return {};
}

} // namespace

Diagnosis rdma_core(Examination &on)
{
	for (const char *library : {"libibverbs.so.1", "librdmacm.so.1"})
		if (dir_of(on, library).empty())
			return fail(std::string(library) + " is not installed",
				    "apt-get install rdma-core ibverbs-providers "
				    "librdmacm1 rdmacm-utils");
	return ok();
}

Diagnosis provider(Examination &on)
{
	const auto dir = dir_of(on, "libibverbs.so.1");
	const auto abi = private_abi(on, dir);
	const auto named = named_path(on);
	const auto stem = named.empty() ? dir + "/libibverbs/libmpa" : named;
	const auto wanted = fmt::format("{}-rdmav{}.so", stem, abi);

	if (abi.empty())
		return skip("the version of libibverbs' provider interface is "
			    "unknown");
	if (on.machine.exists(wanted))
		return ok(wanted);
	const auto others = other_abis(on, stem.substr(0, stem.rfind('/')));
	// The package installs nothing at a path that someone has named.
	const bool packaged = named.empty() && on.is_packaged();
	if (others.empty())
		return fail(wanted + " is missing", packaged ? from_package : from_source);
	return fail(fmt::format("the provider is installed for private ABI {}, but "
				"rdma-core has {}",
				fmt::join(others, ", "), abi),
		    packaged ? fmt::format("{}, the one for this rdma-core", from_package)
			     : fmt::format("build it again for this rdma-core; {}",
					   from_source));
}

Diagnosis driver_file(Examination &on)
{
	const auto by_environment = drivers_by_environment(on);

	if (std::any_of(by_environment.begin(), by_environment.end(), is_mpa_driver))
		return ok("set by the environment");
	for (const auto &name : on.machine.list(config_dir)) {
		const auto path = std::string(config_dir) + "/" + name;
		const auto file = on.machine.read(path);

		if (is_mpa_driver(driver_in(file.text)))
			return ok(path);
		if (name == "mpa.driver" && file.error)
			return fail(path + " cannot be read",
				    "chmod 644 " + path);
	}
	return fail("no file in /etc/libibverbs.d names the driver mpa",
		    "echo 'driver mpa' > /etc/libibverbs.d/mpa.driver");
}

Diagnosis memlock(Examination &on)
{
	// Less is not enough for a single queue pair with its buffers.
	static constexpr std::uint64_t least = 64 << 10, enough = 1 << 20;
	const auto limit = on.machine.memlock();
	const std::string remedy =
		"ulimit -l unlimited; permanently: '* - memlock unlimited' in "
		"/etc/security/limits.d/rdma.conf, LimitMEMLOCK=infinity in a "
		"systemd unit";

	if (!limit)
		return ok("unlimited");
	const auto text = fmt::format("{} KiB", *limit >> 10);
	if (on.machine.capable(CAP_IPC_LOCK))
		return ok(text + ", which does not apply with CAP_IPC_LOCK");
	if (*limit < least)
		return fail(text + " of memory can be locked: memory regions "
				   "cannot be registered",
			    remedy);
	if (*limit < enough)
		return warn(text + " of memory can be locked: large buffers "
				   "cannot be registered",
			    remedy);
	return ok(text);
}

} // namespace mpactl::checks
