// SPDX-License-Identifier: GPL-2.0-only
//
// The speed of the framing core in user space, compared with that of CRC32c alone
// over the same bytes. Both alternate, so that a slower machine affects both. Not
// a test.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <vector>

extern "C" {
#include <linux/crc32c.h>

#include "../../../kernel/framing/fpdu.h"
#include "../../../kernel/framing/reader.h"
}

namespace {

using Clock = std::chrono::steady_clock;
using Bytes = std::vector<std::uint8_t>;

// FPDUs per turn; together about one packet of TCP.
constexpr unsigned int batch = 44;

double seconds(Clock::duration time)
{
	return std::chrono::duration<double>(time).count();
}

// Gathers FPDUs of one ULPDU each; the bytes of the ULPDU are not copied.
class Sender {
public:
	Sender(std::uint32_t size, bool markers, bool crc)
		: start_{0, markers, crc}, ulpdu_(size), pieces_(batch * 40),
		  control_(batch * 512)
	{
		for (std::uint32_t i = 0; i < size; i++)
			ulpdu_[i] = static_cast<std::uint8_t>(i * 7);
	}

	const Bytes &ulpdu() const { return ulpdu_; }

	mpa_gather list()
	{
		mpa_tx_half half = start_;
		const kvec piece{ulpdu_.data(), ulpdu_.size()};
		mpa_gather gather{pieces_.data(), 0,
				  static_cast<unsigned int>(pieces_.size()),
				  control_.data(), 0,
				  static_cast<unsigned int>(control_.size()), 0};

		for (unsigned int i = 0; i < batch; i++)
			if (mpa_fpdu_gather(&half, &piece, 1,
					    static_cast<std::uint32_t>(ulpdu_.size()),
					    &gather) < 0)
				throw std::runtime_error("the list is too short");
		return gather;
	}

	Bytes stream()
	{
		const auto gather = list();
		Bytes bytes;

		for (unsigned int i = 0; i < gather.nr_out; i++) {
			const auto *from = static_cast<std::uint8_t *>(gather.out[i].iov_base);

			bytes.insert(bytes.end(), from, from + gather.out[i].iov_len);
		}
		return bytes;
	}

private:
	const mpa_tx_half start_;
	Bytes ulpdu_;
	std::vector<kvec> pieces_;
	Bytes control_;
};

// Counts the valid FPDUs.
unsigned int read_all(const Bytes &stream, bool markers, bool crc)
{
	mpa_reader reader;
	std::uint32_t at = 0, used = 0;
	unsigned int fpdus = 0;

	mpa_reader_init(&reader, markers, crc);
	while (at < stream.size()) {
		const auto result = mpa_reader_feed(
			&reader, stream.data() + at,
			static_cast<std::uint32_t>(stream.size()) - at, &used);
		at += used;
		if (result != MPA_RX_FPDU)
			break;
		fpdus++;
	}
	return fpdus;
}

// Runs as many turns of the CRC as of the other, and reports the ratio.
template <typename Work>
void beside_crc(benchmark::State &state, const Bytes &ulpdu, Work work)
{
	Clock::duration own{}, bare{};

	for (auto _ : state) {
		const auto start = Clock::now();
		work();
		const auto middle = Clock::now();
		for (unsigned int i = 0; i < batch; i++)
			benchmark::DoNotOptimize(crc32c(
				~0U, ulpdu.data(),
				static_cast<unsigned int>(ulpdu.size())));
		bare += Clock::now() - middle;
		own += middle - start;
		state.SetIterationTime(seconds(middle - start));
	}
	const auto bytes = static_cast<double>(ulpdu.size()) * batch *
		static_cast<double>(state.iterations());
	state.SetBytesProcessed(static_cast<std::int64_t>(bytes));
	state.counters["crc_GBps"] = bytes / seconds(bare) / 1e9;
	state.counters["of_crc"] = seconds(bare) / seconds(own);
}

void build(benchmark::State &state)
{
	Sender sender(static_cast<std::uint32_t>(state.range(0)), state.range(1) != 0,
		      state.range(2) != 0);

	beside_crc(state, sender.ulpdu(), [&] {
		auto gather = sender.list();
		benchmark::DoNotOptimize(gather);
	});
}

void read(benchmark::State &state)
{
	const bool markers = state.range(1) != 0, crc = state.range(2) != 0;
	Sender sender(static_cast<std::uint32_t>(state.range(0)), markers, crc);
	const auto stream = sender.stream();

	beside_crc(state, sender.ulpdu(), [&] {
		if (read_all(stream, markers, crc) != batch)
			state.SkipWithError("an FPDU was refused");
	});
}

// ULPDUs of a link of 1500 and of 9000 bytes.
void cases(benchmark::internal::Benchmark *benchmark)
{
	benchmark->ArgNames({"ulpdu", "markers", "crc"})
		->ArgsProduct({{1440, 8936}, {0, 1}, {1, 0}})->UseManualTime();
}

BENCHMARK(build)->Apply(cases);
BENCHMARK(read)->Apply(cases);

} // namespace

BENCHMARK_MAIN();
