#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Two MPI processes that send messages of many sizes to and fro for SECONDS, and compare.

    mpirun -np 2 mpi_exchange.py SECONDS [FILE]

The end comes earlier if there is that file.
They sleep while they wait, which Open MPI itself does not: other programs have the processor. They
wait for a limited time: if the connection ends with a message that the sender has completed, Open
MPI connects no more, but does not fail the receive either.
"""

import os
import sys
import time

from mpi4py import MPI

SIZES = [1 << power for power in range(0, 20, 2)]
# Seconds.
PATIENCE = 45
PATTERN = bytes((n * 7 + (n >> 8)) & 255 for n in range(max(SIZES) + 256))


def wait(request):
    ends = time.monotonic() + PATIENCE
    while not request.Test():
        if time.monotonic() > ends:
            sys.exit(f"nothing has come for {PATIENCE} seconds")
        time.sleep(0.01)


def exchange(comm, number):
    size = SIZES[number % len(SIZES)]
    data = PATTERN[number % 256:][:size]
    got = bytearray(size)
    if comm.Get_rank() == 0:
        wait(comm.Isend(data, 1))
        wait(comm.Irecv(got, 1))
    else:
        wait(comm.Irecv(got, 0))
        wait(comm.Isend(got, 0))
    if got != data:
        sys.exit(f"message {number} of {size} bytes is another one")


def main():
    comm = MPI.COMM_WORLD
    ends = time.monotonic() + float(sys.argv[1])
    enough = sys.argv[2] if len(sys.argv) > 2 else ""
    number = 0
    more = bytearray(b"1")
    while more[0]:
        exchange(comm, number)
        number += 1
        more[0] = time.monotonic() < ends and not os.path.exists(enough)
        wait(comm.Ibcast(more))
    print(f"rank {comm.Get_rank()}: {number} messages are right", flush=True)


main()
