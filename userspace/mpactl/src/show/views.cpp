/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

#include "show/views.hpp"

#include <fmt/format.h>
#include <linux/mpa.h>

#include "model/names.hpp"

namespace mpactl {

namespace {

Cell active_cell(bool active)
{
	return active ? Cell{"active", Style::good} : Cell{"down", Style::bad};
}

std::string maybe(const std::optional<std::uint32_t> &value)
{
	return value ? std::to_string(*value) : "";
}

template <typename T>
void put(Json &json, const char *key, const std::optional<T> &value)
{
	if (value)
		json[key] = *value;
}

void put_device(Json &json, const std::optional<std::uint32_t> &index,
		const DeviceNames &names)
{
	if (!index)
		return;
	json["dev_index"] = *index;
	if (const auto found = names.find(*index); found != names.end())
		json["dev"] = found->second;
}

std::string role_text(const Connection &connection)
{
	if (!connection.initiator)
		return "";
	return *connection.initiator ? "initiator" : "responder";
}

std::string markers_text(const Agreement &agreed)
{
	if (agreed.tx_markers && agreed.rx_markers)
		return "both";
	if (agreed.tx_markers)
		return "sent";
	return agreed.rx_markers ? "received" : "none";
}

std::string via_text(const Connection &connection, const DeviceNames &names)
{
	auto text = owner_text(connection.owner, connection.dev_index,
			       connection.uid, names);

	if (connection.qpn)
		text += fmt::format(" qp {}", *connection.qpn);
	return text;
}

void put_agreed(Json &json, const Agreement &agreed)
{
	json["revision"] = agreed.revision;
	json["ddp_version"] = agreed.ddp_version;
	json["enhanced"] = agreed.enhanced;
	json["peer_to_peer"] = agreed.peer_to_peer;
	json["rtr"] = set_words(rtr_words, agreed.rtr);
	json["tx_markers"] = agreed.tx_markers;
	json["rx_markers"] = agreed.rx_markers;
	json["crc"] = agreed.crc;
	json["ird"] = agreed.ird;
	json["ord"] = agreed.ord;
	json["peer_ird"] = agreed.peer_ird;
	json["peer_ord"] = agreed.peer_ord;
	json["rdmap_extensions"] = agreed.rdmap_extensions;
	json["start_key"] = agreed.start_key;
}

void put_end(Json &json, const Connection &connection)
{
	if (connection.code)
		json["code"] = word_for(code_words, *connection.code);
	if (connection.err)
		json["err"] = *connection.err ? errno_text(*connection.err) : "";
	if (connection.term_sent)
		json["term_sent"] = terminate_json(*connection.term_sent);
	if (connection.term_received)
		json["term_received"] = terminate_json(*connection.term_received);
}

} // namespace

DeviceNames names_of(const std::vector<Device> &devices)
{
	DeviceNames names;

	for (const auto &device : devices)
		names[device.index] = device.name;
	return names;
}

std::string device_name(const DeviceNames &names, std::uint32_t index)
{
	const auto found = names.find(index);

	return found == names.end() ? fmt::format("#{}", index) : found->second;
}

Cell number_cell(std::uint64_t value)
{
	return {std::to_string(value)};
}

Cell phase_cell(std::uint32_t phase)
{
	const auto text = word_for(phase_words, phase);

	switch (phase) {
	case MPA_PHASE_OPERATIONAL:
		return {text, Style::good};
	case MPA_PHASE_EXITED:
		return {text, Style::bad};
	case MPA_PHASE_CLOSED:
		return {text, Style::dim};
	default:
		return {text, Style::warn};
	}
}

std::string owner_text(std::uint32_t owner,
		       const std::optional<std::uint32_t> &dev_index,
		       const std::optional<std::uint32_t> &uid,
		       const DeviceNames &names)
{
	if (dev_index)
		return device_name(names, *dev_index);
	if (uid)
		return fmt::format("socket, user {}", *uid);
	return word_for(owner_words, owner);
}

std::string end_text(const Connection &connection)
{
	const auto code = connection.code.value_or(MPA_CODE_NONE);
	const auto err = connection.err.value_or(0);

	if (code == MPA_CODE_NONE)
		return "";
	return fmt::format("{} ({})", word_for(code_words, code),
			   err ? errno_text(err) : "orderly end");
}

std::string terminate_text(const Terminate &terminate)
{
	return fmt::format("layer {} type {} code {:#04x}", terminate.layer,
			   terminate.type, terminate.code);
}

Json endpoint_json(const Endpoint &endpoint)
{
	return {{"addr", address_text(endpoint)}, {"port", endpoint.port}};
}

Json terminate_json(const Terminate &terminate)
{
	return {{"layer", terminate.layer},
		{"type", terminate.type},
		{"code", terminate.code}};
}

std::uint64_t stat_of(const Connection &connection, unsigned int type)
{
	for (const auto &[known, value] : connection.stats)
		if (known == type)
			return value;
	return 0;
}

// --- devices ------------------------------------------------------------------

Json device_json(const Device &device)
{
	return {{"index", device.index},
		{"name", device.name},
		{"ifindex", device.ifindex},
		{"ifname", device.ifname},
		{"active", device.active},
		{"ird_max", device.ird_max},
		{"ord_max", device.ord_max},
		{"rtr", set_words(rtr_words, device.rtr)},
		{"conns", device.conns},
		{"listeners", device.listeners}};
}

Json DeviceTable::json() const
{
	Json all = Json::array();

	for (const auto &device : devices_)
		all.push_back(device_json(device));
	return all;
}

void DeviceTable::text(Text &to) const
{
	Table table{{{"NAME"},
		     {"NETDEV"},
		     {"STATE"},
		     {"CONNS", Align::right},
		     {"LISTENERS", Align::right},
		     {"IRD MAX", Align::right},
		     {"ORD MAX", Align::right},
		     {"RTR"}},
		    {}};

	for (const auto &device : devices_)
		table.rows.push_back({{device.name, Style::strong},
				      {device.ifname},
				      active_cell(device.active),
				      number_cell(device.conns),
				      number_cell(device.listeners),
				      number_cell(device.ird_max),
				      number_cell(device.ord_max),
				      {set_text(rtr_words, device.rtr)}});
	to.table(table);
}

// --- listeners ----------------------------------------------------------------

Json listener_json(const Listener &listener, const DeviceNames &names)
{
	Json json{{"id", listener.id},
		  {"owner", word_for(owner_words, listener.owner)}};

	put_device(json, listener.dev_index, names);
	json["local"] = endpoint_json(listener.local);
	json["backlog"] = listener.backlog;
	put(json, "half_open", listener.half_open);
	put(json, "uid", listener.uid);
	return json;
}

Json ListenerTable::json() const
{
	Json all = Json::array();

	for (const auto &listener : listeners_)
		all.push_back(listener_json(listener, names_));
	return all;
}

void ListenerTable::text(Text &to) const
{
	Table table{{{"ID", Align::right},
		     {"OWNER"},
		     {"LOCAL"},
		     {"BACKLOG", Align::right},
		     {"HALF OPEN", Align::right}},
		    {}};

	for (const auto &listener : listeners_)
		table.rows.push_back(
			{{std::to_string(listener.id), Style::strong},
			 {owner_text(listener.owner, listener.dev_index,
				     listener.uid, names_)},
			 {endpoint_text(listener.local)},
			 number_cell(listener.backlog),
			 {maybe(listener.half_open)}});
	to.table(table);
}

// --- connections ----------------------------------------------------------------

namespace {

constexpr std::uint32_t framing_send_modes =
	TCP_FRAMING_SEND_ATOMIC | TCP_FRAMING_SEND_ALIGN | TCP_FRAMING_SEND_MARKERS;
constexpr std::uint32_t framing_receive_modes =
	TCP_FRAMING_RECV_ALIGN | TCP_FRAMING_RECV_MARKERS;

std::string send_mode(const Framing &framing)
{
	return word_for(framing_send_words, framing.mode & framing_send_modes);
}

std::string receive_mode(const Framing &framing)
{
	return word_for(framing_receive_words, framing.mode & framing_receive_modes);
}

Json framing_json(const Framing &framing)
{
	Json json{{"send", send_mode(framing)},
		  {"receive", receive_mode(framing)},
		  {"emss", framing.emss},
		  {"send_interval", framing.send_interval},
		  {"receive_interval", framing.recv_interval},
		  {"pack", bool(framing.flags & TCP_FRAMING_F_PACK)},
		  {"emergency", bool(framing.flags & TCP_FRAMING_F_EMERGENCY)},
		  {"receive_key", bool(framing.flags & TCP_FRAMING_F_RECV_KEY)},
		  {"receive_ended", bool(framing.flags & TCP_FRAMING_F_RECV_ENDED)}};

	for (const auto &[type, value] : framing.stats)
		json[word_for(framing_stats_words, type)] = value;
	return json;
}

// A mode, and what belongs to it.
std::string framing_text(const std::string &mode, std::uint32_t interval)
{
	return mode == "markers" ? fmt::format("{}, every {} bytes", mode, interval) : mode;
}

} // namespace

Json connection_json(const Connection &connection, const DeviceNames &names)
{
	Json json{{"id", connection.id},
		  {"owner", word_for(owner_words, connection.owner)}};
	Json stats = Json::object();

	put_device(json, connection.dev_index, names);
	put(json, "qpn", connection.qpn);
	put(json, "listen_id", connection.listen_id);
	put(json, "uid", connection.uid);
	put(json, "inode", connection.inode);
	json["local"] = endpoint_json(connection.local);
	json["remote"] = endpoint_json(connection.remote);
	json["phase"] = word_for(phase_words, connection.phase);
	if (connection.initiator)
		json["role"] = role_text(connection);
	json["age_ms"] = connection.age_ms;
	if (connection.agreed)
		put_agreed(json, *connection.agreed);
	put(json, "mulpdu", connection.mulpdu);
	put(json, "emss", connection.emss);
	if (connection.busy)
		json["busy"] = true;
	if (connection.framing)
		json["framing"] = framing_json(*connection.framing);
	put_end(json, connection);
	for (const auto &[type, value] : connection.stats)
		stats[word_for(stats_words, type)] = value;
	json["stats"] = std::move(stats);
	return json;
}

Json ConnectionTable::json() const
{
	Json all = Json::array();

	for (const auto &connection : connections_)
		all.push_back(connection_json(connection, names_));
	return all;
}

std::vector<Cell> ConnectionTable::row(const Connection &connection) const
{
	const auto &agreed = connection.agreed;

	return {{std::to_string(connection.id), Style::strong},
		{via_text(connection, names_)},
		{endpoint_text(connection.local)},
		{endpoint_text(connection.remote)},
		phase_cell(connection.phase),
		{role_text(connection)},
		{agreed ? std::to_string(agreed->revision) : ""},
		agreed && !agreed->crc ? Cell{"off", Style::warn}
				       : Cell{agreed ? "on" : ""},
		{agreed ? markers_text(*agreed) : ""},
		{agreed ? fmt::format("{}/{}", agreed->ird, agreed->ord) : ""},
		{bytes_text(static_cast<double>(
			stat_of(connection, MPA_A_CONN_STATS_TX_BYTES)))},
		{bytes_text(static_cast<double>(
			stat_of(connection, MPA_A_CONN_STATS_RX_BYTES)))},
		{age_text(connection.age_ms)},
		{end_text(connection), Style::bad}};
}

void ConnectionTable::text(Text &to) const
{
	Table table{{{"ID", Align::right},
		     {"OWNER"},
		     {"LOCAL"},
		     {"REMOTE"},
		     {"PHASE"},
		     {"ROLE"},
		     {"REV", Align::right},
		     {"CRC"},
		     {"MARKERS"},
		     {"IRD/ORD"},
		     {"SENT", Align::right},
		     {"RECEIVED", Align::right},
		     {"AGE", Align::right},
		     {"ENDED BY"}},
		    {}};

	table.rows.reserve(connections_.size());
	for (const auto &connection : connections_)
		table.rows.push_back(row(connection));
	to.table(table);
}

Json ConnectionDetails::json() const
{
	return Json::array({connection_json(connection_, names_)});
}

void ConnectionDetails::add_agreed(std::vector<Field> &fields) const
{
	const auto &agreed = *connection_.agreed;

	fields.push_back({"revision", {fmt::format("{}, DDP version {}{}",
						   agreed.revision,
						   agreed.ddp_version,
						   agreed.enhanced ? ", enhanced" :
						   agreed.start_key ? " (Start Key)" :
								      "")}});
	if (agreed.peer_to_peer)
		fields.push_back({"peer-to-peer",
				  {"opened by " + set_text(rtr_words, agreed.rtr)}});
	fields.push_back({"CRC", agreed.crc ? Cell{"on"}
					    : Cell{"off", Style::warn}});
	fields.push_back({"Markers", {markers_text(agreed)}});
	fields.push_back({"Read depths", {fmt::format("in {}, out {}", agreed.ird,
						      agreed.ord)}});
	if (agreed.enhanced)
		fields.push_back({"peer's", {fmt::format("in {}, out {}",
							 agreed.peer_ird,
							 agreed.peer_ord)}});
	if (agreed.rdmap_extensions)
		fields.push_back({"extensions", {"RFC 7306"}});
}

void ConnectionDetails::add_framing(std::vector<Field> &fields) const
{
	const auto &framing = *connection_.framing;

	fields.push_back({"sends", {framing_text(send_mode(framing), framing.send_interval)}});
	fields.push_back({"receives",
			  {framing_text(receive_mode(framing), framing.recv_interval)}});
	fields.push_back({"longest PDU", {fmt::format("{} bytes{}", framing.emss,
						      framing.flags & TCP_FRAMING_F_EMERGENCY ?
							      ", emergency mode" : "")}});
	if (receive_mode(framing) == "align" && !(framing.flags & TCP_FRAMING_F_RECV_KEY))
		fields.push_back({"key of the peer", {"not set", Style::warn}});
	for (const auto &[type, value] : framing.stats)
		fields.push_back({word_for(framing_stats_words, type), number_cell(value)});
}

void ConnectionDetails::add_end(std::vector<Field> &fields) const
{
	if (const auto end = end_text(connection_); !end.empty())
		fields.push_back({"ended by", {end, Style::bad}});
	if (connection_.term_sent)
		fields.push_back({"Terminate sent",
				  {terminate_text(*connection_.term_sent),
				   Style::bad}});
	if (connection_.term_received)
		fields.push_back({"Terminate received",
				  {terminate_text(*connection_.term_received),
				   Style::bad}});
}

void ConnectionDetails::text(Text &to) const
{
	const auto &one = connection_;
	std::vector<Field> fields{{"owner", {via_text(one, names_)}}};

	if (one.listen_id)
		fields.push_back({"listener", number_cell(*one.listen_id)});
	if (one.inode)
		fields.push_back({"inode", number_cell(*one.inode)});
	fields.push_back({"local", {endpoint_text(one.local)}});
	fields.push_back({"remote", {endpoint_text(one.remote)}});
	fields.push_back({"phase", phase_cell(one.phase)});
	if (one.busy)
		fields.push_back({"busy", {"a program holds the socket: values may not fit "
					   "together", Style::warn}});
	if (one.initiator)
		fields.push_back({"role", {role_text(one)}});
	fields.push_back({"age", {age_text(one.age_ms)}});
	if (one.agreed)
		add_agreed(fields);
	if (one.framing)
		add_framing(fields);
	else if (one.mulpdu)
		fields.push_back({"MULPDU", {fmt::format("{} bytes", *one.mulpdu)}});
	if (one.emss)
		fields.push_back({"EMSS", {fmt::format("{} bytes", *one.emss)}});
	add_end(fields);
	for (const auto &[type, value] : one.stats)
		fields.push_back({word_for(stats_words, type), number_cell(value)});
	to.line({{"connection"}, {std::to_string(one.id), Style::strong}});
	to.fields(fields);
}

} // namespace mpactl
