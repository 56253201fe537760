/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// Kernel modules: mpa, mpa_rnic and those of the RDMA core.

#include <array>
#include <string_view>

#include <fmt/format.h>

#include "base/release.hpp"
#include "doctor/checks.hpp"
#include "doctor/signing_key.hpp"

namespace mpactl::checks {

namespace {

constexpr std::array<const char *, 2> mpa_modules{"mpa", "mpa_rnic"};

bool is_loaded(Examination &on, const std::string &module)
{
	return on.machine.exists("/sys/module/" + module);
}

// In the list of depmod(8) a colon follows the path of each module.
bool is_listed(std::string_view list, const std::string &module)
{
	for (const char *suffix : {".ko:", ".ko.xz:", ".ko.zst:", ".ko.gz:"})
		if (list.find("/" + module + suffix) != list.npos ||
		    list.starts_with(module + suffix) ||
		    list.find("\n" + module + suffix) != list.npos)
			return true;
	return false;
}

std::vector<std::string> not_listed(Examination &on, const std::string &release)
{
	const auto list =
		on.machine.read("/lib/modules/" + release + "/modules.dep");
	std::vector<std::string> missing;

	for (const char *module : mpa_modules)
		if (!is_listed(list.text, module))
			missing.emplace_back(module);
	return missing;
}

// The release of a kernel for which the modules are installed.
std::string release_with_modules(Examination &on)
{
	for (const auto &release : on.machine.list("/lib/modules"))
		if (not_listed(on, release).empty())
			return release;
	return {};
}

// Whether the kernel was built with RDMA, which mpa_rnic needs. Assumed if its configuration is not
// there.
bool has_rdma(Examination &on, const std::string &release)
{
	const auto config = on.machine.read("/boot/config-" + release).text;

	return config.find("\nCONFIG_") == config.npos ||
	       config.find("\nCONFIG_INFINIBAND=") != config.npos;
}

std::string kernel_with_rdma(const std::string &release)
{
	static constexpr std::string_view cloud = "-cloud-";
	const auto at = release.rfind(cloud);
	const auto arch = at == release.npos ? "ARCH" : release.substr(at + cloud.size());

	return fmt::format("boot a kernel that has RDMA; on Debian: apt install linux-image-{0} "
			   "linux-headers-{0}", arch);
}

// How to get the modules for this kernel. `again`: there are some, but they do not fit.
std::string how_to_install(Examination &on, bool again)
{
	const auto release = on.machine.release();
	const auto version = on.dkms_version();
	const auto build = "/lib/modules/" + release + "/build";
	const bool has_headers = on.machine.exists(build + "/include");
	const auto headers = has_headers ? "" : "linux-headers-" + release;
	const auto first = has_headers ? "" : "apt install " + headers + "; ";

	if (!version.empty())
		return fmt::format("{}{}dkms install {}-m linux-mpa -v {} -k {}", first,
				   has_headers || again ? "" : "if DKMS does not build them then: ",
				   again ? "--force " : "", version, release);
	if (on.is_packaged())
		return "apt install ./linux-mpa-dkms_*.deb" + (has_headers ? "" : " " + headers);
	return fmt::format("{0}in linux-mpa: {1}make KDIR={2} && make install KDIR={2}", first,
			   again ? "make clean, " : "", build);
}

// The first line of a field of modinfo(8); "?" if modinfo fails.
std::string module_field(Examination &on, const char *field, const char *module)
{
	const auto end = on.machine.run({"modinfo", "-F", field, module});

	return end.good() ? end.out.substr(0, end.out.find('\n'))
			  : std::string("?");
}

Diagnosis module_of_core(Examination &on, const char *module, const char *what)
{
	if (is_loaded(on, module))
		return ok();
	return fail(fmt::format("module {} is not loaded: {}", module, what),
		    fmt::format("modprobe {0}; for every boot: echo {0} > "
				"/etc/modules-load.d/{0}.conf",
				module));
}

// Whether the kernel's own modules are signed with that key.
bool is_key_of_kernel(Examination &on, const std::string &serial)
{
	return !serial.empty() && serial != "?" &&
	       serial == module_field(on, "sig_key", "ib_core");
}

// The result for a module with a signature that the kernel will check.
Diagnosis signed_module(Examination &on, const char *module, const std::string &signer,
			const char *enforcer)
{
	const auto serial = module_field(on, "sig_key", module);
	const auto detail = fmt::format("{} is signed by {}", module, signer);

	if (is_key_of_kernel(on, serial))
		return ok(detail);
	const auto key = find_signing_key(on, serial);
	const auto file = key.certificate.empty() ? "CERTIFICATE" : key.certificate;
	const std::string confirm = "reboot, and choose \"Enroll MOK\"";
	const auto enroll = fmt::format("mokutil --import {}, which asks for a new password; {}",
					file, confirm);
	const char *as_root = on.machine.uid() ? "as root: mpactl doctor --check "
						 "module-signature, or: " : "";
	switch (key.enrolled) {
	case Enrolled::yes:
		return ok(detail);
	case Enrolled::requested:
		return fail(detail + ", a key whose enrollment is requested, but not confirmed",
			    confirm);
	case Enrolled::no:
		return fail(fmt::format("{}, a key that is not enrolled, and {} forbids that",
					detail, enforcer),
			    on.machine.exists("/sys/firmware/efi")
				    ? enroll
				    : "sign mpa.ko and mpa_rnic.ko with the key of this kernel, or "
				      "boot without module.sig_enforce and lockdown");
	case Enrolled::unknown:
		break;
	}
	return warn(fmt::format("{}, and it is unknown whether that key is enrolled{}", detail,
				key.certificate.empty() ? ": its certificate was not found" : ""),
		    fmt::format("{}mokutil --test-key {}; if it is not enrolled: {}", as_root,
				file, enroll));
}

} // namespace

Diagnosis module_files(Examination &on)
{
	const auto release = on.machine.release();
	const auto missing = not_listed(on, release);
	const auto other = release_with_modules(on);
	auto detail = fmt::format("no {} for kernel {}", fmt::join(missing, ", "),
				  release);

	if (missing.empty())
		return ok();
	if (is_loaded(on, "mpa") && is_loaded(on, "mpa_rnic"))
		return ok("loaded from another place");
	if (!other.empty())
		detail += ", only for " + other;
	if (!has_rdma(on, release))
		return fail(detail + "; this kernel has no RDMA (CONFIG_INFINIBAND)",
			    kernel_with_rdma(release));
	return fail(detail, fmt::format("{}; if they are installed: depmod {}",
					how_to_install(on, false), release));
}

Diagnosis module_version(Examination &on)
{
	const auto release = on.machine.release();

	if (is_loaded(on, "mpa") && is_loaded(on, "mpa_rnic"))
		return ok();
	for (const char *module : mpa_modules) {
		const auto magic = module_field(on, "vermagic", module);

		if (magic == "?")
			return skip("modinfo shows no information");
		if (magic.substr(0, magic.find(' ')) != release)
			return fail(fmt::format("{} is built for {}, this is {}",
						module, magic, release),
				    how_to_install(on, true));
	}
	return ok();
}

Diagnosis module_signature(Examination &on)
{
	const auto lockdown = on.machine.read("/sys/kernel/security/lockdown");
	const auto enforced =
		on.machine.read("/sys/module/module/parameters/sig_enforce");
	const bool locked = lockdown.text.find("[integrity]") != std::string::npos ||
			    lockdown.text.find("[confidentiality]") !=
				    std::string::npos;

	if (is_loaded(on, "mpa") && is_loaded(on, "mpa_rnic"))
		return ok();
	if (!locked && !enforced.text.starts_with('Y'))
		return ok();
	const char *enforcer = locked ? "lockdown (secure boot)" : "sig_enforce";
	Diagnosis diagnosis;
	for (const char *module : mpa_modules) {
		// The kernel has accepted it.
		if (is_loaded(on, module))
			continue;
		const auto signer = module_field(on, "signer", module);

		if (signer == "?")
			return skip("modinfo shows no information");
		if (signer.empty())
			return fail(fmt::format("{} is not signed, and {} forbids "
						"such modules",
						module, enforcer),
				    "sign mpa.ko and mpa_rnic.ko with a key that "
				    "is enrolled (mokutil --import), or disable "
				    "secure boot");
		diagnosis = signed_module(on, module, signer, enforcer);
		if (diagnosis.health != Health::ok)
			break;
	}
	return diagnosis;
}

Diagnosis module_loaded(Examination &on)
{
	const auto taint = on.machine.read("/sys/module/mpa_rnic/taint");

	for (const char *module : mpa_modules)
		if (!is_loaded(on, module))
			return fail(fmt::format("module {} is not loaded", module),
				    "modprobe mpa_rnic, or create a device, which "
				    "loads it: rdma link add mpa0 type mpa netdev "
				    "NETDEV");
	if (taint.text.empty() || taint.text == "\n")
		return ok();
	return ok("taint flags of the module: " +
		  taint.text.substr(0, taint.text.find('\n')));
}

Diagnosis family(Examination &on)
{
	if (on.machine.mpa())
		return ok();
	return warn("the loaded module mpa has no generic netlink family: it is "
		    "older than this tool",
		    "remove the devices, then: modprobe -r mpa_rnic mpa; depmod; "
		    "modprobe mpa_rnic");
}

Diagnosis release(Examination &on)
{
	const auto difference =
		different_release(on.machine.read(module_release_file).text);

	return difference.empty()
		       ? ok()
		       : warn(difference, "install the same release of both; loaded "
					  "modules are replaced at the next boot");
}

Diagnosis uverbs_module(Examination &on)
{
	return module_of_core(on, "ib_uverbs", "programs find no device");
}

Diagnosis rdma_cm_module(Examination &on)
{
	return module_of_core(on, "rdma_ucm",
			      "programs that use rdma_cm, as most do, cannot "
			      "connect");
}

} // namespace mpactl::checks
