/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Generic netlink family "mpa": settings, listeners, connections and events of
 * one network namespace. Documentation/netlink/specs/mpa.yaml specifies the
 * commands; scripts/check-netlink compares this file with it.
 *
 * Reading needs no privilege, changing settings needs CAP_NET_ADMIN over the
 * namespace. Every error has an extended acknowledgment: a message and, if
 * there is one, the attribute that caused it.
 */
#ifndef _UAPI_LINUX_MPA_NETLINK_H
#define _UAPI_LINUX_MPA_NETLINK_H

#include <linux/types.h>

#define MPA_GENL_NAME		"mpa"
#define MPA_GENL_VERSION	1
#define MPA_GENL_EVENTS		"events"	/* the multicast group */

/**
 * enum mpa_cmd - commands and notifications
 * @MPA_CMD_UNSPEC: none
 * @MPA_CMD_DEFAULTS_GET: settings and counters of the namespace
 * @MPA_CMD_DEV_GET: a device, or a dump of all
 * @MPA_CMD_LISTEN_GET: a listener, or a dump of all
 * @MPA_CMD_CONN_GET: a connection, or a dump of all
 * @MPA_CMD_SET: change settings: all %MPA_A_CHANGE or none
 * @MPA_CMD_CONN_UP_NTF: a connection has entered full operation
 * @MPA_CMD_CONN_DOWN_NTF: such a connection has ended; it may stay in dumps
 *	until its owner releases it
 * @MPA_CMD_DEV_ADD_NTF: a device was added to the namespace
 * @MPA_CMD_DEV_CHANGE_NTF: its name, the name of its network device or the
 *	state of its port has changed
 * @MPA_CMD_DEV_DEL_NTF: a device was removed from the namespace
 * @MPA_CMD_LISTEN_ADD_NTF: a listener was added
 * @MPA_CMD_LISTEN_DEL_NTF: a listener was removed
 * @MPA_CMD_CONFIG_NTF: settings of namespace, device or listener have changed
 * @MPA_CMD_FAILURE_NTF: a rejection or failure; rate-limited
 */
enum mpa_cmd {
	MPA_CMD_UNSPEC		= 0,
	MPA_CMD_DEFAULTS_GET	= 1,
	MPA_CMD_DEV_GET		= 2,
	MPA_CMD_LISTEN_GET	= 3,
	MPA_CMD_CONN_GET	= 4,
	MPA_CMD_SET		= 5,
	MPA_CMD_CONN_UP_NTF	= 6,
	MPA_CMD_CONN_DOWN_NTF	= 7,
	MPA_CMD_DEV_ADD_NTF	= 8,
	MPA_CMD_DEV_CHANGE_NTF	= 9,
	MPA_CMD_DEV_DEL_NTF	= 10,
	MPA_CMD_LISTEN_ADD_NTF	= 11,
	MPA_CMD_LISTEN_DEL_NTF	= 12,
	MPA_CMD_CONFIG_NTF	= 13,
	MPA_CMD_FAILURE_NTF	= 14,

	/* private: */
	__MPA_CMD_MAX,
	MPA_CMD_MAX		= __MPA_CMD_MAX - 1
};

/**
 * enum mpa_attr - top level of every message
 * @MPA_A_UNSPEC: none
 * @MPA_A_DEV: nest of enum mpa_attr_dev; in requests a selector
 * @MPA_A_LISTEN: nest of enum mpa_attr_listen; likewise
 * @MPA_A_CONN: nest of enum mpa_attr_conn; likewise
 * @MPA_A_CONFIG: nest of enum mpa_attr_config: in replies the settings in
 *	effect
 * @MPA_A_OWN: u32, bits 1 << MPA_A_CONFIG_*: replies: settings that are set at
 *	this object. Others are inherited, in the order listener, device,
 *	namespace, built-in default. If there are ever settings from 32 on, they
 *	get another attribute
 * @MPA_A_INHERIT: u32, the same bits: within %MPA_A_CHANGE: inherit these again
 * @MPA_A_CHECK: flag: %MPA_CMD_SET: only check if the change is possible
 * @MPA_A_CHANGE: nest, repeated: %MPA_CMD_SET: %MPA_A_DEV, %MPA_A_LISTEN or
 *	neither (the namespace), %MPA_A_CONFIG and %MPA_A_INHERIT
 * @MPA_A_COUNTER: nest of enum mpa_attr_counter, repeated
 * @MPA_A_FAILURE: nest of enum mpa_attr_failure
 * @MPA_A_OWN_CONFIG: nest of enum mpa_attr_config: replies about a device: the
 *	settings of %MPA_A_OWN as they were set, before the device limits them
 */
enum mpa_attr {
	MPA_A_UNSPEC		= 0,
	MPA_A_DEV		= 1,
	MPA_A_LISTEN		= 2,
	MPA_A_CONN		= 3,
	MPA_A_CONFIG		= 4,
	MPA_A_OWN		= 5,
	MPA_A_INHERIT		= 6,
	MPA_A_CHECK		= 7,
	MPA_A_CHANGE		= 8,
	MPA_A_COUNTER		= 9,
	MPA_A_FAILURE		= 10,
	MPA_A_OWN_CONFIG	= 11,

	/* private: */
	__MPA_A_MAX,
	MPA_A_MAX		= __MPA_A_MAX - 1
};

/**
 * enum mpa_attr_config - settings; all are u32 and apply to new connections
 * only
 * @MPA_A_CONFIG_UNSPEC: none
 * @MPA_A_CONFIG_CRC: enum mpa_config_crc; default required
 * @MPA_A_CONFIG_MARKERS: 0, 1: ask the peer for Markers; default 0
 * @MPA_A_CONFIG_REVISION: enum mpa_config_revision; default auto
 * @MPA_A_CONFIG_PERMISSIVE: 0, 1: use the protocols of the RDMA Consortium with
 *	a peer of revision 0 (RFC 5044 appendix C), unless the revision is 0
 *	or 2; default 0
 * @MPA_A_CONFIG_EXCHANGE: enum mpa_config_exchange: how Initiators of devices
 *	state their Read depths; default enhanced
 * @MPA_A_CONFIG_PEER_TO_PEER: 0, 1: Initiators of devices ask for peer-to-peer
 *	mode, if the exchange is enhanced; default 1
 * @MPA_A_CONFIG_RTR: nonempty set of enum mpa_config_rtr: kinds of RTR in that
 *	mode; default all
 * @MPA_A_CONFIG_IRD: 0 .. 16382: most inbound Read Requests at once; default
 *	16382, and limited by the device
 * @MPA_A_CONFIG_ORD: 0 .. 16382: most outbound Read Requests at once; likewise
 * @MPA_A_CONFIG_STARTUP_TIMEOUT: 100 .. 3600000 ms: how long Responders wait
 *	for the Request and for a first FPDU that is due, and Initiators on
 *	sockets of applications for the Reply; default 5000
 * @MPA_A_CONFIG_REPLY_TIMEOUT: 100 .. 3600000 ms: how long Initiators of
 *	devices wait for the Reply, which can depend on the peer's consumer;
 *	default 30000
 * @MPA_A_CONFIG_HALF_OPEN_MAX: 1 .. 65536: peers per listener of a device that
 *	have not sent their Request; more are reset; default 128
 * @MPA_A_CONFIG_PACKING: 0, 1: initial %MPA_SO_PACKING of a socket of an
 *	application; not for devices, which pack what is posted together;
 *	default 0
 * @MPA_A_CONFIG_SEGMENTS: enum mpa_config_segments; default auto
 * @MPA_A_CONFIG_FIRST_FPDU_TIMEOUT: 0 .. 3600000 ms: how long Responders wait
 *	for the first FPDU where %MPA_A_CONFIG_STARTUP_TIMEOUT does not apply
 *	to it, which is outside of peer-to-peer mode; 0: no limit; default 0
 * @MPA_A_CONFIG_CLOSE_TIMEOUT: 100 .. 3600000 ms: longest time from the start
 *	of the end of a connection of a device until TCP has finished; default
 *	1200000
 * @MPA_A_CONFIG_LINGER_MAX: 1 .. 65536: connections of a device whose queue
 *	pair is free again while TCP still delivers; if there is one more, the
 *	oldest is reset; default 8192
 * @MPA_A_CONFIG_KEEPALIVE: 0, 1: connections of devices use TCP keepalive, with
 *	the times in net.ipv4.tcp_keepalive_* of the namespace; default 1
 * @MPA_A_CONFIG_USER_QP_MAX: 1 .. 65536: queue pairs and shared receive queues
 *	of a user context. A process gets a user context each time it opens a
 *	device. This and the next four are for devices, not for listeners, and
 *	apply to new objects only; default 8192
 * @MPA_A_CONFIG_USER_CQ_MAX: 1 .. 65536: completion queues of a user context;
 *	default 16384
 * @MPA_A_CONFIG_USER_MR_MAX: 1 .. 1048576: memory regions of a user context;
 *	default 131072
 * @MPA_A_CONFIG_USER_PD_MAX: 1 .. 65536: protection domains of a user context;
 *	default 1024
 * @MPA_A_CONFIG_USER_RINGS_MAX: 1 .. 1048576: MiB of the rings of a user
 *	context's queues; default 4096
 * @MPA_A_CONFIG_RDMAP_EXTENSIONS: enum mpa_config_rdmap_extensions: when
 *	devices use the messages of RFC 7306; default negotiate
 * @MPA_A_CONFIG_RECEIVE_WAIT: 0 .. 60000 ms: how long a message that finds no
 *	receive waits for one before it ends its connection; connections of
 *	devices; default 0
 * @MPA_A_CONFIG_PEER_TIMEOUT: 0 .. 3600000 ms: time without a sign of life after
 *	which the peer of a device's connection is gone, in whole seconds, at
 *	least 2, whether the connection is idle or not; 0: as TCP and
 *	%MPA_A_CONFIG_KEEPALIVE decide; default 0
 * @MPA_A_CONFIG_PORT_MAPPING: 0, 1: listeners of a device have a second TCP port
 *	if the port mapper of user space (iwpmd) assigns one, and peers that ask for
 *	it connect to that; default 1
 * @MPA_A_CONFIG_EARLY_PLACEMENT: 0, 1: payload of RDMA Writes and Read Responses
 *	that arrives behind a gap in the stream is placed at once, where Markers and
 *	CRC are in use in the receiving direction; completions stay in order (RFC
 *	5044 sections 1.2 and 6); connections of devices; default 0
 * @MPA_A_CONFIG_RTO_MIN: 0 .. 200 ms: least time after which TCP repeats what the
 *	peer has not acknowledged, in whole ticks of the kernel, at least 2;
 *	acknowledgements are delayed by at most half of it; 0: as TCP decides;
 *	connections of devices; default 0
 * @MPA_A_CONFIG_STARTUP: enum mpa_config_startup; default
 *	%MPA_CONFIG_STARTUP_FRAMES
 * @MPA_A_CONFIG_FRAMING: 0, 1: applications may use the framing of
 *	linux/tcp_framing.h; with 0, %TCP_FRAMING_MODE fails with EOPNOTSUPP, and so
 *	does accept(2) where the listener has a mode; not for devices; default 1
 */
enum mpa_attr_config {
	MPA_A_CONFIG_UNSPEC		= 0,
	MPA_A_CONFIG_CRC		= 1,
	MPA_A_CONFIG_MARKERS		= 2,
	MPA_A_CONFIG_REVISION		= 3,
	MPA_A_CONFIG_PERMISSIVE		= 4,
	MPA_A_CONFIG_EXCHANGE		= 5,
	MPA_A_CONFIG_PEER_TO_PEER	= 6,
	MPA_A_CONFIG_RTR		= 7,
	MPA_A_CONFIG_IRD		= 8,
	MPA_A_CONFIG_ORD		= 9,
	MPA_A_CONFIG_STARTUP_TIMEOUT	= 10,
	MPA_A_CONFIG_REPLY_TIMEOUT	= 11,
	MPA_A_CONFIG_HALF_OPEN_MAX	= 12,
	MPA_A_CONFIG_PACKING		= 13,
	MPA_A_CONFIG_SEGMENTS		= 14,
	MPA_A_CONFIG_FIRST_FPDU_TIMEOUT	= 15,
	MPA_A_CONFIG_CLOSE_TIMEOUT	= 16,
	MPA_A_CONFIG_LINGER_MAX		= 17,
	MPA_A_CONFIG_KEEPALIVE		= 18,
	MPA_A_CONFIG_USER_QP_MAX	= 19,
	MPA_A_CONFIG_USER_CQ_MAX	= 20,
	MPA_A_CONFIG_USER_MR_MAX	= 21,
	MPA_A_CONFIG_USER_PD_MAX	= 22,
	MPA_A_CONFIG_USER_RINGS_MAX	= 23,
	MPA_A_CONFIG_RDMAP_EXTENSIONS	= 24,
	MPA_A_CONFIG_RECEIVE_WAIT	= 25,
	MPA_A_CONFIG_PEER_TIMEOUT	= 26,
	MPA_A_CONFIG_PORT_MAPPING	= 27,
	MPA_A_CONFIG_EARLY_PLACEMENT	= 28,
	MPA_A_CONFIG_RTO_MIN		= 29,
	MPA_A_CONFIG_STARTUP		= 30,
	MPA_A_CONFIG_FRAMING		= 31,

	/* private: */
	__MPA_A_CONFIG_MAX,
	MPA_A_CONFIG_MAX		= __MPA_A_CONFIG_MAX - 1
};

/**
 * enum mpa_config_crc - RFC 5044 section 4.4
 * @MPA_CONFIG_CRC_PREFERRED_OFF: no CRCs if the peer prefers none either
 * @MPA_CONFIG_CRC_REQUIRED: CRCs in both directions
 */
enum mpa_config_crc {
	MPA_CONFIG_CRC_PREFERRED_OFF	= 0,
	MPA_CONFIG_CRC_REQUIRED		= 1,
};

/**
 * enum mpa_config_revision - revisions to use
 * @MPA_REVISION_0: only that of the RDMA Consortium
 * @MPA_REVISION_1: RFC 5044
 * @MPA_REVISION_2: only RFC 6581
 * @MPA_REVISION_AUTO: 2 or 1, depending on the peer
 */
enum mpa_config_revision {
	MPA_REVISION_0		= 0,
	MPA_REVISION_1		= 1,
	MPA_REVISION_2		= 2,
	MPA_REVISION_AUTO	= 3,
};

/**
 * enum mpa_config_exchange - how an Initiator states its Read depths
 * @MPA_EXCHANGE_PLAIN: not at all, by a Request of revision 1 (RFC 6581 section
 *	10)
 * @MPA_EXCHANGE_ENHANCED: with the four bytes of RFC 6581
 */
enum mpa_config_exchange {
	MPA_EXCHANGE_PLAIN	= 0,
	MPA_EXCHANGE_ENHANCED	= 1,
};

/**
 * enum mpa_config_startup - kind of the startup exchange
 * @MPA_CONFIG_STARTUP_FRAMES: Request and Reply Frames (RFC 5044, RFC 6581)
 * @MPA_CONFIG_STARTUP_START_KEY: Start Keys (draft-culley-iwarp-mpa-03), for peers
 *	that are older than the RFC
 * @MPA_CONFIG_STARTUP_EITHER: Responders do as the peer does, Initiators send
 *	frames
 */
enum mpa_config_startup {
	MPA_CONFIG_STARTUP_FRAMES	= 0,
	MPA_CONFIG_STARTUP_START_KEY	= 1,
	MPA_CONFIG_STARTUP_EITHER	= 2,
};

/**
 * enum mpa_config_rtr - RFC 6581 section 9.2, as a set
 * @MPA_CONFIG_RTR_SEND: a Send without payload
 * @MPA_CONFIG_RTR_WRITE: an RDMA Write without payload
 * @MPA_CONFIG_RTR_READ: an RDMA Read without payload
 */
enum mpa_config_rtr {
	MPA_CONFIG_RTR_SEND	= 1 << 0,
	MPA_CONFIG_RTR_WRITE	= 1 << 1,
	MPA_CONFIG_RTR_READ	= 1 << 2,
};

/**
 * enum mpa_config_segments - layout of FPDUs in TCP segments
 * @MPA_SEGMENTS_SINGLE: one segment per call into TCP
 * @MPA_SEGMENTS_AUTO: as many as the connection's state and its peer allow
 * @MPA_SEGMENTS_LONE: as @MPA_SEGMENTS_SINGLE, and FPDUs never share a segment
 */
enum mpa_config_segments {
	MPA_SEGMENTS_SINGLE	= 0,
	MPA_SEGMENTS_AUTO	= 1,
	MPA_SEGMENTS_LONE	= 2,
};

/**
 * enum mpa_config_rdmap_extensions - Immediate Data and atomic operations (RFC
 * 7306), which have no negotiation of their own
 * @MPA_RDMAP_EXTENSIONS_OFF: not used; such a message ends the connection
 * @MPA_RDMAP_EXTENSIONS_NEGOTIATE: used if the peer agrees in the enhanced
 *	exchange. The Initiator sets a bit of its Request, and the Responder
 *	answers with another one; RFC 5044 reserves both
 * @MPA_RDMAP_EXTENSIONS_ON: used without asking, for peers that are known to
 *	have them; a Responder still answers a peer that asks
 */
enum mpa_config_rdmap_extensions {
	MPA_RDMAP_EXTENSIONS_OFF	= 0,
	MPA_RDMAP_EXTENSIONS_NEGOTIATE	= 1,
	MPA_RDMAP_EXTENSIONS_ON		= 2,
};

/**
 * enum mpa_attr_dev - a device
 * @MPA_A_DEV_UNSPEC: none
 * @MPA_A_DEV_INDEX: u32, index in the RDMA core; a selector
 * @MPA_A_DEV_NAME: string; a selector
 * @MPA_A_DEV_IFINDEX: u32, index of its network device
 * @MPA_A_DEV_IFNAME: string, name of its network device
 * @MPA_A_DEV_ACTIVE: u32: 1: its port is active
 * @MPA_A_DEV_IRD_MAX: u32: upper limit of %MPA_A_CONFIG_IRD
 * @MPA_A_DEV_ORD_MAX: u32: upper limit of %MPA_A_CONFIG_ORD
 * @MPA_A_DEV_RTR: u32: set of enum mpa_config_rtr that it supports
 * @MPA_A_DEV_CONNS: u32: number of connections
 * @MPA_A_DEV_LISTENERS: u32: number of listeners
 */
enum mpa_attr_dev {
	MPA_A_DEV_UNSPEC	= 0,
	MPA_A_DEV_INDEX		= 1,
	MPA_A_DEV_NAME		= 2,
	MPA_A_DEV_IFINDEX	= 3,
	MPA_A_DEV_IFNAME	= 4,
	MPA_A_DEV_ACTIVE	= 5,
	MPA_A_DEV_IRD_MAX	= 6,
	MPA_A_DEV_ORD_MAX	= 7,
	MPA_A_DEV_RTR		= 8,
	MPA_A_DEV_CONNS		= 9,
	MPA_A_DEV_LISTENERS	= 10,

	/* private: */
	__MPA_A_DEV_MAX,
	MPA_A_DEV_MAX		= __MPA_A_DEV_MAX - 1
};

/**
 * enum mpa_owner - owner of a listener or connection
 * @MPA_OWNER_SOCKET: an application, by TCP_ULP
 * @MPA_OWNER_DEVICE: an RNIC
 */
enum mpa_owner {
	MPA_OWNER_SOCKET	= 1,
	MPA_OWNER_DEVICE	= 2,
};

/**
 * enum mpa_attr_listen - a listener
 * @MPA_A_LISTEN_UNSPEC: none
 * @MPA_A_LISTEN_ID: u32, never 0, not reused in the namespace for a long time;
 *	a selector
 * @MPA_A_LISTEN_OWNER: u32, enum mpa_owner
 * @MPA_A_LISTEN_DEV_INDEX: u32; only with a device as owner
 * @MPA_A_LISTEN_ADDR: 4 or 16 bytes
 * @MPA_A_LISTEN_PORT: u16, big endian
 * @MPA_A_LISTEN_SCOPE: u32: interface of a link-local address
 * @MPA_A_LISTEN_BACKLOG: u32
 * @MPA_A_LISTEN_HALF_OPEN: u32: peers that have not sent their Request
 * @MPA_A_LISTEN_UID: u32; only for a socket of an application
 */
enum mpa_attr_listen {
	MPA_A_LISTEN_UNSPEC	= 0,
	MPA_A_LISTEN_ID		= 1,
	MPA_A_LISTEN_OWNER	= 2,
	MPA_A_LISTEN_DEV_INDEX	= 3,
	MPA_A_LISTEN_ADDR	= 4,
	MPA_A_LISTEN_PORT	= 5,
	MPA_A_LISTEN_SCOPE	= 6,
	MPA_A_LISTEN_BACKLOG	= 7,
	MPA_A_LISTEN_HALF_OPEN	= 8,
	MPA_A_LISTEN_UID	= 9,

	/* private: */
	__MPA_A_LISTEN_MAX,
	MPA_A_LISTEN_MAX	= __MPA_A_LISTEN_MAX - 1
};

/**
 * enum mpa_conn_phase - phase of a connection
 * @MPA_PHASE_ATTACHED: still ordinary TCP
 * @MPA_PHASE_WAIT_REPLY: Initiator: the Request was sent
 * @MPA_PHASE_WAIT_REQUEST: Responder: waiting for the Request
 * @MPA_PHASE_REQUESTED: Responder: the Request waits for its answer
 * @MPA_PHASE_OPERATIONAL: full operation, FPDUs in both directions
 * @MPA_PHASE_RX_ENDED: nothing more is received; sending is still possible
 * @MPA_PHASE_EXITED: rejected or failed, MPA has ended
 * @MPA_PHASE_CLOSED: TCP has ended, or its receiving half
 * @MPA_PHASE_REPLIED: Initiator of an application: the Reply waits for its
 *	answer
 */
enum mpa_conn_phase {
	MPA_PHASE_ATTACHED	= 0,
	MPA_PHASE_WAIT_REPLY	= 1,
	MPA_PHASE_WAIT_REQUEST	= 2,
	MPA_PHASE_REQUESTED	= 3,
	MPA_PHASE_OPERATIONAL	= 4,
	MPA_PHASE_RX_ENDED	= 5,
	MPA_PHASE_EXITED	= 6,
	MPA_PHASE_CLOSED	= 7,
	MPA_PHASE_REPLIED	= 8,
};

/**
 * enum mpa_attr_conn - a connection; the attributes from _REVISION to _PEER_ORD
 * and _RDMAP_EXTENSIONS are the result of the startup exchange and absent before full operation
 * @MPA_A_CONN_UNSPEC: none
 * @MPA_A_CONN_PAD: for alignment
 * @MPA_A_CONN_ID: u32, never 0, not reused in the namespace for a long time; a
 *	selector
 * @MPA_A_CONN_OWNER: u32, enum mpa_owner
 * @MPA_A_CONN_DEV_INDEX: u32; only with a device as owner
 * @MPA_A_CONN_QPN: u32; only with a device as owner, once there is a queue pair
 * @MPA_A_CONN_LISTEN_ID: u32; if it was accepted from a listener
 * @MPA_A_CONN_UID: u32; only for a socket of an application, also one that it has
 *	handed to a device
 * @MPA_A_CONN_INODE: u64; likewise; as in ss(8) and /proc
 * @MPA_A_CONN_LOCAL_ADDR: 4 or 16 bytes; an IPv4 address is never mapped
 * @MPA_A_CONN_LOCAL_PORT: u16, big endian
 * @MPA_A_CONN_REMOTE_ADDR: 4 or 16 bytes
 * @MPA_A_CONN_REMOTE_PORT: u16, big endian
 * @MPA_A_CONN_PHASE: u32, enum mpa_conn_phase
 * @MPA_A_CONN_INITIATOR: u32: 1: this side is the Initiator; absent before
 *	startup
 * @MPA_A_CONN_AGE: u64, ms since the protocol was attached to the socket
 * @MPA_A_CONN_REVISION: u32, revision in use
 * @MPA_A_CONN_DDP_VERSION: u32
 * @MPA_A_CONN_ENHANCED: u32: 1: the enhanced data of RFC 6581 was exchanged
 * @MPA_A_CONN_PEER_TO_PEER: u32: 1: in use
 * @MPA_A_CONN_RTR: u32: set of enum mpa_config_rtr agreed on
 * @MPA_A_CONN_TX_MARKERS: u32: 1: this side inserts Markers
 * @MPA_A_CONN_RX_MARKERS: u32: 1: the peer inserts Markers
 * @MPA_A_CONN_CRC: u32: 1: in use
 * @MPA_A_CONN_IRD: u32: local inbound Read depth
 * @MPA_A_CONN_ORD: u32: local outbound Read depth
 * @MPA_A_CONN_PEER_IRD: u32: inbound depth stated by the peer; 0 unless
 *	enhanced
 * @MPA_A_CONN_PEER_ORD: u32: outbound depth stated by the peer; likewise
 * @MPA_A_CONN_MULPDU: u32: longest ULPDU that can be sent now, bytes
 * @MPA_A_CONN_EMSS: u32: bytes of stream per segment now
 * @MPA_A_CONN_CODE: u32, enum mpa_sock_error: first error that ended receiving
 * @MPA_A_CONN_ERR: u32: the error number of that; 0: an orderly end
 * @MPA_A_CONN_TERM_SENT: u32: the Terminate sent: layer << 12 | type << 8 |
 *	code
 * @MPA_A_CONN_TERM_RECEIVED: u32: the Terminate received, likewise
 * @MPA_A_CONN_STATS: nest of enum mpa_attr_conn_stats
 * @MPA_A_CONN_LOCAL_SCOPE: u32: interface of a link-local address; else absent
 * @MPA_A_CONN_REMOTE_SCOPE: u32: likewise
 * @MPA_A_CONN_BUSY: flag: the socket was read without its lock, which an
 *	application did not release: values may be inconsistent, and MULPDU and
 *	EMSS are 0
 * @MPA_A_CONN_RDMAP_EXTENSIONS: u32: 1: the messages of RFC 7306 are in use;
 *	part of the result of the startup exchange
 * @MPA_A_CONN_START_KEY: u32: 1: Start Keys were exchanged, not frames; likewise
 * @MPA_A_CONN_FRAMING: nest of enum mpa_attr_framing; only if another framing than that of
 *	MPA is set (linux/tcp_framing.h)
 */
enum mpa_attr_conn {
	MPA_A_CONN_UNSPEC		= 0,
	MPA_A_CONN_PAD			= 1,
	MPA_A_CONN_ID			= 2,
	MPA_A_CONN_OWNER		= 3,
	MPA_A_CONN_DEV_INDEX		= 4,
	MPA_A_CONN_QPN			= 5,
	MPA_A_CONN_LISTEN_ID		= 6,
	MPA_A_CONN_UID			= 7,
	MPA_A_CONN_INODE		= 8,
	MPA_A_CONN_LOCAL_ADDR		= 9,
	MPA_A_CONN_LOCAL_PORT		= 10,
	MPA_A_CONN_REMOTE_ADDR		= 11,
	MPA_A_CONN_REMOTE_PORT		= 12,
	MPA_A_CONN_PHASE		= 13,
	MPA_A_CONN_INITIATOR		= 14,
	MPA_A_CONN_AGE			= 15,
	MPA_A_CONN_REVISION		= 16,
	MPA_A_CONN_DDP_VERSION		= 17,
	MPA_A_CONN_ENHANCED		= 18,
	MPA_A_CONN_PEER_TO_PEER		= 19,
	MPA_A_CONN_RTR			= 20,
	MPA_A_CONN_TX_MARKERS		= 21,
	MPA_A_CONN_RX_MARKERS		= 22,
	MPA_A_CONN_CRC			= 23,
	MPA_A_CONN_IRD			= 24,
	MPA_A_CONN_ORD			= 25,
	MPA_A_CONN_PEER_IRD		= 26,
	MPA_A_CONN_PEER_ORD		= 27,
	MPA_A_CONN_MULPDU		= 28,
	MPA_A_CONN_EMSS			= 29,
	MPA_A_CONN_CODE			= 30,
	MPA_A_CONN_ERR			= 31,
	MPA_A_CONN_TERM_SENT		= 32,
	MPA_A_CONN_TERM_RECEIVED	= 33,
	MPA_A_CONN_STATS		= 34,
	MPA_A_CONN_LOCAL_SCOPE		= 35,
	MPA_A_CONN_REMOTE_SCOPE		= 36,
	MPA_A_CONN_BUSY			= 37,
	MPA_A_CONN_RDMAP_EXTENSIONS	= 38,
	MPA_A_CONN_START_KEY		= 39,
	MPA_A_CONN_FRAMING		= 40,

	/* private: */
	__MPA_A_CONN_MAX,
	MPA_A_CONN_MAX			= __MPA_A_CONN_MAX - 1
};

/**
 * enum mpa_attr_framing - a framing without startup, as &struct tcp_framing_info has it
 * @MPA_A_FRAMING_UNSPEC: none
 * @MPA_A_FRAMING_PAD: for alignment
 * @MPA_A_FRAMING_MODE: u32, TCP_FRAMING_SEND_* and TCP_FRAMING_RECV_*
 * @MPA_A_FRAMING_FLAGS: u32, TCP_FRAMING_F_*
 * @MPA_A_FRAMING_EMSS: u32, bytes that can be sent without being divided
 * @MPA_A_FRAMING_SEND_INTERVAL: u32, bytes from one marker sent to the next
 * @MPA_A_FRAMING_RECV_INTERVAL: u32, bytes from one marker received to the next
 * @MPA_A_FRAMING_TX_PDUS: u64, PDUs of the application
 * @MPA_A_FRAMING_TX_FRAMES: u64, framing PDUs that carried them
 * @MPA_A_FRAMING_TX_PIECES: u64, framing PDUs that were sent in pieces
 * @MPA_A_FRAMING_EMSS_CHANGES: u64, changes of the EMSS
 * @MPA_A_FRAMING_RX_FRAMES: u64, framing PDUs received, or runs of bytes
 * @MPA_A_FRAMING_RX_ALIGNED: u64, framing PDUs that began a segment
 * @MPA_A_FRAMING_RX_UNALIGNED: u64, framing PDUs that did not
 * @MPA_A_FRAMING_RX_PARTED: u64, framing PDUs of which a part was received before the
 *	rest
 */
enum mpa_attr_framing {
	MPA_A_FRAMING_UNSPEC		= 0,
	MPA_A_FRAMING_PAD		= 1,
	MPA_A_FRAMING_MODE		= 2,
	MPA_A_FRAMING_FLAGS		= 3,
	MPA_A_FRAMING_EMSS		= 4,
	MPA_A_FRAMING_SEND_INTERVAL	= 5,
	MPA_A_FRAMING_RECV_INTERVAL	= 6,
	MPA_A_FRAMING_TX_PDUS		= 7,
	MPA_A_FRAMING_TX_FRAMES		= 8,
	MPA_A_FRAMING_TX_PIECES		= 9,
	MPA_A_FRAMING_EMSS_CHANGES	= 10,
	MPA_A_FRAMING_RX_FRAMES		= 11,
	MPA_A_FRAMING_RX_ALIGNED	= 12,
	MPA_A_FRAMING_RX_UNALIGNED	= 13,
	MPA_A_FRAMING_RX_PARTED		= 14,

	/* private: */
	__MPA_A_FRAMING_MAX,
	MPA_A_FRAMING_MAX		= __MPA_A_FRAMING_MAX - 1
};

/**
 * enum mpa_attr_conn_stats - counters of a connection; all are u64
 * @MPA_A_CONN_STATS_UNSPEC: none
 * @MPA_A_CONN_STATS_PAD: for alignment
 * @MPA_A_CONN_STATS_TX_FPDUS: FPDUs passed to TCP
 * @MPA_A_CONN_STATS_TX_BATCHES: calls into TCP that carried them
 * @MPA_A_CONN_STATS_TX_BYTES: stream bytes of these FPDUs
 * @MPA_A_CONN_STATS_TX_SHORT: calls that TCP accepted only in part
 * @MPA_A_CONN_STATS_RX_FPDUS: valid FPDUs
 * @MPA_A_CONN_STATS_RX_BYTES: stream bytes of these FPDUs
 * @MPA_A_CONN_STATS_RX_CRC_ERRORS: FPDUs refused because of the CRC
 * @MPA_A_CONN_STATS_RX_MARKER_ERRORS: FPDUs refused because of a Marker
 * @MPA_A_CONN_STATS_RX_DROPPED: bytes dropped after an error
 * @MPA_A_CONN_STATS_RX_LENGTH_ERRORS: FPDUs refused because of a length above
 *	64768
 * @MPA_A_CONN_STATS_RX_TOO_SOON: Initiator: FPDUs received before the first
 *	FPDU was sent (RFC 5044 section 7.1.2 rule 4)
 */
enum mpa_attr_conn_stats {
	MPA_A_CONN_STATS_UNSPEC			= 0,
	MPA_A_CONN_STATS_PAD			= 1,
	MPA_A_CONN_STATS_TX_FPDUS		= 2,
	MPA_A_CONN_STATS_TX_BATCHES		= 3,
	MPA_A_CONN_STATS_TX_BYTES		= 4,
	MPA_A_CONN_STATS_TX_SHORT		= 5,
	MPA_A_CONN_STATS_RX_FPDUS		= 6,
	MPA_A_CONN_STATS_RX_BYTES		= 7,
	MPA_A_CONN_STATS_RX_CRC_ERRORS		= 8,
	MPA_A_CONN_STATS_RX_MARKER_ERRORS	= 9,
	MPA_A_CONN_STATS_RX_DROPPED		= 10,
	MPA_A_CONN_STATS_RX_LENGTH_ERRORS	= 11,
	MPA_A_CONN_STATS_RX_TOO_SOON		= 12,

	/* private: */
	__MPA_A_CONN_STATS_MAX,
	MPA_A_CONN_STATS_MAX			= __MPA_A_CONN_STATS_MAX - 1
};

/**
 * enum mpa_attr_counter - a counter of a device or of the namespace
 * @MPA_A_COUNTER_UNSPEC: none
 * @MPA_A_COUNTER_PAD: for alignment
 * @MPA_A_COUNTER_NAME: string
 * @MPA_A_COUNTER_VALUE: u64
 */
enum mpa_attr_counter {
	MPA_A_COUNTER_UNSPEC	= 0,
	MPA_A_COUNTER_PAD	= 1,
	MPA_A_COUNTER_NAME	= 2,
	MPA_A_COUNTER_VALUE	= 3,

	/* private: */
	__MPA_A_COUNTER_MAX,
	MPA_A_COUNTER_MAX	= __MPA_A_COUNTER_MAX - 1
};

/**
 * enum mpa_failure_kind - kind of a rejection or failure
 * @MPA_FAILURE_TCP: TCP was lost, or ended within an FPDU or a startup frame
 * @MPA_FAILURE_CRC: an FPDU with a wrong CRC
 * @MPA_FAILURE_MARKER: Marker and ULPDU_Length disagree
 * @MPA_FAILURE_STARTUP: an invalid or missing startup frame
 * @MPA_FAILURE_REJECTED: the peer or the local consumer rejected the connection
 * @MPA_FAILURE_TERM_SENT: this side ended the stream with a Terminate
 * @MPA_FAILURE_TERM_RECEIVED: the peer ended the stream with a Terminate
 * @MPA_FAILURE_HALF_OPEN: a peer was reset: too many without a Request
 * @MPA_FAILURE_LENGTH: a ULPDU_Length above 64768
 */
enum mpa_failure_kind {
	MPA_FAILURE_TCP			= 1,
	MPA_FAILURE_CRC			= 2,
	MPA_FAILURE_MARKER		= 3,
	MPA_FAILURE_STARTUP		= 4,
	MPA_FAILURE_REJECTED		= 5,
	MPA_FAILURE_TERM_SENT		= 6,
	MPA_FAILURE_TERM_RECEIVED	= 7,
	MPA_FAILURE_HALF_OPEN		= 8,
	MPA_FAILURE_LENGTH		= 9,
};

/**
 * enum mpa_attr_failure - a rejection or failure of the %MPA_A_CONN or
 * %MPA_A_LISTEN in the same message
 * @MPA_A_FAILURE_UNSPEC: none
 * @MPA_A_FAILURE_KIND: u32, enum mpa_failure_kind
 * @MPA_A_FAILURE_ERR: u32: an error number; 0: none
 * @MPA_A_FAILURE_TERM: u32: as %MPA_A_CONN_TERM_SENT
 * @MPA_A_FAILURE_SUPPRESSED: u32: failures without a notification since the
 *	last one
 */
enum mpa_attr_failure {
	MPA_A_FAILURE_UNSPEC		= 0,
	MPA_A_FAILURE_KIND		= 1,
	MPA_A_FAILURE_ERR		= 2,
	MPA_A_FAILURE_TERM		= 3,
	MPA_A_FAILURE_SUPPRESSED	= 4,

	/* private: */
	__MPA_A_FAILURE_MAX,
	MPA_A_FAILURE_MAX		= __MPA_A_FAILURE_MAX - 1
};

#endif /* _UAPI_LINUX_MPA_NETLINK_H */
