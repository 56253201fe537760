#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""An RNIC in user space for random-peer, written from the RFCs alone: slow, and one application
that sends back what it receives. With a fault it does one thing wrong, which random-peer must
notice.

    tests/peer/model_target.py PORT CONTROL_PORT [FAULT]
"""

import socket
import struct
import sys
import threading
from contextlib import suppress

FAULTS = ("rights", "bounds", "place", "cause", "quiet", "reset", "more", "atomic", "echo")
REQUEST, REPLY = b"MPA ID Req Frame", b"MPA ID Rep Frame"
WRITE, READ_REQUEST, READ_RESPONSE, SEND, TERMINATE, IMMEDIATE, ATOMIC, ATOMIC_RESPONSE = (
    0, 1, 2, 3, 7, 8, 10, 11)
BASE, LENGTH, SMALL, RECEIVE, WINDOW = 0x7f0000001000, 128 * 1024, 4096, 2048, 3000
RW, READ_ONLY, WRITE_ONLY, OTHER = 0x11110001, 0x22220002, 0x33330003, 0x44440004
WINDOWS = ((0x55550001, BASE + 4096), (0x66660001, BASE + 8192), (0x77770001, 0),
           (0x88880001, BASE + 16384))
PIECE, MARKER_PERIOD = 1200, 512
TABLE = []
for number in range(256):
    for _ in range(8):
        number = number >> 1 ^ (0x82f63b78 if number & 1 else 0)
    TABLE.append(number)


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 255]
    return struct.pack("<I", crc ^ 0xffffffff)


class Ended(Exception):
    """The stream ends with this code, or with none."""


class Connection:
    def __init__(self, sock, fault):
        self._sock, self._fault = sock, fault
        self._at, self._msn, self._atomics = 0, 1, 1
        self._memory = bytearray(LENGTH)
        # {STag: (TO, length, rights, memory, its offset)}
        self._grants = {
            RW: (BASE, LENGTH, "rwa", self._memory, 0),
            READ_ONLY: (BASE + 0x100000, SMALL, "r", bytearray(SMALL), 0),
            WRITE_ONLY: (BASE + 0x200000, SMALL, "w", bytearray(SMALL), 0)}
        self._expected = {0: 1, 1: 1}
        self._message = b""

    def run(self):
        with self._sock, suppress(OSError):
            try:
                self._start()
                while True:
                    self._take(self._ulpdu())
            except Ended as end:
                if end.args and self._fault == "reset":
                    self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                          struct.pack("ii", 1, 0))
                    return
                if end.args:
                    if self._fault == "more":
                        self._send(b"nothing asked for this")
                    layer, kind, code = end.args
                    self._untagged(TERMINATE, 2, 1, 0,
                                   bytes([layer << 4 | kind, code, 0, 0]))
                self._sock.shutdown(socket.SHUT_WR)
                while self._sock.recv(65536):
                    pass

    def _bytes(self, count):
        data = b""
        while len(data) < count:
            more = self._sock.recv(count - len(data))
            if not more:
                raise Ended
            data += more
        return data

    def _start(self):
        head = self._bytes(20)
        flags, revision, length = struct.unpack(">BBH", head[16:])
        if head[:16] != REQUEST or length > 512 or revision not in (1, 2) or flags & 0x20:
            raise Ended
        data = self._bytes(length)
        enhanced = revision == 2 and flags & 0x10
        self._markers = flags & 0x80
        self._extensions = enhanced and flags & 1
        aim = b"AIM1" + struct.pack(
            ">IQIIQIQIQIII", RW, BASE, LENGTH, READ_ONLY, BASE + 0x100000, WRITE_ONLY,
            BASE + 0x200000, OTHER, BASE + 0x300000, SMALL, RECEIVE, 8)
        reply = (b"\0\4\0\4" if enhanced else b"") + aim
        self._sock.sendall(REPLY + struct.pack(
            ">BBH", 0x40 | (0x10 if enhanced else 0) | (2 if self._extensions else 0), revision,
            len(reply)) + reply)
        # The first FPDU is the peer's.
        self._bind = data[-1:] == b"W"

    def _say_windows(self):
        whole, read_only, zero_based, _ = WINDOWS
        said = b"WIN1" + b"".join(struct.pack(">IQ", *window) for window in WINDOWS)
        self._memory[:len(said)] = said
        for (stag, at), rights, page in ((whole, "rw", 1), (read_only, "r", 2),
                                         (zero_based, "rw", 3)):
            self._grants[stag] = (at, WINDOW, rights, self._memory, page * 4096)
        self._send(said)

    def _ulpdu(self):
        head = self._bytes(2)
        length, = struct.unpack(">H", head)
        if length > 64768:
            raise Ended
        body = self._bytes((length + 5) // 4 * 4 - 2)
        if self._bytes(4) != crc32c(head + body):
            raise Ended(2, 0, 2)
        if self._bind:
            self._bind = False
            self._say_windows()
        return body[:length]

    def _fpdu(self, ulpdu):
        body = struct.pack(">H", len(ulpdu)) + ulpdu
        body += bytes(-len(body) % 4)
        data, start = bytearray(), None
        for byte in body:
            if self._markers and self._at % MARKER_PERIOD == 0:
                data += struct.pack(">HH", 0, 0 if start is None else self._at - start)
                self._at += 4
            start = self._at if start is None else start
            data.append(byte)
            self._at += 1
        if self._markers and self._at % MARKER_PERIOD == 0:
            data += struct.pack(">HH", 0, self._at - start)
            self._at += 4
        self._at += 4
        self._sock.sendall(bytes(data) + crc32c(data))

    def _untagged(self, opcode, queue, msn, offset, payload, last=True):
        self._fpdu(bytes([0x41 if last else 1, 0x40 | opcode])
                   + struct.pack(">IIII", 0, queue, msn, offset) + payload)

    def _send(self, message):
        for at in range(0, max(len(message), 1), PIECE):
            self._untagged(SEND, 0, self._msn, at, message[at:at + PIECE],
                           at + PIECE >= len(message))
        self._msn += 1

    def _place(self, layer, right, stag, offset, size):
        """(memory, offset) of a part of a grant; @layer of the error: DDP or RDMAP."""
        if stag == OTHER:
            raise Ended(*((1, 1, 2) if layer else (0, 1, 3)))
        if stag not in self._grants:
            raise Ended(layer, 1, 0)
        base, length, rights, memory, start = self._grants[stag]
        if right not in rights and self._fault != "rights":
            raise Ended(0, 1, 2)
        spare = 4 if self._fault == "bounds" else 0
        if not base <= offset or offset + size > base + length + spare:
            raise Ended(layer, 1, 1)
        return memory, start + offset - base

    def _take(self, ulpdu):
        tagged = ulpdu and ulpdu[0] & 0x80
        if len(ulpdu) < (14 if tagged else 18):
            raise Ended
        if ulpdu[0] & 3 != 1:
            raise Ended(*((1, 1, 4) if tagged else (1, 2, 6)))
        if ulpdu[1] >> 6 != 1:
            raise Ended(0, 2, 5)
        opcode, last = ulpdu[1] & 15, ulpdu[0] & 0x40
        if tagged:
            self._take_write(opcode, ulpdu)
            return
        queue, msn, offset = struct.unpack(">III", ulpdu[6:18])
        extended = self._extensions and opcode in ({0: (8, 9), 1: (10,)}.get(queue, ()))
        if queue > 3:
            raise Ended(1, 2, 1)
        if queue > 1:
            raise Ended
        if opcode not in ((3, 4, 5, 6), (1,))[queue] and not extended:
            raise Ended(0, 2, 6)
        if msn != self._expected[queue]:
            if self._fault == "quiet":
                raise Ended
            raise Ended(1, 2, 1 if self._fault == "cause" else 3)
        if offset != (0 if queue else len(self._message)):
            raise Ended(1, 2, 4)
        if queue:
            self._answer(opcode, last, ulpdu[18:])
        else:
            self._deliver(opcode, last, ulpdu[18:])

    def _take_write(self, opcode, ulpdu):
        if opcode != WRITE:
            raise Ended(0, 2, 6)
        stag, offset = struct.unpack(">IQ", ulpdu[2:14])
        data = ulpdu[14:]
        if not data:
            return
        memory, at = self._place(1, "w", stag, offset, len(data))
        at += self._fault == "place"
        memory[at:at + len(data)] = data

    def _deliver(self, opcode, last, data):
        if opcode >= IMMEDIATE and (len(data) != 8 or not last or self._message):
            raise Ended
        if len(self._message) + len(data) > RECEIVE:
            raise Ended(1, 2, 5)
        self._message += data
        if last:
            wrong = self._fault == "echo" and len(self._message) > 1000
            self._send(self._message[:-1] if wrong else self._message)
            self._message = b""
            self._expected[0] += 1

    def _answer(self, opcode, last, data):
        if not last or len(data) != (28 if opcode == READ_REQUEST else 52):
            raise Ended
        self._expected[1] += 1
        if opcode == ATOMIC:
            self._answer_atomic(*struct.unpack(">IIIQQQQQ", data))
            return
        sink, to, size, stag, offset = struct.unpack(">IQIIQ", data)
        memory, at = self._place(0, "r", stag, offset, size) if size else (b"", 0)
        found = bytes(memory[at:at + size])
        for part in range(0, max(size, 1), PIECE):
            self._fpdu(bytes([0xc1 if part + PIECE >= size else 0x81, 0x40 | READ_RESPONSE])
                       + struct.pack(">IQ", sink, (to + part) % 2**64)
                       + found[part:part + PIECE])

    def _answer_atomic(self, operation, identifier, stag, offset, data, mask, compare,
                       compare_mask):
        if offset % 8:
            raise Ended(0, 2, 7)
        if operation & 15 not in (0, 2):
            raise Ended(0, 2, 6)
        memory, at = self._place(0, "a", stag, offset, 8)
        old, = struct.unpack("<Q", memory[at:at + 8])
        if operation & 15 == 2:
            equal = old & compare_mask == compare & compare_mask
            new = old & ~mask | data & mask if equal else old
        else:
            new = carry = 0
            for bit in range(64):
                added = (old >> bit & 1) + (data >> bit & 1) + carry
                new |= (added & 1) << bit
                carry = 0 if mask >> bit & 1 and self._fault != "atomic" else added >> 1
        memory[at:at + 8] = struct.pack("<Q", new & 2**64 - 1)
        self._untagged(ATOMIC_RESPONSE, 3, self._atomics, 0,
                       struct.pack(">IQ", identifier, old))
        self._atomics += 1


def listener(port):
    sock = socket.create_server(("127.0.0.1", port), backlog=64)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def control(sock):
    while True:
        client, _ = sock.accept()
        with client:
            if client.recv(100):
                client.sendall(b"ok 0 open\n")


def main():
    fault = sys.argv[3] if len(sys.argv) > 3 else None
    if fault and fault not in FAULTS:
        sys.exit(f"no fault {fault}; there are: {', '.join(FAULTS)}")
    sock = listener(int(sys.argv[1]))
    threading.Thread(target=control, args=(listener(int(sys.argv[2])),), daemon=True).start()
    while True:
        client, _ = sock.accept()
        threading.Thread(target=Connection(client, fault).run, daemon=True).start()


main()
