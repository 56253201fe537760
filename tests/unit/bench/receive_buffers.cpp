// SPDX-License-Identifier: GPL-2.0-only
//
// What receivers of many connections must hold of incomplete FPDUs between segments, with
// the kernel's reader: section 7 of draft-elzur-iwarp-mpa-tcp-analysis-00. Each connection
// gets segments of EMSS bytes of a stream of FPDUs as long; aligned, or from a position of
// its own in an FPDU on. Held is what the reader has seen of an FPDU that is not complete.
//
// Exit status 1: the figures are not those of the model.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <random>
#include <stdexcept>
#include <vector>

extern "C" {
#include "../../../kernel/framing/fpdu.h"
#include "../../../kernel/framing/reader.h"
}

namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr unsigned int samples = 100;
// Means of random positions differ from the model by so much at most.
constexpr double tolerance = 0.1;

// Two FPDUs of @emss bytes each.
Bytes fpdus(std::uint32_t emss)
{
	mpa_tx_half half{0, false, true};
	Bytes ulpdu(emss - MPA_FPDU_OVERHEAD, 0x5a), stream(2 * emss);
	const kvec piece{ulpdu.data(), ulpdu.size()};
	const mpa_ulpdu whole{nullptr, 0, &piece, 1,
			      static_cast<std::uint32_t>(ulpdu.size())};

	for (std::uint32_t at = 0; at < stream.size(); at += emss)
		if (mpa_fpdu_write(&half, &whole, stream.data() + at) !=
		    static_cast<int>(emss))
			throw std::runtime_error("no FPDU has that length");
	return stream;
}

// A connection, and the position of its next segment in an FPDU.
class Connection {
public:
	explicit Connection(std::uint32_t phase) : phase_(phase)
	{
		mpa_reader_init(&reader_, false, true);
	}

	// Until segments begin at the position.
	void prepare(const Bytes &stream) { feed(stream, 0, phase_); }

	void segment(const Bytes &stream)
	{
		feed(stream, phase_, static_cast<std::uint32_t>(stream.size() / 2));
	}

	std::uint32_t held() const { return held_; }

private:
	void feed(const Bytes &stream, std::uint32_t at, std::uint32_t len)
	{
		while (len) {
			std::uint32_t used = 0;
			const auto result =
				mpa_reader_feed(&reader_, stream.data() + at, len, &used);

			if (result != MPA_RX_MORE && result != MPA_RX_FPDU)
				throw std::runtime_error("an FPDU was refused");
			held_ = result == MPA_RX_MORE ? reader_.since_start : 0;
			at += used;
			len -= used;
		}
	}

	mpa_reader reader_{};
	std::uint32_t phase_;
	std::uint32_t held_ = 0;
};

struct Held {
	double mean = 0; // over the samples, of the sum of all connections
	std::uint64_t most = 0;
};

template <typename Phase>
Held simulate(const Bytes &stream, unsigned int connections, Phase phase)
{
	Held found;

	for (unsigned int i = 0; i < samples; i++) {
		std::uint64_t sum = 0;

		for (unsigned int n = 0; n < connections; n++) {
			Connection one(phase());

			one.prepare(stream);
			one.segment(stream);
			sum += one.held();
		}
		found.mean += static_cast<double>(sum) / samples;
		found.most = std::max(found.most, sum);
	}
	return found;
}

bool row(std::uint32_t emss, unsigned int connections)
{
	const auto stream = fpdus(emss);
	std::mt19937 random(connections);
	std::uniform_int_distribution<std::uint32_t> anywhere(0, emss - 1);
	const auto aligned = simulate(stream, connections, [] { return 0U; });
	const auto mean = simulate(stream, connections, [&] { return anywhere(random); });
	const auto worst = simulate(stream, connections, [&] { return emss - 1; });
	const double unit = static_cast<double>(emss) * connections;
	const bool good = !aligned.most && std::abs(mean.mean / unit - 0.5) < 0.5 * tolerance &&
		worst.most == std::uint64_t{emss - 1} * connections;

	std::printf("%6u %8u %10llu %12.0f %8.4f %12llu %8.4f%s\n", emss, connections,
		    static_cast<unsigned long long>(aligned.most), mean.mean,
		    mean.mean / unit, static_cast<unsigned long long>(worst.most),
		    static_cast<double>(worst.most) / unit, good ? "" : "  not as the model");
	return good;
}

} // namespace

int main()
{
	bool good = true;

	try {
		std::printf("  EMSS  streams    aligned         mean       K1        worst"
			    "       K1\n");
		for (const std::uint32_t emss : {536U, 1460U, 1500U})
			for (const unsigned int connections : {10U, 100U, 200U, 10000U})
				good &= row(emss, connections);
	} catch (const std::exception &error) {
		std::fprintf(stderr, "receive-buffers: %s\n", error.what());
		return 1;
	}
	return good ? 0 : 1;
}
