// SPDX-License-Identifier: GPL-2.0-only
#include "trap.hpp"

#include <fcntl.h>
#include <cstring>

#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace net {

using namespace harness;

namespace {

const auto page_size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));

} // namespace

Trap::Trap(std::size_t pages) : size_(pages * page_size)
{
	if (!by_userfaultfd())
		by_module();
}

Trap::~Trap()
{
	release();
	::munmap(memory_, size_);
}

bool Trap::by_userfaultfd()
{
	fd_ = mpa::descriptor(static_cast<int>(
		::syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK)));
	if (!fd_)
		return false;
	uffdio_api api{.api = UFFD_API, .features = 0, .ioctls = 0};
	must_call(::ioctl(fd_.get(), UFFDIO_API, &api), "UFFDIO_API");
	void *memory = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	yes(memory != MAP_FAILED, "memory");
	memory_ = static_cast<char *>(memory);
	uffdio_register range{};
	range.range.start = reinterpret_cast<std::uintptr_t>(memory);
	range.range.len = size_;
	range.mode = UFFDIO_REGISTER_MODE_MISSING;
	must_call(::ioctl(fd_.get(), UFFDIO_REGISTER, &range), "UFFDIO_REGISTER");
	return true;
}

void Trap::by_module()
{
	module_ = true;
	fd_ = mpa::descriptor(::open("/dev/mpa_trap", O_RDWR | O_CLOEXEC));
	must_call(fd_.get(), "/dev/mpa_trap");
	void *memory = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED,
			      fd_.get(), 0);
	yes(memory != MAP_FAILED, "memory");
	memory_ = static_cast<char *>(memory);
}

int Trap::waiting()
{
	if (module_) {
		int count = 0;

		must_call(::read(fd_.get(), &count, sizeof(count)), "read");
		return count;
	}
	uffd_msg message{};
	while (::read(fd_.get(), &message, sizeof(message)) == sizeof(message))
		seen_ += message.event == UFFD_EVENT_PAGEFAULT;
	return seen_;
}

void Trap::await_waiting(int wanted, std::source_location at)
{
	await([&] { return waiting() >= wanted; }, "threads that wait for memory", at);
}

void Trap::release()
{
	if (module_) {
		must_call(::write(fd_.get(), "", 1), "write");
		return;
	}
	// A separate page for each: some may be present already.
	for (std::size_t at = 0; at < size_; at += page_size) {
		uffdio_zeropage page{};

		page.range.start = reinterpret_cast<std::uintptr_t>(memory_) + at;
		page.range.len = page_size;
		::ioctl(fd_.get(), UFFDIO_ZEROPAGE, &page);
	}
}

LateOption::LateOption(int fd, int level, int name, const Bytes &first, std::size_t size)
	: trap_(2)
{
	// The first page is an ordinary one.
	yes(::mmap(trap_.memory(), page_size, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED, "memory");
	char *value = trap_.memory() + page_size - first.size();
	std::memcpy(value, first.data(), first.size());
	call_ = std::async(std::launch::async, [=] {
		return err_of(::setsockopt(fd, level, name, value,
					   static_cast<socklen_t>(size)));
	});
	trap_.await_waiting(1);
}

Err LateOption::finish()
{
	trap_.release();
	return call_.get();
}

Held::Held(Tcp tcp) : tcp_(std::move(tcp)), twin_(::dup(tcp_.near.get())) {}

Held::~Held()
{
	if (thread_.joinable())
		thread_.join();
}

void Held::read_into(Trap &trap)
{
	// By then it is attached and started, on a busy machine too.
	const timeval soon{5, 0};

	must_call(::setsockopt(twin_.get(), SOL_SOCKET, SO_RCVTIMEO, &soon,
			       sizeof(soon)), "SO_RCVTIMEO");
	thread_ = std::thread([&trap, this] {
		id_ = ::gettid();
		// When its time is over it checks the queue once more.
		::recv(twin_.get(), trap.memory(), 16, 0);
	});
	await_asleep(id_);
}

void Held::start()
{
	mpa::params params;

	ours_ = attach(std::move(tcp_.near));
	params.timeout = time_to_start;
	must(ours_.set_params(params), "parameters");
	begin(ours_, mpa::role::responder);
	must_call(::send(tcp_.far.get(), "MPA ID", 6, 0), "send");
}

} // namespace net
