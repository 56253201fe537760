#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Holds an RDMA device until SIGUSR1.

The device may be removed meanwhile: mapped memory must still be there, and closing must
not fail.
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
        sys.exit(f"{count} unexpected completions")
    for thing in (cq, region, pd, context):
        try:
            thing.close()
        except PyverbsError as error:
            print("the device was removed:", error)
    print("released")


if __name__ == "__main__":
    main()
