/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#include "wire.hpp"

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include "../../cli/printable.hpp"

namespace bench::wire {

namespace {

// Fields are listed once, below, for both directions: an archive either writes
// them or reads them.
class Writer {
public:
	template <typename T> void number(const T &value)
	{
		const auto bits = static_cast<std::uint64_t>(value);

		for (std::size_t i = sizeof(T); i-- > 0;)
			bytes.push_back(static_cast<std::byte>(bits >> (8 * i)));
	}

	template <typename T> void choice(const T &value, T) { number(value); }

	void text(const std::string &value)
	{
		const std::size_t size = std::min(value.size(), max_text);
		const auto *first = reinterpret_cast<const std::byte *>(value.data());

		number(static_cast<std::uint16_t>(size));
		bytes.insert(bytes.end(), first, first + size);
	}

	std::vector<std::byte> bytes;
};

// Any error sets it to bad; every later read returns 0.
class Reader {
public:
	explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

	template <typename T> void number(T &value)
	{
		std::uint64_t bits = 0;

		for (const auto byte : take(sizeof(T)))
			bits = bits << 8 | std::to_integer<std::uint64_t>(byte);
		if constexpr (std::is_same_v<T, bool>)
			good_ &= bits <= 1;
		value = static_cast<T>(bits);
	}

	template <typename T> void choice(T &value, T last)
	{
		number(value);
		good_ &= value <= last;
	}

	// It is printed, by errors for example, so it must be harmless then.
	void text(std::string &value)
	{
		std::uint16_t size = 0;

		number(size);
		good_ &= size <= max_text;
		const auto bytes = take(good_ ? size : 0);
		value = cli::printable(bytes);
	}

	// No error occurred, and nothing is left.
	bool complete() const { return good_ && bytes_.empty(); }

private:
	std::span<const std::byte> take(std::size_t size)
	{
		if (size > bytes_.size()) {
			good_ = false;
			bytes_ = {};
			return {};
		}
		const auto taken = bytes_.first(size);
		bytes_ = bytes_.subspan(size);
		return taken;
	}

	std::span<const std::byte> bytes_;
	bool good_ = true;
};

// --- fields, in wire order ----------------------------------------

template <typename Archive> void job_fields(Archive &archive, auto &job)
{
	archive.choice(job.transport, Transport::kcm);
	archive.choice(job.test, Test::memory);
	archive.choice(job.op, Op::send);
	archive.choice(job.wait, Wait::event);
	archive.number(job.bidirectional);
	archive.number(job.verify);
	archive.number(job.size);
	archive.number(job.depth);
	archive.number(job.list);
	archive.number(job.moderation);
	archive.number(job.solicit);
	archive.number(job.connections);
	archive.number(job.slots);
	archive.number(job.inline_bytes);
	archive.number(job.chunk);
	archive.choice(job.send_by, SendBy::zerocopy);
	archive.number(job.discard);
	archive.number(job.timeout_ms);
}

template <typename Archive> void region(Archive &archive, auto &region)
{
	archive.number(region.address);
	archive.number(region.key);
}

template <typename Archive> void regions(Archive &archive, auto &regions)
{
	region(archive, regions.source);
	region(archive, regions.sink);
}

template <typename Archive> void usage(Archive &archive, auto &usage)
{
	archive.number(usage.process_user);
	archive.number(usage.process_system);
	archive.number(usage.machine_busy);
	archive.number(usage.machine_softirq);
}

template <typename Archive> void memory(Archive &archive, auto &memory)
{
	archive.number(memory.kernel);
	archive.number(memory.slab);
	archive.number(memory.process);
}

// One for each type of message.
template <typename Archive, typename T> void body(Archive &archive, T &message)
{
	using Plain = std::remove_const_t<T>;

	if constexpr (std::is_same_v<Plain, Hello>) {
		archive.number(message.magic);
		archive.number(message.version);
		archive.text(message.machine);
	} else if constexpr (std::is_same_v<Plain, Start>) {
		job_fields(archive, message.job);
		regions(archive, message.regions);
	} else if constexpr (std::is_same_v<Plain, Ready>) {
		archive.number(message.port);
		archive.number(message.cookie);
		regions(archive, message.regions);
		archive.text(message.device);
	} else if constexpr (std::is_same_v<Plain, Phase>) {
		archive.number(message.messages);
	} else if constexpr (std::is_same_v<Plain, End>) {
		archive.number(message.sent);
	} else if constexpr (std::is_same_v<Plain, Done>) {
		archive.number(message.sent);
		archive.number(message.nanoseconds);
		usage(archive, message.usage);
	} else if constexpr (std::is_same_v<Plain, Round>) {
		archive.choice(message.what, Round::What::check);
		archive.number(message.first);
		archive.number(message.count);
	} else if constexpr (std::is_same_v<Plain, Failed>) {
		archive.number(message.status);
		archive.text(message.text);
	} else if constexpr (std::is_same_v<Plain, Measured>) {
		memory(archive, message.memory);
	}
}

// Values that fit their format may still be invalid.
bool sensible(const Message &message)
{
	if (const auto *hello = std::get_if<Hello>(&message))
		return hello->magic == magic;
	if (const auto *start = std::get_if<Start>(&message))
		return !complaint(start->job);
	if (const auto *round = std::get_if<Round>(&message))
		return round->count >= 1 && round->count <= max_depth;
	return true;
}

template <std::size_t index>
std::optional<Message> decode_as(std::size_t type, Reader reader)
{
	if constexpr (index < std::variant_size_v<Message>) {
		if (type != index)
			return decode_as<index + 1>(type, reader);
		Message message(std::in_place_index<index>);

		body(reader, std::get<index>(message));
		if (reader.complete() && sensible(message))
			return message;
	}
	return {};
}

} // namespace

std::vector<std::byte> encode(const Message &message)
{
	Writer content, frame;

	content.number(static_cast<std::uint8_t>(message.index()));
	std::visit([&](const auto &one) { body(content, one); }, message);
	frame.number(static_cast<std::uint32_t>(content.bytes.size()));
	frame.bytes.insert(frame.bytes.end(), content.bytes.begin(),
			   content.bytes.end());
	return std::move(frame.bytes);
}

std::optional<Message> decode(std::span<const std::byte> bytes)
{
	if (bytes.empty() || bytes.size() > max_frame)
		return {};
	return decode_as<0>(std::to_integer<std::size_t>(bytes.front()),
			    Reader(bytes.subspan(1)));
}

const char *name(const Message &message) noexcept
{
	static constexpr std::array names{
		"Hello", "Start", "Ready", "Phase", "Begin", "End", "Done",
		"Round", "RoundDone", "Close", "Failed", "Measure", "Measured",
	};
	static_assert(names.size() == std::variant_size_v<Message>);

	return names[message.index()];
}

} // namespace bench::wire
