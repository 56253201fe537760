/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// Messages by verbs. One protection domain, one completion queue and two memory
// regions serve all connections of a job.
//
// A receiver of Sends must always have a receive posted: the sender starts with
// as many credits as the receiver has posted receives, and gets `depth` of them
// back, in a separate message, each time as many receives were posted again.
// Such a message differs from data by its length; its contents have no meaning,
// since later messages may arrive in the same buffer. The first message that a
// client sends on a connection, the greeting, is worth no credits: with iWARP,
// the server must not send before something has arrived.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "job.hpp"
#include "stats.hpp"
#include "transport.hpp"
#include "verbs.hpp"
#include "wire.hpp"

namespace bench {

class VerbsTransport {
public:
	// Uses the device that has the local address.
	VerbsTransport(const Job &job, bool is_client, const Address &local);
	VerbsTransport(const VerbsTransport &) = delete;
	VerbsTransport &operator=(const VerbsTransport &) = delete;
	~VerbsTransport();

	// --- set-up and end --------------------------------------------------------

	std::string device() const;
	std::uint32_t inline_bytes() const noexcept { return inline_; }
	wire::Regions regions() const;
	void set_peer(const wire::Regions &peer) { peer_ = peer; }

	// Server: where it listens.
	std::uint16_t listen(std::uint64_t cookie);
	// The descriptor that becomes readable when pump() has something to do.
	int event_fd() const noexcept { return channel_->fd; }
	// Handles connections that come and go, without waiting.
	void pump();
	// Server: all of the client's connections are established.
	bool complete() const noexcept;
	// Server: number of connections established so far.
	std::uint64_t accepted() const noexcept { return accepted_; }

	// Client: makes the connections first to end - 1; returns the time each
	// took, in nanoseconds.
	void connect(const Address &server, std::uint64_t cookie, std::uint32_t first,
		     std::uint32_t end, Histogram &times);
	// Client: ends the connections.
	void disconnect();

	// --- messages; transport.hpp -----------------------------------------------

	std::uint32_t room(std::uint32_t connection) const noexcept
	{
		const auto &one = connections_[connection];
		const auto free = job_.depth - one.outstanding;

		return with_credits_ && one.credits < free ? one.credits : free;
	}
	std::uint32_t outstanding(std::uint32_t connection) const noexcept
	{
		return connections_[connection].outstanding;
	}
	std::uint32_t ragged(std::uint32_t connection) const noexcept
	{
		return connections_[connection].unsignaled;
	}
	bool prompt() const noexcept { return true; }
	void attend(bool all) noexcept
	{
		// The device may grant less than was requested.
		armed_ = armed_ && !only_solicited_;
		only_solicited_ = !all && only_solicited(job_, is_client_);
	}
	void post(std::uint32_t connection, std::uint32_t n, bool last);
	void fence(std::uint32_t connection);
	std::span<const Completion> reap(Completions &completions);
	Rest block(int fd);
	void fill_round(std::uint64_t first, std::uint32_t count);
	void check_round(std::uint64_t first, std::uint32_t count);

private:
	struct Connection {
		verbs::Id id;
		bool established = false;
		// Server: the greeting has arrived.
		bool greeted = false;
		Clock::time_point started;
		// Messages in the send queue; and those since the last one with
		// a completion.
		std::uint32_t outstanding = 0;
		std::uint32_t unsignaled = 0;
		std::uint32_t credits = 0;
		std::uint32_t credit_sends = 0;
		// Received, but their receives are not posted again yet.
		std::uint32_t consumed = 0;
		// Numbers of messages, and of receives.
		std::uint64_t sent = 0;
		std::uint64_t received = 0;
		std::uint64_t receives = 0;
	};

	enum class Kind : std::uint8_t { message, receive, credit, fence };
	// What an event means for the connection of a client.
	enum class Step : std::uint8_t { under_way, established, port_in_use };

	static std::uint64_t wr_id(Kind kind, std::uint32_t connection,
				   std::uint32_t value) noexcept
	{
		return static_cast<std::uint64_t>(kind) << 62 |
			static_cast<std::uint64_t>(connection) << 32 | value;
	}

	void make_queues();
	void make_buffers();
	void prepare_requests();
	bool carries_data() const noexcept;
	std::uint32_t receives() const noexcept;
	std::uint32_t repost_batch() const noexcept;
	rdma_conn_param parameters(const void *data, std::uint8_t size) const;
	ibv_qp_init_attr queue_pair() const;

	void add_queue_pair(rdma_cm_id *id);
	void begin(std::uint32_t connection, const Address &server);
	void begin_again(std::uint32_t connection, const Address &server);
	static std::uint32_t index_of(const rdma_cm_event &event);
	Step step(const rdma_cm_event &event, std::uint32_t index, Histogram &times);
	void on_request(rdma_cm_id *id, const rdma_conn_param &param);
	void on_end(rdma_cm_id *id);
	void take_in(verbs::Id id, const rdma_conn_param &param, std::uint32_t index);

	void post_receives(std::uint32_t connection, std::uint32_t n);
	void post_one(std::uint32_t connection, ibv_send_wr &wr);
	void post_credit(std::uint32_t connection);
	void give_credit(std::uint32_t connection);
	std::optional<Completion> on_completion(const ibv_wc &wc);
	std::optional<Completion> on_receive(std::uint32_t connection, const ibv_wc &wc);
	std::optional<Completion> on_credit(std::uint32_t connection, const ibv_wc &wc);
	[[noreturn]] void on_error(const ibv_wc &wc) const;
	void take_event();

	const Job job_;
	const bool is_client_;
	const bool takes_;
	const bool with_credits_;
	// Messages without the solicited flag need not wake this side.
	bool only_solicited_ = false;
	const Slots source_slots_;
	const Slots sink_slots_;
	std::uint64_t cookie_ = 0;
	wire::Regions peer_;
	std::uint32_t inline_ = 0;

	verbs::Channel channel_;
	// Bound to the address; the server's identifier listens.
	verbs::Id anchor_;
	ibv_device_attr device_{};
	verbs::Pd pd_;
	verbs::Cq placeholder_;
	verbs::CompletionChannel completion_channel_;
	verbs::Cq cq_;
	Buffer source_;
	Buffer sink_;
	verbs::Mr source_mr_;
	verbs::Mr sink_mr_;
	// Created last, destroyed first.
	std::vector<Connection> connections_;
	// For the test of set-up, where the server does not distinguish
	// connections.
	std::unordered_map<rdma_cm_id *, verbs::Id> guests_;
	std::uint32_t begun_again_ = 0;
	std::uint64_t accepted_ = 0;
	std::uint32_t established_ = 0;
	std::uint32_t greeted_ = 0;

	// Posted as chains, and filled in each time.
	std::vector<ibv_send_wr> sends_;
	std::vector<ibv_sge> send_pieces_;
	std::vector<ibv_recv_wr> receives_;
	std::vector<ibv_sge> receive_pieces_;
	bool armed_ = false;
	unsigned int unacknowledged_ = 0;
};

} // namespace bench
