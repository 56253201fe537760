// SPDX-License-Identifier: GPL-2.0-only
//
// A Responder that serves ordinary TCP clients, too: params.plain.
#include "net.hpp"

#include <future>

using namespace harness;
using namespace net;
using namespace std::chrono_literals;

namespace {

using mpa::role;
using mpa::state;

constexpr std::string_view key = "MPA ID Req Frame";

// A Responder that serves both, started, and a client.
struct Dual : WithWire {
	explicit Dual(std::chrono::milliseconds timeout = patience)
	{
		mpa::params params;

		params.plain = true;
		params.timeout = timeout;
		must(ours.set_params(params), "parameters");
		begin(ours, role::responder);
	}
};

void await_plain(mpa::socket &socket)
{
	await([&] { return must(socket.info(), "info").state == state::plain; },
	      "ordinary TCP");
	is(err(socket.pending_error()), 0, "SO_ERROR");
}

void expect_eof(int fd)
{
	char byte;

	await_events(fd, POLLIN, "the end");
	is(must_call(::recv(fd, &byte, 1, 0), "recv"), 0L, "the end");
}

CASE("plain: the first byte that differs from a Request decides")
{
	for (std::size_t at = 0; at < key.size(); at++) {
		for (const bool slowly : {false, true}) {
			const Row row(at, slowly ? "byte by byte" : "at once");
			std::string text(key.substr(0, at));
			Dual pair;

			text += key[at] ^ 1;
			if (slowly)
				for (const char byte : text) {
					if (&byte != &text.back())
						state_is(pair.ours, state::wait_request);
					pair.wire.send(mpa::bytes({&byte, 1}));
				}
			else
				pair.wire.send(mpa::bytes(text));
			await_plain(pair.ours);
			expect_text(pair.ours.fd(), text);
			pair.wire.send(mpa::bytes("more"));
			expect_text(pair.ours.fd(), "more");
			is(must_call(::send(pair.ours.fd(), "answer", 6, 0), "send"), 6L,
			   "sent");
			is(mpa::text(pair.wire.read(6)), "answer", "at the client");
		}
	}
}

// It is a stream: a send that does not wait takes as much as there is room for.
CASE("plain: bytes of which TCP takes a part")
{
	const Bytes many = pattern(32 << 20);

	for (const int way : {0, 1, 2, 3}) {
		const Row row(way);
		Dual pair;

		pair.wire.send(mpa::bytes("x"));
		await_plain(pair.ours);
		if (way == 0) {
			const auto taken = must(pair.ours.send_bytes(many), "send_bytes");

			yes(taken > 0 && taken < many.size(), "a part");
			yes(pair.wire.read(taken) == Bytes(many.begin(), many.begin() + taken),
			    "that part");
			continue;
		}
		const mpa::const_buffer one = many;
		const iovec part{const_cast<std::byte *>(many.data()), many.size()};
		is(way == 1   ? err(pair.ours.send(one))
		   : way == 2 ? err(pair.ours.send_parts({&part, 1}))
			      : err(pair.ours.send_batch({&one, 1})),
		   EIO, "a part of a message");
	}
}

CASE("plain: what is there before the start")
{
	constexpr std::string_view line = "GET / HTTP/1.1\r\n";
	struct {
		std::string_view bytes;
		bool fin;
	} const rows[] = {{line, false}, {line, true}, {key.substr(0, 5), true}, {"", true}};

	for (const auto &there : rows) {
		const Row row(there.bytes);
		WithWire pair;
		mpa::params params;

		params.plain = true;
		must(pair.ours.set_params(params), "parameters");
		pair.wire.send(mpa::bytes(there.bytes));
		if (there.fin)
			pair.wire.fin();
		await_events(pair.ours.fd(), there.fin ? POLLRDHUP : POLLIN, "bytes");
		must(pair.ours.set_blocking(false), "O_NONBLOCK");
		// It may be over before the call returns.
		const Err started = err(pair.ours.start(role::responder));

		yes(started == Err{EINPROGRESS} || started == Err{EPROTONOSUPPORT}, "started");
		await_plain(pair.ours);
		expect_text(pair.ours.fd(), there.bytes);
		if (there.fin)
			expect_eof(pair.ours.fd());
	}
}

CASE("plain: a client that waits for the server")
{
	for (const std::size_t sent : {0, 1, 15}) {
		const Row row(sent);
		Dual pair(200ms);

		pair.wire.send(mpa::bytes(key.substr(0, sent)));
		await_plain(pair.ours);
		is(must_call(::send(pair.ours.fd(), "220 ready", 9, 0), "send"), 9L, "sent");
		is(mpa::text(pair.wire.read(9)), "220 ready", "at the client");
		expect_text(pair.ours.fd(), key.substr(0, sent));
	}
}

CASE("plain: a client that ends its half")
{
	for (const std::size_t sent : {0, 1, 15}) {
		const Row row(sent);
		Dual pair;

		pair.wire.send(mpa::bytes(key.substr(0, sent)));
		pair.wire.fin();
		await_plain(pair.ours);
		expect_text(pair.ours.fd(), key.substr(0, sent));
		expect_eof(pair.ours.fd());
		is(must_call(::send(pair.ours.fd(), "bye", 3, 0), "send"), 3L, "sent");
		is(mpa::text(pair.wire.read(3)), "bye", "at the client");
	}
}

CASE("plain: what begins like a Request must be one")
{
	struct {
		const char *what;
		Bytes bytes;
		bool fin;
		int error;
	} const rows[] = {
		{"revision 3", request(flag_crc, 3), false, EPROTONOSUPPORT},
		{"513 bytes of data", request(flag_crc, 1, pattern(513)), false, EMSGSIZE},
		{"the key alone", Bytes{} + mpa::bytes(key), false, ETIMEDOUT},
		{"the key alone, and the end", Bytes{} + mpa::bytes(key), true, ECONNRESET},
	};

	for (const auto &row : rows) {
		const Row name(row.what);
		// The key must arrive before the time is over.
		Dual pair(row.error == ETIMEDOUT ? 5000ms : patience);

		pair.wire.send(row.bytes);
		if (row.fin)
			pair.wire.fin();
		expect_failed(pair.ours, row.error);
	}
}

CASE("plain: a reset is an error")
{
	Dual pair;

	pair.wire.send(mpa::bytes("M"));
	pair.wire.reset();
	expect_failed(pair.ours, ECONNRESET);
}

CASE("plain: a thread that waits for the start")
{
	WithWire pair;
	mpa::params params;

	params.plain = true;
	must(pair.ours.set_params(params), "parameters");
	auto started = std::async(std::launch::async,
				  [&] { return err(pair.ours.start(role::responder)); });
	await([&] {
		return must(pair.ours.info(), "info").state == state::wait_request;
	}, "the start");
	pair.wire.send(mpa::bytes("HELO there\r\n"));
	is(started.get(), EPROTONOSUPPORT, "start");
	state_is(pair.ours, state::plain);
	expect_text(pair.ours.fd(), "HELO there\r\n");
	is(err(pair.ours.start(role::responder)), EINVAL, "a second start");
}

// A last streaming message goes to a peer that has asked for MPA.
CASE("plain: not with a last streaming message")
{
	WithWire pair;
	mpa::params params;

	must(pair.ours.set_last_message(mpa::bytes("begin")), "last message");
	params.plain = true;
	must(pair.ours.set_params(params), "parameters");
	is(err(pair.ours.start(role::responder)), EINVAL, "start");
	state_is(pair.ours, state::streaming);
}

// Clients of both kinds in turns, on both families.
CASE("plain: one port for both kinds of clients")
{
	for (const auto path : {Path::ipv4, Path::ipv6}) {
		Listener listener(path);
		const auto address = listener.address;
		auto socket = attach(std::move(listener.fd));
		mpa::params params;

		params.plain = true;
		params.auto_accept = true;
		must(socket.set_params(params), "parameters");
		must(socket.start(role::responder), "start");
		for (int i = 0; i < 20; i++) {
			const Row row(i);
			Wire client(connect_to(path, address));
			const bool mpa = i % 2;

			if (mpa)
				client.send(request());
			else
				client.send(mpa::bytes("plain"));
			descriptor accepted(must_call(::accept(socket.fd(), nullptr, nullptr),
						      "accept"));
			if (!mpa) {
				expect_text(accepted.get(), "plain");
				must_call(::send(accepted.get(), "text", 4, 0), "send");
				is(mpa::text(client.read(4)), "text", "at the client");
				continue;
			}
			client.read_frame();
			client.send(fpdu(mpa::bytes("a ULPDU")));
			await_events(accepted.get(), POLLIN, "a ULPDU");
			char text[16];
			is(must_call(::recv(accepted.get(), text, sizeof(text), 0), "recv"),
			   7L, "length");
			is(std::string_view(text, 7), "a ULPDU", "bytes");
		}
	}
}

} // namespace
