// SPDX-License-Identifier: GPL-2.0-only
//
// Netlink messages byte by byte: a request may be as malformed as a test
// requires, and every reply from the kernel is checked.
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

// A sequence of attributes. One of them may be marked: an extended
// acknowledgement should report its offset.
class Attrs {
public:
	Attrs &raw(std::uint16_t type, const Bytes &data, int length = -1);
	Attrs &u32(std::uint16_t type, std::uint32_t value);
	Attrs &string(std::uint16_t type, std::string_view text);
	Attrs &flag(std::uint16_t type) { return raw(type, {}); }
	Attrs &nest(std::uint16_t type, const Attrs &inner,
		    std::uint16_t flags = NLA_F_NESTED);
	// Appends bytes that are not an attribute.
	Attrs &junk(std::size_t count);
	// Appends all attributes of another sequence.
	Attrs &add(const Attrs &more);
	// Marks the next attribute as the bad one.
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
	std::uint16_t flags = 0; // in addition to NLM_F_REQUEST | NLM_F_ACK
	std::uint8_t version = MPA_GENL_VERSION;
	std::uint16_t reserved = 0;
	// Bytes of the generic netlink header, if it is truncated.
	std::size_t header = GENL_HDRLEN;

	bool dumps() const { return (flags & NLM_F_DUMP) == NLM_F_DUMP; }
	// Offset of the marked attribute from the beginning of the message.
	std::optional<std::uint32_t> offset() const;
};

inline Request dump(std::uint8_t cmd, Attrs attrs = {})
{
	return {.cmd = cmd, .attrs = std::move(attrs), .flags = NLM_F_DUMP};
}

// Attributes written by the kernel, all of which are well formed.
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
