/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "probe/probe.hpp"

#include <charconv>

#include <fmt/format.h>

#include "model/settings.hpp"
#include "probe/guess.hpp"

namespace mpactl {

namespace {

// --- words --------------------------------------------------------------------

struct OutcomeWords {
	ProbeOutcome outcome;
	const char *key;
	const char *sentence;
};

constexpr OutcomeWords outcomes[] = {
	{ProbeOutcome::accepted, "accepted", "accepted"},
	{ProbeOutcome::rejected, "rejected", "rejected"},
	{ProbeOutcome::unfit, "unfit", "a Reply that does not match the Request"},
	{ProbeOutcome::malformed, "malformed", "a malformed Reply"},
	{ProbeOutcome::silent, "silent",
	 "the connection is accepted, but no data is received"},
	{ProbeOutcome::closed, "closed", "closed without an answer"},
	{ProbeOutcome::reset, "reset", "reset without an answer"},
	{ProbeOutcome::echo, "echo", "the Request is sent back: an echo service"},
	{ProbeOutcome::initiator, "initiator",
	 "a Request: the peer is an Initiator, too"},
	{ProbeOutcome::foreign, "foreign", "an answer that is not MPA"},
};

const OutcomeWords &words(ProbeOutcome outcome)
{
	return outcomes[static_cast<std::size_t>(outcome)];
}

const char *key_of(ConnectError why)
{
	switch (why) {
	case ConnectError::name:
		return "no-name";
	case ConnectError::refused:
		return "refused";
	case ConnectError::timeout:
		return "timeout";
	case ConnectError::unreachable:
		return "unreachable";
	}
	return "";
}

const char *sentence_of(ConnectError why)
{
	switch (why) {
	case ConnectError::name:
		return "the name is unknown";
	case ConnectError::refused:
		return "no program listens on the port";
	case ConnectError::timeout:
		return "no answer: the host is down, or a firewall drops the packets";
	case ConnectError::unreachable:
		return "cannot be reached";
	}
	return "";
}

std::vector<std::string> rtr_names(std::uint8_t rtr)
{
	std::vector<std::string> names;

	if (rtr & startup::rtr_send)
		names.emplace_back("send");
	if (rtr & startup::rtr_write)
		names.emplace_back("write");
	if (rtr & startup::rtr_read)
		names.emplace_back("read");
	return names;
}

std::string depth(unsigned int depth)
{
	return depth == startup::depth_none ? "not negotiated"
					    : std::to_string(depth);
}

std::string revision_name(unsigned int revision)
{
	static constexpr const char *rfcs[] = {
		"RDMA Consortium", "RFC 5044", "RFC 6581",
	};

	return fmt::format("{} ({})", revision, rfcs[revision % 3]);
}

// --- JSON ---------------------------------------------------------------------

Json json_of(const startup::Ask &ask)
{
	Json json{{"revision", ask.revision}, {"markers", ask.markers},
		  {"crc", ask.crc}};

	if (ask.revision == 2) {
		json["ird"] = ask.ird;
		json["ord"] = ask.ord;
		json["peer_to_peer"] = ask.peer_to_peer;
	}
	json["private_data"] = hex(ask.data, "");
	return json;
}

Json json_of(const startup::Reply &reply)
{
	Json json{{"revision", reply.revision}, {"markers", reply.markers},
		  {"crc", reply.crc}, {"reject", reply.reject},
		  {"enhanced", reply.enhanced}};

	if (reply.enhanced) {
		json["ird"] = reply.ird;
		json["ord"] = reply.ord;
		json["peer_to_peer"] = reply.peer_to_peer;
		json["rtr"] = rtr_names(reply.rtr);
	}
	json["private_data"] = hex(reply.data, "");
	return json;
}

Json json_of(const startup::Agreement &agreement)
{
	Json json{{"crc", agreement.crc}, {"tx_markers", agreement.tx_markers},
		  {"rx_markers", agreement.rx_markers}};

	if (agreement.rtr)
		json["rtr"] = rtr_names(agreement.rtr);
	return json;
}

Json json_of(const Attempt &attempt)
{
	Json json{{"asked", json_of(attempt.ask)},
		  {"outcome", words(attempt.outcome).key}};

	if (attempt.reply)
		json["reply"] = json_of(*attempt.reply);
	if (attempt.outcome == ProbeOutcome::accepted)
		json["agreed"] = json_of(attempt.agreement);
	if (attempt.early)
		json["early_bytes"] = attempt.early;
	if (!attempt.bytes.empty())
		json["bytes"] = hex(attempt.bytes, "");
	if (!attempt.why.empty())
		json[attempt.outcome == ProbeOutcome::foreign ? "guess" : "why"] =
			attempt.why;
	json["ms"] = attempt.took.count();
	return json;
}

// --- text ---------------------------------------------------------------------

Field field(std::string name, std::string value, Style style = Style::plain)
{
	return {std::move(name), {std::move(value), style}};
}

std::string crc_text(const Attempt &attempt)
{
	const auto &reply = *attempt.reply;
	const std::string wish = reply.crc ? "requested" : "not requested";

	if (attempt.outcome != ProbeOutcome::accepted)
		return wish;
	return wish + (attempt.agreement.crc ? ", in use" : ", not in use");
}

std::string private_data_text(const startup::Bytes &data)
{
	if (data.empty())
		return "none";
	return fmt::format("{} bytes: {}  |{}|", data.size(), hex(data),
			   printable(data));
}

void put_peer_to_peer(std::vector<Field> &fields, const Attempt &attempt)
{
	const auto &reply = *attempt.reply;

	if (!reply.peer_to_peer) {
		fields.push_back(field("peer-to-peer", "no"));
		return;
	}
	fields.push_back(field("peer-to-peer", "yes"));
	fields.push_back(field(
		"RTR", fmt::format("{}", fmt::join(rtr_names(reply.rtr), ", "))));
}

std::vector<Field> reply_fields(const Attempt &attempt)
{
	const auto &reply = *attempt.reply;
	std::vector<Field> fields{
		field("revision", revision_name(reply.revision)),
		field("answer", words(attempt.outcome).sentence,
		      attempt.outcome == ProbeOutcome::accepted ? Style::good
								: Style::warn),
		field("CRC", crc_text(attempt)),
		field("Markers", reply.markers ? "requested" : "not requested"),
	};

	if (reply.enhanced) {
		fields.push_back(field("IRD", depth(reply.ird)));
		fields.push_back(field("ORD", depth(reply.ord)));
		put_peer_to_peer(fields, attempt);
	}
	fields.push_back(field("private data", private_data_text(reply.data)));
	if (attempt.early)
		fields.push_back(field(
			"wrong",
			fmt::format("{} bytes before an FPDU was sent",
				    attempt.early),
			Style::warn));
	if (!attempt.why.empty())
		fields.push_back(field("wrong", attempt.why, Style::warn));
	fields.push_back(
		field("time", fmt::format("{} ms", attempt.took.count())));
	return fields;
}

std::vector<Field> other_fields(const Attempt &attempt)
{
	std::vector<Field> fields{
		field("asked", revision_name(attempt.ask.revision)),
		field("answer", words(attempt.outcome).sentence, Style::bad),
	};

	if (!attempt.why.empty())
		fields.push_back(field(
			attempt.outcome == ProbeOutcome::foreign ? "looks like"
								 : "why",
			attempt.why));
	if (!attempt.bytes.empty()) {
		fields.push_back(field("bytes", hex(attempt.bytes)));
		fields.push_back(field("", "|" + printable(attempt.bytes) + "|"));
	}
	fields.push_back(
		field("time", fmt::format("{} ms", attempt.took.count())));
	return fields;
}

std::string where(const ProbeReport &report)
{
	const auto name = report.address.empty() || report.address == report.host
		? report.host
		: fmt::format("{} ({})", report.host, report.address);

	return fmt::format("{} port {}", name, report.port);
}

// --- options ------------------------------------------------------------------

struct ProbeOptions {
	ProbeOrder order;
	std::string data;
	std::string data_hex;
	std::string timeout = "3s";
	bool no_crc = false;
	bool no_peer_to_peer = false;
	bool ipv4 = false;
	bool ipv6 = false;
};

startup::Bytes unhex(const std::string &text)
{
	startup::Bytes bytes;

	for (std::size_t i = 0; i < text.size(); i += 2) {
		const auto *from = text.data() + i;
		const auto *end = text.data() + std::min(i + 2, text.size());
		unsigned int byte = 0;
		const auto [stop, error] = std::from_chars(from, end, byte, 16);

		if (error != std::errc() || stop != from + 2)
			throw UsageError("--private-data-hex: '" + text +
					 "' does not consist of pairs of "
					 "hexadecimal digits");
		bytes.push_back(static_cast<std::uint8_t>(byte));
	}
	return bytes;
}

// The same format as for `mpactl set`.
milliseconds duration(const std::string &text)
{
	auto setting = *setting_of(MPA_A_CONFIG_STARTUP_TIMEOUT);

	setting.name = "--timeout";
	const auto value = value_from(setting, text);

	// No kernel is asked.
	if (value < setting.min || value > setting.max)
		throw UsageError(fmt::format("--timeout: '{}' is not {}", text,
					     values_text(setting)));
	return milliseconds(value);
}

void check_family(const ProbeOptions &options)
{
	const auto &order = options.order;
	const int family = family_of(order.source);

	if (order.source.empty())
		return;
	if (family == AF_UNSPEC)
		throw UsageError("--source: '" + order.source +
				 "' is not an IP address");
	if (order.family != AF_UNSPEC && order.family != family)
		throw UsageError("--source: '" + order.source +
				 "' is an address of the other family");
}

ProbeOrder order_of(const ProbeOptions &options)
{
	auto order = options.order;

	order.timeout = duration(options.timeout);
	order.crc = !options.no_crc;
	order.peer_to_peer = !options.no_peer_to_peer;
	order.family = options.ipv4   ? AF_INET
		       : options.ipv6 ? AF_INET6
				      : AF_UNSPEC;
	order.data = options.data_hex.empty()
		? startup::Bytes(options.data.begin(), options.data.end())
		: unhex(options.data_hex);
	// The first Request has revision 2 unless another one is selected.
	const auto room = startup::room_for_data(order.revision.value_or(2));
	if (order.data.size() > room)
		throw UsageError(fmt::format("private data: {} bytes, but a "
					     "Request can have at most {}",
					     order.data.size(), room));
	check_family({order, {}, {}, {}, {}, {}, {}, {}});
	return order;
}

void probe_setup(Syntax command, ProbeOptions &options)
{
	auto &order = options.order;
	const CLI::Range depths(0u, startup::depth_none);

	command.synopsis("HOST PORT");
	command.argument(order.host, host_name(), "host name or IP address")
		->required();
	command.argument(order.port, any("PORT"), "TCP port")->required();
	auto *revision = command.option(
		"--revision", order.revision,
		one_of({{"0", "RDMA Consortium"}, {"1", "RFC 5044"},
			{"2", "RFC 6581"}}),
		"use only this revision of MPA");
	command.flag("--all", order.all,
		     "make a connection for each of the revisions 2, 1 and 0")
		->excludes(revision);
	command.flag("--markers", order.markers, "request Markers");
	command.flag("--no-crc", options.no_crc, "prefer no CRCs");
	command.flag("--no-peer-to-peer", options.no_peer_to_peer,
		     "do not request peer-to-peer mode");
	command.option("--ird", order.ird, any("DEPTH"),
		       "inbound Read depth to offer, 0 .. 16382; 16383: not to be "
		       "negotiated")
		->check(depths)
		->capture_default_str();
	command.option("--ord", order.ord, any("DEPTH"),
		       "outbound Read depth to request, 0 .. 16382; 16383: not to "
		       "be negotiated")
		->check(depths)
		->capture_default_str();
	auto *data = command.option("--private-data", options.data, any("TEXT"),
				    "private data of the Request");
	command.option("--private-data-hex", options.data_hex, any("DIGITS"),
		       "private data of the Request, as hexadecimal digits")
		->excludes(data);
	command.option("--timeout", options.timeout, any("TIME"),
		       "limit for the connection and again for the answer, "
		       "100ms .. 1h")
		->capture_default_str();
	auto *ipv4 = command.flag("-4", options.ipv4, "use IPv4 only");
	command.flag("-6", options.ipv6, "use IPv6 only")->excludes(ipv4);
	command.option("--source", order.source, any("ADDRESS"),
		       "local IP address to connect from");
}

Exit probe_run(const ProbeOptions &options, Context &context)
{
	const auto report = probe(order_of(options));

	context.out.show(ProbeView(report));
	return probe_status(report);
}

} // namespace

Json ProbeView::json() const
{
	const auto *best = report_.best();
	Json json{{"host", report_.host}, {"port", report_.port},
		  {"address", report_.address}, {"source", report_.source},
		  {"speaks_mpa", report_.uses_mpa()},
		  {"revisions", report_.revisions()}};

	json["outcome"] = best ? words(best->outcome).key
			       : key_of(report_.connect_error.value_or(ConnectError::unreachable));
	if (!report_.why.empty())
		json["why"] = report_.why;
	json["attempts"] = Json::array();
	for (const auto &one : report_.attempts)
		json["attempts"].push_back(json_of(one));
	return json;
}

void ProbeView::text(Text &to) const
{
	if (!report_.best()) {
		const auto why = report_.connect_error.value_or(ConnectError::unreachable);

		to.line({{where(report_) + ":", Style::strong},
			 {sentence_of(why), Style::bad},
			 {"(" + report_.why + ")", Style::dim}});
		return;
	}
	to.line({{where(report_), Style::strong},
		 report_.uses_mpa() ? Cell{"uses MPA", Style::good}
				  : Cell{"does not use MPA", Style::bad}});
	for (const auto &one : report_.attempts)
		to.fields(one.reply ? reply_fields(one) : other_fields(one));
	if (!report_.why.empty())
		to.line({{report_.why, Style::warn}});
}

Exit probe_status(const ProbeReport &report)
{
	if (report.attempts.empty())
		return Exit::io;
	return report.uses_mpa() ? Exit::ok : Exit::refused;
}

void setup_probe(CommandLine &line)
{
	add_command<ProbeOptions>(line, "probe",
				  "Find out which protocol a TCP port uses, and "
				  "how MPA is configured there",
				  probe_setup, probe_run);
}

} // namespace mpactl
