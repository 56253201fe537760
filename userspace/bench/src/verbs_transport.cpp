/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#include "verbs_transport.hpp"

#include <algorithm>
#include <cstring>

#include <endian.h>
#include <fmt/format.h>
#include <poll.h>

namespace bench {

namespace {

// Private data of a connection request, in network byte order.
struct VerbsIntroduction {
	std::uint64_t cookie;
	std::uint32_t index;
	std::uint32_t reserved;
};
static_assert(sizeof(VerbsIntroduction) == 16);

// After the messages in the source region: the memory that credits are sent
// from and that a fence reads into.
constexpr std::size_t credit_at = 0;
constexpr std::size_t fence_at = 32;
constexpr std::size_t extra_bytes = 64;

// Connections being set up at the same time.
constexpr std::uint32_t at_once = 32;
// Source ports in use that connect() meets before it is an error.
constexpr std::uint32_t most_again = 1000;
// Reads of a connection that the peer serves at the same time.
constexpr int reads_at_once = 64;
constexpr int resolve_ms = 2000;

std::uint8_t least(int a, int b, int c)
{
	return static_cast<std::uint8_t>(std::clamp(std::min({a, b, c}), 0, 255));
}

// siw gives a program the offset at which to map a queue, and uses 0x90000 to
// mark an invalid one. Offsets are handed out in order, so the queue pair that
// gets that offset cannot be created. An unused queue of 1 MiB keeps the offset
// from all others. This is the same for all devices.
verbs::Cq placeholder(const Job &job, ibv_context *context, const ibv_device_attr &device)
{
	constexpr int entries = 32768;

	if (job.connections == 1)
		return {};
	return verbs::make_cq(context, std::min(entries, device.max_cqe), nullptr);
}

} // namespace

// --- set-up ------------------------------------------------------------------------

VerbsTransport::VerbsTransport(const Job &job, bool is_client, const Address &local)
	: job_(job), is_client_(is_client), takes_(takes(job, is_client)),
	  with_credits_(job.test == Test::stream && two_sided(job)),
	  source_slots_(job, source_slots(job)), sink_slots_(job, sink_slots(job)),
	  channel_(verbs::make_channel()), anchor_(verbs::bind(channel_.get(), local)),
	  device_(verbs::attributes(anchor_->verbs)), pd_(verbs::make_pd(anchor_->verbs)),
	  placeholder_(placeholder(job, anchor_->verbs, device_)),
	  completion_channel_(verbs::make_completion_channel(anchor_->verbs)),
	  source_(source_bytes(job) + extra_bytes), sink_(sink_bytes(job)),
	  connections_(job.connections)
{
	make_queues();
	make_buffers();
	prepare_requests();
}

VerbsTransport::~VerbsTransport()
{
	if (unacknowledged_)
		ibv_ack_cq_events(cq_.get(), unacknowledged_);
}

bool VerbsTransport::carries_data() const noexcept
{
	return job_.test == Test::stream || job_.test == Test::latency;
}

// Number of receives posted for a connection.
std::uint32_t VerbsTransport::receives() const noexcept
{
	if (!carries_data())
		return 0;
	return (takes_ || (job_.test == Test::latency && two_sided(job_))
			? receive_window(job_) : 0) + credit_receives;
}

std::uint32_t VerbsTransport::repost_batch() const noexcept
{
	return job_.test == Test::latency ? 1 : job_.depth;
}

void VerbsTransport::make_queues()
{
	const std::uint32_t sends = job_.depth + spare_sends;
	const std::uint64_t entries = carries_data()
		? std::uint64_t{job_.connections} * (sends + receives()) : 16;

	if (sends > static_cast<std::uint32_t>(device_.max_qp_wr) ||
	    receives() > static_cast<std::uint32_t>(device_.max_qp_wr))
		throw Failure(fmt::format("{} allows {} requests in a queue: less depth",
					  device(), device_.max_qp_wr),
			      Status::unavailable);
	if (entries > static_cast<std::uint64_t>(device_.max_cqe))
		throw Failure(fmt::format("{} allows {} completions in a queue, not {}: "
					  "less depth or connections",
					  device(), device_.max_cqe, entries),
			      Status::unavailable);
	cq_ = verbs::make_cq(anchor_->verbs, static_cast<int>(entries),
			     completion_channel_.get());
}

// Not zeros: otherwise the kernel would back all of it with one page.
void VerbsTransport::make_buffers()
{
	pattern_fill({0, 0, is_client_}, 0, source_.at(0, source_bytes(job_)));
	source_mr_ = verbs::register_memory(pd_.get(), source_.data(), source_.size());
	sink_mr_ = verbs::register_memory(pd_.get(), sink_.data(), sink_.size());
}

void VerbsTransport::prepare_requests()
{
	static constexpr ibv_wr_opcode opcodes[] = {
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_SEND,
	};

	sends_.resize(job_.list);
	send_pieces_.resize(job_.list);
	for (std::size_t i = 0; i < sends_.size(); i++) {
		send_pieces_[i].length = job_.size;
		send_pieces_[i].lkey = job_.op == Op::read ? sink_mr_->lkey
							   : source_mr_->lkey;
		sends_[i].opcode = opcodes[static_cast<std::size_t>(job_.op)];
		sends_[i].sg_list = &send_pieces_[i];
		sends_[i].num_sge = 1;
	}
	receives_.resize(std::max(receives(), 1U));
	receive_pieces_.resize(receives_.size());
	for (std::size_t i = 0; i < receives_.size(); i++) {
		receive_pieces_[i].length = static_cast<std::uint32_t>(stride(job_));
		receive_pieces_[i].lkey = sink_mr_->lkey;
		receives_[i].sg_list = &receive_pieces_[i];
		receives_[i].num_sge = 1;
	}
}

std::string VerbsTransport::device() const
{
	return ibv_get_device_name(anchor_->verbs->device);
}

wire::Regions VerbsTransport::regions() const
{
	return {{reinterpret_cast<std::uintptr_t>(source_.data()), source_mr_->rkey},
		{reinterpret_cast<std::uintptr_t>(sink_.data()), sink_mr_->rkey}};
}

ibv_qp_init_attr VerbsTransport::queue_pair() const
{
	ibv_qp_init_attr attr{};

	attr.send_cq = attr.recv_cq = cq_.get();
	attr.cap.max_send_wr = job_.depth + spare_sends;
	attr.cap.max_recv_wr = std::max(receives(), job_.depth);
	attr.cap.max_send_sge = attr.cap.max_recv_sge = 1;
	attr.cap.max_inline_data = job_.inline_bytes;
	attr.qp_type = IBV_QPT_RC;
	return attr;
}

void VerbsTransport::add_queue_pair(rdma_cm_id *id)
{
	auto attr = queue_pair();

	if (id->verbs != anchor_->verbs)
		throw Failure("the connection uses another RDMA device than the control "
			      "connection's address has");
	// Providers may fail without setting errno; an old value would mislead.
	errno = ENODATA;
	if (rdma_create_qp(id, pd_.get(), &attr))
		fail(fmt::format("queue pair of depth {} with {} bytes inline",
				 job_.depth, job_.inline_bytes),
		     errno == ENOMEM ? Status::unavailable : Status::failed);
	inline_ = job_.inline_bytes ? attr.cap.max_inline_data : 0;
}

rdma_conn_param VerbsTransport::parameters(const void *data, std::uint8_t size) const
{
	rdma_conn_param param{};

	param.private_data = data;
	param.private_data_len = size;
	param.responder_resources =
		least(device_.max_qp_rd_atom, reads_at_once, reads_at_once);
	param.initiator_depth =
		least(device_.max_qp_init_rd_atom, reads_at_once, reads_at_once);
	param.retry_count = param.rnr_retry_count = 7;
	return param;
}

// --- server --------------------------------------------------------------------------

std::uint16_t VerbsTransport::listen(std::uint64_t cookie)
{
	cookie_ = cookie;
	if (rdma_listen(anchor_.get(), 1024))
		fail("rdma_listen");
	return ntohs(rdma_get_src_port(anchor_.get()));
}

bool VerbsTransport::complete() const noexcept
{
	return established_ == job_.connections &&
		(!carries_data() || greeted_ == job_.connections);
}

// An event must be acknowledged before its identifier can be destroyed.
void VerbsTransport::pump()
{
	while (auto event = verbs::next_event(channel_.get())) {
		rdma_cm_id *const id = event->id;
		const auto what = event->event;

		if (what == RDMA_CM_EVENT_CONNECT_REQUEST) {
			on_request(id, event->param.conn);
			continue;
		}
		event.reset();
		if (what == RDMA_CM_EVENT_ESTABLISHED) {
			established_++;
			accepted_++;
		} else if (what == RDMA_CM_EVENT_DEVICE_REMOVAL) {
			throw Failure("the RDMA device was removed");
		} else if (what != RDMA_CM_EVENT_TIMEWAIT_EXIT) {
			on_end(id);
		}
	}
	if (!is_client_ && carries_data() && greeted_ < job_.connections) {
		Completions completions;

		reap(completions);
	}
}

// Without the right cookie it is another program's client.
void VerbsTransport::on_request(rdma_cm_id *raw, const rdma_conn_param &param)
{
	verbs::Id id(raw);
	VerbsIntroduction said{};

	if (param.private_data && param.private_data_len >= sizeof(said))
		std::memcpy(&said, param.private_data, sizeof(said));
	const std::uint32_t index = be32toh(said.index);
	const bool known = be64toh(said.cookie) == cookie_ &&
		index < connections_.size() &&
		(job_.test == Test::connect || !connections_[index].id);
	if (known)
		take_in(std::move(id), param, index);
	else
		rdma_reject(id.get(), nullptr, 0);
}

void VerbsTransport::take_in(verbs::Id id, const rdma_conn_param &asked,
			     std::uint32_t index)
{
	auto param = parameters(nullptr, 0);

	add_queue_pair(id.get());
	// Peers that do not support it leave 0.
	if (asked.responder_resources)
		param.responder_resources =
			std::min(param.responder_resources, asked.responder_resources);
	if (asked.initiator_depth)
		param.initiator_depth =
			std::min(param.initiator_depth, asked.initiator_depth);
	rdma_cm_id *const raw = id.get();
	if (job_.test == Test::connect) {
		guests_.emplace(raw, std::move(id));
	} else {
		connections_[index].id = std::move(id);
		connections_[index].credits = receive_window(job_);
		post_receives(index, receives());
	}
	if (rdma_accept(raw, &param))
		fail("rdma_accept");
}

void VerbsTransport::on_end(rdma_cm_id *id)
{
	if (guests_.erase(id))
		return;
	if (job_.test != Test::memory)
		throw Failure("the peer has ended a connection");
}

// --- client --------------------------------------------------------------------------

void VerbsTransport::begin(std::uint32_t connection, const Address &server)
{
	auto &one = connections_[connection];
	Address address = server;

	one = Connection();
	one.started = Clock::now();
	one.credits = receive_window(job_);
	one.id = verbs::make_id(channel_.get(),
				reinterpret_cast<void *>(std::uintptr_t{connection}));
	if (rdma_resolve_addr(one.id.get(), nullptr, address.get(), resolve_ms))
		fail("rdma_resolve_addr");
}

void VerbsTransport::connect(const Address &server, std::uint64_t cookie,
			     std::uint32_t first, std::uint32_t end, Histogram &times)
{
	const int fds[] = {event_fd()};
	const auto patience = Milliseconds(job_.timeout_ms);
	std::uint32_t begun = first, done = first;

	cookie_ = cookie;
	begun_again_ = 0;
	while (done < end) {
		while (begun < end && begun - done < at_once)
			begin(begun++, server);
		if (!wait_readable(fds, patience))
			throw Failure("no RDMA connection in time");
		while (auto event = verbs::next_event(channel_.get())) {
			const std::uint32_t index = index_of(*event);
			const Step what = step(*event, index, times);

			event.reset();
			done += what == Step::established;
			if (what == Step::port_in_use)
				begin_again(index, server);
		}
	}
}

// With another source port. The time goes on.
void VerbsTransport::begin_again(std::uint32_t connection, const Address &server)
{
	const Clock::time_point started = connections_[connection].started;

	if (++begun_again_ > most_again)
		throw Failure(fmt::format("RDMA connection {}: TCP uses its source port, and "
					  "{} others were in use before",
					  connection, most_again));
	begin(connection, server);
	connections_[connection].started = started;
}

std::uint32_t VerbsTransport::index_of(const rdma_cm_event &event)
{
	return static_cast<std::uint32_t>(
		reinterpret_cast<std::uintptr_t>(event.id->context));
}

VerbsTransport::Step VerbsTransport::step(const rdma_cm_event &event, std::uint32_t index,
					  Histogram &times)
{
	rdma_cm_id *const id = event.id;
	const VerbsIntroduction said{htobe64(cookie_), htobe32(index), 0};
	auto param = parameters(&said, sizeof(said));

	switch (event.event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		if (rdma_resolve_route(id, resolve_ms))
			fail("rdma_resolve_route");
		return Step::under_way;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		add_queue_pair(id);
		post_receives(index, receives());
		if (!rdma_connect(id, &param))
			return Step::under_way;
		// The core selects a port without TCP, and siw does not look for another.
		if (errno == EADDRINUSE || errno == EADDRNOTAVAIL)
			return Step::port_in_use;
		fail("rdma_connect");
	case RDMA_CM_EVENT_ESTABLISHED:
		times.add(nanoseconds_since(connections_[index].started));
		connections_[index].established = true;
		if (carries_data())
			post_credit(index);
		return Step::established;
	default:
		throw Failure(fmt::format("RDMA connection {}: {}, status {}", index,
					  rdma_event_str(event.event), event.status));
	}
}

void VerbsTransport::disconnect()
{
	const int fds[] = {event_fd()};
	std::uint32_t left = 0;

	for (auto &one : connections_) {
		if (!one.established)
			continue;
		if (rdma_disconnect(one.id.get()))
			fail("rdma_disconnect");
		left++;
	}
	while (left) {
		if (!wait_readable(fds, Milliseconds(job_.timeout_ms)))
			throw Failure("an RDMA connection does not end");
		while (auto event = verbs::next_event(channel_.get()))
			left -= event->event == RDMA_CM_EVENT_DISCONNECTED;
	}
	for (auto &one : connections_)
		one = Connection();
}

// --- posting ---------------------------------------------------------------------------

void VerbsTransport::post_receives(std::uint32_t connection, std::uint32_t n)
{
	auto &one = connections_[connection];
	ibv_recv_wr *bad = nullptr;

	if (n == 0)
		return;
	for (std::uint32_t i = 0; i < n; i++) {
		const auto slot = sink_slots_.index(one.receives++);
		const auto offset = sink_slots_.offset(connection, slot);

		receive_pieces_[i].addr =
			reinterpret_cast<std::uintptr_t>(sink_.data() + offset);
		receives_[i].wr_id = wr_id(Kind::receive, connection,
					   static_cast<std::uint32_t>(slot));
		receives_[i].next = i + 1 < n ? &receives_[i + 1] : nullptr;
	}
	ibv_qp *const qp = connections_[connection].id->qp;
	if (const int error = ibv_post_recv(qp, receives_.data(), &bad))
		fail("ibv_post_recv", Status::failed, error);
}

void VerbsTransport::post_one(std::uint32_t connection, ibv_send_wr &wr)
{
	ibv_send_wr *bad = nullptr;

	if (const int error = ibv_post_send(connections_[connection].id->qp, &wr, &bad))
		fail("ibv_post_send", Status::failed, error);
}

void VerbsTransport::post(std::uint32_t connection, std::uint32_t n, bool last)
{
	auto &one = connections_[connection];
	const bool reads = job_.op == Op::read;
	const auto &local = reads ? sink_slots_ : source_slots_;
	const auto &remote = reads ? source_slots_ : sink_slots_;
	const auto &region = reads ? peer_.source : peer_.sink;
	std::byte *const base = reads ? sink_.data() : source_.data();
	const unsigned int always = job_.size <= inline_ && !reads ? IBV_SEND_INLINE : 0;

	for (std::uint32_t i = 0; i < n; i++, one.sent++) {
		auto &wr = sends_[i];
		const auto offset = local.offset(connection, one.sent);

		if (job_.verify && !reads)
			pattern_fill({connection, one.sent, is_client_}, 0,
				     source_.at(offset, job_.size));
		send_pieces_[i].addr = reinterpret_cast<std::uintptr_t>(base + offset);
		if (job_.op != Op::send) {
			wr.wr.rdma.remote_addr = region.address +
				remote.offset(connection, one.sent);
			wr.wr.rdma.rkey = region.key;
		}
		wr.send_flags = always;
		if (job_.op == Op::send && (one.sent + 1) % job_.solicit == 0)
			wr.send_flags |= IBV_SEND_SOLICITED;
		if (++one.unsignaled == job_.moderation || (last && i + 1 == n)) {
			wr.send_flags |= IBV_SEND_SIGNALED;
			wr.wr_id = wr_id(Kind::message, connection, one.unsignaled);
			one.unsignaled = 0;
		} else {
			// If it fails, it still completes.
			wr.wr_id = wr_id(Kind::message, connection, 0);
		}
		wr.next = i + 1 < n ? &sends_[i + 1] : nullptr;
	}
	one.outstanding += n;
	if (with_credits_)
		one.credits -= n;
	post_one(connection, sends_[0]);
}

void VerbsTransport::fence(std::uint32_t connection)
{
	ibv_sge piece{};
	ibv_send_wr wr{};

	piece.addr = reinterpret_cast<std::uintptr_t>(source_.data()) +
		source_bytes(job_) + fence_at;
	piece.length = std::min(job_.size, 8U);
	piece.lkey = source_mr_->lkey;
	wr.wr_id = wr_id(Kind::fence, connection, 0);
	wr.opcode = IBV_WR_RDMA_READ;
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.sg_list = &piece;
	wr.num_sge = 1;
	wr.wr.rdma.remote_addr = peer_.sink.address;
	wr.wr.rdma.rkey = peer_.sink.key;
	post_one(connection, wr);
}

void VerbsTransport::post_credit(std::uint32_t connection)
{
	ibv_sge piece{};
	ibv_send_wr wr{};

	piece.addr = reinterpret_cast<std::uintptr_t>(source_.data()) +
		source_bytes(job_) + credit_at;
	piece.length = credit_bytes(job_);
	piece.lkey = source_mr_->lkey;
	wr.wr_id = wr_id(Kind::credit, connection, 0);
	wr.opcode = IBV_WR_SEND;
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.sg_list = &piece;
	wr.num_sge = 1;
	post_one(connection, wr);
	connections_[connection].credit_sends++;
}

// Posts receives again for those consumed, and sends credits for them; later if
// the send queue has no room.
void VerbsTransport::give_credit(std::uint32_t connection)
{
	auto &one = connections_[connection];

	if (one.consumed < repost_batch() || one.credit_sends == spare_sends - 1)
		return;
	post_receives(connection, repost_batch());
	one.consumed -= repost_batch();
	if (with_credits_)
		post_credit(connection);
}

// --- completions -------------------------------------------------------------------------

std::span<const Completion> VerbsTransport::reap(Completions &completions)
{
	std::array<ibv_wc, 32> wcs;
	std::size_t count = 0;
	static_assert(wcs.size() <= std::tuple_size_v<Completions>);

	const int got = ibv_poll_cq(cq_.get(), static_cast<int>(wcs.size()), wcs.data());
	if (got < 0)
		throw Failure("ibv_poll_cq failed");
	for (int i = 0; i < got; i++)
		if (const auto one = on_completion(wcs[static_cast<std::size_t>(i)]))
			completions[count++] = *one;
	return std::span(completions).first(count);
}

std::optional<Completion> VerbsTransport::on_completion(const ibv_wc &wc)
{
	const auto kind = static_cast<Kind>(wc.wr_id >> 62);
	const auto connection =
		static_cast<std::uint32_t>(wc.wr_id >> 32 & 0x3fffffff);
	const auto value = static_cast<std::uint32_t>(wc.wr_id);

	if (wc.status != IBV_WC_SUCCESS)
		on_error(wc);
	switch (kind) {
	case Kind::message:
		connections_[connection].outstanding -= value;
		return Completion{Completion::Kind::sent, connection, value};
	case Kind::fence:
		return Completion{Completion::Kind::fence, connection, 0};
	case Kind::credit:
		connections_[connection].credit_sends--;
		give_credit(connection);
		return {};
	case Kind::receive:
		break;
	}
	return wc.byte_len == job_.size ? on_receive(connection, wc)
					: on_credit(connection, wc);
}

std::optional<Completion> VerbsTransport::on_receive(std::uint32_t connection,
						     const ibv_wc &wc)
{
	auto &one = connections_[connection];
	const auto number = one.received++;

	if (job_.verify) {
		const auto offset = sink_slots_.offset(
			connection, static_cast<std::uint32_t>(wc.wr_id));

		pattern_require({connection, number, !is_client_}, 0,
				sink_.at(offset, job_.size));
	}
	one.consumed++;
	give_credit(connection);
	return Completion{Completion::Kind::received, connection, 1};
}

std::optional<Completion> VerbsTransport::on_credit(std::uint32_t connection,
						    const ibv_wc &wc)
{
	auto &one = connections_[connection];
	// The first message that a client sends is its greeting.
	const bool greeting = !is_client_ && !one.greeted;
	const std::uint32_t credits = greeting ? 0 : job_.depth;

	if (wc.byte_len != credit_bytes(job_))
		throw Failure(fmt::format("a message of {} bytes has come, not of {}",
					  wc.byte_len, job_.size));
	greeted_ += greeting;
	one.greeted = true;
	if (credits > receive_window(job_) - one.credits)
		throw Failure("the peer gives credits for what it was not sent");
	one.credits += credits;
	post_receives(connection, 1);
	return Completion{Completion::Kind::credit, connection, 0};
}

void VerbsTransport::on_error(const ibv_wc &wc) const
{
	static constexpr const char *kinds[] = {"message", "receive", "credit", "fence"};

	throw Failure(fmt::format("connection {}, {}: {}", wc.wr_id >> 32 & 0x3fffffff,
				  kinds[wc.wr_id >> 62], ibv_wc_status_str(wc.status)));
}

void VerbsTransport::take_event()
{
	ibv_cq *cq = nullptr;
	void *context = nullptr;

	if (ibv_get_cq_event(completion_channel_.get(), &cq, &context))
		fail("ibv_get_cq_event");
	armed_ = false;
	if (++unacknowledged_ == 64) {
		ibv_ack_cq_events(cq_.get(), unacknowledged_);
		unacknowledged_ = 0;
	}
}

Rest VerbsTransport::block(int fd)
{
	pollfd polls[] = {{completion_channel_->fd, POLLIN, 0},
			  {fd, POLLIN, 0},
			  {channel_->fd, POLLIN, 0}};

	// What arrived before this can only be found by polling.
	if (!armed_) {
		if (const int error = ibv_req_notify_cq(cq_.get(), only_solicited_))
			fail("ibv_req_notify_cq", Status::failed, error);
		armed_ = true;
		return Rest::woken;
	}
	const int ready = ::poll(polls, std::size(polls), 100);
	if (ready < 0 && errno != EINTR)
		fail("poll");
	if (ready <= 0)
		return Rest::late;
	if (polls[0].revents)
		take_event();
	if (polls[2].revents)
		pump();
	if (polls[1].revents)
		return Rest::readable;
	// Events of connections, which may be those of strangers, are no progress.
	return polls[0].revents ? Rest::woken : Rest::late;
}

// --- verification ------------------------------------------------------------------------

void VerbsTransport::fill_round(std::uint64_t first, std::uint32_t count)
{
	for (std::uint32_t c = 0; c < job_.connections; c++)
		for (auto number = first; number < first + count; number++)
			pattern_fill({c, number, is_client_}, 0,
				     source_.at(source_slots_.offset(c, number),
						job_.size));
}

void VerbsTransport::check_round(std::uint64_t first, std::uint32_t count)
{
	for (std::uint32_t c = 0; c < job_.connections; c++)
		for (auto number = first; number < first + count; number++)
			pattern_require({c, number, !is_client_}, 0,
					sink_.at(sink_slots_.offset(c, number),
						 job_.size));
}

} // namespace bench
