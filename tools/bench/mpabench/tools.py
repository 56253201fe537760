# SPDX-License-Identifier: GPL-2.0-only
"""The measuring programs: their commands, and their output.

A tool has server() and client(), which return shell words, and read(), which returns
the figure of a run in the tool's unit and the other data that the program printed.
"""

import json
import re
import shlex

from mpalab.common import REPO, LabError

from itertools import product

from . import measure
from .measure import BARE_CRC, TCP_VARIANTS, VARIANTS

DEPTH = 16
KINDS = ("bandwidth", "rate", "latency", "loss", "qps", "scale", "connect", "memory",
         "sockets", "nvme", "nfs")


class Tool:
    """One program's measurement of one kind of figures."""

    name = ""
    kind = ""
    contestants = ("tcp", "siw", "mpa")
    unit = ""
    smaller_is_better = False
    operations = ()
    sizes = (1 << 20,)
    # Whether work() knows the amount of work.
    counts = False
    # The operation that the others are compared with.
    base_operation = None
    # Variants that --with adds, and pairs of contestants that are compared in addition.
    variants = ()
    versus = ()
    # What the guest connects: ../links/NAME.sh.
    links = "hosts"
    # Configuration of the lab whose kernel it boots.
    config = "speed"

    def __init__(self, icount=False):
        self.icount = icount

    def knows(self, operation):
        """Whether it can measure that operation."""
        return operation in self.operations

    def tcp_cases(self, operations, sizes, _write_sizes):
        """Operation and size that TCP is measured with."""
        return [(operation, size) for operation in operations for size in sizes]

    def plan(self, args, operations, sizes, contestants):
        """All measurements, in their order. args: the options of the command."""
        return measure.plan(args.mtu, list(product(operations, sizes)),
                            self.tcp_cases(operations, sizes, args.write_sizes),
                            contestants, args.repeat)


# --- mpa-bench ----------------------------------------------------------------

# Suffixes of an operation: "send-event", "write-both", "write-1024", and "send-each",
# where each Send wakes its receiver.
EACH = ["--solicit", "1"]
SUFFIXES = {"both": ["--bidirectional"], "each": EACH,
            **{wait: ["--wait", wait] for wait in ("poll", "yield", "event")}}


# Options of plain TCP's variants.
UNCOPIED = {"trunc": ["--discard"], "splice": ["--send-by", "splice"],
            "zerocopy": ["--send-by", "zerocopy"],
            "pages": ["--send-by", "splice", "--discard"]}
TCP_OPTIONS = {TCP_VARIANTS[name]: words for name, words in UNCOPIED.items()}
TCP_OPTIONS[TCP_VARIANTS["record"]] = ["--send-by", "record"]


class Bench(Tool):
    """mpa-bench, as its manual page describes it."""

    name = "mpa-bench"
    program = REPO / "build" / "bin" / "mpa-bench"
    # Seconds of a measurement, of the warm-up, and without progress on a busy machine.
    seconds, warm_up, patience = 1, 0.3, 60
    bases = ("write", "send", "read")
    counts = True

    def knows(self, operation):
        base, *more = operation.split("-")
        return base in self.bases and all(
            one in SUFFIXES or one.isdigit() for one in more)

    def server(self, _one, address, port):
        return shlex.join([str(self.program), "server", address, "--port", str(port),
                           "--once", "--quiet", "--timeout", str(self.patience)])

    def client(self, one, address, port):
        transport = self.transport(one)
        return shlex.join([
            str(self.program), *self.command(one), *self.more(one),
            *TCP_OPTIONS.get(one.contestant, []), address,
            "--port", str(port), "--transport", transport, *self.length(), "--json",
            "--timeout", str(self.patience),
            *(["--device", f"{one.base}1"] if transport == "verbs" else [])])

    @staticmethod
    def transport(one):
        return "tcp" if one.base == "tcp" else "verbs"

    @staticmethod
    def more(one):
        """Options for the suffixes of the operation."""
        words = []
        for suffix in one.case.operation.split("-")[1:]:
            words += SUFFIXES.get(suffix) or ["--qps", suffix]
        # siw never raises solicited events.
        if one.base == "siw" and EACH[0] not in words:
            words += EACH
        return words

    def command(self, one):
        raise NotImplementedError

    def length(self):
        return ["--time", str(self.seconds), "--warm-up", str(self.warm_up)]

    def read(self, one, text):
        try:
            run = json.loads(text)["results"][0]["runs"][0]
            return self.figure(one, run), run
        except (ValueError, LookupError, TypeError, ZeroDivisionError) as error:
            raise LabError(f"no figures ({error!r})") from error

    def figure(self, one, run):
        raise NotImplementedError

    def work(self, run):
        """For profiles: amount of work per second, and its unit."""
        return run["messages_per_second"], "message"


class Bandwidth(Bench):
    """Large messages; TCP transfers the data of one with each of several write sizes.
    """

    kind = "bandwidth"
    unit = "Gbit/s"
    operations = ("write", "send", "read")
    variants = (*VARIANTS, *UNCOPIED)
    versus = tuple(("mpa", TCP_VARIANTS[name]) for name in variants if name in TCP_VARIANTS)
    # MiB that the bare CRC is computed over.
    crc_mebi = 1024

    def server(self, one, address, port):
        return "" if one.contestant == BARE_CRC else super().server(one, address, port)

    def client(self, one, address, port):
        if one.contestant == BARE_CRC:
            return shlex.join(["bare_crc", str(one.case.size), str(self.crc_mebi)])
        return super().client(one, address, port)

    def read(self, one, text):
        if one.contestant != BARE_CRC:
            return super().read(one, text)
        try:
            run = json.loads(text)
            run["bits_per_second"] = run["bytes"] * 8 / run["seconds"]
            return self.figure(one, run), run
        except (ValueError, LookupError, TypeError, ZeroDivisionError) as error:
            raise LabError(f"no figures ({error!r})") from error

    def tcp_cases(self, _operations, _sizes, write_sizes):
        return [("stream", size) for size in write_sizes]

    def command(self, one):
        if one.base == "tcp":
            return ["write", "--size", str(max(one.case.size, self.sizes[0])),
                    "--write-size", str(one.case.size), "--depth", str(DEPTH)]
        return [one.case.operation.split("-")[0], "--size", str(one.case.size),
                "--depth", str(DEPTH)]

    def figure(self, _one, run):
        return run["bits_per_second"] / 1e9

    def work(self, run):
        return run["bits_per_second"] / 8 / 1024, "KiB"


class Qps(Bandwidth):
    """Many connections at once; the result is the sum of all of them."""

    kind = "qps"
    operations = ("write-1", "write-64", "write-1024")
    base_operation = "write-1"
    sizes = (64 << 10,)

    def tcp_cases(self, operations, sizes, _write_sizes):
        return [(operation, size) for operation in operations for size in sizes]

    def command(self, one):
        return [one.case.operation.split("-")[0], "--size", str(one.case.size),
                "--depth", str(DEPTH)]


class Rate(Bench):
    """Small messages, posted in lists, with a completion each."""

    kind = command_name = "rate"
    operations = ("send",)
    variants = tuple(VARIANTS)
    sizes = (64,)
    # Instructions of a run whose time counts instructions.
    messages, warm_up_messages = 20000, 2000

    def __init__(self, icount=False):
        super().__init__(icount)
        if icount:
            self.patience = 1000

    @property
    def unit(self):
        return "instructions/message" if self.icount else "1000 messages/s"

    @property
    def smaller_is_better(self):
        return self.icount

    def command(self, one):
        return [self.command_name, "--op", one.case.operation.split("-")[0],
                "--size", str(one.case.size)]

    def length(self):
        if not self.icount:
            return super().length()
        return ["--count", str(self.messages),
                "--warm-up-count", str(self.warm_up_messages)]

    def figure(self, _one, run):
        if self.icount:
            return run["seconds"] * 1e9 / run["messages"]
        return run["messages_per_second"] / 1e3


class Latency(Rate):
    """Round trips of small messages."""

    kind = command_name = "latency"
    variants = ()
    # Not send-yield: two programs that poll on one processor of User Mode Linux, where
    # the scheduler's clock is the tick, make each other wait for whole ticks.
    operations = ("send-event", "read-yield")
    bases = ("send", "read")
    messages, warm_up_messages = 2000, 200
    smaller_is_better = True

    def __init__(self, icount=False):
        super().__init__(icount)
        # One processor: a program that polls without yielding blocks the other side.
        if icount:
            self.operations = ("send-yield", "read-yield")

    def tcp_cases(self, operations, sizes, _write_sizes):
        return [(operation, size) for operation in operations for size in sizes
                if operation.startswith("send")]

    @property
    def unit(self):
        return "instructions/round trip" if self.icount else "us"

    def figure(self, _one, run):
        median = run["nanoseconds"]["median"]
        return median if self.icount else median / 1e3

    def work(self, run):
        return run["messages_per_second"], "round trip"


class Loss(Latency):
    """How long long Reads take on a link that loses packets: the 99th percentile."""

    kind = "loss"
    variants = tuple(VARIANTS)
    operations = ("read-event",)
    sizes = (64 << 10,)
    unit = "us"

    def command(self, one):
        return ["latency", "--op", one.case.operation.split("-")[0],
                "--size", str(one.case.size)]

    def figure(self, _one, run):
        return run["nanoseconds"]["p99"] / 1e3


class Scale(Bench):
    """How much more two pairs of programs do than one, each pair on its own processor."""

    kind = "scale"
    unit = "times"
    operations = ("send", "write")
    sizes = (64, 64 << 10)
    # Shorter messages are measured in lists.
    long = 4096
    counts = False
    links = "pairs"
    # User Mode Linux has one processor.
    config = "plain"

    def server(self, _one, _address, _port):
        return ""

    def client(self, one, address, port):
        # Three ports for each measurement.
        port += 2 * (port - measure.FIRST_PORT)
        transport = self.transport(one)
        return shlex.join([
            "on_pairs", address, str(port), *self.command(one), *self.more(one),
            "--wait", "yield", "--transport", transport, *self.length(), "--json",
            "--timeout", str(self.patience),
            *(["--device", f"{one.base}1"] if transport == "verbs" else [])])

    def command(self, one):
        base, size = one.case.operation.split("-")[0], one.case.size
        if size < self.long:
            return ["rate", "--op", base, "--size", str(size)]
        return [base, "--size", str(size), "--depth", str(DEPTH)]

    def read(self, one, text):
        try:
            found = {number: [pair["results"][0]["runs"][0] for pair in pairs]
                     for number, pairs in json.loads(text).items()}
            run = {number: sum(pair["messages_per_second"] for pair in pairs)
                   for number, pairs in found.items()}
            return run["two"] / run["one"], run
        except (ValueError, LookupError, TypeError, AttributeError,
                ZeroDivisionError) as error:
            raise LabError(f"no figures ({error!r})") from error


class Sockets(Rate):
    """Messages of programs on MPA sockets, on plain TCP and on KCM, a call for each."""

    kind = "sockets"
    contestants = ("tcp", TCP_VARIANTS["record"], TCP_VARIANTS["kcm"], "mpa",
                   VARIANTS["crc"])
    sizes = (64, 1024)
    variants = ("markers",)
    versus = (*product(("mpa", VARIANTS["crc"]),
                       (TCP_VARIANTS["record"], TCP_VARIANTS["kcm"])),
              (VARIANTS["crc"], "tcp"))
    links = "sockets"

    @staticmethod
    def transport(one):
        return "kcm" if one.contestant == TCP_VARIANTS["kcm"] else one.base

    def command(self, one):
        words = [*super().command(one), "--list", "1", "--moderation", "1"]
        if self.transport(one) == "tcp":
            words += ["--write-size", str(one.case.size)]
        return words


class Connect(Rate):
    """Connections that are set up and ended, one after the other."""

    kind = "connect"
    variants = ()
    operations = ("connect",)
    bases = operations
    # Fewer than the client's ports, each of which TCP keeps for a minute.
    messages, warm_up_messages = 500, 20

    @property
    def unit(self):
        return "instructions/connection" if self.icount else "connections/s"

    def command(self, _one):
        return ["connect"]

    def length(self):
        return ["--count", str(self.messages),
                "--warm-up-count", str(self.warm_up_messages)]

    def figure(self, one, run):
        return super().figure(one, run) if self.icount else run["messages_per_second"]

    def work(self, run):
        return run["messages_per_second"], "connection"


class Memory(Bench):
    """Kernel memory of idle connections."""

    kind = "memory"
    config = "plain"
    unit = "bytes"
    smaller_is_better = True
    operations = bases = ("idle", "above-tcp")
    counts = False
    sizes = (64,)
    # Unless named: enough that what the kernel keeps of earlier ones is small in comparison.
    connections = 1000

    def split(self, operation):
        """The figure, and of how many connections."""
        base, _, number = operation.rpartition("-")
        return (base, int(number)) if number.isdigit() else (operation, self.connections)

    def knows(self, operation):
        return self.split(operation)[0] in self.bases

    @staticmethod
    def more(one):
        return []

    def tcp_cases(self, operations, sizes, _write_sizes):
        return [(one, size) for size in sizes for one in operations
                if self.split(one)[0] == "idle"]

    def command(self, one):
        return ["memory", "--qps", str(self.split(one.case.operation)[1])]

    def length(self):
        return ["--repeat", "1"]

    def figure(self, one, run):
        return run["kernel_bytes" if self.split(one.case.operation)[0] == "idle"
                   else "above_tcp_bytes"]


class Gate(Bench):
    """Instructions of reference operations, for gate.json."""

    kind = "gate"
    unit = "instructions"
    smaller_is_better = True
    contestants = ("mpa", VARIANTS["crc"])
    links = "gate"
    patience = 1000
    # Name: contestant, size, arguments, and number of messages.
    references = {
        "send-rate": ("mpa", 64, ["rate"], 20000),
        "send-rate-crc": (VARIANTS["crc"], 64, ["rate"], 20000),
        "send-round-trip": ("mpa", 64, ["latency", "--wait", "yield"], 3000),
        "read": ("mpa", 64, ["latency", "--op", "read", "--wait", "yield"], 3000),
        "read-4k-crc": (VARIANTS["crc"], 4 << 10,
                        ["latency", "--op", "read", "--wait", "yield"], 3000),
        "write-1k": ("mpa", 1 << 10, ["rate", "--op", "write"], 10000),
        "write-64k-crc": (VARIANTS["crc"], 64 << 10, ["write"], 2000),
        "send-4k-crc": (VARIANTS["crc"], 4 << 10, ["send"], 10000),
        "socket-round-trip-crc": ("socket", 1 << 10, ["latency", "--wait", "yield"],
                                  3000),
        "connect": ("mpa", 64, ["connect"], 300),
    }
    operations = tuple(references)

    def knows(self, operation):
        return operation in self.references

    def plan(self, args, operations, _sizes, _contestants):
        plan = []
        for repeat in range(args.repeat):
            for name in operations:
                who, size = self.references[name][:2]
                plan.append(measure.Measurement(
                    measure.Case(1500, name, size),
                    VARIANTS["crc"] if who == "socket" else who, repeat))
        return plan

    def transport(self, one):
        return "mpa" if self.references[one.case.operation][0] == "socket" else "verbs"

    @staticmethod
    def more(_one):
        return []

    def command(self, one):
        _, size, words, count = self.references[one.case.operation]
        return [*words, "--size", str(size), "--count", str(count),
                "--warm-up-count", str(count // 10)]

    def length(self):
        return []

    def figure(self, _one, run):
        return run["seconds"] * 1e9 / run["messages"]


# --- fio ----------------------------------------------------------------------

class Fio(Tool):
    """fio on a disk or file that is on the other side; functions of the guest connect it.
    Operations are those of fio with a depth: "randread-32".
    """

    name = "fio"
    counts = True
    contestants = ("tcp", "siw", "mpa", "mpa-crc")
    sizes = (4 << 10, 128 << 10)
    bases = ("read", "write", "randread", "randwrite")
    # The function of the guest.
    function = ""
    # Seconds of a measurement, and before it.
    seconds, warm_up = 1, 0.3
    # Requests of a run whose time counts instructions.
    requests = 8000
    # Requests that fio passes to the kernel together, at the most.
    batch = 8

    @property
    def unit(self):
        return "instructions/request" if self.icount else "MB/s"

    @property
    def smaller_is_better(self):
        return self.icount

    def knows(self, operation):
        base, _, depth = operation.partition("-")
        return base in self.bases and depth.isdigit() and int(depth) > 0

    def server(self, _one, _address, _port):
        return ""

    def client(self, one, _address, _port):
        base, _, depth = one.case.operation.partition("-")
        batch = min(self.batch, int(depth))
        return shlex.join([
            self.function, one.contestant, f"--rw={base}", f"--bs={one.case.size}",
            f"--iodepth={depth}", f"--iodepth_batch_submit={batch}",
            f"--iodepth_batch_complete_min={batch}",
            f"--iodepth_batch_complete_max={depth}", *self.length()])

    def length(self):
        if self.icount:
            return [f"--number_ios={self.requests}"]
        return ["--time_based", f"--runtime={self.seconds}",
                f"--ramp_time={round(self.warm_up * 1000)}ms"]

    def read(self, _one, text):
        try:
            whole = json.loads(text)
            job = whole["jobs"][0]
            done = max(job["read"], job["write"], key=lambda one: one["total_ios"])
            run = {"requests": done["total_ios"], "bytes": done["io_bytes"],
                   "seconds": done["runtime"] / 1e3, "ended": whole["timestamp_ms"] / 1e3}
            if job["error"] or not run["requests"]:
                raise LabError("fio reports an error")
            run["requests_per_second"] = run["requests"] / run["seconds"]
            if self.icount:
                return run["seconds"] * 1e9 / run["requests"], run
            return run["bytes"] / run["seconds"] / 1e6, run
        except (ValueError, LookupError, TypeError, ZeroDivisionError) as error:
            raise LabError(f"no figures ({error!r})") from error

    def work(self, run):
        return run["requests_per_second"], "request"


class Nvme(Fio):
    """The kernel's NVMe host and target, and a disk in memory."""

    kind = "nvme"
    contestants = ("tcp", TCP_VARIANTS["digest"], "siw", "mpa", VARIANTS["crc"])
    variants = tuple(VARIANTS)
    versus = ((VARIANTS["crc"], TCP_VARIANTS["digest"]),)
    operations = ("randread-1", "randwrite-1", "randread-32", "randwrite-32")
    links = "nvme"
    function = "on_nvme"


class Nfs(Fio):
    """The kernel's NFS client and server, and a file in memory."""

    kind = "nfs"
    variants = tuple(VARIANTS)
    operations = ("read-8", "write-8")
    sizes = (4 << 10, 256 << 10)
    links = "nfs"
    function = "on_nfs"


# --- perftest -----------------------------------------------------------------

class Perftest(Tool):
    """perftest's programs, which use verbs only."""

    name = "perftest"
    kind = "bandwidth"
    contestants = ("siw", "mpa")
    unit = "Gbit/s"
    operations = ("write", "send", "read")
    # Bytes in a measurement, and the maximum number of messages.
    amount = 2 << 30
    messages = 100000
    # Size, messages, best and average bandwidth, messages per second.
    figures = re.compile(r"^\s*(\d+)\s+\d+\s+[\d.]+\s+([\d.]+)\s+([\d.]+)\s*$",
                         re.MULTILINE)

    def _words(self, one, port):
        count = max(DEPTH, min(self.messages, self.amount // one.case.size))
        return [f"ib_{one.case.operation}_bw", "-R", "-F", "--report_gbits",
                "-s", str(one.case.size), "-n", str(count), "-t", str(DEPTH),
                "-p", str(port)]

    def server(self, one, address, port):
        return shlex.join([*self._words(one, port), "--source_ip", address])

    def client(self, one, address, port):
        return shlex.join([*self._words(one, port), address])

    def read(self, one, text):
        found = self.figures.findall(text)
        if len(found) != 1 or int(found[0][0]) != one.case.size:
            raise LabError("no figures")
        return float(found[0][1]), {"messages_per_second": float(found[0][2]) * 1e6}


TOOLS = {tool.name: {one.kind: one for one in kinds}
         for tool, *kinds in (
             (Bench, Bandwidth, Rate, Latency, Loss, Qps, Scale, Connect, Memory,
              Sockets, Gate),
             (Fio, Nvme, Nfs), (Perftest, Perftest))}


def choose(name, kind, icount=False):
    """The tool of that name for that kind of figures; None: the usual one."""
    if name is None:
        name = next(one for one, kinds in TOOLS.items() if kind in kinds)
    if kind not in TOOLS[name]:
        raise LabError(f"{name} is not used for {kind}")
    return TOOLS[name][kind](icount)
