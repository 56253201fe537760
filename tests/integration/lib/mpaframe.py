# SPDX-License-Identifier: GPL-2.0-only
"""A peer that builds MPA byte by byte over a TCP socket, for tests.

It shares nothing with the code under test and is written from RFC 5044 and RFC 6581.
"""

import socket
import struct
from typing import NamedTuple

REQUEST = b"MPA ID Req Frame"
REPLY = b"MPA ID Rep Frame"

MARKERS, CRC, REJECT, ENHANCED = 0x80, 0x40, 0x20, 0x10
# Bits that RFC 5044 reserves, for the extensions of RFC 7306: in a Request, a Reply.
EXTENSIONS_ASKED, EXTENSIONS_GRANTED = 0x01, 0x02
# In the first word of the enhanced data, with IRD.
P2P, RTR_SEND = 0x8000, 0x4000
# In the second one, with ORD.
RTR_WRITE, RTR_READ = 0x8000, 0x4000


def crc32c(data):
    """CRC32c in the byte order of the stream."""
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return struct.pack("<I", crc ^ 0xffffffff)


# The Marker that begins a stream.
MARKER = bytes(4)


def fpdu(ulpdu, marker=b""):
    """An FPDU without Markers; with @marker, one that is too short for a second."""
    data = marker + struct.pack(">H", len(ulpdu)) + ulpdu
    data += bytes(-len(data) % 4)
    assert not marker or len(data) < 512
    return data + crc32c(data)


def frame(key, flags, rev, data=b""):
    return key + struct.pack(">BBH", flags, rev, len(data)) + data


def enhanced(word1, word2):
    return struct.pack(">HH", word1, word2)


class Frame(NamedTuple):
    key: bytes
    flags: int
    rev: int
    data: bytes


# A ready-to-receive, as an Initiator without a message sends it.
RTR_WRITE_FPDU = fpdu(bytes.fromhex("c140") + bytes(12))
assert RTR_WRITE_FPDU == bytes.fromhex("000ec140") + bytes(12) + \
    bytes.fromhex("a30572ab")


class Peer:
    """One TCP connection."""

    def __init__(self, sock, seconds=60):
        self.sock = sock
        sock.settimeout(seconds)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()

    def send(self, data):
        self.sock.sendall(data)

    def read(self, count):
        data = b""
        while len(data) < count:
            more = self.sock.recv(count - len(data))
            if not more:
                raise AssertionError(f"closed after {data.hex()}, wanted "
                                     f"{count} bytes")
            data += more
        return data

    def read_frame(self):
        head = self.read(20)
        flags, rev, length = struct.unpack(">BBH", head[16:])
        return Frame(head[:16], flags, rev, self.read(length))

    def read_fpdu(self, marker=b""):
        """A ULPDU, after @marker, its CRC checked."""
        head = self.read(len(marker) + 2)
        if head[:-2] != marker:
            raise AssertionError(f"no Marker: {head.hex()}")
        length = struct.unpack(">H", head[-2:])[0]
        rest = self.read(length + -(length + 2) % 4 + 4)
        if crc32c(head + rest[:-4]) != rest[-4:]:
            raise AssertionError(f"bad CRC in {(head + rest).hex()}")
        return rest[:length]

    def closed(self):
        """The other side closes, without sending another byte."""
        try:
            more = self.sock.recv(4096)
        except ConnectionResetError:
            return
        if more:
            raise AssertionError(f"got {more.hex()}, wanted the end")

    def fin(self):
        self.sock.shutdown(socket.SHUT_WR)

    def reset(self):
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                             struct.pack("ii", 1, 0))
        self.sock.close()


def family(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def dial(address, port, seconds=60, source=None):
    sock = socket.socket(family(address), socket.SOCK_STREAM)
    sock.settimeout(seconds)
    if source:
        sock.bind((source, 0))
    sock.connect((address, port))
    return Peer(sock, seconds)


class Listener:
    """A TCP listener whose connections are Peers."""

    def __init__(self, address, port):
        self.sock = socket.socket(family(address), socket.SOCK_STREAM)
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.sock.bind((address, port))
        self.sock.listen(16)
        self.sock.settimeout(60)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()

    def accept(self):
        return Peer(self.sock.accept()[0])
