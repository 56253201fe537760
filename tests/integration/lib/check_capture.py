#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Checks a capture of MPA connections with tshark's dissectors.

tshark checks the CRC of every FPDU. Code of this file also walks over the TCP streams,
computes where FPDUs and Markers must be, and checks each CRC again. Both must find the
same FPDUs in the same order, so that no byte of payload is unexplained.

tshark (4.0) loses track where there are Markers, for the rest of a direction: at an
FPDU that is followed directly by a Marker, which it counts as one within; at a segment
with more than one FPDU, or out of order; and, if only one side asked for Markers, in
all of the direction without. It may then take an STag or payload for an FPDU, and
report it as malformed or its CRC as bad. There only the walk counts; the totals show
how much tshark has seen, and --seen is the required minimum. Nor does tshark know that
with revision 0 there are Markers even if none were asked for.

Exit status 0: everything is good. 1: something is not; the reason is on standard
output.
"""

import argparse
import pickle
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

sys.dont_write_bytecode = True
from transplant import transplant  # noqa: E402

OPTIONS = [
    "-n",
    "-o", "tcp.try_heuristic_first:TRUE",
    "-o", "tcp.reassemble_out_of_order:TRUE",
    "--disable-protocol", "rpcordma",
    "--disable-protocol", "smb_direct",
]
FIELDS = [
    "frame.number", "tcp.stream", "tcp.srcport", "tcp.dstport", "tcp.seq_raw",
    "tcp.flags.syn", "tcp.flags.reset", "tcp.payload", "tcp.window_size",
    "tcp.ack_raw", "iwarp_mpa.ulpdulength", "_ws.malformed",
    "tcp.analysis.reused_ports",
]

REQUEST = b"MPA ID Req Frame"
REPLY = b"MPA ID Rep Frame"
STARTUP = 20
FLAG_MARKERS, FLAG_CRC, FLAG_ENHANCED = 0x80, 0x40, 0x10
# RFC 6581: in the two words that begin the private data.
DEPTH = 0x3FFF
FLAG_P2P, FLAG_SEND = 0x80000000, 0x40000000
FLAG_WRITE, FLAG_READ = 0x00008000, 0x00004000
MARKER_PERIOD, MARKER_SIZE = 512, 4
HEADER_SIZE, CRC_SIZE = 2, 4
# Bytes of the longest valid ULPDU.
ULPDU_MAX = 64768
CRC32C = 0x82F63B78


class Bad(Exception):
    """The capture is not as required."""


def crc_table():
    table = []
    for value in range(256):
        for _ in range(8):
            value = (value >> 1) ^ (CRC32C if value & 1 else 0)
        table.append(value)
    return table


CRC_TABLE = crc_table()


def crc32c(data):
    value = 0xFFFFFFFF
    for byte in data:
        value = (value >> 8) ^ CRC_TABLE[(value ^ byte) & 0xFF]
    return value ^ 0xFFFFFFFF


@dataclass
class Segment:
    """A TCP segment with payload, and its offset in the stream; fills: it ends where a
    window of the receiver did."""

    frame: int
    offset: int
    payload: bytes
    fills: bool = False


@dataclass
class Flow:
    """One direction of a connection.

    first: sequence number of the first byte; refused: it answered the other side's SYN
    with RST; dissected: ULPDU lengths that tshark found; complaints: (frame, what
    tshark reports of it); fpdus: (offset, end, ULPDU length) found by the walk;
    versions: of DDP and RDMAP, in their ULPDUs; opcodes: how many ULPDUs of RDMAP have
    each; seen: how many of these tshark can see;
    window: the most bytes that it allowed the other side to have in flight; edges:
    sequence numbers where its windows ended.
    """

    first: int | None = None
    refused: bool = False
    segments: list = field(default_factory=list)
    dissected: list = field(default_factory=list)
    complaints: list = field(default_factory=list)
    fpdus: list = field(default_factory=list)
    versions: set = field(default_factory=set)
    opcodes: Counter = field(default_factory=Counter)
    markers: int = 0
    seen: int = 0
    window: int = 0
    edges: set = field(default_factory=set)

    def behind(self):
        """How many segments came after later ones: reordered, or retransmitted."""
        reached, count = 0, 0
        for segment in self.segments:
            count += segment.offset < reached
            reached = max(reached, segment.offset + len(segment.payload))
        return count

    def stream(self):
        """The bytes in order; retransmissions must repeat the same bytes."""
        data = bytearray()
        for segment in sorted(self.segments, key=lambda one: one.offset):
            if segment.offset > len(data):
                raise Bad(f"bytes {len(data)}..{segment.offset} are missing "
                          f"before frame {segment.frame}")
            known = data[segment.offset:segment.offset + len(segment.payload)]
            if known != segment.payload[:len(known)]:
                raise Bad(f"frame {segment.frame} repeats other bytes")
            data += segment.payload[len(known):]
        return bytes(data)


@dataclass
class Startup:
    """A Request or Reply Frame."""

    flags: int
    revision: int
    size: int
    data: bytes

    @classmethod
    def parse(cls, data, key):
        if len(data) < STARTUP or data[:16] != key:
            raise Bad(f"stream does not begin with {key!r}: {data[:20]!r}")
        size = STARTUP + int.from_bytes(data[18:20], "big")
        if len(data) < size:
            raise Bad(f"{key!r} is cut off")
        return cls(data[16], data[17], size, data[STARTUP:size])

    def depths(self):
        """IRD,ORD of an enhanced frame, followed by ,KIND+KIND in peer-to-peer mode;
        otherwise "plain"."""
        if not self.flags & FLAG_ENHANCED:
            return "plain"
        words = int.from_bytes(self.data[:4], "big")
        text = f"{words >> 16 & DEPTH},{words & DEPTH}"
        kinds = [name for name, flag in (("send", FLAG_SEND),
                                         ("write", FLAG_WRITE),
                                         ("read", FLAG_READ)) if words & flag]
        if bool(words & FLAG_P2P) != bool(kinds):
            raise Bad(f"RTR kinds and peer-to-peer mode disagree: {words:#x}")
        return text + ("," + "+".join(kinds) if kinds else "")


def run_tshark(path, *options):
    """Runs tshark and returns its output lines."""
    with subprocess.Popen(
        ["tshark", "-r", path, *OPTIONS, *options],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
    ) as process:
        yield from process.stdout
        words = process.stderr.read()
    if process.returncode:
        raise Bad(f"tshark failed: {words.strip()}")


def known_flows(path):
    """As read_flows(), which starts tshark several times: the result is kept in a file for
    further checks of the capture."""
    kept = Path(f"{path}.flows")
    newest = max(one.stat().st_mtime for one in (Path(path), Path(__file__)))
    if kept.exists() and kept.stat().st_mtime > newest:
        return pickle.loads(kept.read_bytes())
    flows = read_flows(path)
    kept.write_bytes(pickle.dumps(flows))
    return flows


def read_flows(path):
    """{stream: [flow of the Initiator, flow of the Responder]}."""
    flows = defaultdict(lambda: [Flow(), Flow()])
    # tshark takes the startup frames of a connection for FPDUs if it has seen FPDUs of an
    # earlier one between these ports. In a capture of its own it does not.
    for stream in sorted(read_streams(flows, path)):
        with tempfile.NamedTemporaryFile(suffix=".pcapng") as alone:
            list(run_tshark(path, "-Y", f"tcp.stream=={stream}", "-w", alone.name))
            read_streams(flows, alone.name, stream)
    return dict(sorted(flows.items()))


def read_streams(flows, path, single=None):
    """Adds the streams of a capture to flows, the only one as number single if that is
    given. Returns those that it leaves out: their ports were used before."""
    opener, again = {}, set()
    bad = bad_frames(path)
    # A report of ICMP has the header of a segment within.
    output = run_tshark(path, "-Y", "tcp and not icmp", "-T", "fields", "-E", "occurrence=a",
                        *(word for name in FIELDS for word in ("-e", name)))
    for line in output:
        values = dict(zip(FIELDS, line.rstrip("\n").split("\t")))
        stream = int(values["tcp.stream"]) if single is None else single
        if values["tcp.analysis.reused_ports"]:
            again.add(stream)
        if stream in again:
            continue
        port = values["tcp.srcport"], values["tcp.dstport"]
        side = opener.setdefault(stream, port) != port
        flow = flows[stream][side]
        add_segment(flow, flows[stream][not side], values)
        frame = int(values["frame.number"])
        if frame in bad:
            flow.complaints.append((frame, "has a bad CRC"))
    return again


def bad_frames(path):
    """Frames with an FPDU whose CRC tshark reports as bad; it does so in text only."""
    frames, frame = set(), 0
    for line in run_tshark(path, "-V", "-O", "iwarp_mpa"):
        begin = re.match(r"Frame (\d+):", line)
        if begin:
            frame = int(begin.group(1))
        elif "Bad CRC32" in line:
            frames.add(frame)
    return frames


def add_segment(flow, peer, values):
    """A sender may not know the newest window in the capture yet: it may have filled
    any earlier one of the peer."""
    frame = int(values["frame.number"])
    if values["_ws.malformed"]:
        flow.complaints.append((frame, "is malformed"))
    sequence = int(values["tcp.seq_raw"])
    if values["tcp.flags.syn"] in ("1", "True"):
        flow.first = (sequence + 1) % 2**32
        return
    if flow.first is None and values["tcp.flags.reset"] in ("1", "True"):
        flow.refused = True
        return
    if flow.first is None:
        raise Bad(f"frame {frame} belongs to a connection begun earlier")
    window = int(values["tcp.window_size"])
    flow.window = max(flow.window, window)
    flow.edges.add((int(values["tcp.ack_raw"] or 0) + window) % 2**32)
    payload = bytes.fromhex(values["tcp.payload"].replace(":", ""))
    if payload:
        offset = (sequence - flow.first) % 2**32
        end = (sequence + len(payload)) % 2**32
        flow.segments.append(Segment(frame, offset, payload, end in peer.edges))
    flow.dissected += map(int, filter(None, values["iwarp_mpa.ulpdulength"].split(",")))


def walk(flow, data, start, marked, with_crc):
    """Finds and checks the FPDUs after the startup frame. Without CRCs the CRC fields
    are there, with any content."""
    position = start

    def at_marker():
        return marked and (position - start) % MARKER_PERIOD == 0

    def skip_marker(header):
        nonlocal position
        if at_marker():
            check_marker(data[position:position + MARKER_SIZE],
                         position, header)
            flow.markers += 1
            position += MARKER_SIZE

    def take(count, header):
        """The next count bytes that are not Markers, of the FPDU whose length field is
        at header."""
        nonlocal position
        taken = bytearray()
        while len(taken) < count:
            skip_marker(header)
            room = count - len(taken)
            if marked:
                room = min(room, MARKER_PERIOD - (position - start) % MARKER_PERIOD)
            piece = data[position:position + room]
            if not piece:
                raise Bad(f"stream ends within the FPDU at {header}")
            taken += piece
            position += len(piece)
        return bytes(taken)

    while position < len(data):
        origin = position
        header = origin + MARKER_SIZE if at_marker() else origin
        length = int.from_bytes(take(HEADER_SIZE, header), "big")
        ulpdu = take(length + -(HEADER_SIZE + length) % 4, header)
        if length > 1:
            flow.versions |= {ulpdu[0] & 3, ulpdu[1] >> 6}
            flow.opcodes[ulpdu[1] & 15] += 1
        skip_marker(header)
        covered = data[origin:position]
        crc = int.from_bytes(take(CRC_SIZE, header), "little")
        if with_crc and crc != crc32c(covered):
            raise Bad(f"the CRC of the FPDU at {origin} is wrong")
        flow.fpdus.append((origin, position, length))


def check_marker(data, position, header):
    """A Marker points back to the length field of its FPDU; a Marker between FPDUs,
    before that field, is 0."""
    if len(data) < MARKER_SIZE:
        raise Bad(f"stream ends within the Marker at {position}")
    reserved = int.from_bytes(data[:2], "big")
    pointer = int.from_bytes(data[2:], "big")
    wanted = max(position - header, 0)
    if reserved or pointer != wanted:
        raise Bad(f"Marker at {position}: reserved {reserved:#x}, FPDUPTR "
                  f"{pointer}, wanted {wanted}")


# The most bytes that TCP puts into a packet.
PACKET = 65536


def check_aligned(flow, start, marked):
    """Segments of full operation begin with an FPDU: all of them where there are
    Markers. Without, the edge of a window may cut one of TCP's packets elsewhere, and
    the rest of it too; the next packet begins with an FPDU again. Returns how many
    segments do not, and how many more are rests of such a cut."""
    origins = {origin for origin, _, _ in flow.fpdus}
    others, cut = [], 0
    aligned = start
    fills = False
    for segment in sorted(flow.segments, key=lambda one: one.offset):
        end = segment.offset + len(segment.payload)
        if segment.offset < start < end:
            raise Bad(f"frame {segment.frame} holds a startup frame and FPDUs")
        if segment.offset < start:
            continue
        if segment.offset in origins:
            aligned = segment.offset
            fills = segment.fills
            continue
        if marked or segment.offset - aligned >= PACKET:
            raise Bad(f"frame {segment.frame} does not begin with an FPDU, "
                      f"behind {len(others)} others and {cut} cut by a window")
        if fills:
            cut += 1
        else:
            others.append(segment.frame)
        fills = fills or segment.fills
    return len(others), cut


def in_order(segments):
    """{(offset, end): whether it arrived before everything after it}."""
    known = {}
    earliest = float("inf")
    for segment in sorted(segments, key=lambda one: one.offset, reverse=True):
        place = segment.offset, segment.offset + len(segment.payload)
        known[place] = segment.frame < earliest
        earliest = min(earliest, segment.frame)
    return known


def count_visible(flow, start):
    """How many FPDUs of a direction with Markers tshark can see."""
    segments = in_order(flow.segments)
    for number, (origin, end, _) in enumerate(flow.fpdus):
        if (end - start) % MARKER_PERIOD == 0 or not segments.get((origin, end)):
            return number
    return len(flow.fpdus)


def compare(flow, name):
    """tshark found the same FPDUs, and their CRCs good, as far as it can see."""
    lengths = [length for _, _, length in flow.fpdus]
    if flow.seen < len(lengths):
        wanted, found = lengths[:flow.seen], flow.dissected[:flow.seen]
    else:
        wanted, found = lengths, flow.dissected
    if wanted != found:
        number = next((n for n, pair in enumerate(zip(wanted, found))
                       if pair[0] != pair[1]), min(len(wanted), len(found)))
        raise Bad(f"{name}: {len(wanted)} FPDUs, tshark dissected {len(found)}, "
                  f"the first difference is number {number}")
    blind = flow.fpdus[flow.seen][0] if flow.seen < len(lengths) else None
    known = {segment.frame: segment.offset + len(segment.payload)
             for segment in flow.segments}
    for frame, complaint in flow.complaints:
        if blind is None or known.get(frame, 0) <= blind:
            raise Bad(f"tshark: frame {frame} {complaint}")


def check_lengths(name, flow, opaque):
    """RFC 5044 section 3: a ULPDU has 1 to 64768 bytes. Empty ULPDUs of applications
    are an extension of the socket interface (mpa(7)); no RNIC sends one."""
    for origin, _, length in flow.fpdus:
        if length > ULPDU_MAX or (not length and not opaque):
            raise Bad(f"{name}: the FPDU at {origin} has a ULPDU of {length} "
                      f"bytes")


def check_flow(name, flow, start, asked, args):
    """Checks one direction; returns how many of its segments are not aligned, and how
    many more because the receiver's window was full."""
    # Revision 0 has Markers even if they were not asked for.
    marked = asked or not args.version and not args.start_keys
    if marked != (args.markers_from in (name, "both")):
        raise Bad(f"{name} is {'' if marked else 'not '}asked for Markers")
    walk(flow, flow.stream(), start, marked, args.crc_from != "none")
    check_lengths(name, flow, args.opaque)
    if marked and flow.fpdus and not flow.markers:
        raise Bad(f"{name} sent no Marker")
    if not args.opaque and flow.versions - {args.version}:
        raise Bad(f"{name} uses DDP and RDMAP {flow.versions}")
    if not args.opaque and not args.opcodes and max(flow.opcodes, default=0) > 7:
        raise Bad(f"{name} sent messages of RFC 7306: {dict(flow.opcodes)}")
    if asked:
        flow.seen = count_visible(flow, start)
    elif args.markers_from == "none":
        flow.seen = len(flow.fpdus)
    compare(flow, name)
    return check_aligned(flow, start, marked) if args.aligned else (0, 0)


def check_crc_flags(frames, crc_from):
    """CRCs are used if one side asked for them. A Responder that did not ask may still
    set the flag in its Reply."""
    asked = [bool(frame.flags & FLAG_CRC) for frame in frames]
    if any(asked) != (crc_from != "none"):
        raise Bad(f"{'' if any(asked) else 'no '}CRC is used")
    if crc_from != "any" and asked[0] != (crc_from in ("initiator", "both")):
        raise Bad(f"the initiator asked for {'' if asked[0] else 'no '}CRCs")


def check_revisions(frames, args):
    # The frames are not those of the ends.
    if args.start_keys:
        return
    if min(frames[1].revision, 1) != args.version:
        raise Bad(f"the Reply is of revision {frames[1].revision}")
    if args.revision is not None:
        found = [frame.revision for frame in frames]
        if found != [args.revision] * 2:
            raise Bad(f"Request and Reply are of revisions {found}")


def check_depths(frames, args):
    for frame, wanted in zip(frames, (args.request, args.reply)):
        if wanted and frame.depths() != wanted:
            raise Bad(f"a startup frame has {frame.depths()}, not {wanted}")


def check_connection(pair, args, total):
    """Checks one connection: startup, both directions, tshark's results."""
    frames = [Startup.parse(pair[0].stream(), REQUEST),
              Startup.parse(pair[1].stream(), REPLY)]
    total["connections"] += 1
    check_crc_flags(frames, args.crc_from)
    check_revisions(frames, args)
    check_depths(frames, args)
    if args.window and pair[1].window > args.window:
        raise Bad(f"the responder's window was {pair[1].window}")
    for side, flow in enumerate(pair):
        name = ("initiator", "responder")[side]
        unaligned, cut = check_flow(
            name, flow, frames[side].size,
            bool(frames[1 - side].flags & FLAG_MARKERS), args)
        total[f"FPDUs from {name}s"] += len(flow.fpdus)
        for opcode in filter(lambda one: one > 7, flow.opcodes):
            total[f"of opcode {opcode:x}"] += flow.opcodes[opcode]
        total["FPDUs seen by tshark"] += flow.seen
        total["Markers"] += flow.markers
        total["segments"] += len(flow.segments)
        total["of these after later ones"] += flow.behind()
        segments = [one for one in flow.segments if one.offset >= frames[side].size]
        total["in full operation"] += len(segments)
        total["of these unaligned"] += unaligned
        total["of these cut by a full window"] += cut
        longest = max(map(len, (one.payload for one in segments)), default=0)
        if args.mss and longest > args.mss:
            raise Bad(f"{name} sent a segment of {longest} bytes")


def fell_back(pair):
    """A Request of revision 2 that got no answer."""
    if pair[1].segments:
        return False
    return Startup.parse(pair[0].stream(), REQUEST).revision == 2


def answered(flows, args, total, reasons):
    """The connections to check; the others are counted."""
    count = 0
    for stream, pair in flows.items():
        try:
            if pair[1].refused and not pair[0].segments:
                total["refused"] += 1
                continue
            if args.fallbacks and fell_back(pair):
                total["unanswered"] += 1
                continue
        except Bad as reason:
            reasons.append(f"connection {stream}: {reason}")
        count += 1
        if args.nth in (None, count):
            yield stream, pair


def check(args):
    """Reasons why the capture is bad, and counts."""
    reasons, total = [], Counter()
    try:
        flows = known_flows(args.capture)
    except Bad as reason:
        return [str(reason)], total
    for stream, pair in answered(flows, args, total, reasons):
        try:
            check_connection(pair, args, total)
        except Bad as reason:
            reasons.append(f"connection {stream}: {reason}")
    if total["unanswered"] != args.fallbacks:
        reasons.append(f"{total['unanswered']} Requests had no answer, wanted "
                       f"{args.fallbacks}")
    if total["connections"] < args.connections:
        reasons.append(f"{total['connections']} connections, wanted at least "
                       f"{args.connections}")
    if total["FPDUs seen by tshark"] < args.seen:
        reasons.append(f"tshark saw {total['FPDUs seen by tshark']} FPDUs, "
                       f"wanted at least {args.seen}")
    if total["of these after later ones"] < args.behind:
        reasons.append(f"{total['of these after later ones']} segments came "
                       f"after later ones, wanted at least {args.behind}")
    return reasons, total


# Opcodes of RFC 7306 that tshark names, and a field that only such a message has.
DISSECTED = {10: "iwarp_rdma.atomic.request_identifier",
             11: "iwarp_rdma.atomic.original_request_identifier"}


def check_opcodes(args, total, reasons):
    """Messages of RFC 7306, in all connections: our count, and tshark's of what it
    knows."""
    for word in args.opcodes.split(","):
        opcode, wanted = (int(part, base) for part, base in
                          zip(word.split("="), (16, 10)))
        if total[f"of opcode {opcode:x}"] != wanted:
            reasons.append(f"{total[f'of opcode {opcode:x}']} messages of opcode "
                           f"{opcode:x}, wanted {wanted}")
        if opcode not in DISSECTED:
            continue
        name = DISSECTED[opcode]
        lines = run_tshark(args.capture, "-T", "fields", "-e", name, "-Y", name)
        seen = sum(len(line.split(",")) for line in lines)
        total[f"seen by tshark of opcode {opcode:x}"] += seen
        if seen != wanted:
            reasons.append(f"tshark saw {seen} messages of opcode {opcode:x}, "
                           f"wanted {wanted}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("capture")
    parser.add_argument("--aligned", action="store_true",
                        help="segments must begin with FPDUs: all of them with "
                        "Markers; without, the packets of TCP, except for a "
                        "share of --unaligned")
    parser.add_argument("--unaligned", type=float, default=1, metavar="PERCENT",
                        help="share of segments without Markers that may begin "
                        "without an FPDU; 0 for the policy of one segment at a "
                        "time (default: 1, for a link without loss). Segments cut "
                        "where TCP filled the window count for 0 only")
    parser.add_argument("--markers-from", default="none",
                        choices=("none", "initiator", "responder", "both"),
                        help="who must insert Markers (default: none)")
    parser.add_argument("--crc-from", default="any",
                        choices=("any", "none", "initiator", "responder", "both"),
                        help="who must ask for CRCs (default: at least one)")
    parser.add_argument("--revision", type=int,
                        help="of Request and Reply, exactly")
    for name in ("request", "reply"):
        parser.add_argument(f"--{name}", metavar="IRD,ORD[,KIND+KIND]",
                            help=f"what the {name.title()} requests beyond "
                            "revision 1, with KINDs of peer-to-peer mode; "
                            "\"plain\": nothing")
    parser.add_argument("--mss", type=int,
                        help="no segment may be longer")
    parser.add_argument("--window", type=int,
                        help="the Responder must never have offered more")
    parser.add_argument("--behind", type=int, default=0,
                        help="so many segments must come after later ones")
    parser.add_argument("--version", type=int, default=1, choices=(0, 1),
                        help="of DDP and RDMAP, and the Reply's revision is to "
                        "fit (default: 1)")
    parser.add_argument("--connections", type=int, default=1,
                        help="at least so many (default: 1)")
    parser.add_argument("--nth", type=int,
                        help="check just this one of the connections that had "
                        "an answer, from 1 on")
    parser.add_argument("--fallbacks", type=int, default=0,
                        help="so many connections have no answer, as a new "
                        "Request followed in another one (default: 0)")
    parser.add_argument("--seen", type=int, default=10,
                        help="tshark must see so many FPDUs (default: 10)")
    parser.add_argument("--start-keys", action="store_true",
                        help="the connections begin with Start Keys, which are replaced "
                        "by frames before tshark sees them")
    parser.add_argument("--opaque", action="store_true",
                        help="ULPDUs are those of an application, not DDP")
    parser.add_argument("--opcodes", metavar="OPCODE=N,...",
                        help="exact numbers of messages of RFC 7306, by opcodes from 8 "
                        "to b; without, there must be none")
    args = parser.parse_args()
    if args.opaque:
        OPTIONS.extend(("--disable-protocol", "iwarp_ddp_rdmap"))
    if args.start_keys:
        source, args.capture = args.capture, f"{args.capture}.frames.pcap"
        total_keys = transplant(source, args.capture)
        print(f"Start Keys: {total_keys}")
    reasons, total = check(args)
    if args.opcodes:
        check_opcodes(args, total, reasons)
    unaligned = total["of these unaligned"]
    cut = total["of these cut by a full window"]
    counted = unaligned if args.unaligned else unaligned + cut
    if 100 * counted > args.unaligned * total["in full operation"]:
        reasons.append(f"more than {args.unaligned} % of the segments do not "
                       "begin with an FPDU")
    print(", ".join(f"{count} {name}" for name, count in total.items() if count))
    if args.aligned and total["in full operation"]:
        count = total["in full operation"]
        share = 100 * (count - unaligned - cut) / count
        print(f"{share:.2f} % of {count} segments begin with an FPDU")
    for reason in reasons:
        print(f"BAD: {reason}")
    return 1 if reasons else 0


if __name__ == "__main__":
    sys.exit(main())
