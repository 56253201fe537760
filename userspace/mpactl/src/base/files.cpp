/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "base/files.hpp"

#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mpa/mpa.hpp>

#include "base/error.hpp"
#include "base/stop_signals.hpp"

namespace mpactl {

namespace {

[[noreturn]] void fail(const std::string &path)
{
	throw IoError(path + ": " + mpa::last_error().message());
}

mpa::descriptor open_file(const std::string &path, int flags)
{
	mpa::descriptor file(::open(path.c_str(), flags | O_CLOEXEC, 0666));

	if (file.get() < 0)
		fail(path);
	return file;
}

void write_all(int fd, const std::string &text, const std::string &path)
{
	for (std::size_t done = 0; done < text.size();) {
		const auto put = ::write(fd, text.data() + done,
					 text.size() - done);

		if (put < 0 && errno != EINTR)
			fail(path);
		if (put > 0)
			done += static_cast<std::size_t>(put);
	}
}

// The target of a symbolic link is replaced, not the link, or made if it does not exist.
std::string real_path(const std::string &path)
{
	std::filesystem::path at = path;
	// As the kernel has it.
	constexpr int links_max = 40;

	for (int n = 0; n < links_max; n++) {
		std::error_code none;
		const auto to = std::filesystem::read_symlink(at, none);

		// What is wrong with the path is seen when the file is made.
		if (none)
			break;
		// An absolute one replaces the directory.
		at = at.parent_path() / to;
	}
	return at;
}

// The permissions of the file that is replaced, or those of a new file.
mode_t mode_for(const struct stat *old)
{
	if (old)
		return old->st_mode & 07777;
	const auto mask = ::umask(0);

	::umask(mask);
	return 0666 & ~mask;
}

// A temporary file in the same directory. It is removed by the destructor unless it
// has replaced the file.
class Draft {
public:
	// The file `old`, which may be nullptr, will be replaced. The delegated constructor
	// has completed, so that the destructor removes the file if this one throws.
	Draft(const std::string &path, const struct stat *old) : Draft(path)
	{
		// What an ordinary user cannot keep stays that of this user. Before the
		// mode: it would clear bits of it.
		if (old && ::fchown(file_.get(), old->st_uid, old->st_gid))
			(void)!::fchown(file_.get(), static_cast<uid_t>(-1), old->st_gid);
		if (::fchmod(file_.get(), mode_for(old)))
			fail(path_);
	}

	~Draft()
	{
		if (!name_.empty())
			::unlink(name_.c_str());
	}

	Draft(const Draft &) = delete;
	Draft &operator=(const Draft &) = delete;

	void write(const std::string &text) const
	{
		write_all(file_.get(), text, path_);
		if (::fsync(file_.get()))
			fail(path_);
	}

	void replace_file()
	{
		if (::rename(name_.c_str(), path_.c_str()))
			fail(path_);
		name_.clear();
	}

private:
	explicit Draft(const std::string &path)
		: path_(path), name_(path + ".XXXXXX"),
		  file_(::mkostemp(name_.data(), O_CLOEXEC))
	{
		if (file_.get() < 0)
			fail(path_);
	}

	const std::string &path_;
	std::string name_;
	mpa::descriptor file_;
};

} // namespace

std::string read_file(const std::string &path)
{
	const auto file = path == "-" ? mpa::descriptor(::dup(STDIN_FILENO))
				      : open_file(path, O_RDONLY);
	std::array<char, 65536> part;
	std::string text;

	for (;;) {
		const auto got = ::read(file.get(), part.data(), part.size());

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			fail(path);
		if (got == 0)
			return text;
		text.append(part.data(), static_cast<std::size_t>(got));
		if (text.size() > file_max)
			throw IoError(path + ": longer than 1 MiB");
	}
}

void write_file(const std::string &path, const std::string &text)
{
	struct stat old;
	const bool there = ::stat(path.c_str(), &old) == 0;

	if (there && !S_ISREG(old.st_mode)) {
		write_all(open_file(path, O_WRONLY).get(), text, path);
		return;
	}
	const auto real = real_path(path);
	// A temporary file must not be left.
	const BlockedStopSignals until_complete;
	Draft draft(real, there ? &old : nullptr);

	draft.write(text);
	draft.replace_file();
}

} // namespace mpactl
