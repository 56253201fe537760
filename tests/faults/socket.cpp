// SPDX-License-Identifier: GPL-2.0-only
//
// Sockets whose calls find no memory.
#include "faults.hpp"
#include "net.hpp"

#include <netinet/tcp.h>

using namespace harness;
using namespace net;
using faults::each_allocation;
using faults::with_fault;

namespace {

// TCP goes on as it was.
void expect_plain(const Tcp &tcp)
{
	char octet = 'x';

	must_call(::send(tcp.near.get(), &octet, 1, MSG_NOSIGNAL), "send on TCP");
	is(must_call(::recv(tcp.far.get(), &octet, 1, 0), "receive on TCP"), 1,
	   "octets over TCP");
}

} // namespace

CASE("socket: TCP becomes MPA, or stays TCP")
{
	each_allocation([] {
		const Tcp tcp;
		const int error = with_fault([&] {
			return ::setsockopt(tcp.near.get(), SOL_TCP, TCP_ULP, "mpa", 3) ?
				       errno : 0;
		});

		if (error)
			expect_plain(tcp);
		return error;
	});
}

CASE("socket: the Initiator starts, or says why not")
{
	each_allocation([] {
		Attached both;

		begin(both.far, mpa::role::responder);
		must(both.near.set_blocking(false), "O_NONBLOCK");
		const int error = with_fault([&] {
			const int now = err(both.near.start(mpa::role::initiator)).number;

			return now == EINPROGRESS ? 0 : now;
		});
		if (!error) {
			await_request(both.far);
			must(both.far.accept_request(), "accept");
			await_operational(both.near);
		}
		return error;
	});
}

CASE("socket: the Responder accepts, or says why not")
{
	each_allocation([] {
		Attached both;

		begin(both.far, mpa::role::responder);
		begin(both.near, mpa::role::initiator);
		await_request(both.far);
		const int error = with_fault([&] {
			return err(both.far.accept_request()).number;
		});
		if (!error)
			await_operational(both.near);
		return error;
	});
}

namespace {

// As many as one segment holds.
Octets longest(const mpa::socket &socket, unsigned int number)
{
	return pattern(must(socket.mulpdu(), "MULPDU"), number);
}

// A ULPDU is sent whole or not at all, and the next one is not the worse for it.
int send_one(Pair pair)
{
	const Octets first = longest(pair.near, 1), second = pattern(100, 2);
	const int error = with_fault([&] {
		return err(pair.near.send(first)).number;
	});

	must(pair.near.send(second), "the next one");
	if (!error)
		expect_ulpdu(pair.far, first);
	expect_ulpdu(pair.far, second);
	return error;
}

} // namespace

CASE("socket: a ULPDU is sent whole or not at all")
{
	each_allocation([] { return send_one(Pair()); });
}

CASE("socket: with Markers a ULPDU is sent whole or not at all")
{
	each_allocation([] { return send_one(Pair(Path::ipv4, {}, {.markers = true})); });
}

CASE("socket: a batch is sent in whole ULPDUs")
{
	each_allocation([] {
		Pair pair;
		std::vector<Octets> ulpdus;

		for (unsigned int n = 0; n < 20; n++)
			ulpdus.push_back(longest(pair.near, n));
		const std::vector<mpa::octets> batch(ulpdus.begin(), ulpdus.end());
		std::size_t sent = 0;
		const int error = with_fault([&] {
			const auto result = pair.near.send_batch(batch);

			sent = result ? *result : 0;
			return err(result).number;
		});
		const Octets last = pattern(10, 3);

		must(pair.near.send(last), "the next one");
		for (std::size_t n = 0; n < sent; n++)
			expect_ulpdu(pair.far, ulpdus[n]);
		expect_ulpdu(pair.far, last);
		return error;
	});
}
