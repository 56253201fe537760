#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Checks a capture of connections of tuf.py: draft-ietf-tsvwg-tcp-ulp-frame-00.

Each direction begins with a line that tells its mode, key and interval, and whether its
TCP keeps segments aligned. Behind it: in alignment mode each segment, also a repeated one, is one framing PDU as a whole (section
5.1); what is not must not look as if it were (section 5.2). In marker mode every marker
is where it must be, tells its distance twice, and no two contradict each other.

Exit status 0: everything is good. 1: something is not; the reason is on standard output.
"""

import argparse
import json
import struct
import sys
from collections import Counter

sys.dont_write_bytecode = True
from check_capture import Bad, known_flows  # noqa: E402

HEADER, MARKER, PDU_MAX = 8, 4, 65528


def looks_whole(payload, key):
    """Whether a receiver that sees only this segment takes it for a framing PDU."""
    return (len(payload) >= HEADER
            and struct.unpack(">H", payload[:2])[0] == len(payload) - HEADER
            and payload[2:HEADER] == key)


def framing_pdus(data, start, key):
    """{offset: end} of the framing PDUs of a stream."""
    frames, at = {}, start
    while at < len(data):
        length = struct.unpack(">H", data[at:at + 2])[0]
        if data[at + 2:at + HEADER] != key or not length:
            raise Bad(f"no header at offset {at}: {data[at:at + HEADER].hex()}")
        frames[at] = at + HEADER + length
        at = frames[at]
    if at != len(data):
        raise Bad(f"the last framing PDU ends {at - len(data)} bytes behind the stream")
    return frames


def check_align(flow, peer, start, words, args, total):
    key = bytes.fromhex(words["key"])
    frames = framing_pdus(flow.stream(), start, key)
    total["framing PDUs"] += len(frames)
    if not words["aligned"]:
        return
    # Section 5.2, case 3: where a window of the receiver has ended.
    edges = {(edge - flow.first) % 2**32 for edge in peer.edges}
    long = sorted(at for at, end in frames.items() if end - at > args.above)
    for segment in flow.segments:
        if segment.offset < start:
            continue
        end = segment.offset + len(segment.payload)
        if frames.get(segment.offset) == end:
            total["whole segments"] += 1
            continue
        if looks_whole(segment.payload, key):
            raise Bad(f"frame {segment.frame} is not whole, but looks so")
        if (segment.offset in edges or end in edges) and any(
                at <= segment.offset and frames[at] >= end for at in frames):
            total["pieces at the end of a window"] += 1
            continue
        total["pieces"] += 1
        if not args.above or not any(at < end and frames[at] > segment.offset
                                     for at in long):
            raise Bad(f"frame {segment.frame} is bytes {segment.offset}..{end}, which is "
                      f"no framing PDU, nor a part of one above {args.above} bytes")


def check_markers(flow, start, words, total):
    data, interval = flow.stream(), words["interval"]
    boundary = start
    for at in range(start, len(data), interval):
        first, second = struct.unpack(">HH", data[at:at + MARKER].ljust(MARKER, b"\xff"))
        target = at + MARKER + first
        if first != second or first > PDU_MAX:
            raise Bad(f"marker at {at}: {first} {second}")
        # The marker itself may be where the boundary was told to be.
        if boundary >= at and target != max(boundary, at + MARKER):
            raise Bad(f"marker at {at} tells {target}, an earlier one {boundary}")
        if (target - start) % interval < MARKER:
            raise Bad(f"marker at {at} tells a place within another one")
        boundary = target if first else -1
        total["markers"] += 1
    if boundary > len(data) and boundary - len(data) != MARKER:
        raise Bad(f"the last marker tells {boundary}, the stream has {len(data)} bytes")


def check_flow(flow, peer, args, total):
    line = flow.stream().partition(b"\n")[0]
    start, words = len(line) + 1, json.loads(line)
    total[f"directions in mode {words['tuf']}"] += 1
    total["segments after later ones"] += flow.behind()
    if words["tuf"] == "align":
        check_align(flow, peer, start, words, args, total)
    elif words["tuf"] == "markers":
        check_markers(flow, start, words, total)


def check(args):
    reasons, total = [], Counter()
    for stream, pair in known_flows(args.capture).items():
        total["connections"] += 1
        for name, flow, peer in zip(("connects", "listens"), pair, pair[::-1]):
            try:
                check_flow(flow, peer, args, total)
            except (Bad, ValueError) as reason:
                reasons.append(f"connection {stream}, the end that {name}: {reason}")
    wanted = {"connections": args.connections, "whole segments": args.whole,
              "markers": args.markers, "pieces": args.pieces,
              "segments after later ones": args.behind}
    for name, least in wanted.items():
        if total[name] < least:
            reasons.append(f"{name}: {total[name]}, wanted at least {least}")
    return reasons, total


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("capture")
    parser.add_argument("--tuf", action="store_true", help="for the caller")
    parser.add_argument("--above", type=int, default=0, metavar="BYTES",
                        help="framing PDUs longer than this may be in pieces")
    for name in ("connections", "whole", "markers", "pieces", "behind"):
        parser.add_argument(f"--{name}", type=int, default=0, help="at least so many")
    args = parser.parse_args()
    reasons, total = check(args)
    print(", ".join(f"{value} {name}" for name, value in sorted(total.items())))
    for reason in reasons:
        print(reason)
    return 1 if reasons or not total["connections"] else 0


if __name__ == "__main__":
    sys.exit(main())
