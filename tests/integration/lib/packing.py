#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""How FPDUs share TCP segments: ends that send many at once, and what a capture shows.

    packing.py receive PORT [markers]              MPA sockets; asks for Markers
    packing.py send HOST PORT BYTES COUNT...       COUNT ULPDUs of BYTES at once, each COUNT
    packing.py sink PORT                           plain TCP
    packing.py stream HOST PORT BYTES              plain TCP
    packing.py bulk HOST PORT                      plain TCP, until the other end closes
    packing.py rate PORT WINDOW SKIP SECONDS       plain TCP, one connection: bytes a second
    packing.py hold PORT                           MPA sockets, many at a time
    packing.py held HOST PORT N PID                 checks what N connections to it hold
    packing.py measure CAPTURE NTH EMSS [SKIP COUNT]

`measure` prints NAME=VALUE lines of the Initiator's direction of connection NTH in the
capture, from 1 on; without its first SKIP FPDUs, and of the next COUNT only. A segment is
full if the FPDU behind it would not have fitted into it. `plain` in place of EMSS counts
segments of a connection without MPA.
"""

import fcntl
import random
import selectors
import socket
import struct
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import mpaframe as frame  # noqa: E402
import mpasock as mpa  # noqa: E402
from check_capture import FLAG_MARKERS, REPLY, REQUEST, Flow, Segment, Startup, walk  # noqa: E402

MSG_MORE = 0x8000
SIOCOUTQ = 0x5411
FIN, SYN, RST, ACK = 0x01, 0x02, 0x04, 0x10
SPACE = 1 << 32


# --- ends ------------------------------------------------------------------------


def receive(port, *words):
    flags = mpa.F_MARKERS if "markers" in words else 0
    with socket.create_server(("", int(port))) as listener:
        mpa.attach(listener, mpa.F_AUTO_ACCEPT | flags)
        mpa.start(listener, mpa.RESPONDER)
        while True:
            sock, _ = listener.accept()
            with sock:
                count = octets = 0
                while True:
                    data, _, flags, _ = sock.recvmsg(65536)
                    if not data and not flags & socket.MSG_EOR:
                        break
                    count += 1
                    octets += len(data)
            print(f"received {count} ULPDUs, {octets} bytes", flush=True)


def send(host, port, size, *counts):
    data = b"\x5a" * int(size)
    with socket.create_connection((host, int(port))) as sock:
        mpa.attach(sock)
        mpa.start(sock, mpa.INITIATOR)
        for count in map(int, counts):
            time.sleep(0.3)
            for _ in range(count - 1):
                sock.send(data, MSG_MORE)
            sock.send(data)
        sock.shutdown(socket.SHUT_WR)
        sock.recv(1)


def sink(port):
    with socket.create_server(("", int(port))) as listener:
        while True:
            sock, _ = listener.accept()
            with sock:
                while sock.recv(65536):
                    pass


def stream(host, port, size):
    with socket.create_connection((host, int(port))) as sock:
        sock.sendall(bytes(int(size)))
        sock.shutdown(socket.SHUT_WR)
        sock.recv(1)


def bulk(host, port):
    with socket.create_connection((host, int(port))) as sock:
        try:
            while True:
                sock.sendall(bytes(65536))
        except (ConnectionResetError, BrokenPipeError):
            pass


def rate(port, window, skip, seconds):
    """With a window of so many bytes, from SKIP seconds on."""
    with socket.socket() as listener:
        # More than the window needs; SO_RCVBUFFORCE.
        listener.setsockopt(socket.SOL_SOCKET, 33, 16 << 20)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_WINDOW_CLAMP, int(window))
        listener.bind(("", int(port)))
        listener.listen()
        sock, _ = listener.accept()
    with sock:
        count, now = 0, time.monotonic()
        begin = last = now + float(skip)
        while now < begin + float(seconds):
            octets = len(sock.recv(1 << 20))
            now = time.monotonic()
            if now < begin:
                last = now
                continue
            count, end = count + octets, now
        print(count / (end - last))


# --- what a receiver holds --------------------------------------------------------

EMSS = 1460
SAMPLES = 100
FPDU = frame.fpdu(bytes(EMSS - 6))
assert len(FPDU) == EMSS


def hold(port):
    """Reads every ULPDU at once, of all connections."""
    with selectors.DefaultSelector() as selector, \
            socket.create_server(("", int(port)), backlog=512) as listener:
        mpa.attach(listener, mpa.F_AUTO_ACCEPT)
        mpa.start(listener, mpa.RESPONDER)
        selector.register(listener, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is listener:
                    selector.register(listener.accept()[0], selectors.EVENT_READ)
                elif not key.fileobj.recv(65536):
                    selector.unregister(key.fileobj)
                    key.fileobj.close()


class Sender:
    """A peer that cuts its stream of FPDUs into segments where it likes."""

    def __init__(self, host, port):
        self.sock = socket.create_connection((host, port), timeout=30)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock.sendall(frame.frame(frame.REQUEST, frame.CRC, 1))
        answer = self.sock.recv(20, socket.MSG_WAITALL)
        if answer[:16] != frame.REPLY:
            raise ValueError(f"no Reply: {answer!r}")
        # Bytes of an FPDU that were sent and are not complete.
        self.phase = 0

    def segment(self, size):
        """One segment of at most EMSS bytes."""
        self.sock.sendall((FPDU * 2)[self.phase:self.phase + size])
        self.phase = (self.phase + size) % EMSS


def held_bytes(port, target):
    """Bytes in the receive queues of the peer's connections to a port, in its network
    namespace: the kernel keeps an incomplete FPDU there."""
    total = 0
    for line in Path(target).read_text("ascii").splitlines()[1:]:
        words = line.split()
        if int(words[1].split(":")[1], 16) == port and words[3] == "01":
            total += int(words[4].split(":")[1], 16)
    return total


def settled(senders, port, target, wanted):
    """What is held once everything sent has arrived, and every ULPDU was read."""
    for one in senders:
        while struct.unpack("i", fcntl.ioctl(one.sock, SIOCOUTQ, bytes(4)))[0]:
            time.sleep(0.005)
    for _ in range(60):
        now = held_bytes(port, target)
        if now == wanted:
            break
        time.sleep(0.05)
    return now


def held(host, port, count, pid):
    """ELZ-7-4: nothing is held between aligned segments, and half an EMSS for each
    connection between segments that begin anywhere in an FPDU."""
    port, count, target = int(port), int(count), f"/proc/{pid}/net/tcp"
    chance = random.Random(count)
    senders = [Sender(host, port) for _ in range(count)]
    aligned, anywhere, wrong = [], [], 0
    for _ in range(SAMPLES):
        for one in senders:
            one.segment(EMSS)
        aligned.append(settled(senders, port, target, 0))
    for _ in range(SAMPLES):
        for one in senders:
            one.segment((chance.randrange(EMSS) - one.phase) % EMSS or EMSS)
        wanted = sum(one.phase for one in senders)
        anywhere.append(settled(senders, port, target, wanted))
        wrong += anywhere[-1] != wanted
    for one in senders:
        one.segment((EMSS - one.phase) % EMSS)
        one.sock.close()
    mean, model = sum(anywhere) / SAMPLES, count * EMSS / 2
    print(f"{count} connections, {SAMPLES} samples: aligned {max(aligned)} bytes at most; "
          f"at any phase {mean:.0f} on average, {max(anywhere)} at most, "
          f"{mean / count / EMSS:.3f} EMSS for each; n * EMSS / 2 is {model:.0f}")
    if max(aligned) or wrong or abs(mean - model) > model / 10:
        sys.exit(f"{wrong} samples are not what was sent of incomplete FPDUs")


# --- captures --------------------------------------------------------------------


@dataclass
class Packet:
    """A packet of TCP; side 1: it goes to the end that sent the first SYN."""

    frame: int
    seconds: float
    side: int
    seq: int
    ack: int
    flags: int
    payload: bytes


@dataclass
class Connection:
    packets: list = field(default_factory=list)

    def flow(self, side):
        found = Flow()
        for packet in self.packets:
            if packet.side != side:
                continue
            if packet.flags & SYN:
                found.first = (packet.seq + 1) % SPACE
            elif packet.payload:
                found.segments.append(Segment(
                    packet.frame, (packet.seq - found.first) % SPACE, packet.payload))
        return found


def frames(path):
    """(seconds, bytes) of each packet of a pcapng file."""
    data, at, order, unit = Path(path).read_bytes(), 0, "<", 1e-6
    while at < len(data):
        if data[at:at + 4] == b"\x0a\x0d\x0d\x0a":
            order = "<" if data[at + 8:at + 12] == b"\x4d\x3c\x2b\x1a" else ">"
        kind, size = struct.unpack_from(f"{order}II", data, at)
        if kind == 1:
            unit = resolution(data[at + 16:at + size - 4], order)
        elif kind == 6:
            high, low, length = struct.unpack_from(f"{order}III", data, at + 12)
            yield (high << 32 | low) * unit, data[at + 28:at + 28 + length]
        at += size


def resolution(options, order):
    """Seconds of a unit of time stamps, from the options of an interface."""
    at = 0
    while at + 4 <= len(options):
        code, length = struct.unpack_from(f"{order}HH", options, at)
        if code == 9:
            value = options[at + 4]
            return 2.0 ** -(value & 127) if value & 128 else 10.0 ** -value
        at += 4 + length + -length % 4
    return 1e-6


def connections(path):
    """Connections over IPv4, in the order of their first SYN."""
    known, found = {}, []
    for number, (seconds, data) in enumerate(frames(path), 1):
        if data[12:14] != b"\x08\x00" or data[23] != 6:
            continue
        tcp = data[14 + (data[14] & 15) * 4:14 + struct.unpack_from(">H", data, 16)[0]]
        ports = struct.unpack_from(">HH", tcp)
        seq, ack = struct.unpack_from(">II", tcp, 4)
        if tcp[13] & (SYN | ACK) == SYN:
            known[ports] = Connection()
            found.append(known[ports])
        side = ports not in known
        connection = known.get(ports[::-1] if side else ports)
        if connection:
            connection.packets.append(Packet(number, seconds, int(side), seq, ack,
                                             tcp[13], tcp[(tcp[12] >> 4) * 4:]))
    return found


def flights(packets, first, last):
    """Segments of each round trip in which the bytes from first to last were sent: it
    begins with the first one behind an acknowledgement of the first one of that before."""
    found, begun, due = [], 0, True
    for packet in packets:
        if packet.side:
            behind = (packet.ack - first) % SPACE
            due = due or begun < behind <= SPACE // 2
        elif packet.payload:
            at = (packet.seq - first) % SPACE
            if at >= (last - first) % SPACE:
                continue
            if due:
                found.append(0)
                begun, due = at, False
            found[-1] += 1
    return found


def startup(flow, key):
    return Startup.parse(flow.stream(), key)


def measure(path, nth, emss, skip=0, count=0):
    connection = connections(path)[int(nth) - 1]
    flow = connection.flow(0)
    if emss == "plain":
        return {"segments": len(flow.segments),
                "octets": sum(len(one.payload) for one in flow.segments)}
    start = startup(flow, REQUEST).size
    reply = startup(connection.flow(1), REPLY)
    walk(flow, flow.stream(), start, bool(reply.flags & FLAG_MARKERS), False)
    chosen = flow.fpdus[int(skip):]
    chosen = chosen[:int(count)] if count else chosen
    return figures(connection, flow, chosen, int(emss))


def figures(connection, flow, chosen, emss):
    first, last = chosen[0][0], chosen[-1][1]
    every = [one for one in flow.segments if first <= one.offset < last]
    # Of a segment that TCP has sent again, the first.
    inside = list({one.offset: one for one in reversed(every)}.values())
    begins = {begin: end for begin, end, _ in flow.fpdus}
    numbers = {begin: number for number, begin in enumerate(begins)}
    full, unaligned = [], 0
    for one in inside:
        end = one.offset + len(one.payload)
        if one.offset not in begins or (end not in begins and end != flow.fpdus[-1][1]):
            unaligned += 1
            continue
        following = begins.get(end)
        if following and end < last and len(one.payload) + following - end > emss:
            full.append((numbers[end] - numbers[one.offset], len(one.payload)))
    edge = (flow.first + first) % SPACE, (flow.first + last) % SPACE
    times = [packet.seconds for packet in connection.packets
             if not packet.side and packet.payload
             and first <= (packet.seq - flow.first) % SPACE < last]
    acks = [packet for packet in connection.packets
            if packet.side and not packet.payload and not packet.flags & (FIN | SYN | RST)
            and times[0] <= packet.seconds
            and first < (packet.ack - flow.first) % SPACE <= last]
    octets = sum(len(one.payload) for one in inside)
    trips = flights(connection.packets, *edge)
    counts = [fpdus for fpdus, _ in full] or [0]
    return {
        "fpdus": len(chosen),
        "segments": len(inside),
        "sent_again": len(every) - len(inside),
        "unaligned": unaligned,
        "octets": octets,
        "mean_octets": f"{octets / len(inside):.2f}",
        "longest_segment": max(len(one.payload) for one in inside),
        "shortest_fpdu": min(end - begin for begin, end, _ in chosen),
        "longest_fpdu": max(end - begin for begin, end, _ in chosen),
        "full": len(full),
        "full_min": min(counts),
        "full_max": max(counts),
        "full_mean": f"{sum(counts) / len(counts):.2f}",
        "full_octets": f"{sum(size for _, size in full) / max(len(full), 1):.2f}",
        "acks": len(acks),
        "flights": len(trips),
        "flight_sizes": "+".join(map(str, trips[:16])),
        "milliseconds": round(1000 * (times[-1] - times[0])),
    }


def main():
    calls = {one.__name__: one for one in (receive, send, sink, stream, bulk, rate,
                                                 hold, held, measure)}
    if len(sys.argv) < 2 or sys.argv[1] not in calls:
        sys.exit(__doc__)
    result = calls[sys.argv[1]](*sys.argv[2:])
    for name, value in (result or {}).items():
        print(f"{name}={value}")


if __name__ == "__main__":
    main()
