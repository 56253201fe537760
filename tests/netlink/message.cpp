// SPDX-License-Identifier: GPL-2.0-only
#include "message.hpp"

#include <cstring>

#include <arpa/inet.h>

#include "harness.hpp"

namespace nl {

using namespace harness;

Octets octets_of(std::string_view text)
{
	const auto *first = reinterpret_cast<const std::byte *>(text.data());

	return {first, first + text.size()};
}

Attrs &Attrs::raw(std::uint16_t type, const Octets &data, int length)
{
	const nlattr header{
		.nla_len = static_cast<std::uint16_t>(
			length < 0 ? NLA_HDRLEN + data.size() : length),
		.nla_type = type,
	};
	const Octets head = octets_of(header);

	octets_.insert(octets_.end(), head.begin(), head.end());
	octets_.insert(octets_.end(), data.begin(), data.end());
	octets_.resize(NLA_ALIGN(octets_.size()));
	return *this;
}

Attrs &Attrs::u32(std::uint16_t type, std::uint32_t value)
{
	return raw(type, octets_of(value));
}

Attrs &Attrs::string(std::uint16_t type, std::string_view text)
{
	Octets data = octets_of(text);

	data.push_back(std::byte{0});
	return raw(type, data);
}

Attrs &Attrs::nest(std::uint16_t type, const Attrs &inner, std::uint16_t flags)
{
	if (inner.mark_)
		mark_ = octets_.size() + NLA_HDRLEN + *inner.mark_;
	return raw(type | flags, inner.octets_);
}

Attrs &Attrs::junk(std::size_t count)
{
	octets_.resize(octets_.size() + count, std::byte{0x5a});
	return *this;
}

Attrs &Attrs::add(const Attrs &more)
{
	if (more.mark_)
		mark_ = octets_.size() + *more.mark_;
	octets_.insert(octets_.end(), more.octets_.begin(), more.octets_.end());
	return *this;
}

Attrs &Attrs::mark()
{
	mark_ = octets_.size();
	return *this;
}

std::optional<std::uint32_t> Request::offset() const
{
	if (!attrs.marked())
		return {};
	return NLMSG_HDRLEN + GENL_HDRLEN + *attrs.marked();
}

Got::Got(Octets octets)
{
	std::size_t at = 0;

	while (at < octets.size()) {
		nlattr header;

		yes(octets.size() - at >= sizeof(header), "an attribute's header");
		std::memcpy(&header, &octets[at], sizeof(header));
		yes(header.nla_len >= NLA_HDRLEN && at + header.nla_len <= octets.size(),
		    "an attribute's length");
		const auto first = octets.begin() + at;
		attrs_.emplace(header.nla_type & NLA_TYPE_MASK,
			       Octets(first + NLA_HDRLEN, first + header.nla_len));
		at += NLA_ALIGN(header.nla_len);
	}
}

Octets Got::octets(int type) const
{
	yes(attrs_.count(type) == 1, "attribute " + std::to_string(type) + " is there once");
	return attrs_.find(type)->second;
}

template <typename Number> Number Got::number(int type) const
{
	const Octets data = octets(type);
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
	const Octets data = octets(type);

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
