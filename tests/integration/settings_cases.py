#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Cases of settings, run by 72-settings.sh, which set up the hosts.

Usage: settings_cases.py --list PREFIX
settings_cases.py CASE

Each setting is made with mpactl on the namespace, the device or the listener, and
observed on the wire or by its effect. Expected bytes are those of RFC 5044 and RFC 6581.
"""

import contextlib
import errno
import json
import socket
import struct
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))

# pylint: disable=wrong-import-position
import mpaframe as mpa  # noqa: E402
from cmlab import (  # noqa: E402
    H2, HOST_OF, PORT, case, check, configured, counting, crowd, initiator,
    ip, main, mpactl, no_startup_timeout, raw, raw_listener, reply, request, responder,
    turned_away, within)
from mpaframe import enhanced, frame  # noqa: E402
from rdmacm import host  # noqa: E402

M, C, X = mpa.MARKERS, mpa.CRC, mpa.ENHANCED
ASKED, GRANTED = mpa.EXTENSIONS_ASKED, mpa.EXTENSIONS_GRANTED
P2P, WRITE, READ = mpa.P2P, mpa.RTR_WRITE, mpa.RTR_READ

DEV1, DEV2 = ("dev", "mpa1"), ("dev", "mpa2")


def listener(where="h2", port=PORT):
    """mpactl's output for the device's listener on the port."""
    shown = json.loads(mpactl(where, "-j", "listen").stdout)
    found = [one for one in shown if one["local"]["port"] == port]
    check("listeners on the port", len(found), 1)
    return found[0]


def connection(where, **wanted):
    """mpactl's output for the only connection that matches."""
    shown = json.loads(mpactl(where, "-j", "conn").stdout)
    found = [one for one in shown
             if all(one.get(name) == value for name, value in wanted.items())]
    check(f"connections with {wanted} of {shown}", len(found), 1)
    return found[0]


def listening(where="h2", port=PORT):
    return ("listen", listener(where, port)["id"])


# --- Requests of Initiators, byte by byte ----------------------------------------
def asked(ird, ord_):
    """A Request of revision 2, of a device with no other settings."""
    return mpa.Frame(mpa.REQUEST, C | X | ASKED, 2, enhanced(ird, ord_))


# The consumer requests 7 and 9.
P7, A9 = P2P | 7, WRITE | READ | 9
REQUESTS = [
    ((), asked(P7, A9)),
    (("crc", "off"), asked(P7, A9)._replace(flags=X | ASKED)),
    (("markers", "on"), asked(P7, A9)._replace(flags=M | C | X | ASKED)),
    (("revision", "2"), asked(P7, A9)),
    (("revision", "1"), mpa.Frame(mpa.REQUEST, C, 1, b"")),
    (("revision", "0"), mpa.Frame(mpa.REQUEST, M | C, 0, b"")),
    # The behaviour of the RDMA Consortium's peers cannot be configured.
    (("revision", "0", "crc", "off"), mpa.Frame(mpa.REQUEST, M | C, 0, b"")),
    (("exchange", "plain"), mpa.Frame(mpa.REQUEST, C, 1, b"")),
    (("exchange", "plain", "revision", "2"),
     mpa.Frame(mpa.REQUEST, C, 2, b"")),
    (("peer-to-peer", "off"), asked(7, 9)),
    (("rtr", "write"), asked(P7, WRITE | 9)),
    (("rtr", "read"), asked(P7, READ | 9)),
    (("ird", "3"), asked(P2P | 3, A9)),
    (("ord", "4"), asked(P7, WRITE | READ | 4)),
    (("ird", "0", "ord", "0"), asked(P2P, WRITE | READ)),
    # No reserved bit is set unless extensions are to be negotiated.
    (("rdmap-extensions", "off"), asked(P7, A9)._replace(flags=C | X)),
    (("rdmap-extensions", "on"), asked(P7, A9)._replace(flags=C | X)),
]


def request_sent():
    """The Request of an Initiator on h1, which gets no answer."""
    with raw_listener() as there, initiator() as (_, me):
        me.connect(H2, PORT, ird=7, ord_=9)
        with there.accept() as peer:
            got = peer.read_frame()
            me.destroy()
            return got


def ask_everything(of):
    for words, wanted in REQUESTS:
        with contextlib.ExitStack() as stack:
            if words:
                stack.enter_context(configured("h1", *words, of=of))
            check(f"Request with {words}", request_sent(), wanted)


@case
def initiator_of_device():
    ask_everything(DEV1)


@case
def initiator_of_namespace():
    ask_everything(())


@case
def initiator_device_before_namespace():
    with configured("h1", "crc", "off", "ird", 3), \
            configured("h1", "crc", "required", of=DEV1):
        check("Request", request_sent(), asked(P2P | 3, A9))


@case
def initiator_rtr():
    """The only requested kind is the one that opens the stream."""
    for kind, bit, ulpdu in (("write", WRITE, "c140"), ("read", READ, "4141")):
        with configured("h1", "rtr", kind, of=DEV1), \
                raw_listener() as there, initiator() as (app, me):
            me.connect(H2, PORT)
            with there.accept() as peer:
                peer.read_frame()
                peer.send(reply(P2P | 1, WRITE | READ | 1))
                app.event("ESTABLISHED")
                check(f"RTR of {kind}", peer.read_fpdu()[:2],
                      bytes.fromhex(ulpdu))
                shown = connection("h1", qpn=qpn_of("mpa1"))
                check("rtr shown", shown["rtr"], [kind])
                check("bit", bool(bit), True)


def qpn_of(device):
    """Number of the only queue pair that the device's connections have."""
    shown = json.loads(mpactl(HOST_OF[device], "-j", "conn", "show", "dev",
                             device).stdout)
    check("connections", len(shown), 1)
    return shown[0]["qpn"]


@case
def initiator_extensions():
    """They are in use if the Reply has its own bit, and not that of the Request."""
    for mode, flags, used in (
            ("negotiate", C | X | GRANTED, True), ("negotiate", C | X, False),
            # A peer that copies the flags of the Request.
            ("negotiate", C | X | ASKED, False),
            ("negotiate", C | X | ASKED | GRANTED, False),
            ("negotiate", C | X | 0x0c, False),
            ("negotiate", C | X | GRANTED | 0x0c, True),
            ("on", C | X, True), ("on", C | X | GRANTED, True),
            ("off", C | X, False), ("off", C | X | GRANTED, False)):
        with configured("h1", "rdmap-extensions", mode, of=DEV1), \
                raw_listener() as there, initiator() as (app, me):
            me.connect(H2, PORT)
            with there.accept() as peer:
                peer.read_frame()
                peer.send(reply(P2P | 1, WRITE | 1, flags=flags))
                app.event("ESTABLISHED")
                shown = connection("h1", qpn=qpn_of("mpa1"))
                check(f"in use with {mode}, {flags:#x}",
                      shown["rdmap_extensions"], used)


@case
def responder_extensions():
    for mode, flags, used in (
            ("negotiate", C | X | ASKED, True), ("negotiate", C | X, False),
            ("on", C | X, True), ("off", C | X | ASKED, False)):
        with responder() as app, \
                configured("h2", "rdmap-extensions", mode, of=listening()), \
                raw() as peer:
            peer.send(request(4, 4, flags=flags))
            app.event("CONNECT_REQUEST").id.accept(ird=4, ord_=4)
            peer.read_frame()
            app.event("ESTABLISHED")
            shown = connection("h2", phase="operational")
            check(f"in use with {mode}, {flags:#x}",
                  shown["rdmap_extensions"], used)


@case
def initiator_falls_back_or_not():
    """Auto tries again with an older revision; 2 does not, and plain need not."""
    for words, revisions in (((), [2, 1]), (("revision", "2"), [2]),
                             (("revision", "1"), [1]),
                             (("exchange", "plain"), [1])):
        with contextlib.ExitStack() as stack:
            if words:
                stack.enter_context(configured("h1", *words, of=DEV1))
            stack.enter_context(counting(
                "mpa1", conn_fallback=len(revisions) - 1,
                conn_startup_error=1))
            there = stack.enter_context(raw_listener())
            app, me = stack.enter_context(initiator())
            me.connect(H2, PORT)
            for revision in revisions:
                with there.accept() as peer:
                    check(f"revision with {words}", peer.read_frame().rev,
                          revision)
            check(f"status with {words}", app.event("REJECTED").status,
                  -errno.ECONNRESET)
            there.sock.settimeout(0.3)
            with contextlib.suppress(TimeoutError):
                there.accept()
                raise AssertionError(f"another Request with {words}")


@case
def initiator_refuses_more_than_its_ird():
    """IRD is also the limit to which it can be raised in negotiation."""
    with configured("h1", "ird", 20, of=DEV1):
        for ord_, event in ((20, "ESTABLISHED"), (21, "CONNECT_ERROR")):
            with raw_listener() as there, initiator() as (app, me):
                me.connect(H2, PORT, ird=1, ord_=1)
                with there.accept() as peer:
                    peer.read_frame()
                    peer.send(reply(P2P | 1, WRITE | ord_))
                    app.event(event)


# --- Replies of Responders, byte by byte ---------------------------------------
def answer(word1, word2, flags=C | X):
    return mpa.Frame(mpa.REPLY, flags, 2, enhanced(word1, word2))


def plain(flags, rev):
    return mpa.Frame(mpa.REPLY, flags, rev, b"")


def old(flags, rev):
    return frame(mpa.REQUEST, flags, rev)


# Settings, a Request, its Reply or None: closed without. The consumer requests 5 and 6,
# and is asked only if there is something to accept.
NOW = request(P2P | 8, WRITE | READ | 9)
REPLIES = [
    ((), NOW, answer(P2P | 9, WRITE | READ | 6)),
    (("crc", "off"), request(8, 1, flags=X), answer(5, 6, X)),
    (("crc", "off"), request(8, 1), answer(5, 6)),
    ((), request(8, 1, flags=X), answer(5, 6)),
    (("markers", "on"), request(8, 1), answer(5, 6, M | C | X)),
    (("revision", "1"), NOW, None),
    (("revision", "1"), old(C, 1), plain(C, 1)),
    (("revision", "2"), NOW, answer(P2P | 9, WRITE | READ | 6)),
    (("revision", "2"), old(C, 1), plain(C | mpa.REJECT, 2)),
    (("revision", "0"), old(M | C, 0), plain(M | C, 0)),
    (("revision", "0"), old(0, 1), plain(M | C, 0)),
    (("revision", "0"), NOW, None),
    ((), old(M | C, 0), plain(C | mpa.REJECT, 1)),
    (("permissive", "on"), old(M | C, 0), plain(M | C, 0)),
    (("permissive", "on"), old(C, 1), plain(C, 1)),
    (("permissive", "on", "revision", "1"), old(M | C, 0), plain(M | C, 0)),
    (("permissive", "on", "revision", "2"), old(M | C, 0),
     plain(C | mpa.REJECT, 2)),
    (("rtr", "write"), NOW, answer(P2P | 9, WRITE | 6)),
    (("rtr", "read"), NOW, answer(P2P | 9, READ | 6)),
    # At most the setting, whatever the peer requests.
    (("ird", "3"), NOW, answer(P2P | 3, WRITE | READ | 6)),
    (("ird", "7"), NOW, answer(P2P | 7, WRITE | READ | 6)),
    (("ord", "2"), NOW, answer(P2P | 9, WRITE | READ | 2)),
    (("ird", "0", "ord", "0", "rtr", "write"), NOW,
     answer(P2P, WRITE)),
    ((), request(8, 1, flags=C | X | ASKED), answer(5, 6, C | X | GRANTED)),
    (("rdmap-extensions", "on"), request(8, 1, flags=C | X | ASKED),
     answer(5, 6, C | X | GRANTED)),
    (("rdmap-extensions", "off"), request(8, 1, flags=C | X | ASKED),
     answer(5, 6)),
    # The bit of a Reply, others that are reserved, and the bit in an older Request.
    ((), request(8, 1, flags=C | X | GRANTED), answer(5, 6)),
    ((), request(8, 1, flags=C | X | 0x0e), answer(5, 6)),
    ((), old(C | ASKED, 1), plain(C, 1)),
    ((), old(C | ASKED, 2), plain(C, 2)),
]


def reply_to(app, data, accepted):
    """The Reply, or None."""
    with raw() as peer:
        peer.send(data)
        if accepted:
            app.event("CONNECT_REQUEST").id.accept(ird=5, ord_=6)
        try:
            got = peer.read_frame()
        except (AssertionError, ConnectionResetError):
            return None
        if accepted:
            # The side that must begin has not, and ends it: either may be first.
            app.event("ESTABLISHED").id.destroy()
        return got


def answer_everything(find_of):
    with responder() as app:
        of = find_of()
        for words, data, wanted in REPLIES:
            accepted = wanted and not wanted.flags & mpa.REJECT
            with contextlib.ExitStack() as stack:
                if words:
                    stack.enter_context(configured("h2", *words, of=of))
                check(f"Reply with {words} to {data.hex()}",
                      reply_to(app, data, accepted), wanted)


@case
def responder_of_listener():
    answer_everything(listening)


@case
def responder_of_device():
    answer_everything(lambda: DEV2)


@case
def responder_of_namespace():
    answer_everything(lambda: ())


@case
def responder_tells_consumer_what_may_be():
    """The depths offered to a consumer respect the settings."""
    with responder() as app, \
            configured("h2", "ird", 3, "ord", 4, of=DEV2):
        for data, depths in ((request(8, 9), (4, 3)),
                               (request(2, 1), (2, 1)),
                               (old(C, 1), (4, 3))):
            with raw() as peer:
                peer.send(data)
                got = app.event("CONNECT_REQUEST")
                check(f"depths for {data.hex()}",
                      (got.initiator_depth, got.responder_resources), depths)
                got.id.reject()
                peer.read_frame()


@case
def responder_two_listeners():
    """Each listener has its own."""
    with responder() as one, responder(port=PORT + 1) as other:
        with configured("h2", "markers", "on", of=listening()), \
                configured("h2", "crc", "off", of=listening(port=PORT + 1)):
            for app, port, wanted in ((one, PORT, M | C | X),
                                      (other, PORT + 1, X)):
                with raw(port=port) as peer:
                    peer.send(request(1, 1, flags=X))
                    app.event("CONNECT_REQUEST").id.accept()
                    check(f"flags of port {port}", peer.read_frame().flags,
                          wanted)
                    app.event("ESTABLISHED")


# --- timeouts and limits -----------------------------------------------------------
def startup_timeout(of):
    with no_startup_timeout(), responder() as app, \
            configured("h2", "startup-timeout", "2s",
                       of=of or listening()), \
            counting("mpa2", conn_startup_error=3):
        for data in (b"", request(1, 1)[:-1]):
            with within(1.8), raw() as peer:
                peer.send(data)
                peer.closed()
        # The same for an expected first FPDU.
        with within(1.8), raw() as peer:
            peer.send(request(P2P | 1, WRITE | 1))
            app.event("CONNECT_REQUEST").id.accept()
            peer.read_frame()
            app.event("ESTABLISHED")
            peer.closed()


@case
def time_startup_of_listener():
    startup_timeout(None)


@case
def time_startup_of_device():
    startup_timeout(DEV2)


def first_fpdu_timeout(of):
    with responder() as app, \
            configured("h2", "first-fpdu-timeout", "2s",
                       of=of or listening()):
        # Neither of these is in peer-to-peer mode.
        for asked in (request(1, 1), frame(mpa.REQUEST, C, 1)):
            with counting("mpa2", conn_startup_error=1), within(1.8), raw() as peer:
                peer.send(asked)
                app.event("CONNECT_REQUEST").id.accept()
                peer.read_frame()
                app.event("ESTABLISHED")
                peer.closed()
                app.event("DISCONNECTED")
        with counting("mpa2", conn_startup_error=0, rx_write=1), \
                raw() as peer:
            peer.send(request(1, 1))
            app.event("CONNECT_REQUEST").id.accept()
            peer.read_frame()
            app.event("ESTABLISHED")
            peer.send(mpa.RTR_WRITE_FPDU)
            app.silent(3)
    # By default there is no time limit.
    with counting("mpa2", conn_startup_error=0), responder() as app, \
            raw() as peer:
        peer.send(request(1, 1))
        app.event("CONNECT_REQUEST").id.accept()
        peer.read_frame()
        app.event("ESTABLISHED")
        app.silent(1.5)


@case
def time_first_fpdu_of_listener():
    first_fpdu_timeout(None)


@case
def time_first_fpdu_of_device():
    first_fpdu_timeout(DEV2)


def reply_timeout(of):
    with configured("h1", "reply-timeout", "900", of=of), \
            counting("mpa1", conn_startup_error=1, conn_fallback=0), \
            raw_listener() as there, initiator() as (app, me):
        # The default is 30 s.
        with within(0.8, 25):
            me.connect(H2, PORT)
            with there.accept() as peer:
                peer.read_frame()
                check("status", app.event("UNREACHABLE").status,
                      -errno.ETIMEDOUT)
                peer.closed()


@case
def time_reply_of_device():
    reply_timeout(DEV1)


@case
def time_reply_of_namespace():
    reply_timeout(())


def half_open_max(of):
    most, count = 3, 8
    with no_startup_timeout(), responder() as app, \
            configured("h2", "half-open-max", most, of=of or listening()):
        with counting("mpa2", conn_half_open_drop=count - most):
            silent = crowd(count)
        check("half-open", listener()["half_open"], most)
        shown = json.loads(mpactl("h2", "-j", "stat", "dev", "mpa2").stdout)
        check("the counter, as mpactl has it",
              shown[0]["counters"]["conn_half_open_drop"] >= count - most, True)
        waiting = [sock for sock in silent if not turned_away(sock)]
        check("not refused", len(waiting), most)
        # One that completes its startup makes room for another.
        first = mpa.Peer(waiting[0])
        first.send(request(1, 1))
        app.event("CONNECT_REQUEST").id.reject()
        first.read_frame()
        with counting("mpa2", conn_half_open_drop=0), raw() as late:
            late.send(request(1, 1))
            app.event("CONNECT_REQUEST").id.reject()
            late.read_frame()
        for sock in silent:
            sock.close()


@case
def half_open_of_listener():
    half_open_max(None)


@case
def half_open_of_device():
    half_open_max(DEV2)


# --- existing and new connections ---------------------------------------------------
@case
def running_connection_keeps_what_it_has():
    words = ("crc", "off", "markers", "on", "ird", 2, "ord", 2,
             "startup-timeout", "10min")
    with responder() as app, raw() as first:
        first.send(request(4, 4))
        app.event("CONNECT_REQUEST").id.accept(ird=4, ord_=4)
        check("Reply", first.read_frame(), answer(4, 4))
        app.event("ESTABLISHED")
        before = connection("h2", phase="operational")
        with configured("h2", *words, of=DEV2):
            with raw() as second:
                second.send(request(4, 4, flags=X))
                app.event("CONNECT_REQUEST").id.accept(ird=4, ord_=4)
                check("Reply to the next", second.read_frame(),
                      answer(2, 2, M | X))
                app.event("ESTABLISHED")
                both = json.loads(mpactl("h2", "-j", "conn").stdout)
                check("CRCs", sorted(one["crc"] for one in both),
                      [False, True])
                after = connection("h2", id=before["id"])
                same = ("crc", "tx_markers", "rx_markers", "revision", "ird",
                        "ord", "peer_ird", "peer_ord", "enhanced")
                check("the first", {key: after[key] for key in same},
                      {key: before[key] for key in same})
                later = connection("h2", crc=False)
                check("the next",
                      [later[key] for key in ("tx_markers", "rx_markers",
                                              "revision", "ird", "ord",
                                              "peer_ird", "peer_ord")],
                      [False, True, 2, 2, 2, 4, 4])
            # If the CRC were not checked any more, this would pass.
            with counting("mpa2", rx_write=1):
                first.send(mpa.RTR_WRITE_FPDU)
            bad = bytearray(mpa.RTR_WRITE_FPDU)
            bad[-1] ^= 1
            with counting("mpa2", rx_crc_error=1):
                first.send(bytes(bad))


@case
def startup_under_way_keeps_what_it_began_with():
    """The settings at the time when the connection was made apply."""
    with no_startup_timeout(), responder() as app, raw() as peer:
        with counting("mpa2", conn_passive=0):
            peer.send(request(4, 4, flags=X)[:10])
            time.sleep(0.3)
        with configured("h2", "crc", "off", "markers", "on", "ird", 1,
                        of=DEV2):
            peer.send(request(4, 4, flags=X)[10:])
            app.event("CONNECT_REQUEST").id.accept(ird=4, ord_=4)
            check("Reply", peer.read_frame(), answer(4, 4))
            app.event("ESTABLISHED")


# --- sockets of applications -----------------------------------------------------------
TCP_ULP, SOL_MPA = 31, 5044
SO_START, SO_INFO, SO_PACKING, SO_STATS = 4, 8, 10, 11
ROLE_INITIATOR, ROLE_RESPONDER = 1, 2
F_AUTO_ACCEPT, F_NO_CRC = 8, 2
# In struct tcp_info.
DATA_SEGS_OUT, TOTAL_RETRANS = 156, 100


def mpa_socket(sock):
    sock.setsockopt(socket.IPPROTO_TCP, TCP_ULP, b"mpa")
    return sock


def sockets(stack, port=7310):
    """Two connected MPA sockets, the Initiator's on h1 first."""
    with host("h2"):
        there = stack.enter_context(socket.socket())
    there.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    there.bind((H2, port))
    there.listen(1)
    with host("h1"):
        one = stack.enter_context(socket.socket())
    one.settimeout(20)
    one.connect((H2, port))
    two = stack.enter_context(there.accept()[0])
    mpa_socket(one)
    mpa_socket(two)
    auto = struct.pack("=IBBHHHI4x", F_AUTO_ACCEPT, 0xff, 0, 0, 0, 0, 0)
    two.setsockopt(SOL_MPA, 1, auto)
    two.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        two.setsockopt(SOL_MPA, SO_START, ROLE_RESPONDER)
    two.settimeout(20)
    one.setblocking(True)
    one.setsockopt(SOL_MPA, SO_START, ROLE_INITIATOR)
    return one, two


@contextlib.contextmanager
def late_acknowledgements():
    """Delays what h2 sends."""
    words = "netns exec h2 tc qdisc %s dev eth0 root netem delay 400ms"
    ip(words % "add")
    try:
        yield
    finally:
        ip(words % "del")


def segments_sent(sock):
    """Without retransmissions, which occur when TCP has waited long enough for an
    acknowledgement."""
    info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 232)
    return (struct.unpack_from("=I", info, DATA_SEGS_OUT)[0] -
            struct.unpack_from("=I", info, TOTAL_RETRANS)[0])


def send_in_flight(one, two, count):
    """Number of segments for so many small ULPDUs while the first was not acknowledged.
    """
    before = segments_sent(one)
    for number in range(count):
        one.send(b"%03d" % number)
    for number in range(count):
        check("ULPDU", two.recv(100), b"%03d" % number)
    return segments_sent(one) - before


@case
def sockets_packing():
    """One segment per ULPDU, or packing of those that are sent while the first is in
    flight."""
    for word, wanted in (("off", 6), ("on", 2)):
        with configured("h1", "packing", word), \
                contextlib.ExitStack() as stack:
            one, two = sockets(stack)
            check(f"option with {word}",
                  one.getsockopt(SOL_MPA, SO_PACKING), int(word == "on"))
            with late_acknowledgements():
                check(f"segments with {word}", send_in_flight(one, two, 6),
                      wanted)


@case
def sockets_packing_of_running():
    with contextlib.ExitStack() as stack:
        one, _ = sockets(stack)
        with configured("h1", "packing", "on"):
            check("option", one.getsockopt(SOL_MPA, SO_PACKING), 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv, __doc__))
