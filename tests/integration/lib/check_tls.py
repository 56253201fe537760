#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Checks a capture of TLS whose records are segments: section 7.3.1 of
draft-ietf-tsvwg-tcp-ulp-frame-00.

Both directions are records of TLS. In that of libmpa-tls each segment, also a repeated one
and those of the handshake, begins with the header of a record, and the lengths of its
records add up to the segment. An exception of section 5.2 is where the window of the peer
ends.

With --marked both ends are libmpa-tls in marker mode (section 7.3.2): every marker of both
sets is computed again, and the captured ones must be the same. For the inner ones the records
are decrypted, with the secrets in NAME.keys, where NAME.pcapng is the capture; NAME.connects and
NAME.listens have the lengths of the PDUs that each end has sent.

Exit status 0: everything is good. 1: something is not; the reason is on standard output.
"""

import argparse
import struct
import sys
from bisect import bisect_left
from collections import Counter
from itertools import accumulate
from pathlib import Path

sys.dont_write_bytecode = True
from check_capture import Bad, known_flows  # noqa: E402
from tls13 import openers, read_secrets  # noqa: E402

HEADER, MARKER = 5, 4
# Change of ciphers, alert, handshake, data of the application.
TYPES = range(20, 24)


def records_of(data):
    """{offset: end} of the records of a stream."""
    records, at = {}, 0
    while at < len(data):
        if len(data) - at < HEADER:
            raise Bad(f"no header at offset {at}, the stream has {len(data)} bytes")
        kind, version, length = struct.unpack(">BHH", data[at:at + HEADER])
        if kind not in TYPES or version >> 8 != 3:
            raise Bad(f"no header at offset {at}: {data[at:at + HEADER].hex()}")
        records[at] = at + HEADER + length
        at = records[at]
    if at != len(data):
        raise Bad(f"the last record ends {at - len(data)} bytes behind the stream")
    return records


def check_segments(flow, peer, args, total):
    records = records_of(flow.stream())
    starts = {end: start for start, end in records.items()}
    long = sorted(at for at, end in records.items() if end - at > args.above)
    edges = {edge - flow.first & 0xFFFFFFFF for edge in peer.edges}
    total["records"] += len(records)
    for segment in flow.segments:
        start, end = segment.offset, segment.offset + len(segment.payload)
        if records.get(start) == end or (args.packed and start in records and end in starts):
            total["whole segments"] += 1
            continue
        if (start in edges or end in edges) and any(
                at <= start and records[at] >= end for at in records):
            total["pieces at the end of a window"] += 1
            continue
        total["pieces"] += 1
        # Of which record it is, wholly: alignment is back with the next.
        mine = [at for at in long if at <= start and records[at] >= end]
        if not args.above or not mine:
            raise Bad(f"frame {segment.frame} is bytes {start}..{end}, which is no record, "
                      f"nor a part of one above {args.above} bytes")


def without_markers(stream, interval):
    """The rest of a stream with markers, and the markers: [(bytes before it, marker)]."""
    rest, markers = bytearray(), []
    for at in range(0, len(stream), interval):
        markers.append((len(rest), stream[at:at + MARKER]))
        rest += stream[at + MARKER:at + interval]
    return bytes(rest), markers


def check_markers(markers, boundaries, interval, name):
    """Section 6: how far it is from the end of each marker to the next PDU, twice."""
    for before, marker in markers:
        left = boundaries[bisect_left(boundaries, before)] - before
        distance = left + MARKER * (left // (interval - MARKER))
        if marker != struct.pack(">HH", distance, distance):
            raise Bad(f"{name} marker behind {before} bytes is {marker.hex()}, "
                      f"not twice {distance}")


def check_marked(pair, args, total):
    """Both sets of markers of both directions of a connection."""
    base = Path(args.capture).with_suffix("")
    outer = [without_markers(flow.stream(), args.marked[0]) for flow in pair]
    opened = openers(read_secrets(f"{base}.keys"), *(stream for stream, _ in outer))
    for (stream, markers), opener, end in zip(outer, opened, ("connects", "listens")):
        records = records_of(stream)
        check_markers(markers, [0, *records.values()], args.marked[0], f"{end}: outer")
        plain = b"".join(opener.open(stream[at:to]) for at, to in records.items())
        rest, inner = without_markers(plain, args.marked[1])
        lengths = [int(one) for one in base.with_suffix(f".{end}").read_text().split()]
        boundaries = [0, *accumulate(lengths)]
        if len(rest) != boundaries[-1]:
            raise Bad(f"{end}: {len(rest)} bytes of PDUs, {boundaries[-1]} were sent")
        check_markers(inner, boundaries, args.marked[1], f"{end}: inner")
        total.update({"records": len(records), "outer markers": len(markers),
                      "inner markers": len(inner), "changes of keys": opener.updates})


def check_all_marked(args):
    reasons, total = [], Counter()
    for stream, pair in known_flows(args.capture).items():
        total["connections"] += 1
        try:
            check_marked(pair, args, total)
        except (Bad, ValueError) as reason:
            reasons.append(f"connection {stream}: {reason}")
    for name, least in (("connections", args.connections), ("outer markers", args.whole),
                        ("inner markers", args.whole), ("changes of keys", 1)):
        if total[name] < least:
            reasons.append(f"{name}: {total[name]}, wanted at least {least}")
    return reasons, total


def check(args):
    reasons, total = [], Counter()
    for stream, pair in known_flows(args.capture).items():
        total["connections"] += 1
        ends = dict(zip(("connects", "listens"), pair))
        try:
            ours = ends.pop(args.ours)
            peer, = ends.values()
            check_segments(ours, peer, args, total)
            total["records of the peer"] += len(records_of(peer.stream()))
        except (Bad, ValueError) as reason:
            reasons.append(f"connection {stream}: {reason}")
        total["segments after later ones"] += pair[args.ours == "listens"].behind()
    wanted = {"connections": args.connections, "whole segments": args.whole,
              "pieces": args.pieces, "segments after later ones": args.behind,
              "records of the peer": args.connections}
    for name, least in wanted.items():
        if total[name] < least:
            reasons.append(f"{name}: {total[name]}, wanted at least {least}")
    return reasons, total


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("capture")
    parser.add_argument("--tls", action="store_true", help="for the caller")
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--ours", choices=("connects", "listens"),
                       help="the end with libmpa-tls")
    which.add_argument("--marked", type=int, nargs=2, metavar="INTERVAL",
                       help="marker mode, intervals of the outer and inner markers")
    parser.add_argument("--above", type=int, default=0, metavar="BYTES",
                        help="records longer than this may be in pieces")
    parser.add_argument("--packed", action="store_true",
                        help="several records may share a segment")
    for name in ("connections", "whole", "pieces", "behind"):
        parser.add_argument(f"--{name}", type=int, default=0, help="at least so many")
    args = parser.parse_args()
    reasons, total = check_all_marked(args) if args.marked else check(args)
    print(", ".join(f"{value} {name}" for name, value in sorted(total.items())))
    for reason in reasons:
        print(reason)
    return 1 if reasons or not total["connections"] else 0


if __name__ == "__main__":
    sys.exit(main())
