# SPDX-License-Identifier: GPL-2.0-only
"""A consumer of the RDMA connection manager, through librdmacm, for tests.

Every object belongs to the network namespace its thread was in when it was
made: see host().
"""

import contextlib
import ctypes
import ctypes.util
import errno
import os
import select
import socket
import struct
from typing import NamedTuple

CLONE_NEWNET = 0x40000000
PS_TCP = 0x0106
PS_UDP = 0x0111
QPT_RC = 2
# Offset of qp_num in struct ibv_qp: after six pointers and a handle.
QP_NUM_AT = 6 * ctypes.sizeof(ctypes.c_void_p) + 4

EVENTS = (
    "ADDR_RESOLVED", "ADDR_ERROR", "ROUTE_RESOLVED", "ROUTE_ERROR",
    "CONNECT_REQUEST", "CONNECT_RESPONSE", "CONNECT_ERROR", "UNREACHABLE",
    "REJECTED", "ESTABLISHED", "DISCONNECTED", "DEVICE_REMOVAL",
    "MULTICAST_JOIN", "MULTICAST_ERROR", "ADDR_CHANGE", "TIMEWAIT_EXIT",
)

libc = ctypes.CDLL(None, use_errno=True)
rdmacm = ctypes.CDLL("librdmacm.so.1", use_errno=True)


class EventChannel(ctypes.Structure):
    _fields_ = [("fd", ctypes.c_int)]


class ConnParam(ctypes.Structure):
    _fields_ = [
        ("private_data", ctypes.c_void_p),
        ("private_data_len", ctypes.c_uint8),
        ("responder_resources", ctypes.c_uint8),
        ("initiator_depth", ctypes.c_uint8),
        ("flow_control", ctypes.c_uint8),
        ("retry_count", ctypes.c_uint8),
        ("rnr_retry_count", ctypes.c_uint8),
        ("srq", ctypes.c_uint8),
        ("qp_num", ctypes.c_uint32),
    ]


class CmId(ctypes.Structure):
    """The beginning of struct rdma_cm_id."""
    _fields_ = [
        ("verbs", ctypes.c_void_p),
        ("channel", ctypes.c_void_p),
        ("context", ctypes.c_void_p),
        ("qp", ctypes.c_void_p),
    ]


class CmEvent(ctypes.Structure):
    _fields_ = [
        ("id", ctypes.POINTER(CmId)),
        ("listen_id", ctypes.POINTER(CmId)),
        ("event", ctypes.c_int),
        ("status", ctypes.c_int),
        ("conn", ConnParam),
    ]


class QpInitAttr(ctypes.Structure):
    _fields_ = [
        ("qp_context", ctypes.c_void_p),
        ("send_cq", ctypes.c_void_p),
        ("recv_cq", ctypes.c_void_p),
        ("srq", ctypes.c_void_p),
        ("max_send_wr", ctypes.c_uint32),
        ("max_recv_wr", ctypes.c_uint32),
        ("max_send_sge", ctypes.c_uint32),
        ("max_recv_sge", ctypes.c_uint32),
        ("max_inline_data", ctypes.c_uint32),
        ("qp_type", ctypes.c_int),
        ("sq_sig_all", ctypes.c_int),
    ]


class Event(NamedTuple):
    """An event, its bytes copied."""
    name: str
    status: int
    private_data: bytes
    responder_resources: int
    initiator_depth: int
    id: object


rdmacm.rdma_create_event_channel.restype = ctypes.POINTER(EventChannel)


@contextlib.contextmanager
def host(name):
    """Moves to the network namespace of that name for the block."""
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    inside = os.open(f"/var/run/netns/{name}", os.O_RDONLY)
    try:
        setns(inside)
        yield
    finally:
        setns(before)
        os.close(inside)
        os.close(before)


def setns(fd):
    if libc.setns(fd, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")


def sockaddr(address, port):
    """Bytes of a struct sockaddr_in or sockaddr_in6."""
    if ":" in address:
        return struct.pack("=HH4s16s4s", socket.AF_INET6, socket.htons(port),
                           bytes(4),
                           socket.inet_pton(socket.AF_INET6, address),
                           bytes(4))
    return struct.pack("=HH4s8s", socket.AF_INET, socket.htons(port),
                       socket.inet_aton(address), bytes(8))


def must(result, what):
    """Raises OSError if a call of the library has failed."""
    if result:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {errno.errorcode.get(code, code)}")


class Channel:
    """An event channel. All identifiers created on it are destroyed with it."""

    def __init__(self):
        self.channel = rdmacm.rdma_create_event_channel()
        if not self.channel:
            raise OSError(ctypes.get_errno(), "rdma_create_event_channel")
        self.ids = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for each in list(self.ids):
            each.destroy()
        rdmacm.rdma_destroy_event_channel(self.channel)

    def id(self, space=PS_TCP):
        pointer = ctypes.POINTER(CmId)()
        must(rdmacm.rdma_create_id(self.channel, ctypes.byref(pointer), None,
                                   space), "rdma_create_id")
        return Id(self, pointer)

    def has_event(self, seconds):
        ready, _, _ = select.select([self.channel.contents.fd], [], [],
                                    seconds)
        return bool(ready)

    def event(self, *names, seconds=60):
        """The next event, which must be one of @names."""
        if not self.has_event(seconds):
            raise AssertionError(f"no event came, wanted {names}")
        pointer = ctypes.POINTER(CmEvent)()
        must(rdmacm.rdma_get_cm_event(self.channel, ctypes.byref(pointer)),
             "rdma_get_cm_event")
        got = pointer.contents
        conn = got.conn
        data = b""
        if conn.private_data and conn.private_data_len:
            data = ctypes.string_at(conn.private_data, conn.private_data_len)
        event = Event(EVENTS[got.event], got.status, data,
                      conn.responder_resources, conn.initiator_depth,
                      self.find(got.id))
        rdmacm.rdma_ack_cm_event(pointer)
        if names and event.name not in names:
            raise AssertionError(f"got {event}, wanted {names}")
        return event

    def silent(self, seconds):
        """No event comes."""
        if self.has_event(seconds):
            raise AssertionError(f"did not expect {self.event()}")

    def find(self, pointer):
        address = ctypes.addressof(pointer.contents)
        for each in self.ids:
            if each.address == address:
                return each
        return Id(self, ctypes.cast(address, ctypes.POINTER(CmId)))


class Id:
    """A connection identifier, with its QP."""

    def __init__(self, channel, pointer):
        self.channel = channel
        self.pointer = pointer
        self.address = ctypes.addressof(pointer.contents)
        channel.ids.append(self)

    def destroy_qp(self):
        if self.pointer.contents.qp:
            rdmacm.rdma_destroy_qp(self.pointer)

    def destroy(self):
        self.channel.ids.remove(self)
        self.destroy_qp()
        rdmacm.rdma_destroy_id(self.pointer)

    def bind(self, address, port):
        must(rdmacm.rdma_bind_addr(self.pointer, sockaddr(address, port)),
             "rdma_bind_addr")

    def listen(self, address, port, backlog=0):
        self.bind(address, port)
        must(rdmacm.rdma_listen(self.pointer, backlog), "rdma_listen")
        return self

    def create_qp(self):
        attr = QpInitAttr(max_send_wr=4, max_recv_wr=4, max_send_sge=1,
                          max_recv_sge=1, qp_type=QPT_RC)
        must(rdmacm.rdma_create_qp(self.pointer, None, ctypes.byref(attr)),
             "rdma_create_qp")

    def qp_num(self):
        """The number of the QP that create_qp() has made."""
        data = ctypes.string_at(self.pointer.contents.qp, QP_NUM_AT + 4)
        return struct.unpack_from("=I", data, QP_NUM_AT)[0]

    def find_route(self, address, port, source=None):
        must(rdmacm.rdma_resolve_addr(
            self.pointer, sockaddr(source, 0) if source else None,
            sockaddr(address, port), 5000), "rdma_resolve_addr")
        self.channel.event("ADDR_RESOLVED")
        must(rdmacm.rdma_resolve_route(self.pointer, 5000),
             "rdma_resolve_route")
        self.channel.event("ROUTE_RESOLVED")

    def resolve(self, address, port, source=None):
        self.find_route(address, port, source)
        self.create_qp()

    @staticmethod
    def param(private_data, ird, ord_, qp_num=0):
        buffer = ctypes.create_string_buffer(private_data, len(private_data))
        param = ConnParam(
            private_data=ctypes.cast(buffer, ctypes.c_void_p).value
            if private_data else None,
            private_data_len=len(private_data), responder_resources=ird,
            initiator_depth=ord_, retry_count=7, rnr_retry_count=7,
            qp_num=qp_num)
        param.keep = buffer
        return param

    def request(self, private_data=b"", ird=1, ord_=1, qp_num=0):
        """Connects to the resolved address, with the QP of that number if the
        identifier has none."""
        param = self.param(private_data, ird, ord_, qp_num)
        must(rdmacm.rdma_connect(self.pointer, ctypes.byref(param)),
             "rdma_connect")

    def connect(self, address, port, private_data=b"", ird=1, ord_=1,
                source=None):
        self.resolve(address, port, source)
        self.request(private_data, ird, ord_)
        return self

    def accept(self, private_data=b"", ird=1, ord_=1, qp_num=None):
        """With its own QP, or with that of another number."""
        if qp_num is None:
            self.create_qp()
        param = self.param(private_data, ird, ord_, qp_num or 0)
        must(rdmacm.rdma_accept(self.pointer, ctypes.byref(param)),
             "rdma_accept")
        return self

    def reject(self, private_data=b""):
        must(rdmacm.rdma_reject(self.pointer, private_data,
                                ctypes.c_uint8(len(private_data))),
             "rdma_reject")

    def disconnect(self):
        must(rdmacm.rdma_disconnect(self.pointer), "rdma_disconnect")
