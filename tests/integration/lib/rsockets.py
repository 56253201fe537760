#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""rsockets: blocks that a server sends back, and that are compared.

    rsockets.py listen  ADDRESS PORT
    rsockets.py connect ADDRESS PORT SECONDS [FILE]

The client ends earlier if there is that file. rstream, of rdma-core, would do if it noticed that
its peer has gone: it calls rrecv() again and again, which returns 0, for errno is still EAGAIN.

rrecv() passes over receives that were flushed, and an end of the connection wakes only rpoll(),
and only where raccept() has made the socket (rdma-core 44). So both wait in rpoll(), and for a
limited time: a peer that was killed would leave them waiting without an end.
"""

import ctypes
import os
import select
import signal
import socket
import struct
import sys
import time

PR_SET_NAME = 15
SOL_SOCKET, SO_REUSEADDR = socket.SOL_SOCKET, socket.SO_REUSEADDR
BLOCK = 4096
# Seconds.
PATIENCE = 45
PATTERN = bytes((n * 11 + (n >> 8)) & 255 for n in range(BLOCK + 256))

library = ctypes.CDLL("librdmacm.so.1", use_errno=True)


def call(name, *arguments):
    """A function of librdmacm that returns -1 on error."""
    done = getattr(library, name)(*arguments)
    if done < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{name}: {os.strerror(error)}")
    return done


class PollFd(ctypes.Structure):
    _fields_ = [("fd", ctypes.c_int), ("events", ctypes.c_short), ("revents", ctypes.c_short)]


def wait_for(sock, events):
    """Until one of them is there, or the end of the connection. Killed after PATIENCE: a limit of
    rpoll() itself makes the next one run without an end."""
    waiting = PollFd(sock, events, 0)
    signal.alarm(PATIENCE)
    call("rpoll", ctypes.byref(waiting), ctypes.c_ulong(1), -1)
    signal.alarm(0)


def address_of(host, port):
    return struct.pack("=H", socket.AF_INET) + struct.pack(">H", int(port)) + \
        socket.inet_aton(host) + bytes(8)


def send(sock, data):
    while data:
        wait_for(sock, select.POLLOUT)
        data = data[call("rsend", sock, data, len(data), 0):]


def receive(sock, length):
    """That many bytes; fewer if the peer has ended."""
    data = b""
    buffer = ctypes.create_string_buffer(length)
    while len(data) < length:
        wait_for(sock, select.POLLIN)
        got = call("rrecv", sock, buffer, length - len(data), 0)
        if not got:
            break
        data += buffer.raw[:got]
    return data


def listen(address):
    listener = call("rsocket", socket.AF_INET, socket.SOCK_STREAM, 0)
    one = ctypes.c_int(1)
    call("rsetsockopt", listener, SOL_SOCKET, SO_REUSEADDR, ctypes.byref(one), 4)
    call("rbind", listener, address, len(address))
    call("rlisten", listener, 1)
    sock = call("raccept", listener, None, None)
    while data := receive(sock, BLOCK):
        if len(data) < BLOCK:
            sys.exit("a part of a block has come")
        send(sock, data)
    call("rclose", sock)
    call("rclose", listener)


def connect(address, seconds, enough):
    sock = call("rsocket", socket.AF_INET, socket.SOCK_STREAM, 0)
    call("rconnect", sock, address, len(address))
    ends = time.monotonic() + float(seconds)
    number = 0
    while time.monotonic() < ends and not os.path.exists(enough):
        data = PATTERN[number % 256:][:BLOCK]
        send(sock, data)
        if receive(sock, BLOCK) != data:
            sys.exit(f"block {number} is another one")
        number += 1
        time.sleep(0.02)
    call("rshutdown", sock, socket.SHUT_RDWR)
    call("rclose", sock)
    print(f"{number} blocks are right", flush=True)


def main():
    ctypes.CDLL(None).prctl(PR_SET_NAME, b"rsockets", 0, 0, 0)
    role, host, port, *rest = sys.argv[1:]
    address = address_of(host, port)
    if role == "listen":
        listen(address)
    else:
        connect(address, rest[0], rest[1] if rest[1:] else "")


main()
