// SPDX-License-Identifier: GPL-2.0-only
//
// A file each way through libmpa-tls, as records of lengths drawn at random.
//
//	tls_stream client ADDRESS PORT TRUSTED INPUT OUTPUT BYTES [CHANGES]
//	tls_stream server PORT CHAIN KEY INPUT OUTPUT BYTES [CHANGES]
//
// With client-markers and server-markers both ends are in marker mode.
//
// Sends INPUT, receives BYTES into OUTPUT, and changes its keys after every 1/CHANGES of
// the input. Prints how many records there were, and what became of them. Files that the
// environment names: SSLKEYLOGFILE for secrets, PDU_LENGTHS for lengths of what was sent.
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <mpa/tcp.hpp>
#include <mpa/tls.hpp>
#include <openssl/ssl.h>

namespace {

namespace tls = mpa::tls;

template <typename T> T must(mpa::result<T> result, const std::string &what)
{
	if (!result)
		throw std::runtime_error(what + ": " + result.error().message());
	if constexpr (!std::is_void_v<T>)
		return *std::move(result);
}

bool later(std::error_code error)
{
	return error == std::errc::resource_unavailable_try_again;
}

// What is added to a file of the environment, or nothing.
std::ofstream file_of(const char *variable)
{
	const char *name = std::getenv(variable);

	return name ? std::ofstream(name, std::ios::app) : std::ofstream();
}

void keep_secret(const SSL *, const char *line)
{
	if (auto file = file_of("SSLKEYLOGFILE"); file.is_open())
		file << line << std::endl;
}

struct Job {
	std::vector<std::byte> input;
	std::ofstream output;
	std::size_t wanted = 0;
	std::size_t changes = 0;
};

class Stream {
public:
	Stream(tls::connection link, Job job)
		: tls_(std::move(link)), job_(std::move(job))
	{
	}

	void run()
	{
		must(tls_.handshake(), "handshake");
		must(tls_.link().set_blocking(false), "fcntl");
		most_ = must(tls_.emss(), "EMSS");
		while (sent_ < job_.input.size() || tls_.pending() ||
		       received_ < job_.wanted) {
			const bool more = sent_ < job_.input.size() || tls_.pending();
			const auto events = must(
				tls_.link().wait(static_cast<short>(
							 POLLIN | POLLPRI |
							 (more ? POLLOUT : 0)),
						 std::chrono::seconds(60)),
				"poll");

			if (!events)
				throw std::runtime_error("nothing for 60 s");
			if (events & POLLPRI)
				most_ = must(tls_.emss(), "EMSS");
			if (events & (POLLIN | POLLHUP | POLLERR))
				receive();
			if (events & POLLOUT)
				send();
		}
		must(tls_.link().set_blocking(true), "fcntl");
		must(tls_.close(), "close");
		// What is not read would reset the connection: a change of keys of the
		// peer, or its end.
		while (const auto got = tls_.receive(room_))
			if (got->end)
				break;
	}

	void report()
	{
		const auto counted = tls_.stats();
		const auto info = must(tls_.link().info(), "information");

		std::cout << "records " << counted.sent_records << " segments "
			  << counted.sent_segments << " pieces "
			  << counted.sent_in_pieces << " received "
			  << counted.received_records << " kernel " << info.sent_frames
			  << " changes " << info.emss_changes << " version "
			  << std::hex << static_cast<int>(tls_.version()) << std::endl;
	}

private:
	// Half of them as long as can be, the others of any length.
	std::size_t draw(std::size_t most)
	{
		const auto kind = std::uniform_int_distribution<int>(0, 3)(random_);

		if (kind < 2)
			return most;
		return std::uniform_int_distribution<std::size_t>(
			1, kind == 2 ? std::min<std::size_t>(64, most) : most)(random_);
	}

	void send()
	{
		for (int n = 0; n < 16 && sent_ < job_.input.size(); n++) {
			const auto left = mpa::const_buffer(job_.input).subspan(sent_);
			const auto next = left.first(std::min(left.size(), draw(most_)));
			const auto done = tls_.send(next);

			if (later(done.error()))
				return;
			if (done.error() == std::errc::message_size) {
				most_ = must(tls_.emss(), "EMSS");
				continue;
			}
			must(done, "send");
			sent_ += next.size();
			if (lengths_.is_open())
				lengths_ << next.size() << '\n';
			change_keys();
		}
		if (tls_.pending())
			if (auto done = tls_.flush(); !later(done.error()))
				must(done, "flush");
	}

	void change_keys()
	{
		if (changed_ == job_.changes ||
		    sent_ < job_.input.size() / (job_.changes + 1) * (changed_ + 1))
			return;
		must(tls_.update_key(changed_ % 2), "new keys");
		changed_++;
	}

	void receive()
	{
		for (;;) {
			const auto got = tls_.receive(room_);

			if (later(got.error()))
				return;
			const auto part = must(got, "receive");
			if (part.end && received_ == job_.wanted)
				return;
			if (part.end)
				throw std::runtime_error(
					"the peer has ended after " +
					std::to_string(received_) + " bytes");
			job_.output << mpa::text(
				mpa::const_buffer(room_).first(part.size));
			received_ += part.size;
		}
	}

	tls::connection tls_;
	Job job_;
	std::vector<std::byte> room_ = std::vector<std::byte>(tls::plaintext_max);
	std::size_t most_ = 0, sent_ = 0, received_ = 0, changed_ = 0;
	std::mt19937 random_{1};
	std::ofstream lengths_ = file_of("PDU_LENGTHS");
};

std::size_t number(const std::string &text)
{
	std::size_t value = 0;
	const auto [end, error] =
		std::from_chars(text.data(), text.data() + text.size(), value);

	if (error != std::errc() || end != text.data() + text.size())
		throw std::runtime_error("no number: " + text);
	return value;
}

Job job_of(const std::vector<std::string> &words)
{
	std::ifstream file(words.at(0), std::ios::binary);
	const std::string text{std::istreambuf_iterator<char>(file), {}};
	const auto bytes = mpa::bytes(text);

	return {.input = {bytes.begin(), bytes.end()},
		.output = std::ofstream(words.at(1), std::ios::binary),
		.wanted = number(words.at(2)),
		.changes = words.size() > 3 ? number(words[3]) : 0};
}

mpa::framing::socket framed(mpa::descriptor tcp)
{
	return must(mpa::framing::socket::attach(std::move(tcp)), "attach");
}

// Shorter in the plaintext, so that ends of PDUs are known.
constexpr tls::markers intervals{.records = 2048, .plaintext = 512};

tls::connection open(const std::vector<std::string> &words)
{
	const bool marked = words.at(0).ends_with("-markers");

	if (words[0].starts_with("client")) {
		const auto with = must(tls::context::client(), "context");

		if (!::SSL_CTX_load_verify_file(with.native(), words.at(3).c_str()))
			throw std::runtime_error(words[3] + " cannot be used");
		::SSL_CTX_set_keylog_callback(with.native(), keep_secret);
		auto tcp = must(mpa::tcp::connect(words.at(1), words.at(2)), "connect");
		auto link = framed(std::move(tcp));
		return must(marked ? tls::connection::client(std::move(link), with,
							     "peer", intervals)
				   : tls::connection::client(std::move(link), with,
							     "peer"),
			    "client");
	}
	if (!words[0].starts_with("server"))
		throw std::runtime_error("client or server");
	const auto with = must(tls::context::server(words.at(2), words.at(3)), "context");
	auto listener = must(mpa::tcp::listen("", words.at(1)), "listen");
	mpa::descriptor tcp(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
	auto link = framed(std::move(tcp));
	return must(marked ? tls::connection::server(std::move(link), with, intervals)
			   : tls::connection::server(std::move(link), with),
		    "server");
}

} // namespace

int main(int argc, char **argv)
{
	try {
		const std::vector<std::string> words(argv + 1, argv + argc);
		Stream stream(open(words), job_of({words.begin() + 4, words.end()}));

		stream.run();
		stream.report();
		return 0;
	} catch (const std::exception &error) {
		std::cerr << "tls_stream: " << error.what() << std::endl;
		return 1;
	}
}
