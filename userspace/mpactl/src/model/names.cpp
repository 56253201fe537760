/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "model/names.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/mpa.h>
#include <net/if.h>

namespace mpactl {

const std::vector<Word> phase_words = {
	{MPA_PHASE_ATTACHED, "attached", "plain TCP, startup has not begun"},
	{MPA_PHASE_WAIT_REPLY, "wait-reply", "Initiator, has sent the Request"},
	{MPA_PHASE_WAIT_REQUEST, "wait-request",
	 "Responder, waits for the Request"},
	{MPA_PHASE_REQUESTED, "requested",
	 "Responder, the application must answer the Request"},
	{MPA_PHASE_OPERATIONAL, "operational", "sends and receives FPDUs"},
	{MPA_PHASE_RX_ENDED, "rx-ended", "receives no more, can still send"},
	{MPA_PHASE_EXITED, "exited", "rejected or failed"},
	{MPA_PHASE_CLOSED, "closed", "TCP or its receiving half has ended"},
	{MPA_PHASE_REPLIED, "replied",
	 "Initiator, the application must confirm the Reply"},
};

const std::vector<Word> owner_words = {
	{MPA_OWNER_SOCKET, "socket", "a socket of an application"},
	{MPA_OWNER_DEVICE, "device", "a device"},
};

const std::vector<Word> rtr_words = {
	{MPA_CONFIG_RTR_SEND, "send"},
	{MPA_CONFIG_RTR_WRITE, "write"},
	{MPA_CONFIG_RTR_READ, "read"},
};

const std::vector<Word> code_words = {
	{MPA_CODE_NONE, "none"},
	{MPA_CODE_TCP, "tcp"},
	{MPA_CODE_CRC, "crc"},
	{MPA_CODE_MARKER, "marker"},
	{MPA_CODE_STARTUP, "startup"},
};

const std::vector<Word> failure_words = {
	{MPA_FAILURE_TCP, "tcp"},
	{MPA_FAILURE_CRC, "crc"},
	{MPA_FAILURE_MARKER, "marker"},
	{MPA_FAILURE_STARTUP, "startup"},
	{MPA_FAILURE_REJECTED, "rejected"},
	{MPA_FAILURE_TERM_SENT, "term-sent"},
	{MPA_FAILURE_TERM_RECEIVED, "term-received"},
	{MPA_FAILURE_HALF_OPEN, "half-open"},
	{MPA_FAILURE_LENGTH, "length"},
};

const std::vector<Word> stats_words = {
	{MPA_A_CONN_STATS_TX_FPDUS, "tx_fpdus"},
	{MPA_A_CONN_STATS_TX_BATCHES, "tx_batches"},
	{MPA_A_CONN_STATS_TX_BYTES, "tx_bytes"},
	{MPA_A_CONN_STATS_TX_SHORT, "tx_short"},
	{MPA_A_CONN_STATS_RX_FPDUS, "rx_fpdus"},
	{MPA_A_CONN_STATS_RX_BYTES, "rx_bytes"},
	{MPA_A_CONN_STATS_RX_CRC_ERRORS, "rx_crc_errors"},
	{MPA_A_CONN_STATS_RX_MARKER_ERRORS, "rx_marker_errors"},
	{MPA_A_CONN_STATS_RX_DROPPED, "rx_dropped"},
	{MPA_A_CONN_STATS_RX_LENGTH_ERRORS, "rx_length_errors"},
	{MPA_A_CONN_STATS_RX_TOO_SOON, "rx_too_soon"},
};

// The modes of one direction.
const std::vector<Word> framing_send_words = {
	{0, "plain"},
	{TCP_FRAMING_SEND_ATOMIC, "atomic"},
	{TCP_FRAMING_SEND_ALIGN, "align"},
	{TCP_FRAMING_SEND_MARKERS, "markers"},
};

const std::vector<Word> framing_receive_words = {
	{0, "plain"},
	{TCP_FRAMING_RECV_ALIGN, "align"},
	{TCP_FRAMING_RECV_MARKERS, "markers"},
};

const std::vector<Word> framing_stats_words = {
	{MPA_A_FRAMING_TX_PDUS, "tx_pdus"},
	{MPA_A_FRAMING_TX_FRAMES, "tx_frames"},
	{MPA_A_FRAMING_TX_PIECES, "tx_pieces"},
	{MPA_A_FRAMING_EMSS_CHANGES, "emss_changes"},
	{MPA_A_FRAMING_RX_FRAMES, "rx_frames"},
	{MPA_A_FRAMING_RX_ALIGNED, "rx_aligned"},
	{MPA_A_FRAMING_RX_UNALIGNED, "rx_unaligned"},
	{MPA_A_FRAMING_RX_PARTED, "rx_parted"},
};

std::string word_for(const std::vector<Word> &words, std::uint32_t number)
{
	for (const auto &word : words)
		if (word.number == number)
			return std::string(word.text);
	return std::to_string(number);
}

std::optional<std::uint32_t> number_for(const std::vector<Word> &words,
					std::string_view text)
{
	for (const auto &word : words)
		if (word.text == text)
			return word.number;
	return std::nullopt;
}

std::vector<std::string_view> texts_of(const std::vector<Word> &words)
{
	std::vector<std::string_view> texts;

	for (const auto &word : words)
		texts.push_back(word.text);
	return texts;
}

std::vector<std::string> set_words(const std::vector<Word> &words,
				   std::uint32_t set)
{
	std::vector<std::string> texts;

	for (const auto &word : words) {
		if (set & word.number)
			texts.emplace_back(word.text);
		set &= ~word.number;
	}
	if (set)
		texts.push_back(fmt::format("{:#x}", set));
	return texts;
}

std::string set_text(const std::vector<Word> &words, std::uint32_t set)
{
	return fmt::format("{}", fmt::join(set_words(words, set), ","));
}

std::string address_text(const Endpoint &endpoint)
{
	std::array<char, INET6_ADDRSTRLEN> text{};
	std::array<char, IF_NAMESIZE> interface{};
	const bool v6 = endpoint.bytes.size() == 16;

	if (!v6 && endpoint.bytes.size() != 4)
		return "";
	::inet_ntop(v6 ? AF_INET6 : AF_INET, endpoint.bytes.data(), text.data(),
		    text.size());
	if (!endpoint.scope)
		return text.data();
	if (!::if_indextoname(endpoint.scope, interface.data()))
		return fmt::format("{}%{}", text.data(), endpoint.scope);
	return fmt::format("{}%{}", text.data(), interface.data());
}

std::string endpoint_text(const Endpoint &endpoint)
{
	const auto &bytes = endpoint.bytes;
	const bool any = std::all_of(bytes.begin(), bytes.end(),
				     [](auto byte) { return byte == 0; });

	if (bytes.empty())
		return "";
	if (any && bytes.size() == 4)
		return fmt::format("*:{}", endpoint.port);
	const auto address = any ? "::" : address_text(endpoint);

	return bytes.size() == 16
		       ? fmt::format("[{}]:{}", address, endpoint.port)
		       : fmt::format("{}:{}", address, endpoint.port);
}

std::string age_text(std::uint64_t ms)
{
	const auto s = ms / 1000, min = s / 60, h = min / 60, d = h / 24;

	if (s < 1)
		return fmt::format("{} ms", ms);
	if (min < 1)
		return fmt::format("{} s", s);
	if (h < 1)
		return fmt::format("{} min {} s", min, s % 60);
	if (d < 1)
		return fmt::format("{} h {} min", h, min % 60);
	return fmt::format("{} d {} h", d, h % 24);
}

namespace {

// Three digits or, below ten of a unit, one decimal.
std::string scaled(double value, double step,
		   const std::array<std::string_view, 6> &units)
{
	std::size_t unit = 0;

	// A value that would be rounded up to the next unit uses that unit.
	while (unit + 1 < units.size() && value >= step - 0.5) {
		value /= step;
		unit++;
	}
	auto text = unit && value < 9.95 ? fmt::format("{:.1f}", value)
					 : fmt::format("{:.0f}", value);

	if (!units[unit].empty())
		text += fmt::format(" {}", units[unit]);
	return text;
}

} // namespace

std::string count_text(double value)
{
	return scaled(value, 1000, {"", "k", "M", "G", "T", "P"});
}

std::string bytes_text(double bytes)
{
	return scaled(bytes, 1024, {"B", "KiB", "MiB", "GiB", "TiB", "PiB"});
}

std::string errno_text(std::uint32_t number)
{
	const char *name = ::strerrorname_np(static_cast<int>(number));

	return name ? name : std::to_string(number);
}

} // namespace mpactl
