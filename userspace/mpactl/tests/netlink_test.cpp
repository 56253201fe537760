/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// Messages byte by byte: requests to the kernel, and its possible answers.

#include <cerrno>
#include <cstring>

#include <gtest/gtest.h>
#include <linux/genetlink.h>
#include <netlink/attr.h>

#include "fake.hpp"
#include "netlink/codec.hpp"
#include "netlink/netlink.hpp"

using namespace mpactl;
using netlink::Answer;
using netlink::MessagePtr;

namespace {

using Bytes = std::vector<std::uint8_t>;

// Attributes of a request, without its header.
Bytes attributes_of(nl_msg *message)
{
	const auto *first = static_cast<std::uint8_t *>(
		nlmsg_data(nlmsg_hdr(message)));

	return {first, first + nlmsg_datalen(nlmsg_hdr(message))};
}

MessagePtr empty_message()
{
	auto message = netlink::new_message();

	nlmsg_put(message.get(), 0, 0, NLMSG_MIN_TYPE, 0, 0);
	return message;
}

// --- requests ----------------------------------------------------------------------

// Numbers here are little endian.
static_assert(std::endian::native == std::endian::little);

TEST(Request, selects_a_device)
{
	const auto message = empty_message();

	codec::put_device(message.get(), "mpa1");
	EXPECT_EQ(attributes_of(message.get()),
		  (Bytes{16, 0, 1, 0x80, 9, 0, 2, 0, 'm', 'p', 'a', '1', 0, 0, 0,
			 0}));
}

TEST(Request, selects_a_listener_or_connection)
{
	const auto message = empty_message();

	codec::put_listener(message.get(), 3);
	codec::put_connection(message.get(), 0x01020304);
	EXPECT_EQ(attributes_of(message.get()),
		  (Bytes{12, 0, 2, 0x80, 8, 0, 1, 0, 3, 0, 0, 0,
			 12, 0, 3, 0x80, 8, 0, 2, 0, 4, 3, 2, 1}));
}

TEST(Request, changes_the_namespace)
{
	const auto message = empty_message();
	Change change;

	change.to.set(MPA_A_CONFIG_CRC, 0);
	change.to.set(MPA_A_CONFIG_SEGMENTS, 1);
	change.inherit = 1u << MPA_A_CONFIG_IRD;
	codec::put_change(message.get(), change);
	codec::put_check(message.get());
	EXPECT_EQ(attributes_of(message.get()),
		  (Bytes{32, 0, 8, 0x80,
			 20, 0, 4, 0x80,
			 8, 0, 1, 0, 0, 0, 0, 0,
			 8, 0, 14, 0, 1, 0, 0, 0,
			 8, 0, 6, 0, 0, 1, 0, 0,
			 4, 0, 7, 0}));
}

TEST(Request, changes_a_device_and_a_listener)
{
	const auto message = empty_message();
	Change device{Target::device("m"), {}, 2}, listener{Target::listener(9)};

	listener.to.set(MPA_A_CONFIG_ORD, 5);
	codec::put_change(message.get(), device);
	codec::put_change(message.get(), listener);
	EXPECT_EQ(attributes_of(message.get()),
		  (Bytes{24, 0, 8, 0x80,
			 12, 0, 1, 0x80, 6, 0, 2, 0, 'm', 0, 0, 0,
			 8, 0, 6, 0, 2, 0, 0, 0,
			 28, 0, 8, 0x80,
			 12, 0, 2, 0x80, 8, 0, 1, 0, 9, 0, 0, 0,
			 12, 0, 4, 0x80, 8, 0, 9, 0, 5, 0, 0, 0}));
}

TEST(Request, has_room_for_every_change)
{
	Change large{Target::device(std::string(63, 'x')), fake::every_setting(),
		     1};
	const std::vector<Change> changes(1000, large);
	auto message = netlink::new_message(codec::room_for(changes));

	nlmsg_put(message.get(), 0, 0, NLMSG_MIN_TYPE, GENL_HDRLEN, 0);
	for (const auto &change : changes)
		codec::put_change(message.get(), change);
	codec::put_check(message.get());
	message = netlink::new_message(64);
	EXPECT_THROW(codec::put_change(message.get(), large), IoError);
}

// --- acknowledgements ----------------------------------------------------------------

// A datagram that consists of messages.
class Datagram {
public:
	Datagram &message(std::uint16_t type, std::uint16_t flags,
			  std::uint32_t sequence, const Bytes &payload)
	{
		nlmsghdr header{};

		header.nlmsg_len = static_cast<std::uint32_t>(NLMSG_HDRLEN +
							      payload.size());
		header.nlmsg_type = type;
		header.nlmsg_flags = flags;
		header.nlmsg_seq = sequence;
		add(&header, sizeof(header));
		add(payload.data(), payload.size());
		bytes_.resize(NLMSG_ALIGN(bytes_.size()));
		return *this;
	}

	std::span<const std::byte> span() const { return bytes_; }

private:
	void add(const void *data, std::size_t size)
	{
		const auto *first = static_cast<const std::byte *>(data);

		bytes_.insert(bytes_.end(), first, first + size);
	}

	std::vector<std::byte> bytes_;
};

// The data of an NLMSG_ERROR: the error number, a header, attributes.
Bytes error_payload(int error, const Bytes &request, const Bytes &attributes)
{
	Bytes payload(sizeof(int));

	std::memcpy(payload.data(), &error, sizeof(error));
	payload.insert(payload.end(), request.begin(), request.end());
	payload.insert(payload.end(), attributes.begin(), attributes.end());
	return payload;
}

// The header of a request with that many bytes.
Bytes request_header(std::uint32_t bytes)
{
	Bytes header(NLMSG_HDRLEN);

	std::memcpy(header.data(), &bytes, sizeof(bytes));
	return header;
}

Answer answer_to(const Datagram &datagram, int *messages = nullptr)
{
	Answer answer;

	netlink::take(datagram.span(), 7,
		      [&](const nlmsghdr *) {
			      if (messages)
				      ++*messages;
		      },
		      answer);
	return answer;
}

const Bytes message_attribute{7, 0, 1, 0, 'n', 'o', 0, 0};
const Bytes offset_attribute{8, 0, 2, 0, 28, 0, 0, 0};

Bytes both(Bytes first, const Bytes &second)
{
	first.insert(first.end(), second.begin(), second.end());
	return first;
}

TEST(Acknowledgement, plain)
{
	const auto answer = answer_to(Datagram().message(
		NLMSG_ERROR, NLM_F_CAPPED, 7,
		error_payload(0, request_header(100), {})));

	EXPECT_TRUE(answer.done);
	EXPECT_EQ(answer.refusal, Refusal{});
	EXPECT_FALSE(answer.offset);
}

TEST(Acknowledgement, with_a_remark)
{
	const auto answer = answer_to(Datagram().message(
		NLMSG_ERROR, NLM_F_CAPPED | NLM_F_ACK_TLVS, 7,
		error_payload(0, request_header(100), message_attribute)));

	EXPECT_TRUE(answer.done);
	EXPECT_EQ(answer.refusal, (Refusal{0, "no", "", {}}));
}

TEST(Acknowledgement, refusal_after_the_whole_request)
{
	auto request = request_header(24);

	request.resize(24, 0xee);
	const auto answer = answer_to(Datagram().message(
		NLMSG_ERROR, NLM_F_ACK_TLVS, 7,
		error_payload(-EPERM, request,
			      both(message_attribute, offset_attribute))));

	EXPECT_EQ(answer.refusal, (Refusal{EPERM, "no", "", {}}));
	EXPECT_EQ(answer.offset, 28u);
}

TEST(Acknowledgement, policy_has_the_range)
{
	// Nest of type, minimum and maximum.
	const Bytes policy{36, 0, 4, 0x80, 8, 0, 1, 0, 4, 0, 0, 0,
			   12, 0, 4, 0, 1, 0, 0, 0, 0, 0, 0, 0,
			   12, 0, 5, 0, 0xfe, 0x3f, 0, 0, 0, 0, 0, 0};
	const auto answer = answer_to(Datagram().message(
		NLMSG_ERROR, NLM_F_CAPPED | NLM_F_ACK_TLVS, 7,
		error_payload(-ERANGE, request_header(100), policy)));

	EXPECT_EQ(answer.refusal, (Refusal{ERANGE, "", "", {{1, 16382}}}));
}

TEST(Acknowledgement, end_of_a_dump_can_be_a_refusal)
{
	const auto answer = answer_to(Datagram().message(
		NLMSG_DONE, NLM_F_MULTI | NLM_F_ACK_TLVS, 7,
		error_payload(-EINVAL, {}, message_attribute)));

	EXPECT_EQ(answer.refusal, (Refusal{EINVAL, "no", "", {}}));
}

TEST(Answer, ignores_messages_with_another_sequence_number)
{
	int messages = 0;
	const auto answer = answer_to(
		Datagram()
			.message(30, NLM_F_MULTI, 7, {0, 0, 0, 0})
			.message(30, NLM_F_MULTI, 6, {0, 0, 0, 0})
			.message(NLMSG_NOOP, 0, 7, {})
			.message(30, NLM_F_MULTI | NLM_F_DUMP_INTR, 7, {0, 0, 0, 0})
			.message(NLMSG_DONE, NLM_F_MULTI, 7, {0, 0, 0, 0})
			.message(30, 0, 7, {0, 0, 0, 0}),
		&messages);

	EXPECT_EQ(messages, 2);
	EXPECT_TRUE(answer.done);
	EXPECT_TRUE(answer.interrupted);
}

// Nothing beyond the end of a truncated datagram is read.
TEST(Answer, can_be_truncated_anywhere)
{
	const auto whole = Datagram()
				   .message(30, 0, 7, {1, 2, 3, 4})
				   .message(NLMSG_ERROR, NLM_F_ACK_TLVS, 7,
					    error_payload(-EPERM,
							  request_header(16),
							  message_attribute));

	for (std::size_t size = 0; size < whole.span().size(); size++) {
		const std::vector<std::byte> part(whole.span().begin(),
						  whole.span().begin() + size);
		Answer answer;

		netlink::take(part, 7, [](const nlmsghdr *) {}, answer);
		EXPECT_FALSE(answer.done) << size;
	}
}

TEST(Answer, wrong_lengths_are_not_used)
{
	for (const std::uint32_t lie : {0u, 15u, 17u, 1000u, 0xffffffffu}) {
		const auto answer = answer_to(Datagram().message(
			NLMSG_ERROR, NLM_F_ACK_TLVS, 7,
			error_payload(-EPERM, request_header(lie),
				      message_attribute)));

		EXPECT_TRUE(answer.done);
		EXPECT_EQ(answer.refusal.number, EPERM);
	}
}

// --- places ---------------------------------------------------------------------------

TEST(Place, is_found_by_offset)
{
	const auto message = empty_message();
	Change first{Target::device("mpa1")}, second{Target::listener(9)};

	genlmsghdr header{};

	nlmsg_append(message.get(), &header, sizeof(header), NLMSG_ALIGNTO);
	first.to.set(MPA_A_CONFIG_IRD, 1);
	second.to.set(MPA_A_CONFIG_CRC, 1);
	second.to.set(MPA_A_CONFIG_HALF_OPEN_MAX, 1);
	codec::put_change(message.get(), first);
	codec::put_change(message.get(), second);
	const auto place = [&](std::uint32_t offset) {
		return netlink::place_of(nlmsg_hdr(message.get()), GENL_HDRLEN,
					 offset, codec::request_names());
	};

	// 20 bytes of headers; change: 4, dev: 4 + 12, config: 4 + 8.
	EXPECT_EQ(place(20), (netlink::Place{"change", 0}));
	EXPECT_EQ(place(24), (netlink::Place{"change.dev", 0}));
	EXPECT_EQ(place(28), (netlink::Place{"change.dev.name", 0}));
	EXPECT_EQ(place(40), (netlink::Place{"change.config", 0}));
	EXPECT_EQ(place(44), (netlink::Place{"change.config.ird", 0}));
	EXPECT_EQ(place(51), (netlink::Place{"change.config.ird", 0}));
	EXPECT_EQ(place(52), (netlink::Place{"change", 1}));
	EXPECT_EQ(place(60), (netlink::Place{"change.listen.id", 1}));
	EXPECT_EQ(place(72), (netlink::Place{"change.config.crc", 1}));
	EXPECT_EQ(place(80), (netlink::Place{"change.config.half_open_max", 1}));
	for (const std::uint32_t nowhere : {0u, 19u, 88u, 0xffffffffu})
		EXPECT_EQ(place(nowhere), netlink::Place{}) << nowhere;
}

// --- messages of the kernel ---------------------------------------------------------------

// Builds a message of the family like the kernel.
class KernelMessage {
public:
	explicit KernelMessage(std::uint8_t command) : message_(netlink::new_message())
	{
		genlmsghdr header{};

		header.cmd = command;
		nlmsg_put(message_.get(), 0, 0, 30, 0, 0);
		nlmsg_append(message_.get(), &header, sizeof(header),
			     NLMSG_ALIGNTO);
	}

	KernelMessage &begin(int type)
	{
		nests_.push_back(nla_nest_start(message_.get(), type));
		return *this;
	}

	KernelMessage &end()
	{
		// Like that of the kernel; nla_nest_end() removes an empty one.
		nla_nest_end_keep_empty(message_.get(), nests_.back());
		nests_.pop_back();
		return *this;
	}

	KernelMessage &u32(int type, std::uint32_t value)
	{
		nla_put_u32(message_.get(), type, value);
		return *this;
	}

	KernelMessage &flag(int type)
	{
		nla_put_flag(message_.get(), type);
		return *this;
	}

	KernelMessage &u64(int type, std::uint64_t value)
	{
		nla_put_u64(message_.get(), type, value);
		return *this;
	}

	KernelMessage &bytes(int type, const Bytes &value)
	{
		nla_put(message_.get(), type, static_cast<int>(value.size()),
			value.data());
		return *this;
	}

	KernelMessage &text(int type, const char *value)
	{
		nla_put_string(message_.get(), type, value);
		return *this;
	}

	nlmsghdr *get() { return nlmsg_hdr(message_.get()); }

private:
	MessagePtr message_;
	std::vector<nlattr *> nests_;
};

TEST(Decode, device)
{
	KernelMessage message(MPA_CMD_DEV_GET);
	Device wanted;

	message.begin(MPA_A_DEV)
		.u32(MPA_A_DEV_INDEX, 3)
		.text(MPA_A_DEV_NAME, "mpa1")
		.u32(MPA_A_DEV_IFINDEX, 2)
		.text(MPA_A_DEV_IFNAME, "eth0")
		.u32(MPA_A_DEV_ACTIVE, 1)
		.u32(MPA_A_DEV_IRD_MAX, 128)
		.u32(MPA_A_DEV_ORD_MAX, 127)
		.u32(MPA_A_DEV_RTR, 7)
		.u32(MPA_A_DEV_CONNS, 5)
		.u32(MPA_A_DEV_LISTENERS, 6)
		.end()
		.begin(MPA_A_CONFIG)
		.u32(MPA_A_CONFIG_CRC, 0)
		.u32(MPA_A_CONFIG_MAX + 1, 99)
		.end()
		.u32(MPA_A_OWN, 2)
		.begin(MPA_A_OWN_CONFIG)
		.u32(MPA_A_CONFIG_CRC, 1)
		.u32(MPA_A_CONFIG_MAX + 1, 99)
		.end()
		.u32(MPA_A_MAX + 1, 99);
	for (int i = 0; i < 2; i++)
		message.begin(MPA_A_COUNTER)
			.text(MPA_A_COUNTER_NAME, i ? "b" : "a")
			.u64(MPA_A_COUNTER_VALUE, 1ull << (40 + i))
			.end();
	wanted.index = 3;
	wanted.name = "mpa1";
	wanted.ifindex = 2;
	wanted.ifname = "eth0";
	wanted.active = true;
	wanted.ird_max = 128;
	wanted.ord_max = 127;
	wanted.rtr = 7;
	wanted.conns = 5;
	wanted.listeners = 6;
	wanted.config.in_force.set(MPA_A_CONFIG_CRC, 0);
	wanted.config.own = 2;
	wanted.config.as_set.emplace().set(MPA_A_CONFIG_CRC, 1);
	wanted.counters = {{"a", 1ull << 40}, {"b", 1ull << 41}};
	EXPECT_EQ(codec::device_of(message.get()), wanted);
}

// One without settings of its own is not one of an older module.
TEST(Decode, device_whose_settings_are_inherited)
{
	KernelMessage message(MPA_CMD_DEV_GET);
	Device wanted;

	message.begin(MPA_A_DEV)
		.u32(MPA_A_DEV_INDEX, 3)
		.end()
		.begin(MPA_A_OWN_CONFIG)
		.end();
	wanted.index = 3;
	wanted.config.as_set.emplace();
	EXPECT_EQ(codec::device_of(message.get()), wanted);
}

TEST(Decode, listener)
{
	KernelMessage message(MPA_CMD_LISTEN_GET);
	Listener wanted;

	message.begin(MPA_A_LISTEN)
		.u32(MPA_A_LISTEN_ID, 4)
		.u32(MPA_A_LISTEN_OWNER, MPA_OWNER_SOCKET)
		.bytes(MPA_A_LISTEN_ADDR, {10, 77, 0, 1})
		.bytes(MPA_A_LISTEN_PORT, {0x1b, 0x58})
		.u32(MPA_A_LISTEN_BACKLOG, 128)
		.u32(MPA_A_LISTEN_UID, 0)
		.end();
	wanted.id = 4;
	wanted.owner = MPA_OWNER_SOCKET;
	wanted.local = {{10, 77, 0, 1}, 7000, 0};
	wanted.backlog = 128;
	wanted.uid = 0;
	EXPECT_EQ(codec::listener_of(message.get()), wanted);
}

TEST(Decode, connection_before_startup)
{
	KernelMessage message(MPA_CMD_CONN_GET);
	Connection wanted;

	message.begin(MPA_A_CONN)
		.u32(MPA_A_CONN_ID, 1)
		.u32(MPA_A_CONN_OWNER, MPA_OWNER_SOCKET)
		.u64(MPA_A_CONN_INODE, 1ull << 33)
		.u64(MPA_A_CONN_AGE, 12)
		.end();
	wanted.id = 1;
	wanted.owner = MPA_OWNER_SOCKET;
	wanted.inode = 1ull << 33;
	wanted.age_ms = 12;
	EXPECT_EQ(codec::connection_of(message.get()), wanted);
}

// What was read without the lock of the socket is no fact.
TEST(Decode, connection_whose_socket_is_held)
{
	KernelMessage message(MPA_CMD_CONN_GET);
	Connection wanted;

	message.begin(MPA_A_CONN)
		.u32(MPA_A_CONN_ID, 1)
		.u32(MPA_A_CONN_OWNER, MPA_OWNER_SOCKET)
		.u32(MPA_A_CONN_MULPDU, 0)
		.u32(MPA_A_CONN_EMSS, 0)
		.flag(MPA_A_CONN_BUSY)
		.end();
	wanted.id = 1;
	wanted.owner = MPA_OWNER_SOCKET;
	wanted.busy = true;
	EXPECT_EQ(codec::connection_of(message.get()), wanted);
}

TEST(Decode, connection_in_full_operation)
{
	KernelMessage message(MPA_CMD_CONN_UP_NTF);
	Connection wanted;

	message.begin(MPA_A_CONN)
		.u32(MPA_A_CONN_ID, 1)
		.u32(MPA_A_CONN_OWNER, MPA_OWNER_DEVICE)
		.u32(MPA_A_CONN_DEV_INDEX, 0)
		.u32(MPA_A_CONN_QPN, 17)
		.u32(MPA_A_CONN_PHASE, MPA_PHASE_OPERATIONAL)
		.u32(MPA_A_CONN_INITIATOR, 0)
		.u32(MPA_A_CONN_REVISION, 2)
		.u32(MPA_A_CONN_DDP_VERSION, 1)
		.u32(MPA_A_CONN_ENHANCED, 1)
		.u32(MPA_A_CONN_PEER_TO_PEER, 1)
		.u32(MPA_A_CONN_RTR, 4)
		.u32(MPA_A_CONN_TX_MARKERS, 1)
		.u32(MPA_A_CONN_RX_MARKERS, 0)
		.u32(MPA_A_CONN_CRC, 1)
		.u32(MPA_A_CONN_IRD, 5)
		.u32(MPA_A_CONN_ORD, 6)
		.u32(MPA_A_CONN_PEER_IRD, 7)
		.u32(MPA_A_CONN_PEER_ORD, 8)
		.u32(MPA_A_CONN_RDMAP_EXTENSIONS, 1)
		.u32(MPA_A_CONN_TERM_SENT, 2 << 12 | 1 << 8 | 0x42)
		.begin(MPA_A_CONN_STATS)
		.u64(MPA_A_CONN_STATS_TX_FPDUS, 9)
		.u64(MPA_A_CONN_STATS_RX_DROPPED, 10)
		.end()
		.begin(MPA_A_CONN_FRAMING)
		.u32(MPA_A_FRAMING_MODE, 0x12)
		.u32(MPA_A_FRAMING_FLAGS, 5)
		.u32(MPA_A_FRAMING_EMSS, 1412)
		.u32(MPA_A_FRAMING_SEND_INTERVAL, 2048)
		.u32(MPA_A_FRAMING_RECV_INTERVAL, 512)
		.u64(MPA_A_FRAMING_TX_PIECES, 11)
		.u64(MPA_A_FRAMING_RX_UNALIGNED, 12)
		.u64(MPA_A_FRAMING_RX_PARTED, 13)
		.end()
		.end();
	wanted.id = 1;
	wanted.owner = MPA_OWNER_DEVICE;
	wanted.dev_index = 0;
	wanted.qpn = 17;
	wanted.phase = MPA_PHASE_OPERATIONAL;
	wanted.initiator = false;
	wanted.agreed = Agreement{2, 1, true, true, 4, true, false, true, 5, 6, 7,
				  8, true};
	wanted.term_sent = Terminate{2, 1, 0x42};
	wanted.stats = {{MPA_A_CONN_STATS_TX_FPDUS, 9},
			{MPA_A_CONN_STATS_RX_DROPPED, 10}};
	wanted.framing = Framing{0x12, 5, 1412, 2048, 512,
				 {{MPA_A_FRAMING_TX_PIECES, 11},
				  {MPA_A_FRAMING_RX_UNALIGNED, 12},
				  {MPA_A_FRAMING_RX_PARTED, 13}}};
	EXPECT_EQ(codec::connection_of(message.get()), wanted);
	const auto event = codec::event_of(message.get());

	EXPECT_EQ(event.command, MPA_CMD_CONN_UP_NTF);
	EXPECT_EQ(event.connection, wanted);
	EXPECT_FALSE(event.device || event.listener || event.config ||
		     event.failure);
}

TEST(Decode, events_of_settings_are_distinguished)
{
	KernelMessage of_all(MPA_CMD_CONFIG_NTF), of_device(MPA_CMD_CONFIG_NTF);

	of_all.begin(MPA_A_CONFIG).u32(MPA_A_CONFIG_IRD, 1).end().u32(MPA_A_OWN,
								      1 << 8);
	of_device.begin(MPA_A_DEV)
		.text(MPA_A_DEV_NAME, "mpa1")
		.end()
		.begin(MPA_A_CONFIG)
		.u32(MPA_A_CONFIG_IRD, 1)
		.end();
	const auto all = codec::event_of(of_all.get());
	const auto device = codec::event_of(of_device.get());

	ASSERT_TRUE(all.config);
	EXPECT_EQ(all.config->own, 1u << MPA_A_CONFIG_IRD);
	EXPECT_FALSE(device.config);
	ASSERT_TRUE(device.device);
	EXPECT_EQ(device.device->config.in_force.at(MPA_A_CONFIG_IRD), 1u);
}

TEST(Decode, failure)
{
	KernelMessage message(MPA_CMD_FAILURE_NTF);

	message.begin(MPA_A_FAILURE)
		.u32(MPA_A_FAILURE_KIND, MPA_FAILURE_TERM_SENT)
		.u32(MPA_A_FAILURE_ERR, EBADMSG)
		.u32(MPA_A_FAILURE_TERM, 0x1203)
		.u32(MPA_A_FAILURE_SUPPRESSED, 4)
		.end();
	EXPECT_EQ(codec::event_of(message.get()).failure,
		  (Failure{MPA_FAILURE_TERM_SENT, EBADMSG, Terminate{1, 2, 3}, 4}));
}

TEST(Decode, short_messages_are_refused)
{
	KernelMessage no_device(MPA_CMD_DEV_GET), short_number(MPA_CMD_DEV_GET),
		no_header(0);

	EXPECT_THROW(codec::device_of(no_device.get()), IoError);
	short_number.begin(MPA_A_DEV).bytes(MPA_A_DEV_INDEX, {1, 2}).end();
	EXPECT_THROW(codec::device_of(short_number.get()), IoError);
	no_header.get()->nlmsg_len = NLMSG_HDRLEN + 2;
	EXPECT_THROW(codec::defaults_of(no_header.get()), IoError);
}

} // namespace
