#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Tries everything of the table of permissions as users without privilege.

    permissions.py PAGE

PAGE is Documentation/security.rst. Each row of its table names what is tried, and its last
columns what comes of it: "yes", or the name of an error. A user is a process that runs as
nobody, starts in the network namespace of host h1, with device mpa1, and becomes

    user        nothing more
    userns      root of a user namespace of its own
    netns       root of a user and a network namespace of its own
    container   likewise, of namespaces for processes and mounts, too

A result line for each row and user. A row that this program cannot try, and one that it
could try but that the table lacks, are errors.
"""

import contextlib
import ctypes
import errno
import fcntl
import os
import re
import select
import socket
import struct
import subprocess
import sys
import threading
import traceback
from pathlib import Path

import mpasock
from party import CLONE_NEWPID, CLONE_NEWUSER, NOBODY, enter, libc
from rdmacm import CLONE_NEWNET, Channel, host
from uverbs_input import FIRST_OWN, OBJECT_QP, VERBS_IOCTL, Device

CLONE_NEWNS = 0x20000
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
H1, H2, LO = "10.77.0.1", "10.77.0.2", "127.0.0.1"
PORT_OF_ROOT, PORT_OF_OTHER, PORT_OWN, PORT_MPA = 7401, 7402, 7403, 7404
NETLINK_GENERIC, SOL_NETLINK, ADD_MEMBERSHIP = 16, 270, 1
REQUEST, ACK, DUMP = 1, 4, 0x300
COMMANDS = {"DEFAULTS_GET": 1, "DEV_GET": 2, "LISTEN_GET": 3, "CONN_GET": 4, "SET": 5}
A_DEV, A_CONFIG, A_CHANGE = 1, 4, 8
DEV_NAME, CONFIG_CRC = 2, 1
TUF = {name: number for number, name in enumerate(
    ("MODE", "SEND_EMSS", "PACK_PDUS", "EMERGENCY", "SEND_INTERVAL", "RECV_INTERVAL",
     "SEND_KEY", "RECV_KEY", "EMSS_NOTICE", "INFO"), 504400)}
F_NO_CRC = 1 << 1
TRIALS = {}


def trial(*names):
    """What is tried for rows of these names; a name is passed on if there are several."""
    def add(function):
        for name in names:
            TRIALS[name] = (lambda name=name: function(name)) if len(names) > 1 else function
        return function
    return add


# Users ----------------------------------------------------------------------


def unshare(flags):
    uid = os.getuid()
    if libc.unshare(CLONE_NEWUSER | flags):
        raise OSError(ctypes.get_errno(), "unshare")
    Path("/proc/self/setgroups").write_text("deny", "ascii")
    for kind in "ug":
        Path(f"/proc/self/{kind}id_map").write_text(f"0 {uid} 1", "ascii")


def loopback_up():
    with socket.socket() as sock:
        fcntl.ioctl(sock, SIOCSIFFLAGS, struct.pack("16sH22x", b"lo", IFF_UP))


def root_of_network():
    unshare(CLONE_NEWNET)
    loopback_up()


def container():
    unshare(CLONE_NEWNET | CLONE_NEWPID | CLONE_NEWNS)
    child = os.fork()
    if child:
        os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    loopback_up()
    if libc.mount(b"proc", b"/proc", b"proc", 0, None):
        raise OSError(ctypes.get_errno(), "mount")


USERS = {
    "user": lambda: None,
    "userns": lambda: unshare(0),
    "netns": root_of_network,
    "container": container,
}


def become(uid):
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)
    # Files of /proc belong to root again after a change of the user.
    libc.prctl(4, 1, 0, 0, 0)


def outcome(function):
    try:
        function()
    except OSError as error:
        return errno.errorcode[error.errno]
    return "yes"


def tried_as(user, function):
    """What comes of it, in a process of its own."""
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        try:
            enter("h1")
            become(NOBODY)
            USERS[user]()
            os.write(theirs, outcome(function).encode())
        except BaseException:  # pylint: disable=broad-exception-caught
            traceback.print_exc(file=sys.stdout)
        finally:
            sys.stdout.flush()
            os._exit(0)
    os.close(theirs)
    with os.fdopen(ours) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return said or "nothing"


# Device nodes, files --------------------------------------------------------


@trial("/dev/infiniband/uverbsN")
def open_uverbs():
    Device("mpa1").context()


@trial("/dev/infiniband/rdma_cm")
def open_rdma_cm():
    with Channel() as channel:
        channel.id().destroy()


@trial("mpa_abi_version")
def read_abi():
    Path("/sys/class/infiniband/mpa1/mpa_abi_version").read_text("ascii")


PARAMETERS = {"fast_path": "mpa", "doorbells": "mpa_rnic"}


@trial(*(name + what for name in PARAMETERS for what in ("", ", reading")))
def parameter(name):
    name, _, reading = name.partition(", ")
    path = Path("/sys/module") / PARAMETERS[name] / "parameters" / name
    if reading:
        path.read_text("ascii")
    else:
        path.write_text("Y", "ascii")


# Netlink --------------------------------------------------------------------


def attribute(kind, payload):
    length = 4 + len(payload)
    return struct.pack("=HH", length, kind) + payload + bytes(-length % 4)


def nest(kind, *parts):
    return attribute(kind | 1 << 15, b"".join(parts))


class Generic:
    """A socket for the family."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_GENERIC)
        self.socket.settimeout(30)
        text = self.ask(16, 3, attribute(2, b"mpa\0"), flags=0)
        found = dict(self.attributes(text[20:]))
        self.family, = struct.unpack("=H", found[1][:2])
        # The list of groups, the first of it, its id.
        group = dict(self.attributes(dict(self.attributes(found[7]))[1]))
        self.group, = struct.unpack("=I", group[2])

    @staticmethod
    def attributes(data):
        while len(data) >= 4:
            length, kind = struct.unpack_from("=HH", data)
            yield kind & 0x3fff, data[4:length]
            data = data[length + 3 & ~3:]

    def ask(self, kind, command, payload=b"", flags=ACK):
        """The first message of the answer; an error is raised."""
        body = struct.pack("=BBH", command, 1, 0) + payload
        self.socket.send(struct.pack("=IHHII", 16 + len(body), kind, REQUEST | flags, 1,
                                     0) + body)
        text = self.socket.recv(1 << 16)
        while True:
            kind, = struct.unpack_from("=H", text, 4)
            error = struct.unpack_from("=i", text, 16)[0] if kind in (2, 3) else 0
            if error:
                raise OSError(-error, "netlink")
            if kind in (2, 3) or not flags & DUMP:
                return text
            text = self.socket.recv(1 << 16)


@trial(*(f"MPA_CMD_{name}" for name in COMMANDS), "MPA_CMD_SET, device")
def netlink(name):
    client = Generic()
    word, _, device = name.removeprefix("MPA_CMD_").partition(", ")
    if word != "SET":
        client.ask(client.family, COMMANDS[word],
                   flags=0 if word == "DEFAULTS_GET" else DUMP)
        return
    which = [nest(A_DEV, attribute(DEV_NAME, b"mpa1\0"))] if device else []
    crc = nest(A_CONFIG, attribute(CONFIG_CRC, struct.pack("=I", 0 if not device else 1)))
    client.ask(client.family, COMMANDS[word], nest(A_CHANGE, *which, crc))


@trial("MPA_GENL_EVENTS")
def events():
    client = Generic()
    client.socket.setsockopt(SOL_NETLINK, ADD_MEMBERSHIP, client.group)


def rdma(*words):
    done = subprocess.run(["rdma", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        for number in errno.errorcode:
            if os.strerror(number) in done.stderr:
                raise OSError(number, "rdma")
        raise OSError(errno.ENOMSG, done.stderr)


@trial("RDMA_NLDEV_CMD_NEWLINK")
def link_add():
    rdma("link", "add", "mpa9", "type", "mpa", "netdev", "lo")


@trial("RDMA_NLDEV_CMD_DELLINK")
def link_delete():
    rdma("link", "delete", "mpa1")


# Options of sockets ---------------------------------------------------------


class Pair:
    """Two sockets on the loopback device."""

    def __init__(self):
        listener = socket.create_server((LO, 0))
        self.near = socket.create_connection(listener.getsockname())
        self.far, _ = listener.accept()
        listener.close()

    def attach(self):
        for one in self.near, self.far:
            one.setsockopt(socket.IPPROTO_TCP, mpasock.TCP_ULP, b"mpa")
        return self

    def requested(self, answer=None):
        """Up to the Request, or to an answer, by its option."""
        self.attach()
        self.near.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            mpasock.start(self.near, mpasock.INITIATOR)
        mpasock.start(self.far, mpasock.RESPONDER)
        if answer:
            self.far.setsockopt(mpasock.SOL_MPA, answer, b"")
            poll = select.poll()
            poll.register(self.near, select.POLLOUT)
            poll.poll(10000)
        return self


@trial("TCP_ULP mpa")
def attach():
    Pair().attach()


SET = {"PRIVATE_DATA": (2, b"data"), "LAST_MESSAGE": (3, b"last"), "PACKING": (10, 1),
       "PARAMS": (1, mpasock.PARAMS.pack(1, mpasock.REV_AUTO, 0, 0, 0, 0, 0, 0)),
       "PARAMS, MPA_F_NO_CRC": (1, mpasock.PARAMS.pack(F_NO_CRC, mpasock.REV_AUTO,
                                                       0, 0, 0, 0, 0, 0))}
GET = {"PEER_DATA": 7, "INFO": 8, "MULPDU": 9, "STATS": 11}


@trial(*(f"MPA_SO_{name}" for name in (*SET, *GET, "START", "ACCEPT", "REJECT")))
def socket_option(name):
    name = name.removeprefix("MPA_SO_")
    if name in SET:
        pair = Pair().attach()
        pair.far.setsockopt(mpasock.SOL_MPA, *SET[name])
        pair.far.getsockopt(mpasock.SOL_MPA, SET[name][0], 512)
    elif name in GET:
        Pair().requested(answer=5).near.getsockopt(mpasock.SOL_MPA, GET[name], 512)
    else:
        Pair().requested({"START": None, "ACCEPT": 5, "REJECT": 6}[name])


@trial(*(f"TCP_FRAMING_{name}" for name in TUF if name != "SEND_EMSS"), "TCP_SEND_EMSS")
def framing(name):
    word = name.removeprefix("TCP_FRAMING_").removeprefix("TCP_")
    one = Pair().attach().near
    value = {"MODE": 0x22, "PACK_PDUS": 0, "EMERGENCY": 1, "SEND_INTERVAL": 512,
             "RECV_INTERVAL": 512, "RECV_KEY": b"secret", "EMSS_NOTICE": 1}.get(word)
    if value is not None:
        one.setsockopt(socket.IPPROTO_TCP, TUF[word], value)
    one.getsockopt(socket.IPPROTO_TCP, TUF[word], 512)


# Commands of uverbs ---------------------------------------------------------


class Verbs:
    """A device with a queue pair."""

    def __init__(self):
        self.device = Device("mpa1")
        self.device.context()
        self.room = ctypes.create_string_buffer(4096)
        self.at = ctypes.addressof(self.room)

    def queue_pair(self):
        cq = self.device.create_cq(16)[0]
        return FIRST_OWN, 0, self.device.create_qp(self.device.alloc_pd(), cq)[0]

    def plain(self, address, port):
        """A queue of plain connections: its descriptor."""
        self.room[:32] = socket.inet_aton(address) + bytes(12) + struct.pack(
            "=HHIII", socket.AF_INET, socket.htons(port), 0, 4, 0)
        return self.create(FIRST_OWN, (FIRST_OWN + 1, 32, 1, self.at))

    def create(self, kind, *attributes):
        """A new object of this driver: its descriptor."""
        # The core stores the descriptor in the attribute.
        body = b"".join(struct.pack("=HHHxxQ", *one) for one in (
            (FIRST_OWN, 0, 1, 0), *attributes))
        head = struct.pack("=HHHHQII", 24 + len(body), kind, FIRST_OWN,
                           1 + len(attributes), 0, 0, 0)
        command = bytearray(head + body)
        fcntl.ioctl(self.device.fd, VERBS_IOCTL, command)
        return struct.unpack_from("=q", command, 24 + 8)[0]


@trial("MPA_ATTR_QUERY_CONTEXT_FEATURES")
def query_context():
    verbs = Verbs()
    # UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT
    verbs.device.ioctl(0, 4, ((0, 4, verbs.at), (1, 8, verbs.at + 8),
                              (FIRST_OWN, 4, verbs.at + 16)))
    assert verbs.room[16] != b"\0"


@trial("MPA_METHOD_QP_MODIFY")
def qp_modify():
    verbs = Verbs()
    verbs.device.ioctl(OBJECT_QP, FIRST_OWN, (verbs.queue_pair(), (FIRST_OWN + 1, 4, 5)))


@trial("MPA_METHOD_QP_FROM_SOCKET")
def qp_from_socket():
    verbs = Verbs()
    target = H2
    if socket.if_nameindex() == [(1, "lo")]:
        # Nothing else can be reached in a namespace of its own.
        target = LO
    if target == LO:
        pair = Pair().attach()
        sock = pair.near
    else:
        sock = socket.create_connection((target, PORT_MPA))
        sock.setsockopt(socket.IPPROTO_TCP, mpasock.TCP_ULP, b"mpa")
    verbs.room[:16] = struct.pack("=iIII", sock.detach(), 0, 1, 1)
    verbs.device.ioctl(OBJECT_QP, FIRST_OWN + 1,
                       (verbs.queue_pair(), (FIRST_OWN + 1, 16, verbs.at),
                        (FIRST_OWN + 4, 16, verbs.at + 64)))


@trial("MPA_METHOD_PLAIN_CREATE, own", "MPA_METHOD_PLAIN_CREATE, other's",
       "MPA_METHOD_PLAIN_CREATE, root's", "MPA_METHOD_PLAIN_ACCEPT")
def plain(name):
    port = {"own": PORT_OWN, "other's": PORT_OF_OTHER, "root's": PORT_OF_ROOT}.get(
        name.partition(", ")[2])
    verbs = Verbs()
    if port not in (None, PORT_OWN):
        verbs.plain(H1, port)
        return
    with Channel() as channel:
        channel.id().listen(H1, PORT_OWN, 8)
        queue = verbs.plain(H1, PORT_OWN)
        if port is None:
            with socket.create_connection((H1, PORT_OWN)) as peer:
                peer.send(b"hello")
                poll = select.poll()
                poll.register(queue, select.POLLIN)
                poll.poll(10000)
                verbs.device.ioctl(FIRST_OWN, FIRST_OWN + 1,
                                   ((FIRST_OWN, 0, queue), (FIRST_OWN + 1, 4, 0),
                                    (FIRST_OWN + 2, 4, verbs.at)))


@trial("MPA_METHOD_DOORBELL_CREATE")
def doorbell():
    verbs = Verbs()
    bell = verbs.create(FIRST_OWN + 1)
    verbs.queue_pair()
    # MPA_DOORBELL_RING, of the first queue pair.
    fcntl.ioctl(bell, 0x1bd0, 0)


# What the trials find -------------------------------------------------------


def listening(uid, port):
    """A listener of another user, until the pipe is closed."""
    ready, says = os.pipe()
    end, hold = os.pipe()
    if not os.fork():
        os.close(hold)
        enter("h1")
        if uid:
            become(uid)
        with Channel() as channel:
            channel.id().listen(H1, port, 8)
            os.write(says, b"1")
            os.read(end, 1)
        os._exit(0)
    os.close(says)
    os.close(end)
    assert os.read(ready, 1), "no listener"
    return hold


def accepts_mpa():
    """Sockets on h2 that accept every Request."""
    with host("h2"):
        listener = socket.create_server((H2, PORT_MPA))

    def serve():
        kept = []
        while True:
            one, _ = listener.accept()
            mpasock.attach(one, mpasock.F_AUTO_ACCEPT)
            with contextlib.suppress(OSError):
                mpasock.start(one, mpasock.RESPONDER)
            kept.append(one)

    threading.Thread(target=serve, daemon=True).start()


def rows_of(page):
    """{name: {user: result}} of the table."""
    text = Path(page).read_text("utf-8").partition(".. permissions\n")[2]
    text = text.partition(".. end of the permissions\n")[0]
    rows = [[cell.strip().strip("`") for cell in re.findall(r"^   [* ] - ?(.*)$", row, re.M)]
            for row in re.split(r"(?m)^(?=   \* - )", text)[1:]]
    users = [cell for cell in rows[0] if cell in USERS]
    assert users == list(USERS), users
    return {row[0].replace("``", ""): dict(zip(users, row[-len(users):]))
            for row in rows[1:]}


def main():
    rows = rows_of(sys.argv[1])
    held = [listening(0, PORT_OF_ROOT), listening(NOBODY - 1, PORT_OF_OTHER)]
    accepts_mpa()
    bad = 0
    for name in sorted(set(rows) ^ set(TRIALS)):
        print(f"bad {name}: only in {'the table' if name in rows else 'this program'}")
        bad += 1
    for name in rows:
        for user in USERS:
            if name not in TRIALS:
                continue
            got = tried_as(user, TRIALS[name])
            right = got == rows[name][user]
            bad += not right
            print(f"{'good' if right else 'bad'} {name} as {user}" +
                  ("" if right else f": got {got}, the table has {rows[name][user]}"))
    for one in held:
        os.close(one)
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
