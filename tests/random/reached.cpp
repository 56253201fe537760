// SPDX-License-Identifier: GPL-2.0-only
#include "reached.hpp"

#include <cstdint>
#include <cstring>
#include <fstream>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace
{

constexpr std::size_t module_size = 1 << 20;
constexpr std::size_t map_size = 2 * module_size;

} // namespace

Reached::Reached()
{
	const int fd = ::open("/dev/mpa_reached", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return;
	void *const at = ::mmap(nullptr, map_size, PROT_READ | PROT_WRITE,
				MAP_SHARED, fd, 0);
	::close(fd);
	if (at == MAP_FAILED)
		return;
	map_ = static_cast<unsigned char *>(at);
	known_.resize(map_size);
}

std::size_t Reached::fresh()
{
	std::size_t found = 0;

	if (!map_)
		return 0;
	for (std::size_t at = 0; at < map_size; at += sizeof(std::uint64_t)) {
		// What the kernel sets meanwhile is seen the next time.
		if (!*reinterpret_cast<const volatile std::uint64_t *>(map_ +
								       at))
			continue;
		for (std::size_t n = at; n < at + sizeof(std::uint64_t); n++) {
			if (!map_[n])
				continue;
			map_[n] = 0;
			found += !known_[n];
			known_[n] = 1;
		}
	}
	total_ += found;
	return found;
}

void Reached::write(const std::string &path) const
{
	std::ofstream out(path);

	for (std::size_t at = 0; at < known_.size(); at++)
		if (known_[at])
			out << (at < module_size ? "mpa " : "mpa_rnic ")
			    << std::hex << at % module_size << '\n';
}
