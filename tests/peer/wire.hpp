// SPDX-License-Identifier: GPL-2.0-only
//
// The bytes of MPA, DDP and RDMAP, written from RFC 5040, 5041, 5044 and 6581
// alone: the peer must test the kernel's sources, not mirror them. Whatever can
// be built correctly here can be built with faults, too.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "bytes.hpp"

namespace peer {

// What the other side sent violates the RFCs.
struct WireError : std::runtime_error {
	using std::runtime_error::runtime_error;
};

std::uint32_t crc32c(const Bytes &bytes);

// Startup (RFC 5044 section 7.1, RFC 6581 section 9) -------------------------

inline constexpr std::string_view request_key = "MPA ID Req Frame";
inline constexpr std::string_view reply_key = "MPA ID Rep Frame";

enum Flags : std::uint8_t {
	flag_markers = 0x80,
	flag_crc = 0x40,
	flag_reject = 0x20,
	flag_enhanced = 0x10,
	flag_reserved = 0x0f,
	// Reserved bits that ask for the extensions of RFC 7306, and grant them; in
	// enhanced frames only.
	flag_ext_asked = 0x01,
	flag_ext_granted = 0x02,
};

// The four bytes of RFC 6581; a depth of 0x3fff means not negotiated.
struct Enhanced {
	bool a = false;
	bool b = false;
	bool c = false;
	bool d = false;
	std::uint16_t ird = 0;
	std::uint16_t ord = 0;

	Bytes encode() const;
	static Enhanced decode(const Bytes &data);
	std::string words() const;
};

inline constexpr std::uint16_t no_depth = 0x3fff;

struct Frame {
	Bytes key = text(request_key);
	std::uint8_t flags = flag_crc;
	std::uint8_t rev = 1;
	Bytes data;
	// PD_Length, if it is to be wrong.
	std::optional<std::uint16_t> length;

	bool has(std::uint8_t flag) const { return flags & flag; }
	// Before revision 2 that bit is reserved.
	bool enhanced() const { return has(flag_enhanced) && rev >= 2; }
	Bytes encode() const;
	std::string words() const;
	// The private data of the consumer, without the enhanced bytes.
	Bytes consumer_data() const;

	// The length of the frame that begins with these bytes, if they
	// suffice.
	static std::optional<std::size_t> length_of(const Bytes &bytes);
	static Frame decode(const Bytes &bytes);
};

// FPDUs (RFC 5044 section 4) ---------------------------------------------------

struct Framing {
	bool markers = false;
	bool crc = true;
};

// The fault of an FPDU.
struct Fault {
	std::optional<std::uint16_t> length;	// ULPDU_Length has this value
	std::uint32_t crc_xor = 0;		// on the bytes as sent
	bool crc_zero = false;
	std::uint8_t pad = 0;			// value of the pad
	int marker = -1;			// which Marker of the FPDU
	std::uint16_t fpduptr_xor = 0;
	std::uint16_t reserved = 0;
	bool no_marker = false;			// left out
};

// Writes one direction of a stream.
class Writer {
public:
	explicit Writer(Framing framing = {}) : framing_(framing) {}
	Bytes fpdu(const Bytes &ulpdu, const Fault &fault = {});
	const Framing &framing() const { return framing_; }

private:
	void marker(Bytes &out, int number, const Fault &fault);
	void add(Bytes &out, const Bytes &bytes, const Fault &fault);

	Framing framing_;
	std::uint64_t at_ = 0;		// bytes of the stream so far
	std::uint64_t start_ = 0;	// where ULPDU_Length of this FPDU is
	bool started_ = false;
	int markers_ = 0;		// of this FPDU, so far
};

// Reads one direction of a stream, and throws on anything incorrect.
class Reader {
public:
	explicit Reader(Framing framing = {}) : framing_(framing) {}
	// Takes an FPDU out of the received bytes; nothing if it is incomplete.
	std::optional<Bytes> next(Bytes &received);

private:
	Framing framing_;
	std::uint64_t at_ = 0;
};

// DDP and RDMAP (RFC 5041 section 4, RFC 5040 section 4) ------------------------

enum Opcode : std::uint8_t {
	op_write = 0,
	op_read_request = 1,
	op_read_response = 2,
	op_send = 3,
	op_send_inv = 4,
	op_send_se = 5,
	op_send_se_inv = 6,
	op_terminate = 7,
	op_immediate = 8,
	op_immediate_se = 9,
	op_atomic_request = 10,
	op_atomic_response = 11,
};

// The first two bytes of every segment.
struct Control {
	bool tagged = false;
	bool last = true;
	std::uint8_t ddp_reserved = 0;	// four bits
	std::uint8_t dv = 1;
	std::uint8_t rv = 1;
	std::uint8_t rdmap_reserved = 0; // two bits
	std::uint8_t opcode = op_send;

	void encode(Bytes &to) const;
	static Control decode(const Bytes &ulpdu);
};

struct Untagged {
	Control control;
	std::uint32_t invalidate = 0;
	std::uint32_t qn = 0;
	std::uint32_t msn = 1;
	std::uint32_t mo = 0;
	Bytes payload;

	Bytes encode() const;
	static Untagged decode(const Bytes &ulpdu);
};

struct Tagged {
	Control control{.tagged = true, .opcode = op_write};
	std::uint32_t stag = 0;
	std::uint64_t to = 0;
	Bytes payload;

	Bytes encode() const;
	static Tagged decode(const Bytes &ulpdu);
};

struct ReadRequest {
	std::uint32_t sink_stag = 0;
	std::uint64_t sink_to = 0;
	std::uint32_t size = 0;
	std::uint32_t src_stag = 0;
	std::uint64_t src_to = 0;

	Bytes encode() const;
	static ReadRequest decode(const Bytes &bytes);
};

// RFC 7306 section 5.2.
struct AtomicRequest {
	std::uint32_t op = 0;		// with the reserved bits
	std::uint32_t id = 0;
	std::uint32_t stag = 0;
	std::uint64_t to = 0;
	std::uint64_t data = 0;
	std::uint64_t mask = 0;
	std::uint64_t compare = 0;
	std::uint64_t compare_mask = ~std::uint64_t{0};

	Bytes encode() const;
};

// Layer, error type, error code.
struct Code {
	std::uint8_t layer;
	std::uint8_t etype;
	std::uint8_t code;

	bool operator==(const Code &) const = default;
	std::string words() const;
};

struct Terminate {
	Code code{};
	bool m = false;
	bool d = false;
	bool r = false;
	std::uint16_t segment_length = 0;
	Bytes headers;			// terminated ones
	std::string words() const;

	Bytes encode() const;
	// The Terminate header of a whole segment, checked against RFC 5040.
	static Terminate decode(const Bytes &ulpdu);
};

bool is_tagged(const Bytes &ulpdu);
bool is_terminate(const Bytes &ulpdu);
std::string words(const Bytes &ulpdu);

} // namespace peer
