/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// mpactl doctor on simulated machines with one fault each.

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <ifaddrs.h>
#include <linux/capability.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/release.hpp"
#include "doctor/checks.hpp"
#include "doctor/doctor.hpp"
#include "doctor/firewall.hpp"

namespace {

using namespace mpactl;
using namespace std::string_literals;

// --- the netlink family ---------------------------------------------------------

class FakeFamily : public Transport {
public:
	FakeFamily()
	{
		Device one;

		one.name = "mpa0";
		one.config = config();
		list.items.push_back(one);
		of_namespace.config = config();
	}

	static Config config()
	{
		Config all;
		const std::pair<unsigned int, std::uint32_t> values[] = {
			{MPA_A_CONFIG_CRC, MPA_CONFIG_CRC_REQUIRED},
			{MPA_A_CONFIG_REVISION, MPA_REVISION_AUTO},
			{MPA_A_CONFIG_IRD, 16382},
			{MPA_A_CONFIG_ORD, 16382},
			{MPA_A_CONFIG_STARTUP_TIMEOUT, 5000},
			{MPA_A_CONFIG_REPLY_TIMEOUT, 30000},
			{MPA_A_CONFIG_HALF_OPEN_MAX, 128},
		};

		for (const auto &[key, value] : values)
			all.in_force.set(key, value);
		return all;
	}

	Defaults defaults() override { return of_namespace; }
	Device device(const std::string &) override { return list.items.at(0); }
	Listing<Device> devices() override { return list; }
	Listener listener(std::uint32_t) override { return listening.items.at(0); }
	Listing<Listener> listeners() override { return listening; }
	Connection connection(std::uint32_t) override { return {}; }
	Listing<Connection> connections() override { return connected; }
	std::string change(std::span<const Change>, bool) override { return {}; }
	std::unique_ptr<Events> events() override { return nullptr; }

	Defaults of_namespace;
	Listing<Device> list;
	Listing<Listener> listening;
	Listing<Connection> connected;
};

// --- the machine ----------------------------------------------------------------

const std::string kernel_release = "6.1.0-9-amd64";
const std::string libraries = "/usr/lib/x86_64-linux-gnu";

// A machine without faults, until a test changes it.
class FakeMachine : public Machine {
public:
	FakeMachine()
	{
		files["/lib/modules/" + kernel_release + "/modules.dep"] =
			"extra/mpa_rnic.ko: extra/mpa.ko kernel/ib_core.ko\n"
			"extra/mpa.ko:\n";
		for (const char *module :
		     {"mpa", "mpa_rnic", "ib_uverbs", "rdma_ucm", "ib_core"})
			files["/sys/module/"s + module] = "";
		files["/sys/module/mpa_rnic/taint"] = "OE\n";
		files[libraries + "/libibverbs.so.1"] =
			"\x7f""ELF...\0IBVERBS_PRIVATE_34\0..."s;
		files[libraries + "/librdmacm.so.1"] = "";
		files[libraries + "/libibverbs/libmpa-rdmav34.so"] = "";
		files["/etc/libibverbs.d/siw.driver"] = "driver siw\n";
		files["/etc/libibverbs.d/mpa.driver"] = "driver mpa\n";
		files["/sys/class/infiniband/mpa0/mpa_abi_version"] = "2\n";
		files["/sys/class/infiniband/mpa0/node_type"] = "4: RNIC\n";
		files["/sys/class/infiniband_verbs/uverbs0/ibdev"] = "mpa0\n";
		files["/dev/infiniband/uverbs0"] = "";
		files["/dev/infiniband/rdma_cm"] = "";
		devices = {{1, "mpa0", "eth0"}};
		links = {{"eth0", true, true, false, 1500,
			  {"192.0.2.1", "2001:db8::1", "fe80::1"}, 2},
			 {"lo", true, true, true, 65536, {"127.0.0.1", "::1"}, 1}};
		commands["nft -j list ruleset"] = {.out = R"({"nftables": []})"};
		commands["getent ahosts -- host"] = {
			.out = "192.0.2.1 STREAM host\n192.0.2.1 DGRAM\n"};
		commands["getent ahosts -- friend"] = {.out = "192.0.2.2 STREAM\n"};
		commands["ip -j route get 192.0.2.2"] = {
			.out = R"([{"dst":"192.0.2.2","dev":"eth0"}])"};
		commands["rdma system show"] = {.out = "netns shared\n"};
	}

	std::string release_name = kernel_release;
	std::map<std::string, std::string> files;
	std::map<std::string, int> errors;
	std::map<std::string, CommandEnd> commands;
	std::map<std::string, std::string> variables;
	std::vector<Netdev> links;
	std::vector<RdmaDevice> devices;
	std::optional<std::uint64_t> lockable;
	std::set<unsigned int> capabilities;
	FakeFamily family;
	bool with_family = true;
	Loop looped;
	Path way{.small_answered = true, .large_answered = true, .mtu = 1500};
	std::vector<std::uint16_t> looped_ports;
	std::vector<std::string> ran;

	std::string release() override { return release_name; }
	std::string host_name() override { return "host"; }
	unsigned int uid() override { return 1000; }

	bool capable(unsigned int capability) override
	{
		return capabilities.contains(capability);
	}

	std::string environment(const std::string &name) override
	{
		return variables[name];
	}

	FileText read(const std::string &path) override
	{
		if (errors.contains(path))
			return {errors[path], {}};
		if (!files.contains(path))
			return {ENOENT, {}};
		return {0, files[path]};
	}

	std::vector<std::string> list(const std::string &path) override
	{
		std::set<std::string> names;

		for (const auto &[file, text] : files)
			if (file.starts_with(path + "/")) {
				const auto rest = file.substr(path.size() + 1);

				names.insert(rest.substr(0, rest.find('/')));
			}
		return {names.begin(), names.end()};
	}

	bool exists(const std::string &path) override
	{
		return files.contains(path) || !list(path).empty();
	}

	int access(const std::string &path) override
	{
		if (errors.contains(path))
			return errors[path];
		return files.contains(path) ? 0 : ENOENT;
	}

	std::optional<std::uint64_t> memlock() override { return lockable; }

	CommandEnd run(const std::vector<std::string> &command) override
	{
		std::string line;

		for (const auto &word : command)
			line += (line.empty() ? "" : " ") + word;
		ran.push_back(line);
		return commands.contains(line) ? commands[line]
					       : CommandEnd{.found = false};
	}

	std::vector<Netdev> netdevs() override { return links; }
	std::vector<RdmaDevice> rdma_devices() override { return devices; }
	Transport *mpa() override { return with_family ? &family : nullptr; }

	Loop loop(const std::string &, std::uint16_t port) override
	{
		looped_ports.push_back(port);
		return looped;
	}

	Path path(const std::string &, unsigned int) override { return way; }
};

const std::string of_certificate = "-noout -serial -ext subjectKeyIdentifier";

// /proc/keys: of a user, and of root. The first key of root has been added by root.
const std::string users_keys =
	"1649d462 I--Q---     1 perm 1f3f0000  1000 65534 keyring   _uid_ses.1000: 1\n";
const std::string kernels_keys =
	"1f353066 I--Q---     1 perm 39010000     0     0 asymmetri DKMS module signing key: "
	"3ea1353be5d0f1b7f31ec3088955d837402bb19f: X509.rsa 402bb19f []\n"
	"1ccb6cb1 I------     1 perm 1f0b0000     0     0 keyring   .builtin_trusted_keys: 2\n"
	"05a1cda8 I------     1 perm 1f030000     0     0 asymmetri Debian Secure Boot CA: "
	"6ccece7e4c6c0d1f6149f3dd27dfcc5cbb419ea1: X509.rsa bb419ea1 []\n";
const std::string enrolled_key =
	"2a9d0c11 I------     1 perm 1f010000     0     0 asymmetri DKMS module signing key: "
	"3ea1353be5d0f1b7f31ec3088955d837402bb19f: X509.rsa 402bb19f []\n";
const std::string enrolled_key_without_id =
	"2a9d0c12 I------     1 perm 1f010000     0     0 asymmetri plain: 00f00f8c4f: "
	"X509.rsa []\n";

// "id:status" of each finding.
std::string findings_of(const std::vector<CheckResult> &results)
{
	std::string text;

	for (const auto &[check, diagnosis] : results) {
		const auto health = diagnosis.health;

		if (health == Health::warn || health == Health::fail)
			text += (text.empty() ? "" : " ") + std::string(check->id) +
				(health == Health::warn ? ":warn" : ":fail");
	}
	return text;
}

const DoctorOrder with_all{.port = 7174, .peer = "friend"};

TEST(doctor, finds_nothing_on_a_healthy_machine)
{
	FakeMachine machine;
	const auto results = examine(machine, with_all);

	EXPECT_EQ(findings_of(results), "");
	EXPECT_EQ(results.size(), all_checks().size());
	EXPECT_EQ(doctor_status(results), Exit::ok);
	for (const auto &[check, diagnosis] : results)
		EXPECT_EQ(diagnosis.health, Health::ok)
			<< check->id << ": " << diagnosis.detail;
}

TEST(doctor, skips_checks_without_their_option)
{
	FakeMachine machine;

	for (const auto &[check, diagnosis] : examine(machine, {})) {
		const std::string id = check->id;
		const bool performed = id != "port" && id != "peer" &&
				       id != "path-mtu";

		EXPECT_EQ(diagnosis.health, performed ? Health::ok : Health::skip)
			<< id;
	}
}

// Errors of libraries have other types.
TEST(doctor, an_error_within_a_check_is_not_the_end)
{
	class Broken : public FakeMachine {
	public:
		std::vector<std::string> list(const std::string &path) override
		{
			throw std::filesystem::filesystem_error(
				"cannot list", path,
				std::make_error_code(std::errc::io_error));
		}
	} machine;
	const auto results = examine(machine, {});
	const auto errors = std::count_if(results.begin(), results.end(), [](const auto &one) {
		return one.diagnosis.health == Health::skip &&
		       one.diagnosis.detail.find("cannot list") != std::string::npos;
	});

	EXPECT_EQ(results.size(), all_checks().size());
	EXPECT_GT(errors, 0);
}

// --- one fault each ---------------------------------------------------------------

struct Fault {
	const char *name;
	std::function<void(FakeMachine &)> plant;
	const char *findings;
	// A part of the first finding's detail, and of its remedy.
	const char *detail;
	const char *remedy;
};

void PrintTo(const Fault &fault, std::ostream *out)
{
	*out << fault.name;
}

void unload(FakeMachine &machine, const std::string &module)
{
	std::erase_if(machine.files, [&](const auto &one) {
		return one.first == "/sys/module/" + module ||
		       one.first.starts_with("/sys/module/" + module + "/");
	});
}

void unload_ours(FakeMachine &machine)
{
	unload(machine, "mpa_rnic");
	unload(machine, "mpa");
	machine.devices.clear();
	machine.commands["modinfo -F vermagic mpa"] =
		machine.commands["modinfo -F vermagic mpa_rnic"] = {
			.out = kernel_release + " SMP preempt mod_unload modversions\n"};
	machine.commands["modinfo -F signer mpa"] =
		machine.commands["modinfo -F signer mpa_rnic"] = {.out = ""};
}

void uninstall_ours(FakeMachine &machine)
{
	unload_ours(machine);
	machine.files["/lib/modules/" + kernel_release + "/modules.dep"] = "";
}

void install_headers(FakeMachine &machine)
{
	machine.files["/lib/modules/" + kernel_release + "/build/include/linux"] = "";
}

// The package of the modules' sources.
void install_dkms(FakeMachine &machine)
{
	machine.files["/usr/src/linux-mpa-0.9.0/dkms.conf"] = "";
	machine.files["/usr/src/linux-mpa-notes"] = "";
	machine.files["/usr/share/doc/linux-mpa-dkms/copyright"] = "";
}

// For such a kernel DKMS builds mpa.ko only.
void boot_without_rdma(FakeMachine &machine, const std::string &release)
{
	unload_ours(machine);
	machine.release_name = release;
	machine.files["/lib/modules/" + release + "/modules.dep"] = "updates/dkms/mpa.ko:\n";
	machine.files["/boot/config-" + release] =
		"#\nCONFIG_NET=y\n# CONFIG_INFINIBAND is not set\n";
}

// Secure Boot, and modules that DKMS has signed with its key. What the user sees of keys and of
// the firmware comes from the tests.
void sign_ours(FakeMachine &machine)
{
	unload_ours(machine);
	machine.files["/sys/kernel/security/lockdown"] = "none [integrity] confidentiality\n";
	machine.files["/sys/firmware/efi/runtime"] = "";
	machine.files["/var/lib/dkms/mok.pub"] = "";
	for (const char *module : {"mpa", "mpa_rnic"}) {
		machine.commands["modinfo -F signer "s + module] = {
			.out = "DKMS module signing key\n"};
		machine.commands["modinfo -F sig_key "s + module] = {
			.out = "0F:0F:8C:4F:01:4F:EE:C0:9A:C1:7B:4A:23:67:3B:1E:BE:32:61:D5\n"};
	}
	machine.commands["openssl x509 -in /var/lib/dkms/mok.pub " + of_certificate] = {
		.out = "serial=0F0F8C4F014FEEC09AC17B4A23673B1EBE3261D5\n"
		       "X509v3 Subject Key Identifier: \n"
		       "    3E:A1:35:3B:E5:D0:F1:B7:F3:1E:C3:08:89:55:D8:37:40:2B:B1:9F\n"};
}

// What `mokutil --test-key` prints about the certificate.
void test_key(FakeMachine &machine, const std::string &words)
{
	machine.commands["mokutil --test-key /var/lib/dkms/mok.pub"] = {
		.status = 1, .out = "/var/lib/dkms/mok.pub " + words + "\n"};
}

void listen_at_7174(FakeMachine &machine)
{
	machine.files["/proc/net/tcp6"] =
		"  sl  local_address remote_address st\n"
		"   0: 00000000000000000000000000000000:1C06 "
		"00000000000000000000000000000000:0000 0A 0:0\n";
}

void nft(FakeMachine &machine, const std::string &rules)
{
	machine.commands["nft -j list ruleset"] = {
		.out = R"({"nftables": [{"metainfo": {}},
		 {"chain": {"family": "inet", "table": "t", "name": "in",
		  "type": "filter", "hook": "input", "prio": 0,
		  "policy": "accept"}},)" + rules + "]}"};
}

std::string rule(const std::string &expressions)
{
	return R"({"rule": {"family": "inet", "table": "t", "chain": "in",
		"expr": [)" + expressions + "]}}";
}

std::string dport(const std::string &right)
{
	return R"({"match": {"op": "==", "left": {"payload":
		{"protocol": "tcp", "field": "dport"}}, "right": )" + right + "}}";
}

// A connection that has received framing PDUs.
Connection framed(std::uint64_t frames, std::uint64_t parted, std::uint64_t aligned,
		  std::uint64_t unaligned)
{
	Connection conn;

	conn.id = 17;
	conn.local = {{192, 0, 2, 1}, 7000, 0};
	conn.remote = {{192, 0, 2, 2}, 40000, 0};
	conn.framing = Framing{TCP_FRAMING_RECV_ALIGN, 0, 0, 0, 0,
			       {{MPA_A_FRAMING_RX_FRAMES, frames},
				{MPA_A_FRAMING_RX_ALIGNED, aligned},
				{MPA_A_FRAMING_RX_UNALIGNED, unaligned},
				{MPA_A_FRAMING_RX_PARTED, parted}}};
	return conn;
}

const Fault faults[] = {
	{"segments_change", [](FakeMachine &on) {
		 on.family.connected.items = {framed(800, 100, 700, 100)};
	 }, "framing:warn", "of 800 framing PDUs from 192.0.2.2:40000, 100 or more arrived in "
	 "several segments (connection 17)", "tx_pieces"},
	{"all_segments_change", [](FakeMachine &on) {
		 on.family.connected.items = {framed(9, 0, 9, 0), framed(64, 64, 1, 63)};
	 }, "framing:warn", "of 64 framing PDUs", "markers"},
	{"segments_change_for_a_slow_receiver", [](FakeMachine &on) {
		 on.family.connected.items = {framed(14217, 169, 709, 13508)};
	 }, "framing:warn", "of 14217 framing PDUs", "tcpdump -ni any 'src host 192.0.2.2"},
	{"not_installed", uninstall_ours, "module-files:fail",
	 "no mpa, mpa_rnic for kernel 6.1.0-9",
	 "apt install linux-headers-6.1.0-9-amd64; in linux-mpa: make "
	 "KDIR=/lib/modules/6.1.0-9-amd64/build && make install "
	 "KDIR=/lib/modules/6.1.0-9-amd64/build; if they are installed: depmod 6.1.0-9-amd64"},
	{"not_installed_and_headers", [](FakeMachine &on) {
		 uninstall_ours(on);
		 install_headers(on);
	 }, "module-files:fail", "no mpa, mpa_rnic for kernel 6.1.0-9", "in linux-mpa: make KDIR="},
	{"not_built_without_headers", [](FakeMachine &on) {
		 uninstall_ours(on);
		 install_dkms(on);
	 }, "module-files:fail", "no mpa, mpa_rnic for kernel 6.1.0-9",
	 "apt install linux-headers-6.1.0-9-amd64; if DKMS does not build them then: "
	 "dkms install -m linux-mpa -v 0.9.0 -k 6.1.0-9-amd64; if they are installed: depmod"},
	{"not_built_with_headers", [](FakeMachine &on) {
		 uninstall_ours(on);
		 install_dkms(on);
		 install_headers(on);
	 }, "module-files:fail", "no mpa, mpa_rnic for kernel 6.1.0-9",
	 "dkms install -m linux-mpa -v 0.9.0 -k 6.1.0-9-amd64; if they are installed: depmod"},
	{"package_of_the_modules_missing", [](FakeMachine &on) {
		 uninstall_ours(on);
		 on.files["/usr/share/doc/mpactl/copyright"] = "";
	 }, "module-files:fail", "no mpa, mpa_rnic for kernel 6.1.0-9",
	 "apt install ./linux-mpa-dkms_*.deb linux-headers-6.1.0-9-amd64; if"},
	{"package_of_the_modules_removed", [](FakeMachine &on) {
		 uninstall_ours(on);
		 install_headers(on);
		 on.files["/usr/share/doc/linux-mpa-dkms/copyright"] = "";
	 }, "module-files:fail", "no mpa, mpa_rnic for kernel 6.1.0-9",
	 "apt install ./linux-mpa-dkms_*.deb; if"},
	{"kernel_for_clouds", [](FakeMachine &on) {
		 boot_without_rdma(on, "6.1.0-9-cloud-amd64");
		 install_dkms(on);
	 }, "module-files:fail", "no mpa_rnic for kernel 6.1.0-9-cloud-amd64, only for "
	 "6.1.0-9-amd64; this kernel has no RDMA (CONFIG_INFINIBAND)",
	 "boot a kernel that has RDMA; on Debian: apt install linux-image-amd64 "
	 "linux-headers-amd64"},
	{"kernel_without_rdma", [](FakeMachine &on) {
		 boot_without_rdma(on, "6.1.192");
	 }, "module-files:fail", "no mpa_rnic for kernel 6.1.192, only for 6.1.0-9-amd64; this "
	 "kernel has no RDMA", "apt install linux-image-ARCH linux-headers-ARCH"},
	{"kernel_with_rdma", [](FakeMachine &on) {
		 uninstall_ours(on);
		 install_dkms(on);
		 on.files["/boot/config-" + kernel_release] =
			 "#\nCONFIG_NET=y\nCONFIG_INFINIBAND=m\n";
	 }, "module-files:fail", "no mpa, mpa_rnic for kernel 6.1.0-9", "dkms install"},
	{"installed_for_another_kernel", [](FakeMachine &on) {
		 unload_ours(on);
		 on.release_name = "6.1.0-10-amd64";
		 on.files["/lib/modules/6.1.0-10-amd64/modules.dep"] =
			 "kernel/mpa.ko.xz: kernel/compa_rnic.ko\n";
	 }, "module-files:fail", "no mpa_rnic for kernel 6.1.0-10-amd64, only for "
	 "6.1.0-9-amd64", "depmod"},
	{"wrong_vermagic", [](FakeMachine &on) {
		 unload_ours(on);
		 on.commands["modinfo -F vermagic mpa_rnic"] = {
			 .out = "6.1.0-8-amd64 SMP\n"};
	 }, "module-version:fail", "mpa_rnic is built for 6.1.0-8-amd64 SMP",
	 "in linux-mpa: make clean, make KDIR=/lib/modules/6.1.0-9-amd64/build && make install"},
	{"wrong_vermagic_of_dkms", [](FakeMachine &on) {
		 unload_ours(on);
		 install_dkms(on);
		 install_headers(on);
		 on.commands["modinfo -F vermagic mpa_rnic"] = {
			 .out = "6.1.0-8-amd64 SMP\n"};
	 }, "module-version:fail", "mpa_rnic is built for 6.1.0-8-amd64 SMP",
	 "dkms install --force -m linux-mpa -v 0.9.0 -k 6.1.0-9-amd64"},
	{"lockdown", [](FakeMachine &on) {
		 unload_ours(on);
		 on.files["/sys/kernel/security/lockdown"] =
			 "none [integrity] confidentiality\n";
	 }, "module-signature:fail", "lockdown (secure boot)", "mokutil"},
	{"sig_enforce", [](FakeMachine &on) {
		 unload_ours(on);
		 on.files["/sys/module/module/parameters/sig_enforce"] = "Y\n";
	 }, "module-signature:fail", "sig_enforce", "sign mpa.ko"},
	{"key_not_enrolled", [](FakeMachine &on) {
		 sign_ours(on);
		 on.files["/proc/keys"] = kernels_keys;
	 }, "module-signature:fail", "mpa is signed by DKMS module signing key, a key that is not "
	 "enrolled, and lockdown (secure boot) forbids that",
	 "mokutil --import /var/lib/dkms/mok.pub, which asks for a new password; reboot, and "
	 "choose \"Enroll MOK\""},
	{"key_not_enrolled_to_a_user", [](FakeMachine &on) {
		 sign_ours(on);
		 on.files["/proc/keys"] = users_keys;
		 test_key(on, "is not enrolled");
	 }, "module-signature:fail", "a key that is not enrolled",
	 "mokutil --import /var/lib/dkms/mok.pub"},
	{"key_not_enrolled_without_firmware", [](FakeMachine &on) {
		 sign_ours(on);
		 on.files.erase("/sys/kernel/security/lockdown");
		 on.files.erase("/sys/firmware/efi/runtime");
		 on.files["/sys/module/module/parameters/sig_enforce"] = "Y\n";
		 on.files["/proc/keys"] = kernels_keys;
	 }, "module-signature:fail", "and sig_enforce forbids that", "the key of this kernel"},
	{"key_of_one_module_not_enrolled", [](FakeMachine &on) {
		 sign_ours(on);
		 on.files["/sys/module/mpa"] = "";
		 on.files["/proc/keys"] = kernels_keys;
	 }, "module-signature:fail", "mpa_rnic is signed by", "mokutil --import"},
	{"enrollment_not_confirmed", [](FakeMachine &on) {
		 sign_ours(on);
		 test_key(on, "is already in the enrollment request");
	 }, "module-signature:fail", "enrollment is requested, but not confirmed",
	 "reboot, and choose \"Enroll MOK\""},
	{"key_unknown_to_a_user", [](FakeMachine &on) {
		 sign_ours(on);
		 on.files["/proc/keys"] = users_keys;
	 }, "module-signature:warn module-loaded:fail",
	 "mpa is signed by DKMS module signing key, and it is unknown whether that key is enrolled",
	 "as root: mpactl doctor --check module-signature, or: mokutil --test-key "
	 "/var/lib/dkms/mok.pub; if it is not enrolled: mokutil --import /var/lib/dkms/mok.pub"},
	{"key_without_a_certificate_here", [](FakeMachine &on) {
		 sign_ours(on);
		 on.files["/proc/keys"] = kernels_keys + enrolled_key;
		 on.commands["modinfo -F sig_key mpa"] = {.out = "0A:01\n"};
	 }, "module-signature:warn module-loaded:fail", "its certificate was not found",
	 "mokutil --test-key CERTIFICATE"},
	{"not_loaded", unload_ours, "module-loaded:fail",
	 "module mpa is not loaded", "modprobe mpa_rnic"},
	{"not_loaded_and_no_core", [](FakeMachine &on) {
		 unload_ours(on);
		 unload(on, "ib_uverbs");
		 unload(on, "rdma_ucm");
	 }, "module-loaded:fail", "", "rdma link add mpa0 type mpa netdev"},
	{"old_module", [](FakeMachine &on) { on.with_family = false; },
	 "family:warn", "no generic netlink family", "modprobe -r mpa_rnic mpa"},
	{"later_module", [](FakeMachine &on) {
		 on.files[module_release_file] = "99.0.0\n";
	 }, "release:warn", "the module mpa 99.0.0: upgrade mpactl",
	 "install the same release"},
	{"no_uverbs", [](FakeMachine &on) {
		 unload(on, "ib_uverbs");
		 on.files.erase("/sys/class/infiniband_verbs/uverbs0/ibdev");
	 }, "ib-uverbs:fail", "ib_uverbs is not loaded", "modprobe ib_uverbs"},
	{"no_rdma_ucm", [](FakeMachine &on) {
		 unload(on, "rdma_ucm");
		 on.files.erase("/dev/infiniband/rdma_cm");
	 }, "rdma-ucm:fail", "rdma_ucm is not loaded", "modprobe rdma_ucm"},
	{"no_libibverbs", [](FakeMachine &on) {
		 on.files.erase(libraries + "/libibverbs.so.1");
	 }, "rdma-core:fail", "libibverbs.so.1 is not installed", "apt-get"},
	{"no_librdmacm", [](FakeMachine &on) {
		 on.files.erase(libraries + "/librdmacm.so.1");
	 }, "rdma-core:fail", "librdmacm.so.1 is not installed", "librdmacm1"},
	{"no_provider", [](FakeMachine &on) {
		 on.files.erase(libraries + "/libibverbs/libmpa-rdmav34.so");
	 }, "provider:fail", "libmpa-rdmav34.so is missing", "install-provider"},
	{"provider_of_another_abi", [](FakeMachine &on) {
		 on.files.erase(libraries + "/libibverbs/libmpa-rdmav34.so");
		 on.files[libraries + "/libibverbs/libmpa-rdmav57.so"] = "";
	 }, "provider:fail", "private ABI 57, but rdma-core has 34",
	 "build it again for this rdma-core; in linux-mpa: make userspace"},
	{"no_package_of_the_provider", [](FakeMachine &on) {
		 install_dkms(on);
		 on.files.erase(libraries + "/libibverbs/libmpa-rdmav34.so");
	 }, "provider:fail", "libmpa-rdmav34.so is missing", "apt install ./ibverbs-provider-mpa_*.deb"},
	{"package_of_the_provider_for_another_abi", [](FakeMachine &on) {
		 install_dkms(on);
		 on.files.erase(libraries + "/libibverbs/libmpa-rdmav34.so");
		 on.files[libraries + "/libibverbs/libmpa-rdmav57.so"] = "";
	 }, "provider:fail", "private ABI 57, but rdma-core has 34",
	 "apt install ./ibverbs-provider-mpa_*.deb, the one for this rdma-core"},
	{"provider_by_environment_is_missing", [](FakeMachine &on) {
		 install_dkms(on);
		 on.variables["IBV_DRIVERS"] = "rxe:/opt/libmpa";
	 }, "provider:fail", "/opt/libmpa-rdmav34.so is missing", "make userspace"},
	{"no_driver_file", [](FakeMachine &on) {
		 on.files.erase("/etc/libibverbs.d/mpa.driver");
	 }, "driver-file:fail", "no file in /etc/libibverbs.d",
	 "echo 'driver mpa' > /etc/libibverbs.d/mpa.driver"},
	{"driver_file_without_the_driver", [](FakeMachine &on) {
		 on.files["/etc/libibverbs.d/mpa.driver"] =
			 "#driver mpa\ndrivermpa\ndriver\ndriver mpa2";
	 }, "driver-file:fail", "no file", "echo"},
	{"driver_file_unreadable", [](FakeMachine &on) {
		 on.errors["/etc/libibverbs.d/mpa.driver"] = EACCES;
	 }, "driver-file:fail", "cannot be read", "chmod 644"},
	{"no_device", [](FakeMachine &on) { on.devices.clear(); }, "device:fail",
	 "there is no device", "rdma link add mpa0 type mpa netdev eth0"},
	{"device_of_another_driver", [](FakeMachine &on) {
		 on.devices = {{1, "rxe0", "eth0"}};
	 }, "device:fail", "there is no device of type mpa", "rdma link add"},
	{"no_device_and_exclusive", [](FakeMachine &on) {
		 on.devices.clear();
		 on.commands["rdma system show"] = {.out = "netns exclusive\n"};
	 }, "device:fail", "hides those of other namespaces", "rdma dev set NAME netns"},
	{"netdev_elsewhere", [](FakeMachine &on) { on.devices[0].netdev = ""; },
	 "netns:fail", "mpa0: the device is visible", "ip netns exec"},
	{"node_missing", [](FakeMachine &on) {
		 on.files.erase("/dev/infiniband/uverbs0");
	 }, "uverbs-node:fail", "/dev/infiniband/uverbs0 does not exist",
	 "devtmpfs"},
	{"node_not_permitted", [](FakeMachine &on) {
		 on.errors["/dev/infiniband/uverbs0"] = EACCES;
	 }, "uverbs-node:fail", "uverbs0: Permission denied",
	 "chmod 666 /dev/infiniband/uverbs0"},
	{"cm_node_not_permitted", [](FakeMachine &on) {
		 on.errors["/dev/infiniband/rdma_cm"] = EACCES;
	 }, "rdma-cm-node:fail", "rdma_cm: Permission denied",
	 "chmod 666 /dev/infiniband/rdma_cm"},
	{"netdev_down", [](FakeMachine &on) {
		 on.links[0].up = on.links[0].carrier = false;
		 on.links[0].addresses.clear();
	 }, "netdev:fail", "eth0 of mpa0 is down", "ip link set eth0 up"},
	{"no_carrier", [](FakeMachine &on) { on.links[0].carrier = false; },
	 "netdev:fail", "no carrier", "cable"},
	{"no_address", [](FakeMachine &on) { on.links[0].addresses.clear(); },
	 "address:fail", "eth0 of mpa0 has no IP address", "ip address add"},
	{"link_local_only", [](FakeMachine &on) {
		 on.links[0].addresses = {"fe80::1"};
		 on.commands["getent ahosts -- host"] = {.out = "fe80::1%2 S\n"};
	 }, "address:warn", "link-local addresses only", "dev eth0"},
	{"mtu_100", [](FakeMachine &on) {
		 on.links[0].mtu = 100;
		 // Not even the answers get through.
		 on.way.large_answered = false;
	 }, "mtu:fail",
	 "eth0 of mpa0 has an MTU of 100", "ip link set eth0 mtu 1500"},
	{"mtu_187", [](FakeMachine &on) { on.links[0].mtu = 187; }, "mtu:fail",
	 "187", "mtu"},
	{"mtu_188", [](FakeMachine &on) { on.links[0].mtu = 188; }, "mtu:warn",
	 "no IPv6", "mtu"},
	{"mtu_1279", [](FakeMachine &on) { on.links[0].mtu = 1279; }, "mtu:warn",
	 "no IPv6", "mtu"},
	{"siw_beside", [](FakeMachine &on) {
		 on.devices.push_back({2, "siw0", "eth0"});
		 on.files["/sys/class/infiniband/siw0/node_type"] = "4: RNIC\n";
	 }, "other-rdma:fail", "siw0 is at eth0, too", "rdma link delete siw0"},
	{"memlock_0", [](FakeMachine &on) { on.lockable = 0; }, "memlock:fail",
	 "0 KiB", "ulimit -l unlimited"},
	{"memlock_64k", [](FakeMachine &on) { on.lockable = 65536; },
	 "memlock:warn", "64 KiB", "LimitMEMLOCK"},
	{"revision_2_only", [](FakeMachine &on) {
		 on.family.list.items[0].config.in_force.set(
			 MPA_A_CONFIG_REVISION, MPA_REVISION_2);
	 }, "settings:warn", "dev mpa0 revision 2: refuses peers of revision 1",
	 "mpactl set dev mpa0 revision inherit"},
	{"revision_0_only", [](FakeMachine &on) {
		 on.family.of_namespace.config.in_force.set(
			 MPA_A_CONFIG_REVISION, MPA_REVISION_0);
	 }, "settings:warn", "revision 0: refuses all peers",
	 "mpactl set revision inherit"},
	{"half_open_max_1", [](FakeMachine &on) {
		 on.family.list.items[0].config.in_force.set(
			 MPA_A_CONFIG_HALF_OPEN_MAX, 1);
	 }, "settings:warn", "half-open-max 1", "half-open-max inherit"},
	{"short_timeout", [](FakeMachine &on) {
		 on.family.list.items[0].config.in_force.set(
			 MPA_A_CONFIG_STARTUP_TIMEOUT, 100);
	 }, "settings:warn", "startup-timeout", "startup-timeout inherit"},
	{"no_reads", [](FakeMachine &on) {
		 on.family.list.items[0].config.in_force.set(MPA_A_CONFIG_IRD, 0);
	 }, "settings:warn", "ird 0: prevents RDMA Reads by peers", "ird inherit"},
	{"port_taken", listen_at_7174, "port:fail", "TCP port 7174 is used by",
	 "ss -ltnp 'sport = :7174'"},
	{"drop_rule", [](FakeMachine &on) {
		 nft(on, rule(R"({"drop": null})"));
	 }, "firewall:fail", "TCP port 7174 to eth0 is dropped by rule 1 of table "
	 "inet t, chain in", "dport 7174 accept"},
	{"silent_drop", [](FakeMachine &on) {
		 on.looped = {LoopEnd::timeout, "Connection timed out"};
	 }, "firewall:fail", "local address 192.0.2.1 fails", "nft list ruleset"},
	{"name_without_address", [](FakeMachine &on) {
		 on.commands["getent ahosts -- host"] = {.status = 2};
	 }, "host-name:warn", "name host has no address", "in /etc/hosts: 192.0.2.1 host"},
	{"name_of_loopback", [](FakeMachine &on) {
		 on.commands["getent ahosts -- host"] = {
			 .out = "127.0.1.1 STREAM host\n::1 STREAM\n"};
	 }, "host-name:warn", "resolves to 127.0.1.1, ::1, which is loopback only",
	 "/etc/hosts: 192.0.2.1 host"},
	{"name_of_another_netdev", [](FakeMachine &on) {
		 on.commands["getent ahosts -- host"] = {.out = "10.0.0.1 STREAM\n"};
	 }, "host-name:warn", "not an address of a device", "/etc/hosts"},
	{"resolver_hangs", [](FakeMachine &on) {
		 on.commands["getent ahosts -- host"] = {.timed_out = true};
	 }, "host-name:warn", "has no address", "/etc/hosts"},
	{"unknown_peer", [](FakeMachine &on) {
		 on.commands["getent ahosts -- friend"] = {.status = 2};
	 }, "peer:fail", "the name friend has no address", "ADDRESS friend"},
	{"peer_elsewhere", [](FakeMachine &on) {
		 on.commands["ip -j route get 192.0.2.2"] = {
			 .out = R"([{"dev":"wlan0"}])"};
	 }, "peer:fail", "uses wlan0, which has no device",
	 "netdev wlan0"},
	{"link_local_peer_elsewhere", [](FakeMachine &on) {
		 on.links.push_back({"wlan0", true, true, false, 1500, {}, 3});
		 on.commands["getent ahosts -- friend"] = {.out = "fe80::2%3 STREAM\n"};
		 on.commands["ip -j route get fe80::2"] = {.out = R"([{"dev":"eth0"}])"};
	 }, "peer:fail", "uses wlan0, which has no device", "netdev wlan0"},
	{"peer_without_route", [](FakeMachine &on) {
		 on.commands["ip -j route get 192.0.2.2"] = {.status = 2};
	 }, "peer:fail", "no route to 192.0.2.2", "ip route add 192.0.2.2"},
	{"narrow_path", [](FakeMachine &on) { on.way.mtu = 1400; },
	 "path-mtu:warn", "packets of 1400 bytes, but eth0 has an MTU of 1500",
	 "ip link set eth0 mtu 1400"},
	{"black_hole", [](FakeMachine &on) { on.way.large_answered = false; },
	 "path-mtu:fail", "packets of 1500 bytes", "the same MTU"},
};

class doctor_faults : public testing::TestWithParam<Fault> {};

TEST_P(doctor_faults, are_the_only_finding_and_have_a_remedy)
{
	const auto &fault = GetParam();
	FakeMachine machine;

	fault.plant(machine);
	const auto results = examine(machine, with_all);
	EXPECT_EQ(findings_of(results), fault.findings);
	EXPECT_EQ(doctor_status(results), Exit::refused);
	const auto first = std::find_if(
		results.begin(), results.end(), [](const auto &one) {
			return one.diagnosis.health == Health::warn ||
			       one.diagnosis.health == Health::fail;
		});
	ASSERT_NE(first, results.end());
	EXPECT_NE(first->diagnosis.detail.find(fault.detail), std::string::npos)
		<< first->diagnosis.detail;
	EXPECT_NE(first->diagnosis.remedy.find(fault.remedy), std::string::npos)
		<< first->diagnosis.remedy;
}

std::string name_of_fault(const testing::TestParamInfo<Fault> &param)
{
	return param.param.name;
}

INSTANTIATE_TEST_SUITE_P(, doctor_faults, testing::ValuesIn(faults),
			 name_of_fault);

// --- machines without a fault -------------------------------------------------------------

const Fault no_faults[] = {
	{"loaded_from_elsewhere", [](FakeMachine &on) {
		 on.files["/lib/modules/" + kernel_release + "/modules.dep"] = "";
	 }},
	{"loaded_under_lockdown", [](FakeMachine &on) {
		 on.files["/sys/kernel/security/lockdown"] = "[integrity]";
	 }},
	{"provider_by_environment", [](FakeMachine &on) {
		 on.files.erase("/etc/libibverbs.d/mpa.driver");
		 on.files.erase(libraries + "/libibverbs/libmpa-rdmav34.so");
		 on.files["/b/lib/libmpa-rdmav34.so"] = "";
		 on.variables["IBV_DRIVERS"] = "/b/lib/libmpa";
	 }},
	{"provider_by_path_in_a_driver_file", [](FakeMachine &on) {
		 on.files["/etc/libibverbs.d/mpa.driver"] = "driver /o/libmpa\n";
		 on.files["/o/libmpa-rdmav34.so"] = "";
	 }},
	{"libraries_of_another_architecture", [](FakeMachine &on) {
		 auto &own = on.files[libraries + "/libibverbs.so.1"];
		 auto &other = on.files["/usr/lib/aarch64-linux-gnu/libibverbs.so.1"];

		 // Byte 18 says so.
		 other = own;
		 other[18] = 1;
		 on.files["/proc/self/exe"] = own;
	 }},
	{"a_device_of_another_namespace_beside", [](FakeMachine &on) {
		 on.devices.push_back({2, "mpa1", ""});
		 on.files["/sys/class/infiniband/mpa1/mpa_abi_version"] = "2\n";
		 on.files["/sys/class/infiniband_verbs/uverbs1/ibdev"] = "mpa1\n";
		 on.files["/dev/infiniband/uverbs1"] = "";
	 }},
	{"rxe_beside", [](FakeMachine &on) {
		 on.devices.push_back({2, "rxe0", "eth0"});
		 on.files["/sys/class/infiniband/rxe0/node_type"] = "1: CA\n";
	 }},
	{"siw_elsewhere", [](FakeMachine &on) {
		 on.devices.push_back({2, "siw0", "eth1"});
		 on.files["/sys/class/infiniband/siw0/node_type"] = "4: RNIC\n";
	 }},
	{"capable", [](FakeMachine &on) {
		 on.lockable = 0;
		 on.capabilities = {CAP_IPC_LOCK};
	 }},
	{"memlock_of_a_mebibyte", [](FakeMachine &on) { on.lockable = 1 << 20; }},
	{"crc_off_is_a_hint", [](FakeMachine &on) {
		 on.family.list.items[0].config.in_force.set(
			 MPA_A_CONFIG_CRC, MPA_CONFIG_CRC_PREFERRED_OFF);
	 }},
	{"our_own_listener", [](FakeMachine &on) {
		 Listener one;

		 listen_at_7174(on);
		 one.owner = MPA_OWNER_DEVICE;
		 one.local.port = 7174;
		 on.family.listening.items = {one};
	 }},
	{"another_port_is_taken", [](FakeMachine &on) {
		 on.files["/proc/net/tcp"] =
			 "0: 00000000:1C07 00000000:0000 0A 0\n"
			 "1: 00000000:1C06 01020304:0050 01 0\n";
	 }},
	{"another_port_is_dropped", [](FakeMachine &on) {
		 nft(on, rule(dport("22") + R"(, {"drop": null})"));
	 }},
	{"rules_not_to_be_seen", [](FakeMachine &on) {
		 on.commands["nft -j list ruleset"] = {.status = 1};
	 }},
	{"no_nft", [](FakeMachine &on) {
		 on.commands.erase("nft -j list ruleset");
	 }},
	{"one_of_several_addresses", [](FakeMachine &on) {
		 on.commands["getent ahosts -- host"] = {
			 .out = "127.0.1.1 STREAM\n2001:db8::1 STREAM\n"};
	 }},
	{"a_change_of_the_EMSS", [](FakeMachine &on) {
		 on.family.connected.items = {framed(3000, 300, 2700, 300)};
	 }},
	{"a_share_of_an_eighth_is_needed", [](FakeMachine &on) {
		 on.family.connected.items = {framed(801, 100, 701, 100)};
	 }},
	{"few_framing_PDUs", [](FakeMachine &on) {
		 on.family.connected.items = {framed(63, 63, 0, 63)};
	 }},
	{"joined_segments_are_a_hint", [](FakeMachine &on) {
		 on.family.connected.items = {framed(3000, 0, 20, 2980)};
	 }},
	{"framed_in_the_other_direction", [](FakeMachine &on) {
		 Connection conn = framed(800, 800, 0, 800);

		 conn.framing->mode = TCP_FRAMING_SEND_ALIGN | TCP_FRAMING_RECV_MARKERS;
		 on.family.connected.items = {conn, Connection{}};
	 }},
	{"link_local_peer", [](FakeMachine &on) {
		 on.commands["getent ahosts -- friend"] = {.out = "fe80::2%2 STREAM\n"};
		 on.commands["ip -j route get fe80::2"] = {.out = R"([{"dev":"wlan0"}])"};
	 }},
	{"peer_is_silent", [](FakeMachine &on) {
		 on.way = {.small_answered = false, .mtu = 1500};
	 }},
};

class doctor_without_fault : public doctor_faults {};

TEST_P(doctor_without_fault, is_kept)
{
	FakeMachine machine;

	GetParam().plant(machine);
	const auto results = examine(machine, with_all);
	EXPECT_EQ(findings_of(results), "");
}

INSTANTIATE_TEST_SUITE_P(, doctor_without_fault, testing::ValuesIn(no_faults),
			 name_of_fault);

// --- single checks ------------------------------------------------------------------

Diagnosis diagnosis_of(FakeMachine &machine, const std::string &id)
{
	const auto results = examine(machine, {.port = 7174, .peer = "friend",
					       .only = {id}});

	for (const auto &[check, diagnosis] : results)
		if (check->id == id)
			return diagnosis;
	ADD_FAILURE() << id;
	return {};
}

TEST(doctor, reports_why_rules_are_unknown)
{
	FakeMachine machine;

	machine.commands["nft -j list ruleset"] = {.status = 1};
	EXPECT_EQ(diagnosis_of(machine, "firewall").detail,
		  "rules are unknown: nft is not permitted to read them (root is)");
	machine.commands["nft -j list ruleset"] = {.timed_out = true};
	EXPECT_EQ(diagnosis_of(machine, "firewall").detail,
		  "rules are unknown: nft did not finish");
	machine.commands["nft -j list ruleset"] = {.out = "no JSON"};
	EXPECT_EQ(diagnosis_of(machine, "firewall").detail,
		  "rules are unknown: the output of nft is not JSON");
	machine.commands["nft -j list ruleset"] = {.too_long = true, .status = 128};
	EXPECT_EQ(diagnosis_of(machine, "firewall").detail,
		  "rules are unknown: they are longer than 4 MiB");
	machine.capabilities = {CAP_NET_ADMIN};
	machine.commands["nft -j list ruleset"] = {.status = 1,
						    .err = "Error: cache\nmore"};
	EXPECT_EQ(diagnosis_of(machine, "firewall").detail,
		  "rules are unknown: nft has failed: Error: cache");
	machine.commands["nft -j list ruleset"] = {.out = "[1, null]"};
	EXPECT_EQ(diagnosis_of(machine, "firewall").health, Health::ok);
}

// Each of these is enough to know it.
TEST(doctor, knows_that_the_key_of_a_signature_is_accepted)
{
	const struct {
		const char *name;
		std::function<void(FakeMachine &)> plant;
	} rows[] = {
		{"root sees it", [](FakeMachine &on) {
			 on.files["/proc/keys"] = kernels_keys + enrolled_key;
		 }},
		{"MOK", [](FakeMachine &on) {
			 on.files["/proc/keys"] = users_keys;
			 test_key(on, "is already enrolled");
		 }},
		{"db", [](FakeMachine &on) { test_key(on, "is already in db"); }},
		{"the certificate is configured", [](FakeMachine &on) {
			 on.files["/proc/keys"] = kernels_keys + enrolled_key;
			 on.files["/etc/dkms/framework.conf.d/own.conf"] =
				 "# mok_certificate=/var/lib/dkms/mok.pub\n"
				 "mok_certificate=\"/root/own.der\"\n";
			 on.files["/root/own.der"] = "";
			 on.commands["openssl x509 -in /root/own.der " + of_certificate] =
				 on.commands["openssl x509 -in /var/lib/dkms/mok.pub " +
					     of_certificate];
			 on.files.erase("/var/lib/dkms/mok.pub");
		 }},
		{"the certificate has no identifier of its key", [](FakeMachine &on) {
			 on.files["/proc/keys"] = kernels_keys + enrolled_key_without_id;
			 on.commands["modinfo -F sig_key mpa"] =
				 on.commands["modinfo -F sig_key mpa_rnic"] = {
					 .out = "F0:0F:8C:4F\n"};
		 }},
		{"the kernel's own", [](FakeMachine &on) {
			 test_key(on, "is not enrolled");
			 on.commands["modinfo -F sig_key ib_core"] =
				 on.commands["modinfo -F sig_key mpa"];
		 }},
	};

	for (const auto &row : rows) {
		FakeMachine machine;

		sign_ours(machine);
		row.plant(machine);
		const auto diagnosis = diagnosis_of(machine, "module-signature");
		EXPECT_EQ(diagnosis.health, Health::ok) << row.name << ": " << diagnosis.detail;
		EXPECT_EQ(diagnosis.detail.find("mpa_rnic is signed by DKMS module signing key"), 0)
			<< row.name;
	}
}

TEST(doctor, says_how_to_see_segments_that_were_joined)
{
	FakeMachine machine;
	const DoctorOrder order{.only = {"framing"}};

	machine.family.connected.items = {framed(100, 0, 64, 64), framed(100, 0, 3, 97)};
	const auto results = examine(machine, order);
	ASSERT_EQ(results.size(), 1u);
	EXPECT_EQ(results[0].diagnosis.health, Health::ok);
	EXPECT_EQ(results[0].diagnosis.detail,
		  "hint: the kernel has joined segments from 192.0.2.2:40000 (connection 17), so "
		  "it is not known whether each is a framing PDU. With \"ethtool -K NETDEV gro "
		  "off\", this prints segments that are not a framing PDU: tcpdump -ni any 'src host 192.0.2.2 and "
		  "tcp src port 40000 and dst port 7000 and "
		  "ip[2:2]-((ip[0]&15)<<2)-((tcp[12]&240)>>2)>0 and tcp[((tcp[12]&240)>>2):2]!="
		  "ip[2:2]-((ip[0]&15)<<2)-((tcp[12]&240)>>2)-8'");
}

TEST(doctor, knows_where_IPv6_has_the_payload)
{
	Connection conn = framed(1, 0, 1, 0);

	conn.remote.bytes = {0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2};
	EXPECT_EQ(checks::unframed_segments(conn),
		  "src host 2001:db8::2 and tcp src port 40000 and dst port 7000 and "
		  "ip6[4:2]-((ip6[52]&240)>>2)>0 and ip6[40+((ip6[52]&240)>>2):2]!="
		  "ip6[4:2]-((ip6[52]&240)>>2)-8");
}

TEST(doctor, connects_to_the_given_port)
{
	FakeMachine machine;

	diagnosis_of(machine, "firewall");
	EXPECT_EQ(machine.looped_ports,
		  (std::vector<std::uint16_t>{7174, 7174}));
	machine.looped_ports.clear();
	// With another port if that one cannot be had, and not at all if none can.
	machine.looped = {LoopEnd::not_bound, "Permission denied"};
	const auto diagnosis = diagnosis_of(machine, "firewall");
	EXPECT_EQ(diagnosis.health, Health::ok);
	EXPECT_EQ(diagnosis.detail, "no program here can listen at 2001:db8::1: "
				    "Permission denied");
	EXPECT_EQ(machine.looped_ports, (std::vector<std::uint16_t>{7174, 0, 7174, 0}));
}

TEST(doctor, does_one_check_and_what_it_needs)
{
	FakeMachine machine;
	auto results = examine(machine, {.only = {"mtu"}});

	ASSERT_EQ(results.size(), 1u);
	EXPECT_STREQ(results[0].check->id, "mtu");
	// Other checks run other programs.
	EXPECT_EQ(machine.ran, std::vector<std::string>{"rdma system show"});
	EXPECT_TRUE(machine.looped_ports.empty());
	unload_ours(machine);
	results = examine(machine, {.only = {"mtu"}});
	ASSERT_EQ(results.size(), 2u);
	EXPECT_EQ(findings_of(results), "module-loaded:fail");
	EXPECT_EQ(results[1].diagnosis.detail, "module-loaded failed");
	EXPECT_EQ(doctor_status(results), Exit::refused);
}

TEST(doctor, a_check_with_an_error_is_skipped)
{
	struct Blind : FakeMachine {
		std::vector<Netdev> netdevs() override
		{
			throw IoError("no netlink");
		}
	} machine;

	const auto diagnosis = diagnosis_of(machine, "netdev");
	EXPECT_EQ(diagnosis.health, Health::skip);
	EXPECT_EQ(diagnosis.detail, "no netlink");
}

TEST(doctor_table, ids_are_unique_and_needs_come_before)
{
	std::set<std::string> known;

	for (const auto &check : all_checks()) {
		std::istringstream needs{std::string(check.needs)};
		std::string one;

		while (needs >> one)
			EXPECT_TRUE(known.contains(one))
				<< check.id << " needs " << one;
		EXPECT_TRUE(known.insert(check.id).second) << check.id;
	}
}

TEST(doctor_view, shows_findings_with_their_remedies)
{
	FakeMachine machine;
	std::ostringstream out;

	machine.links[0].mtu = 100;
	const auto results = examine(machine, with_all);
	TextSink(out, false).show(DoctorView(results));
	for (const char *text :
	     {"fail    mtu", "mtu: eth0 of mpa0", "remedy: ip link set eth0 mtu",
	      "1 finding\n"})
		EXPECT_NE(out.str().find(text), std::string::npos) << out.str();
	const auto json = DoctorView(results).json();
	EXPECT_EQ(json["findings"], 1);
	EXPECT_EQ(json["checks"].size(), all_checks().size());
	for (const auto &one : json["checks"]) {
		const bool bad = one["id"] == "mtu";
		// The path is not checked if the MTU is too small.
		const char *good = one["id"] == "path-mtu" ? "skip" : "ok";

		EXPECT_EQ(one["status"], bad ? "fail" : good);
		EXPECT_EQ(one["remedy"] == "", !bad);
	}
}

// --- firewalls ------------------------------------------------------------------------

using Fate = FirewallResult::Fate;

struct Rules {
	const char *name;
	std::string rules;
	Fate fate;
	std::optional<std::uint16_t> port = 7174;
	const char *policy = "accept";
};

void PrintTo(const Rules &row, std::ostream *out)
{
	*out << row.name;
}

std::string match(const std::string &left, const std::string &right,
		  const char *op = "==")
{
	return R"({"match": {"op": ")"s + op + R"(", "left": )" + left +
	       R"(, "right": )" + right + "}}";
}

const std::string drop = R"({"drop": null})", accepted = R"({"accept": null})";
const std::string iif = R"({"meta": {"key": "iifname"}})";
const std::string ct_state = R"({"ct": {"key": "state"}})";
const std::string saddr =
	R"({"payload": {"protocol": "ip", "field": "saddr"}})";

const std::string verdicts =
	R"({"vmap": {"key": {"payload": {"protocol": "tcp", "field": "dport"}},
	 "data": {"set": [[7174, {"accept": null}]]}}})";

const Rules rulesets[] = {
	{"none", "", Fate::passes},
	{"drop", rule(drop), Fate::dropped},
	{"reject", rule(R"({"reject": {"type": "tcp reset"}})"), Fate::dropped},
	{"counted_drop", rule(R"({"counter": {"packets": 0}},)" + drop),
	 Fate::dropped},
	{"port", rule(dport("7174") + "," + drop), Fate::dropped},
	{"another_port", rule(dport("7175") + "," + drop), Fate::passes},
	{"ports", rule(dport(R"({"set": [22, 7174]})") + "," + drop),
	 Fate::dropped},
	{"other_ports", rule(dport(R"({"set": [22, {"range": [80, 90]}]})") + "," +
			     drop),
	 Fate::passes},
	{"range_from", rule(dport(R"({"range": [7174, 8000]})") + "," + drop),
	 Fate::dropped},
	{"range_to", rule(dport(R"({"range": [7000, 7174]})") + "," + drop),
	 Fate::dropped},
	{"range_below", rule(dport(R"({"range": [7000, 7173]})") + "," + drop),
	 Fate::passes},
	{"range_broken", rule(dport(R"({"range": ["a", 1]})") + "," + drop),
	 Fate::maybe_dropped},
	{"named_ports", rule(dport(R"("@bad")") + "," + drop),
	 Fate::maybe_dropped},
	{"all_but_port",
	 rule(match(R"({"payload": {"protocol": "tcp", "field": "dport"}})",
		    "7174", "!=") + "," + drop),
	 Fate::passes},
	{"accept_first", rule(accepted) + "," + rule(drop), Fate::passes},
	{"drop_first", rule(drop) + "," + rule(accepted), Fate::dropped},
	{"interface", rule(match(iif, R"("eth0")") + "," + drop), Fate::dropped},
	{"interfaces", rule(match(iif, R"("eth*")") + "," + drop), Fate::dropped},
	{"not_lo", rule(match(iif, R"("lo")", "!=") + "," + drop), Fate::dropped},
	{"another_interface", rule(match(iif, R"("eth1")") + "," + drop),
	 Fate::passes},
	{"udp", rule(match(R"({"payload": {"protocol": "udp", "field": "dport"}})",
			   "7174") + "," + drop),
	 Fate::passes},
	{"all_but_a_port_of_udp",
	 rule(match(R"({"payload": {"protocol": "udp", "field": "dport"}})", "53", "!=") +
	      "," + drop),
	 Fate::passes},
	{"all_but_an_address_of_the_other_family",
	 rule(match(R"({"payload": {"protocol": "ip6", "field": "daddr"}})",
		    R"("2001:db8::1")", "!=") + "," + drop),
	 Fate::passes},
	{"named_interfaces", rule(match(iif, R"("@lan")") + "," + drop),
	 Fate::maybe_dropped},
	{"none_of_named_interfaces", rule(match(iif, R"("@lan")", "!=") + "," + drop),
	 Fate::maybe_dropped},
	{"index_of_interface",
	 rule(match(R"({"meta": {"key": "iif"}})", "7") + "," + drop),
	 Fate::maybe_dropped},
	{"protocol", rule(match(R"({"meta": {"key": "l4proto"}})", R"("tcp")") +
			  "," + drop),
	 Fate::dropped},
	{"other_protocols",
	 rule(match(R"({"meta": {"key": "l4proto"}})",
		    R"({"set": ["udp", "icmp", 17]})") + "," + drop),
	 Fate::passes},
	{"own_address",
	 rule(match(R"({"payload": {"protocol": "ip", "field": "daddr"}})",
		    R"("192.0.2.1")") + "," + drop),
	 Fate::dropped},
	{"another_address",
	 rule(match(R"({"payload": {"protocol": "ip", "field": "daddr"}})",
		    R"("192.0.2.9")") + "," + drop),
	 Fate::passes},
	{"some_senders", rule(match(saddr, R"("@banned")") + "," + drop),
	 Fate::maybe_dropped},
	{"friends_first", rule(match(saddr, R"("192.0.2.2")") + "," + accepted) +
			  "," + rule(drop),
	 Fate::maybe_accepted},
	{"established_only", rule(match(ct_state, R"(["established", "related"])",
					"in") + "," + accepted) + "," + rule(drop),
	 Fate::dropped},
	{"new_ones", rule(match(ct_state, R"(["new"])", "in") + "," + drop),
	 Fate::dropped},
	{"policy", "", Fate::dropped, 7174, "drop"},
	{"policy_and_port", rule(dport("7174") + "," + accepted), Fate::passes,
	 7174, "drop"},
	{"policy_and_another_port", rule(dport("22") + "," + accepted),
	 Fate::dropped, 7174, "drop"},
	{"policy_and_some_port", rule(dport("22") + "," + accepted),
	 Fate::maybe_accepted, std::nullopt, "drop"},
	{"some_port_dropped", rule(dport("22") + "," + drop), Fate::maybe_dropped,
	 std::nullopt},
	{"all_ports_dropped", rule(dport(R"({"range": [1, 65535]})") + "," + drop),
	 Fate::dropped, std::nullopt},
	{"limited", rule(R"({"limit": {"rate": 1}},)" + drop),
	 Fate::maybe_dropped},
	{"iptables", rule(R"({"xt": null},)" + drop), Fate::maybe_dropped},
	{"verdict_map", rule(verdicts), Fate::maybe_dropped},
	{"verdict_map_of_another_interface",
	 rule(match(iif, R"("eth1")") + "," + verdicts), Fate::passes},
	{"verdict_map_and_policy", rule(verdicts), Fate::maybe_accepted, 7174, "drop"},
	{"jump", rule(R"({"jump": {"target": "sub"}})") +
		 R"(,{"rule": {"family": "inet", "table": "t", "chain": "sub",
		 "expr": [{"drop": null}]}})",
	 Fate::dropped},
	{"jump_and_return", rule(R"({"jump": {"target": "sub"}})") +
		 R"(,{"rule": {"family": "inet", "table": "t", "chain": "sub",
		 "expr": [{"return": null}]}},
		 {"rule": {"family": "inet", "table": "t", "chain": "sub",
		 "expr": [{"drop": null}]}})",
	 Fate::passes},
	{"goto_ends", rule(R"({"goto": {"target": "sub"}})") + "," + rule(drop),
	 Fate::passes},
	{"jump_in_a_circle", rule(R"({"jump": {"target": "in"}})"), Fate::passes},
	{"rule_without_anything", R"({"rule": {"family": "inet", "table": "t",
		"chain": "in"}})",
	 Fate::passes},
};

class firewall_rules : public testing::TestWithParam<Rules> {};

TEST_P(firewall_rules, are_understood)
{
	const auto &row = GetParam();
	const auto json = Json::parse(
		R"({"nftables": [{"chain": {"family": "inet", "table": "t",
		"name": "in", "type": "filter", "hook": "input",
		"policy": ")"s + row.policy + R"("}})" +
		(row.rules.empty() ? "" : ",") + row.rules + "]}");
	const auto result =
		check_firewall(json, {"eth0", {"192.0.2.1"}, row.port});

	EXPECT_EQ(result.fate, row.fate) << result.where;
	EXPECT_EQ(result.where.empty(), row.fate == Fate::passes);
}

std::string name_of_rules(const testing::TestParamInfo<Rules> &param)
{
	return param.param.name;
}

INSTANTIATE_TEST_SUITE_P(, firewall_rules, testing::ValuesIn(rulesets),
			 name_of_rules);

TEST(firewall, evaluates_incoming_chains_only)
{
	for (const char *chain :
	     {R"("type": "filter", "hook": "output", "policy": "drop")",
	      R"("type": "filter", "hook": "forward", "policy": "drop")",
	      R"("type": "nat", "hook": "prerouting", "policy": "drop")",
	      R"("policy": "drop")"}) {
		const auto json = Json::parse(
			R"({"nftables": [{"chain": {"family": "ip", "table": "t",
			"name": "c", )"s + chain + "}}]}");

		EXPECT_EQ(check_firewall(json, {"eth0", {}, 1}).fate, Fate::passes)
			<< chain;
	}
}

TEST(firewall, evaluates_chains_of_the_device_only)
{
	const std::vector<std::string> four{"192.0.2.1"}, six{"2001:db8::1"},
		both{"192.0.2.1", "2001:db8::1"};
	const struct {
		const char *chain;
		std::vector<std::string> addresses;
		Fate fate;
	} rows[] = {
		{R"("family": "arp", "hook": "input")", four, Fate::passes},
		{R"("family": "bridge", "hook": "input")", four, Fate::passes},
		{R"("family": "ip", "hook": "input")", four, Fate::dropped},
		{R"("family": "ip", "hook": "input")", both, Fate::dropped},
		{R"("family": "ip", "hook": "input")", six, Fate::passes},
		{R"("family": "ip", "hook": "input")", {}, Fate::dropped},
		{R"("family": "ip6", "hook": "input")", six, Fate::dropped},
		{R"("family": "ip6", "hook": "input")", both, Fate::dropped},
		{R"("family": "ip6", "hook": "input")", four, Fate::passes},
		{R"("family": "netdev", "hook": "ingress", "dev": "eth0")", four,
		 Fate::dropped},
		{R"("family": "netdev", "hook": "ingress", "dev": ["eth1", "eth0"])",
		 four, Fate::dropped},
		{R"("family": "netdev", "hook": "ingress", "dev": "eth1")", four,
		 Fate::passes},
		{R"("family": "netdev", "hook": "ingress", "dev": ["eth1", "eth2"])",
		 four, Fate::passes},
		{R"("family": "netdev", "hook": "ingress")", four, Fate::dropped},
	};

	for (const auto &row : rows) {
		const auto json = Json::parse(
			R"({"nftables": [{"chain": {"table": "t", "name": "c",
			"type": "filter", "policy": "drop", )"s + row.chain + "}}]}");

		EXPECT_EQ(check_firewall(json, {"eth0", row.addresses, 1}).fate, row.fate)
			<< row.chain << row.addresses.size();
	}
}

// --- this machine -------------------------------------------------------------------

class NoKernel : public Kernel {
public:
	Transport &mpa() override { throw Unavailable("no mpa"); }
	Rdma &rdma() override { throw Unavailable("no rdma"); }
	std::string module_release() override { return {}; }
};

TEST(machine, runs_commands_and_kills_those_that_hang)
{
	NoKernel kernel;
	const auto here = this_machine(kernel);
	auto end = here->run({"sh", "-c", "echo out; echo err >&2; exit 3"});

	EXPECT_EQ(end.out, "out\n");
	EXPECT_EQ(end.err, "err\n");
	EXPECT_EQ(end.status, 3);
	EXPECT_FALSE(end.good());
	EXPECT_TRUE(here->run({"true"}).good());
	EXPECT_FALSE(here->run({"/no/such/program"}).found);
	// Four MiB, and more than that.
	end = here->run({"head", "-c", "4194304", "/dev/zero"});
	EXPECT_TRUE(end.good());
	EXPECT_EQ(end.out.size(), 4194304u);
	end = here->run({"head", "-c", "5000000", "/dev/zero"});
	EXPECT_TRUE(end.too_long);
	EXPECT_FALSE(end.timed_out);
	EXPECT_FALSE(end.good());
	const auto started = std::chrono::steady_clock::now();
	end = here->run({"sleep", "60"});
	EXPECT_TRUE(end.timed_out);
	EXPECT_FALSE(end.good());
	EXPECT_LT(std::chrono::steady_clock::now() - started,
		  std::chrono::seconds(60));
}

// Debian's PATH for users has no sbin.
TEST(machine, finds_programs_in_sbin_with_the_path_of_a_user)
{
	const char *set = std::getenv("PATH");
	const std::string before = set ? set : "";
	const std::string sbin = ":/usr/local/sbin:/usr/sbin:/sbin\n";
	NoKernel kernel;
	const auto here = this_machine(kernel);
	const struct {
		const char *path;
		std::string searched;
	} rows[] = {
		{"/usr/bin:/bin", "/usr/bin:/bin" + sbin},
		{"/sbin:/usr/bin:/bin", "/sbin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin\n"},
		// The working directory is not searched.
		{"", "/usr/bin:/bin" + sbin},
		{nullptr, "/usr/bin:/bin" + sbin},
	};

	for (const auto &row : rows) {
		row.path ? ::setenv("PATH", row.path, 1) : ::unsetenv("PATH");
		EXPECT_TRUE(here->run({"ldconfig", "--version"}).good());
		EXPECT_EQ(here->run({"printenv", "PATH"}).out, row.searched);
	}
	::setenv("PATH", before.c_str(), 1);
}

// As a program may be started: the kernel keeps no exit status then.
TEST(machine, runs_commands_even_if_sigchld_is_ignored)
{
	NoKernel kernel;
	const auto here = this_machine(kernel);

	::signal(SIGCHLD, SIG_IGN);
	const auto end = here->run({"false"});
	::signal(SIGCHLD, SIG_DFL);
	EXPECT_EQ(end.status, 1);
	EXPECT_FALSE(end.timed_out);
}

TEST(machine, reads_files_and_limits)
{
	NoKernel kernel;
	const auto here = this_machine(kernel);

	EXPECT_EQ(here->read("/no/such/file").error, ENOENT);
	EXPECT_NE(here->read("/proc/self/status").text.find("Uid:"),
		  std::string::npos);
	EXPECT_EQ(here->read("/dev/zero").text.size() >> 20, 4u);
	EXPECT_TRUE(here->list("/no/such/dir").empty());
	EXPECT_TRUE(here->exists("/proc"));
	EXPECT_EQ(here->access("/dev/null"), 0);
	EXPECT_EQ(here->access("/no/such/file"), ENOENT);
	EXPECT_EQ(here->uid(), ::geteuid());
	EXPECT_EQ(here->mpa(), nullptr);
	EXPECT_TRUE(here->rdma_devices().empty());
}

// getifaddrs(3) names an address by its label, which begins with the name of the device.
TEST(machine, addresses_with_labels_are_those_of_their_devices)
{
	struct Entry {
		std::string name;
		const char *address;
		unsigned int flags;
	} entries[] = {
		{"eth0", "192.0.2.1", IFF_UP | IFF_RUNNING},
		{"eth0:vip", "192.0.2.2", IFF_UP | IFF_RUNNING},
		{"eth0.7:1", "192.0.2.3", IFF_UP},
		{"lo", "127.0.0.1", IFF_UP | IFF_RUNNING | IFF_LOOPBACK},
		{"eth0", nullptr, IFF_UP | IFF_RUNNING},
	};
	std::array<sockaddr_in, std::size(entries)> addresses{};
	std::array<ifaddrs, std::size(entries)> list{};

	for (std::size_t n = 0; n < list.size(); n++) {
		addresses[n].sin_family = AF_INET;
		list[n].ifa_name = entries[n].name.data();
		list[n].ifa_flags = entries[n].flags;
		if (n + 1 < list.size())
			list[n].ifa_next = &list[n + 1];
		if (!entries[n].address)
			continue;
		::inet_pton(AF_INET, entries[n].address, &addresses[n].sin_addr);
		list[n].ifa_addr = reinterpret_cast<sockaddr *>(&addresses[n]);
	}
	const auto devices = netdevs_of(list.data());

	ASSERT_EQ(devices.size(), 3u);
	EXPECT_EQ(devices[0].name, "eth0");
	EXPECT_EQ(devices[0].addresses,
		  (std::vector<std::string>{"192.0.2.1", "192.0.2.2"}));
	EXPECT_TRUE(devices[0].carrier);
	EXPECT_EQ(devices[1].name, "eth0.7");
	EXPECT_EQ(devices[1].addresses, std::vector<std::string>{"192.0.2.3"});
	EXPECT_FALSE(devices[1].carrier);
	EXPECT_EQ(devices[2].name, "lo");
	EXPECT_TRUE(devices[2].loopback);
	EXPECT_TRUE(netdevs_of(nullptr).empty());
}

TEST(machine, connects_to_itself)
{
	NoKernel kernel;
	const auto here = this_machine(kernel);
	const auto links = here->netdevs();
	const auto lo = std::find_if(links.begin(), links.end(),
				     [](const auto &one) { return one.loopback; });

	ASSERT_NE(lo, links.end());
	EXPECT_TRUE(lo->up);
	EXPECT_EQ(std::count(lo->addresses.begin(), lo->addresses.end(),
			     "127.0.0.1"),
		  1);
	EXPECT_EQ(here->loop("127.0.0.1", 0).end, LoopEnd::connected);
	EXPECT_EQ(here->loop("192.0.2.77", 0).end, LoopEnd::not_bound);
	EXPECT_EQ(here->loop("nonsense", 0).end, LoopEnd::failed);
	const auto path = here->path("127.0.0.1", 1500);
	EXPECT_TRUE(path.small_answered);
	EXPECT_TRUE(path.large_answered);
	EXPECT_FALSE(here->path("nonsense", 1500).why.empty());
}

// A program that answers, instead of the kernel.
TEST(machine, sends_few_datagrams)
{
	NoKernel kernel;
	const auto here = this_machine(kernel);
	const int fd = ::socket(AF_INET, SOCK_DGRAM, 0);
	const timeval limit{.tv_sec = 0, .tv_usec = 100000};
	std::atomic<bool> over = false;
	int received = 0;
	sockaddr_in own{};

	own.sin_family = AF_INET;
	own.sin_port = htons(33434);
	own.sin_addr.s_addr = htonl(0x7f00004d);
	ASSERT_EQ(::bind(fd, reinterpret_cast<sockaddr *>(&own), sizeof(own)), 0);
	::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	std::thread program([&] {
		sockaddr_in peer{};
		char some[2000];

		for (;;) {
			socklen_t size = sizeof(peer);
			auto *from = reinterpret_cast<sockaddr *>(&peer);

			if (::recvfrom(fd, some, sizeof(some), 0, from, &size) < 0) {
				if (over)
					break;
				continue;
			}
			received++;
			::sendto(fd, "x", 1, 0, from, size);
		}
	});
	const auto path = here->path("127.0.0.77", 1500);
	over = true;
	program.join();
	::close(fd);
	EXPECT_FALSE(path.small_answered);
	EXPECT_FALSE(path.large_answered);
	EXPECT_GE(received, 2);
	EXPECT_LE(received, 6);
}

TEST(machine, does_not_spin_if_a_datagram_cannot_be_sent)
{
	NoKernel kernel;
	const auto here = this_machine(kernel);
	const auto begin = std::clock();

	// Longer than any datagram.
	EXPECT_FALSE(here->path("127.0.0.1", 70000).large_answered);
	EXPECT_LT(std::clock() - begin, CLOCKS_PER_SEC / 2);
}

} // namespace
