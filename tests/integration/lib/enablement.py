#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""An end that uses MPA while the other one does not, and plain clients of services.

    enablement.py client bare|request|key HOST PORT [dns]
                                                       MPA towards a service
    enablement.py next SERVICE HOST PORT               a client that the service expects
    enablement.py responder PORT                       MPA towards clients; until killed
    enablement.py hello HOST PORT TEXT                 a client that sends this, and waits
    enablement.py speaker PORT TEXT                    a service that answers with this

`client` prints what became of it. bare is MPA without a startup exchange, as the analysis
of 2003 assumes it: a Marker of zeros and an FPDU; there it is this program that looks at
the answer. request and key are MPA sockets. `next` fails if the service is not well.
"""

import errno
import signal
import socket
import ssl
import struct
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import mpaframe as frame  # noqa: E402
import mpasock as mpa  # noqa: E402

FRAMES, START_KEY = 0, 1
PARAMS = struct.Struct("=IBBHHHIBB2x")
# How long an end with MPA waits for a byte, and a plain client: some services are scripts,
# which take seconds to begin on a busy machine.
PATIENCE, PATIENCE_OF_CLIENTS = 4, 30
ULPDU = b"GET / HTTP/1.0"
# Of the address of lab.test.
QUERY = bytes.fromhex("4d5001000001000000000000036c616204746573740000010001")
# Seconds from 1900 to 1970.
EPOCH = 2208988800


def attach(sock, startup, flags=0):
    sock.setsockopt(socket.IPPROTO_TCP, mpa.TCP_ULP, b"mpa")
    sock.setsockopt(mpa.SOL_MPA, mpa.SO_PARAMS,
                    PARAMS.pack(flags, mpa.REV_AUTO, 0, 0, 0, 0, 0, 0, startup))


def name_of(error):
    return errno.errorcode.get(error.errno, str(error))


def mpa_client(host, port, startup, ulpdu):
    with socket.create_connection((host, port), timeout=PATIENCE) as sock:
        sock.settimeout(None)
        try:
            attach(sock, startup)
            mpa.start(sock, mpa.INITIATOR)
            sock.send(ulpdu)
            return f"operates, receives {sock.recv(4096)!r}"
        except OSError as error:
            return name_of(error)


def read(sock, count):
    data = b""
    while len(data) < count:
        more = sock.recv(count - len(data))
        if not more:
            break
        data += more
    return data


def bare_client(host, port, ulpdu):
    with socket.create_connection((host, port), timeout=PATIENCE) as sock:
        sent = frame.fpdu(ulpdu, frame.MARKER)
        try:
            sock.sendall(sent)
            data = read(sock, 4)
            if len(data) == 4 and data == frame.MARKER:
                data += read(sock, len(sent) - 4)
                return "good FPDUs" if data == sent else f"bad FPDU {data.hex()}"
            return "bad Marker" if data else "closed"
        except TimeoutError:
            return "silence"
        except OSError as error:
            return name_of(error)


def client(first, host, port, kind=""):
    port, ulpdu = int(port), QUERY if kind == "dns" else ULPDU
    if first == "bare":
        print(bare_client(host, port, ulpdu))
    else:
        print(mpa_client(host, port, START_KEY if first == "key" else FRAMES, ulpdu))


# --- clients that services expect -------------------------------------------------


def dialogue(sock, words, wanted):
    """Sends words; the answer begins with what is wanted."""
    if words:
        sock.sendall(words)
    data = read(sock, len(wanted))
    if data != wanted:
        raise ValueError(f"{data!r}, not {wanted!r}")
    return data


def next_echo(sock):
    dialogue(sock, b"hello", b"hello")


def next_discard(sock):
    sock.sendall(b"hello" * 1000)
    sock.shutdown(socket.SHUT_WR)
    dialogue(sock, b"", b"")


def next_chargen(sock):
    data = read(sock, 74 * 3)
    if len(data) != 74 * 3 or data[72:74] != b"\r\n":
        raise ValueError(repr(data))


def next_daytime(sock):
    data = sock.recv(100)
    if time.strftime("%Y", time.gmtime()).encode() not in data:
        raise ValueError(repr(data))


def next_time(sock):
    value = struct.unpack(">I", read(sock, 4))[0] - EPOCH
    if abs(value - time.time()) > 5:
        raise ValueError(f"{value}, not {time.time()}")


def next_http(sock):
    sock.sendall(b"GET / HTTP/1.0\r\n\r\n")
    if not sock.recv(100).startswith(b"HTTP/1.1 "):
        raise ValueError("no answer")


def next_dns(sock):
    sock.sendall(struct.pack(">H", len(QUERY)) + QUERY)
    answer = sock.recv(500)
    if answer[2:4] != b"MP" or bytes((192, 0, 2, 7)) not in answer:
        raise ValueError(answer.hex())


def next_tls(sock):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with context.wrap_socket(sock) as stream:
        if not stream.version():
            raise ValueError("no TLS")


def next_iscsi(sock):
    names = b"InitiatorName=iqn.2026-11.test:h1\0SessionType=Discovery\0AuthMethod=None\0"
    head = bytes((0x43, 0x87, 0, 0, 0)) + len(names).to_bytes(3, "big") + bytes(40)
    sock.sendall(head + names + bytes(-len(names) % 4))
    answer = read(sock, 48)
    # A Login Response; what the target thinks of the names does not matter.
    if len(answer) != 48 or answer[0] & 0x3f != 0x23:
        raise ValueError(answer.hex())


def next_socks(sock):
    dialogue(sock, b"\x05\x01\x00", b"\x05\x00")


def next_bgp(sock):
    dialogue(sock, b"", b"\xff" * 16)


def next_finger(sock):
    sock.sendall(b"\r\n")
    if not sock.recv(100):
        raise ValueError("no answer")


def next_quote(sock):
    if not sock.recv(100):
        raise ValueError("no quote")


def next_whois(sock):
    dialogue(sock, b"lab.invalid\r\n", b"Process query: 'lab.invalid'")


def next_sip(sock):
    lines = ("OPTIONS sip:b@lab.test SIP/2.0", "Max-Forwards: 9",
             "Via: SIP/2.0/TCP 10.77.0.1:5060;branch=z9hG4bK1", "CSeq: 1 OPTIONS",
             "From: <sip:a@lab.test>;tag=1", "To: <sip:b@lab.test>", "Call-ID: 1",
             "Content-Length: 0", "", "")
    dialogue(sock, "\r\n".join(lines).encode(), b"SIP/2.0 200 OK")


def next_ldap(sock):
    # An anonymous bind, and its success.
    dialogue(sock, bytes.fromhex("300c020101600702010304008000"),
             bytes.fromhex("300c02010161070a010004000400"))


def banner(text):
    return lambda sock: dialogue(sock, b"", text)


NEXT = {
    "echo": next_echo, "discard": next_discard, "chargen": next_chargen,
    "daytime": next_daytime, "time": next_time, "http": next_http, "dns": next_dns,
    "tls": next_tls, "iscsi": next_iscsi, "socks": next_socks, "bgp": next_bgp,
    "finger": next_finger, "ssh": banner(b"SSH-2.0-"), "ftp": banner(b"220 "),
    "smtp": banner(b"220 "), "pop3": banner(b"+OK"), "imap": banner(b"* OK"),
    "nntp": banner(b"20"), "quote": next_quote, "whois": next_whois, "sip": next_sip,
    "ldap": next_ldap,
}


def next_client(service, host, port):
    with socket.create_connection((host, int(port)), timeout=PATIENCE_OF_CLIENTS) as sock:
        NEXT[service](sock)


# --- the other half ---------------------------------------------------------------


def responder(port):
    """Prints what became of each connection."""
    with socket.create_server(("", int(port))) as listener:
        while True:
            sock, _ = listener.accept()
            with sock:
                try:
                    attach(sock, FRAMES, mpa.F_AUTO_ACCEPT)
                    mpa.start(sock, mpa.RESPONDER)
                    print("operates", flush=True)
                except OSError as error:
                    print(name_of(error), flush=True)


def hello(host, port, text):
    """What comes back until the other end closes."""
    with socket.create_connection((host, int(port)), timeout=60) as sock:
        data = b""
        try:
            sock.sendall(bytes.fromhex(text))
            while more := sock.recv(4096):
                data += more
            print(f"closed, {len(data)} bytes came")
        except OSError as error:
            print(f"{name_of(error)}, {len(data)} bytes came")


def speaker(port, text):
    """What it sends comes behind a Request, as late as a Reply."""
    with socket.create_server(("", int(port))) as listener:
        while True:
            sock, _ = listener.accept()
            with sock:
                answer = bytes.fromhex(text)
                while sock.recv(4096):
                    sock.sendall(answer)
                    answer = b""


def main():
    calls = {"client": client, "next": next_client, "responder": responder,
             "hello": hello, "speaker": speaker}
    if len(sys.argv) < 2 or sys.argv[1] not in calls:
        sys.exit(__doc__)
    signal.alarm(120 if sys.argv[1] in ("client", "next", "hello") else 0)
    try:
        calls[sys.argv[1]](*sys.argv[2:])
    except (OSError, ValueError) as reason:
        sys.exit(f"enablement.py: {reason}")


if __name__ == "__main__":
    main()
