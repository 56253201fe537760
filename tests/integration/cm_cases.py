#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Cases of the connection manager, run by 20-cm.sh, which made the hosts.

Usage: cm_cases.py --list PREFIX | cm_cases.py CASE

Hosts h1 (10.77.0.1, fd77::1, device mpa1) and h2 (10.77.0.2, fd77::2, mpa2),
and for the cases of "pair" the device mpa3 on 10.78.0.2 and fd78::2 of h2.
Bytes sent and wanted are those of RFC 5044 and RFC 6581.
"""

import contextlib
import errno
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))

# pylint: disable=wrong-import-position
import mpaframe as mpa  # noqa: E402
from cmlab import (  # noqa: E402
    H1, H2, PORT, case, check, configured, counting, initiator, ip, main,
    no_startup_timeout, raw, raw_listener, reachable, reply, request, responder, switched,
    turned_away_at_once, within)
from mpaframe import enhanced, frame  # noqa: E402
from party import Party, other_user  # noqa: E402
from rdmacm import PS_UDP, Channel, host  # noqa: E402

# Of no network device.
NOWHERE = "02:00:00:00:00:01"

# The ports that TCP and the core choose from, of the network namespace.
RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")

# Our Request as Initiator: peer-to-peer, RTR by Write or Read.
ASK_IRD = mpa.P2P
ASK_ORD = mpa.RTR_WRITE | mpa.RTR_READ


# --- as Responder, against bytes --------------------------------------------
@case
def responder_rev2():
    with counting("mpa2", conn_passive=1, conn_startup_error=0), \
            responder() as app, raw() as peer:
        peer.send(request(mpa.P2P | 4, mpa.RTR_WRITE | 8, b"a"))
        asked = app.event("CONNECT_REQUEST")
        check("private data", asked.private_data, b"a")
        check("depths offered",
              (asked.initiator_depth, asked.responder_resources), (4, 8))
        asked.id.accept(b"bc", ird=2, ord_=16)
        # Our ORD is limited to the peer's IRD, our IRD is raised to its ORD.
        check("Reply", peer.read_frame(),
              mpa.Frame(mpa.REPLY, mpa.CRC | mpa.ENHANCED, 2,
                        enhanced(mpa.P2P | 8, mpa.RTR_WRITE | 4) + b"bc"))
        ready = app.event("ESTABLISHED")
        check("depths agreed",
              (ready.initiator_depth, ready.responder_resources), (4, 8))
        peer.send(mpa.RTR_WRITE_FPDU)
        asked.id.disconnect()
        peer.closed()
        peer.fin()
        app.event("DISCONNECTED")


@case
def responder_read_rtr():
    with responder() as app, raw() as peer:
        peer.send(request(mpa.P2P | 1, mpa.RTR_READ | 0))
        asked = app.event("CONNECT_REQUEST")
        asked.id.accept(ird=0, ord_=0)
        check("Reply", peer.read_frame().data,
              enhanced(mpa.P2P | 1, mpa.RTR_READ | 0))
        app.event("ESTABLISHED")
        peer.send(mpa.fpdu(bytes.fromhex(
            "4141 00000000 00000001 00000001 00000000") + bytes(28)))
        check("Read Response", peer.read_fpdu()[:2], bytes.fromhex("c142"))


@contextlib.contextmanager
def fast_open():
    """TCP Fast Open without cookies: h1 sends data with its SYN, all listeners of h2 take it."""
    name = "/proc/sys/net/ipv4/tcp_fastopen"
    values = {"h1": 0x5, "h2": 0x602}
    before = {}
    for where, value in values.items():
        with host(where):
            before[where] = Path(name).read_text("ascii")
            Path(name).write_text(str(value), "ascii")
    try:
        yield
    finally:
        for where, text in before.items():
            with host(where):
                Path(name).write_text(text, "ascii")


@case
def responder_fast_open():
    """Listeners of devices do not take data with a SYN: TCP repeats it."""
    with fast_open(), responder() as app, host("h1"), \
            socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
        sock.settimeout(15)
        sock.sendto(frame(mpa.REQUEST, mpa.CRC, 1, b"early"), socket.MSG_FASTOPEN, (H2, PORT))
        asked = app.event("CONNECT_REQUEST")
        check("private data", asked.private_data, b"early")
        asked.id.accept(b"late")
        check("Reply", mpa.Peer(sock, 15).read_frame().data, b"late")


@case
def responder_revived():
    """Somebody ends the listening socket. A device that comes later has it listen again."""
    def ours(*words):
        subprocess.run(["ip", "netns", "exec", "h2", *words], check=True,
                       stdout=subprocess.DEVNULL)

    with responder("0.0.0.0") as app:
        ours("ss", "-K", "-tl", "sport", "=", f":{PORT}")
        with contextlib.suppress(ConnectionRefusedError), raw():
            raise AssertionError("it still listens")
        ours("rdma", "link", "add", "mpa9", "type", "mpa", "netdev", "lo")
        try:
            with raw() as peer:
                peer.send(frame(mpa.REQUEST, mpa.CRC, 1, b"again"))
                asked = app.event("CONNECT_REQUEST")
                check("private data", asked.private_data, b"again")
                asked.id.accept(b"here")
                check("Reply", peer.read_frame().data, b"here")
        finally:
            ours("rdma", "link", "delete", "mpa9")


@case
def responder_most_private_data():
    """The core carries 255 bytes: so many arrive, complete."""
    data = bytes(i % 251 for i in range(255))
    with responder() as app:
        for sent, seen in (
                (frame(mpa.REQUEST, mpa.CRC, 1, data), data),
                (frame(mpa.REQUEST, mpa.CRC, 2, data), data),
                (request(1, 1, data), data),
                (request(1, 1, data[:1]), data[:1])):
            with raw() as peer:
                peer.send(sent)
                asked = app.event("CONNECT_REQUEST")
                check("private data", asked.private_data, seen)
                asked.id.accept(data[:196])
                got = peer.read_frame()
                behind = 4 if got.flags & mpa.ENHANCED else 0
                check("answer", got.data[behind:], data[:196])
                app.event("ESTABLISHED")
                asked.id.destroy()


# An RDMA Write of zero length, of the RDMA Consortium's version and the IETF's.
WRITE_0, WRITE_1 = (bytes.fromhex(word) + bytes(12) for word in
                    ("c000", "c140"))


def expect_version_0(peer):
    """A wrong version ends the stream, with a Terminate of version 0."""
    terminate = peer.read_fpdu(mpa.MARKER)
    check("DDP and RDMAP control", terminate[:2], bytes.fromhex("4007"))
    check("error", terminate[18:20], bytes.fromhex("1104"))
    check("DDP header in error", terminate[24:26], bytes.fromhex("c140"))


# RDMA Consortium peers use Markers and CRCs, whatever their flags are; the bit of
# enhanced frames is a reserved one then.
FLAGS_0 = (mpa.MARKERS | mpa.CRC, mpa.CRC, 0,
           mpa.MARKERS | mpa.CRC | mpa.ENHANCED, 0x1f)


@case
def responder_revision_0():
    """RFC 5044 appendix C.2.4."""
    for flags in FLAGS_0:
        with switched("mpa2", "permissive", "on"), \
                counting("mpa2", conn_passive=1, rx_write=1, tx_terminate=1), \
                responder() as app, raw() as peer:
            peer.send(frame(mpa.REQUEST, flags, 0, b"old friend"))
            asked = app.event("CONNECT_REQUEST")
            check(f"private data, {flags:#x}", asked.private_data,
                  b"old friend")
            asked.id.accept(b"new")
            check(f"Reply to {flags:#x}", peer.read_frame(),
                  mpa.Frame(mpa.REPLY, mpa.MARKERS | mpa.CRC, 0, b"new"))
            app.event("ESTABLISHED")
            peer.send(mpa.fpdu(WRITE_0, mpa.MARKER) + mpa.fpdu(WRITE_1))
            expect_version_0(peer)
            peer.closed()
            peer.fin()
            app.event("DISCONNECTED")


@case
def responder_rejects_revision_0():
    flags = mpa.MARKERS | mpa.CRC
    with switched("mpa2", "permissive", "on"), \
            counting("mpa2", conn_rejected=1), responder() as app, \
            raw() as peer:
        peer.send(frame(mpa.REQUEST, flags, 0))
        app.event("CONNECT_REQUEST").id.reject(b"no")
        check("Reply", peer.read_frame(),
              mpa.Frame(mpa.REPLY, flags | mpa.REJECT, 0, b"no"))
        peer.closed()


@case
def responder_data_behind_request():
    """RFC 5044 section 7.1.2 rule 2: no side can send FPDUs before the Reply, so these
    bytes are not FPDUs; nor are they private data."""
    for more in (mpa.RTR_WRITE_FPDU, b"x"):
        with counting("mpa2", conn_startup_error=1, conn_passive=0,
                      conn_rejected=0, rx_write=0), \
                responder() as app, raw() as peer:
            peer.send(request(1, 1, b"x") + more)
            asked = app.event("CONNECT_REQUEST")
            check("private data", asked.private_data, b"x")
            try:
                asked.id.accept()
            except OSError as error:
                check("errno", error.errno, errno.EPROTO)
            else:
                raise AssertionError("it was accepted")
            peer.closed()
            app.silent(0.2)


def give_up(how):
    """The peer has gone by the time its Request is answered."""
    for answer in ("accept", "reject"):
        with responder() as app:
            peer = raw()
            peer.send(request(1, 1))
            asked = app.event("CONNECT_REQUEST")
            with counting("mpa2", conn_startup_error=1):
                how(peer)
            try:
                getattr(asked.id, answer)()
            except OSError as error:
                check(answer, error.errno, errno.ECONNRESET)
            else:
                raise AssertionError(f"{answer} found a peer")
            app.silent(0.5)


@case
def responder_peer_fin_before_answer():
    give_up(lambda peer: peer.sock.close())


@case
def responder_peer_reset_before_answer():
    give_up(lambda peer: peer.reset())


@case
def responder_peer_reset_established():
    with counting("mpa2", conn_reset=1), responder() as app:
        peer = raw()
        peer.send(request(1, 1))
        app.event("CONNECT_REQUEST").id.accept()
        peer.read_frame()
        app.event("ESTABLISHED")
        peer.reset()
        app.event("DISCONNECTED")
        app.silent(0.5)


@case
def responder_listener_goes():
    """The listener is destroyed with peers in every state before full operation."""
    with no_startup_timeout(), responder() as app:
        silent, seen, unseen, open_ = raw(), raw(), raw(), raw()
        open_.send(request(1, 1))
        established = app.event("CONNECT_REQUEST").id.accept()
        open_.read_frame()
        app.event("ESTABLISHED")
        seen.send(request(1, 1))
        asked = app.event("CONNECT_REQUEST")
        unseen.send(request(1, 1))
        time.sleep(0.5)
        app.ids[0].destroy()
        with within(0):
            silent.closed()
        # This one has been passed to the consumer: it can still be answered.
        asked.id.accept()
        seen.read_frame()
        app.event("ESTABLISHED", "CONNECT_REQUEST")
        established.disconnect()
        open_.closed()
        for peer in (silent, seen, unseen, open_):
            peer.sock.close()


@case
def responder_listener_churn():
    """Listeners come and go while Requests arrive: no peer is forgotten."""
    peers = []
    for _ in range(20):
        with responder():
            for _ in range(3):
                peers.append(raw(seconds=20))
                peers[-1].send(request(1, 1))
    for peer in peers:
        # A refusal, or nothing, and then the end.
        with contextlib.suppress(ConnectionResetError):
            while peer.sock.recv(100):
                pass
        peer.sock.close()


# --- as Initiator, against bytes --------------------------------------------
@case
def initiator_rev2():
    with counting("mpa1", conn_active=1, conn_fallback=0), \
            raw_listener() as listener, initiator() as (app, me):
        me.connect(H2, PORT, b"ping", ird=3, ord_=5)
        with listener.accept() as peer:
            check("Request", peer.read_frame(),
                  mpa.Frame(mpa.REQUEST, mpa.CRC | mpa.ENHANCED |
                            mpa.EXTENSIONS_ASKED, 2,
                            enhanced(ASK_IRD | 3, ASK_ORD | 5) + b"ping"))
            peer.send(reply(mpa.P2P | 4, mpa.RTR_WRITE | 3, b"pong"))
            ready = app.event("ESTABLISHED")
            check("private data", ready.private_data, b"pong")
            check("depths agreed",
                  (ready.initiator_depth, ready.responder_resources), (4, 3))
            rtr = peer.read_fpdu()
            check("RTR", (len(rtr), rtr[:2]), (14, bytes.fromhex("c140")))
            me.disconnect()
            peer.closed()
            peer.fin()
            app.event("DISCONNECTED")


@case
def initiator_read_rtr():
    """If no depth was requested, a Read as RTR still finds a free entry."""
    with raw_listener() as listener, initiator() as (app, me):
        me.connect(H2, PORT, ird=0, ord_=0)
        with listener.accept() as peer:
            check("Request", peer.read_frame().data,
                  enhanced(ASK_IRD, ASK_ORD))
            peer.send(reply(mpa.P2P | 1, mpa.RTR_READ | 0))
            app.event("ESTABLISHED")
            rtr = peer.read_fpdu()
            check("RTR", (len(rtr), rtr[:2]), (46, bytes.fromhex("4141")))


@case
def initiator_raises_ird():
    """A Responder's ORD above the IRD that we offered, but within our limits."""
    with raw_listener() as listener, initiator() as (app, me):
        me.connect(H2, PORT, ird=1, ord_=1)
        with listener.accept() as peer:
            peer.read_frame()
            peer.send(reply(mpa.P2P | 1, mpa.RTR_WRITE | 100))
            ready = app.event("ESTABLISHED")
            check("depths agreed",
                  (ready.initiator_depth, ready.responder_resources),
                  (1, 100))


@case
def initiator_rejected():
    data = bytes(range(255))
    with counting("mpa1", conn_rejected=1, conn_startup_error=0), \
            raw_listener() as listener, initiator() as (app, me):
        me.connect(H2, PORT)
        with listener.accept() as peer:
            peer.read_frame()
            peer.send(reply(mpa.P2P | 1, mpa.RTR_WRITE | 1, data,
                            mpa.CRC | mpa.REJECT | mpa.ENHANCED))
            got = app.event("REJECTED")
            check("status", got.status, -errno.ECONNREFUSED)
            # Private data that fits into the user ABI.
            check("private data", got.private_data, data)
            peer.closed()
        app.silent(0.5)


@case
def initiator_revision_0():
    """RFC 5044 appendix C.2.5: such a peer may close on a revision that it does not
    know, or answer with its own; then it gets a Request of that revision."""
    for answer, flags in ((None, FLAGS_0[0]), *((f, f) for f in FLAGS_0)):
        with switched("mpa1", "permissive", "on"), \
                counting("mpa1", conn_active=1, conn_fallback=1, rx_write=1,
                         tx_terminate=1, conn_startup_error=0), \
                raw_listener() as listener, initiator() as (app, me):
            me.connect(H2, PORT, b"hello", ird=2, ord_=2)
            with listener.accept() as peer:
                check("revision", peer.read_frame().rev, 2)
                if answer is not None:
                    peer.send(frame(mpa.REPLY, answer, 0))
                    peer.closed()
            with listener.accept() as peer:
                check("Request", peer.read_frame(),
                      mpa.Frame(mpa.REQUEST, mpa.CRC, 1, b"hello"))
                peer.send(frame(mpa.REPLY, flags, 0, b"well met"))
                ready = app.event("ESTABLISHED")
                check("private data", ready.private_data, b"well met")
                peer.send(mpa.fpdu(WRITE_0, mpa.MARKER) + mpa.fpdu(WRITE_1))
                expect_version_0(peer)
                peer.closed()
                peer.fin()
                app.event("DISCONNECTED")


@case
def initiator_of_revision_0():
    """It knows one revision only, and does not accept a Reply of revision 1."""
    flags = mpa.MARKERS | mpa.CRC
    for rev, event in ((0, "ESTABLISHED"), (1, "CONNECT_ERROR")):
        with switched("mpa1", "revision", "0"), \
                raw_listener() as listener, initiator() as (app, me):
            me.connect(H2, PORT, b"me")
            with listener.accept() as peer:
                check("Request", peer.read_frame(),
                      mpa.Frame(mpa.REQUEST, flags, 0, b"me"))
                peer.send(frame(mpa.REPLY, flags, rev))
                app.event(event)


@case
def initiator_reset_behind_reply():
    """The peer has gone before the Terminate for its Reply is sent."""
    for _ in range(10):
        with raw_listener() as listener, initiator() as (app, me):
            me.connect(H2, PORT)
            with listener.accept() as peer:
                peer.read_frame()
                # An ORD above any limit of ours.
                peer.send(reply(mpa.P2P | 1, mpa.RTR_WRITE | 1000))
                peer.reset()
                # A peer that does not close has five seconds.
                with within(0, 4):
                    app.event("CONNECT_ERROR")


@case
def initiator_peer_vanishes():
    """Nothing listens any more when it falls back."""
    with raw_listener() as listener, initiator() as (app, me):
        me.connect(H2, PORT)
        with listener.accept() as peer:
            peer.read_frame()
            listener.sock.close()
        check("status", app.event("REJECTED").status, -errno.ECONNREFUSED)
        app.silent(0.5)


def establish(app, peer):
    peer.read_frame()
    peer.send(reply(mpa.P2P | 1, mpa.RTR_WRITE | 1))
    app.event("ESTABLISHED")
    peer.read_fpdu()


@case
def initiator_port_in_use():
    """TCP is still ending a connection from a port that the core gives once more."""
    with host("h1"):
        old = RANGE.read_text(encoding="ascii")
        RANGE.write_text("40000 40003", encoding="ascii")
    try:
        with raw_listener() as listener:
            with initiator() as (app, me):
                me.connect(H2, PORT)
                lingering = listener.accept()
                establish(app, lingering)
            with lingering:
                for _ in range(20):
                    with initiator() as (app, me):
                        me.connect(H2, PORT)
                        with listener.accept() as peer:
                            establish(app, peer)
                            # Leaves no port that is in use.
                            peer.reset()
                            app.event("DISCONNECTED")
    finally:
        with host("h1"):
            RANGE.write_text(old, encoding="ascii")


@case
def initiator_user():
    """Routes are those of the user who connects, also for falling back: root has none."""
    rule = f"uidrange 0-0 to {H2} prohibit"
    # There is no udev here.
    for node in Path("/dev/infiniband").iterdir():
        node.chmod(0o666)
    with Party("h1", other_user) as user, raw_listener() as listener:
        user.ask("make", H2, PORT)
        ip(f"-n h1 rule add {rule}")
        try:
            user.tell("connect")
            for rev in (2, 1):
                with listener.accept() as peer:
                    check("revision", peer.read_frame().rev, rev)
                    if rev == 1:
                        peer.send(frame(mpa.REPLY, mpa.CRC, 1))
                        check("outcome", user.result(), "ESTABLISHED")
        finally:
            ip(f"-n h1 rule del {rule}")


@case
def initiator_fault_after_start():
    """A bad CRC: Terminate, and CLOSE once."""
    with counting("mpa1", rx_crc_error=1, tx_terminate=1), \
            raw_listener() as listener, initiator() as (app, me):
        me.connect(H2, PORT)
        with listener.accept() as peer:
            peer.read_frame()
            peer.send(reply(mpa.P2P | 1, mpa.RTR_WRITE | 1))
            app.event("ESTABLISHED")
            peer.read_fpdu()
            bad = bytearray(mpa.RTR_WRITE_FPDU)
            bad[-1] ^= 1
            peer.send(bytes(bad))
            check("Terminate", peer.read_fpdu()[18:20],
                  bytes.fromhex("2002"))
            # The FIN arrives on its own, and nothing we still send is answered with a
            # RST.
            peer.closed()
            peer.send(bytes(10000))
            peer.fin()
            app.event("DISCONNECTED")
            app.silent(0.5)


@case
def initiator_no_route_back():
    """Connecting does not block, and can be cancelled."""
    with initiator() as (app, me):
        me.resolve(H2, PORT)
        ip("-n h2 link set eth0 down")
        # Without it, the first attempt ends when the address has not been found for a moment.
        ip(f"-n h1 neigh replace {H2} lladdr {NOWHERE} dev eth0 nud permanent")
        try:
            with within(0):
                me.request()
            app.silent(1)
            # Destroying the QP ends the attempt, in any state of TCP; else it lasts 20 s.
            with within(0, 15):
                me.destroy_qp()
                app.event("CONNECT_ERROR", "UNREACHABLE", "REJECTED")
        finally:
            ip(f"-n h1 neigh del {H2} dev eth0")
            ip("-n h2 link set eth0 up")
            ip("-n h2 addr replace fd77::2/64 dev eth0 nodad")


@case
def initiator_killed():
    """A process is killed while it connects to a peer that does not answer."""
    with configured("h1", "reply-timeout", "10min"), raw_listener() as listener:
        child = os.fork()
        if not child:
            with initiator() as (app, me):
                me.connect(H2, PORT)
                app.event("ESTABLISHED", seconds=120)
            os._exit(1)
        with listener.accept() as peer:
            peer.read_frame()
            os.kill(child, signal.SIGKILL)
            with within(0):
                os.waitpid(child, 0)
                peer.closed()


# --- both sides mpa ---------------------------------------------------------
def meet(server, address, client, port=PORT, source=None):
    """A connection from the host @client to @server's address."""
    with initiator(client) as (app, me):
        with host(client):
            me.connect(address, port, b"there", ird=7, ord_=9, source=source)
        asked = server.event("CONNECT_REQUEST")
        check("private data there", asked.private_data, b"there")
        asked.id.accept(b"and back", ird=9, ord_=7)
        ready = app.event("ESTABLISHED")
        check("private data back", ready.private_data, b"and back")
        check("depths", (ready.initiator_depth, ready.responder_resources),
              (9, 7))
        server.event("ESTABLISHED")
        me.disconnect()
        app.event("DISCONNECTED")
        server.event("DISCONNECTED")
        asked.id.destroy()


@case
def both_ipv4():
    with responder() as server:
        meet(server, H2, "h1")


@case
def both_ipv6():
    with responder("fd77::2") as server:
        meet(server, "fd77::2", "h1")


@case
def both_ipv4_wildcard():
    with responder("0.0.0.0") as server:
        meet(server, H2, "h1")


@case
def both_ipv6_wildcard():
    """It accepts IPv4, too."""
    with responder("::") as server:
        meet(server, "fd77::2", "h1")
        meet(server, H2, "h1")


@case
def both_own_address():
    """Over lo, to the device that has the address."""
    with counting("mpa2", conn_active=2, conn_passive=2), \
            responder("0.0.0.0") as server:
        meet(server, H2, "h2")
        meet(server, H2, "h2", source=H2)


@case
def both_namespaces_wildcard():
    """Each gets only its own peers, on one port."""
    with responder("0.0.0.0", where="h1") as one, \
            responder("0.0.0.0", where="h2") as two:
        meet(two, H2, "h1")
        one.silent(0.2)
        meet(one, H1, "h2")
        two.silent(0.2)


@case
def both_foreign_wildcard():
    """A listener of the initial namespace does not serve a host's namespace."""
    with Channel() as channel:
        channel.id().listen("0.0.0.0", PORT)
        for where in ("h1", "h2"):
            try:
                raw(H2, where=where).sock.close()
            except ConnectionRefusedError:
                continue
            raise AssertionError(f"somebody listens in h2, seen by {where}")
        channel.silent(0.2)


@contextlib.contextmanager
def fails(what, number):
    """The block ends with this error."""
    try:
        yield
    except OSError as error:
        check(what, error.errno, number)
    else:
        raise AssertionError(f"{what}: no error")


@case
def both_address_in_use():
    """Listeners of TCP and of mpa exclude each other."""
    with raw_listener("0.0.0.0"):
        for address in ("0.0.0.0", H2):
            with fails(address, errno.EADDRINUSE), responder(address):
                pass
    with responder("0.0.0.0"):
        with fails("TCP", errno.EADDRINUSE), raw_listener("0.0.0.0"):
            pass
    # And a closed listener has released the address.
    with raw_listener("0.0.0.0"):
        pass


@case
def both_datagrams():
    """Listeners for datagrams have nothing to do with ports of TCP, nor with this device."""
    with host("h2"), Channel() as channel:
        channel.id(PS_UDP).listen("0.0.0.0", PORT)
        with fails("TCP", errno.ECONNREFUSED):
            raw(H2).sock.close()
        with responder("0.0.0.0") as server:
            meet(server, H2, "h1")
        with fails("at the device", errno.EOPNOTSUPP):
            channel.id(PS_UDP).listen(H2, PORT + 1)


@case
def both_new_device_beside_tcp():
    """rdma_cm uses a new device also if one of its listeners has no port there."""
    ip("netns add h3")
    with contextlib.ExitStack() as stack:
        stack.callback(ip, "netns del h3")
        ip("-n h3 link set lo up")
        ip("-n h3 link add v0 type veth peer name v1")
        ip("-n h3 addr add 10.79.0.1/24 dev v0")
        ip("-n h3 link set v0 up")
        ip("-n h3 link set v1 up")
        stack.enter_context(raw_listener("0.0.0.0", where="h3"))
        # Without a device, it is one of rdma_cm only.
        stack.enter_context(responder("0.0.0.0", where="h3"))
        ip("netns exec h3 rdma link add mpa9 type mpa netdev v0")
        stack.callback(ip, "netns exec h3 rdma link delete mpa9")
        with responder("10.79.0.1", PORT + 1, where="h3") as server:
            meet(server, "10.79.0.1", "h3", port=PORT + 1)


@case
def both_port_of_a_connection():
    """A port that TCP has chosen for a connection is free for a listener, and only then."""
    with raw_listener("0.0.0.0", PORT + 1) as there, \
            raw(H2, PORT + 1, where="h2") as connected:
        own = connected.sock.getsockname()[1]
        with responder("0.0.0.0", own) as server:
            meet(server, H2, "h1", port=own)
            with fails("TCP", errno.EADDRINUSE), raw_listener("127.0.0.1", own):
                pass
        with there.accept() as far:
            far.send(b"still here")
            check("of the connection", connected.sock.recv(20), b"still here")
    # One in TIME_WAIT, as which most of them end.
    with raw_listener("0.0.0.0", PORT + 1) as there:
        connected = raw(H2, PORT + 1, where="h2")
        own = connected.sock.getsockname()[1]
        with there.accept() as far:
            connected.sock.close()
            far.closed()
        with responder(port=own) as server:
            meet(server, H2, "h1", port=own)
    # A port that a program has bound is not: it may listen later.
    with host("h2"), socket.socket() as bound:
        bound.bind((H2, 0))
        with fails("bound", errno.EADDRINUSE), responder(port=bound.getsockname()[1]):
            pass


@case
def both_rejected():
    with responder() as server, initiator() as (app, me):
        me.connect(H2, PORT)
        server.event("CONNECT_REQUEST").id.reject(b"busy")
        got = app.event("REJECTED")
        check("answer", (got.status, got.private_data),
              (-errno.ECONNREFUSED, b"busy"))


@case
def both_unanswered():
    """The consumer closes the request without an answer."""
    with responder() as server, initiator() as (app, me):
        me.connect(H2, PORT)
        server.event("CONNECT_REQUEST").id.destroy()
        check("status", app.event("REJECTED").status, -errno.ECONNREFUSED)


@case
def both_backlog():
    """More Requests than the consumer's backlog are refused, the others are served."""
    with responder(backlog=2) as server, contextlib.ExitStack() as stack:
        sides = [stack.enter_context(initiator()) for _ in range(6)]
        for _, me in sides:
            me.connect(H2, PORT)
        time.sleep(1)
        served = 0
        while server.has_event(2):
            event = server.event()
            if event.name == "CONNECT_REQUEST":
                event.id.accept()
                served += 1
        names = [app.event("ESTABLISHED", "REJECTED").name
                 for app, _ in sides]
        check("served", names.count("ESTABLISHED"), served)
        if served < 2:
            raise AssertionError(f"only {served} were served")


# --- two devices in one namespace --------------------------------------------
@case
def pair_wildcard():
    """One listener serves both, and each counts its own."""
    with counting("mpa2", conn_passive=1), counting("mpa3", conn_passive=2), \
            responder("0.0.0.0") as server:
        meet(server, H2, "h1")
        meet(server, "10.78.0.2", "h1")
        # Over lo, from the neighbour's address.
        with raw("10.78.0.2", where="h2", source=H2) as peer:
            peer.send(request(1, 1))
            server.event("CONNECT_REQUEST").id.accept()
            peer.read_frame()
            server.event("ESTABLISHED")


@case
def pair_wildcard_ipv6():
    with counting("mpa2", conn_passive=1), counting("mpa3", conn_passive=1), \
            responder("::") as server:
        meet(server, "fd77::2", "h1")
        meet(server, "fd78::2", "h1")


@case
def pair_specific():
    """One address each, one port: two listeners."""
    with responder(H2) as one, responder("10.78.0.2") as two:
        meet(one, H2, "h1")
        meet(two, "10.78.0.2", "h1")


@case
def pair_unused_address():
    """A local address without a device: refused at once."""
    with responder("0.0.0.0") as server:
        turned_away_at_once("127.0.0.1", "h2")
        server.silent(0.2)


@case
def pair_one_goes():
    """The other device continues to listen on the shared port."""
    with responder("0.0.0.0") as server:
        meet(server, "10.78.0.2", "h1")
        subprocess.run(["rdma", "link", "delete", "mpa3"], check=True)
        meet(server, H2, "h1")
        turned_away_at_once("10.78.0.2")
        with host("h2"):
            subprocess.run(["rdma", "link", "add", "mpa3", "type", "mpa",
                            "netdev", "eth1"], check=True)
        deadline = time.monotonic() + 10
        while "ACTIVE" not in subprocess.run(
                ["rdma", "link", "show", "mpa3/1"], check=True,
                capture_output=True, text=True).stdout:
            assert time.monotonic() < deadline
        # A new device serves the listeners that the core already has.
        meet(server, "10.78.0.2", "h1")


# --- removal of devices ------------------------------------------------------
@contextlib.contextmanager
def moved(netdev, before, after, address):
    """The network device is moved to another namespace."""
    def move(where, there):
        ip(f"-n {where} link set {netdev} netns {there}")
        ip(f"-n {there} addr add {address} dev {netdev}")
        ip(f"-n {there} link set {netdev} up")
        reachable(address.split("/")[0])

    move(before, after)
    try:
        yield
    finally:
        move(after, before)


@case
def gone_netdev_moves():
    """Connections do not survive the move; listeners serve in their own namespace."""
    ip("netns add h3")
    with contextlib.ExitStack() as stack:
        stack.callback(ip, "netns del h3")
        here = stack.enter_context(responder("0.0.0.0"))
        there = stack.enter_context(responder("0.0.0.0", where="h3"))
        peer = stack.enter_context(raw("10.78.0.2"))
        peer.send(request(1, 1))
        here.event("CONNECT_REQUEST").id.accept()
        peer.read_frame()
        here.event("ESTABLISHED")
        with moved("eth1", "h2", "h3", "10.78.0.2/24"):
            here.event("DISCONNECTED")
            with raw("10.78.0.2") as late:
                late.send(request(1, 1))
                there.event("CONNECT_REQUEST").id.reject()
                late.read_frame()
            here.silent(0.2)
        with raw("10.78.0.2") as late:
            late.send(request(1, 1))
            here.event("CONNECT_REQUEST").id.reject()
            late.read_frame()
        there.silent(0.2)


@case
def gone_device():
    """Deleted with peers in every state; no side waits, and all are notified."""
    with no_startup_timeout(), configured("h2", "reply-timeout", "10min"), \
            responder("0.0.0.0") as server, raw_listener(H1, where="h1") as old:
        silent, asking, ready = raw(), raw(), raw()
        asking.send(request(1, 1))
        asked = server.event("CONNECT_REQUEST")
        ready.send(request(1, 1))
        server.event("CONNECT_REQUEST").id.accept()
        ready.read_frame()
        server.event("ESTABLISHED")
        with initiator("h2") as (app, me):
            with host("h2"):
                me.connect(H1, PORT)
            with old.accept() as peer:
                peer.read_frame()
                # The consumer has a minute to answer the one that asks.
                with within(0, 40):
                    subprocess.run(["rdma", "link", "delete", "mpa2"],
                                   check=True)
                for each in (silent, asking, ready, peer):
                    each.closed()
                app.event("CONNECT_ERROR", "DEVICE_REMOVAL")
                # The RDMA core reports no disconnection after the removal.
                if server.event("DEVICE_REMOVAL",
                                "DISCONNECTED").name == "DISCONNECTED":
                    server.event("DEVICE_REMOVAL")
                del asked


if __name__ == "__main__":
    sys.exit(main(sys.argv, __doc__))
