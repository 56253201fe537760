#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Cases of MTU and MSS that change under a connection, run by 39-live-mtu.sh.

Usage: mtu_cases.py --list PREFIX
mtu_cases.py CASE

h1 and h2 have eth0 (10.77.0.N, fd77::N) in common, and eth1 (10.79.N.N, fd79:N::N) to
the router r. Nothing on the path merges or cuts segments. Packets are inspected as they
arrive on h2: each ULPDU begins with the same bytes, so that a segment shows whether it
begins with an FPDU.
"""

import contextlib
import errno
import json
import select
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))

# pylint: disable=wrong-import-position
import mpasock as mpa  # noqa: E402
from cmlab import case, check, ip, main, mpactl  # noqa: E402
from rdmacm import host  # noqa: E402

PORT = 7400
MAGIC = b"\xa5ULP"
HEAD = struct.Struct(">4sI")
LAST = 0xffffffff
# 128, and two bytes in place of the pad that its FPDU would have.
MULPDU_MIN = 130
FILLER = bytes(n * 7 % 251 for n in range(70000))
PATIENCE = 200
TRACING = Path("/sys/kernel/tracing")


# --- what is expected ---------------------------------------------------------
def mulpdu_at(mtu, family=socket.AF_INET, markers=False, mss=None):
    """RFC 5044 section 4.5: of the EMSS, which is the room of a segment without
    timestamps and with the most SACK options; never below MULPDU_MIN."""
    if mss is None:
        mss = mtu - (40 if family == socket.AF_INET else 60)
    emss = (mss - 40) // 4 * 4
    return max(emss - 6 - (4 * -(-emss // 512) if markers else 0), MULPDU_MIN)


# --- traffic ------------------------------------------------------------------
def ulpdu(number, size):
    begin = number % 251
    return HEAD.pack(MAGIC, number) + FILLER[begin:begin + size - HEAD.size]


class Stream:
    """ULPDUs in one direction, each as long as the MULPDU allows at that moment; all of
    them arrive in order, unharmed, however segments change."""

    def __init__(self, source, sink):
        self.source, self.sink = source, sink
        self.sent = self.received = self.too_long = 0
        self.behind = 0
        self.stopping = False
        self.reading = threading.Event()
        self.reading.set()
        self.fault = None
        self.threads = [threading.Thread(target=self.guarded, args=(part,),
                                         daemon=True)
                        for part in (self.feed, self.drain)]
        for thread in self.threads:
            thread.start()

    def guarded(self, part):
        try:
            part()
        except Exception as error:  # pylint: disable=broad-exception-caught
            self.fault = error

    def feed(self):
        while not self.stopping:
            # A window that is nearly closed would cut segments at its edge.
            if self.reading.is_set() and self.sent - self.received > 16:
                time.sleep(0.001)
                continue
            self.put(self.sent, mpa.mulpdu(self.source))
        self.put(LAST, HEAD.size)

    def put(self, number, size):
        try:
            self.source.send(ulpdu(number, size))
        except OSError as error:
            # It has shrunk since it was read: nothing was taken.
            if error.errno != errno.EMSGSIZE:
                raise
            self.too_long += 1
            return
        if number != LAST:
            self.sent += 1

    def drain(self):
        while True:
            self.reading.wait()
            got = self.sink.recv(mpa.ULPDU_MAX)
            if got == ulpdu(LAST, HEAD.size):
                return
            if got != ulpdu(self.received, len(got)):
                raise AssertionError(f"ULPDU {self.received}, {len(got)} "
                                     f"bytes: {got[:16].hex()}")
            self.received += 1

    def until(self, what, so):
        deadline = time.monotonic() + PATIENCE
        while not so():
            if self.fault:
                raise self.fault
            if time.monotonic() > deadline:
                raise AssertionError(f"waited without success: {what}; MULPDU "
                                     f"{mpa.mulpdu(self.source)}, "
                                     f"{self.sent} sent, "
                                     f"{self.received} received")
            time.sleep(0.02)

    @contextlib.contextmanager
    def held_up(self):
        """The reader does not read, so that data waits in TCP's queue: such a window is
        closed."""
        self.reading.clear()
        self.until("unsent data", lambda: unsent(self.source) > 20000)
        yield
        self.reading.set()

    def settled(self, wanted):
        """The MULPDU has this value, and data that was queued before has arrived."""
        self.until(f"MULPDU {wanted}",
                   lambda: mpa.mulpdu(self.source) == wanted)
        check("MULPDU of MPA_SO_INFO", mpa.info(self.source)[1], wanted)
        # One sender may still use the value it read earlier.
        self.behind = self.sent + 1
        self.until("what was queued", lambda: self.received > self.behind)

    def finish(self):
        self.stopping = True
        for thread in self.threads:
            thread.join(PATIENCE)
        if self.fault:
            raise self.fault
        check("threads left", sum(t.is_alive() for t in self.threads), 0)
        check("ULPDUs that arrived", self.received, self.sent)
        # The last one, and the one that allows a Responder to send.
        counted = mpa.stats(self.source)["tx_fpdus"]
        got = mpa.stats(self.sink)
        assert counted >= self.sent + 1, f"{counted} FPDUs counted"
        check("FPDUs counted", got["rx_fpdus"], counted)
        for name in ("rx_crc_errors", "rx_marker_errors", "rx_dropped"):
            check(name, got[name], 0)


def tcp_pair(address, family):
    """Connected from h1 to h2."""
    with host("h2"):
        listener = socket.socket(family)
    with listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, PORT))
        listener.listen(1)
        with host("h1"):
            near = socket.socket(family)
        near.connect((address, PORT))
        return near, listener.accept()[0]


@contextlib.contextmanager
def mpa_pair(address, markers=False):
    """In full operation, both may send."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    near, far = tcp_pair(address, family)
    flags = mpa.F_MARKERS if markers else 0
    with near, far:
        mpa.attach(near, flags)
        mpa.attach(far, flags | mpa.F_AUTO_ACCEPT)
        far.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            mpa.start(far, mpa.RESPONDER)
        mpa.start(near, mpa.INITIATOR)
        far.setblocking(True)
        near.send(b"first")
        check("first ULPDU", far.recv(100), b"first")
        yield near, far


# --- packets -----------------------------------------------------------------
class Wire:
    """Segments with ULPDUs that arrive at a network device of h2: (their bytes, the
    number of the ULPDU whose FPDU begins them; -1: no FPDU). They may be delayed, and
    some may be missing."""

    def __init__(self, netdev, port=PORT):
        self.port = port
        self.segments = []
        with host("h2"):
            self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW,
                                      socket.htons(3))
            self.sock.bind((netdev, 0))
        self.going = True
        self.thread = threading.Thread(target=self.look, daemon=True)
        self.thread.start()

    def look(self):
        while self.going:
            if select.select([self.sock], [], [], 0.1)[0]:
                self.add(self.sock.recvfrom(65536))

    def add(self, packet):
        data, where = packet
        if where[2] == socket.PACKET_OUTGOING:
            return
        # After Ethernet: IPv4 without options, or IPv6.
        tcp = 54 if data[12:14] == b"\x86\xdd" else 34
        if struct.unpack_from(">H", data, tcp + 2)[0] != self.port:
            return
        payload = data[tcp + (data[tcp + 12] >> 4) * 4:]
        if payload:
            self.segments.append((len(payload), first_of(payload)))

    def next(self, stream, count):
        """So many segments, from the first one that contains data sent after the stream
        had settled."""
        def begin():
            return next((n for n, (_, number) in enumerate(self.segments)
                         if number > stream.behind), len(self.segments))

        stream.until(f"{count} segments",
                     lambda: len(self.segments) >= begin() + count)
        return self.segments[begin():][:count]

    def close(self):
        self.going = False
        self.thread.join(5)
        self.sock.close()


def first_of(payload):
    """The number of the ULPDU whose FPDU begins a segment, -1 without. A Marker, whose
    FPDUPTR is its distance from the beginning of the FPDU, may be before the FPDU, in
    the length and the magic number, or before the number."""
    for at in (0, 4, 8):
        if payload[at:at + 4] == struct.pack(">I", at):
            payload = payload[:at] + payload[at + 4:]
            break
    if payload[2:6] != MAGIC:
        return -1
    return HEAD.unpack_from(payload, 2)[1]


@contextlib.contextmanager
def wire(netdev):
    seen = Wire(netdev)
    try:
        yield seen
    finally:
        seen.close()


def ip_tc(where, words):
    subprocess.run(["tc", "-n", where, "qdisc", *words.split()], check=True)


def unsent(sock):
    """Bytes in TCP's queue that were never sent (SIOCOUTQNSD)."""
    import fcntl  # pylint: disable=import-outside-toplevel
    return struct.unpack("=i", fcntl.ioctl(sock, 0x894B, bytes(4)))[0]


def aligned(stream, seen, mss, count=100):
    """Segments begin with FPDUs again, and none is longer than allowed."""
    segments = seen.next(stream, count)
    check("segments that no FPDU begins",
          sum(number < 0 for _, number in segments), 0)
    not_longer(segments, mss)


def cut(stream, seen, mss, count=100):
    """Segments are too short for an FPDU, so that some begin within one."""
    segments = seen.next(stream, count)
    check("segments begin within FPDUs",
          any(number < 0 for _, number in segments), True)
    not_longer(segments, mss)


def not_longer(segments, mss):
    longest = max(size for size, _ in segments)
    if longest > mss:
        raise AssertionError(f"a segment of {longest} bytes, MSS {mss}")


def goes_through(address, netdev, steps, markers=False):
    """In both directions at once, one of them with more queued than was sent; @steps:
    (function that changes the path, its new MTU)."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    headers = 72 if family == socket.AF_INET6 else 52
    with contextlib.ExitStack() as stack:
        near, far = stack.enter_context(mpa_pair(address, markers))
        seen = stack.enter_context(wire(netdev))
        check("MULPDU at first", mpa.mulpdu(near),
              mulpdu_at(1500, family, markers))
        streams = Stream(near, far), Stream(far, near)
        # Restore the state for the next case in any event.
        stack.callback(steps[-1][0], 1500)
        for change, mtu in steps:
            with streams[0].held_up():
                change(mtu)
            for stream in streams:
                stream.settled(mulpdu_at(mtu, family, markers))
            short = mulpdu_at(mtu, family, markers) == MULPDU_MIN
            (cut if short else aligned)(streams[0], seen, mtu - headers)
        for stream in streams:
            stream.finish()


# --- ways to change the path --------------------------------------------------
def device_mtu(mtu):
    for name in ("h1", "h2"):
        ip(f"-n {name} link set eth0 mtu {mtu}")


def route_mtu(mtu):
    """Of routes to the other host, which were created for this."""
    for n in (1, 2):
        ip(f"-n h{n} route replace 10.77.0.{3 - n}/32 dev eth0 mtu {mtu}")


def path_mtu(mtu):
    """Between router and h2: h1 learns of it by ICMP. When it grows, the learned MTU is
    flushed, which otherwise takes some minutes."""
    ip(f"-n r link set far mtu {mtu}")
    ip(f"-n h2 link set eth1 mtu {mtu}")
    if mtu == 1500:
        for family in ("-4", "-6"):
            ip(f"{family} -n h1 route flush cache")


def steps_of(change, *mtus):
    return [(change, mtu) for mtu in mtus]


# --- sockets ------------------------------------------------------------------
# IPv6 first: it is removed from a device whose MTU falls below 1280.
@case
def sockets_device_ipv6():
    goes_through("fd77::2", "eth0", steps_of(device_mtu, 1280, 1500))


@case
def sockets_path_ipv6():
    goes_through("fd79:2::2", "eth1", steps_of(path_mtu, 1280, 1500))


@case
def sockets_device():
    goes_through("10.77.0.2", "eth0", steps_of(device_mtu, 1280, 600, 1500))


@case
def sockets_below_128():
    """An EMSS below 128 bytes does not shrink the MULPDU."""
    goes_through("10.77.0.2", "eth0", steps_of(device_mtu, 160, 1500))


@case
def sockets_device_markers():
    goes_through("10.77.0.2", "eth0", steps_of(device_mtu, 1280, 600, 1500),
                 markers=True)


@case
def sockets_route():
    route_mtu(1500)
    try:
        goes_through("10.77.0.2", "eth0", steps_of(route_mtu, 1280, 600, 1500))
    finally:
        for n in (1, 2):
            ip(f"-n h{n} route del 10.77.0.{3 - n}/32 dev eth0")


@case
def sockets_path():
    goes_through("10.79.2.2", "eth1", steps_of(path_mtu, 1280, 600, 1500))


@case
def sockets_path_markers():
    goes_through("10.79.2.2", "eth1", steps_of(path_mtu, 1280, 600, 1500),
                 markers=True)


@case
def sockets_small_mss():
    """The peer's SYN announces short segments only; both sides use the smaller value.
    """
    ip("-n h2 route replace 10.77.0.1/32 dev eth0 advmss 536")
    try:
        with mpa_pair("10.77.0.2") as (near, far), wire("eth0") as seen:
            stream = Stream(near, far)
            stream.settled(mulpdu_at(0, mss=536))
            aligned(stream, seen, 524)
            stream.finish()
    finally:
        ip("-n h2 route del 10.77.0.1/32 dev eth0")


@contextlib.contextmanager
def traced(event):
    """Lines of the tracepoint, once it is over."""
    enable = TRACING / "events" / "mpa" / event / "enable"
    (TRACING / "trace").write_text("")
    enable.write_text("1")
    lines = []
    try:
        yield lines
    finally:
        enable.write_text("0")
        lines += [line for line in (TRACING / "trace").read_text().splitlines()
                  if f"{event}:" in line]


def keep_back(near, far, size):
    """One ULPDU reaches a router that now passes shorter ones only. More follow, held
    back so long that the router's message arrives before they are sent. Returns how
    many were held back: all of them, unless the message came first."""
    number = 0
    near.send(ulpdu(number, size))
    with contextlib.suppress(OSError):
        for number in (1, 2, 3):
            near.send(ulpdu(number, size), socket.MSG_MORE)
        number = 4
    number = max(number, 1)
    for expected in range(number):
        check(f"ULPDU {expected}", far.recv(mpa.ULPDU_MAX),
              ulpdu(expected, size))
    return number - 1


def grown_too_long(size):
    """True if all were held back, and sent as ULPDUs that are too long."""
    with mpa_pair("10.79.2.2") as (near, far), traced("mpa_tx_widen") as lines:
        ip_tc("h1", "replace dev eth1 root netem delay 90ms")
        try:
            path_mtu(600)
            kept = keep_back(near, far, size)
            check("MULPDU", mpa.mulpdu(near), mulpdu_at(600))
            counted = mpa.stats(near)
            try:
                near.send(ulpdu(9, size))
                raise AssertionError("a ULPDU that is too long was taken")
            except OSError as error:
                check("error", error.errno, errno.EMSGSIZE)
        finally:
            ip_tc("h1", "del dev eth1 root")
            path_mtu(1500)
    check("FPDUs", counted["tx_fpdus"], 2 + kept)
    longer = [line.split("ulpdu_len=")[1].split()[0] for line in lines]
    check("lengths traced", set(longer) - {str(size)}, set())
    if len(longer) != 3:
        return False
    # Each of them in a separate batch.
    check("batches", counted["tx_batches"], 1 + 1 + 3)
    return True


@case
def sockets_grown_too_long():
    """ULPDUs that were accepted and are longer than a segment by the time they are
    sent: each is sent unchanged, in several segments."""
    for _ in range(10):
        if grown_too_long(mulpdu_at(1500)):
            return
    raise AssertionError("all of them were held back in no attempt")


# --- RNIC ---------------------------------------------------------------------
class Pings:
    """rping in both directions, each ping a Read and a Write, verified."""

    def __init__(self, address, device):
        self.device = device
        self.address = address
        self.server = self.run("h2", "-s", address)
        deadline = time.monotonic() + PATIENCE
        while not self.listening():
            assert time.monotonic() < deadline, "rping does not listen"
            time.sleep(0.1)
        self.client = self.run("h1", "-c", address)

    @staticmethod
    def run(where, role, address):
        with host(where):
            return subprocess.Popen(
                ["rping", role, "-a", address, "-V", "-S", "65535"],
                stdin=subprocess.DEVNULL)

    @staticmethod
    def listening():
        with host("h2"):
            return b":7174" in subprocess.run(
                ["ss", "-Hltn", "sport = :7174"], check=True,
                capture_output=True).stdout

    def on(self, count):
        """So many more messages have been sent."""
        wanted = counter(self.device, "tx_send") + count
        deadline = time.monotonic() + PATIENCE
        while counter(self.device, "tx_send") < wanted:
            for name, process in (("client", self.client),
                                  ("server", self.server)):
                check(f"rping {name}", process.poll(), None)
            assert time.monotonic() < deadline, "no more pings"
            time.sleep(0.1)

    def end(self):
        for process in (self.client, self.server):
            process.kill()
            process.wait()


def counter(device, name):
    text = subprocess.run(
        ["rdma", "-j", "statistic", "show", "link", f"{device}/1"],
        check=True, capture_output=True, text=True).stdout
    return json.loads(text)[0][name]


def mulpdus(where):
    """Of the connections of devices there."""
    shown = json.loads(mpactl(where, "-j", "conn").stdout)
    return {one["mulpdu"] for one in connections_in(shown)
            if one.get("phase") == "operational"}


def connections_in(shown):
    return shown["connections"] if isinstance(shown, dict) else shown


def rnic_goes_through(address, devices, steps):
    bad = ("rx_crc_error", "rx_marker_error", "rx_ddp_error", "rx_rdmap_error",
           "tx_terminate")
    before = {(device, name): counter(device, name)
              for device in devices for name in bad}
    pings = Pings(address, devices[0])
    try:
        pings.on(4)
        for change, mtu in steps:
            change(mtu)
            pings.on(6)
            for where in ("h1", "h2"):
                check(f"MULPDU in {where} at {mtu}", mulpdus(where),
                      {mulpdu_at(mtu)})
        for key, value in before.items():
            check(f"{key}", counter(*key), value)
    finally:
        pings.end()
        steps[-1][0](1500)


@case
def rnic_device():
    rnic_goes_through("10.77.0.2", ("mpa1", "mpa2"),
                      steps_of(device_mtu, 1280, 600, 1500))


@case
def rnic_path():
    rnic_goes_through("10.79.2.2", ("mpa3", "mpa4"),
                      steps_of(path_mtu, 1280, 600, 1500))


if __name__ == "__main__":
    sys.exit(main(sys.argv, __doc__))
