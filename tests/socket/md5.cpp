// SPDX-License-Identifier: GPL-2.0-only
//
// MPA on connections that TCP signs (RFC 2385). Their routes have no
// segmentation offload, and no scatter and gather either if the device has
// none.
#include "net.hpp"

#include <arpa/inet.h>
#include <netinet/tcp.h>

using namespace harness;
using namespace net;

namespace {

// Sets a key on both ends, for segments to and from this address of the lab.
void sign(int fd, const char *peer)
{
	tcp_md5sig sig{};
	auto *v4 = reinterpret_cast<sockaddr_in *>(&sig.tcpm_addr);

	v4->sin_family = AF_INET;
	::inet_pton(AF_INET, peer, &v4->sin_addr);
	sig.tcpm_keylen = 6;
	std::memcpy(sig.tcpm_key, "secret", 6);
	must_call(::setsockopt(fd, SOL_TCP, TCP_MD5SIG, &sig, sizeof(sig)),
		  "TCP_MD5SIG");
}

Pair signed_pair()
{
	Listener listener;
	descriptor near = tcp_socket(Path::ipv4, 1);

	sign(listener.fd.get(), "10.77.0.1");
	sign(near.get(), "10.77.0.2");
	must_call(::connect(near.get(), listener.address.generic(),
			    listener.address.size), "connect");
	descriptor far = accept_from(listener);
	return {std::move(near), std::move(far)};
}

// Short ULPDUs and the longest, alone and in batches.
void send_many(mpa::socket &from, unsigned int first)
{
	const std::size_t longest = must(from.mulpdu(), "MULPDU");
	std::vector<Bytes> batch;

	for (unsigned int n = 0; n < 20; n++)
		must(from.send(pattern(n % 3 ? n * 17 : longest, first + n)), "send");
	for (unsigned int n = 20; n < 60; n++)
		batch.push_back(pattern(n % 5 ? n * 11 : longest, first + n));
	const std::vector<mpa::const_buffer> views(batch.begin(), batch.end());
	is(must(from.send_batch(views), "send a batch"), views.size(), "sent");
}

void expect_many(mpa::socket &at, std::size_t longest, unsigned int first)
{
	for (unsigned int n = 0; n < 60; n++) {
		const Row row("ULPDU", n);
		const bool is_long = n < 20 ? n % 3 == 0 : n % 5 == 0;

		expect_ulpdu(at, pattern(is_long ? longest : n * (n < 20 ? 17 : 11),
					 first + n));
	}
}

CASE("md5: ULPDUs both ways on a signed connection")
{
	Pair pair = signed_pair();
	const std::size_t longest = must(pair.near.mulpdu(), "MULPDU");

	std::jthread there([&] { send_many(pair.near, 0); });
	std::jthread back([&] { send_many(pair.far, 100); });
	expect_many(pair.far, longest, 0);
	expect_many(pair.near, longest, 100);
	there.join();
	back.join();
	is(must(pair.near.stats(), "counts").tx_fpdus, 61u, "FPDUs there");
	is(must(pair.far.stats(), "counts").tx_fpdus, 60u, "FPDUs back");
	must(pair.near.shutdown(), "shutdown");
	expect_end(pair.far);
}

} // namespace
