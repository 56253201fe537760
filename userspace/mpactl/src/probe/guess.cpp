/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "probe/guess.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace mpactl {

namespace {

struct Beginning {
	std::size_t at;
	std::string_view bytes;
	std::string_view service;
};

using namespace std::string_view_literals;

// The first match is used, so a longer row must be before its own prefix.
constexpr Beginning beginnings[] = {
	{0, "HTTP/"sv, "HTTP"},
	{0, "<!DOCTYPE"sv, "HTTP/0.9"},
	{0, "<html"sv, "HTTP/0.9"},
	{0, "SSH-"sv, "SSH"},
	{0, "\x15\x03"sv, "TLS, an alert"},
	{0, "\x16\x03"sv, "TLS"},
	{0, "220-"sv, "SMTP or FTP"},
	{0, "220 "sv, "SMTP or FTP"},
	{0, "421 "sv, "SMTP or FTP"},
	{0, "554 "sv, "SMTP"},
	{0, "+OK"sv, "POP3"},
	{0, "* OK"sv, "IMAP"},
	{0, "* BYE"sv, "IMAP"},
	{0, "-ERR"sv, "Redis or POP3"},
	{0, "-DENIED"sv, "Redis"},
	{0, "@RSYNCD:"sv, "rsync"},
	{0, "RFB "sv, "VNC"},
	{0, "<?xml"sv, "XML, possibly XMPP"},
	{0, "<stream"sv, "XMPP"},
	{0, "AMQP"sv, "AMQP"},
	{0, "INFO {"sv, "NATS"},
	{0, "ERROR\r\n"sv, "memcached"},
	{0, "\xff\xfb"sv, "Telnet"},
	{0, "\xff\xfd"sv, "Telnet"},
	{0, "\x05\x00"sv, "SOCKS 5"},
	{0, "\x05\xff"sv, "SOCKS 5"},
	{4, "\xffSMB"sv, "SMB"},
	{4, "\xfeSMB"sv, "SMB"},
	{4, "\x0a"
	    "5."sv, "MySQL"},
	{4, "\x0a"
	    "8."sv, "MySQL"},
	// C2HTermReq and ICResp of NVMe over TCP, with their header lengths.
	{0, "\x03\x00\x18"sv, "NVMe over TCP"},
	{0, "\x01\x00\x80"sv, "NVMe over TCP"},
	{0, "MPA ID "sv, "MPA with an unknown key"},
};

bool fits(const Beginning &row, std::string_view text)
{
	return text.size() >= row.at + row.bytes.size() &&
	       text.substr(row.at, row.bytes.size()) == row.bytes;
}

} // namespace

std::string_view guess_service(std::span<const std::uint8_t> bytes)
{
	const std::string_view text(
		reinterpret_cast<const char *>(bytes.data()), bytes.size());
	const auto *row = std::find_if(
		std::begin(beginnings), std::end(beginnings),
		[&](const Beginning &one) { return fits(one, text); });

	return row == std::end(beginnings) ? std::string_view() : row->service;
}

std::string hex(std::span<const std::uint8_t> bytes, std::string_view between)
{
	return fmt::format("{:02x}", fmt::join(bytes, between));
}

std::string printable(std::span<const std::uint8_t> bytes)
{
	std::string text;

	for (const auto byte : bytes)
		text += byte >= 0x20 && byte < 0x7f ? static_cast<char>(byte)
						    : '.';
	return text;
}

} // namespace mpactl
