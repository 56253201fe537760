# SPDX-License-Identifier: GPL-2.0-only
"""Helpers for the cases of several suites: consumers of the RDMA connection manager on
one host of the lab, byte sequences on the other, settings, counters.

Hosts are h1 (10.77.0.1, fd77::1, device mpa1) and h2 (10.77.0.2, fd77::2, mpa2).
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import traceback
from pathlib import Path

import mpaframe as mpa
from mpaframe import dial, enhanced, frame
from rdmacm import Channel, host

MPACTL = Path(__file__).resolve().parents[3] / "build" / "bin" / "mpactl"
PORT = 7300
H1, H2 = "10.77.0.1", "10.77.0.2"
HOST_OF = {"mpa1": "h1", "mpa2": "h2"}

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def run_in_child(name, limit):
    """Runs a case in a child that is killed after so many seconds; returns its exit
    status, or that of a shell for a signal."""
    child = os.fork()
    if not child:
        status = 1
        try:
            signal.alarm(limit)
            CASES[name]()
            status = 0
        except BaseException:  # pylint: disable=broad-exception-caught
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return code if code >= 0 else 128 - code


def begin_with(prefix):
    return [name for name in CASES if name.startswith(prefix)]


def serve(limit):
    """Answers lines on standard input: "list PREFIX" with the names of cases, "run
    NAME" with the exit status. Interpreter and modules are loaded once for all, which
    takes longer than most cases do."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        word, name = line.split()
        if word == "list":
            answer = " ".join(begin_with(name))
        else:
            answer = run_in_child(name, limit) if name in CASES else 2
        print(answer, file=answers, flush=True)


def main(argv, usage):
    """--list PREFIX: names of the cases; --serve SECONDS: see serve(); else the
    name of one to run."""
    if len(argv) == 3 and argv[1] == "--list":
        print("\n".join(begin_with(argv[2])))
        return 0
    if len(argv) == 3 and argv[1] == "--serve":
        serve(int(argv[2]))
        return 0
    if len(argv) != 2 or argv[1] not in CASES:
        print(usage, file=sys.stderr)
        return 2
    CASES[argv[1]]()
    return 0


def check(what, got, wanted):
    if got != wanted:
        raise AssertionError(f"{what}: got {got!r}, wanted {wanted!r}")


def counters(device):
    text = subprocess.run(
        ["rdma", "-j", "statistic", "show", "link", f"{device}/1"],
        check=True, capture_output=True, text=True).stdout
    return json.loads(text)[0]


@contextlib.contextmanager
def counting(device, **wanted):
    """The counters grow by exactly that much, at the latest soon after the block."""
    before = counters(device)
    yield
    deadline = time.monotonic() + PATIENCE
    while True:
        now = counters(device)
        grown = {name: now[name] - before[name] for name in wanted}
        if grown == wanted:
            return
        if time.monotonic() > deadline:
            raise AssertionError(f"{device} counted {grown}, wanted {wanted}")
        time.sleep(0.1)


def mpactl(where, *words, must=True):
    """Runs mpactl on the host; returns the result of subprocess.run()."""
    with host(where):
        return subprocess.run([MPACTL, *map(str, words)], check=must,
                              capture_output=True, text=True)


@contextlib.contextmanager
def configured(where, *words, of=()):
    """Sets values for new connections within the block, for the host or, as @of, for
    ("dev", NAME) or ("listen", ID): words of mpactl, key after value. They must not
    have been set there before."""
    mpactl(where, "set", *of, *words)
    try:
        yield
    finally:
        back = [word for key in words[::2] for word in (key, "inherit")]
        mpactl(where, "set", *of, *back)


def switched(device, *words):
    """The same for a device."""
    return configured(HOST_OF[device], *words, of=("dev", device))


# What is to come soon comes by then on a slow machine too.
PATIENCE = 60


@contextlib.contextmanager
def within(low, high=PATIENCE):
    """The block takes at least that many seconds, and not longer than a slow machine needs.
    What the kernel would end later by itself has a time limit above @high."""
    start = time.monotonic()
    yield
    took = time.monotonic() - start
    if not low <= took <= high:
        raise AssertionError(f"took {took:.1f} s, wanted {low} to {high}")


def no_startup_timeout():
    """Nothing of h2 ends for lack of a Request within PATIENCE."""
    return configured("h2", "startup-timeout", "10min")


def ip(words):
    subprocess.run(["ip", *words.split()], check=True)


def reachable(address, where="h1"):
    deadline = time.monotonic() + 20
    with host(where):
        while subprocess.run(["ping", "-c", "1", "-W", "1", address],
                             stdout=subprocess.DEVNULL,
                             check=False).returncode:
            assert time.monotonic() < deadline, f"{address} unreachable"


@contextlib.contextmanager
def responder(address=H2, port=PORT, where="h2", backlog=0):
    """A consumer that listens: its channel."""
    with Channel() as channel:
        with host(where):
            channel.id().listen(address, port, backlog)
        yield channel


@contextlib.contextmanager
def initiator(where="h1"):
    with Channel() as channel:
        with host(where):
            identifier = channel.id()
        yield channel, identifier


def raw(address=H2, port=PORT, where="h1", seconds=PATIENCE, source=None):
    with host(where):
        return dial(address, port, seconds, source)


def turned_away_at_once(address, where="h1"):
    """TCP accepts, but no one answers."""
    with no_startup_timeout(), within(0), contextlib.suppress(ConnectionResetError):
        with raw(address, where=where) as peer:
            peer.closed()


def crowd(count, address=H2, port=PORT, where="h1"):
    """Sockets that connect all at once."""
    socks = [None] * count
    with host(where):
        for n in range(count):
            socks[n] = socket.socket()
            socks[n].setblocking(False)
            socks[n].connect_ex((address, port))
    return socks


def turned_away(sock):
    try:
        return not sock.recv(1)
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True


def raw_listener(address=H2, port=PORT, where="h2"):
    with host(where):
        return mpa.Listener(address, port)


def request(word1, word2, data=b"", flags=mpa.CRC | mpa.ENHANCED):
    return frame(mpa.REQUEST, flags, 2, enhanced(word1, word2) + data)


def reply(word1, word2, data=b"", flags=mpa.CRC | mpa.ENHANCED):
    return frame(mpa.REPLY, flags, 2, enhanced(word1, word2) + data)
