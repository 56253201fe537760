/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// What goes wrong, by kind: the kind decides the exit status. A command throws;
// run() in app.cpp writes "mpactl: ..." and ends with the status.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace mpactl {

// Exit statuses, as mpactl(8) has them.
enum class Exit {
	ok = 0,
	// The kernel or a peer said no, or something was found wrong.
	refused = 1,
	usage = 2,
	// The module, the family or a device is not there.
	unavailable = 3,
	// A host, a file, an output cannot be reached, read or written.
	io = 4,
};

// Anything that ends a command, for a person.
class Error : public std::runtime_error {
public:
	Error(Exit status, const std::string &text)
		: std::runtime_error(text), status_(status)
	{
	}

	Exit status() const noexcept { return status_; }

private:
	Exit status_;
};

// The command line or a file is not understood.
class UsageError : public Error {
public:
	explicit UsageError(const std::string &text) : Error(Exit::usage, text) {}
};

class Unavailable : public Error {
public:
	explicit Unavailable(const std::string &text)
		: Error(Exit::unavailable, text)
	{
	}
};

class IoError : public Error {
public:
	explicit IoError(const std::string &text) : Error(Exit::io, text) {}
};

// A kernel's no, as it comes in an acknowledgement.
struct Refusal {
	// Positive error number.
	int number = 0;
	// The kernel's own message, or empty.
	std::string message;
	// The attribute of the request it is about, as "change 2: config.ird", or
	// empty.
	std::string attribute;
	// What the kernel's policy lets the attribute be.
	std::optional<std::pair<std::uint64_t, std::uint64_t>> range;

	bool operator==(const Refusal &) const = default;
};

// "message (attribute ..., 0 .. 16382)"; the error number's own text if there is
// no message.
std::string explain(const Refusal &refusal);

class KernelError : public Error {
public:
	KernelError(const std::string &what, Refusal refusal)
		: Error(Exit::refused, what + ": " + explain(refusal)),
		  refusal_(std::move(refusal))
	{
	}

	const Refusal &refusal() const noexcept { return refusal_; }

private:
	Refusal refusal_;
};

} // namespace mpactl
