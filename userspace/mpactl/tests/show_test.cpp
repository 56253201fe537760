/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// What the showing commands write, to the letter, as text and as JSON.

#include <fstream>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "base/json.hpp"
#include "fake.hpp"
#include "model/names.hpp"

using namespace fake;

namespace {

class Show : public testing::Test {
protected:
	Show() { furnish(world.mpa_); }

	World world;
};

TEST_F(Show, dev)
{
	EXPECT_EQ(world.output("dev"), R"(NAME   NETDEV    STATE   CONNS  LISTENERS  IRD MAX  ORD MAX  RTR
mpa1   eth0      active      1          1      128      128  send,write,read
mpa10  enp3s0f1  down        0          0      128      128  send,write,read
)");
	EXPECT_EQ(world.output("dev show"), world.out_);
	EXPECT_EQ(world.output("dev -j"), R"([
{"index":0,"name":"mpa1","ifindex":2,"ifname":"eth0","active":true,"ird_max":128,"ord_max":128,"rtr":["send","write","read"],"conns":1,"listeners":1},
{"index":1,"name":"mpa10","ifindex":3,"ifname":"enp3s0f1","active":false,"ird_max":128,"ord_max":128,"rtr":["send","write","read"],"conns":0,"listeners":0}
]
)");
	EXPECT_EQ(world.output("dev mpa10"), R"(NAME   NETDEV    STATE  CONNS  LISTENERS  IRD MAX  ORD MAX  RTR
mpa10  enp3s0f1  down       0          0      128      128  send,write,read
)");
}

TEST_F(Show, listen)
{
	EXPECT_EQ(world.output("listen"), R"(ID  OWNER              LOCAL      BACKLOG  HALF OPEN
 3  mpa1               *:7174          10          2
 4  socket, user 1000  [::]:7000      128
)");
	EXPECT_EQ(world.output("--json listen"), R"([
{"id":3,"owner":"device","dev_index":0,"dev":"mpa1","local":{"addr":"0.0.0.0","port":7174},"backlog":10,"half_open":2},
{"id":4,"owner":"socket","local":{"addr":"::","port":7000},"backlog":128,"uid":1000}
]
)");
	EXPECT_EQ(world.output("listen show 4"), R"(ID  OWNER              LOCAL      BACKLOG
 4  socket, user 1000  [::]:7000      128
)");
}

TEST_F(Show, conn)
{
	EXPECT_EQ(world.output("conn"), R"(ID  OWNER              LOCAL            REMOTE           PHASE        ROLE       REV  CRC  MARKERS   IRD/ORD     SENT  RECEIVED        AGE  ENDED BY
17  mpa1 qp 5          10.77.0.1:40312  10.77.0.2:7174   operational  initiator    2  on   received  8/16     1.2 MiB     900 B  3 min 5 s
18  socket, user 1000  [fd77::1]:7000   [fd77::2]:50001  exited       responder                                   0 B       0 B     950 ms  startup (EPROTO)
)");
	EXPECT_EQ(world.output("conn -j"), R"([
{"id":17,"owner":"device","dev_index":0,"dev":"mpa1","qpn":5,"local":{"addr":"10.77.0.1","port":40312},"remote":{"addr":"10.77.0.2","port":7174},"phase":"operational","role":"initiator","age_ms":185000,"revision":2,"ddp_version":1,"enhanced":true,"peer_to_peer":true,"rtr":["read"],"tx_markers":false,"rx_markers":true,"crc":true,"ird":8,"ord":16,"peer_ird":16,"peer_ord":8,"rdmap_extensions":true,"start_key":false,"mulpdu":1440,"emss":1448,"code":"none","err":"","stats":{"tx_fpdus":1000,"tx_bytes":1258291,"rx_bytes":900}},
{"id":18,"owner":"socket","listen_id":4,"uid":1000,"inode":98765,"local":{"addr":"fd77::1","port":7000},"remote":{"addr":"fd77::2","port":50001},"phase":"exited","role":"responder","age_ms":950,"code":"startup","err":"EPROTO","term_sent":{"layer":2,"type":0,"code":3},"stats":{}}
]
)");
	EXPECT_EQ(world.output("conn show id 17"), R"(connection 17
  owner         mpa1 qp 5
  local         10.77.0.1:40312
  remote        10.77.0.2:7174
  phase         operational
  role          initiator
  age           3 min 5 s
  revision      2, DDP version 1, enhanced
  peer-to-peer  opened by read
  CRC           on
  Markers       received
  Read depths   in 8, out 16
  peer's        in 16, out 8
  extensions    RFC 7306
  MULPDU        1440 bytes
  EMSS          1448 bytes
  tx_fpdus      1000
  tx_bytes      1258291
  rx_bytes      900
)");
	EXPECT_EQ(world.output("conn id 18"), R"(connection 18
  owner           socket, user 1000
  listener        4
  inode           98765
  local           [fd77::1]:7000
  remote          [fd77::2]:50001
  phase           exited
  role            responder
  age             950 ms
  ended by        startup (EPROTO)
  Terminate sent  layer 2 type 0 code 0x03
)");
}

TEST_F(Show, conn_with_a_framing)
{
	auto &one = world.mpa_.connections_.back();

	one.phase = MPA_PHASE_OPERATIONAL;
	one.code.reset();
	one.err.reset();
	one.term_sent.reset();
	one.initiator.reset();
	one.framing = mpactl::Framing{TCP_FRAMING_SEND_MARKERS | TCP_FRAMING_RECV_ALIGN,
			      TCP_FRAMING_F_EMERGENCY, 1420, 512, 2048,
			      {{MPA_A_FRAMING_TX_PDUS, 7}, {MPA_A_FRAMING_RX_ALIGNED, 9}}};
	EXPECT_EQ(world.output("conn show id 18"), R"(connection 18
  owner            socket, user 1000
  listener         4
  inode            98765
  local            [fd77::1]:7000
  remote           [fd77::2]:50001
  phase            operational
  age              950 ms
  sends            markers, every 512 bytes
  receives         align
  longest PDU      1420 bytes, emergency mode
  key of the peer  not set
  tx_pdus          7
  rx_aligned       9
)");
	EXPECT_EQ(world.output("conn show id 18 -j"), R"([
{"id":18,"owner":"socket","listen_id":4,"uid":1000,"inode":98765,"local":{"addr":"fd77::1","port":7000},"remote":{"addr":"fd77::2","port":50001},"phase":"operational","age_ms":950,"framing":{"send":"markers","receive":"align","emss":1420,"send_interval":512,"receive_interval":2048,"pack":false,"emergency":true,"receive_key":false,"receive_ended":false,"tx_pdus":7,"rx_aligned":9},"stats":{}}
]
)");
}

TEST_F(Show, stat)
{
	EXPECT_EQ(world.output("stat"), R"(namespace
  attached  12
  failures  0
device mpa1
  tx_fpdus  1000
  tx_bytes  1258291
device mpa10
)");
	EXPECT_EQ(world.output("stat -j"), R"([
{"kind":"defaults","counters":{"attached":12,"failures":0}},
{"kind":"device","dev":"mpa1","counters":{"tx_fpdus":1000,"tx_bytes":1258291}},
{"kind":"device","dev":"mpa10","counters":{}}
]
)");
	EXPECT_EQ(world.output("stat conn 17"), R"(connection 17
  tx_fpdus  1000
  tx_bytes  1258291
  rx_bytes  900
)");
	EXPECT_EQ(world.output("stat conn 17 -j"), R"([
{"kind":"connection","conn":17,"counters":{"tx_fpdus":1000,"tx_bytes":1258291,"rx_bytes":900}}
]
)");
	EXPECT_EQ(world.output("stat dev mpa1"), R"(device mpa1
  tx_fpdus  1000
  tx_bytes  1258291
)");
}

TEST_F(Show, get)
{
	EXPECT_EQ(world.output("get"), R"(SETTING             VALUE            FROM
crc                 required         built in
markers             off              built in
revision            auto             built in
permissive          off              built in
exchange            enhanced         built in
peer-to-peer        on               built in
rtr                 send,write,read  built in
ird                 16382            built in
ord                 16382            built in
startup-timeout     2s               defaults
reply-timeout       30s              built in
half-open-max       128              built in
packing             off              built in
segments            auto             built in
first-fpdu-timeout  0ms              built in
close-timeout       20min            built in
linger-max          8192             built in
keepalive           on               built in
user-qp-max         8192             built in
user-cq-max         16384            built in
user-mr-max         131072           built in
user-pd-max         1024             built in
user-rings-max      4096             built in
rdmap-extensions    negotiate        built in
receive-wait        0ms              built in
peer-timeout        0ms              built in
port-mapping        on               built in
early-placement     off              built in
rto-min             0ms              built in
startup             frames           built in
framing             on               built in
)");
	EXPECT_EQ(world.output("get dev mpa1"), R"(SETTING             VALUE            FROM
crc                 off              device mpa1
markers             off              built in
revision            auto             built in
permissive          off              built in
exchange            enhanced         built in
peer-to-peer        on               built in
rtr                 send,write,read  built in
ird                 128              built in
ord                 128              built in
startup-timeout     2s               defaults
reply-timeout       30s              built in
half-open-max       128              built in
packing             off              built in
segments            auto             built in
first-fpdu-timeout  0ms              built in
close-timeout       20min            built in
linger-max          8192             built in
keepalive           on               built in
user-qp-max         8192             built in
user-cq-max         16384            built in
user-mr-max         131072           built in
user-pd-max         1024             built in
user-rings-max      4096             built in
rdmap-extensions    negotiate        built in
receive-wait        0ms              built in
peer-timeout        0ms              built in
port-mapping        on               built in
early-placement     off              built in
rto-min             0ms              built in
startup             frames           built in
framing             on               built in
)");
	EXPECT_EQ(world.output("get listen 3"), R"(SETTING             VALUE            FROM
crc                 off              device mpa1
markers             on               listener 3
revision            auto             built in
permissive          off              built in
exchange            enhanced         built in
peer-to-peer        on               built in
rtr                 send,write,read  built in
ird                 128              built in
ord                 128              built in
startup-timeout     2s               defaults
reply-timeout       30s              built in
half-open-max       128              built in
packing             off              built in
segments            auto             built in
first-fpdu-timeout  0ms              built in
close-timeout       20min            built in
linger-max          8192             built in
keepalive           on               built in
user-qp-max         8192             built in
user-cq-max         16384            built in
user-mr-max         131072           built in
user-pd-max         1024             built in
user-rings-max      4096             built in
rdmap-extensions    negotiate        built in
receive-wait        0ms              built in
peer-timeout        0ms              built in
port-mapping        on               built in
early-placement     off              built in
rto-min             0ms              built in
startup             frames           built in
framing             on               built in
)");
	EXPECT_EQ(world.output("get -j"), R"({"kind":"defaults","config":{"crc":"required","markers":false,"revision":"auto","permissive":false,"exchange":"enhanced","peer_to_peer":true,"rtr":["send","write","read"],"ird":16382,"ord":16382,"startup_timeout":2000,"reply_timeout":30000,"half_open_max":128,"packing":false,"segments":"auto","first_fpdu_timeout":0,"close_timeout":1200000,"linger_max":8192,"keepalive":true,"user_qp_max":8192,"user_cq_max":16384,"user_mr_max":131072,"user_pd_max":1024,"user_rings_max":4096,"rdmap_extensions":"negotiate","receive_wait":0,"peer_timeout":0,"port_mapping":true,"early_placement":false,"rto_min":0,"startup":"frames","framing":true},"own":["startup_timeout"],"from":{"crc":"built-in","markers":"built-in","revision":"built-in","permissive":"built-in","exchange":"built-in","peer_to_peer":"built-in","rtr":"built-in","ird":"built-in","ord":"built-in","startup_timeout":"defaults","reply_timeout":"built-in","half_open_max":"built-in","packing":"built-in","segments":"built-in","first_fpdu_timeout":"built-in","close_timeout":"built-in","linger_max":"built-in","keepalive":"built-in","user_qp_max":"built-in","user_cq_max":"built-in","user_mr_max":"built-in","user_pd_max":"built-in","user_rings_max":"built-in","rdmap_extensions":"built-in","receive_wait":"built-in","peer_timeout":"built-in","port_mapping":"built-in","early_placement":"built-in","rto_min":"built-in","startup":"built-in","framing":"built-in"}}
)");
	EXPECT_EQ(world.output("get dev mpa1 -j"), R"({"kind":"device","name":"mpa1","config":{"crc":"off","markers":false,"revision":"auto","permissive":false,"exchange":"enhanced","peer_to_peer":true,"rtr":["send","write","read"],"ird":128,"ord":128,"startup_timeout":2000,"reply_timeout":30000,"half_open_max":128,"packing":false,"segments":"auto","first_fpdu_timeout":0,"close_timeout":1200000,"linger_max":8192,"keepalive":true,"user_qp_max":8192,"user_cq_max":16384,"user_mr_max":131072,"user_pd_max":1024,"user_rings_max":4096,"rdmap_extensions":"negotiate","receive_wait":0,"peer_timeout":0,"port_mapping":true,"early_placement":false,"rto_min":0,"startup":"frames","framing":true},"own":["crc"],"from":{"crc":"device","markers":"built-in","revision":"built-in","permissive":"built-in","exchange":"built-in","peer_to_peer":"built-in","rtr":"built-in","ird":"built-in","ord":"built-in","startup_timeout":"defaults","reply_timeout":"built-in","half_open_max":"built-in","packing":"built-in","segments":"built-in","first_fpdu_timeout":"built-in","close_timeout":"built-in","linger_max":"built-in","keepalive":"built-in","user_qp_max":"built-in","user_cq_max":"built-in","user_mr_max":"built-in","user_pd_max":"built-in","user_rings_max":"built-in","rdmap_extensions":"built-in","receive_wait":"built-in","peer_timeout":"built-in","port_mapping":"built-in","early_placement":"built-in","rto_min":"built-in","startup":"built-in","framing":"built-in"}}
)");
	EXPECT_EQ(world.output("get listen 3 -j"), R"({"kind":"listener","id":3,"config":{"crc":"off","markers":true,"revision":"auto","permissive":false,"exchange":"enhanced","peer_to_peer":true,"rtr":["send","write","read"],"ird":128,"ord":128,"startup_timeout":2000,"reply_timeout":30000,"half_open_max":128,"packing":false,"segments":"auto","first_fpdu_timeout":0,"close_timeout":1200000,"linger_max":8192,"keepalive":true,"user_qp_max":8192,"user_cq_max":16384,"user_mr_max":131072,"user_pd_max":1024,"user_rings_max":4096,"rdmap_extensions":"negotiate","receive_wait":0,"peer_timeout":0,"port_mapping":true,"early_placement":false,"rto_min":0,"startup":"frames","framing":true},"own":["markers"],"from":{"crc":"device","markers":"listener","revision":"built-in","permissive":"built-in","exchange":"built-in","peer_to_peer":"built-in","rtr":"built-in","ird":"built-in","ord":"built-in","startup_timeout":"defaults","reply_timeout":"built-in","half_open_max":"built-in","packing":"built-in","segments":"built-in","first_fpdu_timeout":"built-in","close_timeout":"built-in","linger_max":"built-in","keepalive":"built-in","user_qp_max":"built-in","user_cq_max":"built-in","user_mr_max":"built-in","user_pd_max":"built-in","user_rings_max":"built-in","rdmap_extensions":"built-in","receive_wait":"built-in","peer_timeout":"built-in","port_mapping":"built-in","early_placement":"built-in","rto_min":"built-in","startup":"built-in","framing":"built-in"}}
)");
}

// --- mpactl(8) ------------------------------------------------------------------------

using JsonKeys = std::set<std::string>;

// The words of .Brq and .Va lines in the description of a command's JSON output.
JsonKeys keys_in_manual(const std::string &command)
{
	std::ifstream page(MPACTL_TREE "/../../Documentation/man/mpactl.8");
	JsonKeys keys;
	bool json = false, here = false;

	EXPECT_TRUE(page.good());
	for (std::string line; std::getline(page, line);) {
		if (line.starts_with(".Sh ") || line.starts_with(".Ss "))
			json = line == ".Ss JSON";
		if (line.starts_with(".It "))
			here = line == ".It Cm " + command;
		if (!json || !here || !(line.starts_with(".Brq") || line.starts_with(".Va")))
			continue;
		std::istringstream words(line);

		for (std::string word; words >> word;)
			keys.insert(word);
	}
	return keys;
}

// Adds the keys of all objects in `json`. mpactl(8) does not list the members of objects
// whose keys are names of settings and counters, and says "as above" of some.
void collect(const Json &json, const JsonKeys &closed, JsonKeys &keys)
{
	if (json.is_array())
		for (const auto &one : json)
			collect(one, closed, keys);
	if (!json.is_object())
		return;
	for (const auto &[key, value] : json.items()) {
		keys.insert(key);
		if (!closed.contains(key))
			collect(value, closed, keys);
	}
}

// The connections have every member that is ever written.
void with_every_member(Mpa &mpa)
{
	auto &of_device = mpa.connections_[0];
	auto &of_socket = mpa.connections_[1];

	of_device.agreed->start_key = true;
	of_device.busy = true;
	of_device.term_received = Terminate{1, 2, 3};
	of_socket.framing = mpactl::Framing{TCP_FRAMING_SEND_MARKERS | TCP_FRAMING_RECV_ALIGN,
					    0, 1420, 512, 2048, {}};
	for (const auto &word : framing_stats_words)
		of_socket.framing->stats.push_back({word.number, 1});
}

TEST_F(Show, manual_page_lists_every_json_key)
{
	const JsonKeys closed{"config", "from", "defaults", "stats", "counters", "rates"};
	const JsonKeys as_above{"conn", "listen", "dev", "config", "stat"};
	const struct {
		const char *command;
		const char *arguments;
		const JsonKeys &closed;
	} rows[] = {
		{"dev", "dev -j", closed},
		{"listen", "listen -j", closed},
		{"conn", "conn -j", closed},
		{"stat", "stat -j", closed},
		{"stat", "stat conn 17 -j", closed},
		{"stat Fl -watch", "stat dev mpa1 -j --watch=1", as_above},
		{"get", "get -j", closed},
		{"get", "get dev mpa1 -j", closed},
		{"get", "get listen 3 -j", closed},
		{"monitor", "monitor -j", as_above},
		{"save", "save", closed},
	};

	with_every_member(world.mpa_);
	world.sleeps_ = {[] {}};
	world.mpa_.notices_ = {
		Event{.command = MPA_CMD_CONN_UP_NTF, .connection = world.mpa_.connections_[0]},
		Event{.command = MPA_CMD_DEV_ADD_NTF, .device = world.mpa_.devices_[0]},
		Event{.command = MPA_CMD_CONFIG_NTF, .device = world.mpa_.devices_[0]},
		Event{.command = MPA_CMD_CONFIG_NTF, .listener = world.mpa_.listeners_[0]},
		Event{.command = MPA_CMD_FAILURE_NTF, .listener = world.mpa_.listeners_[0],
		      .failure = Failure{MPA_FAILURE_HALF_OPEN, 0, Terminate{2, 0, 3}, 0}},
		Lost{37}};
	for (const auto &row : rows) {
		const auto in_manual = keys_in_manual(row.command);
		JsonKeys keys;

		std::istringstream values(world.output(row.arguments));

		for (Json value; values >> std::ws && values.peek() != EOF;) {
			values >> value;
			collect(value, row.closed, keys);
		}
		EXPECT_FALSE(keys.empty()) << row.arguments;
		for (const auto &key : keys)
			EXPECT_TRUE(in_manual.contains(key)) << row.arguments << ": " << key;
	}
}

} // namespace
