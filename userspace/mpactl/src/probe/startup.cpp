/* SPDX-License-Identifier: GPL-2.0-only */
// The only file that includes a kernel header, because the short type names of the
// kernel must not be visible elsewhere.
#include "probe/startup.hpp"

#include <cerrno>
#include <stdexcept>

extern "C" {
#include "../../../../kernel/framing/startup.h"
}

namespace mpactl::startup {

static_assert(int{rtr_send} == int{MPA_RTR_SEND} &&
	      int{rtr_write} == int{MPA_RTR_WRITE} &&
	      int{rtr_read} == int{MPA_RTR_READ});
static_assert(room_for_data(2) == MPA_PRIVATE_DATA_MAX - MPA_ENHANCED_LEN &&
	      room_for_data(1) == MPA_PRIVATE_DATA_MAX);
static_assert(depth_none == MPA_ENH_DEPTH_NONE);

namespace {

// Permissive: a Reply of revision 0 is reported, not refused.
mpa_params params_of(const Ask &ask)
{
	mpa_params own{};

	own.markers = ask.markers;
	own.crc = ask.crc;
	own.p2p = ask.peer_to_peer;
	own.permissive = ask.revision > MPA_REV_RDMAC;
	own.plain = ask.revision < MPA_REV_2;
	own.rev = static_cast<u8>(ask.revision);
	own.rtr = ask.rtr;
	own.ird = ask.ird;
	own.ord = ask.ord;
	own.ird_max = depth_max;
	return own;
}

mpa_frame frame_of(const Ask &ask)
{
	const auto own = params_of(ask);
	mpa_frame frame{};

	mpa_request_from(&own, &frame);
	if (frame.enhanced && ask.ird == depth_none)
		frame.ird = depth_none;
	if (frame.enhanced && ask.ord == depth_none)
		frame.ord = depth_none;
	frame.pd_len = static_cast<u16>(ask.data.size());
	return frame;
}

mpa_frame frame_of(const Reply &reply)
{
	mpa_frame frame{};

	frame.reply = true;
	frame.markers = reply.markers;
	frame.crc = reply.crc;
	frame.reject = reply.reject;
	frame.enhanced = reply.enhanced;
	frame.p2p = reply.peer_to_peer;
	frame.rev = static_cast<u8>(reply.revision);
	frame.rtr = reply.rtr;
	frame.ird = reply.ird;
	frame.ord = reply.ord;
	return frame;
}

Reply reply_of(const mpa_frame &frame, const u8 *data)
{
	return {
		.revision = frame.rev,
		.markers = frame.markers,
		.crc = frame.crc,
		.reject = frame.reject,
		.enhanced = frame.enhanced,
		.peer_to_peer = frame.p2p,
		.rtr = frame.rtr,
		.ird = frame.ird,
		.ord = frame.ord,
		.data = Bytes(data, data + frame.pd_len),
	};
}

Reading::State state_of(int error)
{
	switch (error) {
	case -EALREADY:
		return Reading::State::request;
	case -EPROTO:
		return Reading::State::foreign;
	default:
		return Reading::State::malformed;
	}
}

std::string_view words_of(int error)
{
	switch (error) {
	case -EALREADY:
		return "a Request instead of a Reply";
	case -EPROTO:
		return "not the key of a Reply";
	case -EPROTONOSUPPORT:
		return "a revision above 2";
	case -EMSGSIZE:
		return "more than 512 bytes of private data";
	default:
		return "flags that are not defined in its revision";
	}
}

std::string_view problem_of(int error)
{
	switch (error) {
	case 0:
		return {};
	case -ECONNREFUSED:
		return "rejected";
	case -EPROTONOSUPPORT:
		return "the Reply has an older revision that does not support the request";
	case -ENOSPC:
		return "the peer requests more outstanding Reads than are possible";
	case -EOPNOTSUPP:
		return "no RTR is common to both";
	default:
		return "the Reply does not match the Request";
	}
}

} // namespace

Bytes request(const Ask &ask)
{
	if (ask.data.size() > room_for_data(ask.revision))
		throw std::length_error("too much private data");
	const auto frame = frame_of(ask);
	Bytes bytes(MPA_FRAME_MAX);
	const int size = mpa_frame_build(bytes.data(), bytes.size(), &frame,
					 ask.data.data());

	if (size < 0)
		throw std::length_error("too much private data");
	bytes.resize(size);
	return bytes;
}

Reading read_reply(std::span<const std::uint8_t> bytes)
{
	mpa_frame frame{};
	const u8 *data = nullptr;
	const int used = mpa_frame_parse(bytes.data(), bytes.size(), true,
					 &frame, &data);

	Reading reading;

	if (used < 0) {
		reading.state = state_of(used);
		reading.why = words_of(used);
	} else if (used > 0) {
		reading.state = Reading::State::whole;
		reading.reply = reply_of(frame, data);
		reading.used = static_cast<std::size_t>(used);
	}
	return reading;
}

Agreement conclude(const Ask &ask, const Reply &reply)
{
	const auto own = params_of(ask);
	const auto req = frame_of(ask);
	const auto rep = frame_of(reply);
	mpa_result result{};
	const int error = mpa_conclude(&own, &req, &rep, &result);

	return {
		.problem = problem_of(error),
		.crc = result.crc,
		.tx_markers = result.tx_markers,
		.rx_markers = result.rx_markers,
		.rtr = result.rtr,
		.ird = result.ird,
		.ord = result.ord,
	};
}

} // namespace mpactl::startup
