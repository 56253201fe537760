// SPDX-License-Identifier: GPL-2.0-only
#include "random_model.hpp"

#include <algorithm>

namespace peer {

namespace {

constexpr std::size_t page = 4096;

// The bytes [to, to + size) of a grant; a reason if they are not.
bool inside(const Grant &grant, std::uint64_t to, std::uint64_t size)
{
	return to >= grant.at && to - grant.at <= grant.length &&
	       size <= grant.length - (to - grant.at);
}

void add(std::vector<Code> &codes, std::initializer_list<Code> more)
{
	codes.insert(codes.end(), more);
}

} // namespace

Model::Model(const Aim &aim, const Windows *windows, bool extensions)
	: other_(aim.other_stag), extensions_(extensions), memory_(aim.rw_length)
{
	grants_.push_back({aim.rw_stag, aim.rw_at, aim.rw_length, true, true, true, 0});
	grants_.push_back({aim.ro_stag, aim.ro_at, aim.small_length, false, true, false, -1});
	grants_.push_back({aim.wo_stag, aim.wo_at, aim.small_length, true, false, false, -1});
	if (!windows)
		return;
	grants_.push_back({windows->whole.stag, windows->whole.at, window_size, true, true,
			   false, page});
	grants_.push_back({windows->read_only.stag, windows->read_only.at, window_size, false,
			   true, false, 2 * page});
	grants_.push_back({windows->zero_based.stag, windows->zero_based.at, window_size, true,
			   true, false, 3 * page});
	// The message that has named them.
	Bytes said = text("WIN1");
	for (const Window *one : {&windows->whole, &windows->read_only, &windows->zero_based,
				  &windows->invalid}) {
		put(said, one->stag, 4);
		put(said, one->at, 8);
	}
	std::copy(said.begin(), said.end(), memory_.begin());
	their_msn_ = 2;
}

const Grant *Model::find(std::uint32_t stag) const
{
	for (const Grant &grant : grants_)
		if (grant.stag == stag)
			return &grant;
	return nullptr;
}

Model::Outcome Model::take(const Bytes &ulpdu)
{
	if (ulpdu.size() < (is_tagged(ulpdu) ? 14u : 18u))
		return {.unknown = true};
	Outcome outcome;

	if ((ulpdu[0] & 3) != 1)
		add(outcome.codes, {is_tagged(ulpdu) ? Code{1, 1, 4} : Code{1, 2, 6}});
	if (ulpdu[1] >> 6 != 1)
		add(outcome.codes, {{0, 2, 5}});
	// What else is wrong with it may be found first.
	if (!outcome.good())
		return outcome;
	if (is_tagged(ulpdu))
		return tagged(ulpdu);
	switch (get(ulpdu, 6, 4)) {
	case 0:
		return message(ulpdu);
	case 1:
		return request(ulpdu);
	case 2:
	case 3:
		return {.unknown = true};
	default:
		return {.codes = {{1, 2, 1}, {0, 2, 6}}};
	}
}

Model::Outcome Model::tagged(const Bytes &ulpdu)
{
	const std::uint8_t opcode = ulpdu[1] & 0xf;
	const auto stag = static_cast<std::uint32_t>(get(ulpdu, 2, 4));
	const std::uint64_t to = get(ulpdu, 6, 8);
	const Bytes data = rest(ulpdu, 14);
	const Grant *const grant = find(stag);
	Outcome outcome;

	if (opcode != op_write)
		return {.codes = {{0, 2, 6}, {1, 1, 0}, {1, 0, 0}}};
	if (data.empty())
		return {.unknown = !grant || !inside(*grant, to, 0)};
	if (stag == other_)
		return {.codes = {{1, 1, 2}, {0, 1, 3}, {1, 1, 1}}};
	if (!grant)
		return {.codes = {{1, 1, 0}}};
	if (!grant->write)
		add(outcome.codes, {{1, 1, 0}, {0, 1, 2}});
	if (!inside(*grant, to, data.size()))
		add(outcome.codes, {{1, 1, 1}, {1, 1, 3}});
	if (!outcome.good() || grant->offset < 0)
		return outcome;
	const auto offset = grant->offset + static_cast<std::int64_t>(to - grant->at);
	if (offset + data.size() > memory_.size() - words)
		return {.unknown = true};
	written(offset, data);
	return {};
}

void Model::written(std::int64_t offset, const Bytes &data)
{
	const auto end = offset + static_cast<std::int64_t>(data.size());

	std::copy(data.begin(), data.end(), memory_.begin() + offset);
	for (Answer &answer : answers_) {
		if (answer.offset < 0)
			continue;
		const auto stop = answer.offset + static_cast<std::int64_t>(answer.data.size());
		for (auto at = std::max(offset, answer.offset); at < std::min(end, stop); at++)
			answer.loose[static_cast<std::size_t>(at - answer.offset)] = true;
	}
}

Model::Outcome Model::message(const Bytes &ulpdu)
{
	const auto segment = [&] {
		Bytes plain = ulpdu;
		// Reserved bits are ignored.
		plain[0] &= 0xc3;
		plain[1] &= 0xcf;
		return Untagged::decode(plain);
	}();
	const std::uint8_t opcode = segment.control.opcode;
	const bool immediate = opcode == op_immediate || opcode == op_immediate_se;
	Outcome outcome;

	if (opcode == op_send_inv || opcode == op_send_se_inv ||
	    (immediate && (!extensions_ || begun_ || !segment.control.last ||
			   segment.payload.size() != 8)) ||
	    (begun_ && opcode != opcode_))
		outcome.unknown = true;
	if (!immediate && (opcode < op_send || opcode > op_send_se_inv))
		add(outcome.codes, {{0, 2, 6}, {1, 2, 1}});
	if (segment.msn != send_msn_)
		add(outcome.codes, {{1, 2, 3}, {1, 2, 2}});
	if (segment.mo != message_.size())
		add(outcome.codes, {{1, 2, 4}, {1, 2, 5}});
	if (segment.mo + std::uint64_t{segment.payload.size()} > 2048)
		add(outcome.codes, {{1, 2, 5}});
	if (echoes_.size() >= most_echoes_)
		outcome.unknown = true;
	if (!outcome.good())
		return outcome;
	begun_ = true;
	opcode_ = opcode;
	message_ = join(message_, segment.payload);
	if (segment.control.last) {
		echoes_.push_back({message_, !immediate});
		message_.clear();
		begun_ = false;
		send_msn_++;
	}
	return outcome;
}

Model::Outcome Model::request(const Bytes &ulpdu)
{
	const std::uint8_t opcode = ulpdu[1] & 0xf;
	const bool atomic_request = opcode == op_atomic_request;
	Outcome outcome;

	if (opcode != op_read_request && !(atomic_request && extensions_))
		add(outcome.codes, {{0, 2, 6}, {1, 2, 1}});
	if (get(ulpdu, 10, 4) != request_msn_)
		add(outcome.codes, {{1, 2, 3}, {1, 2, 2}});
	if (get(ulpdu, 14, 4))
		add(outcome.codes, {{1, 2, 4}, {1, 2, 5}});
	if (!(ulpdu[0] & 0x40) || ulpdu.size() != (atomic_request ? 70u : 46u) ||
	    answers_.size() >= most_answers_)
		outcome.unknown = true;
	if (!outcome.good())
		return outcome;
	const std::size_t source = atomic_request ? 26 : 34;
	const auto stag = static_cast<std::uint32_t>(get(ulpdu, source, 4));
	const std::uint64_t to = get(ulpdu, source + 4, 8);
	const std::uint64_t size = atomic_request ? 8 : get(ulpdu, 30, 4);
	const Grant *const grant = find(stag);

	if (atomic_request) {
		const std::uint64_t op = get(ulpdu, 18, 4) & 0xf;

		if (to % 8)
			add(outcome.codes, {{0, 2, 7}});
		if (op && op != 2)
			add(outcome.codes, {{0, 2, 6}});
	}
	if (!size) {
		outcome.unknown = !grant || !grant->read || !inside(*grant, to, 0);
	} else if (stag == other_) {
		add(outcome.codes, {{0, 1, 3}, {0, 1, 1}});
	} else if (!grant) {
		add(outcome.codes, {{0, 1, 0}});
	} else {
		if (atomic_request ? !grant->atomic : !grant->read)
			add(outcome.codes, {{0, 1, 2}});
		if (!inside(*grant, to, size))
			add(outcome.codes, {{0, 1, 1}, {0, 1, 4}});
	}
	if (!outcome.good())
		return outcome;
	if (atomic_request) {
		if (grant->offset + (to - grant->at) < memory_.size() - words)
			return {.unknown = true};
		atomic(ulpdu, *grant);
	} else {
		const ReadRequest rd = ReadRequest::decode(rest(ulpdu, 18));

		if (rd.sink_to + size < rd.sink_to)
			return {.unknown = true};
		read(rd, grant);
	}
	request_msn_++;
	return {};
}

void Model::read(const ReadRequest &rd, const Grant *grant)
{
	Answer answer{.data = zeros(rd.size),
		      .loose = std::vector<bool>(rd.size),
		      .stag = rd.sink_stag,
		      .to = rd.sink_to};

	if (grant->offset >= 0) {
		answer.offset = grant->offset + static_cast<std::int64_t>(rd.src_to - grant->at);
		std::copy_n(memory_.begin() + answer.offset, rd.size, answer.data.begin());
	}
	answers_.push_back(answer);
}

// The words are numbers of the machine.
void Model::atomic(const Bytes &ulpdu, const Grant &grant)
{
	const auto at = static_cast<std::size_t>(get(ulpdu, 30, 8) - grant.at);
	const std::uint64_t data = get(ulpdu, 38, 8), mask = get(ulpdu, 46, 8);
	const std::uint64_t compare = get(ulpdu, 54, 8), compare_mask = get(ulpdu, 62, 8);
	std::uint64_t old = 0, fresh;
	Answer answer{.atomic = true, .id = static_cast<std::uint32_t>(get(ulpdu, 22, 4))};

	for (std::size_t n = 8; n--;)
		old = old << 8 | memory_[at + n];
	if (get(ulpdu, 18, 4) & 2) {
		fresh = (old & compare_mask) == (compare & compare_mask)
				? (old & ~mask) | (data & mask)
				: old;
	} else {
		// A set bit of the mask ends a field: no carry crosses it.
		fresh = 0;
		std::uint64_t carry = 0;
		for (int bit = 0; bit < 64; bit++) {
			const std::uint64_t sum = (old >> bit & 1) + (data >> bit & 1) + carry;
			fresh |= (sum & 1) << bit;
			carry = mask >> bit & 1 ? 0 : sum >> 1;
		}
	}
	for (std::size_t n = 0; n < 8; n++)
		memory_[at + n] = static_cast<std::uint8_t>(fresh >> 8 * n);
	put(answer.data, old, 8);
	answer.loose.resize(8);
	answers_.push_back(answer);
}

void Model::arrived(const Bytes &ulpdu)
{
	if (is_terminate(ulpdu) && !is_tagged(ulpdu))
		throw Mismatch("a stream without an error ends with " + peer::words(ulpdu));
	if (is_tagged(ulpdu)) {
		const auto segment = Tagged::decode(ulpdu);

		if (answers_.empty() || answers_.front().atomic)
			throw Mismatch("a Read Response that nothing asked for");
		const Answer &answer = answers_.front();
		const auto from = data_.size();
		if (segment.control.opcode != op_read_response || segment.stag != answer.stag ||
		    segment.to != answer.to + from ||
		    from + segment.payload.size() > answer.data.size() ||
		    segment.control.last !=
			    (from + segment.payload.size() == answer.data.size()))
			throw Mismatch("another Read Response: " + peer::words(ulpdu));
		data_ = join(data_, segment.payload);
		for (std::size_t n = from; n < data_.size(); n++)
			if (data_[n] != answer.data[n] && !answer.loose[n])
				throw Mismatch("other memory at byte " + std::to_string(n) +
					       " of a Read");
		if (segment.control.last) {
			data_.clear();
			answers_.pop_front();
		}
		return;
	}
	const auto segment = Untagged::decode(ulpdu);
	if (segment.control.opcode == op_atomic_response) {
		if (answers_.empty() || !answers_.front().atomic || segment.qn != 3 ||
		    segment.msn != response_msn_++ || segment.mo || !segment.control.last ||
		    segment.payload.size() != 12 ||
		    get(segment.payload, 0, 4) != answers_.front().id ||
		    rest(segment.payload, 4) != answers_.front().data)
			throw Mismatch("another Atomic Response: " + peer::words(ulpdu));
		answers_.pop_front();
		return;
	}
	if (echoes_.empty() || segment.control.opcode != op_send || segment.qn ||
	    segment.msn != their_msn_ || segment.mo != echo_.size())
		throw Mismatch("another Send: " + peer::words(ulpdu));
	echo_ = join(echo_, segment.payload);
	if (!segment.control.last)
		return;
	const Echo &want = echoes_.front();
	if (want.exact ? echo_ != want.data : echo_.size() != want.data.size())
		throw Mismatch("another echo: " + hex(echo_));
	their_msn_++;
	echo_.clear();
	echoes_.pop_front();
}

} // namespace peer
