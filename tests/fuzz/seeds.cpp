// SPDX-License-Identifier: GPL-2.0-only
//
// Writes the initial inputs of the fuzzers, made from the tables of ../vectors:
// seeds TARGET DIRECTORY.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <vector>

extern "C" {
#include "../vectors/ddp.h"
#include "../vectors/framing.h"
}

namespace
{

using Bytes = std::vector<std::uint8_t>;

Bytes unhex(const char *hex)
{
	Bytes bytes(2048);

	bytes.resize(vec_unhex(hex, bytes.data(), bytes.size()));
	return bytes;
}

void put(Bytes &to, std::uint64_t value, int bytes)
{
	for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
		to.push_back(value >> shift);
}

class Directory
{
public:
	explicit Directory(std::filesystem::path path) : path(std::move(path))
	{
		std::filesystem::create_directories(this->path);
	}

	void write(Bytes head, const Bytes &tail = {})
	{
		std::ofstream file(path / ("seed-" + std::to_string(count++)),
				   std::ios::binary);

		head.insert(head.end(), tail.begin(), tail.end());
		file.write(reinterpret_cast<const char *>(head.data()),
			   head.size());
		if (!file)
			throw std::runtime_error("cannot write seeds");
	}

private:
	std::filesystem::path path;
	unsigned int count = 0;
};

// A beginning, a step, portions; then FPDUs of some lengths, the last bytes of the input being
// their payload. In some a byte is changed: of a Marker, of payload, of a length. See
// early_fuzz.cpp.
void early_seeds(Directory &to)
{
	constexpr int none = -1;

	for (int begin : {0, 4, 600, 3000})
		for (int changed : {none, 2, 0x10, 0x402, 1416, 0x1000}) {
			Bytes seed;

			put(seed, begin, 2);
			put(seed, 700, 2);
			put(seed, begin, 1);
			for (int length : {1400, 20, 2999, 0, 500}) {
				put(seed, 0x80, 1);
				put(seed, length, 2);
			}
			if (changed != none) {
				put(seed, 0xe0, 1);
				put(seed, changed, 2);
				put(seed, 0x10, 1);
			}
			to.write(seed);
		}
}

// Layout of the inputs: see LLVMFuzzerTestOneInput() in reader_fuzz.cpp.
void reader_seeds(Directory &to)
{
	for (const auto &row : vec_fpdus) {
		const std::uint8_t phase = row.gap / 4;

		for (std::uint8_t options : {0, 2, 6, 14}) {
			options |= row.markers;
			to.write({options, phase, 0}, unhex(row.fpdu));
			to.write({options, phase, 2}, unhex(row.fpdu));
		}
	}
	for (const auto &row : vec_fpdu_lens) {
		Bytes head = {static_cast<std::uint8_t>(18 | row.markers),
			       static_cast<std::uint8_t>(row.gap / 4), 3, 0x73};

		put(head, row.ulpdu_len, 2);
		to.write(head, {0x02, 42, 0x03, 7, 0x04, 0});
		// The same with the end of the last FPDU damaged.
		to.write(head, {0x02, 42, 0xc0, 0, 1, 0x80});
	}
}

// See take_params() in startup_fuzz.cpp.
void put_params(Bytes &to, std::uint8_t flags, u16 ird, u16 ord, u16 ird_max)
{
	to.push_back(flags);
	to.push_back(2); // revision 2, no flags
	put(to, ird, 2);
	put(to, ord, 2);
	put(to, ird_max, 2);
}

Bytes parties(std::uint8_t choice)
{
	Bytes head = {choice};

	put_params(head, 0x76, 4, 8, 16);
	put_params(head, 0x77, 8, 4, 16);
	return head;
}

void startup_seeds(Directory &to)
{
	for (const auto &row : vec_frames)
		to.write(parties(row.frame.reply), unhex(row.hex));
	for (const auto &row : vec_sloppy_frames)
		to.write(parties(row.frame.reply), unhex(row.hex));
	for (const auto &row : vec_bad_frames)
		to.write(parties(row.expect_reply), unhex(row.hex));
	for (const auto &row : vec_answers) {
		const std::uint8_t reject = row.reject ? 6 : 2;
		Bytes head = {reject};

		put_params(head, row.req.p2p ? 0x06 | row.req.rtr << 4 : 0x02,
			   row.req.ird, row.req.ord, row.req.ird);
		put_params(head, 0x02 | row.own.rtr << 4, row.own.ird,
			   row.own.ord, row.own.ird_max);
		to.write(head);
	}
}

// See Known in ddp_fuzz.cpp.
Bytes receiver(int flags, int ulpdu_len)
{
	Bytes head;

	put(head, flags, 1);
	put(head, ulpdu_len, 2);
	put(head, 1, 4);      // expected MSN
	put(head, 0, 4);      // and MO
	put(head, 3, 1);      // opcode of its first segment
	put(head, 4096, 8);   // bytes of the buffer
	put(head, 0x1000, 8); // a region's base
	put(head, 0x1000, 8); // and length
	put(head, 0x100, 4);  // a Read's STag,
	put(head, 0x1000, 8); // TO
	put(head, 64, 4);     // and bytes left
	return head;
}

// A body behind the header of its ULPDU; a queue without an open message.
void put_body(Directory &to, const char *header, const char *hex)
{
	constexpr int all = 0x7d, alone = 0x40;
	const Bytes body = unhex(hex);
	Bytes ulpdu = unhex(header);

	ulpdu.insert(ulpdu.end(), body.begin(), body.end());
	for (const int flags : {all, alone})
		to.write(receiver(flags, static_cast<int>(ulpdu.size())), ulpdu);
}

void ddp_seeds(Directory &to)
{
	for (const auto &row : ddp_control_cases)
		to.write(receiver(0x3f, row.ulpdu_len), unhex(row.bytes));
	for (const auto &row : ddp_extension_cases)
		to.write(receiver(0x7d, row.ulpdu_len), unhex(row.bytes));
	for (const auto &row : ddp_read_cases)
		put_body(to, "4141 00000000 00000001 00000001 00000000", row.bytes);
	for (const auto &row : ddp_imm_cases)
		put_body(to, "4148 00000000 00000000 00000001 00000000", row.bytes);
	for (const auto &row : ddp_atomic_cases)
		put_body(to, "414A 00000000 00000001 00000001 00000000", row.bytes);
	// Within the region; the response to what is outstanding.
	put_body(to, "414A 00000000 00000001 00000001 00000000",
		 "00000002 00000007 00000100 0000000000001008 3132333435363738 "
		 "00000000FFFFFFFF 0000000000001000 00000000FFFFFFFF");
	put_body(to, "414A 00000000 00000001 00000001 00000000",
		 "00000000 00000007 00000100 0000000000001008 3132333435363738 "
		 "8080808080808080 0000000000000000 0000000000000000");
	put_body(to, "414B 00000000 00000003 00000001 00000000",
		 "00000100 0102030405060708");
}

// Options, then a key with each kind of last byte, and what is nearly one.
void startkey_seeds(Directory &to)
{
	for (const int last : {0x00, 0x40, 0x80, 0xc0, 0x30, 0x01}) {
		Bytes key = unhex("4d504120 6964656e 74206672 616d65");

		put(key, last, 1);
		to.write(Bytes{3}, key);
		key[7] ^= 1;
		to.write(Bytes{4}, key);
	}
	for (const auto &row : vec_frames)
		to.write(Bytes{0}, unhex(row.hex));
}

// Options, interval, key, portions; a stream of one or the other mode, or lengths of PDUs.
void tuf_seeds(Directory &to)
{
	const Bytes key = unhex("0a0b0c0d0e0f");

	for (const int portions : {1, 2, 3}) {
		Bytes head{0, 0};

		head.insert(head.end(), key.begin(), key.end());
		put(head, portions, 1);
		to.write(head, unhex("0003 0a0b0c0d0e0f 616263 0001 0a0b0c0d0e0f 64"));
		head[0] = 1;
		to.write(head, unhex("00000000 01020304 000a000a 05060708 00020002 090a"));
		for (const int options : {2, 3}) {
			head[0] = options;
			to.write(head, unhex("40 10 80 c0 ff 03 00 20 33 01 02 03 04 05 06"));
		}
	}
}

// Options, interval or EMSS, portions, a stream. See tufread_fuzz.cpp.
void tufread_seeds(Directory &to)
{
	const Bytes frames = unhex("0003 7475666b6579 616263 0001 7475666b6579 64 0002 747566");

	for (const int portions : {0, 2, 11}) {
		Bytes head{0, 0};

		put(head, portions, 1);
		to.write(head, frames);
		head[0] = 2;
		to.write(head, frames);
		head[0] = 1;
		to.write(head, unhex("00000000 01020304 000a000a 05060708 00020002 090a"));
		head[0] = 5;
		head[1] = 12;
		to.write(head, unhex("00000000 000102030405060708090a0b0c0d0e0f 00000000 01"));
	}
}

} // namespace

int main(int argc, char **argv)
{
	static const std::map<std::string, void (*)(Directory &)> targets = {
		{"early", early_seeds},
		{"reader", reader_seeds},
		{"startup", startup_seeds},
		{"startkey", startkey_seeds},
		{"ddp", ddp_seeds},
		{"tuf", tuf_seeds},
		{"tufread", tufread_seeds},
	};
	const auto target = argc == 3 ? targets.find(argv[1]) : targets.end();

	if (target == targets.end()) {
		std::cerr << "usage: seeds reader|startup|startkey|ddp|early|tuf|tufread "
			     "DIRECTORY\n";
		return 2;
	}
	Directory directory(argv[2]);

	target->second(directory);
	return 0;
}
