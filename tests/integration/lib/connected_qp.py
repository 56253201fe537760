# SPDX-License-Identifier: GPL-2.0-only
"""Reliable connections of rdma-core's Python tests, made by the connection manager.

These tests join two queue pairs of one process by modifying each with the number of the
other and an InfiniBand path. An iWARP queue pair gets to RTS with a TCP connection
instead. install() gives the tests queue pairs whose to_rts() remembers the other end, and
connects the two once both have been asked. What the tests do with the
queue pairs then is not changed.
"""

import random
import sys
import time
from pathlib import Path

import pyverbs.cm_enums as ce
import pyverbs.enums as e
import pyverbs.qp
from pyverbs.cmid import CMEvent, CMEventChannel, CMID, AddrInfo, ConnParam
from pyverbs.qp import QPAttr

# Read Requests and atomic operations of each end that may be unanswered.
DEPTH = 16
# Below those that the kernel chooses.
PORTS = range(20000, 32768)
# In /proc/net/tcp.
ESTABLISHED = "01"
QUEUES_EMPTY = "00000000:00000000"


class Connection:
    """Two connected queue pairs, and what keeps them so."""

    def __init__(self, address, active, passive):
        self.channels = [CMEventChannel(), CMEventChannel()]
        self.listener = CMID(creator=self.channels[0], port_space=ce.RDMA_PS_TCP)
        self.ids = [CMID(creator=self.channels[1], port_space=ce.RDMA_PS_TCP)]
        port = str(random.SystemRandom().choice(PORTS))
        self.listener.bind_addr(AddrInfo(
            src=address, src_service=port, port_space=ce.RDMA_PS_TCP,
            flags=ce.RAI_PASSIVE))
        self.listener.listen(1)
        self.ids[0].resolve_addr(AddrInfo(
            src=address, dst=address, dst_service=port, port_space=ce.RDMA_PS_TCP))
        self.expect(1, ce.RDMA_CM_EVENT_ADDR_RESOLVED)
        self.ids[0].resolve_route()
        self.expect(1, ce.RDMA_CM_EVENT_ROUTE_RESOLVED)
        self.ids[0].connect(self.parameters(active))
        request = self.event(0, ce.RDMA_CM_EVENT_CONNECT_REQUEST)
        self.ids.append(CMID(creator=request, listen_id=self.listener))
        request.ack_cm_event()
        self.ids[1].accept(self.parameters(passive))
        self.expect(0, ce.RDMA_CM_EVENT_ESTABLISHED)
        self.expect(1, ce.RDMA_CM_EVENT_ESTABLISHED)

    @staticmethod
    def parameters(qp):
        return ConnParam(resources=DEPTH, depth=DEPTH, qp_num=qp.qp_num)

    def event(self, channel, expected):
        event = CMEvent(self.channels[channel])
        if event.event_type != expected:
            raise AssertionError(f"joining queue pairs: {event.event_str()}")
        return event

    def expect(self, channel, expected):
        self.event(channel, expected).ack_cm_event()

    def close(self):
        for one in (*self.ids, self.listener, *self.channels):
            one.close()


class Pairs:
    """Queue pairs that were asked to go to RTS, and the connections made of them."""

    def __init__(self):
        self.address = None
        self.asked = {}
        self.connections = []

    def ask(self, qp):
        other = self.asked.pop(qp.partner, None)
        if other is None or other.partner != qp.qp_num:
            self.asked[qp.qp_num] = qp
            return
        self.connections.append(Connection(self.address, other, qp))
        # Those of the tests, without the ones that a connection gives by default.
        for one in (qp, other):
            attr = QPAttr()
            attr.qp_access_flags = one.rights
            one.modify(attr, e.IBV_QP_ACCESS_FLAGS)

    def close(self):
        self.asked.clear()
        while self.connections:
            self.connections.pop().close()


pairs = Pairs()


def joined(plain):
    """A class of queue pairs that asks for a connection in place of going to RTS."""

    class Joined(plain):
        partner = 0
        rights = 0

        def to_init(self, attr):
            self.rights = attr.qp_access_flags
            super().to_init(attr)

        def to_rts(self, attr):
            if self.qp_type != e.IBV_QPT_RC:
                super().to_rts(attr)
                return
            # An attribute that was queried has none: there is no such number.
            self.partner = attr.dest_qp_num or self.partner
            pairs.ask(self)

    return Joined


def settle(limit=10):
    """Waits until all that was sent is received: a Write completes before that, with
    InfiniBand after it. Both ends of a connection are sockets of this namespace."""
    until = time.monotonic() + limit
    while True:
        rows = Path("/proc/net/tcp").read_text("ascii").splitlines()[1:]
        fields = [row.split() for row in rows]
        if all(row[4] == QUEUES_EMPTY for row in fields if row[3] == ESTABLISHED):
            return
        if time.monotonic() > until:
            raise AssertionError("what was sent does not arrive")
        time.sleep(0.001)


def install(address):
    """Once the tests are imported: they use these classes. @address is the device's."""
    pairs.address = address
    classes = {name: joined(getattr(pyverbs.qp, name)) for name in ("QP", "QPEx")}
    for module_name, module in list(sys.modules.items()):
        if module_name.partition(".")[0] == "tests":
            for name, substitute in classes.items():
                if hasattr(module, name):
                    setattr(module, name, substitute)
    resources = sys.modules["tests.base"].BaseResources
    read = resources.mem_read

    def mem_read(self, *args, **kwargs):
        settle()
        return read(self, *args, **kwargs)

    resources.mem_read = mem_read
