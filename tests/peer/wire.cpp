// SPDX-License-Identifier: GPL-2.0-only
#include "wire.hpp"

#include <array>
#include <cstdio>

namespace peer {

namespace {

template <typename... Args> std::string format(const char *how, Args... args)
{
	std::array<char, 256> line;

	std::snprintf(line.data(), line.size(), how, args...);
	return line.data();
}

std::array<std::uint32_t, 256> make_crc_table()
{
	std::array<std::uint32_t, 256> table{};

	for (std::uint32_t n = 0; n < table.size(); n++) {
		std::uint32_t crc = n;

		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
		table[n] = crc;
	}
	return table;
}

constexpr std::size_t marker_period = 512;
constexpr std::size_t marker_length = 4;

} // namespace

std::string hex(const Bytes &bytes, std::size_t most)
{
	std::string all;

	for (std::size_t i = 0; i < std::min(most, bytes.size()); i++)
		all += format("%02x", bytes[i]);
	if (bytes.size() > most)
		all += format("... (%zu bytes)", bytes.size());
	return all;
}

std::uint32_t crc32c(const Bytes &bytes)
{
	static const auto table = make_crc_table();
	std::uint32_t crc = 0xffffffff;

	for (auto byte : bytes)
		crc = crc >> 8 ^ table[(crc ^ byte) & 0xff];
	return ~crc;
}

// Startup ----------------------------------------------------------------------

Bytes Enhanced::encode() const
{
	Bytes data;

	put(data, (a ? 0x8000 : 0) | (b ? 0x4000 : 0) | ird, 2);
	put(data, (c ? 0x8000 : 0) | (d ? 0x4000 : 0) | ord, 2);
	return data;
}

Enhanced Enhanced::decode(const Bytes &data)
{
	if (data.size() < 4)
		throw WireError("an enhanced frame without its four bytes");
	const auto one = static_cast<std::uint16_t>(get(data, 0, 2));
	const auto two = static_cast<std::uint16_t>(get(data, 2, 2));

	return {.a = (one & 0x8000) != 0,
		.b = (one & 0x4000) != 0,
		.c = (two & 0x8000) != 0,
		.d = (two & 0x4000) != 0,
		.ird = static_cast<std::uint16_t>(one & 0x3fff),
		.ord = static_cast<std::uint16_t>(two & 0x3fff)};
}

std::string Enhanced::words() const
{
	return format("A=%d B=%d C=%d D=%d IRD %u ORD %u", a, b, c, d, ird, ord);
}

Bytes Frame::encode() const
{
	Bytes all = key;

	all.push_back(flags);
	all.push_back(rev);
	put(all, length.value_or(static_cast<std::uint16_t>(data.size())), 2);
	return join(all, data);
}

std::string Frame::words() const
{
	const bool reply = key == text(reply_key);
	std::string all = format(
		"%s revision %u flags %02x private data %zu",
		reply ? "Reply" : key == text(request_key) ? "Request" : "frame?",
		rev, flags, data.size());

	if (enhanced() && data.size() >= 4)
		all += ", " + Enhanced::decode(data).words();
	return all;
}

Bytes Frame::consumer_data() const
{
	return enhanced() ? rest(data, 4) : data;
}

std::optional<std::size_t> Frame::length_of(const Bytes &bytes)
{
	if (bytes.size() < 20)
		return std::nullopt;
	return 20 + get(bytes, 18, 2);
}

Frame Frame::decode(const Bytes &bytes)
{
	return {.key = first(bytes, 16),
		.flags = bytes.at(16),
		.rev = bytes.at(17),
		.data = rest(bytes, 20),
		.length = {}};
}

// FPDUs --------------------------------------------------------------------------

void Writer::marker(Bytes &out, int number, const Fault &fault)
{
	const bool wrong = fault.marker == number;
	const auto fpduptr =
		static_cast<std::uint16_t>(started_ ? at_ - start_ : 0);

	at_ += marker_length;
	if (wrong && fault.no_marker)
		return;
	put(out, wrong ? fault.reserved : 0, 2);
	put(out, wrong ? fpduptr ^ fault.fpduptr_xor : fpduptr, 2);
}

void Writer::add(Bytes &out, const Bytes &bytes, const Fault &fault)
{
	for (auto byte : bytes) {
		if (framing_.markers && at_ % marker_period == 0)
			marker(out, markers_++, fault);
		if (!started_) {
			start_ = at_;
			started_ = true;
		}
		out.push_back(byte);
		at_++;
	}
}

Bytes Writer::fpdu(const Bytes &ulpdu, const Fault &fault)
{
	Bytes body, out, field;

	started_ = false;
	markers_ = 0;
	put(body, fault.length.value_or(ulpdu.size()), 2);
	body = join(body, ulpdu);
	body.resize((body.size() + 3) / 4 * 4, fault.pad);
	add(out, body, fault);
	// A Marker that is due before the CRC field belongs to what the CRC
	// covers.
	if (framing_.markers && at_ % marker_period == 0)
		marker(out, markers_++, fault);
	put(field, __builtin_bswap32(crc32c(out)) ^ fault.crc_xor, 4);
	if (fault.crc_zero || !framing_.crc)
		field.assign(4, 0);
	at_ += field.size();
	return join(out, field);
}

std::optional<Bytes> Reader::next(Bytes &received)
{
	std::uint64_t at = at_, start = at_;
	std::size_t used = 0;
	bool started = false;

	const auto marker = [&] {
		if (received.size() - used < marker_length)
			return false;
		const auto fpduptr = get(received, used + 2, 2);
		const auto right = started ? at - start : 0;
		if (get(received, used, 2) || fpduptr != right)
			throw WireError(format("a Marker %08lx where FPDUPTR is %lu",
					       get(received, used, 4), right));
		used += marker_length;
		at += marker_length;
		return true;
	};
	const auto take = [&](Bytes &into, std::size_t count) {
		for (; count; count--) {
			if (framing_.markers && at % marker_period == 0 &&
			    !marker())
				return false;
			if (used == received.size())
				return false;
			if (!started)
				start = at;
			started = true;
			into.push_back(received[used++]);
			at++;
		}
		return true;
	};

	Bytes head, body, crc;
	if (!take(head, 2))
		return std::nullopt;
	const std::size_t length = get(head, 0, 2);
	if (length > 64768)
		throw WireError(format("an FPDU of ULPDU_Length %zu", length));
	if (!take(body, (length + 2 + 3) / 4 * 4 - 2))
		return std::nullopt;
	if (framing_.markers && at % marker_period == 0 && !marker())
		return std::nullopt;
	const auto covered = first(received, used);
	if (!take(crc, 4))
		return std::nullopt;
	if (framing_.crc && get(crc, 0, 4) != __builtin_bswap32(crc32c(covered)))
		throw WireError("an FPDU with a wrong CRC: " + hex(covered));
	for (auto pad : rest(body, length))
		if (pad)
			throw WireError("a pad that is not zero");
	at_ = at;
	received = rest(received, used);
	return first(body, length);
}

// DDP and RDMAP --------------------------------------------------------------------

void Control::encode(Bytes &to) const
{
	to.push_back(static_cast<std::uint8_t>((tagged ? 0x80 : 0) |
					       (last ? 0x40 : 0) |
					       ddp_reserved << 2 | dv));
	to.push_back(static_cast<std::uint8_t>(rv << 6 | rdmap_reserved << 4 |
					       opcode));
}

Control Control::decode(const Bytes &ulpdu)
{
	if (ulpdu.size() < (is_tagged(ulpdu) ? 14 : 18))
		throw WireError("a segment shorter than its header: " +
				hex(ulpdu));
	const auto ddp = ulpdu[0], rdmap = ulpdu[1];
	const Control control{
		.tagged = (ddp & 0x80) != 0,
		.last = (ddp & 0x40) != 0,
		.ddp_reserved = static_cast<std::uint8_t>(ddp >> 2 & 0xf),
		.dv = static_cast<std::uint8_t>(ddp & 3),
		.rv = static_cast<std::uint8_t>(rdmap >> 6),
		.rdmap_reserved = static_cast<std::uint8_t>(rdmap >> 4 & 3),
		.opcode = static_cast<std::uint8_t>(rdmap & 0xf)};

	if (control.dv != 1 || control.rv != 1 || control.ddp_reserved ||
	    control.rdmap_reserved)
		throw WireError("versions or reserved bits of " + hex(ulpdu, 18));
	return control;
}

Bytes Untagged::encode() const
{
	Bytes ulpdu;

	control.encode(ulpdu);
	put(ulpdu, invalidate, 4);
	put(ulpdu, qn, 4);
	put(ulpdu, msn, 4);
	put(ulpdu, mo, 4);
	return join(ulpdu, payload);
}

Untagged Untagged::decode(const Bytes &ulpdu)
{
	return {.control = Control::decode(ulpdu),
		.invalidate = static_cast<std::uint32_t>(get(ulpdu, 2, 4)),
		.qn = static_cast<std::uint32_t>(get(ulpdu, 6, 4)),
		.msn = static_cast<std::uint32_t>(get(ulpdu, 10, 4)),
		.mo = static_cast<std::uint32_t>(get(ulpdu, 14, 4)),
		.payload = rest(ulpdu, 18)};
}

Bytes Tagged::encode() const
{
	Bytes ulpdu;

	control.encode(ulpdu);
	put(ulpdu, stag, 4);
	put(ulpdu, to, 8);
	return join(ulpdu, payload);
}

Tagged Tagged::decode(const Bytes &ulpdu)
{
	return {.control = Control::decode(ulpdu),
		.stag = static_cast<std::uint32_t>(get(ulpdu, 2, 4)),
		.to = get(ulpdu, 6, 8),
		.payload = rest(ulpdu, 14)};
}

Bytes AtomicRequest::encode() const
{
	Bytes out;

	put(out, op, 4);
	put(out, id, 4);
	put(out, stag, 4);
	put(out, to, 8);
	put(out, data, 8);
	put(out, mask, 8);
	put(out, compare, 8);
	put(out, compare_mask, 8);
	return out;
}

Bytes ReadRequest::encode() const
{
	Bytes header;

	put(header, sink_stag, 4);
	put(header, sink_to, 8);
	put(header, size, 4);
	put(header, src_stag, 4);
	put(header, src_to, 8);
	return header;
}

ReadRequest ReadRequest::decode(const Bytes &bytes)
{
	if (bytes.size() != 28)
		throw WireError("a Read Request header of another length: " +
				hex(bytes));
	return {.sink_stag = static_cast<std::uint32_t>(get(bytes, 0, 4)),
		.sink_to = get(bytes, 4, 8),
		.size = static_cast<std::uint32_t>(get(bytes, 12, 4)),
		.src_stag = static_cast<std::uint32_t>(get(bytes, 16, 4)),
		.src_to = get(bytes, 20, 8)};
}

std::string Code::words() const
{
	return format("%x/%x/%02x", layer, etype, code);
}

std::string Terminate::words() const
{
	return format("Terminate %s M=%d D=%d R=%d length %u headers ",
		      code.words().c_str(), m, d, r, segment_length) +
	       hex(headers, 60);
}

Bytes Terminate::encode() const
{
	Bytes header;

	header.push_back(static_cast<std::uint8_t>(code.layer << 4 | code.etype));
	header.push_back(code.code);
	header.push_back(static_cast<std::uint8_t>((m ? 0x80 : 0) | (d ? 0x40 : 0) |
						   (r ? 0x20 : 0)));
	header.push_back(0);
	if (m)
		put(header, segment_length, 2);
	return join(header, headers);
}

Terminate Terminate::decode(const Bytes &ulpdu)
{
	const auto segment = Untagged::decode(ulpdu);
	const auto &bytes = segment.payload;

	if (segment.qn != 2 || segment.msn != 1 || segment.mo ||
	    !segment.control.last)
		throw WireError("a Terminate with another QN, MSN, MO or L: " +
				hex(ulpdu));
	if (bytes.size() < 4 || bytes[2] & 0x1f || bytes[3])
		throw WireError("a Terminate too short or with reserved bits: " +
				hex(ulpdu, 80));
	Terminate t{.code = {static_cast<std::uint8_t>(bytes[0] >> 4),
			     static_cast<std::uint8_t>(bytes[0] & 0xf),
			     bytes[1]},
		    .m = (bytes[2] & 0x80) != 0,
		    .d = (bytes[2] & 0x40) != 0,
		    .r = (bytes[2] & 0x20) != 0,
		    .headers = {}};
	const std::size_t start = t.m ? 6 : 4;
	std::size_t length = start;

	if (t.m && bytes.size() >= 6)
		t.segment_length = static_cast<std::uint16_t>(get(bytes, 4, 2));
	if (t.d && bytes.size() > start)
		length += bytes[start] & 0x80 ? 14 : 18;
	if (t.r)
		length += 28;
	if (bytes.size() != length || (t.d && !t.m) || (t.r && !t.d))
		throw WireError("a Terminate whose flags and length disagree: " +
				hex(ulpdu, 80));
	t.headers = rest(bytes, start);
	return t;
}

bool is_tagged(const Bytes &ulpdu)
{
	return !ulpdu.empty() && ulpdu[0] & 0x80;
}

bool is_terminate(const Bytes &ulpdu)
{
	return ulpdu.size() >= 18 && (ulpdu[1] & 0xf) == op_terminate;
}

std::string words(const Bytes &ulpdu)
{
	if (is_terminate(ulpdu))
		return Terminate::decode(ulpdu).words();
	return "a segment " + hex(ulpdu, 40);
}

} // namespace peer
