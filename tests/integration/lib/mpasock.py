# SPDX-License-Identifier: GPL-2.0-only
"""MPA sockets in Python, for tests, based on uapi/linux/mpa.h alone."""

import socket
import struct

SOL_MPA = 5044
SO_PARAMS, SO_START, SO_INFO, SO_MULPDU = 1, 4, 8, 9
SO_PACKING, SO_STATS = 10, 11
INITIATOR, RESPONDER = 1, 2
F_MARKERS, F_AUTO_ACCEPT = 1 << 0, 1 << 3
REV_AUTO = 0xff
STATE_OPERATIONAL = 5
TCP_ULP = 31
ULPDU_MAX = 64768

PARAMS = struct.Struct("=IBBHHHIB3x")
INFO = struct.Struct("=BBBBIIIIHHHHIB3x")
STATS = struct.Struct("=8Q")
STAT_NAMES = ("tx_fpdus", "tx_batches", "tx_bytes", "rx_fpdus", "rx_bytes",
              "rx_crc_errors", "rx_marker_errors", "rx_dropped")


def attach(sock, flags=0):
    """MPA on a TCP socket that is connected or listens."""
    sock.setsockopt(socket.IPPROTO_TCP, TCP_ULP, b"mpa")
    sock.setsockopt(SOL_MPA, SO_PARAMS,
                    PARAMS.pack(flags, REV_AUTO, 0, 0, 0, 0, 0, 0))
    return sock


def start(sock, role):
    sock.setsockopt(SOL_MPA, SO_START, role)


def mulpdu(sock):
    """By its own option."""
    return struct.unpack("=I", sock.getsockopt(SOL_MPA, SO_MULPDU, 4))[0]


def info(sock):
    """(state, MULPDU, error number) from MPA_SO_INFO."""
    values = INFO.unpack(sock.getsockopt(SOL_MPA, SO_INFO, INFO.size))
    return values[0], values[7], values[5]


def stats(sock):
    values = STATS.unpack(sock.getsockopt(SOL_MPA, SO_STATS, STATS.size))
    return dict(zip(STAT_NAMES, values))


def set_packing(sock, on):
    sock.setsockopt(SOL_MPA, SO_PACKING, int(on))
