# SPDX-License-Identifier: GPL-2.0-only
"""Captures of connections that begin with Start Keys (draft-culley-iwarp-mpa-03), for a
dissector that knows only RFC 5044: each key becomes a Request or a Reply of revision 1
with the same flags. Every byte behind is as captured; only sequence numbers and lengths are
others, and checksums are not right any more.
"""

import struct
import subprocess
import tempfile

KEY = b"MPA ident frame"
KEY_SIZE = 16
FRAMES = (b"MPA ID Req Frame", b"MPA ID Rep Frame")
FRAME_SIZE = 20
MORE = FRAME_SIZE - KEY_SIZE
ETHERNET, IPV4, IPV6, TCP = 14, 0x0800, 0x86DD, 6
SYN, ACK = 0x02, 0x10
SPACE = 1 << 32


class Half:
    """One direction of a connection."""

    def __init__(self, frame, first):
        self.frame = frame
        # Sequence number of its first byte.
        self.first = first

    def moved(self, number):
        """A number of the sequence space, which has MORE bytes behind the key."""
        at = (number - self.first) % SPACE
        return number if at < KEY_SIZE or at > SPACE // 2 else (number + MORE) % SPACE


class Transplant:
    """Packets of a capture, one by one."""

    def __init__(self):
        self.halves = {}
        self.keys = 0

    def packet(self, data):
        """The packet in the new capture."""
        kind = struct.unpack_from(">H", data, 12)[0]
        if kind == IPV4:
            head = (data[ETHERNET] & 15) * 4
            size = struct.unpack_from(">H", data, ETHERNET + 2)[0]
            protocol, at = data[ETHERNET + 9], ETHERNET + 12
            names = data[at:at + 4], data[at + 4:at + 8]
        elif kind == IPV6:
            head = 40
            size = struct.unpack_from(">H", data, ETHERNET + 4)[0] + head
            protocol, at = data[ETHERNET + 6], ETHERNET + 8
            names = data[at:at + 16], data[at + 16:at + 32]
        else:
            return data
        if protocol != TCP:
            return data
        return self.segment(data[:ETHERNET + head], data[ETHERNET + head:ETHERNET + size],
                            names, kind)

    def segment(self, head, tcp, names, kind):
        source, target, seq, ack = struct.unpack_from(">HHII", tcp)
        flags, payload = tcp[13], tcp[(tcp[12] >> 4) * 4:]
        here, there = (names[0], source), (names[1], target)
        if flags & SYN:
            # The ports may have been used before.
            if not flags & ACK:
                self.halves.pop((there, here), None)
            self.halves[here, there] = Half(FRAMES[(there, here) in self.halves],
                                            (seq + 1) % SPACE)
        half, other = self.halves.get((here, there)), self.halves.get((there, here))
        options = bytearray(tcp[:(tcp[12] >> 4) * 4])
        if half and not flags & SYN:
            payload = self.payload(half, seq, payload)
            struct.pack_into(">I", options, 4, half.moved(seq))
        if other:
            struct.pack_into(">I", options, 8, other.moved(ack))
            self.acknowledged(options, other)
        return self.whole(bytearray(head), bytes(options) + payload, kind)

    def payload(self, half, seq, payload):
        if (seq - half.first) % SPACE or not payload:
            return payload
        if len(payload) < KEY_SIZE or payload[:len(KEY)] != KEY:
            raise ValueError(f"no Start Key: {payload[:KEY_SIZE]!r}")
        self.keys += 1
        return half.frame + bytes((payload[len(KEY)], 1, 0, 0)) + payload[KEY_SIZE:]

    @staticmethod
    def acknowledged(options, other):
        """Selective acknowledgements have sequence numbers, too."""
        at = 20
        while at < len(options) and options[at]:
            size = 1 if options[at] == 1 else options[at + 1]
            if options[at] == 5:
                for edge in range(at + 2, at + size, 4):
                    number = struct.unpack_from(">I", options, edge)[0]
                    struct.pack_into(">I", options, edge, other.moved(number))
            at += size

    @staticmethod
    def whole(head, tcp, kind):
        if kind == IPV4:
            struct.pack_into(">H", head, ETHERNET + 2, len(head) - ETHERNET + len(tcp))
        else:
            struct.pack_into(">H", head, ETHERNET + 4, len(tcp))
        return bytes(head) + tcp


def transplant(source, target):
    """Writes a capture; returns how many keys were replaced."""
    with tempfile.NamedTemporaryFile(suffix=".pcap") as plain:
        subprocess.run(["tshark", "-r", source, "-F", "pcap", "-w", plain.name],
                       check=True, capture_output=True)
        data = plain.read()
    order = "<" if data[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    changed, out, at = Transplant(), [data[:24]], 24
    while at < len(data):
        seconds, part, size, _ = struct.unpack_from(f"{order}IIII", data, at)
        packet = changed.packet(data[at + 16:at + 16 + size])
        out.append(struct.pack(f"{order}IIII", seconds, part, len(packet), len(packet)))
        out.append(packet)
        at += 16 + size
    with open(target, "wb") as file:
        file.write(b"".join(out))
    return changed.keys
