// SPDX-License-Identifier: GPL-2.0-only
//
// Options: values, lengths, and the states in which they may be used.
#include "net.hpp"

#include <map>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace harness;
using namespace net;

namespace {

Err set_raw(const mpa::socket &socket, int option, const void *value, int size)
{
	return err_of(::setsockopt(socket.fd(), SOL_MPA, option, value,
				   static_cast<socklen_t>(size)));
}

Err get_raw(const mpa::socket &socket, int option, void *value, int *size)
{
	return err_of(::getsockopt(socket.fd(), SOL_MPA, option, value,
				   reinterpret_cast<socklen_t *>(size)));
}

CASE("options: initial values of the parameters")
{
	Attached both;

	yes(must(both.near.params(), "parameters") == mpa::params{},
	    "nothing is asked for, the revision is automatic");
	is(must(both.near.private_data(), "private data").size(), 0u, "private data");
	is(must(both.near.last_message(), "last message").size(), 0u, "last message");
	is(must(both.near.packing(), "packing"), false, "packing");
	is(must(both.near.peer_data(), "peer's data").size(), 0u, "peer's data");
}

CASE("options: every field of the parameters, and its limits")
{
	struct {
		const char *what;
		mpa_sock_params params;
		int wanted;
	} const rows[] = {
		{"revision 1", {.rev = 1}, 0},
		{"revision 2", {.rev = 2}, 0},
		{"revision auto", {.rev = 0xff}, 0},
		{"revision 0", {.rev = 0}, 0},
		{"revisions 1 to 2", {.rev = 2, .rev_min = 1}, 0},
		{"revisions 2 to 2", {.rev = 2, .rev_min = 2}, 0},
		{"revisions 2 to 1", {.rev = 1, .rev_min = 2}, EINVAL},
		{"revisions 1 to 0", {.rev = 0, .rev_min = 1}, EINVAL},
		{"revisions 3 to auto", {.rev = 0xff, .rev_min = 3}, EINVAL},
		{"either startup", {.rev = 1, .startup = 2}, 0},
		{"startup 3", {.rev = 1, .startup = 3}, EINVAL},
		{"padding", {.rev = 1, .pad = {1, 0}}, EINVAL},
		{"more padding", {.rev = 1, .pad = {0, 1}}, EINVAL},
		{"revision 3", {.rev = 3}, EINVAL},
		{"revision 0xfe", {.rev = 0xfe}, EINVAL},
		{"all flags", {.flags = 0x19f, .rev = 1}, 0},
		{"flag 32", {.flags = 1 << 5, .rev = 1}, EINVAL},
		{"flag 64", {.flags = 1 << 6, .rev = 1}, EINVAL},
		{"flag 512", {.flags = 1 << 9, .rev = 1}, EINVAL},
		{"last flag", {.flags = 1u << 31, .rev = 1}, EINVAL},
		{"every RTR", {.rev = 2, .rtr = 7}, 0},
		{"RTR 8", {.rev = 2, .rtr = 8}, EINVAL},
		{"RTR 0x80", {.rev = 2, .rtr = 0x80}, EINVAL},
		{"IRD 16382", {.rev = 2, .ird = 16382}, 0},
		{"IRD 16383", {.rev = 2, .ird = 16383}, EINVAL},
		{"ORD 16382", {.rev = 2, .ord = 16382}, 0},
		{"ORD 16383", {.rev = 2, .ord = 16383}, EINVAL},
		{"IRD limit 16382", {.rev = 2, .ird_max = 16382}, 0},
		{"IRD limit 65535", {.rev = 2, .ird_max = 65535}, EINVAL},
		{"1 ms", {.rev = 1, .timeout_ms = 1}, 0},
		{"25 days", {.rev = 1, .timeout_ms = 0x7fffffff}, 0},
		{"more than 25 days", {.rev = 1, .timeout_ms = 0x80000000}, EINVAL},
	};

	for (const auto &row : rows) {
		const Row name(row.what);
		Attached both;
		auto &params = row.params;

		is(set_raw(both.near, MPA_SO_PARAMS, &params, sizeof(params)),
		   row.wanted, "set");
		const auto want = row.wanted ? mpa::params{}
					     : mpa::from_kernel(params);
		yes(must(both.near.params(), "get") == want, "read back");
	}
}

CASE("options: structures that are shorter or longer")
{
	Attached both;
	struct {
		mpa_sock_params params;
		std::array<unsigned char, 48> more;
	} value{};

	value.params = {.flags = MPA_F_MARKERS, .rev = 2, .timeout_ms = 77};
	const int size = sizeof(value.params);
	is(set_raw(both.near, MPA_SO_PARAMS, &value, 0), EINVAL, "nothing");
	is(set_raw(both.near, MPA_SO_PARAMS, &value, 4), 0, "flags alone");
	yes(must(both.near.params(), "get").rev == mpa::revision::zero, "revision 0");
	for (const int shorter : {5, 8, 12}) {
		const Row row(shorter);

		is(set_raw(both.near, MPA_SO_PARAMS, &value, shorter), 0, "set");
		const auto got = must(both.near.params(), "get");
		yes(got.markers && got.rev == mpa::revision::two, "what was given");
		is(got.timeout.count(), 0, "what was not");
	}
	for (const int more : {0, 1, 8, 48}) {
		const Row row(size + more);

		is(set_raw(both.near, MPA_SO_PARAMS, &value, size + more), 0, "set");
		is(must(both.near.params(), "get").timeout.count(), 77, "all of it");
	}
	value.more[7] = 1;
	is(set_raw(both.near, MPA_SO_PARAMS, &value, size + 7), 0, "zeros");
	is(set_raw(both.near, MPA_SO_PARAMS, &value, size + 8), E2BIG, "not zeros");
	// At most a page is checked for zeros.
	const int page = static_cast<int>(::sysconf(_SC_PAGESIZE));
	std::vector<unsigned char> zeros(1 << 20);
	std::memcpy(zeros.data(), &value.params, sizeof(value.params));
	is(set_raw(both.near, MPA_SO_PARAMS, zeros.data(), page), 0, "a page");
	is(set_raw(both.near, MPA_SO_PARAMS, zeros.data(), page + 1), E2BIG,
	   "more than a page");
	is(set_raw(both.near, MPA_SO_PARAMS, zeros.data(), 1 << 20), E2BIG, "1 MiB");
}

CASE("options: buffers of any size for reading")
{
	const std::map<int, int> sizes{
		{MPA_SO_PARAMS, sizeof(mpa_sock_params)},
		{MPA_SO_INFO, sizeof(mpa_sock_info)},
		{MPA_SO_STATS, sizeof(mpa_sock_stats)},
		{MPA_SO_MULPDU, 4},
		{MPA_SO_PACKING, 4},
	};
	Pair pair;

	for (const auto &[option, size] : sizes) {
		for (const int room : {0, 1, 3, size - 1, size, size + 1, 4096}) {
			const Row row("option", option, "room", room);
			std::vector<unsigned char> value(4097, 0xa5);
			int got = room;

			is(get_raw(pair.near, option, value.data(), &got), 0, "get");
			is(got, std::min(size, room), "bytes reported");
			is(int(value[static_cast<std::size_t>(got)]), 0xa5,
			   "byte behind it");
		}
		int negative = -1;
		unsigned char value[256];
		is(get_raw(pair.near, option, value, &negative), EINVAL, "room -1");
		int some = 4;
		is(get_raw(pair.near, option, nullptr, &some), EFAULT, "no room");
		is(get_raw(pair.near, option, value, nullptr), EFAULT, "no length");
	}
}

CASE("options: byte strings are read completely or not at all")
{
	Attached both;
	unsigned char value[16];

	for (const int option : {MPA_SO_PRIVATE_DATA, MPA_SO_LAST_MESSAGE}) {
		const Row row("option", option);

		is(set_raw(both.near, option, "12345", 5), 0, "set");
		for (const int room : {0, 4, 5, 6}) {
			int got = room;

			is(get_raw(both.near, option, value, &got),
			   room < 5 ? ERANGE : 0, "get");
			is(got, 5, "length");
		}
		is(set_raw(both.near, option, nullptr, 5), EFAULT, "no bytes");
		is(set_raw(both.near, option, nullptr, 0), 0, "none at all");
		int got = 16;
		is(get_raw(both.near, option, value, &got), 0, "get");
		is(got, 0, "length");
	}
}

CASE("options: lengths of private data and last messages")
{
	Attached both;

	for (int size = 0; size <= 513; size++) {
		const Row row(size);
		const auto data = pattern(static_cast<std::size_t>(size));

		is(err(both.near.set_private_data(data)), size > 512 ? EMSGSIZE : 0,
		   "set");
		if (size <= 512)
			yes(std::ranges::equal(
				    must(both.near.private_data(), "get").view(), data),
			    "read back");
	}
	is(must(both.near.private_data(), "get").size(), 512u, "the last good one");
	for (const std::size_t size : {0, 1, 4095, 4096, 4097, 65536}) {
		const Row row(size);

		is(err(both.near.set_last_message(pattern(size))),
		   size > 4096 ? EMSGSIZE : 0, "set");
	}
	is(must(both.near.last_message(), "get").size(), 4096u, "the last good one");
}

CASE("options: integers have one length")
{
	Attached both;
	const std::array<int, 4> value{MPA_ROLE_RESPONDER, 0, 0, 0};

	for (const int option : {MPA_SO_START, MPA_SO_PACKING}) {
		for (const int size : {0, 1, 3, 5, 8, 16}) {
			const Row row("option", option, "size", size);

			is(set_raw(both.near, option, value.data(), size), EINVAL, "set");
		}
		is(set_raw(both.near, option, nullptr, 4), EFAULT, "no value");
	}
	for (const int bits : {2, 3, -1, 1 << 30}) {
		const Row row("packing", bits);

		is(set_raw(both.near, MPA_SO_PACKING, &bits, sizeof(bits)), EINVAL,
		   "unknown bits");
		yes(!must(both.near.packing(), "packing"), "nothing was set");
	}
	for (const int role : {-1, 0, 3, 256, 1 << 30}) {
		const Row row("role", role);

		is(set_raw(both.near, MPA_SO_START, &role, sizeof(role)), EINVAL,
		   "start");
	}
	is(name(must(both.near.info(), "info").state), name(mpa::state::streaming),
	   "state");
}

CASE("options: unknown ones, and the wrong direction")
{
	Pair pair;
	std::array<unsigned char, 64> value{};

	for (const int option : {-1, 0, MPA_SO_STATS + 1, 100, 0x7fffffff}) {
		const Row row("option", option);
		int size = 4;

		is(set_raw(pair.near, option, value.data(), 4), ENOPROTOOPT, "set");
		is(get_raw(pair.near, option, value.data(), &size), ENOPROTOOPT, "get");
	}
	for (const int option : {MPA_SO_START, MPA_SO_ACCEPT, MPA_SO_REJECT}) {
		int size = 4;

		is(get_raw(pair.near, option, value.data(), &size), ENOPROTOOPT,
		   "get of what can be set only");
	}
	for (const int option : {MPA_SO_PEER_DATA, MPA_SO_INFO, MPA_SO_MULPDU,
				 MPA_SO_STATS})
		is(set_raw(pair.near, option, value.data(), 4), ENOPROTOOPT,
		   "set of what can be read only");
}

// A socket in each state, and the objects that it needs.
struct Staged {
	mpa::socket socket;
	Wire wire;
	mpa::socket other;
};

Staged stage(mpa::state state)
{
	using enum mpa::state;
	Staged staged;

	if (state == listening) {
		Listener listener;

		staged.socket = attach(std::move(listener.fd));
		return staged;
	}
	if (state == operational || state == receive_ended) {
		Running running(mpa::role::responder);

		if (state == receive_ended) {
			auto bad = fpdu(mpa::bytes("bad"));
			bad.back() ^= std::byte{1};
			running.wire.send(bad);
			await_events(running.ours.fd(), POLLIN, "an error");
		}
		staged.socket = std::move(running.ours);
		staged.wire = std::move(running.wire);
		return staged;
	}
	WithWire pair;
	auto &socket = pair.ours;
	auto &wire = pair.wire;
	switch (state) {
	case wait_reply:
	case rejected:
	case failed:
		begin(socket, mpa::role::initiator);
		wire.read_frame();
		if (state == rejected)
			wire.send(reply(flag_crc | flag_reject));
		if (state == failed)
			wire.send(pattern(64));
		break;
	case wait_request:
	case requested:
		begin(socket, mpa::role::responder);
		if (state == requested)
			wire.send(request());
		break;
	default:
		break;
	}
	await([&] { return must(socket.info(), "info").state == state; },
	      "state " + std::string(name(state)));
	must(socket.set_blocking(false), "O_NONBLOCK");
	staged.socket = std::move(socket);
	staged.wire = std::move(wire);
	return staged;
}

constexpr std::array states{
	mpa::state::streaming,	  mpa::state::listening,
	mpa::state::wait_reply,	  mpa::state::wait_request,
	mpa::state::requested,	  mpa::state::operational,
	mpa::state::receive_ended, mpa::state::rejected,
	mpa::state::failed,
};

bool is_fresh(mpa::state state)
{
	return state == mpa::state::streaming || state == mpa::state::listening;
}

CASE("options: setting each in each state")
{
	const mpa_sock_params params{.rev = 1};
	const int initiator = MPA_ROLE_INITIATOR, responder = MPA_ROLE_RESPONDER;
	const int on = 1;

	for (const auto state : states) {
		const Row row(name(state));
		const bool fresh = is_fresh(state);
		// Plain TCP again, on which another try is possible.
		const bool again = state == mpa::state::rejected;
		const auto set = [&](int option, const void *value, int size) {
			auto staged = stage(state);

			return set_raw(staged.socket, option, value, size);
		};

		if (!again) {
			is(set(MPA_SO_PARAMS, &params, sizeof(params)),
			   fresh ? 0 : EBUSY, "parameters");
			is(set(MPA_SO_PRIVATE_DATA, "x", 1), fresh ? 0 : EBUSY,
			   "private data");
			is(set(MPA_SO_LAST_MESSAGE, "x", 1), fresh ? 0 : EBUSY,
			   "last message");
		}
		is(set(MPA_SO_PACKING, &on, sizeof(on)), 0, "packing");
		is(set(MPA_SO_START, &initiator, sizeof(initiator)),
		   state == mpa::state::streaming ? EINPROGRESS : EINVAL,
		   "start as Initiator");
		is(set(MPA_SO_START, &responder, sizeof(responder)),
		   state == mpa::state::streaming   ? EINPROGRESS
		   : state == mpa::state::listening ? 0
						    : EINVAL,
		   "start as Responder");
		const int answer = state == mpa::state::requested ? 0 : EINVAL;
		is(set(MPA_SO_ACCEPT, "x", 1), answer, "accept");
		is(set(MPA_SO_ACCEPT, nullptr, 0), answer, "accept without data");
		is(set(MPA_SO_REJECT, "x", 1), answer, "reject");
		is(set(MPA_SO_REJECT, nullptr, 0), answer, "reject without data");
	}
}

CASE("options: reading each in each state")
{
	for (const auto state : states) {
		const Row row(name(state));
		auto staged = stage(state);
		const bool works = state == mpa::state::operational ||
				   state == mpa::state::receive_ended;
		const auto info = must(staged.socket.info(), "info");

		is(name(info.state), name(state), "state");
		is(info.mulpdu != 0, works, "MULPDU of the state");
		is(err(staged.socket.mulpdu()), works ? 0 : ENOTCONN, "MULPDU");
		must(staged.socket.params(), "parameters");
		must(staged.socket.private_data(), "private data");
		must(staged.socket.last_message(), "last message");
		must(staged.socket.peer_data(), "peer's data");
		must(staged.socket.packing(), "packing");
		must(staged.socket.stats(), "counts");
	}
}

// The result for a caller without any capability.
int unprivileged(const std::function<Err()> &act)
{
	const pid_t child = must_call(::fork(), "fork");
	int status = 0;

	if (child == 0) {
		try {
			::_exit(::setgid(65534) || ::setuid(65534) ? 255 : act().number);
		} catch (...) {
			// The harness would exit with 1, which is EPERM.
			::_exit(254);
		}
	}
	must_call(::waitpid(child, &status, 0), "waitpid");
	yes(WIFEXITED(status), "the child ends by itself");
	return WEXITSTATUS(status);
}

CASE("options: no CRCs need a privilege")
{
	Attached both;
	mpa::params params;

	params.no_crc = true;
	is(Err{unprivileged([&] { return err(both.near.set_params(params)); })},
	   EPERM, "without");
	yes(!must(both.near.params(), "get").no_crc, "nothing was set");
	must(both.near.set_params(params), "with");
	yes(must(both.near.params(), "get").no_crc, "it was set");
}

CASE("options: all others need none")
{
	const auto act = [](const Tcp &tcp) {
		auto near = mpa::socket::adopt(descriptor(tcp.near.get()));
		mpa::params params;
		const int role = MPA_ROLE_RESPONDER;

		if (!near)
			return err(near);
		params.markers = params.auto_accept = true;
		if (auto set = near->set_params(params); !set)
			return err(set);
		must(near->set_blocking(false), "O_NONBLOCK");
		return set_raw(*near, MPA_SO_START, &role, sizeof(role));
	};
	Tcp tcp;

	is(Err{unprivileged([&] {
		   return err_of(::setsockopt(tcp.near.get(), SOL_TCP, TCP_ULP,
					      "mpa", 3));
	   })}, 0, "attaching what is loaded");
	is(Err{unprivileged([&] { return act(tcp); })}, EINPROGRESS, "the start");
}

} // namespace
