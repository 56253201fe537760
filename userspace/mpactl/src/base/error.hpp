/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// Errors by kind, which determines the exit status. A command throws an error;
// run() in app.cpp writes "mpactl: ..." and returns the status.
#pragma once

#include <cerrno>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace mpactl {

// Exit statuses, as described in mpactl(8).
enum class Exit {
	ok = 0,
	// The kernel or a peer refused the request, or a problem was found.
	refused = 1,
	usage = 2,
	// The module, the family or a device does not exist.
	unavailable = 3,
	// A host cannot be reached; a file or an output cannot be read or written.
	io = 4,
};

// Base class; what() is a message for the user.
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

// The command line or a file contains an error.
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

// The error of a netlink acknowledgement.
struct Refusal {
	// Positive error number.
	int number = 0;
	// The kernel's own message, or empty.
	std::string message;
	// The attribute of the request that caused it, for example "config.ird",
	// or empty.
	std::string attribute;
	// Bounds of the attribute in the kernel's policy.
	std::optional<std::pair<std::uint64_t, std::uint64_t>> range;

	bool operator==(const Refusal &) const = default;
};

// "message (attribute ..., 0 .. 16382)". Without a message, the text of the error
// number is used.
std::string explain(const Refusal &refusal);

class KernelError : public Error {
public:
	KernelError(const std::string &what, Refusal refusal)
		: Error(refusal.number == ENODEV ? Exit::unavailable : Exit::refused,
			what + ": " + explain(refusal)),
		  refusal_(std::move(refusal))
	{
	}

	const Refusal &refusal() const noexcept { return refusal_; }

private:
	Refusal refusal_;
};

} // namespace mpactl
