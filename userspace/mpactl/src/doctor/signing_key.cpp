/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "doctor/signing_key.hpp"

#include <algorithm>
#include <cctype>
#include <set>
#include <sstream>
#include <string_view>
#include <vector>

namespace mpactl {

namespace {

// Hexadecimal digits in one form. Programs differ in colons, case and leading zeros.
std::string digits_of(std::string_view text)
{
	std::string digits;

	for (const char c : text) {
		const auto byte = static_cast<unsigned char>(c);

		if (std::isxdigit(byte))
			digits += static_cast<char>(std::tolower(byte));
	}
	return digits.substr(std::min(digits.find_first_not_of('0'), digits.size()));
}

// --- certificates -----------------------------------------------------------------

struct Certificate {
	std::string serial;
	// Identifier of the subject's key; empty: it has none.
	std::string key_id;
};

Certificate read_certificate(Examination &on, const std::string &path)
{
	const auto end = on.machine.run({"openssl", "x509", "-in", path, "-noout", "-serial",
					 "-ext", "subjectKeyIdentifier"});
	static constexpr std::string_view serial = "serial=";
	std::istringstream lines(end.good() ? end.out : std::string());
	Certificate certificate;
	bool is_key_id = false;
	std::string line;

	while (std::getline(lines, line)) {
		if (line.starts_with(serial))
			certificate.serial = digits_of(line.substr(serial.size()));
		else if (is_key_id)
			certificate.key_id = digits_of(line);
		is_key_id = line.starts_with("X509v3 Subject Key Identifier:");
	}
	return certificate;
}

// The certificates that DKMS' configuration, which is a shell script, names.
std::vector<std::string> configured_certificates(Examination &on)
{
	static constexpr std::string_view key = "mok_certificate=";
	const std::string main = "/etc/dkms/framework.conf", more = main + ".d";
	std::vector<std::string> configs{main}, found;

	for (const auto &name : on.machine.list(more))
		configs.push_back(more + "/" + name);
	for (const auto &config : configs) {
		std::istringstream lines(on.machine.read(config).text);
		std::string line;

		while (std::getline(lines, line)) {
			std::erase_if(line, [](char c) { return c == '"' || c == '\''; });
			if (line.starts_with(key))
				found.push_back(line.substr(key.size()));
		}
	}
	return found;
}

// Files of certificates with which DKMS signs modules; the last one is Ubuntu's.
std::vector<std::string> certificate_files(Examination &on)
{
	auto files = configured_certificates(on);

	files.insert(files.end(),
		     {"/var/lib/dkms/mok.pub", "/var/lib/shim-signed/mok/MOK.der"});
	std::erase_if(files, [&](const auto &file) { return !on.machine.exists(file); });
	return files;
}

// --- keys -------------------------------------------------------------------------

struct KernelKeys {
	// Whether this process may view all of them.
	bool visible = false;
	// Identifiers of keys; of those without one, the serial numbers of certificates.
	std::set<std::string> ids;
};

// "SUBJECT: IDENTIFIER: X509.rsa 1ebe3261 []"
std::string id_in(const std::string &description)
{
	const auto names = description.substr(0, description.rfind(": X509."));
	const auto at = names.rfind(": ");

	return at == names.npos ? std::string() : names.substr(at + 2);
}

// The keys that the kernel has from its image and from the firmware. Root may view them. Not all
// kernels verify modules with .platform, but those that Secure Boot locks down do.
KernelKeys kernel_keys(Examination &on)
{
	std::istringstream lines(on.machine.read("/proc/keys").text);
	std::string line;
	KernelKeys keys;

	while (std::getline(lines, line)) {
		std::istringstream words(line);
		std::string number, flags, usage, timeout, permissions, uid, gid, type, rest;

		words >> number >> flags >> usage >> timeout >> permissions >> uid >> gid >> type;
		std::getline(words >> std::ws, rest);
		// Keys that programs have added permit their possessor to change attributes.
		if (uid != "0" || !permissions.starts_with("1f"))
			continue;
		if (type == "keyring" && rest.starts_with(".builtin_trusted_keys:"))
			keys.visible = true;
		if (type == "asymmetri")
			keys.ids.insert(digits_of(id_in(rest)));
	}
	return keys;
}

// What the firmware's variables say, which users may read. Versions of mokutil differ in the
// meaning of the exit status.
Enrolled enrolled_by_firmware(Examination &on, const std::string &certificate)
{
	const auto end = on.machine.run({"mokutil", "--test-key", certificate});
	const struct {
		const char *text;
		Enrolled enrolled;
	} answers[] = {
		{" is already enrolled", Enrolled::yes},
		{" is already in db", Enrolled::yes},
		{" is already in the enrollment request", Enrolled::requested},
		{" is not enrolled", Enrolled::no},
	};

	for (const auto &answer : answers)
		if (end.out.find(answer.text) != end.out.npos)
			return answer.enrolled;
	return Enrolled::unknown;
}

} // namespace

SigningKey find_signing_key(Examination &on, const std::string &serial)
{
	const auto wanted = digits_of(serial);
	const auto keys = kernel_keys(on);
	SigningKey key;
	std::string id = wanted;

	if (wanted.empty())
		return key;
	for (const auto &file : certificate_files(on)) {
		const auto certificate = read_certificate(on, file);

		if (certificate.serial != wanted)
			continue;
		key.certificate = file;
		if (!certificate.key_id.empty())
			id = certificate.key_id;
		break;
	}
	if (keys.ids.contains(id))
		key.enrolled = Enrolled::yes;
	else if (key.certificate.empty())
		key.enrolled = Enrolled::unknown;
	else if (keys.visible)
		key.enrolled = Enrolled::no;
	else
		key.enrolled = enrolled_by_firmware(on, key.certificate);
	return key;
}

} // namespace mpactl
