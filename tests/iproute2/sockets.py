#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Sockets with MPA and framing, in every state that ss is to show, until they are killed.

    sockets.py

The connections are within one network namespace; the port of the listening end says what
a connection is for.
"""

import signal
import socket
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration" / "lib"))
import mpasock as mpa  # noqa: E402
from tuf import (EMERGENCY, LEVEL, MODE, RECV_INTERVAL, RECV_KEY, SEND_INTERVAL,  # noqa: E402
                 SEND_KEY)

ADDRESS = "127.0.0.1"
ULP = b"mpa"
SEND_ALIGN, SEND_MARKERS, RECV_ALIGN, RECV_MARKERS = 2, 4, 0x10, 0x20


def pair(port):
    with socket.create_server((ADDRESS, port)) as listener:
        near = socket.create_connection((ADDRESS, port))
        return near, listener.accept()[0]


def attach(*ends):
    for end in ends:
        end.setsockopt(LEVEL, mpa.TCP_ULP, ULP)


def begin(end, role):
    """Starts without waiting for the peer."""
    end.setblocking(False)
    try:
        mpa.start(end, role)
    except BlockingIOError:
        pass
    end.setblocking(True)


def operational(port):
    """The Responder asks for Markers."""
    with socket.create_server((ADDRESS, port)) as listener:
        mpa.attach(listener, mpa.F_AUTO_ACCEPT | mpa.F_MARKERS)
        mpa.start(listener, mpa.RESPONDER)
        near = mpa.attach(socket.create_connection((ADDRESS, port)))
        begin(near, mpa.INITIATOR)
        # The Reply comes once it is accepted.
        far = listener.accept()[0]
    while mpa.info(near)[0] != mpa.STATE_OPERATIONAL:
        time.sleep(0.01)
    for _ in range(3):
        near.send(b"from the Initiator")
        far.recv(100)
    far.send(b"from the Responder")
    near.recv(100)
    return near, far


def waiting(port):
    """A Responder without a Request."""
    near, far = pair(port)
    attach(far)
    begin(far, mpa.RESPONDER)
    return near, far


def streaming(port):
    near, far = pair(port)
    attach(near)
    return near, far


def aligned(port):
    """Aligned one way, a stream the other."""
    near, far = pair(port)
    attach(near, far)
    near.setsockopt(LEVEL, EMERGENCY, 1)
    far.setsockopt(LEVEL, RECV_KEY, near.getsockopt(LEVEL, SEND_KEY, 6))
    far.setsockopt(LEVEL, MODE, RECV_ALIGN)
    near.setsockopt(LEVEL, MODE, SEND_ALIGN)
    near.setsockopt(LEVEL, socket.TCP_NODELAY, 1)
    for _ in range(2):
        near.send(b"a PDU")
        far.recv(100)
    return near, far


def marked(port):
    """Markers both ways, at different intervals."""
    near, far = pair(port)
    attach(near, far)
    for end, send, receive in (near, 512, 4096), (far, 4096, 512):
        end.setsockopt(LEVEL, SEND_INTERVAL, send)
        end.setsockopt(LEVEL, RECV_INTERVAL, receive)
        end.setsockopt(LEVEL, MODE, SEND_MARKERS | RECV_MARKERS)
    return near, far


def main():
    kept = [operational(7001), waiting(7002), streaming(7003), aligned(7004), marked(7005)]
    listener = socket.create_server((ADDRESS, 7006))
    mpa.attach(listener, mpa.F_AUTO_ACCEPT)
    mpa.start(listener, mpa.RESPONDER)
    kept.append(listener)
    print("ready", flush=True)
    signal.pause()


if __name__ == "__main__":
    main()
