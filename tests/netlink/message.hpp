// SPDX-License-Identifier: GPL-2.0-only
//
// Netlink messages byte by byte: what a request holds may be as wrong as a test
// wants it, what comes from the kernel is read with suspicion.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <linux/genetlink.h>
#include <linux/mpa_netlink.h>
#include <linux/netlink.h>

namespace nl {

using Bytes = std::vector<std::byte>;

template <typename Number> Bytes bytes_of(Number number)
{
	const auto *first = reinterpret_cast<const std::byte *>(&number);

	return {first, first + sizeof(number)};
}

Bytes bytes_of(std::string_view text);

// Attributes in a row. One of them may be marked: where it begins is what an
// extended acknowledgement should tell.
class Attrs {
public:
	Attrs &raw(std::uint16_t type, const Bytes &data, int length = -1);
	Attrs &u32(std::uint16_t type, std::uint32_t value);
	Attrs &string(std::uint16_t type, std::string_view text);
	Attrs &flag(std::uint16_t type) { return raw(type, {}); }
	Attrs &nest(std::uint16_t type, const Attrs &inner,
		    std::uint16_t flags = NLA_F_NESTED);
	// Bytes that are no attribute.
	Attrs &junk(std::size_t count);
	// All of another row.
	Attrs &add(const Attrs &more);
	// What comes next is the culprit.
	Attrs &mark();

	const Bytes &bytes() const { return bytes_; }
	std::optional<std::size_t> marked() const { return mark_; }

private:
	Bytes bytes_;
	std::optional<std::size_t> mark_;
};

struct Request {
	std::uint8_t cmd = 0;
	Attrs attrs;
	std::uint16_t flags = 0; // beside NLM_F_REQUEST | NLM_F_ACK
	std::uint8_t version = MPA_GENL_VERSION;
	std::uint16_t reserved = 0;
	// Of the generic netlink header, if not all are sent.
	std::size_t header = GENL_HDRLEN;

	bool dumps() const { return (flags & NLM_F_DUMP) == NLM_F_DUMP; }
	// Where the marked attribute is, from the message's beginning.
	std::optional<std::uint32_t> offset() const;
};

inline Request dump(std::uint8_t cmd, Attrs attrs = {})
{
	return {.cmd = cmd, .attrs = std::move(attrs), .flags = NLM_F_DUMP};
}

// Attributes that the kernel has put, which are all well-formed.
class Got {
public:
	Got() = default;
	explicit Got(Bytes bytes);

	bool has(int type) const { return attrs_.contains(type); }
	std::uint32_t u32(int type) const { return number<std::uint32_t>(type); }
	std::uint64_t u64(int type) const { return number<std::uint64_t>(type); }
	std::uint16_t port(int type) const;
	std::string string(int type) const;
	Bytes bytes(int type) const;
	Got nest(int type) const { return Got(bytes(type)); }
	std::vector<Got> nests(int type) const;

private:
	template <typename Number> Number number(int type) const;

	std::multimap<int, Bytes> attrs_;
};

// A message of the family.
struct Message {
	std::uint8_t cmd;
	std::uint32_t seq;
	Got attrs;
};

} // namespace nl
