#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Requests to the kernel that no provider sends: bad sizes, addresses, mappings.

Uses the uverbs device itself, and prints a result line for each case.
"""

import ctypes
import errno
import fcntl
import itertools
import mmap
import os
import socket
import struct
import sys
from pathlib import Path

GET_CONTEXT, ALLOC_PD, CREATE_AH, REG_MR = 0, 3, 5, 9
REREG_MR, DEREG_MR, ALLOC_MW, DEALLOC_MW, CREATE_CQ = 11, 13, 14, 16, 18
RESIZE_CQ, DESTROY_CQ, POLL_CQ, REQ_NOTIFY_CQ, POST_RECV = 19, 20, 21, 23, 29
CREATE_SRQ, MODIFY_SRQ, QUERY_SRQ, DESTROY_SRQ = 32, 33, 34, 35
POST_SRQ_RECV, CREATE_XSRQ = 36, 39
QUERY_DEVICE, QUERY_PORT, CREATE_QP = 1, 2, 24
QUERY_QP, MODIFY_QP, DESTROY_QP = 25, 26, 27
MODIFY_CQ = 57
EXTENDED = 1 << 31
# _IOWR(0x1b, 1, struct ib_uverbs_ioctl_hdr), an object, and what drivers number from.
VERBS_IOCTL = 0xc0181b01
OBJECT_QP, FIRST_OWN = 4, 1 << 12
TCP_ULP = 31

PAGE = mmap.PAGESIZE
TOP = 1 << 64
MAX_CQE = 1 << 20
MAX_SRQ_WR, MAX_SGE = 1 << 16, 16
SRQ_MAX_WR, SRQ_LIMIT = 1, 2
FEATURE_SRQ = 1
MAX_MR = 1 << 39
LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ, MW_BIND = 1, 2, 4, 16
FEATURE_MW = 2
FEATURE_RFC7306 = 4
ZERO_BASED, ON_DEMAND = 1 << 5, 1 << 6

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = libc.mremap.restype = ctypes.c_void_p
libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int,
                      ctypes.c_int, ctypes.c_int, ctypes.c_long)
libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
libc.mremap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t,
                        ctypes.c_int)
FAILED = ctypes.c_void_p(-1).value
RW = mmap.PROT_READ | mmap.PROT_WRITE


class Results:
    """Result lines, to be passed on by the script."""

    def __init__(self):
        self.bad = 0

    def same(self, name, got, wanted):
        """wanted: a value, or a set of values that are right."""
        if got in wanted if isinstance(wanted, set) else got == wanted:
            print(f"good {name}")
        else:
            self.bad += 1
            print(f"bad {name}: got {got!r}, wanted {wanted!r}")


def attempt(function, *args, **kwargs):
    """(value, name of the error)"""
    try:
        return function(*args, **kwargs), None
    except OSError as error:
        return None, errno.errorcode[error.errno]


class Device:
    """An open uverbs device, addressed with its write() commands."""

    def __init__(self, name):
        for entry in Path("/sys/class/infiniband_verbs").glob("uverbs*"):
            if (entry / "ibdev").read_text("ascii").strip() == name:
                self.fd = os.open(f"/dev/infiniband/{entry.name}", os.O_RDWR)
                return
        raise SystemExit(f"no uverbs device for {name}")

    def command(self, number, payload, answer=""):
        """Sends a command; payload starts after the response's address."""
        size = struct.calcsize(answer)
        room = ctypes.create_string_buffer(max(size, 1))
        body = struct.pack("=Q", ctypes.addressof(room)) + payload
        head = struct.pack("=IHH", number, (8 + len(body)) // 4, size // 4)
        os.write(self.fd, head + body)
        return struct.unpack(answer, room.raw[:size])

    def reply(self, number, payload, size, fill):
        """Checks every byte of an answer, in a buffer with other content."""
        room = ctypes.create_string_buffer(bytes([fill]) * size, size)
        body = struct.pack("=Q", ctypes.addressof(room)) + payload
        os.write(self.fd, struct.pack("=IHH", number, (8 + len(body)) // 4,
                                      size // 4) + body)
        return room.raw

    def extended(self, number, payload, more, size):
        """A command of the other form; more is for the driver."""
        room = ctypes.create_string_buffer(size)
        head = struct.pack("=IHHQHHI", number | EXTENDED, len(payload) // 8,
                           size // 8, ctypes.addressof(room) if size else 0,
                           len(more) // 8, 0, 0)
        os.write(self.fd, head + payload + more)

    def ioctl(self, kind, method, attributes, driver=0):
        """A command with attributes: (number, length, value), each to be understood."""
        body = b"".join(struct.pack("=HHHxxQ", number, length, 1, value)
                        for number, length, value in attributes)
        head = struct.pack("=HHHHQII", 24 + len(body), kind, method, len(attributes),
                           0, driver, 0)
        fcntl.ioctl(self.fd, VERBS_IOCTL, bytearray(head + body))

    def context(self, answer="=IIII", more=b""):
        return self.command(GET_CONTEXT, more, answer)

    def create_cq(self, cqe, vector=0, answer="=IIQII", more=b""):
        return self.command(
            CREATE_CQ, struct.pack("=QIIiI", 0, cqe, vector, -1, 0) + more,
            answer)

    def resize_cq(self, handle, cqe, answer="=IIQII", more=b""):
        return self.command(RESIZE_CQ, struct.pack("=II", handle, cqe) + more, answer)

    def modify_cq(self, handle, mask, count, period):
        self.extended(MODIFY_CQ, struct.pack("=IIHHI", handle, mask, count, period, 0),
                      b"", 0)

    def destroy_cq(self, handle):
        return self.command(DESTROY_CQ, struct.pack("=II", handle, 0), "=II")

    def alloc_pd(self, more=b""):
        return self.command(ALLOC_PD, more, "=I")[0]

    def create_qp(self, pd, cq, more=b"", answer="=8IQ8I", srq=None):
        """Four requests in each direction of two pieces, 64 bytes inline, RC."""
        return self.command(
            CREATE_QP, struct.pack("=Q9I4B", 0, pd, cq, cq, srq or 0, 4, 4, 2, 2,
                                   64, 0, 2, srq is not None, 0) + more, answer)

    def destroy_qp(self, handle):
        return self.command(DESTROY_QP, struct.pack("=II", handle, 0), "=I")

    def modify_qp(self, handle, rights, more):
        base = struct.pack("=64x7I2H16B", handle, 1 << 3, 0, 0, 0, 0, rights,
                           0, 0, *[0] * 16)
        return self.extended(MODIFY_QP, base + bytes(8), more, 8)

    def create_srq(self, pd, entries=16, pieces=2, answer="=4IQ4I", more=b""):
        return self.command(
            CREATE_SRQ, struct.pack("=QIIII", 0, pd, entries, pieces, 0) + more,
            answer)

    def create_xsrq(self, kind, pd, cq):
        return self.command(
            CREATE_XSRQ, struct.pack("=Q8I", 0, kind, pd, 16, 2, 0, 0, 0, cq),
            "=4IQ4I")

    def modify_srq(self, handle, mask, entries=0, limit=0, more=b""):
        body = struct.pack("=4I", handle, mask, entries, limit) + more
        os.write(self.fd, struct.pack("=IHH", MODIFY_SRQ, (8 + len(body)) // 4,
                                      0) + body)

    def destroy_srq(self, handle):
        return self.command(DESTROY_SRQ, struct.pack("=II", handle, 0), "=I")

    def post_srq_recv(self, handle):
        """One receive without pieces."""
        return self.command(POST_SRQ_RECV, struct.pack("=IIIIQII", handle, 1, 0, 16,
                                                       1, 0, 0), "=I")

    def reg_mr(self, pd, start, length, access, iova=None, answer="=IIIII",
               more=b""):
        iova = start if iova is None else iova
        return self.command(
            REG_MR, struct.pack("=QQQII", start, length, iova, pd, access) +
            more, answer)

    def dereg_mr(self, handle):
        head = struct.pack("=IHHI", DEREG_MR, 3, 0, handle)
        os.write(self.fd, head)

    def rereg_mr(self, handle, flags, start, length, iova, pd, access,
                 answer="=II", more=b""):
        return self.command(REREG_MR, struct.pack("=IIQQQII", handle, flags, start,
                                                  length, iova, pd, access) +
                            more, answer)

    def alloc_mw(self, pd, kind, answer="=II", more=b""):
        return self.command(ALLOC_MW, struct.pack("=IB3x", pd, kind) + more,
                            answer)

    def dealloc_mw(self, handle):
        os.write(self.fd, struct.pack("=IHHI", DEALLOC_MW, 3, 0, handle))

    def map(self, key, length, flags=mmap.MAP_SHARED, prot=RW):
        at = libc.mmap(None, length, prot, flags, self.fd, key)
        if at == FAILED:
            raise OSError(ctypes.get_errno(), "mmap")
        return at


def contexts(device, results):
    for answer in ("=II", "=III"):
        _, error = attempt(device.context, answer)
        results.same(f"no room for the context's response {answer}", error,
                     "EINVAL")
    value, error = attempt(device.context)
    results.same("context", error, None)
    results.same("ABI version, and features", value[2:],
                 (2, FEATURE_SRQ | FEATURE_MW | FEATURE_RFC7306))


def missing(device, results):
    """Commands without an implementation are refused as such."""
    # The last three would read and write rings that the user shares.
    for name, number in (("CREATE_AH", CREATE_AH), ("POLL_CQ", POLL_CQ),
                         ("REQ_NOTIFY_CQ", REQ_NOTIFY_CQ), ("POST_RECV", POST_RECV)):
        _, error = attempt(device.command, number, bytes(56), "=IIII")
        results.same(f"{name} is not supported", error, "ENOTSUP")


def queues(device, results):
    for cqe in (0, MAX_CQE + 1, (1 << 31) - 1, 1 << 31, (1 << 32) - 1):
        _, error = attempt(device.create_cq, cqe)
        results.same(f"completion queue of {cqe}", error, "EINVAL")
    _, error = attempt(device.create_cq, 16, vector=1 << 20)
    results.same("an unknown completion vector", error, "EINVAL")
    for answer in ("=II", "=IIQI"):
        _, error = attempt(device.create_cq, 16, answer=answer)
        results.same(f"no room for the queue's response {answer}", error,
                     "EINVAL")
    for cqe, size in ((1, 1), (2, 2), (3, 4), (123, 128), (124, 128),
                      (125, 128), (129, 256), (MAX_CQE, MAX_CQE)):
        (handle, actual, _, entries, length), error = attempt(
            device.create_cq, cqe)
        results.same(f"completion queue of {cqe}",
                     (error, actual, entries, length),
                     (None, size, size, -(-(128 + size * 32) // PAGE) * PAGE))
        device.destroy_cq(handle)


def changed_queues(device, results):
    """Other sizes of a completion queue, and moderation."""
    handle, _, key, _, length = device.create_cq(64)
    for cqe in (0, MAX_CQE + 1, (1 << 31) - 1, 1 << 31, (1 << 32) - 1):
        _, error = attempt(device.resize_cq, handle, cqe)
        results.same(f"resized to {cqe}", error, "EINVAL")
    for answer in ("=II", "=IIQI"):
        _, error = attempt(device.resize_cq, handle, 16, answer=answer)
        results.same(f"no room for the new ring's place {answer}", error, "EINVAL")
    # The indices are the user's to write, too: nothing of the old ring fits then.
    at = device.map(key, length)
    words = ctypes.cast(at, ctypes.POINTER(ctypes.c_uint32))
    for cons in (1, 1 << 31, (1 << 32) - 65):
        words[16] = cons
        _, error = attempt(device.resize_cq, handle, 64)
        results.same(f"resized with {cons:#x} entries taken", error, "EINVAL")
    words[16] = 0
    (actual, _, new_key, entries, new_length), error = attempt(
        device.resize_cq, handle, 100)
    results.same("resized to 100", (error, actual, entries, new_length),
                 (None, 128, 128, 2 * PAGE))
    # The header stays in the first ring, and the kernel does not read its own index there.
    words[0] = 77
    words[16] = 1
    _, error = attempt(device.resize_cq, handle, 200)
    results.same("the first header has the indices", error, "EINVAL")
    words[16] = 0
    at = ctypes.cast(device.map(new_key, new_length), ctypes.POINTER(ctypes.c_uint32))
    at[16] = 1
    _, error = attempt(device.resize_cq, handle, 200)
    results.same("the header of the new ring is not used", error, None)
    for wanted, where in ((None, (key, length)), ("EINVAL", (new_key, new_length))):
        _, error = attempt(device.map, *where)
        results.same("the first ring can be mapped, one that was replaced cannot",
                     error, wanted)
    for mask, wanted in ((0, "EINVAL"), (1, None), (2, "ENOTSUP"), (3, "ENOTSUP")):
        _, error = attempt(device.modify_cq, handle, mask, 65535, 65535)
        results.same(f"modified with mask {mask}", error, wanted)
    device.destroy_cq(handle)
    _, error = attempt(device.resize_cq, handle, 100)
    results.same("a queue that is gone", error, "ENOENT")


def shared_queues(device, results):
    pd, cq = device.alloc_pd(), device.create_cq(16)[0]
    top = (1 << 32) - 1
    for entries, pieces in ((0, 1), (MAX_SRQ_WR + 1, 1), (1 << 31, 1), (top, 1),
                            (1, MAX_SGE + 1), (1, top), (top, top)):
        _, error = attempt(device.create_srq, pd, entries, pieces)
        results.same(f"shared receive queue of {entries}, {pieces} pieces", error,
                     "EINVAL")
    for answer in ("=4I", "=4IQ3I"):
        _, error = attempt(device.create_srq, pd, answer=answer)
        results.same(f"no room for the shared queue's response {answer}", error,
                     "EINVAL")
    _, error = attempt(device.create_srq, pd + 99)
    results.same("shared receive queue of no protection domain", error, "ENOENT")
    for entries, pieces, size, sges, stride in (
            (1, 0, 1, 1, 32), (3, 2, 4, 2, 64), (100, 3, 128, 3, 64),
            (MAX_SRQ_WR, MAX_SGE, MAX_SRQ_WR, MAX_SGE, 288)):
        made, error = attempt(device.create_srq, pd, entries, pieces)
        results.same(f"shared receive queue of {entries}, {pieces} pieces",
                     (error, *made[1:3], *made[5:]),
                     (None, size, sges, -(-(128 + size * stride) // PAGE) * PAGE,
                      size, stride, 0))
        device.destroy_srq(made[0])
    for name, kind, wanted in (("basic", 0, None), ("XRC", 1, "EINVAL"),
                               ("tag matching", 2, "ENOTSUP"),
                               ("unknown", 77, {"ENOTSUP", "EINVAL"})):
        _, error = attempt(device.create_xsrq, kind, pd, cq)
        results.same(f"shared receive queue of the type: {name}", error, wanted)
    changes_of_shared(device, pd, results)
    users_of_shared(device, pd, cq, results)


def changes_of_shared(device, pd, results):
    srq, _, _, _, key, length, *_ = device.create_srq(pd)
    for name, args, kwargs, wanted in (
            ("nothing", (0,), {}, None),
            ("the size", (SRQ_MAX_WR,), {"entries": 32}, "ENOTSUP"),
            ("both", (SRQ_MAX_WR | SRQ_LIMIT,), {"entries": 32, "limit": 1},
             "ENOTSUP"),
            ("what is unknown", (1 << 31,), {}, "ENOTSUP"),
            ("a limit above the size", (SRQ_LIMIT,), {"limit": 17}, "EINVAL"),
            ("a limit of 2^32 - 1", (SRQ_LIMIT,), {"limit": (1 << 32) - 1},
             "EINVAL"),
            ("a limit", (SRQ_LIMIT,), {"limit": 16}, None)):
        _, error = attempt(device.modify_srq, srq, *args, **kwargs)
        results.same(f"change of a shared receive queue: {name}", error, wanted)
    _, error = attempt(device.modify_srq, srq + 99, SRQ_LIMIT, limit=1)
    results.same("change of no shared receive queue", error, "ENOENT")
    # Users post to the ring; the device does not offer the command.
    _, error = attempt(device.post_srq_recv, srq)
    results.same("a receive that is posted by a command", error, "ENOTSUP")
    _, error = attempt(device.map, key, length + PAGE)
    results.same("mapping of a shared receive queue: too long", error, "EINVAL")
    at = device.map(key, length)
    results.same("mapping of a shared receive queue: it is all zero",
                 ctypes.string_at(at, length), bytes(length))
    device.destroy_srq(srq)
    ctypes.memmove(at + length - 8, b"the tail", 8)
    libc.munmap(at, length)
    _, error = attempt(device.map, key, length)
    results.same("mapping of a shared receive queue: destroyed", error, "EINVAL")
    _, error = attempt(device.destroy_srq, srq)
    results.same("a shared receive queue is destroyed once", error, "ENOENT")


def users_of_shared(device, pd, cq, results):
    srq = device.create_srq(pd)[0]
    for name, handle, wanted in (("no queue", srq + 99, "ENOENT"),
                                 ("a completion queue", cq, "EINVAL")):
        _, error = attempt(device.create_qp, pd, cq, srq=handle)
        results.same(f"a queue pair with {name} as its shared queue", error, wanted)
    qp, _, _, recv_wr, _, recv_sge, _, _, _, length, offset, _, entries, _, stride, \
        *_ = device.create_qp(pd, cq, srq=srq)
    results.same("a queue pair with a shared queue has no receive ring",
                 (recv_wr, recv_sge, offset, entries, stride), (0, 0, length, 0, 0))
    _, error = attempt(device.destroy_srq, srq)
    results.same("a shared receive queue in use is not destroyed", error, "EBUSY")
    device.destroy_qp(qp)
    _, error = attempt(device.destroy_srq, srq)
    results.same("it is when its queue pair has gone", error, None)


def own_commands(device, results):
    """The commands that the driver adds, by RDMA_VERBS_IOCTL."""
    pd, cq = device.alloc_pd(), device.create_cq(16)[0]
    qp = device.create_qp(pd, cq)[0]
    handle = (FIRST_OWN, 0, qp)

    for name, attributes, wanted in (
            ("nothing to change", (handle,), None),
            ("no queue pair", ((FIRST_OWN + 1, 4, 5),), "EINVAL"),
            ("a handle of a completion queue", ((FIRST_OWN, 0, cq),), "EINVAL"),
            ("a handle of nothing", ((FIRST_OWN, 0, 1 << 20),), "ENOENT"),
            ("the longest time", (handle, (FIRST_OWN + 1, 4, 60000)), None),
            ("no time", (handle, (FIRST_OWN + 1, 4, 0)), None),
            ("too long a time", (handle, (FIRST_OWN + 1, 4, 60001)), "EINVAL"),
            ("far too long a time", (handle, (FIRST_OWN + 1, 4, (1 << 32) - 1)), "EINVAL"),
            ("a time of 2 bytes", (handle, (FIRST_OWN + 1, 2, 5)), "EINVAL"),
            # More bytes than known must be zero.
            ("a time of 8 bytes", (handle, (FIRST_OWN + 1, 8, 5)), "EINVAL"),
            ("the time twice", (handle, *[(FIRST_OWN + 1, 4, 5)] * 2), "EINVAL"),
            ("an unknown attribute", (handle, (FIRST_OWN + 2, 4, 5)), "EPROTONOSUPPORT")):
        _, error = attempt(device.ioctl, OBJECT_QP, FIRST_OWN, attributes)
        results.same(f"change of a queue pair by its own command: {name}", error, wanted)
    _, error = attempt(device.ioctl, OBJECT_QP, FIRST_OWN + 2, (handle,))
    results.same("an unknown command", error, "EPROTONOSUPPORT")
    _, error = attempt(device.ioctl, OBJECT_QP, FIRST_OWN, (handle,), driver=5)
    results.same("a command of another driver", error, "EINVAL")
    handed_over(device, handle, results)
    plain_queues(device, results)
    device.destroy_qp(qp)
    device.destroy_cq(cq)


def connected_to_itself():
    """Both ends of a TCP connection within this machine."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        near = socket.create_connection(listener.getsockname())
        return near, listener.accept()[0]


def handed_over(device, handle, results):
    """What goes wrong before a socket is looked at, and with sockets that are of no use."""
    plain = socket.socket()
    room = ctypes.create_string_buffer(8192)
    at = ctypes.addressof(room)
    nowhere = 1 << 60
    result = (FIRST_OWN + 4, 16, at + 4096)

    def params(fd=-1, flags=0):
        room[:16] = struct.pack("=iIII", fd, flags, 1, 1)
        return (FIRST_OWN + 1, 16, at)

    for name, more, wanted in (
            ("no parameters", lambda: (result,), "EINVAL"),
            ("no result", lambda: (params(),), "EINVAL"),
            ("short parameters", lambda: ((FIRST_OWN + 1, 12, at), result), "EINVAL"),
            ("parameters nowhere", lambda: ((FIRST_OWN + 1, 16, nowhere), result),
             "EFAULT"),
            ("a short result", lambda: (params(), (FIRST_OWN + 4, 8, at)), "EINVAL"),
            ("an unknown flag", lambda: (params(flags=2), result), "EINVAL"),
            ("a last message of an Initiator",
             lambda: (params(), result, (FIRST_OWN + 2, 9, at)), "EINVAL"),
            ("a last message nowhere",
             lambda: (params(flags=1), result, (FIRST_OWN + 2, 9, nowhere)), "EFAULT"),
            ("too long a last message",
             lambda: (params(flags=1), result, (FIRST_OWN + 2, 4097, at)), "EMSGSIZE"),
            ("too long private data",
             lambda: (params(), result, (FIRST_OWN + 3, 509, at)), "EMSGSIZE"),
            ("no room for private data",
             lambda: (params(), result, (FIRST_OWN + 5, 0, at)), "EINVAL"),
            ("an unknown attribute",
             lambda: (params(), result, (FIRST_OWN + 6, 4, 5)), "EPROTONOSUPPORT"),
            ("no file", lambda: (params(), result), "EBADF"),
            ("the device itself", lambda: (params(device.fd), result), "ENOTSOCK"),
            ("a socket without MPA", lambda: (params(plain.fileno()), result), "EINVAL")):
        _, error = attempt(device.ioctl, OBJECT_QP, FIRST_OWN + 1, (handle, *more()))
        results.same(f"hand-over of a socket: {name}", error, wanted)
    plain.close()

    for name, places in (
            ("a result nowhere", ((FIRST_OWN + 4, 16, nowhere),)),
            ("private data nowhere", (result, (FIRST_OWN + 5, 508, nowhere)))):
        # A socket that is given back gets the lowest number.
        lower = os.open("/dev/null", os.O_RDONLY)
        near, far = connected_to_itself()
        near.setsockopt(socket.IPPROTO_TCP, TCP_ULP, b"mpa")
        os.close(lower)
        _, error = attempt(device.ioctl, OBJECT_QP, FIRST_OWN + 1,
                           (handle, params(near.fileno()), *places))
        results.same(f"hand-over of a socket: {name}", error, "EFAULT")
        _, error = attempt(os.fstat, near.fileno())
        results.same(f"hand-over of a socket: {name}: it was not taken", error, None)
        attempt(near.close)
        far.close()


def plain_queues(device, results):
    """Queues of the plain TCP connections of listeners, of which there are none here."""
    room = ctypes.create_string_buffer(64)
    at = ctypes.addressof(room)
    nowhere = 1 << 60
    new = (FIRST_OWN, 0, 0)

    def params(family=2, port=1, scope=0, backlog=1, flags=0, tail=b""):
        room[:32] = bytes(4) + tail.ljust(12, b"\0") + struct.pack(
            "=HHIII", family, port, scope, backlog, flags)
        return (FIRST_OWN + 1, 32, at)

    for name, attributes, wanted in (
            ("no parameters", lambda: (new,), "EINVAL"),
            ("no place for the descriptor", lambda: (params(),), "EINVAL"),
            ("short parameters", lambda: (new, (FIRST_OWN + 1, 28, at)), "EINVAL"),
            ("parameters nowhere", lambda: (new, (FIRST_OWN + 1, 32, nowhere)), "EFAULT"),
            ("no listener", lambda: (new, params()), "ENOENT"),
            ("no listener of IPv6", lambda: (new, params(10)), "ENOENT"),
            ("another family", lambda: (new, params(1)), "EAFNOSUPPORT"),
            ("bytes behind an address", lambda: (new, params(tail=b"x")), "EINVAL"),
            ("no room", lambda: (new, params(backlog=0)), "EINVAL"),
            ("a flag", lambda: (new, params(flags=1)), "EINVAL"),
            ("an unknown attribute",
             lambda: (new, params(), (FIRST_OWN + 2, 4, 5)), "EPROTONOSUPPORT")):
        _, error = attempt(device.ioctl, FIRST_OWN, FIRST_OWN, attributes())
        results.same(f"a queue of plain connections: {name}", error, wanted)
    flags, result = (FIRST_OWN + 1, 4, 0), (FIRST_OWN + 2, 4, at)
    for name, attributes, wanted in (
            ("no queue", (flags, result), "EINVAL"),
            ("no descriptor", ((FIRST_OWN, 0, 1 << 20), flags, result), "EBADF"),
            ("the device itself", ((FIRST_OWN, 0, device.fd), flags, result), "EBADF"),
            ("an unknown attribute", ((FIRST_OWN + 3, 4, 5),), "EPROTONOSUPPORT")):
        _, error = attempt(device.ioctl, FIRST_OWN, FIRST_OWN + 1, attributes)
        results.same(f"a plain connection: {name}", error, wanted)
    _, error = attempt(device.ioctl, FIRST_OWN, FIRST_OWN + 2, (new,))
    results.same("a queue of plain connections: an unknown command", error,
                 "EPROTONOSUPPORT")


def mappings(device, results):
    handle, _, key, _, length = device.create_cq(1000)
    other = device.create_cq(10)
    bad = (
        ("longer than the ring", (key, length + PAGE), {}, "EINVAL"),
        ("shorter than the ring", (key, length - PAGE), {}, "EINVAL"),
        ("one page", (key, PAGE), {}, "EINVAL"),
        ("from its middle", (key + PAGE, length - PAGE), {}, "EINVAL"),
        ("across two rings", (key + PAGE, length), {}, "EINVAL"),
        ("an unused offset", (other[2] + 64 * length, length), {}, "EINVAL"),
        ("an offset beyond 32 bits of pages", (PAGE << 33, length), {},
         "EINVAL"),
        ("private", (key, length), {"flags": mmap.MAP_PRIVATE}, "EINVAL"),
        ("executable", (key, length), {"prot": RW | mmap.PROT_EXEC}, "EPERM"),
    )
    for name, args, kwargs, wanted in bad:
        _, error = attempt(device.map, *args, **kwargs)
        results.same(f"mapping: {name}", error, wanted)

    at, error = attempt(device.map, key, length)
    again = device.map(key, length)
    results.same("mapping: exactly the ring, twice", error, None)
    results.same("mapping: it is all zero",
                 ctypes.string_at(at, length), bytes(length))
    ctypes.memmove(at + length - 8, b"the tail", 8)
    results.same("mapping: both are the same memory",
                 ctypes.string_at(again + length - 8, 8), b"the tail")
    results.same("mapping: it does not grow",
                 libc.mremap(at, length, 2 * length, 1), FAILED)
    results.same("mapping: nor does it become executable",
                 (libc.mprotect(ctypes.c_void_p(at), ctypes.c_size_t(length),
                                RW | mmap.PROT_EXEC), ctypes.get_errno()),
                 (-1, errno.EACCES))

    device.destroy_cq(handle)
    results.same("mapping: it outlives the queue",
                 ctypes.string_at(at + length - 8, 8), b"the tail")
    _, error = attempt(device.map, key, length)
    results.same("mapping: a destroyed ring", error, "EINVAL")
    for place in (at, again):
        libc.munmap(place, length)
    device.destroy_cq(other[0])


def regions(device, results):
    pd = device.alloc_pd()
    size = 8 * PAGE
    at = libc.mmap(None, 3 * size, RW, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS,
                   -1, 0)
    hole = at + size
    libc.munmap(hole, size)
    fixed = libc.mmap(None, size, mmap.PROT_READ,
                      mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    bad = (
        ("of no bytes", (at, 0, LOCAL_WRITE), {}, "EINVAL"),
        ("of no bytes, odd", (at + 1, 0, LOCAL_WRITE), {}, "EINVAL"),
        ("whose address wraps", (TOP - PAGE, 2 * PAGE, LOCAL_WRITE),
         {"iova": 0}, "EINVAL"),
        ("whose offset wraps", (at, 2 * PAGE, LOCAL_WRITE),
         {"iova": TOP - PAGE}, "EINVAL"),
        ("larger than any", (at, MAX_MR + 1, LOCAL_WRITE), {"iova": 0},
         "EINVAL"),
        ("larger than memory", (at, MAX_MR, LOCAL_WRITE), {"iova": 0},
         "EFAULT"),
        ("of half the address space", (at, 1 << 63, LOCAL_WRITE),
         {"iova": 0}, "EINVAL"),
        ("of all of it", (0, TOP - 1, LOCAL_WRITE), {"iova": 0}, "EINVAL"),
        ("with another offset in the page", (at, PAGE, LOCAL_WRITE),
         {"iova": 8}, "EINVAL"),
        ("without memory", (hole, PAGE, LOCAL_WRITE), {}, "EFAULT"),
        ("with memory in part", (at, size + PAGE, LOCAL_WRITE), {}, "EFAULT"),
        ("of the kernel", (TOP - (1 << 40), PAGE, LOCAL_WRITE), {}, "EFAULT"),
        ("written to remotely, not locally", (at, PAGE, REMOTE_WRITE), {},
         "EINVAL"),
        ("paged on demand", (at, PAGE, ON_DEMAND), {},
         # The core of later kernels asks whether the device can.
         {"EINVAL", "ENOTSUP"}),
        ("without room for its response", (at, PAGE, LOCAL_WRITE),
         {"answer": "=IIII"}, "EINVAL"),
        ("written to, of read-only memory", (fixed, size, LOCAL_WRITE), {},
         "EFAULT"),
    )
    for name, args, kwargs, wanted in bad:
        _, error = attempt(device.reg_mr, pd, *args, **kwargs)
        results.same(f"region {name}", error, wanted)

    good = (
        ("one byte", (at, 1, LOCAL_WRITE), {}),
        ("the last byte of a page", (at + PAGE - 1, 1, LOCAL_WRITE), {}),
        ("two bytes in two pages", (at + PAGE - 1, 2, LOCAL_WRITE), {}),
        ("all of it", (at, size, LOCAL_WRITE | REMOTE_WRITE | REMOTE_READ), {}),
        ("at the end of all offsets", (at, PAGE, LOCAL_WRITE),
         {"iova": TOP - PAGE}),
        ("read only", (at, PAGE, 0), {}),
        ("zero-based", (at, PAGE, ZERO_BASED), {}),
        ("read-only memory", (fixed, size, REMOTE_READ), {}),
    )
    for name, args, kwargs in good:
        value, error = attempt(device.reg_mr, pd, *args, **kwargs)
        results.same(f"region: {name}", error, None)
        device.dereg_mr(value[0])
    again(device, pd, at, size, results)
    stags(device, pd, at, results)


def again(device, pd, at, size, results):
    """Regions that are registered again; a failure leaves them as they are."""
    trans, domain, access = 1, 2, 4
    handle, lkey, rkey = device.reg_mr(pd, at, size, LOCAL_WRITE)[:3]
    other = device.alloc_pd()
    bad = (
        ("nothing", (handle, 0, at, size, at, pd, 0), "EINVAL"),
        ("something unknown", (handle, 8, at, size, at, pd, 0), "ENOTSUP"),
        ("an unknown region", (handle + 1000, access, 0, 0, 0, 0, 0), "ENOENT"),
        ("an unknown domain", (handle, domain, 0, 0, 0, pd + 1000, 0), "ENOENT"),
        ("no bytes", (handle, trans, at, 0, at, 0, 0), "EINVAL"),
        ("offsets that wrap", (handle, trans, at, 2 * PAGE, TOP - PAGE, 0, 0),
         "EINVAL"),
        ("addresses that wrap", (handle, trans, TOP - PAGE, 2 * PAGE, 0, 0, 0),
         "EINVAL"),
        ("more than any", (handle, trans, at, MAX_MR + 1, at, 0, 0), "EINVAL"),
        ("the kernel's memory",
         (handle, trans, TOP - (1 << 40), PAGE, 0, 0, 0), "EFAULT"),
        ("another offset in the page", (handle, trans, at, PAGE, at + 8, 0, 0),
         "EINVAL"),
        ("on demand", (handle, access, 0, 0, 0, 0, ON_DEMAND), "EINVAL"),
        ("remote writing only", (handle, access, 0, 0, 0, 0, REMOTE_WRITE),
         "EINVAL"),
    )
    for name, args, wanted in bad:
        _, error = attempt(device.rereg_mr, *args)
        # Cores ask about paging on demand, or leave that to the device.
        results.same(f"registered again: {name}", error,
                     {wanted, "ENOTSUP"} if name == "on demand" else wanted)
    for flags in range(1, 8):
        value, error = attempt(device.rereg_mr, handle, flags, at + PAGE, PAGE,
                               at + PAGE, other, LOCAL_WRITE | REMOTE_READ)
        results.same(f"registered again: flags {flags}", (error, value),
                     (None, (lkey, rkey)))
        device.rereg_mr(handle, 7, at, size, at, pd, LOCAL_WRITE)
    _, error = attempt(device.rereg_mr, handle, access, 0, 0, 0, 0, 0,
                       more=b"\x01" + bytes(7))
    results.same("registered again: more than known", error, "EINVAL")
    device.dereg_mr(handle)


def windows(device, results):
    pd = device.alloc_pd()
    bad = (
        ("of an unknown domain", (pd + 1000, 1), {}, "ENOENT"),
        ("of type 0", (pd, 0), {}, "EINVAL"),
        ("of type 3", (pd, 3), {}, "EINVAL"),
        ("of type 255", (pd, 255), {}, "EINVAL"),
        ("without room for its response", (pd, 1), {"answer": "=I"}, "ENOSPC"),
    )
    for name, args, kwargs, wanted in bad:
        _, error = attempt(device.alloc_mw, *args, **kwargs)
        results.same(f"window {name}", error, wanted)
    seen = [device.alloc_mw(pd, 1 + n % 2) for n in range(64)]
    region = device.reg_mr(pd, libc.mmap(None, PAGE, RW, mmap.MAP_PRIVATE |
                                         mmap.MAP_ANONYMOUS, -1, 0),
                           PAGE, LOCAL_WRITE | MW_BIND)
    indices = {key >> 8 for _, key in seen} | {region[3] >> 8}
    results.same("windows and regions have different STags", len(indices), 65)
    _, error = attempt(device.dereg_mr, seen[0][0])
    results.same("a window is no region", error, "EINVAL")
    _, error = attempt(device.dealloc_mw, region[0])
    results.same("a region is no window", error, "EINVAL")
    for handle, _ in seen[1:]:
        device.dealloc_mw(handle)
    _, error = attempt(device.dealloc_mw, seen[1][0])
    results.same("a window is gone once", error, "ENOENT")
    # The first one is left to the kernel.


def stags(device, pd, at, results):
    """STags are sparse, never the reserved one, and not reused soon."""
    seen = []
    for _ in range(4):
        batch = [device.reg_mr(pd, at, PAGE, LOCAL_WRITE) for _ in range(64)]
        seen += [one[3] for one in batch]
        results.same("lkey, rkey and STag agree",
                     all(one[1] == one[2] == one[3] for one in batch), True)
        for one in batch:
            device.dereg_mr(one[0])
    indices = [stag >> 8 for stag in seen]
    results.same("no STag twice", len(set(seen)), len(seen))
    results.same("none is reserved", min(indices) > 0, True)
    near = sum(abs(a - b) < 16 for a, b in itertools.pairwise(indices))
    results.same("none next to the one before", near, 0)


def more_than_known(device, results):
    """Fields that a driver may get one day are refused until they have a meaning."""
    pd = device.alloc_pd()
    cq = device.create_cq(16)[0]
    qp = device.create_qp(pd, cq)[0]
    srq = device.create_srq(pd)[0]
    at = libc.mmap(None, PAGE, RW, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)

    def other_context(more):
        other = Device(sys.argv[1])
        try:
            other.context(more=more)
        finally:
            os.close(other.fd)

    ways = (
        ("a context", other_context),
        ("a protection domain", lambda more: device.alloc_pd(more=more)),
        ("a completion queue", lambda more: device.create_cq(16, more=more)),
        ("another size of it", lambda more: device.resize_cq(cq, 16, more=more)),
        ("a queue pair", lambda more: device.create_qp(pd, cq, more=more)),
        ("a change of a queue pair",
         lambda more: device.modify_qp(qp, LOCAL_WRITE, more)),
        ("a shared receive queue", lambda more: device.create_srq(pd, more=more)),
        ("a change of a shared receive queue",
         lambda more: device.modify_srq(srq, SRQ_LIMIT, more=more)),
        ("a region",
         lambda more: device.reg_mr(pd, at, PAGE, LOCAL_WRITE, more=more)),
        ("a window", lambda more: device.alloc_mw(pd, 2, more=more)),
    )
    for name, way in ways:
        for more, wanted in ((bytes(8), None), (bytes(64), None),
                             (b"\x01" + bytes(7), "EINVAL"),
                             (bytes(7) + b"\x80", "EINVAL"),
                             (bytes(4088) + bytes(7) + b"\x01", "EINVAL")):
            _, error = attempt(way, more)
            what = "zeros" if wanted is None else "more than that"
            results.same(f"{name} with {len(more)} bytes for the driver, {what}",
                         error, wanted)


def replies(device, results):
    """Every byte of a reply to a query was written by the device."""
    pd = device.alloc_pd()
    cq = device.create_cq(16)[0]
    qp = device.create_qp(pd, cq)[0]
    srq = device.create_srq(pd)[0]
    port = struct.pack("=B7x", 1)
    both = REMOTE_WRITE | REMOTE_READ
    mtu = int(Path("/sys/class/net/eth0/mtu").read_text("ascii"))
    # The MTU in InfiniBand's encoding: the largest that is not greater.
    mtu = max(n for n, size in enumerate((0, 256, 512, 1024, 2048, 4096))
              if size <= mtu)
    of_qp = struct.pack("=64x10I2H15B5x", 4, 4, 2, 2, 64, 0, 0, 0, 0, both, 0, 0,
                        1, 1, mtu, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0)
    for name, command, payload, size in (
            ("the device", QUERY_DEVICE, b"", 176),
            ("the port", QUERY_PORT, port, 40),
            ("a shared receive queue", QUERY_SRQ, struct.pack("=II", srq, 0), 16),
            ("a queue pair", QUERY_QP, struct.pack("=II", qp, 0x1fffff), 128)):
        got = [device.reply(command, payload, size, fill)
               for fill in (0, 0xff, 0x5a)]
        results.same(f"query of {name}: all of it is written", len(set(got)), 1)
        # From new and freed objects of a kernel with slub_debug=P.
        for poison in (0x6b, 0x5a, 0xa5, 0xcc):
            results.same(f"query of {name}: no {poison:#x} of freed memory",
                         bytes([poison]) * 4 in got[0], False)
        if command == QUERY_QP:
            results.same(f"query of {name}: no foreign data",
                         got[0].hex(), of_qp.hex())
        if command == QUERY_SRQ:
            results.same(f"query of {name}: no foreign data",
                         struct.unpack("=4I", got[0]), (16, 2, 0, 0))
    device.destroy_qp(qp)


def main():
    results = Results()
    device = Device(sys.argv[1])
    contexts(device, results)
    missing(device, results)
    queues(device, results)
    changed_queues(device, results)
    shared_queues(device, results)
    own_commands(device, results)
    mappings(device, results)
    regions(device, results)
    windows(device, results)
    more_than_known(device, results)
    replies(device, results)
    # Objects that are still open must be cleaned up by the kernel.
    device.create_cq(100)
    device.create_qp(pd := device.alloc_pd(), device.create_cq(16)[0],
                     srq=device.create_srq(pd)[0])
    device.map(*device.create_cq(100)[2::2])
    return 1 if results.bad else 0


if __name__ == "__main__":
    sys.exit(main())
