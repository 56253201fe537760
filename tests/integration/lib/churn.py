#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""MPA sockets that are connected and closed, one after the other.

    churn.py listen  ADDRESS PORT COUNT
    churn.py connect ADDRESS PORT COUNT
    churn.py keep    ADDRESS PORT COUNT

Each sends a ULPDU and gets it back, and then ends: in order or by a reset, on either side.
"keep" has one process for its connections, which stay open until it is killed: a leak for
those to find that search for one.
"""

import signal
import socket
import struct
import sys
from concurrent.futures import ThreadPoolExecutor

import mpasock as mpa

RESET = struct.pack("ii", 1, 0)


def ends_first(number, client):
    return bool(number & 1) == client


def resets_first(number, client):
    return ends_first(number, client) and bool(number & 2)


def finish(sock, number, client):
    """The side that is to end first does so; the other waits for that."""
    if not ends_first(number, client):
        try:
            sock.recv(16)
        except ConnectionResetError:
            pass
    elif resets_first(number, client):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    sock.close()


def listener_of(address):
    listener = mpa.attach(socket.create_server(address, backlog=64), mpa.F_AUTO_ACCEPT)
    mpa.start(listener, mpa.RESPONDER)
    # Who connects before that gets a socket without MPA.
    print("ready", flush=True)
    return listener


def listen(address, count):
    with listener_of(address) as listener:
        for number in range(count):
            sock, _ = listener.accept()
            data = sock.recv(64)
            sock.send(data)
            finish(sock, number, False)


def connect(address, count):
    for number in range(count):
        sock = mpa.attach(socket.create_connection(address))
        mpa.start(sock, mpa.INITIATOR)
        data = b"number %d" % number
        sock.send(data)
        try:
            if sock.recv(64) != data:
                sys.exit(f"connection {number}: other data")
        except ConnectionResetError:
            # A reset discards what is on its way.
            if not resets_first(number, False):
                sys.exit(f"connection {number}: reset")
        finish(sock, number, True)


def keep(address, count):
    """Both ends of them, open. A connection starts when the other end accepts it."""
    kept = []
    with listener_of(address) as listener:
        for _ in range(count):
            with ThreadPoolExecutor(1) as other:
                accepted = other.submit(listener.accept)
                sock = mpa.attach(socket.create_connection(address))
                mpa.start(sock, mpa.INITIATOR)
                kept += [sock, accepted.result()[0]]
            sock.send(b"kept")
            kept[-1].recv(64)
    print("kept", flush=True)
    signal.pause()


def main():
    role, host, port, count = sys.argv[1:5]
    address = (host, int(port))
    {"listen": listen, "connect": connect, "keep": keep}[role](address, int(count))
    print(f"all {count}", flush=True)


main()
