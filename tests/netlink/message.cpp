// SPDX-License-Identifier: GPL-2.0-only
#include "message.hpp"

#include <cstring>

#include <arpa/inet.h>

#include "harness.hpp"

namespace nl {

using namespace harness;

Bytes bytes_of(std::string_view text)
{
	const auto *first = reinterpret_cast<const std::byte *>(text.data());

	return {first, first + text.size()};
}

Attrs &Attrs::raw(std::uint16_t type, const Bytes &data, int length)
{
	const nlattr header{
		.nla_len = static_cast<std::uint16_t>(
			length < 0 ? NLA_HDRLEN + data.size() : length),
		.nla_type = type,
	};
	const Bytes head = bytes_of(header);

	bytes_.insert(bytes_.end(), head.begin(), head.end());
	bytes_.insert(bytes_.end(), data.begin(), data.end());
	bytes_.resize(NLA_ALIGN(bytes_.size()));
	return *this;
}

Attrs &Attrs::u32(std::uint16_t type, std::uint32_t value)
{
	return raw(type, bytes_of(value));
}

Attrs &Attrs::string(std::uint16_t type, std::string_view text)
{
	Bytes data = bytes_of(text);

	data.push_back(std::byte{0});
	return raw(type, data);
}

Attrs &Attrs::nest(std::uint16_t type, const Attrs &inner, std::uint16_t flags)
{
	if (inner.mark_)
		mark_ = bytes_.size() + NLA_HDRLEN + *inner.mark_;
	return raw(type | flags, inner.bytes_);
}

Attrs &Attrs::junk(std::size_t count)
{
	bytes_.resize(bytes_.size() + count, std::byte{0x5a});
	return *this;
}

Attrs &Attrs::add(const Attrs &more)
{
	if (more.mark_)
		mark_ = bytes_.size() + *more.mark_;
	bytes_.insert(bytes_.end(), more.bytes_.begin(), more.bytes_.end());
	return *this;
}

Attrs &Attrs::mark()
{
	mark_ = bytes_.size();
	return *this;
}

std::optional<std::uint32_t> Request::offset() const
{
	if (!attrs.marked())
		return {};
	return NLMSG_HDRLEN + GENL_HDRLEN + *attrs.marked();
}

Got::Got(Bytes bytes)
{
	std::size_t at = 0;

	while (at < bytes.size()) {
		nlattr header;

		yes(bytes.size() - at >= sizeof(header), "an attribute's header");
		std::memcpy(&header, &bytes[at], sizeof(header));
		yes(header.nla_len >= NLA_HDRLEN && at + header.nla_len <= bytes.size(),
		    "an attribute's length");
		const auto first = bytes.begin() + at;
		attrs_.emplace(header.nla_type & NLA_TYPE_MASK,
			       Bytes(first + NLA_HDRLEN, first + header.nla_len));
		at += NLA_ALIGN(header.nla_len);
	}
}

Bytes Got::bytes(int type) const
{
	yes(attrs_.count(type) == 1, "attribute " + std::to_string(type) + " is there once");
	return attrs_.find(type)->second;
}

template <typename Number> Number Got::number(int type) const
{
	const Bytes data = bytes(type);
	Number number;

	is(data.size(), sizeof(number), "size of attribute " + std::to_string(type));
	std::memcpy(&number, data.data(), sizeof(number));
	return number;
}

template std::uint32_t Got::number(int type) const;
template std::uint64_t Got::number(int type) const;

std::uint16_t Got::port(int type) const
{
	return ntohs(number<std::uint16_t>(type));
}

std::string Got::string(int type) const
{
	const Bytes data = bytes(type);

	yes(!data.empty() && data.back() == std::byte{0}, "a string ends");
	return {reinterpret_cast<const char *>(data.data()), data.size() - 1};
}

std::vector<Got> Got::nests(int type) const
{
	const auto [first, last] = attrs_.equal_range(type);
	std::vector<Got> all;

	for (auto one = first; one != last; ++one)
		all.emplace_back(one->second);
	return all;
}

} // namespace nl
