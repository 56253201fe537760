/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// Devices, listeners and connections as text and JSON.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/model.hpp"
#include "show/output.hpp"

namespace mpactl {

// Names of devices by index.
using DeviceNames = std::map<std::uint32_t, std::string>;

DeviceNames names_of(const std::vector<Device> &devices);
// "#" and the index if the device was added or removed in the meantime.
std::string device_name(const DeviceNames &names, std::uint32_t index);

Cell number_cell(std::uint64_t value);
Cell phase_cell(std::uint32_t phase);
// "mpa1", "socket, user 0".
std::string owner_text(std::uint32_t owner,
		       const std::optional<std::uint32_t> &dev_index,
		       const std::optional<std::uint32_t> &uid,
		       const DeviceNames &names);
// "crc (EPROTO)"; empty if receiving was not ended by an error.
std::string end_text(const Connection &connection);
// "layer 2 type 0 code 0x01".
std::string terminate_text(const Terminate &terminate);
// "10.0.0.1:7000".
Json endpoint_json(const Endpoint &endpoint);
Json terminate_json(const Terminate &terminate);
std::uint64_t stat_of(const Connection &connection, unsigned int type);

Json device_json(const Device &device);
Json listener_json(const Listener &listener, const DeviceNames &names);
Json connection_json(const Connection &connection, const DeviceNames &names);

class DeviceTable : public View {
public:
	explicit DeviceTable(std::vector<Device> devices)
		: devices_(std::move(devices))
	{
	}

	Json json() const override;
	void text(Text &to) const override;

private:
	std::vector<Device> devices_;
};

class ListenerTable : public View {
public:
	ListenerTable(std::vector<Listener> listeners, DeviceNames names)
		: listeners_(std::move(listeners)), names_(std::move(names))
	{
	}

	Json json() const override;
	void text(Text &to) const override;

private:
	std::vector<Listener> listeners_;
	DeviceNames names_;
};

class ConnectionTable : public View {
public:
	ConnectionTable(std::vector<Connection> connections, DeviceNames names)
		: connections_(std::move(connections)), names_(std::move(names))
	{
	}

	Json json() const override;
	void text(Text &to) const override;

private:
	std::vector<Cell> row(const Connection &connection) const;

	std::vector<Connection> connections_;
	DeviceNames names_;
};

// One connection in detail. JSON is the same as for a table with one connection.
class ConnectionDetails : public View {
public:
	ConnectionDetails(Connection connection, DeviceNames names)
		: connection_(std::move(connection)), names_(std::move(names))
	{
	}

	Json json() const override;
	void text(Text &to) const override;

private:
	void add_agreed(std::vector<Field> &fields) const;
	void add_framing(std::vector<Field> &fields) const;
	void add_end(std::vector<Field> &fields) const;

	Connection connection_;
	DeviceNames names_;
};

} // namespace mpactl
