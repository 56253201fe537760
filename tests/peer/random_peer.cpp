// SPDX-License-Identifier: GPL-2.0-only
//
// A peer on plain TCP that makes good streams at random, changes them, and divides them into
// segments at random:
//
//	random-peer --target ADDR:PORT --control ADDR:PORT [--kind rnic|socket] [--seconds N]
//	            [--count N] [--seed N] [--log FILE] [--reached FILE] [--name NAME [--trace]]
//
// What the target must do with a changed segment follows from random_model.cpp: go on, as the
// answers show, or end the stream with one of the codes for that. After bytes that no longer
// form a segment, and after what the model leaves open, the stream must end, and what arrives
// until then must be well-formed. The target compares the memory that it has not granted; it is
// asked after every 64 connections, and must have none open at the end.
//
// A stream follows from the numbers of its name: the seed of a good stream, and one for each
// change. Streams that reach blocks of the modules for the first time are kept, and changed again.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <random>

#include <fcntl.h>
#include <unistd.h>

#include "../random/program.hpp"
#include "../random/reached.hpp"
#include "random_model.hpp"

namespace {

using namespace peer;
using programs::Random;

struct Options {
	Environment env;
	std::chrono::seconds seconds{10};
	std::uint64_t seed = std::random_device{}(), count = ~0ull;
	std::string log, reached;
	programs::Name name;
	bool trace = false;
};

struct Counts {
	std::uint64_t streams = 0, frames = 0, changed = 0, required = 0, open = 0, bytes = 0;
};

// A part of a stream: an FPDU, or bytes that are none.
struct Part {
	Bytes bytes;
	Fault fault;
	bool raw = false;
	bool changed = false;
	// Nothing follows from the model.
	bool open = false;
	std::vector<Code> codes;
};

using Batch = std::vector<Part>;

// Good streams ------------------------------------------------------------------------

Bytes some(Random &random, std::size_t most)
{
	const std::uint32_t size = random.one_in(3) ? random.below(16)
				   : random.below(static_cast<std::uint32_t>(most) + 1);

	return pattern(size, static_cast<std::uint32_t>(random.next()));
}

class Stream {
public:
	Stream(const Options &options, const programs::Name &name, Counts &counts)
		: options_(options), name_(name), random_(name.front()), counts_(counts),
		  s_(options.env, tally_)
	{
	}

	void run()
	{
		if (!start())
			return;
		const std::uint32_t batches = 1 + random_.below(12);

		for (std::uint32_t n = 0; n < batches; n++) {
			Batch batch = make();

			for (std::size_t c = 1; c < name_.size(); c++)
				if (Random(name_[c]).below(batches) == n)
					change(batch, name_[c]);
			if (!play(batch))
				return;
		}
		s_.socket.fin();
		if (const auto more = s_.next_ulpdu_or_end(s_.soon()))
			throw Mismatch("after a FIN: " + words(*more));
	}

private:
	bool rnic() const { return options_.env.kind == Kind::rnic; }

	// Whether there is full operation.
	bool start()
	{
		Frame request{.length = {}};
		const bool enhanced = rnic() && random_.one_in(2);
		const bool windows = rnic() && random_.one_in(3);
		Bytes wanted{static_cast<std::uint8_t>(windows ? Mode::windows : Mode::echo)};

		if (random_.one_in(2))
			request.flags |= flag_markers;
		if (enhanced) {
			request.rev = 2;
			request.flags |= flag_enhanced;
			if (!random_.one_in(4))
				request.flags |= flag_ext_asked;
			wanted = join(Enhanced{.ird = 8, .ord = 4}.encode(), wanted);
		}
		request.data = wanted;
		s_.open(Mode::echo);
		counts_.frames++;
		// One change in eight is of the frame.
		for (std::size_t c = 1; c < name_.size(); c++) {
			Random random(name_[c] ^ 0x5a5a);

			if (!random.one_in(8))
				continue;
			Bytes frame = request.encode();
			damage(frame, random);
			counts_.changed++;
			send(frame, random);
			s_.socket.fin();
			s_.receive_all();
			if (s_.end == End::none)
				throw Mismatch("startup that does not end");
			return false;
		}
		send(request.encode(), random_);
		s_.operate(request, s_.next_frame());
		if (!rnic())
			return true;
		// The target's first message waits for our first FPDU.
		if (windows) {
			counts_.frames++;
			s_.send_ulpdu(Tagged{}.encode());
			s_.windows = Windows::decode(s_.receive_message());
		}
		model_ = std::make_unique<Model>(s_.aim, windows ? &s_.windows : nullptr,
						 request.has(flag_ext_asked));
		return true;
	}

	Batch make()
	{
		const std::uint32_t count = 1 + random_.below(48);
		unsigned int sends = 0, requests = 0;
		Batch batch;
		const auto put = [&](Bytes ulpdu) { batch.push_back({.bytes = std::move(ulpdu)}); };

		while (batch.size() < count) {
			const std::uint32_t kind = random_.below(16);

			if (!rnic()) {
				put(some(random_, 1400));
			} else if (kind == 0 && sends < 3) {
				sends++;
				make_message(batch);
			} else if (kind == 1 && requests < 3) {
				requests++;
				put(make_request());
			} else {
				put(make_write());
			}
		}
		return batch;
	}

	// A grant that may be used so.
	const Grant &grant(bool Grant::*right)
	{
		const auto &all = model_->grants();

		for (;;) {
			const Grant &one = all[random_.below(
				static_cast<std::uint32_t>(all.size()))];
			if (one.*right)
				return one;
		}
	}

	// A place of so many bytes, often at an end.
	std::uint64_t place(const Grant &grant, std::size_t size)
	{
		const std::uint32_t length =
			grant.atomic ? grant.length - Model::words : grant.length;
		const std::uint32_t most = length - static_cast<std::uint32_t>(size);

		return grant.at + (random_.one_in(4) ? 0
				   : random_.one_in(3) ? most : random_.below(most + 1));
	}

	Bytes make_write()
	{
		const Grant &to = grant(&Grant::write);
		const Bytes data = some(random_, 1400);
		Tagged w{.stag = to.stag, .to = place(to, data.size()), .payload = data};

		w.control.last = !random_.one_in(3);
		return w.encode();
	}

	void make_message(Batch &batch)
	{
		if (model_->extensions() && random_.one_in(3)) {
			batch.push_back({.bytes = Untagged{.control = {.opcode = op_immediate},
							   .msn = s_.send_msn++,
							   .payload = pattern(8, 1)}
							  .encode()});
			return;
		}
		const Bytes whole = some(random_, 2048);
		const std::uint8_t opcode = random_.one_in(2) ? op_send : op_send_se;
		std::size_t at = 0;

		do {
			const std::size_t size = std::min<std::size_t>(whole.size() - at,
								       random_.below(1400));
			const bool last = at + size == whole.size() && !random_.one_in(4);
			batch.push_back(
				{.bytes = Untagged{.control = {.last = last, .opcode = opcode},
						   .msn = s_.send_msn,
						   .mo = static_cast<std::uint32_t>(at),
						   .payload = first(rest(whole, at), size)}
						  .encode()});
			at += size;
			if (last)
				break;
		} while (true);
		s_.send_msn++;
	}

	Bytes make_request()
	{
		if (model_->extensions() && random_.one_in(2)) {
			const Grant &of = model_->grants().front();
			const AtomicRequest a{
				.op = random_.one_in(2) ? 0u : 2u,
				.id = static_cast<std::uint32_t>(random_.next()),
				.stag = of.stag,
				.to = of.at + of.length - 8 * (1 + random_.below(8)),
				.data = random_.next(),
				.mask = random_.one_in(2) ? 0 : random_.next(),
				.compare = random_.one_in(2) ? 0 : random_.next(),
				.compare_mask = random_.one_in(2) ? 0 : random_.next()};
			return Untagged{.control = {.opcode = op_atomic_request},
					.qn = 1,
					.msn = s_.read_msn++,
					.payload = a.encode()}
				.encode();
		}
		const Grant &of = grant(&Grant::read);
		// Sometimes all of it.
		const std::uint32_t size =
			random_.one_in(8) ? of.length
					  : random_.below(std::min(of.length, 6000u) + 1);
		return s_.read_request(size, of.stag,
				       size == of.length ? of.at
				       : of.atomic ? of.at + random_.below(of.length - size + 1)
						   : place(of, size));
	}

	// Changes ---------------------------------------------------------------------

	static void damage(Bytes &bytes, Random &random)
	{
		for (std::uint32_t n = 1 + random.below(3); n && !bytes.empty(); n--) {
			const auto at = random.below(static_cast<std::uint32_t>(bytes.size()));
			const auto where = bytes.begin() + at;

			switch (random.below(6)) {
			case 0:
				bytes[at] ^= static_cast<std::uint8_t>(1 << random.below(8));
				break;
			case 1:
				bytes[at] = static_cast<std::uint8_t>(random.next());
				break;
			case 2:
				bytes.resize(at);
				break;
			case 3:
				bytes = join(bytes, pattern(random.below(64), n));
				break;
			case 4:
				bytes.insert(where, random.one_in(2) ? 0 : 0xff);
				break;
			default:
				bytes.erase(where);
			}
		}
	}

	// Numbers of the headers of DDP and RDMAP.
	void change_field(Bytes &ulpdu, Random &random)
	{
		static constexpr std::uint64_t limits[] = {0, 1, 2, 3, 4, 7, 8, 0xff, 0x7fff,
			0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 1ull << 63, ~0ull};
		struct Field { std::size_t at, bytes; };
		static constexpr Field tagged[] = {{0, 1}, {1, 1}, {2, 4}, {6, 8}, {6, 4}},
			untagged[] = {{0, 1}, {1, 1}, {2, 4}, {6, 4}, {10, 4}, {14, 4}, {18, 4},
				      {22, 4}, {26, 4}, {30, 4}, {30, 8}, {34, 4}, {38, 8}};
		const Field field = is_tagged(ulpdu) ? tagged[random.below(std::size(tagged))]
						     : untagged[random.below(std::size(untagged))];

		if (ulpdu.size() < field.at + field.bytes)
			return;
		const std::uint64_t old = get(ulpdu, field.at, static_cast<int>(field.bytes));
		std::uint64_t fresh = old;
		switch (random.below(6)) {
		case 0:
			fresh ^= 1ull << random.below(static_cast<std::uint32_t>(field.bytes * 8));
			break;
		case 1:
			fresh += random.below(9) - 4ull;
			break;
		case 2:
			fresh = random.next();
			break;
		case 3:
			// What another memory is named by.
			if (rnic()) {
				const std::uint32_t stags[] = {
					s_.aim.other_stag, s_.aim.ro_stag, s_.aim.wo_stag,
					s_.aim.rw_stag, s_.windows.invalid.stag};
				const std::uint64_t ats[] = {
					s_.aim.other_at, s_.aim.ro_at, s_.aim.wo_at,
					s_.aim.rw_at + s_.aim.rw_length - 1, s_.windows.whole.at};
				fresh = field.bytes == 8 ? ats[random.below(5)]
							 : stags[random.below(5)];
			}
			break;
		default:
			fresh = limits[random.below(std::size(limits))];
		}
		Bytes value;
		peer::put(value, fresh, static_cast<int>(field.bytes));
		std::copy(value.begin(), value.end(),
			  ulpdu.begin() + static_cast<std::ptrdiff_t>(field.at));
	}

	// The same access to other memory, which may not grant it: STag and TO fit each other.
	void redirect(Bytes &ulpdu, Random &random) const
	{
		const Window others[] = {
			{s_.aim.ro_stag, s_.aim.ro_at},
			{s_.aim.wo_stag, s_.aim.wo_at},
			{s_.aim.other_stag, s_.aim.other_at},
			{s_.aim.rw_stag, s_.aim.rw_at + s_.aim.rw_length - 700},
			{s_.aim.rw_stag, s_.aim.rw_at - 1},
			s_.windows.read_only,
			s_.windows.invalid,
			{s_.windows.whole.stag, s_.windows.whole.at + window_size - 100},
			{s_.windows.zero_based.stag, s_.windows.whole.at}};
		const bool with_windows = s_.windows.whole.stag;
		Window to = others[random.below(with_windows ? std::size(others) : 5)];
		const std::uint8_t opcode = ulpdu.size() > 1 ? ulpdu[1] & 0xf : 0xf;
		const std::size_t at = is_tagged(ulpdu)		      ? 2
				       : opcode == op_read_request   ? 34
				       : opcode == op_atomic_request ? 26
								     : ulpdu.size();
		Bytes value;

		if (at + 12 > ulpdu.size())
			return;
		// Or a few bytes past its end.
		if (random.one_in(3)) {
			const auto &all = model_->grants();
			const Grant &grant =
				all[random.below(static_cast<std::uint32_t>(all.size()))];
			const std::uint64_t size = at == 2	  ? ulpdu.size() - 14
						   : at == 34 ? get(ulpdu, 30, 4) : 8;
			to = {grant.stag, grant.at + grant.length - size + 1 + random.below(4)};
		}
		peer::put(value, to.stag, 4);
		peer::put(value, to.at, 8);
		std::copy(value.begin(), value.end(),
			  ulpdu.begin() + static_cast<std::ptrdiff_t>(at));
	}

	void change(Batch &batch, std::uint64_t seed)
	{
		Random random(seed ^ 0xa5a5);
		const auto size = static_cast<std::uint32_t>(batch.size());

		if (!size)
			return;
		const std::uint32_t at = random.below(size);
		Part &part = batch[at];

		part.changed = true;
		switch (random.below(16)) {
		case 9:
		case 10:
		case 11:
			if (rnic())
				redirect(part.bytes, random);
			break;
		case 0:
			damage(part.bytes, random);
			break;
		case 1:
			part.fault.crc_xor = 1u << random.below(32);
			part.codes = {{2, 0, 2}};
			break;
		case 2:
			part.fault.length = static_cast<std::uint16_t>(random.next());
			part.open = true;
			break;
		case 3:
			part.fault.pad = static_cast<std::uint8_t>(random.next());
			part.open = true;
			break;
		case 4:
			std::swap(part, batch[random.below(size)]);
			break;
		case 5:
			batch.insert(batch.begin() + random.below(size), Part(part));
			break;
		case 6:
			batch.erase(batch.begin() + at);
			break;
		case 7:
			batch.resize(at + 1);
			break;
		case 8:
			batch.insert(batch.begin() + at,
				     Part{.bytes = pattern(1 + random.below(64), 5),
					  .raw = true, .changed = true, .open = true});
			break;
		default:
			for (std::uint32_t n = 1 + random.below(2); n; n--)
				change_field(part.bytes, random);
		}
	}

	// The exchange ------------------------------------------------------------------

	// In pieces of any size.
	void send(const Bytes &bytes, Random &random)
	{
		const std::uint32_t most = random.one_in(3) ? 16 : random.one_in(2) ? 1460 : 20000;
		std::size_t at = 0;

		counts_.bytes += bytes.size();
		while (at < bytes.size()) {
			const std::size_t left = bytes.size() - at;
			// Of a long one, the end in small pieces.
			const std::size_t size = std::min<std::size_t>(
				left, 1 + random.below(left > 20 * most ? 20000 : most));
			const auto from = bytes.begin() + static_cast<std::ptrdiff_t>(at);

			s_.send(Bytes(from, from + static_cast<std::ptrdiff_t>(size)));
			at += size;
		}
	}

	// Sends a batch, and takes what follows; false: the stream has ended.
	bool play(const Batch &batch)
	{
		bool open = false, ends = false;
		std::vector<Code> codes;
		Bytes bytes;

		for (const Part &part : batch) {
			counts_.frames++;
			counts_.changed += part.changed;
			const auto fpdu = part.raw ? part.bytes
						   : s_.writer.fpdu(part.bytes, part.fault);
			bytes = join(std::move(bytes), fpdu);
			if (open || ends)
				continue;
			// A long ULPDU is an error of MPA, an empty one of DDP.
			open = part.open || part.bytes.size() > 60000;
			codes = part.codes;
			// Before the first FPDU a Responder sends nothing, so no Terminate
			// (RFC 5044 section 7.1.2).
			may_speak_ = may_speak_ || (!open && codes.empty());
			// Nor does one answer what is a Terminate itself, however bad.
			if (part.bytes.size() > 1 && (part.bytes[1] & 0xf) == op_terminate &&
			    part.codes.empty())
				may_speak_ = false;
			if (!open && codes.empty() && rnic()) {
				const Model::Outcome outcome = model_->take(part.bytes);
				open = outcome.unknown;
				codes = outcome.codes;
			} else if (!open && codes.empty()) {
				echoes_.push_back(part.bytes);
			}
			ends = !open && !codes.empty();
			if (options_.trace)
				trace(part, open, codes);
		}
		send(bytes, random_);
		if (open || ends) {
			counts_.open += open;
			counts_.required += ends;
			end(open, codes);
			return false;
		}
		while (rnic() ? model_->waits() : !echoes_.empty()) {
			if (!rnic()) {
				s_.take_echo(echoes_.front());
				echoes_.pop_front();
				continue;
			}
			model_->arrived(s_.next_ulpdu("an answer"));
		}
		return true;
	}

	static void trace(const Part &part, bool open, const std::vector<Code> &codes)
	{
		std::fprintf(stderr, "%s %s%s", part.changed ? "changed" : "good   ",
			     hex(part.bytes, 46).c_str(), open ? " open" : "");
		for (const Code &code : codes)
			std::fprintf(stderr, " %s", code.words().c_str());
		std::fprintf(stderr, "\n");
	}

	// What the segments before a known error have asked for may arrive, and may be cut short;
	// nothing else may.
	void last_answer(const Bytes &ulpdu)
	{
		if (rnic()) {
			model_->arrived(ulpdu);
			return;
		}
		if (echoes_.empty())
			throw Mismatch("an echo of nothing: " + hex(ulpdu));
		last_echo_ = join(last_echo_, ulpdu);
		if (last_echo_ != first(echoes_.front(), last_echo_.size()))
			throw Mismatch("another echo: " + hex(last_echo_));
		if (last_echo_.size() < echoes_.front().size())
			return;
		last_echo_.clear();
		echoes_.pop_front();
	}

	void end(bool open, const std::vector<Code> &codes)
	{
		std::optional<Terminate> cause;

		if (open && random_.one_in(8)) {
			s_.socket.reset();
			return;
		}
		s_.socket.fin();
		while (const auto ulpdu = s_.next_ulpdu_or_end(s_.soon())) {
			if (cause)
				throw Mismatch("after a Terminate: " + words(*ulpdu));
			if (rnic() && !is_tagged(*ulpdu) && is_terminate(*ulpdu))
				cause = Terminate::decode(*ulpdu);
			else if (!open)
				last_answer(*ulpdu);
		}
		if (open || !rnic())
			return;
		if (!cause && may_speak_)
			throw Mismatch("no Terminate before the end, but one is required");
		if (cause && std::find(codes.begin(), codes.end(), cause->code) == codes.end())
			throw Mismatch("another cause: " + cause->words() + ", required " +
				       codes.front().words());
	}

	const Options &options_;
	const programs::Name &name_;
	Random random_;
	Counts &counts_;
	Tally tally_;
	Session s_;
	std::unique_ptr<Model> model_;
	std::deque<Bytes> echoes_;
	// The pieces of the first of them that have arrived after an error.
	Bytes last_echo_;
	// The other side has received an FPDU.
	bool may_speak_ = false;
};

// All streams ---------------------------------------------------------------------------

std::string ask(const Options &options)
{
	return Commands(options.env, "check").line(Clock::now() + options.env.patience);
}

// Whether it is as it must be.
bool run(const Options &options, const programs::Name &name, Counts &counts)
{
	counts.streams++;
	try {
		Stream(options, name, counts).run();
	} catch (const std::exception &error) {
		std::cout << "stream " << programs::to_string(name) << ": " << error.what()
			  << std::endl;
		return false;
	}
	return true;
}

bool well(const Options &options, bool at_end)
{
	const Time until = Clock::now() + options.env.patience;
	std::string answer;

	do {
		answer = ask(options);
		if (!answer.starts_with("ok "))
			break;
		if (!at_end || answer == "ok 0 open")
			return true;
		::usleep(50000);
	} while (Clock::now() < until);
	std::cout << "the target: " << (answer.empty() ? "no answer" : answer) << std::endl;
	return false;
}

programs::Name next_name(Random &random, const std::vector<programs::Name> &kept)
{
	const std::uint64_t seed = random.next() >> 24;
	programs::Name name{seed};

	if (!kept.empty() && !random.one_in(3)) {
		const auto size = static_cast<std::uint32_t>(kept.size());
		name = kept[size - 1 - (random.one_in(2) ? random.below(size)
							 : random.below(1 + size / 8))];
		if (name.size() > 8)
			name = {seed};
	}
	// Good streams, too.
	for (std::uint32_t n = random.below(4); n; n--)
		name.push_back(random.next() >> 24);
	return name;
}

// When to give up.
constexpr std::chrono::minutes patience{5};

int search(const Options &options)
{
	const auto began = Clock::now();
	auto shown = began;
	Random random(options.seed);
	std::vector<programs::Name> kept;
	Counts counts;
	Reached reached;
	std::uint64_t bad = 0;

	std::cout << "seed " << options.seed << (reached ? "" : ", no coverage") << std::endl;
	const auto show = [&] {
		const std::chrono::duration<double> took = Clock::now() - began;

		std::cout << counts.streams << " streams, " << counts.frames << " frames, "
			  << counts.changed << " changed, " << counts.bytes << " bytes, "
			  << counts.required << " ended by a known error, " << counts.open
			  << " by another, " << bad << " wrong, " << reached.total()
			  << " blocks, " << kept.size() << " kept, "
			  << static_cast<int>(took.count()) << " s" << std::endl;
	};
	// A slow machine makes few streams in that time. There is one whose end is known, at least.
	const auto over = [&] {
		const auto took = Clock::now() - began;

		return took >= options.seconds && (counts.required || took >= patience);
	};
	while (bad < 5 && counts.streams < options.count && !over()) {
		const auto name = next_name(random, kept);

		if (!options.log.empty())
			std::ofstream(options.log) << programs::to_string(name) << '\n';
		bad += !run(options, name, counts);
		if (counts.streams % 64 == 0)
			bad += !well(options, false);
		if (reached.fresh())
			kept.push_back(name);
		if (Clock::now() - shown > std::chrono::seconds(20)) {
			shown = Clock::now();
			show();
		}
	}
	bad += !well(options, true);
	show();
	if (!options.reached.empty())
		reached.write(options.reached);
	return bad ? 1 : 0;
}

[[noreturn]] void usage()
{
	std::cerr << "usage: random-peer --target ADDR:PORT --control ADDR:PORT [--kind rnic|socket] "
		     "[--seconds N]\n\t[--count N] [--seed N] [--log FILE] [--reached FILE] "
		     "[--name NAME [--trace]]\n";
	std::exit(2);
}

Options parse(const std::vector<std::string> &words)
{
	Options options;

	for (std::size_t n = 0; n < words.size(); n++) {
		const auto value = [&]() -> const std::string & {
			return ++n < words.size() ? words[n] : (usage(), words[0]);
		};
		const auto &word = words[n];

		if (word == "--target")
			options.env.target = Address::parse(value());
		else if (word == "--control")
			options.env.control = Address::parse(value());
		else if (word == "--kind")
			options.env.kind = value() == "socket" ? Kind::socket : Kind::rnic;
		else if (word == "--seconds")
			options.seconds = std::chrono::seconds(std::stoul(value()));
		else if (word == "--seed")
			options.seed = std::stoull(value());
		else if (word == "--count")
			options.count = std::stoull(value());
		else if (word == "--log")
			options.log = value();
		else if (word == "--reached")
			options.reached = value();
		else if (word == "--trace")
			options.trace = true;
		else if (word == "--name")
			options.name = programs::from_string(value()).value_or(programs::Name{});
		else
			usage();
	}
	if (!options.env.target.port() || !options.env.control.port())
		usage();
	return options;
}

} // namespace

int main(int argc, char **argv)
{
	try {
		const Options options = parse({argv + 1, argv + argc});
		Counts counts;

		if (options.name.empty())
			return search(options);
		return run(options, options.name, counts) && well(options, true) ? 0 : 1;
	} catch (const std::exception &error) {
		std::cerr << "random-peer: " << error.what() << '\n';
		return 2;
	}
}
