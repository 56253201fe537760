#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""TCP services for `mpactl probe` to identify.

    services.py ADDRESS PORT KIND

Each connection is served according to KIND; unless the service ends it,
everything the client sends is read.
"""

import socket
import struct
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import mpaframe as mpa  # noqa: E402


def request(sock):
    """The whole Request; None if the client ends before."""
    data = b""
    while len(data) < 20 or len(data) < 20 + struct.unpack(">H", data[18:20])[0]:
        more = sock.recv(4096)
        if not more:
            return None
        data += more
    return data


def drain(sock):
    count = 0
    while data := sock.recv(65536):
        count += len(data)
    # The test checks this line: nothing but the Request has arrived.
    print(f"ended after {count} more bytes", flush=True)


def answer(sock, rev, flags=mpa.CRC, data=b"", slowly=False):
    data = mpa.frame(mpa.REPLY, flags, rev, data)
    step = 1 if slowly else len(data)
    for at in range(0, len(data), step):
        sock.sendall(data[at:at + step])
        if slowly:
            time.sleep(0.01)
    drain(sock)


def only(rev, flags=mpa.CRC, data=b"", **options):
    """Knows one revision, and closes when it sees another one."""
    def serve(sock):
        asked = request(sock)
        if asked and asked[17] == rev:
            answer(sock, rev, flags, data, **options)
    return serve


def echo(sock):
    while data := sock.recv(4096):
        sock.sendall(data)


def banner(text):
    def serve(sock):
        sock.sendall(text)
        drain(sock)
    return serve


def reset(sock):
    request(sock)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


ENHANCED = mpa.enhanced(mpa.P2P | mpa.RTR_SEND | 5, mpa.RTR_WRITE | 6)
KINDS = {
    "rev0": only(0, mpa.MARKERS | mpa.CRC),
    "rev1": only(1, mpa.MARKERS, b"hello"),
    "rev2": only(2, mpa.CRC | mpa.ENHANCED, ENHANCED),
    "slow": only(2, mpa.CRC | mpa.ENHANCED, ENHANCED, slowly=True),
    "reject": only(2, mpa.REJECT | mpa.ENHANCED, ENHANCED + b"no"),
    "echo": echo,
    "ssh": banner(b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n"),
    "http": banner(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"),
    "tls": banner(bytes.fromhex("15030300020246")),
    "silent": drain,
    "close": request,
    "reset": reset,
}


def serve(sock, kind):
    with sock:
        try:
            KINDS[kind](sock)
        except ConnectionError as error:
            print(f"error: {error}", flush=True)


def main():
    address, port, kind = sys.argv[1:]
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.create_server((address, int(port)), family=family) as listener:
        while True:
            sock, _ = listener.accept()
            threading.Thread(target=serve, args=(sock, kind), daemon=True).start()


main()
