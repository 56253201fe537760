#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Uses a shared receive queue through rdma-core's Python bindings, then holds it, with
two queue pairs, until SIGUSR1.
"""

import signal
import sys

import pyverbs.device
from pyverbs.cq import CQ
from pyverbs.enums import (IBV_ACCESS_LOCAL_WRITE, IBV_QPT_RC, IBV_SRQ_INIT_ATTR_PD,
                           IBV_SRQ_INIT_ATTR_TYPE, IBV_SRQ_LIMIT, IBV_SRQ_MAX_WR,
                           IBV_SRQT_BASIC)
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsError
from pyverbs.qp import QP, QPCap, QPInitAttr
from pyverbs.srq import SRQ, SrqAttr, SrqInitAttr, SrqInitAttrEx
from pyverbs.wr import SGE, RecvWR


def main():
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    context = pyverbs.device.Context(name=sys.argv[1])
    pd = PD(context)
    region = MR(pd, 4096, IBV_ACCESS_LOCAL_WRITE)
    cq = CQ(context, 100)

    extended = SrqInitAttrEx(max_wr=10, max_sge=1)
    extended.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD
    extended.srq_type = IBV_SRQT_BASIC
    extended.pd = pd
    SRQ(context, extended).close()
    print("created by ibv_create_srq_ex")

    srq = SRQ(pd, SrqInitAttr(SrqAttr(max_wr=100, max_sge=2)))
    piece = SGE(region.buf, 64, region.lkey)
    for number in range(5):
        srq.post_recv(RecvWR(wr_id=number, num_sge=1, sg=[piece]))
    srq.modify(SrqAttr(srq_limit=5), IBV_SRQ_LIMIT)
    found = srq.query()
    print("has", found.max_wr, found.max_sge, found.srq_limit)
    try:
        srq.modify(SrqAttr(max_wr=200), IBV_SRQ_MAX_WR)
    except PyverbsError as error:
        print("resizing:", error)

    init = QPInitAttr(qp_type=IBV_QPT_RC, scq=cq, rcq=cq, srq=srq,
                      cap=QPCap(max_send_wr=4))
    users = [QP(pd, init), QP(pd, init)]
    print("holding", flush=True)
    signal.sigwait({signal.SIGUSR1})
    for thing in (*users, srq, region, cq, pd, context):
        thing.close()
    print("released")


if __name__ == "__main__":
    main()
