# SPDX-License-Identifier: GPL-2.0-only
"""Other processes, users, containers: each uses the RDMA connection manager on request,
in the network namespace of a host, and returns the result.

The creator of a Party must not have used the connection manager itself: files of it
that a child inherits are useless to the child.
"""

import ctypes
import errno
import json
import os
import signal
import socket
import threading
import traceback

from rdmacm import Channel, libc, setns

CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
NOBODY = 65534


def enter(name):
    """Moves the process into the network namespace of a host."""
    inside = os.open(f"/var/run/netns/{name}", os.O_RDONLY)
    setns(inside)
    os.close(inside)


def other_user():
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


def container():
    """Becomes root of a user namespace, in a new process namespace."""
    uid = os.getuid()
    if libc.unshare(CLONE_NEWUSER | CLONE_NEWPID):
        raise OSError(ctypes.get_errno(), "unshare")
    with open("/proc/self/uid_map", "w", encoding="ascii") as uid_map:
        uid_map.write(f"0 {uid} 1")
    child = os.fork()
    if child:
        os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def in_thread(function, *args):
    """Runs it in a thread that ends afterwards; returns its result."""
    got = []
    thread = threading.Thread(target=lambda: got.append(function(*args)))
    thread.start()
    thread.join()
    return got[0]


class Worker:
    """The requests to a party: a method for each word."""

    def __init__(self, channel):
        self.channel = channel
        self.id = None

    def pid(self):
        return os.getpid()

    def uid(self):
        return os.getuid()

    def make(self, address, port):
        """Creates an identifier with a QP that is not connected; returns its number."""
        self.id = self.channel.id()
        self.id.resolve(address, port)
        return self.id.qp_num()

    def make_in_thread(self, address, port):
        return in_thread(self.make, address, port)

    def connect(self):
        """Connects it; returns the resulting event."""
        self.id.request()
        return self.channel.event().name

    def numbers(self, address, port, count, drop):
        """The numbers of that many QPs created in turn, destroyed at once or kept."""
        each = self.channel.id()
        kept = []
        numbers = []
        for _ in range(count):
            if not drop:
                each = self.channel.id()
            if not drop or not numbers:
                each.find_route(address, port)
            each.create_qp()
            numbers.append(each.qp_num())
            if drop:
                each.destroy_qp()
            else:
                kept.append(each)
        for one in kept or [each]:
            one.destroy()
        return numbers

    def steal(self, address, port, number):
        """Connects with a QP by its number alone; returns the event, or the error."""
        thief = self.channel.id()
        thief.find_route(address, port)
        try:
            thief.request(qp_num=number)
        except OSError as error:
            return errno.errorcode[error.errno]
        finally:
            name = "none"
            if self.channel.has_event(0.5):
                name = self.channel.event().name
            thief.destroy()
        return name

    def listen(self, address, port):
        self.channel.id().listen(address, port, 8)

    def accept(self):
        """Accepts the next Request, with its own QP; returns the resulting event."""
        self.id = self.channel.event("CONNECT_REQUEST").id
        self.id.accept()
        return self.channel.event().name

    def accept_with(self, number):
        """Accepts the next Request, with a QP by its number; returns the event, or the
        error."""
        got = self.channel.event("CONNECT_REQUEST").id
        try:
            got.accept(qp_num=number)
        except OSError as error:
            return errno.errorcode[error.errno]
        return self.channel.event().name

    def event(self):
        return self.channel.event().name

    def quiet(self):
        """No event comes."""
        self.channel.silent(0.5)

    def close(self):
        self.id.destroy()


class Party:
    """Another process on a host; @become is called in it first."""

    def __init__(self, name, become=lambda: None):
        ours, theirs = socket.socketpair()
        self.child = os.fork()
        if not self.child:
            ours.close()
            self.work(name, become, theirs)
        theirs.close()
        self.socket = ours
        self.lines = ours.makefile("r")

    @staticmethod
    def work(name, become, theirs):
        status = 1
        try:
            enter(name)
            become()
            with Channel() as channel:
                worker = Worker(channel)
                with theirs.makefile("r") as lines:
                    for line in lines:
                        word, args = json.loads(line)
                        answer = json.dumps(getattr(worker, word)(*args))
                        theirs.sendall(answer.encode() + b"\n")
            status = 0
        except BaseException:  # pylint: disable=broad-exception-caught
            traceback.print_exc()
        finally:
            os._exit(status)

    def tell(self, word, *args):
        """Sends a request without waiting for the result: see result()."""
        self.socket.sendall(json.dumps([word, args]).encode() + b"\n")

    def result(self):
        answer = self.lines.readline()
        assert answer, "the other process has ended"
        return json.loads(answer)

    def ask(self, word, *args):
        self.tell(word, *args)
        return self.result()

    def kill(self):
        os.kill(self.child, signal.SIGKILL)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.lines.close()
        self.socket.close()
        os.waitpid(self.child, 0)
