#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Holds an RDMA device until told to let go of it by SIGUSR1.

The device may go meanwhile: what was mapped must still be there, and letting
go must end without an error of its own.
"""

import signal
import sys

import pyverbs.device
from pyverbs.cq import CQ
from pyverbs.enums import IBV_ACCESS_LOCAL_WRITE
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsError


def main():
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    context = pyverbs.device.Context(name=sys.argv[1])
    pd = PD(context)
    region = MR(pd, 65536, IBV_ACCESS_LOCAL_WRITE)
    cq = CQ(context, 100)
    print("holding", cq, flush=True)
    signal.sigwait({signal.SIGUSR1})

    count, _ = cq.poll()
    if count:
        sys.exit(f"{count} completions from nowhere")
    for thing in (cq, region, pd, context):
        try:
            thing.close()
        except PyverbsError as error:
            print("the device has gone:", error)
    print("released")


if __name__ == "__main__":
    main()
