#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""An end of draft-culley-iwarp-mpa-03, written from the draft alone, for tests. It shares
nothing with the other implementations here.

    elder.py passive HOST PORT COUNT [OPTION...]   connects, begins, sends, compares echoes
    elder.py active PORT COUNT [OPTION...]         waits for a connection, and echoes

The draft calls the side whose Start Key goes first Passive. COUNT is the number of ULPDUs.
"""

import argparse
import random
import socket
import struct
import sys

KEY = b"MPA ident frame"
MARKERS, CRC = 0x80, 0x40
# Section 7.1
PERIOD, MARKER = 512, 4
TABLE = []
for index in range(256):
    for _ in range(8):
        index = index >> 1 ^ (0x82F63B78 if index & 1 else 0)
    TABLE.append(index)


def crc32c(data):
    """Section 7.2: as iSCSI, the least significant octet first."""
    value = 0xFFFFFFFF
    for octet in data:
        value = value >> 8 ^ TABLE[(value ^ octet) & 255]
    return struct.pack("<I", value ^ 0xFFFFFFFF)


class Wrong(Exception):
    """The other end does not do as the draft says."""


class Sender:
    """FPDUs for the stream, with Markers if the other end wants them."""

    def __init__(self, markers, crc):
        self.markers = markers
        self.crc = crc
        self.position = 0

    def fpdu(self, ulpdu):
        body = struct.pack(">H", len(ulpdu)) + ulpdu
        body += bytes(-len(body) % 4)
        out, covered, begun = bytearray(), bytearray(), None
        for at in range(0, len(body) + 4, 4):
            # A Marker between two FPDUs belongs to the second.
            if self.markers and (self.position + len(out)) % PERIOD == 0:
                pointer = 0 if begun is None else len(out) - begun
                piece = struct.pack(">HH", 0, pointer)
                out += piece
                covered += piece
            if begun is None:
                begun = len(out)
            piece = body[at:at + 4]
            covered += piece
            out += piece or (crc32c(covered) if self.crc else bytes(4))
        self.position += len(out)
        return bytes(out)


class Receiver:
    """ULPDUs from a socket."""

    def __init__(self, read, markers, crc):
        self.read = read
        self.markers = markers
        self.crc = crc
        self.position = 0

    def word(self, covered, begun):
        """Four octets that are no Marker; (octets, where the FPDU began)."""
        if self.markers and self.position % PERIOD == 0:
            piece = self.read(MARKER)
            pointer = struct.unpack(">HH", piece)[1]
            wanted = 0 if begun is None else self.position - begun
            if pointer != wanted:
                raise Wrong(f"FPDUPTR {pointer}, not {wanted}")
            covered += piece
            self.position += MARKER
        begun = self.position if begun is None else begun
        piece = self.read(4)
        self.position += 4
        return piece, begun

    def ulpdu(self):
        covered, body = bytearray(), bytearray()
        piece, begun = self.word(covered, None)
        length = struct.unpack(">H", piece[:2])[0]
        while True:
            covered += piece
            body += piece
            if len(body) >= length + 2:
                break
            piece, _ = self.word(covered, begun)
        crc, _ = self.word(covered, begun)
        if self.crc and crc != crc32c(covered):
            raise Wrong(f"CRC {crc.hex()}, not {crc32c(covered).hex()}")
        if any(body[length + 2:]):
            raise Wrong("a pad that is not zero")
        return bytes(body[2:length + 2])


class End:
    """A connection, from the first octet on."""

    def __init__(self, stream, args):
        self.stream = stream
        self.own = (MARKERS if args.markers else 0) | (0 if args.no_crc else CRC)
        self.sender = self.receiver = None

    def read(self, count):
        data = b""
        while len(data) < count:
            more = self.stream.recv(count - len(data))
            if not more:
                raise Wrong(f"the end after {len(data)} of {count} octets")
            data += more
        return data

    def exchange(self, first):
        """Section 8.1: our key first, or in answer."""
        if first:
            self.stream.sendall(KEY + bytes((self.own,)))
        key = self.read(16)
        if key[:15] != KEY or key[15] & 15:
            raise Wrong(f"no Start Key: {key!r}")
        if not first:
            self.stream.sendall(KEY + bytes((self.own,)))
        crc = (self.own | key[15]) & CRC
        self.sender = Sender(key[15] & MARKERS, crc)
        self.receiver = Receiver(self.read, self.own & MARKERS, crc)


def sizes(count):
    chosen = random.Random(3)
    return [1, 2, 3, 4, 505, 506, 507, 508, 1000][:count] + [
        chosen.randint(1, 1370) for _ in range(count - 9)]


def passive(args):
    with socket.create_connection((args.host, args.port), timeout=60) as stream:
        end = End(stream, args)
        end.exchange(True)
        for number, size in enumerate(sizes(args.count)):
            ulpdu = random.Random(number).randbytes(size)
            stream.sendall(end.sender.fpdu(ulpdu))
            if end.receiver.ulpdu() != ulpdu:
                raise Wrong(f"ULPDU {number} of {size} octets came back as another")


def active(args):
    with socket.create_server(("", args.port)) as listener:
        listener.settimeout(60)
        stream, _ = listener.accept()
        with stream:
            end = End(stream, args)
            end.exchange(False)
            # Nothing may be sent before the first FPDU; an echo does so anyway.
            for _ in range(args.count):
                stream.sendall(end.sender.fpdu(end.receiver.ulpdu()))
            if stream.recv(1):
                raise Wrong("octets behind the last FPDU")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    roles = parser.add_subparsers(required=True)
    for name, run in (("passive", passive), ("active", active)):
        role = roles.add_parser(name)
        role.set_defaults(run=run)
        if name == "passive":
            role.add_argument("host")
        role.add_argument("port", type=int)
        role.add_argument("count", type=int)
        role.add_argument("--markers", action="store_true")
        role.add_argument("--no-crc", action="store_true")
    args = parser.parse_args()
    try:
        args.run(args)
    except (Wrong, OSError) as reason:
        sys.exit(f"elder.py: {reason}")
    print(f"{args.count} ULPDUs")


if __name__ == "__main__":
    main()
