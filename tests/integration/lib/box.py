#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""A box on the way that ends TCP and divides the stream into segments of its own.

    box.py PORT HOST

A connection to PORT is continued to HOST, the same port.
"""

import socket
import sys
import threading


def relay(source, sink):
    while part := source.recv(1 << 16):
        sink.sendall(part)
    sink.shutdown(socket.SHUT_WR)


def main():
    port, host = int(sys.argv[1]), sys.argv[2]
    with socket.create_server(("", port)) as server:
        near, _ = server.accept()
    far = socket.create_connection((host, port))
    ways = [threading.Thread(target=relay, args=way) for way in ((near, far), (far, near))]
    for way in ways:
        way.start()
    for way in ways:
        way.join()


if __name__ == "__main__":
    main()
