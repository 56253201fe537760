// SPDX-License-Identifier: GPL-2.0-only
//
// Devices that begin with Start Keys: the setting startup.
#include "pair.hpp"

#include <future>
#include <utility>

#include <infiniband/mpadv.h>

using namespace harness;
using namespace verbs;
using net::operator+;

namespace {

// Everything once, in both directions.
void exchange(Pair &pair)
{
	pair.far.post_receive(1);
	pair.near.send(2);
	is(pair.far.completion().wr_id, 1u, "a Send arrives");
	is(status_name(pair.near.completion().status), status_name(IBV_WC_SUCCESS), "Send");
	pair.near.post_receive(3);
	pair.far.send(4);
	is(pair.near.completion().wr_id, 3u, "a Send arrives");
	is(status_name(pair.far.completion().status), status_name(IBV_WC_SUCCESS), "Send");
	pair.one.memory.assign(pair.one.memory.size(), std::byte{1});
	pair.two.memory.assign(pair.two.memory.size(), std::byte{2});
	pair.near.transfer(IBV_WR_RDMA_WRITE, pair.two, 20000);
	is(status_name(pair.near.completion().status), status_name(IBV_WC_SUCCESS), "Write");
	pair.near.transfer(IBV_WR_RDMA_READ, pair.two, 40000);
	is(status_name(pair.near.completion().status), status_name(IBV_WC_SUCCESS), "Read");
	yes(pair.one.memory[19999] == std::byte{1} && pair.one.memory[20000] == std::byte{2},
	    "written and read back");
}

CASE("startkey: queue pairs")
{
	struct {
		const char *one, *two;
	} const rows[] = {
		{"start-key", "start-key"}, {"start-key", "either"}, {"frames", "either"},
	};

	for (const auto &kinds : rows) {
		for (const char *markers : {"off", "on"}) {
			const Row row(kinds.one, kinds.two, "Markers", markers);
			const Setting one{1, "startup", kinds.one}, two{2, "startup", kinds.two};
			const Setting ours{1, "markers", markers};
			const auto passive = counter(2, "conn_passive");
			Pair pair;

			exchange(pair);
			is(counter(2, "conn_passive"), passive + 1, "connections");
		}
	}
}

CASE("startkey: queue pairs of different minds")
{
	struct {
		const char *one, *two;
	} const rows[] = {{"start-key", "frames"}, {"frames", "start-key"}};

	for (const auto &kinds : rows) {
		const Row row(kinds.one, kinds.two);
		const Setting one{1, "startup", kinds.one}, two{2, "startup", kinds.two};
		Device near(1), far(2);
		Queue active(near);
		const Listening listening;
		const auto errors = counter(2, "conn_startup_error");
		const rdmacm::Endpoint end = bare_endpoint("10.77.0.2", listening.port(), 0);
		rdma_conn_param param = parameters(active);

		is(rdma_connect(end.get(), &param), -1, "rdma_connect");
		is(errno, ECONNREFUSED, "the error");
		yes(counter(2, "conn_startup_error") > errors, "counted");
	}
}

CASE("startkey: queue pairs have no private data, nor a rejection")
{
	const Setting one{1, "startup", "start-key"}, two{2, "startup", "start-key"};
	Device near(1), far(2);
	Queue active(near), passive(far);
	char data[] = "x";
	int refused = 0;

	{
		const rdmacm::Endpoint end = bare_endpoint("10.77.0.2", "7799", 0);
		rdma_conn_param param = parameters(active);

		param.private_data = data;
		param.private_data_len = 1;
		is(rdma_connect(end.get(), &param), -1, "rdma_connect");
		is(errno, EINVAL, "private data");
	}
	const auto rejected = counter(2, "conn_rejected");

	accept_from(passive, [&](const std::string &address, const std::string &port) {
		const rdmacm::Endpoint end = bare_endpoint(address, port, 0);
		rdma_conn_param param = parameters(active);

		refused = rdma_connect(end.get(), &param) ? errno : 0;
	}, [&](rdma_cm_id *id, rdma_conn_param &) {
		must_call(rdma_reject(id, data, 1), "rdma_reject");
		// Only rdma_accept() does that, and the listener waits for it.
		rdma_ack_cm_event(std::exchange(id->event, nullptr));
	});
	is(refused, ECONNREFUSED, "rejected");
	is(counter(2, "conn_rejected"), rejected + 1, "counted");
}

CASE("startkey: queue pairs from sockets")
{
	const Setting one{1, "startup", "start-key"}, two{2, "startup", "either"};
	Device near(1), far(2);
	Queue active(near), passive(far);
	net::Tcp tcp;
	char data[] = "x";
	mpadv_socket_attr to{}, from{};

	to.fd = tcp.near.release();
	to.private_data = data;
	to.private_data_len = 1;
	is(mpadv_modify_qp_from_socket(active.qp.get(), &to), EMSGSIZE, "private data");
	yes(to.fd >= 0, "the socket is there");
	to.private_data_len = 0;
	from.fd = tcp.far.release();
	from.flags = MPADV_SOCKET_RESPONDER;
	auto other = std::async(std::launch::async, [&] {
		return mpadv_modify_qp_from_socket(passive.qp.get(), &from);
	});

	is(mpadv_modify_qp_from_socket(active.qp.get(), &to), 0, "the Initiator");
	is(other.get(), 0, "the Responder");
	passive.post_receive(1);
	active.send(2);
	is(passive.completion().wr_id, 1u, "a Send arrives");
}

// A Responder of both kinds has private data, and meets a key: the connection ends.
CASE("startkey: queue pairs from sockets, private data for a key")
{
	const Setting two{2, "startup", "either"};
	Device far(2);
	Queue passive(far);
	net::Tcp tcp;
	net::Wire wire(std::move(tcp.near));
	char data[] = "x";
	mpadv_socket_attr from{};

	from.fd = tcp.far.release();
	from.flags = MPADV_SOCKET_RESPONDER;
	from.private_data = data;
	from.private_data_len = 1;
	wire.send(net::Bytes{} + mpa::bytes("MPA ident frame@"));
	is(mpadv_modify_qp_from_socket(passive.qp.get(), &from), EMSGSIZE, "hand-over");
	wire.expect_end();
	::close(from.fd);
}

} // namespace
