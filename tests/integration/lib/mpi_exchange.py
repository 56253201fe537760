#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Two MPI processes that send messages of many sizes to and fro for SECONDS, and compare.

    mpirun -np 2 mpi_exchange.py SECONDS
"""

import sys
import time

from mpi4py import MPI

SIZES = [1 << power for power in range(0, 20, 2)]
PATTERN = bytes((n * 7 + (n >> 8)) & 255 for n in range(max(SIZES) + 256))


def exchange(comm, number):
    size = SIZES[number % len(SIZES)]
    data = PATTERN[number % 256:][:size]
    got = bytearray(size)
    if comm.Get_rank() == 0:
        comm.Send(data, 1)
        comm.Recv(got, 1)
    else:
        comm.Recv(got, 0)
        comm.Send(got, 0)
    if got != data:
        sys.exit(f"message {number} of {size} bytes is another one")


def main():
    comm = MPI.COMM_WORLD
    ends = time.monotonic() + float(sys.argv[1])
    number = 0
    more = True
    while more:
        exchange(comm, number)
        number += 1
        more = comm.bcast(time.monotonic() < ends)
    print(f"rank {comm.Get_rank()}: {number} messages are right", flush=True)


main()
