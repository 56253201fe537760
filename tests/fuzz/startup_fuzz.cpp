// SPDX-License-Identifier: GPL-2.0-only
//
// Startup frames and the result of their exchange. Input: a byte of options, the
// parameters of two sides, then the bytes of a frame. Either the frame is parsed
// in all ways and answered or concluded as if a peer had sent it, or the two
// sides negotiate with each other.
#include "support.hpp"

extern "C" {
#include "../../kernel/framing/startup.h"
}

using namespace fuzz;

namespace
{

enum {
	CHOOSE_REPLY = 1 << 0, // a Reply is expected, else a Request
	CHOOSE_PAIR = 1 << 1,  // two sides negotiate
	CHOOSE_REJECT = 1 << 2,
	CHOOSE_NO_IRD = 1 << 3, // the Initiator does not state its IRD
	CHOOSE_NO_ORD = 1 << 4,

	DEPTH_TOP = 0x3ffe,
	DEPTH_NONE = 0x3fff,
};

// Expected result of parsing, from the figures of the RFCs.
struct Model {
	int result = 0;
	std::size_t known_at = 0; // bytes needed to know a negative result

	Model(View bytes, bool reply)
	{
		static const char *const keys[] = {"MPA ID Req Frame",
						   "MPA ID Rep Frame"};

		for (std::size_t i = 0; i < 16; i++)
			if (refuse(
				    bytes, i + 1,
				    [&](const auto &o) {
					    return o[i] != keys[reply][i];
				    },
				    reply && i < bytes.size() &&
						    bytes[i] == keys[0][i]
					    ? -EALREADY
					    : -EPROTO))
				return;
		const auto rev = [](const auto &o) {
			return o[17];
		};
		const auto pd = [](const auto &o) {
			return o[18] << 8 | o[19];
		};
		const auto enh = [](const auto &o) {
			return o[16] & 0x10 && o[17] == 2;
		};

		if (refuse(
			    bytes, 18,
			    [&](const auto &o) { return rev(o) > 2; },
			    -EPROTONOSUPPORT) ||
		    refuse(
			    bytes, 19,
			    [&](const auto &o) { return o[18] > 2; },
			    -EMSGSIZE) ||
		    refuse(
			    bytes, 20,
			    [&](const auto &o) { return pd(o) > 512; },
			    -EMSGSIZE) ||
		    refuse(
			    bytes, 20,
			    [&](const auto &o) { return enh(o) && pd(o) < 4; },
			    -EINVAL))
			return;
		if (bytes.size() >= 20 && bytes.size() >= 20u + pd(bytes))
			result = 20 + pd(bytes);
	}

private:
	template <typename Wrong>
	bool refuse(View bytes, std::size_t need, Wrong wrong, int error)
	{
		if (bytes.size() < need || !wrong(bytes))
			return false;
		result = error;
		known_at = need;
		return true;
	}
};

bool same(const mpa_frame &a, const mpa_frame &b)
{
	return a.reply == b.reply && a.markers == b.markers && a.crc == b.crc &&
	       a.reject == b.reject && a.enhanced == b.enhanced &&
	       a.p2p == b.p2p && a.extensions == b.extensions && a.rev == b.rev && a.rtr == b.rtr &&
	       a.ird == b.ird && a.ord == b.ord && a.pd_len == b.pd_len;
}

// The bytes of a frame without bits that have no meaning in it.
Bytes normal(View bytes, bool reply)
{
	Bytes n(bytes.begin(), bytes.end());

	// An answer that extensions are used counts only without the question.
	const bool extensions = reply ? (n[16] & 3) == 2 : n[16] & 1;

	n[16] &= reply ? 0xf0 : 0xd0;
	if (n[17] < 2)
		n[16] &= ~0x10;
	if (n[16] & 0x10 && extensions)
		n[16] |= reply ? 2 : 1;
	if (n[16] & 0x10 && !(n[20] & 0x80)) {
		n[20] &= 0x3f;
		n[22] &= 0x3f;
	}
	return n;
}

int parse(View bytes, bool reply, mpa_frame &frame, Bytes &pd)
{
	const Exact exact(bytes);
	const u8 *at = nullptr;
	const int ret =
		mpa_frame_parse(exact.data(), exact.size(), reply, &frame, &at);

	if (ret > 0) {
		REQUIRE(at >= exact.data() + 20);
		REQUIRE(at + frame.pd_len == exact.data() + ret);
		pd.assign(at, at + frame.pd_len);
	} else {
		REQUIRE(!at);
	}
	return ret;
}

// For any prefix the result is the final one or "more".
void check_portions(View bytes, bool reply, int whole, std::size_t known_at,
		    const mpa_frame &want)
{
	for (std::size_t n = 0; n <= bytes.size(); n++) {
		const std::size_t end = whole > 0 ? whole : known_at;
		mpa_frame frame = {};
		Bytes pd;
		const int ret = parse(bytes.first(n), reply, frame, pd);

		REQUIRE(ret == (whole && n >= end ? whole : 0));
		if (ret > 0)
			REQUIRE(same(frame, want));
		else
			REQUIRE(same(frame, mpa_frame{}));
	}
}

void check_round_trip(View bytes, const mpa_frame &frame, const Bytes &pd)
{
	Bytes built(MPA_FRAME_MAX);
	const int ret =
		mpa_frame_build(built.data(), bytes.size(), &frame, pd.data());

	REQUIRE(ret == static_cast<int>(bytes.size()));
	built.resize(ret);
	REQUIRE(built == normal(bytes, frame.reply));
	REQUIRE(mpa_frame_build(built.data(), ret - 1, &frame, pd.data()) ==
		-ENOSPC);
}

mpa_params take_params(Input &in)
{
	const std::uint8_t flags = in.u8(), kind = in.u8();
	mpa_params own = {};

	own.markers = flags & 1;
	own.crc = flags & 2;
	own.p2p = flags & 4;
	own.rev = kind % 3;
	own.permissive = kind & 4;
	own.plain = kind & 8;
	own.rev_min = std::min<u8>(own.rev, (kind >> 4) % 3);
	own.extensions = (kind >> 6) % 3;
	own.rtr = flags >> 4 & 7;
	// The precondition of mpa_answer().
	if (!own.rtr && flags & 0x80)
		own.rtr = MPA_RTR_WRITE;
	own.ird = in.u16();
	own.ord = in.u16();
	own.ird_max = in.u16();
	return own;
}

// RFC 5044 appendix C: the lowest and the supported revisions of a side.
u8 lowest(const mpa_params &own)
{
	const bool old = !own.rev || own.permissive;

	return own.rev_min ? own.rev_min : (old ? 0 : 1);
}

bool serves(const mpa_params &own, u8 rev)
{
	return own.rev ? rev <= own.rev && rev >= lowest(own) : rev <= 1;
}

// What mpa_answer() must do with any Request; @own has an RTR to offer.
void check_answer(const mpa_params &own, const mpa_frame &req, bool reject,
		  const mpa_frame &rep, const mpa_result &res)
{
	const u8 rev =
		serves(own, req.rev) ? std::min(own.rev, req.rev) : lowest(own);
	const bool rdmac = !rev;

	REQUIRE(rep.reply && rep.reject == reject && !rep.pd_len);
	REQUIRE(rep.rev == rev && rep.enhanced == req.enhanced);
	REQUIRE(rep.crc == (own.crc || req.crc || rdmac));
	REQUIRE(rep.markers == (own.markers || rdmac));
	REQUIRE(!res.initiator && res.rev == rev && res.ddp_version == !rdmac);
	REQUIRE(res.enhanced == req.enhanced && res.crc == rep.crc);
	REQUIRE(res.tx_markers == (req.markers || rdmac));
	REQUIRE(res.rx_markers == rep.markers);
	REQUIRE(rep.extensions == (req.extensions && own.extensions && !reject));
	REQUIRE(res.extensions ==
		(!rdmac && (rep.extensions ||
			    own.extensions == MPA_EXTENSIONS_ON)));
	if (!req.enhanced) {
		REQUIRE(!rep.p2p && !rep.rtr && !rep.ird && !rep.ord);
		REQUIRE(!res.p2p && !res.rtr);
		REQUIRE(res.ird == own.ird && res.ord == own.ord);
		return;
	}
	const bool read = rep.rtr & MPA_RTR_READ;
	const std::uint16_t least = read ? 1 : 0;

	REQUIRE(rep.p2p == req.p2p && res.p2p == req.p2p);
	REQUIRE(!(rep.rtr & ~own.rtr) && res.rtr == rep.rtr);
	REQUIRE(req.p2p == !!rep.rtr);
	if (req.p2p && own.rtr & req.rtr)
		REQUIRE(rep.rtr == (own.rtr & req.rtr));
	REQUIRE(res.peer_ird == req.ird && res.peer_ord == req.ord);

	REQUIRE(res.ord <= own.ord);
	if (req.ird != DEPTH_NONE)
		REQUIRE(res.ord <= req.ird);
	else
		REQUIRE(res.ord == own.ord && rep.ord == DEPTH_NONE);
	REQUIRE(res.ird >= own.ird && res.ird >= least);
	REQUIRE(res.ird <= std::max({own.ird, own.ird_max, least}));
	if (req.ord == DEPTH_NONE)
		REQUIRE(rep.ird == DEPTH_NONE);
	else
		REQUIRE(rep.ird == std::min<int>(res.ird, DEPTH_TOP));
	// Not raised further than requested.
	if (req.ord == DEPTH_NONE || req.ord <= own.ird)
		REQUIRE(res.ird == std::max(own.ird, least));
	else
		REQUIRE(res.ird <= std::max(req.ord, least));
	REQUIRE(rep.ord == DEPTH_NONE || rep.ord <= DEPTH_TOP);
}

// What mpa_conclude() must do with any Reply.
void check_conclusion(const mpa_params &own, const mpa_frame &req,
		      const mpa_frame &rep, int ret, const mpa_result &res)
{
	const bool rdmac = !rep.rev;
	const bool known = rep.rev >= lowest(own) && !(rdmac && req.enhanced);
	const bool fits = rep.enhanced == req.enhanced && rep.p2p == req.p2p;

	REQUIRE((ret == -ECONNREFUSED) == rep.reject);
	if (!rep.reject) {
		const bool newer = rep.rev > req.rev;

		REQUIRE((ret == -EPROTONOSUPPORT) == (!newer && !known));
		REQUIRE((ret == -EPROTO) == (newer || (known && !fits)));
	}
	if (ret == -ENOSPC)
		REQUIRE(rep.ord > own.ird && rep.ord > own.ird_max);
	if (ret == -EOPNOTSUPP)
		REQUIRE(req.p2p &&
			!(req.rtr & rep.rtr & ~(rep.ird ? 0 : MPA_RTR_READ)));
	if (ret)
		return;
	REQUIRE(res.initiator && res.rev == rep.rev && res.p2p == req.p2p);
	REQUIRE(res.ddp_version == !rdmac);
	REQUIRE(res.crc == (req.crc || rep.crc || rdmac));
	REQUIRE(res.tx_markers == (rep.markers || rdmac));
	REQUIRE(res.rx_markers == (req.markers || rdmac));
	REQUIRE(res.extensions ==
		(!rdmac && ((req.extensions && rep.extensions) ||
			    own.extensions == MPA_EXTENSIONS_ON)));
	REQUIRE(req.p2p ? res.rtr && !(res.rtr & (res.rtr - 1)) : !res.rtr);
	REQUIRE(!(res.rtr & ~(req.rtr & rep.rtr)));
	REQUIRE(res.ird >= own.ird);
	REQUIRE(res.ird <= std::max(own.ird, own.ird_max));
	REQUIRE(res.ord <= std::max<int>(own.ord, res.rtr == MPA_RTR_READ));
	if (!res.enhanced) {
		REQUIRE(res.ird == own.ird && res.ord == own.ord);
		return;
	}
	if (req.ord != DEPTH_NONE && rep.ird != DEPTH_NONE)
		REQUIRE(res.ord <= rep.ird);
	if (req.ird != DEPTH_NONE && rep.ord != DEPTH_NONE)
		REQUIRE(res.ird >= rep.ord);
	if (res.rtr == MPA_RTR_READ)
		REQUIRE(res.ord >= 1);
}

// The Request of @own, as it would be sent.
mpa_frame request(const mpa_params &own, std::uint8_t choice)
{
	mpa_frame req;

	mpa_request_from(&own, &req);
	REQUIRE(!req.reply && !req.reject && !req.pd_len);
	const u8 rev = own.plain && own.rev > 1 ? std::max<u8>(own.rev_min, 1)
						: own.rev;

	REQUIRE(req.rev == rev && req.enhanced == (rev == 2 && !own.plain));
	REQUIRE(req.markers == (own.markers || !rev));
	REQUIRE(req.crc == (own.crc || !rev));
	REQUIRE(req.extensions == (req.enhanced && own.extensions ==
						   MPA_EXTENSIONS_NEGOTIATE));
	REQUIRE(req.ird <= DEPTH_TOP && req.ord <= DEPTH_TOP);
	REQUIRE(!(req.rtr & ~own.rtr) && req.p2p == !!req.rtr);
	if (req.enhanced && choice & CHOOSE_NO_IRD)
		req.ird = DEPTH_NONE;
	if (req.enhanced && choice & CHOOSE_NO_ORD)
		req.ord = DEPTH_NONE;
	return req;
}

// A frame as the other side receives it.
mpa_frame over_the_wire(const mpa_frame &sent)
{
	Bytes bytes(MPA_FRAME_MAX), pd;
	const int len =
		mpa_frame_build(bytes.data(), bytes.size(), &sent, nullptr);
	mpa_frame got = {};

	REQUIRE(len > 0);
	REQUIRE(parse(View(bytes).first(len), sent.reply, got, pd) == len);
	frames.add(1);
	REQUIRE(same(got, sent));
	return got;
}

// Returns whether there is a Reply.
bool answer(const mpa_params &own, const mpa_frame &req, bool reject,
	    mpa_frame &rep, mpa_result &res)
{
	const int ret = mpa_answer(&own, &req, reject, &rep, &res);
	const bool may =
		serves(own, req.rev) || (reject && req.rev < lowest(own));

	REQUIRE(ret == (may ? 0 : -EPROTONOSUPPORT));
	if (may)
		check_answer(own, req, reject, rep, res);
	return may;
}

int conclude(const mpa_params &own, const mpa_frame &req, const mpa_frame &rep,
	     mpa_result &res)
{
	const int ret = mpa_conclude(&own, &req, &rep, &res);

	REQUIRE(ret == 0 || ret == -ECONNREFUSED || ret == -EPROTO ||
		ret == -EPROTONOSUPPORT || ret == -ENOSPC ||
		ret == -EOPNOTSUPP);
	check_conclusion(own, req, rep, ret, res);
	return ret;
}

// Both sides have a result: they must describe the same stream.
void check_agreement(const mpa_result &i, const mpa_result &r)
{
	REQUIRE(i.initiator && !r.initiator);
	REQUIRE(i.rev == r.rev && i.enhanced == r.enhanced && i.p2p == r.p2p);
	REQUIRE(i.crc == r.crc && i.ddp_version == r.ddp_version);
	if (!i.ddp_version)
		REQUIRE(i.crc && i.tx_markers && i.rx_markers);
	REQUIRE(i.tx_markers == r.rx_markers && i.rx_markers == r.tx_markers);
	REQUIRE((i.rtr & r.rtr) == i.rtr);
	if (!i.enhanced)
		return;
	if (r.peer_ord != DEPTH_NONE)
		REQUIRE(i.ord <= r.ird);
	if (r.peer_ird != DEPTH_NONE)
		REQUIRE(r.ord <= i.ird);
	if (i.rtr == MPA_RTR_READ)
		REQUIRE(i.ord >= 1 && r.ird >= 1);
}

void negotiate(std::uint8_t choice, const mpa_params &initiator,
	       const mpa_params &responder)
{
	const mpa_frame req = over_the_wire(request(initiator, choice));
	const bool reject = choice & CHOOSE_REJECT;
	mpa_result first, second;
	mpa_frame rep;

	if (!answer(responder, req, reject, rep, second))
		return;
	const int ret = conclude(initiator, req, over_the_wire(rep), first);

	REQUIRE((ret == -ECONNREFUSED) == reject && ret != -EPROTO);
	// The Responder does not exceed the IRD of the Initiator.
	if (req.enhanced && !(choice & CHOOSE_NO_IRD))
		REQUIRE(ret != -ENOSPC);
	if (!ret)
		check_agreement(first, second);
}

void frame_from_peer(std::uint8_t choice, const mpa_params &own, View bytes)
{
	const bool reply = choice & CHOOSE_REPLY;
	const Model model(bytes, reply);
	mpa_frame frame = {};
	mpa_result res;
	Bytes pd;
	const int ret = parse(bytes, reply, frame, pd);

	REQUIRE(ret == model.result);
	frames.add(ret != 0);
	check_portions(bytes, reply, ret, model.known_at, frame);
	if (ret <= 0)
		return;
	REQUIRE(frame.reply == reply && (reply || !frame.reject));
	check_round_trip(bytes.first(ret), frame, pd);
	if (reply) {
		conclude(own, request(own, choice), frame, res);
	} else {
		mpa_frame rep;

		if (answer(own, frame, choice & CHOOSE_REJECT, rep, res))
			over_the_wire(rep);
	}
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data,
				      std::size_t size)
{
	Input in(data, size);
	const std::uint8_t choice = in.u8();
	mpa_params initiator = take_params(in);
	mpa_params responder = take_params(in);

	if (!responder.rtr)
		responder.rtr = MPA_RTR_WRITE;
	if (choice & CHOOSE_PAIR)
		negotiate(choice, initiator, responder);
	else
		frame_from_peer(choice,
				choice & CHOOSE_REPLY ? initiator : responder,
				in.rest().first(std::min<std::size_t>(
					in.rest().size(), 600)));
	return 0;
}
