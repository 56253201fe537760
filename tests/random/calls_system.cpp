// SPDX-License-Identifier: GPL-2.0-only
//
// Descriptors, processes, memory, netlink, and what an administrator does meanwhile.
#include "calls.hpp"

#include <csignal>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <linux/genetlink.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <rdma/rdma_netlink.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/mpa_netlink.h>

namespace calls
{

namespace
{

// A descriptor of any kind.
int any_fd(World &world, std::uint32_t number)
{
	switch (number % 4) {
	case 0: {
		const ibv_context *const context =
			world.contexts.get(number / 4);

		return context ? context->cmd_fd : world.fds.get(number);
	}
	case 1: {
		const rdma_event_channel *const channel =
			world.events.get(number / 4);

		return channel ? channel->fd : world.fds.get(number);
	}
	default:
		return world.fds.get(number);
	}
}

void dup_fd(World &world, const Args &args)
{
	const int fd = ::dup(any_fd(world, args[0]));

	if (fd >= 0)
		world.fds.add(fd);
}

// Another file under the number that libraries and threads use.
void replace_fd(World &world, const Args &args)
{
	const int from = any_fd(world, args[0]), to = any_fd(world, args[1]);

	if (from > 2 && to > 2 && args[2] % 4 == 0)
		::dup2(from, to);
}

void close_fd(World &world, const Args &args)
{
	const int fd = any_fd(world, args[0]);

	if (fd > 2 && args[1] % 4 == 0)
		::close(fd);
}

// Through a socket, which may keep it for ever.
void pass_fd(World &world, const Args &args)
{
	const int fd = any_fd(world, args[0]);
	int ends[2];
	char byte = 0, room[CMSG_SPACE(sizeof(int))] = {};
	iovec part{&byte, 1};
	msghdr message{};

	if (fd <= 2 ||
	    ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends))
		return;
	message.msg_iov = &part;
	message.msg_iovlen = 1;
	message.msg_control = room;
	message.msg_controllen = sizeof(room);
	cmsghdr *const head = CMSG_FIRSTHDR(&message);
	*head = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
	std::memcpy(CMSG_DATA(head), &fd, sizeof(fd));
	::sendmsg(ends[0], &message, 0);
	if (args[1] % 2 && ::recvmsg(ends[1], &message, 0) > 0) {
		int got;

		std::memcpy(&got, CMSG_DATA(head), sizeof(got));
		world.fds.add(got);
	}
	::close(ends[0]);
	if (args[2] % 2)
		::close(ends[1]);
}

// A child that keeps everything open, writes to what is shared, and dies.
void fork_child(World &world, const Args &args)
{
	const pid_t child = ::fork();

	if (child == 0) {
		// Calls that take no lock of a library, which another thread may hold.
		(void)!::send(any_fd(world, args[1]), world.memory,
			      args[2] % 500, MSG_DONTWAIT | MSG_NOSIGNAL);
		std::memset(world.at(args[3]), static_cast<int>(args[3]), 4096);
		(void)!::recv(any_fd(world, args[3]), world.memory, 4096,
			      MSG_DONTWAIT);
		::usleep(args[0] % 8 * 500);
		// A network namespace that comes and goes.
		if (args[1] % 16 == 0)
			::unshare(CLONE_NEWNET);
		if (args[0] % 2)
			::kill(::getpid(), SIGKILL);
		::_exit(0);
	}
	if (child > 0 && args[0] % 4 == 0)
		::waitpid(child, nullptr, 0);
}

void advise(World &world, const Args &args)
{
	unsigned char *const page = world.memory + (args[0] % 200) * 4096ul;

	switch (args[1] % 4) {
	case 0:
		::madvise(page, 4096 * 4, MADV_DONTNEED);
		break;
	case 1:
		::mprotect(page, 4096,
			   args[2] % 2 ? PROT_READ : PROT_READ | PROT_WRITE);
		break;
	case 2:
		::mmap(page, 4096, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		break;
	default:
		std::memset(page, static_cast<int>(args[2]), 64);
	}
}

void nap(World &, const Args &args)
{
	// At times longer than the limits of random_prepare().
	::usleep(args[1] % 64 ? args[0] % 3000 : 400000 + args[0] % 1100000);
}

// --- netlink ------------------------------------------------------------------

struct Message {
	nlmsghdr header{};
	unsigned char body[2048] = {};

	void add(const void *data, std::size_t size)
	{
		std::memcpy(reinterpret_cast<unsigned char *>(this) +
				    NLMSG_ALIGN(header.nlmsg_len),
			    data, size);
		header.nlmsg_len = static_cast<std::uint32_t>(
			NLMSG_ALIGN(header.nlmsg_len) + size);
	}
	nlattr *attribute(std::uint16_t kind, const void *data,
			  std::size_t size)
	{
		auto *const at = reinterpret_cast<nlattr *>(
			reinterpret_cast<unsigned char *>(this) +
			NLMSG_ALIGN(header.nlmsg_len));
		const nlattr head{static_cast<std::uint16_t>(NLA_HDRLEN + size),
				  kind};

		add(&head, sizeof(head));
		if (size)
			add(data, size);
		return at;
	}
	void close(nlattr *nest)
	{
		nest->nla_len = static_cast<std::uint16_t>(
			reinterpret_cast<unsigned char *>(this) +
			header.nlmsg_len -
			reinterpret_cast<unsigned char *>(nest));
	}
};

Message rdma_request(unsigned int command, std::uint16_t flags)
{
	Message message;

	message.header.nlmsg_len = NLMSG_HDRLEN;
	message.header.nlmsg_type = static_cast<std::uint16_t>(
		RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command));
	message.header.nlmsg_flags =
		static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
	return message;
}

void add_word(Message &message, std::uint16_t kind, std::uint32_t value)
{
	message.attribute(kind, &value, sizeof(value));
}

Message request(std::uint16_t kind, std::uint8_t command, std::uint16_t flags)
{
	const genlmsghdr head{command, MPA_GENL_VERSION, 0};
	Message message;

	message.header.nlmsg_len = NLMSG_HDRLEN;
	message.header.nlmsg_type = kind;
	message.header.nlmsg_flags = NLM_F_REQUEST | flags;
	message.add(&head, sizeof(head));
	return message;
}

void exchange(int fd, const Message &message)
{
	char room[16384];

	if (::send(fd, &message, message.header.nlmsg_len, 0) > 0)
		for (int n = 0;
		     n < 4 && ::recv(fd, room, sizeof(room), MSG_DONTWAIT) > 0;
		     n++)
			;
}

// The first attribute of each message of a dump, behind a header of so many bytes, if it is of
// this type and has a number.
std::vector<std::uint32_t> dumped(int fd, const Message &message, std::size_t header,
				  std::uint16_t type)
{
	alignas(nlmsghdr) char room[8192];
	std::vector<std::uint32_t> found;

	::send(fd, &message, message.header.nlmsg_len, 0);
	for (;;) {
		const ssize_t size =
			::recv(fd, room, sizeof(room), MSG_DONTWAIT);
		int left = static_cast<int>(size);

		if (size <= 0)
			return found;
		for (auto *one = reinterpret_cast<const nlmsghdr *>(room);
		     NLMSG_OK(one, left); one = NLMSG_NEXT(one, left)) {
			const char *const at = static_cast<const char *>(NLMSG_DATA(one)) + header;
			std::uint32_t value;
			nlattr head;

			if (one->nlmsg_len < NLMSG_HDRLEN + header + NLA_HDRLEN + sizeof(value))
				continue;
			std::memcpy(&head, at, sizeof(head));
			std::memcpy(&value, at + NLA_HDRLEN, sizeof(value));
			if (head.nla_type == type)
				found.push_back(value);
		}
	}
}

// One of these, mostly.
std::uint32_t one_of(const std::vector<std::uint32_t> &numbers, std::uint32_t which)
{
	return !numbers.empty() && which % 16 ? numbers[which % numbers.size()] : which;
}

// The number of one of the RDMA devices.
std::uint32_t rdma_index(int fd, std::uint32_t which)
{
	return one_of(dumped(fd, rdma_request(RDMA_NLDEV_CMD_GET, NLM_F_DUMP), 0,
			     RDMA_NLDEV_ATTR_DEV_INDEX),
		      which);
}

std::uint16_t family(int fd)
{
	static std::atomic<std::uint16_t> known;
	Message message = request(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 0);
	unsigned char room[8192];

	if (known)
		return known;
	message.attribute(CTRL_ATTR_FAMILY_NAME, MPA_GENL_NAME,
			  sizeof(MPA_GENL_NAME));
	::send(fd, &message, message.header.nlmsg_len, 0);
	const ssize_t size = ::recv(fd, room, sizeof(room), 0);
	for (ssize_t at = NLMSG_HDRLEN + GENL_HDRLEN; at + NLA_HDRLEN < size;) {
		nlattr head;

		std::memcpy(&head, room + at, sizeof(head));
		if (head.nla_len < NLA_HDRLEN)
			break;
		if (head.nla_type == CTRL_ATTR_FAMILY_ID) {
			std::uint16_t id;

			std::memcpy(&id, room + at + NLA_HDRLEN, sizeof(id));
			known = id;
		}
		at += NLA_ALIGN(head.nla_len);
	}
	return known;
}

// By its name or by its number; there may be none.
void select_device(Message &message, std::uint32_t number)
{
	const char name[]{'m', 'p', 'a', static_cast<char>('0' + number % 4), 0};
	nlattr *const nest =
		message.attribute(MPA_A_DEV | NLA_F_NESTED, nullptr, 0);

	if (number % 16)
		message.attribute(MPA_A_DEV_NAME, name, sizeof(name));
	else
		message.attribute(MPA_A_DEV_INDEX, &number, sizeof(number));
	message.close(nest);
}

void netlink_get(World &world, const Args &args)
{
	static constexpr std::uint8_t commands[]{
		MPA_CMD_CONN_GET, MPA_CMD_LISTEN_GET, MPA_CMD_DEV_GET,
		MPA_CMD_DEFAULTS_GET};
	const std::uint8_t command = commands[args[0] % 4];

	world.enter(args[1]);
	const int fd = ::socket(AF_NETLINK, SOCK_RAW, NETLINK_GENERIC);
	Message message = request(family(fd), command,
				  command == MPA_CMD_DEFAULTS_GET ? 0
				  : args[2] % 4			  ? NLM_F_DUMP
								  : 0);
	if (args[2] % 4 == 0 && command == MPA_CMD_DEV_GET) {
		select_device(message, args[3]);
	} else if (args[2] % 4 && args[3] % 4 == 0 &&
		   (command == MPA_CMD_CONN_GET || command == MPA_CMD_LISTEN_GET)) {
		// Those of a device.
		select_device(message, args[3] / 4);
	} else if (args[2] % 4 == 0 && command != MPA_CMD_DEFAULTS_GET) {
		const bool conn = command == MPA_CMD_CONN_GET;
		const std::uint16_t of = conn ? MPA_A_CONN : MPA_A_LISTEN;
		const std::uint16_t id = conn ? std::uint16_t{MPA_A_CONN_ID}
					      : std::uint16_t{MPA_A_LISTEN_ID};
		const std::uint32_t number =
			one_of(dumped(fd, request(family(fd), command, NLM_F_DUMP),
				      GENL_HDRLEN + NLA_HDRLEN, id),
			       args[3]);
		nlattr *const nest = message.attribute(of | NLA_F_NESTED, nullptr, 0);

		message.attribute(id, &number, sizeof(number));
		message.close(nest);
	}
	exchange(fd, message);
	::close(fd);
}

// Not those with which programs end soon: random_prepare() sets them.
constexpr std::uint32_t lasting = 1u << MPA_A_CONFIG_STARTUP_TIMEOUT |
				  1u << MPA_A_CONFIG_REPLY_TIMEOUT |
				  1u << MPA_A_CONFIG_CLOSE_TIMEOUT;
// And not what it and random_gaps() set for the programs that follow.
constexpr std::uint32_t inherited =
	~(lasting | 1u << MPA_A_CONFIG_UNSPEC | 1u << MPA_A_CONFIG_MARKERS |
	  1u << MPA_A_CONFIG_EARLY_PLACEMENT | 1u << MPA_A_CONFIG_RDMAP_EXTENSIONS);

// A setting of a host or of its device; or, if there is none, all are inherited again.
void set_value(std::uint16_t setting, std::uint32_t value, bool device, std::uint32_t host)
{
	const int fd = ::socket(AF_NETLINK, SOCK_RAW, NETLINK_GENERIC);
	Message message = request(family(fd), MPA_CMD_SET, 0);
	nlattr *const change =
		message.attribute(MPA_A_CHANGE | NLA_F_NESTED, nullptr, 0);

	if (device)
		select_device(message, 1 + host % 2);
	if (setting) {
		nlattr *const config = message.attribute(
			MPA_A_CONFIG | NLA_F_NESTED, nullptr, 0);

		message.attribute(setting, &value, sizeof(value));
		message.close(config);
	} else {
		message.attribute(MPA_A_INHERIT, &inherited, sizeof(inherited));
	}
	message.close(change);
	exchange(fd, message);
	::close(fd);
}

// Other programs run with it, and not forever: most settings make something impossible.
void netlink_set(World &world, const Args &args)
{
	// Those that most change what other programs meet.
	static constexpr std::array<std::uint16_t, 8> often{
		MPA_A_CONFIG_RTR,	  MPA_A_CONFIG_HALF_OPEN_MAX, MPA_A_CONFIG_PERMISSIVE,
		MPA_A_CONFIG_FRAMING,	  MPA_A_CONFIG_STARTUP,	      MPA_A_CONFIG_LINGER_MAX,
		MPA_A_CONFIG_USER_MR_MAX, MPA_A_CONFIG_USER_RINGS_MAX};
	const std::uint16_t setting =
		args[1] % 2 ? often[args[1] / 2 % often.size()]
			    : static_cast<std::uint16_t>(args[1] / 2 % (1 + MPA_A_CONFIG_MAX));
	const bool device = args[3] % 2;

	if (lasting & 1u << setting)
		return;
	world.enter(args[0]);
	set_value(setting, args[3] % 8 ? args[2] % 4 : args[2], device, args[0]);
	if (args[0] / 2 % 4 == 0)
		return;
	::usleep(args[3] % 3000);
	set_value(0, 0, device, args[0]);
}

// Requests with something that the family refuses, or that is nowhere.
void netlink_odd(World &world, const Args &args)
{
	static constexpr std::uint8_t commands[]{
		MPA_CMD_CONN_GET, MPA_CMD_LISTEN_GET, MPA_CMD_DEV_GET,
		MPA_CMD_DEFAULTS_GET, MPA_CMD_SET};
	programs::Random random(args[1]);

	world.enter(args[0]);
	const int fd = ::socket(AF_NETLINK, SOCK_RAW, NETLINK_GENERIC);
	Message message = request(family(fd), commands[args[2] % 5],
				  random.one_in(3) ? NLM_F_DUMP : 0);
	if (random.one_in(8))
		message.body[1] = static_cast<unsigned char>(random.below(4));
	// Nests in nests, each of one or two attributes.
	for (std::uint32_t n = random.below(4); n; n--) {
		const auto type = static_cast<std::uint16_t>(
			1 + random.below(12) + (random.one_in(16) ? NLA_F_NET_BYTEORDER : 0));
		nlattr *const nest =
			message.attribute(type | NLA_F_NESTED, nullptr, 0);
		nlattr *const inner =
			random.one_in(2)
				? message.attribute(static_cast<std::uint16_t>(
							    (1 + random.below(6)) | NLA_F_NESTED),
						    nullptr, 0)
				: nullptr;

		for (std::uint32_t k = random.below(3); k; k--) {
			const std::uint32_t value = random.number();

			message.attribute(static_cast<std::uint16_t>(1 + random.below(6)), &value,
					  random.one_in(8) ? random.below(5) : sizeof(value));
		}
		if (inner)
			message.close(inner);
		message.close(nest);
	}
	exchange(fd, message);
	::close(fd);
	// If it was not refused.
	for (bool device : {false, true})
		set_value(0, 0, device, args[0]);
}

void socket_diag(World &world, const Args &args)
{
	struct {
		nlmsghdr header;
		inet_diag_req_v2 request;
	} message{};

	world.enter(args[0]);
	const int fd = ::socket(AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG);
	char room[16384];
	message.header = {sizeof(message), SOCK_DIAG_BY_FAMILY,
			  NLM_F_REQUEST | NLM_F_DUMP, 1, 0};
	message.request.sdiag_family =
		static_cast<std::uint8_t>(args[1] % 2 ? AF_INET : AF_INET6);
	message.request.sdiag_protocol = IPPROTO_TCP;
	message.request.idiag_ext = 0xff;
	message.request.idiag_states = ~0u;
	// The socket at one end of a connection, or a listener; destroyed at times.
	if (args[2] % 2) {
		const int one = world.fds.get(args[2] / 2);
		sockaddr_in near{}, far{};
		socklen_t size = sizeof(near);

		::getsockname(one, reinterpret_cast<sockaddr *>(&near), &size);
		size = sizeof(far);
		::getpeername(one, reinterpret_cast<sockaddr *>(&far), &size);
		message.header.nlmsg_flags = NLM_F_REQUEST;
		message.request.sdiag_family = AF_INET;
		message.request.id = {near.sin_port, far.sin_port, {near.sin_addr.s_addr},
				      {far.sin_addr.s_addr}, 0,
				      {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}};
		if (args[3] % 3 == 0) {
			message.header.nlmsg_type = SOCK_DESTROY;
			message.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
		}
	}
	if (::send(fd, &message, sizeof(message), 0) > 0)
		for (int n = 0;
		     n < 4 && ::recv(fd, room, sizeof(room), MSG_DONTWAIT) > 0;
		     n++)
			;
	::close(fd);
}

// The number in the answer that is an attribute of this type, or 0.
std::uint32_t answer_of(int fd, const Message &message, std::uint16_t type)
{
	unsigned char room[4096];
	std::uint32_t value = 0;

	::send(fd, &message, message.header.nlmsg_len, 0);
	const ssize_t size = ::recv(fd, room, sizeof(room), MSG_DONTWAIT);
	for (ssize_t at = NLMSG_HDRLEN; at + NLA_HDRLEN + ssize_t{sizeof(value)} <= size;) {
		nlattr head;

		std::memcpy(&head, room + at, sizeof(head));
		if (head.nla_len < NLA_HDRLEN)
			break;
		if (head.nla_type == type)
			std::memcpy(&value, room + at + NLA_HDRLEN, sizeof(value));
		at += NLA_ALIGN(head.nla_len);
	}
	return value;
}

// What `rdma resource show` asks for: all objects of a kind, or one.
void rdma_resources(World &world, const Args &args)
{
	static constexpr unsigned int commands[]{
		RDMA_NLDEV_CMD_RES_QP_GET,     RDMA_NLDEV_CMD_RES_CQ_GET,
		RDMA_NLDEV_CMD_RES_MR_GET,     RDMA_NLDEV_CMD_RES_CM_ID_GET,
		RDMA_NLDEV_CMD_RES_PD_GET,     RDMA_NLDEV_CMD_RES_SRQ_GET,
		RDMA_NLDEV_CMD_RES_CTX_GET,    RDMA_NLDEV_CMD_RES_QP_GET_RAW,
		RDMA_NLDEV_CMD_RES_CQ_GET_RAW, RDMA_NLDEV_CMD_RES_MR_GET_RAW};

	world.enter(args[1]);
	const int fd = ::socket(AF_NETLINK, SOCK_RAW, NETLINK_RDMA);
	Message message = rdma_request(commands[args[0] % 10], NLM_F_DUMP);
	add_word(message, RDMA_NLDEV_ATTR_DEV_INDEX, rdma_index(fd, args[2]));
	if (args[3] % 2)
		add_word(message, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
	exchange(fd, message);
	::close(fd);
}

// Counters of queue pairs: bound to those that are made from then on, or to one that there
// is; read; and taken away.
void rdma_statistics(World &world, const Args &args)
{
	// Number of the counter that was made last by hand: numbers grow.
	static std::atomic<std::uint32_t> last;
	const unsigned int what = args[0] % 8;
	std::uint32_t number = args[2];

	{
		const std::shared_lock hold(world.libraries);

		if (const ibv_qp *qp = world.qps.get(args[2]))
			number = qp->qp_num;
	}
	world.enter(args[1]);
	const int fd = ::socket(AF_NETLINK, SOCK_RAW, NETLINK_RDMA);
	Message message = rdma_request(
		what < 5   ? RDMA_NLDEV_CMD_STAT_SET
		: what < 7 ? RDMA_NLDEV_CMD_STAT_GET
			   : RDMA_NLDEV_CMD_STAT_DEL,
		static_cast<std::uint16_t>(what == 6 ? NLM_F_DUMP : NLM_F_ACK));
	add_word(message, RDMA_NLDEV_ATTR_DEV_INDEX, rdma_index(fd, args[3]));
	add_word(message, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
	// Of the port.
	if (what != 5)
		add_word(message, RDMA_NLDEV_ATTR_STAT_RES,
			 RDMA_NLDEV_ATTR_RES_QP);
	if (what < 5) {
		add_word(message, RDMA_NLDEV_ATTR_STAT_MODE,
			 what < 3 ? RDMA_COUNTER_MODE_AUTO
				  : RDMA_COUNTER_MODE_MANUAL);
		// Without it this ends, and counters can be bound by number.
		if (what == 2)
			add_word(message, RDMA_NLDEV_ATTR_STAT_AUTO_MODE_MASK,
				 1 + args[3] / 2 % 3);
	}
	if (what == 3 || what == 4 || what == 7)
		add_word(message, RDMA_NLDEV_ATTR_RES_LQPN, number);
	if (what == 4 || what == 7)
		add_word(message, RDMA_NLDEV_ATTR_STAT_COUNTER_ID,
			 last - args[3] / 4 % 4);
	if (what < 5) {
		const std::uint32_t made = answer_of(fd, message, RDMA_NLDEV_ATTR_STAT_COUNTER_ID);

		if (made)
			last = made;
	} else {
		exchange(fd, message);
	}
	::close(fd);
}

// --- disturbance --------------------------------------------------------------

void run(const char *command)
{
	const pid_t child = ::fork();

	if (child == 0) {
		// A program that is killed leaves nothing half done.
		::setsid();
		::execl("/bin/sh", "sh", "-c", command, nullptr);
		::_exit(1);
	}
	if (child > 0)
		::waitpid(child, nullptr, 0);
}

void disturb(World &world, const Args &args)
{
	static constexpr const char *commands[]{
		"rdma link delete mpa2; rdma link add mpa2 type mpa netdev "
		"eth0",
		"rdma link delete mpa1; ip netns exec h1 rdma link add mpa1 type mpa netdev "
		"eth0",
		"ip link set eth0 down; ip link set eth0 up; "
		"ip addr replace fd77::2/64 dev eth0 nodad",
		"ip link set eth0 mtu 600; ip link set eth0 mtu 1500; "
		"ip addr replace fd77::2/64 dev eth0 nodad",
		"ip addr del 10.77.0.2/24 dev eth0; ip addr add 10.77.0.2/24 "
		"dev eth0",
		"ip link set eth0 mtu 9000; ip link set eth0 mtu 1500",
		"rdma dev set mpa2 name mpa9; rdma dev set mpa9 name mpa2",
		"tc qdisc replace dev eth0 root netem loss 20% delay 2ms 1ms; "
		"sleep 0.1; "
		"tc qdisc del dev eth0 root",
		"tc qdisc replace dev eth0 root netem reorder 30% delay 3ms; "
		"sleep 0.1; "
		"tc qdisc del dev eth0 root"};

	world.enter(1);
	run(commands[args[0] % (sizeof(commands) / sizeof(*commands))]);
}

// What tools show of objects that come and go.
void show(World &world, const Args &args)
{
	static constexpr const char *commands[]{
		"rdma -dd resource show qp; rdma -dd resource show cq; rdma "
		"-dd resource show mr",
		"rdma resource show cm_id; rdma resource show srq; rdma "
		"resource show pd",
		"rdma statistic show; rdma statistic qp set link mpa1/1 auto "
		"type on; "
		"rdma statistic qp show",
		"rdma statistic show mr; rdma statistic qp set link mpa2/1 "
		"auto off",
		"n=$(rdma resource show qp link mpa1/1 | sed -n "
		"'s/.* lqpn \\([0-9]*\\) .*/\\1/p' | head -n 1); "
		"rdma statistic qp bind link mpa1/1 lqpn $n; "
		"rdma statistic qp show; "
		"rdma statistic qp unbind link mpa1/1 cntn 1"};

	world.enter(args[1]);
	run(commands[args[0] % (sizeof(commands) / sizeof(*commands))]);
}

} // namespace

std::vector<Kind> of_system()
{
	return {{"dup_fd", 4, dup_fd},
		{"replace_fd", 1, replace_fd},
		{"close_fd", 2, close_fd},
		{"pass_fd", 3, pass_fd},
		{"fork_child", 4, fork_child},
		{"advise", 4, advise},
		{"nap", 4, nap},
		{"netlink_get", 4, netlink_get},
		{"netlink_set", 4, netlink_set},
		{"netlink_odd", 3, netlink_odd},
		{"socket_diag", 2, socket_diag},
		{"rdma_resources", 3, rdma_resources},
		{"rdma_statistics", 6, rdma_statistics},
		{"show", 0, show},
		{"disturb", 0, disturb}};
}

} // namespace calls
