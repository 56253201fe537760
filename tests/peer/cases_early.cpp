// SPDX-License-Identifier: GPL-2.0-only
//
// FPDUs that arrive behind a gap, at a target with the setting early-placement: what
// is placed before its turn, and that memory, messages and errors are those of an
// in-order receiver all the same. For RNICs that ask for Markers.
#include "cases.hpp"

#include <thread>

namespace peer {

namespace {

// A Marker is in each, and each fits a segment.
constexpr std::size_t size = 1000;
constexpr std::uint64_t first_at = 0, second_at = 8192;

// TCP has passed on what was sent. It is not acknowledged where the target waits for what
// is before it, so there is nothing to wait for; if it comes later, the cases fail.
void settle()
{
	std::this_thread::sleep_for(milliseconds(50));
}

Bytes made(int seed, std::size_t length = size)
{
	return pattern(length, static_cast<std::uint8_t>(seed));
}

void must_hold(Session &s, std::uint64_t at, const Bytes &wanted)
{
	s.must_hold(s.aim.rw_stag, s.aim.rw_at + at, wanted);
}

// What the memory must have afterwards.
Outcome holds(const Bytes &first, const Bytes &second, std::uint64_t second_at = second_at)
{
	return {"both are in memory; then a good exchange succeeds",
		[=](Session &s) {
			if (second_at != first_at)
				must_hold(s, first_at, first);
			must_hold(s, second_at, second);
			s.good_exchange();
		}};
}

// The FPDUs of a case, and the writer of the second one.
struct Parts {
	Bytes first, second;
	Writer writer;
};

// Two FPDUs: the second one is sent first.
class Swapped {
public:
	Swapped(Session &s, const Parts &parts)
		: s_(s), first_(parts.first), second_(parts.second)
	{
		settle();
		s_.socket.shift(static_cast<std::int32_t>(first_.size()));
		s_.send(second_);
		settle();
	}

	// The gap, without the second one.
	void close_gap()
	{
		back();
		s_.send(first_);
		settle();
		s_.socket.shift(static_cast<std::int32_t>(second_.size()));
	}

	// Both once more.
	void send_again()
	{
		back();
		s_.send(join(first_, second_));
	}

	// In the place of the second one, while the gap is still there: a segment that
	// begins before and ends after what has arrived.
	void replace(const Bytes &second, const Bytes &more)
	{
		constexpr std::int32_t before = 4;
		const Bytes tail(first_.end() - before, first_.end());

		s_.socket.shift(-static_cast<std::int32_t>(second_.size()) - before);
		s_.send(join(join(tail, second), more));
		settle();
		s_.socket.shift(-static_cast<std::int32_t>(first_.size() + second.size() +
							   more.size()));
		s_.send(first_);
		settle();
		s_.socket.shift(static_cast<std::int32_t>(second.size() + more.size()));
	}

private:
	void back()
	{
		s_.socket.shift(-static_cast<std::int32_t>(first_.size() + second_.size()));
	}

	Session &s_;
	const Bytes &first_, &second_;
};

using Play = std::function<void(Session &, const Parts &)>;

Case &row(Table &t, const std::string &name, const std::string &what, Aimed first,
	  Aimed second, const Fault &fault, const Play &play, Outcome outcome)
{
	return t.add("early/" + name, what, exchanged,
		     {[=](Session &s) {
			     Parts parts{.first = s.writer.fpdu(first(s)),
					 .second = {},
					 .writer = s.writer};
			     s.suspect = second(s);
			     parts.second = s.writer.fpdu(s.suspect, fault);
			     play(s, parts);
		     }},
		     std::move(outcome))
		.with_markers()
		.only(Kind::rnic)
		.only(Role::initiator);
}

Aimed writes(std::uint64_t at, const Bytes &payload)
{
	return [=](Session &s) { return s.write(at, payload); };
}

void close_gap(Session &s, const Parts &parts)
{
	Swapped(s, parts).close_gap();
}

void send_again(Session &s, const Parts &parts)
{
	Swapped(s, parts).send_again();
}

// One of the same length, at the same place in the stream.
Play replace_by(const Aimed &other, const Aimed &more)
{
	return [=](Session &s, const Parts &parts) {
		s.writer = parts.writer;
		const auto instead = s.writer.fpdu(other(s));
		const auto rest = s.writer.fpdu(more(s));

		Swapped(s, parts).replace(instead, rest);
	};
}

void add_placed(Table &t)
{
	const auto first = writes(first_at, made(1)), second = writes(second_at, made(2));

	row(t, "gap-closed", "a Write behind a gap, then what was missing", first, second, {},
	    close_gap, holds(made(1), made(2)))
		.counts("rx_early")
		.counts("rx_early_used");
	row(t, "sent-again", "a Write behind a gap, then all of it once more", first, second,
	    {}, send_again, holds(made(1), made(2)))
		.counts("rx_early")
		.counts("rx_early_used");
	row(t, "overlap", "a Write behind a gap; what was missing is a Write to the same place",
	    writes(second_at, made(1)), second, {}, close_gap,
	    holds({}, made(2), second_at))
		.counts("rx_early")
		.counts("rx_early_redone");
	row(t, "replaced", "as TCP keeps other bytes for a Write that was placed: the first "
			   "ones stay",
	    first, second, {}, replace_by(writes(second_at, made(3)), writes(4096, made(4))),
	    holds(made(1), made(2)))
		.counts("rx_early", 2)
		.counts("rx_early_used", 2);
	row(t, "replaced-elsewhere", "the same, but the new Write is for another place",
	    first, second, {},
	    replace_by(writes(second_at + 2048, made(3)), writes(4096, made(4))),
	    {"the new one is in memory; then a good exchange succeeds",
	     [](Session &s) {
		     must_hold(s, first_at, made(1));
		     must_hold(s, second_at + 2048, made(3));
		     s.good_exchange();
	     }})
		.counts("rx_early", 2)
		.counts("rx_early_used")
		.counts("rx_early_redone");
}

void add_left(Table &t)
{
	const auto first = writes(first_at, made(1)), second = writes(second_at, made(2));

	row(t, "bad-crc", "a Write with a wrong CRC behind a gap, then a right one", first,
	    second, {.crc_xor = 1}, replace_by(second, writes(4096, made(4))),
	    holds(made(1), made(2)))
		.counts("rx_early")
		.counts("rx_early_used");
	row(t, "bad-crc-stays", "a Write with a wrong CRC behind a gap", first, second,
	    {.crc_xor = 1}, close_gap, terminates({{2, 0, 2}}));
	row(t, "bad-pointer", "a Write with a wrong FPDUPTR behind a gap", first, second,
	    {.marker = 0, .fpduptr_xor = 0x40}, close_gap, terminates({{2, 0, 3}}));
	row(t, "send", "a Send behind a gap", first,
	    [](Session &s) {
		    return Untagged{.msn = s.send_msn++, .payload = made(5)}.encode();
	    },
	    {}, close_gap,
	    {"is received; then a good exchange succeeds",
	     [](Session &s) {
		     if (s.receive_message() != made(5))
			     throw Mismatch("another message comes back");
		     must_hold(s, first_at, made(1));
		     s.good_exchange();
	     }})
		.counts("rx_early_left");
	row(t, "read-only", "a Write without the right, behind a gap", first,
	    [](Session &s) {
		    return Tagged{.stag = s.aim.ro_stag, .to = s.aim.ro_at,
				  .payload = made(2)}
			    .encode();
	    },
	    {}, close_gap, terminates({{1, 1, 0}}))
		.counts("rx_early_left");
	row(t, "beyond", "a Write out of bounds, behind a gap", first,
	    [](Session &s) { return s.write(s.aim.rw_length - size + 1, made(2)); }, {},
	    close_gap, terminates({{1, 1, 1}}))
		.counts("rx_early_left");
	row(t, "response", "a Read Response that nobody has asked for, behind a gap", first,
	    [](Session &s) {
		    Tagged r{.stag = s.aim.rw_stag, .to = s.aim.rw_at, .payload = made(2)};
		    r.control.opcode = op_read_response;
		    return r.encode();
	    },
	    {}, close_gap, terminates({{0, 2, 6}, {1, 0, 0}}))
		.counts("rx_early_left");
}

// What comes before it decides.
void add_without_effect(Table &t)
{
	t.add("early/behind-an-error", "a Write behind a gap; what was missing has a wrong CRC",
	      exchanged,
	      {[](Session &s) {
		      const auto one = s.writer.fpdu(s.write(first_at, made(1)), {.crc_xor = 1});

		      s.suspect = s.write(first_at, made(1));
		      close_gap(s, {.first = one,
				    .second = s.writer.fpdu(s.write(second_at, made(2))),
				    .writer = s.writer});
	      }},
	      terminates({{2, 0, 2}}))
		.with_markers()
		.only(Kind::rnic)
		.only(Role::initiator)
		.counts("rx_early");
}

} // namespace

void add_early(Table &t)
{
	add_placed(t);
	add_left(t);
	add_without_effect(t);
}

} // namespace peer
