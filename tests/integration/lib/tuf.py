#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""An end of draft-ietf-tsvwg-tcp-ulp-frame-00, for tests: on the sockets of the kernel's
implementation (--ours), or written here from the draft alone, on plain TCP.

    tuf.py listen PORT OPTION...
    tuf.py connect HOST PORT OPTION...

The ends tell each other in a line of text what they send (section 4), and whether they
receive it; then both send at once. The bytes depend on their position only, so that each
end can check them however the PDUs were divided.
"""

import argparse
import errno
import json
import os
import random
import socket
import struct
import sys
import threading

LEVEL, ULP = 6, 31
MODE, EMSS, PACK, EMERGENCY, SEND_INTERVAL, RECV_INTERVAL, SEND_KEY, RECV_KEY = range(
    504400, 504408)
INFO = 504409
SEND = {"plain": 0, "atomic": 1, "align": 2, "markers": 4}
RECV = {"plain": 0, "align": 0x10, "markers": 0x20}
HEADER, MARKER = 8, 4
PDU_MAX = 65528
PATTERN = random.Random(5).randbytes(65521)


class Wrong(Exception):
    """The other end does not do as the draft says."""


def content(position, count):
    """Bytes of the payload of a direction."""
    out = b""
    while len(out) < count:
        at = (position + len(out)) % len(PATTERN)
        out += PATTERN[at:at + count - len(out)]
    return out


def read_exactly(stream, count):
    data = b""
    while len(data) < count:
        more = stream.recv(count - len(data))
        if not more:
            raise Wrong(f"the stream has ended, {count - len(data)} octets early")
        data += more
    return data


# ---- From the draft ----

class Framer:
    """What is sent for a PDU."""

    def __init__(self, mode, key, interval):
        self.mode, self.key, self.interval = mode, key, interval
        # Octets of the stream so far, and where the next marker is.
        self.position = self.marker = 0

    def frame(self, pdu):
        if self.mode == "align":
            return struct.pack(">H", len(pdu)) + self.key + pdu
        if self.mode != "markers":
            return pdu
        return self.with_markers(pdu)

    def with_markers(self, pdu):
        # Section 6: a marker interrupts the PDU, and points to the next one. First
        # where they are, as offsets in what is returned; then what they say.
        out, markers = bytearray(), []
        for octet in pdu:
            if self.position + len(out) == self.marker:
                markers.append(len(out))
                out += bytes(MARKER)
                self.marker += self.interval
            out.append(octet)
        end = len(out)
        if self.position + end == self.marker:
            end += MARKER
        for at in markers:
            # One before the first octet of a PDU points to that.
            distance = 0 if at == 0 else end - at - MARKER
            out[at:at + MARKER] = struct.pack(">HH", distance, distance)
        self.position += len(out)
        return bytes(out)


class Deframer:
    """Payload from a stream."""

    def __init__(self, stream, mode, key, interval):
        self.stream, self.mode, self.key, self.interval = stream, mode, key, interval
        self.position = self.marker = 0
        # Position of the next PDU in the stream, if a marker has told it.
        self.boundary = 0

    def receive(self):
        """Some octets of payload."""
        if self.mode == "align":
            header = read_exactly(self.stream, HEADER)
            length = struct.unpack(">H", header[:2])[0]
            if header[2:] != self.key or not length:
                raise Wrong(f"header {header.hex()} with key {self.key.hex()}")
            return read_exactly(self.stream, length)
        if self.mode == "markers":
            return self.between_markers()
        return self.stream.recv(65536)

    def between_markers(self):
        if self.position == self.marker:
            marker = read_exactly(self.stream, MARKER)
            first, second = struct.unpack(">HH", marker)
            if first != second or first > PDU_MAX:
                raise Wrong(f"marker {marker.hex()}")
            target = self.position + MARKER + first
            if self.boundary >= self.position and target != max(
                    self.boundary, self.position + MARKER):
                raise Wrong(f"marker at {self.position} points to {target}, an earlier "
                            f"one to {self.boundary}")
            if (target - self.marker) % self.interval < MARKER:
                raise Wrong(f"marker at {self.position} points into another")
            self.boundary = target if first else -1
            self.position += MARKER
            self.marker += self.interval
        data = self.stream.recv(min(self.marker - self.position, 65536))
        self.position += len(data)
        return data


# ---- The kernel's ----

class Ours:
    """A socket of ours: framed and deframed by the kernel."""

    def __init__(self, stream, args):
        self.stream, self.args = stream, args
        stream.setsockopt(LEVEL, ULP, b"mpa")
        self.option(PACK, args.pack)
        self.option(EMERGENCY, args.emergency)
        self.option(SEND_INTERVAL, args.send_interval)
        self.option(RECV_INTERVAL, args.recv_interval)
        stream.setsockopt(LEVEL, socket.TCP_NODELAY, 1)
        self.key = b""
        if args.send == "align":
            self.key = stream.getsockopt(LEVEL, SEND_KEY, 6)

    def option(self, name, value):
        self.stream.setsockopt(LEVEL, name, value)

    def enable_receiving(self, peer):
        if self.args.recv == "align":
            self.stream.setsockopt(LEVEL, RECV_KEY, peer)
        self.option(MODE, RECV[self.args.recv])

    def enable_sending(self):
        self.option(MODE, SEND[self.args.send] | RECV[self.args.recv])

    def longest(self):
        if self.args.send in ("plain", "markers"):
            return self.args.max
        emss = self.stream.getsockopt(LEVEL, EMSS)
        return min(self.args.max, max(emss, 512 if self.args.emergency else 0))

    def send(self, pdu):
        """Octets that were sent: none if the PDU is too long by now."""
        try:
            sent = self.stream.send(pdu)
        except OSError as error:
            if error.errno != errno.EMSGSIZE:
                raise
            return 0
        if sent != len(pdu) and self.args.send != "plain":
            raise Wrong(f"{sent} of {len(pdu)} octets were sent")
        return sent

    def receive(self):
        return self.stream.recv(70000)

    def report(self):
        data = self.stream.getsockopt(LEVEL, INFO, 88)
        names = ("mode flags emss send_interval recv_interval pad tx_pdus tx_frames "
                 "tx_pieces emss_changes rx_frames rx_aligned rx_unaligned "
                 "rx_parted").split()
        return dict(zip(names, struct.unpack("=6I8Q", data)))


class Elder:
    """The draft's, on plain TCP."""

    def __init__(self, stream, args):
        self.stream, self.args = stream, args
        self.key = os.urandom(6) if args.send == "align" else b""
        self.framer = Framer(args.send, self.key, args.send_interval)
        self.deframer = None

    def enable_receiving(self, peer):
        self.deframer = Deframer(self.stream, self.args.recv, peer,
                                 self.args.recv_interval)

    def enable_sending(self):
        pass

    def longest(self):
        return self.args.max

    def send(self, pdu):
        self.stream.sendall(self.framer.frame(pdu))
        return len(pdu)

    def receive(self):
        return self.deframer.receive()

    def report(self):
        return {}


# ---- Both ----

def read_line(stream):
    line = b""
    while not line.endswith(b"\n"):
        line += read_exactly(stream, 1)
    return json.loads(line)


def dialogue(end, stream, args):
    """Section 4: nothing is framed before the other end receives it that way."""
    offer = json.dumps({"tuf": args.send, "interval": args.send_interval,
                        "key": end.key.hex(), "aligned": args.ours}).encode() + b"\n"
    if args.host:
        stream.sendall(offer)
    peer = read_line(stream)
    end.enable_receiving(bytes.fromhex(peer["key"]))
    if not args.host:
        stream.sendall(offer)
    end.enable_sending()


class Traffic:
    """What both directions carry."""

    def __init__(self, end, args):
        self.end, self.args = end, args
        self.failures = []
        # The end that connects is ready when it sends.
        self.peer_is_ready = threading.Event()
        if args.host:
            self.peer_is_ready.set()

    def guarded(self, work):
        try:
            work()
        except (Wrong, OSError) as error:
            self.failures.append(f"{work.__name__}: {error}")
            self.peer_is_ready.set()

    def send(self):
        self.peer_is_ready.wait()
        chance, position = random.Random(self.args.seed), 0
        while position < self.args.bytes and not self.failures:
            most = min(self.end.longest(), self.args.bytes - position)
            size = chance.randint(min(self.args.min, most), most)
            position += self.end.send(content(position, size))

    def receive(self):
        position = 0
        while position < self.args.bytes:
            data = self.end.receive()
            if not data:
                raise Wrong(f"the stream ends after {position} octets")
            if data != content(position, len(data)):
                raise Wrong(f"other octets within {len(data)} from {position} on")
            position += len(data)
            self.peer_is_ready.set()
        if position != self.args.bytes:
            raise Wrong(f"{position - self.args.bytes} octets too many")

    def run(self):
        threads = [threading.Thread(target=self.guarded, args=(one,))
                   for one in (self.send, self.receive)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def run(stream, args):
    end = (Ours if args.ours else Elder)(stream, args)
    dialogue(end, stream, args)
    traffic = Traffic(end, args)
    traffic.run()
    report = end.report()
    print(json.dumps(report), flush=True)
    if traffic.failures:
        raise Wrong("; ".join(traffic.failures))
    for word in args.expect:
        name, relation, value = word.replace("=", " = ").replace(">", " > ").split()
        good = report[name] == int(value) if relation == "=" else report[name] > int(value)
        if not good:
            raise Wrong(f"{name} is {report[name]}, not {relation} {value}")
    stream.shutdown(socket.SHUT_WR)
    if stream.recv(1):
        raise Wrong("octets behind the end")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    roles = parser.add_subparsers(dest="role", required=True)
    for role in ("listen", "connect"):
        one = roles.add_parser(role)
        if role == "connect":
            one.add_argument("host")
        else:
            one.set_defaults(host=None)
        one.add_argument("port", type=int)
        one.add_argument("--ours", action="store_true")
        one.add_argument("--send", choices=SEND, default="plain")
        one.add_argument("--recv", choices=RECV, default="plain")
        one.add_argument("--send-interval", type=int, default=2048)
        one.add_argument("--recv-interval", type=int, default=2048)
        one.add_argument("--pack", type=int, default=1)
        one.add_argument("--emergency", type=int, default=0)
        one.add_argument("--bytes", type=int, default=300000)
        one.add_argument("--min", type=int, default=1)
        one.add_argument("--max", type=int, default=65524)
        one.add_argument("--seed", type=int, default=1)
        one.add_argument("--expect", action="append", default=[],
                         metavar="NAME=VALUE or NAME>VALUE")
    return parser.parse_args()


def main():
    args = parse()
    try:
        if args.host:
            family = socket.AF_INET6 if ":" in args.host else socket.AF_INET
            with socket.socket(family) as stream:
                stream.connect((args.host, args.port))
                run(stream, args)
        else:
            with socket.create_server(("::", args.port), family=socket.AF_INET6,
                                      dualstack_ipv6=True) as listener:
                stream, _ = listener.accept()
                with stream:
                    run(stream, args)
    except (Wrong, OSError) as error:
        print(f"tuf: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
