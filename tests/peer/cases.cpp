// SPDX-License-Identifier: GPL-2.0-only
#include "cases.hpp"

#include <thread>

namespace peer {

bool Case::fits(const Environment &env) const
{
	return (!role || *role == env.role) && (!kind || *kind == env.kind) &&
	       markers == env.markers;
}

const Outcome &Case::required(Kind of) const
{
	return of == Kind::socket && socket_outcome ? *socket_outcome : outcome;
}

Case &Table::add(std::string name, std::string what, Setup setup,
		 std::vector<Step> steps, Outcome outcome)
{
	return rows_.emplace_back(std::move(name), std::move(what), setup,
				  std::move(steps), std::move(outcome));
}

const Table &all_cases()
{
	static const Table table = [] {
		Table t;
		add_requests(t);
		add_replies(t);
		add_framing(t);
		add_markers(t);
		add_untagged(t);
		add_tagged(t);
		add_reads(t);
		add_terminates(t);
		add_extensions(t);
		add_windows(t);
		add_early(t);
		add_start_keys(t);
		return t;
	}();

	return table;
}

// Steps --------------------------------------------------------------------------

Step send(Bytes bytes)
{
	return [bytes](Session &s) { s.send(bytes); };
}

Step drip(Bytes bytes, milliseconds pause, std::size_t piece)
{
	return [bytes, pause, piece](Session &s) { s.drip(bytes, pause, piece); };
}

Step wait(milliseconds how_long)
{
	return [how_long](Session &) { std::this_thread::sleep_for(how_long); };
}

Step fin()
{
	return [](Session &s) { s.socket.fin(); };
}

Step reset()
{
	return [](Session &s) { s.socket.reset(); };
}

Step flood(Bytes what, std::size_t times)
{
	return [what, times](Session &s) {
		const auto until = s.soon();

		for (std::size_t i = 0; i < times; i++)
			if (s.socket.send(what, until) < what.size())
				break;
	};
}

Step ulpdu(Aimed make, Fault fault)
{
	return [make, fault](Session &s) { s.send_ulpdu(make(s), fault); };
}

Step ulpdu(Bytes bytes, Fault fault)
{
	return [bytes, fault](Session &s) { s.send_ulpdu(bytes, fault); };
}

Step in_one_go(std::vector<Aimed> segments, std::size_t at_fault)
{
	return [segments, at_fault](Session &s) {
		Bytes all;
		for (std::size_t i = 0; i < segments.size(); i++) {
			const auto ulpdu = segments[i](s);
			if (i == at_fault)
				s.suspect = ulpdu;
			all = join(all, s.writer.fpdu(ulpdu));
		}
		s.send(all);
	};
}

Step good()
{
	return [](Session &s) { s.good_exchange(); };
}

// Outcomes -------------------------------------------------------------------------

namespace {

std::string list(const std::vector<Code> &codes)
{
	std::string all;

	for (const auto &code : codes)
		all += (all.empty() ? "" : " or ") + code.words();
	return all;
}

std::string ms(milliseconds time)
{
	return std::to_string(time.count()) + " ms";
}

void tally_terminate(Session &s, const Code &code)
{
	s.tally.add("tx_terminate");
	if (code == Code{2, 0, 2})
		s.tally.add("rx_crc_error");
	else if (code == Code{2, 0, 3})
		s.tally.add(s.too_short ? "rx_ddp_error" :
			    s.too_long	? "rx_length_error" :
					  "rx_marker_error");
	else if (code.layer == 0 && code.etype)
		s.tally.add("rx_rdmap_error");
	else if (code.layer == 1)
		s.tally.add("rx_ddp_error");
}

// RFC 5040 figure 10: which headers an error is reported with.
void check_headers(const Session &s, const Terminate &t)
{
	const auto &bad = s.suspect;
	const bool read = bad.size() >= 46 &&
			  (bad[1] & 0xf) == op_read_request && !is_tagged(bad);
	const bool header = t.code.layer == 1 ||
			    (t.code.layer == 0 && t.code.etype != 0);
	const bool request = read && t.code.layer == 0 && t.code.etype == 1;
	const std::size_t length = is_tagged(bad) ? 14 : request ? 46 : 18;

	if (t.m != header || t.d != header || t.r != request)
		throw Mismatch("M, D, R not as in figure 10: " + t.words());
	if (!header || s.any_suspect)
		return;
	if (t.segment_length != bad.size() || t.headers != first(bad, length))
		throw Mismatch("the headers of another segment than " +
			       hex(bad, 46) + ": " + t.words());
}

// Messages that the case allows may come first, and may be cut short.
std::optional<Terminate> find_terminate(Session &s)
{
	const auto until = s.soon();
	const auto &allowed = s.before_terminate;

	while (auto ulpdu = s.next_ulpdu_or_end(until)) {
		if (is_terminate(*ulpdu))
			return Terminate::decode(*ulpdu);
		if (std::find(allowed.begin(), allowed.end(),
			      Control::decode(*ulpdu).opcode) == allowed.end())
			throw Mismatch("before a Terminate: " + words(*ulpdu));
	}
	return std::nullopt;
}

void check_terminate(Session &s, const std::vector<Code> &allowed)
{
	const auto t = find_terminate(s);

	if (!t)
		throw Mismatch("no Terminate; " + s.seen());
	if (std::find(allowed.begin(), allowed.end(), t->code) == allowed.end())
		throw Mismatch(t->words());
	tally_terminate(s, t->code);
	check_headers(s, *t);
	s.must_end(s.soon());
}

} // namespace

Outcome closes(milliseconds within)
{
	return {"closes TCP within " + ms(within) + ", without another byte",
		[within](Session &s) { s.must_end(Clock::now() + within); }};
}

Outcome closes_late(milliseconds from, milliseconds to)
{
	return {"closes TCP after " + ms(from) + " to " + ms(to) +
			", without another byte",
		[from, to](Session &s) {
			// The target may have begun to wait when the connection
			// was opened, some time before what has been sent.
			s.must_end(Clock::now() + to);
			if (Clock::now() - s.opened < from)
				throw Mismatch("the end too early; " + s.seen());
		}};
}

Outcome terminates(std::vector<Code> allowed)
{
	return {"sends Terminate " + list(allowed) +
			" with the headers of figure 10, and closes",
		[allowed](Session &s) { check_terminate(s, allowed); }};
}

Outcome breaks(std::vector<Code> allowed)
{
	return {"RNIC: sends Terminate " + list(allowed) +
			" and closes; socket: closes",
		[allowed](Session &s) {
			if (s.env.kind == Kind::rnic)
				check_terminate(s, allowed);
			else
				s.must_end(s.soon());
		}};
}

Outcome works()
{
	return {"continues: a good exchange succeeds on this connection",
		[](Session &s) { s.good_exchange(); }};
}

Outcome replies(const std::string &like,
		std::function<bool(const Frame &)> matches, Outcome then)
{
	return {"sends a Reply with " + like + "; then " + then.text,
		[matches, then](Session &s) {
			if (!s.operational)
				s.theirs = s.next_frame();
			if (s.theirs.key != text(reply_key) ||
			    !matches(s.theirs))
				throw Mismatch(s.theirs.words());
			then.check(s);
		}};
}

Outcome quiet(milliseconds how_long, Outcome then)
{
	return {"sends nothing for " + ms(how_long) + "; then " + then.text,
		[how_long, then](Session &s) {
			s.must_be_quiet(how_long);
			then.check(s);
		}};
}

Outcome reports(const std::string &word, Outcome then, milliseconds within)
{
	return {then.text + "; its application reports: " + word,
		[word, within, then](Session &s) {
			then.check(s);
			s.must_report(word, within);
		}};
}

Outcome survives()
{
	return {"still serves others", [](Session &) {}};
}

Outcome custom(std::string text, std::function<void(Session &)> check)
{
	return {std::move(text), std::move(check)};
}

} // namespace peer
