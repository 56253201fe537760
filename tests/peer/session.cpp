// SPDX-License-Identifier: GPL-2.0-only
#include "session.hpp"

#include <algorithm>
#include <thread>

namespace peer {

namespace {

// Of the bytes that good_exchange() writes.
constexpr std::uint32_t good_seed = 4711;

} // namespace

Aim Aim::decode(const Bytes &data)
{
	if (data.size() < bytes || first(data, 4) != text("AIM1"))
		throw Mismatch("private data that names no target: " + hex(data));
	std::size_t at = 4;
	const auto number = [&](int bytes) {
		const auto value = get(data, at, bytes);
		at += bytes;
		return value;
	};
	const auto word = [&] { return static_cast<std::uint32_t>(number(4)); };
	Aim aim;

	aim.rw_stag = word();
	aim.rw_at = number(8);
	aim.rw_length = word();
	aim.ro_stag = word();
	aim.ro_at = number(8);
	aim.wo_stag = word();
	aim.wo_at = number(8);
	aim.other_stag = word();
	aim.other_at = number(8);
	aim.small_length = word();
	aim.receive_size = word();
	aim.receives = word();
	return aim;
}

Windows Windows::decode(const Bytes &message)
{
	Windows all;
	std::size_t at = 4;

	if (message.size() != 52 || first(message, 4) != text("WIN1"))
		throw Mismatch("a message that names no windows: " + hex(message));
	for (Window *one : {&all.whole, &all.read_only, &all.zero_based, &all.invalid}) {
		one->stag = static_cast<std::uint32_t>(get(message, at, 4));
		one->at = get(message, at + 4, 8);
		at += 12;
	}
	return all;
}

void Tally::add(const std::string &counter, int by)
{
	std::lock_guard guard(lock_);

	counts_[counter] += by;
}

std::map<std::string, int> Tally::take() const
{
	std::lock_guard guard(lock_);

	return counts_;
}

// Commands ----------------------------------------------------------------------

Commands::Commands(const Environment &env, const std::string &command)
	: socket_(Socket::connect(env.control, Clock::now() + env.patience))
{
	socket_.send(text(command + "\n"), Clock::now() + env.patience);
}

std::string Commands::line(Time until)
{
	for (;;) {
		const auto end = std::find(received_.begin(), received_.end(),
					   '\n');
		if (end != received_.end()) {
			const std::string line(received_.begin(), end);
			received_.erase(received_.begin(), end + 1);
			return line;
		}
		const auto before = received_.size();
		if (socket_.receive(received_, until) != End::none ||
		    received_.size() == before)
			return {};
	}
}

// Startup of a connection -------------------------------------------------------

void Session::listen()
{
	listener = Socket::listen(env.here.with_port(0));
}

void Session::command(std::uint16_t port)
{
	if (!port)
		port = listener.local().port();
	commands = Commands(env, "connect " + env.here.host() + " " +
				     std::to_string(port) + " " +
				     static_cast<char>(mode));
}

Socket Session::accept()
{
	return listener.accept(soon());
}

void Session::open(Mode wanted)
{
	mode = wanted;
	opened = Clock::now();
	if (env.role == Role::initiator) {
		socket = Socket::connect(env.target, soon());
		return;
	}
	listen();
	command();
	socket = accept();
	source = socket.remote().port();
	theirs = next_frame();
}

void Session::accept_again()
{
	const auto data = theirs.consumer_data();

	opened = Clock::now();
	socket = accept();
	received.clear();
	end = End::none;
	theirs = next_frame();
	if (socket.remote().port() != source)
		throw Mismatch("a connection from another port");
	if (theirs.consumer_data() != data)
		throw Mismatch("other private data: " + theirs.words());
}

void Session::aim_from(const Frame &frame)
{
	if (env.kind == Kind::rnic && frame.consumer_data().size())
		aim = Aim::decode(frame.consumer_data());
}

void Session::start(Mode wanted)
{
	start(Frame{.data = {static_cast<std::uint8_t>(wanted)}, .length = {}});
}

void Session::start(const Frame &request)
{
	if (!socket.open())
		open(env.role == Role::responder && !request.data.empty()
			     ? static_cast<Mode>(request.consumer_data().back())
			     : Mode::echo);
	if (env.role == Role::initiator) {
		send(request.encode());
		operate(request, next_frame());
		return;
	}
	const auto reply = good_reply(request.has(flag_markers));
	send(reply.encode());
	operate(reply, theirs);
	read_rtr();
}

Frame Session::good_reply(bool markers) const
{
	Frame reply{.key = text(reply_key),
		    .flags = static_cast<std::uint8_t>(
			    flag_crc | (markers ? flag_markers : 0) |
			    (theirs.flags & flag_enhanced)),
		    .rev = theirs.rev,
		    .data = {},
		    .length = {}};

	if (theirs.has(flag_enhanced)) {
		const auto asked = Enhanced::decode(theirs.data);
		reply.data = Enhanced{.a = asked.a,
				      .b = asked.b,
				      .c = asked.c,
				      .d = asked.d,
				      .ird = 8,
				      .ord = 4}
				     .encode();
	}
	return reply;
}

// The reserved bits of a Reply: only the RNIC knows the extensions of RFC 7306.
std::uint8_t Session::expected_extensions(const Frame &request) const
{
	return env.kind == Kind::rnic && request.enhanced() &&
			       request.has(flag_ext_asked)
		       ? flag_ext_granted : 0;
}

void Session::operate(const Frame &ours, const Frame &reply)
{
	theirs = reply;
	if (env.role == Role::initiator &&
	    (reply.key != text(reply_key) || reply.has(flag_reject) ||
	     reply.rev != ours.rev ||
	     (reply.flags & flag_reserved) != expected_extensions(ours) ||
	     reply.has(flag_enhanced) != ours.enhanced()))
		throw Mismatch("a Reply that accepts nothing: " + reply.words());
	if (!ours.has(flag_crc) && !reply.has(flag_crc))
		throw Mismatch("CRCs given up: " + reply.words());
	if (env.role == Role::initiator && reply.has(flag_markers) != env.markers)
		throw Mismatch("Markers that the target must or may not ask for: " +
			       reply.words());
	aim_from(reply);
	writer = Writer(Framing{.markers = reply.has(flag_markers)});
	reader = Reader(Framing{.markers = ours.has(flag_markers)});
	operational = true;
}

// RFC 6581 section 9.2: with A the Initiator begins with an RTR of its choice.
void Session::read_rtr()
{
	if (!theirs.has(flag_enhanced) || !Enhanced::decode(theirs.data).a)
		return;
	const auto ulpdu = next_ulpdu("a ready-to-receive");
	const auto control = Control::decode(ulpdu);

	if (control.opcode == op_write && ulpdu.size() == 14)
		return;
	if (control.opcode == op_read_request && ulpdu.size() == 46 &&
	    !ReadRequest::decode(rest(ulpdu, 18)).size) {
		const auto rd = ReadRequest::decode(rest(ulpdu, 18));
		send_ulpdu(Tagged{.control = {.tagged = true,
					      .opcode = op_read_response},
				  .stag = rd.sink_stag,
				  .to = rd.sink_to,
				  .payload = {}}
				   .encode());
		their_read_msn++;
		return;
	}
	throw Mismatch("no ready-to-receive: " + words(ulpdu));
}

// Bytes ---------------------------------------------------------------------------

void Session::send(const Bytes &bytes)
{
	socket.send(bytes, soon());
}

void Session::drip(const Bytes &bytes, milliseconds pause, std::size_t piece)
{
	for (std::size_t at = 0; at < bytes.size(); at += piece) {
		const auto end = std::min(at + piece, bytes.size());

		send(Bytes(bytes.begin() + static_cast<std::ptrdiff_t>(at),
			   bytes.begin() + static_cast<std::ptrdiff_t>(end)));
		std::this_thread::sleep_for(pause);
	}
}

void Session::send_ulpdu(const Bytes &ulpdu, const Fault &fault)
{
	suspect = ulpdu;
	send(writer.fpdu(ulpdu, fault));
}

bool Session::receive_some(Time until)
{
	const auto before = received.size();

	if (end == End::none && socket.open())
		end = socket.receive(received, until);
	return received.size() != before;
}

std::optional<Bytes> Session::next_ulpdu_or_end(Time until)
{
	for (;;) {
		if (auto ulpdu = reader.next(received))
			return ulpdu;
		if (!receive_some(until))
			break;
	}
	if (end == End::none)
		throw Mismatch("nothing in time; " + seen());
	// A RST may cut an FPDU short, a FIN may not.
	if (end == End::fin && !received.empty())
		throw Mismatch("a FIN within an FPDU; " + seen());
	return std::nullopt;
}

Bytes Session::next_ulpdu(const char *wanted)
{
	auto ulpdu = next_ulpdu_or_end(soon());

	if (!ulpdu)
		throw Mismatch(std::string("the end instead of ") + wanted +
			       "; " + seen());
	return *ulpdu;
}

Frame Session::next_frame()
{
	const auto until = soon();

	for (;;) {
		const auto length = Frame::length_of(received);
		if (length && received.size() >= *length) {
			const auto frame = Frame::decode(first(received, *length));
			received = rest(received, *length);
			return frame;
		}
		if (!receive_some(until))
			throw Mismatch("no startup frame; " + seen());
	}
}

void Session::must_end(Time until)
{
	while (received.empty() && receive_some(until))
		;
	if (!received.empty())
		throw Mismatch("bytes; " + seen());
	if (end == End::none && socket.open())
		throw Mismatch("no end in time");
}

void Session::must_be_quiet(milliseconds how_long)
{
	if (received.empty())
		receive_some(Clock::now() + how_long);
	if (!received.empty() || end != End::none)
		throw Mismatch("no silence; " + seen());
}

void Session::receive_all()
{
	while (receive_some(soon()))
		;
}

void Session::drain(milliseconds how_long)
{
	const auto until = Clock::now() + how_long;

	while (receive_some(until))
		received.clear();
}

std::string Session::seen() const
{
	static const std::map<End, std::string> ends{
		{End::none, "connection open"},
		{End::fin, "FIN"},
		{End::reset, "RST"}};

	return (received.empty() ? "no more bytes" : "bytes " + hex(received)) +
	       ", " + ends.at(end);
}

// Messages -----------------------------------------------------------------------

Bytes Session::send_message(const Bytes &payload, std::uint8_t opcode)
{
	const auto ulpdu = Untagged{.control = {.opcode = opcode},
				    .msn = send_msn++,
				    .payload = payload}
				   .encode();

	send_ulpdu(ulpdu);
	return ulpdu;
}

Bytes Session::receive_message()
{
	Bytes message;

	for (;;) {
		const auto ulpdu = next_ulpdu("a Send");
		if (is_tagged(ulpdu) || is_terminate(ulpdu))
			throw Mismatch("no Send but " + words(ulpdu));
		const auto segment = Untagged::decode(ulpdu);
		if (segment.control.opcode != op_send || segment.qn ||
		    segment.msn != their_msn || segment.mo != message.size())
			throw Mismatch("a Send out of order: " + words(ulpdu));
		message = join(message, segment.payload);
		if (segment.control.last)
			break;
	}
	their_msn++;
	return message;
}

void Session::echo(std::size_t size)
{
	const auto payload = pattern(size, send_msn + 77);

	if (env.kind == Kind::socket) {
		send_ulpdu(payload);
		take_echo(payload);
		return;
	}
	send_message(payload);
	const auto back = receive_message();
	if (back != payload)
		throw Mismatch("another echo: " + hex(back));
}

void Session::take_echo(const Bytes &ulpdu)
{
	auto back = next_ulpdu("an echo");

	while (!back.empty() && back.size() < ulpdu.size()) {
		const auto piece = next_ulpdu("the rest of an echo");
		if (piece.empty())
			break;
		back = join(back, piece);
	}
	if (back != ulpdu)
		throw Mismatch("another echo: " + hex(back));
}

Bytes Session::write(std::uint64_t offset, const Bytes &payload)
{
	return Tagged{.stag = aim.rw_stag,
		      .to = aim.rw_at + offset,
		      .payload = payload}
		.encode();
}

Bytes Session::read_request(std::uint32_t size, std::uint32_t stag,
			    std::uint64_t at)
{
	return Untagged{.control = {.opcode = op_read_request},
			.qn = 1,
			.msn = read_msn++,
			.payload = ReadRequest{.sink_stag = 0x51515151,
					       .sink_to = 0x1000,
					       .size = size,
					       .src_stag = stag,
					       .src_to = at}
					   .encode()}
		.encode();
}

void Session::receive_response(const Bytes &wanted)
{
	std::size_t at = 0;

	for (bool last = false; !last;) {
		const auto ulpdu = next_ulpdu("a Read Response");
		if (!is_tagged(ulpdu))
			throw Mismatch("no Read Response but " + words(ulpdu));
		const auto segment = Tagged::decode(ulpdu);
		if (segment.control.opcode != op_read_response ||
		    segment.stag != 0x51515151 || segment.to != 0x1000 + at)
			throw Mismatch("a Read Response out of order: " +
				       words(ulpdu));
		if (segment.payload != first(rest(wanted, at), segment.payload.size()))
			throw Mismatch("other bytes in a Read Response from byte " +
				       std::to_string(at) + " on");
		at += segment.payload.size();
		last = segment.control.last;
		if (last != (at == wanted.size()))
			throw Mismatch("L too early or too late: " +
				       words(ulpdu));
	}
}

void Session::must_hold(std::uint32_t stag, std::uint64_t at, const Bytes &wanted)
{
	send_ulpdu(read_request(static_cast<std::uint32_t>(wanted.size()), stag, at));
	receive_response(wanted);
}

void Session::must_be_placed(const Bytes &write)
{
	// Its header may have reserved bits.
	must_hold(static_cast<std::uint32_t>(get(write, 2, 4)), get(write, 6, 8),
		  rest(write, 14));
}

void Session::write_and_read_back(std::size_t size)
{
	const auto ulpdu = write(0, pattern(size, good_seed));

	send_ulpdu(ulpdu);
	must_be_placed(ulpdu);
}

void Session::good_exchange()
{
	echo();
	if (env.kind != Kind::rnic)
		return;
	if (!aim.rw_stag)
		throw Mismatch("a target that has named no memory");
	write_and_read_back(good_write);
}

Bytes Session::good_memory(std::size_t size)
{
	auto memory = join(pattern(good_write, good_seed), zeros(size));

	memory.resize(size);
	return memory;
}

void Session::must_report(const std::string &word, milliseconds within)
{
	const auto until = Clock::now() + within;
	std::string all;

	for (;;) {
		const auto line = commands.line(until);
		if (line.starts_with(word))
			return;
		if (line.empty())
			break;
		all += "\"" + line + "\" ";
	}
	throw Mismatch("the target reported " + (all.empty() ? "nothing" : all));
}

} // namespace peer
