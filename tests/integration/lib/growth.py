#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Samples the memory of the kernel, and finds what grows.

    growth.py sample FILE            appends a sample, a line of JSON, to a file
    growth.py fit FILE [LABEL]       prints a table of slopes; exit status 1: something grows

A sample has bytes by name: active objects of each slab cache, and by the function that has
allocated them, as far as the kernel's command line has the caches in slub_debug=U,...,
allocations too large for a cache, sockets, parts of /proc/meminfo, /proc/vmallocinfo by caller,
and the pages that nothing accounts for. Free objects in slabs that are in use are not counted: how
many there are is a matter of what came before, for hours.

A line is fitted to each series by least squares. The first samples, in which
caches fill, are left out. A series grows if

* its slope is positive, and larger than noise explains with a probability of ALPHA
  (Student's t, one-sided),
* that is at least FLOOR bytes for each sample, and
* each half of it grows by itself (HALF_ALPHA, half of FLOOR): a table that doubles once is
  a step, which is in one half only; a leak is in both.
"""

import json
import math
import os
import re
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

ALPHA = 1e-4
HALF_ALPHA = 0.05
FLOOR = 256
# What the kernel itself is known to leak in a cycle of 64-soak, by function, and how many bytes of
# it at the most, debugging data of the allocator included. They are taken out of their caches.
# The first two as long as iwpmd runs (Documentation/verbs.rst): for each question to the port
# mapper, and for each peer of a listener. The others for each connection of NFS 4.1 or later to a
# server over RDMA: xprt_setup_rdma_bc() takes two references to the transport of callbacks, of
# which svc_xprt_free() releases one. It has room for two requests, strings, and files in sysfs with
# names and numbers. Numbers are given in turn, so each file that stays keeps a node of their tree.
LEAKS = {"iwpm_get_nlmsg_request": 24_000, "iwpm_remote_info_cb": 5_000, "xprt_alloc": 7_000,
         "xprt_rdma_format_addresses": 500, "xprt_create_transport": 300,
         "rpc_sysfs_xprt_setup": 300, "rpc_sysfs_xprt_switch_setup": 300,
         "__kernfs_new_node": 700, "kobject_set_name_vargs": 300,
         "radix_tree_node_alloc": 2_500}
FLOORS = {f"allocated by {function}": most for function, most in LEAKS.items()}
# Of each of these transports, debugfs keeps a directory with a file: sunrpc/rpc_xprt/*/info.
FLOORS |= {"slab dentry": 600, "slab inode_cache": 2_000}
# What a series may differ by at any time without a leak: each processor keeps up to a MiB of the
# pages that TCP's sockets charge or give back for itself (SK_MEMORY_PCPU_RESERVE).
WANDERS = {"sockets TCP pages": 2 * (1 << 20) * (os.cpu_count() or 1)}
# Samples that are left out at the beginning: this many, and a tenth of the others.
WARM_UP = 2
# With fewer, nothing can be said.
LEAST = 6
PAGE = 4096


# --- the fit ------------------------------------------------------------------------


@dataclass
class Line:
    """A fitted line: change for each sample, and the standard error of that."""

    slope: float
    error: float
    freedom: int

    @property
    def t(self):
        if self.error:
            return self.slope / self.error
        return math.copysign(math.inf, self.slope) if self.slope else 0.0


def fit(values):
    """The line through values at 0, 1, 2, ...; at least three of them."""
    count = len(values)
    middle = (count - 1) / 2
    mean = sum(values) / count
    spread = sum((at - middle) ** 2 for at in range(count))
    slope = sum((at - middle) * (value - mean) for at, value in enumerate(values)) / spread
    rest = sum((value - mean - slope * (at - middle)) ** 2
               for at, value in enumerate(values))
    # What rounding leaves of integers that are on a line.
    if rest < 1e-9 * max(1.0, sum((value - mean) ** 2 for value in values)):
        rest = 0.0
    return Line(slope, math.sqrt(rest / (count - 2) / spread), count - 2)


def tail(t, freedom):
    """The probability that Student's t exceeds t, by Simpson's rule over the angle whose
    tangent is t / sqrt(freedom)."""
    if t <= 0:
        return 1.0 - tail(-t, freedom) if t else 0.5
    begin, end, steps = math.atan(t / math.sqrt(freedom)), math.pi / 2, 2000
    width = (end - begin) / steps
    total = sum((1 if step in (0, steps) else 4 if step % 2 else 2)
                * math.cos(begin + step * width) ** (freedom - 1)
                for step in range(steps + 1))
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2))
    return min(0.5, total * width / 3 * scale / math.sqrt(math.pi))


def bound(alpha, freedom):
    """The t that is exceeded with the probability alpha."""
    low, high = 0.0, 1.0
    while tail(high, freedom) > alpha:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        if tail(middle, freedom) > alpha:
            low = middle
        else:
            high = middle
    return high


def exceeds(line, alpha, floor):
    return line.slope >= floor and line.t > bound(alpha, line.freedom)


def settled(values):
    """Without the first samples."""
    return values[WARM_UP + (len(values) - WARM_UP) // 10:]


def floor_of(name, count):
    """The least slope that is a leak, in a series of so many values."""
    return max(FLOORS.get(name, FLOOR), WANDERS.get(name, 0) / count)


def grows(values, floor=FLOOR):
    """Of settled values."""
    half = len(values) // 2
    return (exceeds(fit(values), ALPHA, floor)
            and exceeds(fit(values[:half]), HALF_ALPHA, floor / 2)
            and exceeds(fit(values[-half:]), HALF_ALPHA, floor / 2))


# --- samples ------------------------------------------------------------------------


def slab_sizes(text):
    """Number and size of the active objects of each cache, from /proc/slabinfo."""
    found = {}
    for line in text.splitlines()[2:]:
        name, active, _, size = line.split()[:4]
        found[name] = int(active), int(size)
    return found


def slab_pages(text):
    """Bytes of the pages of all caches, if none had to take smaller slabs than it likes."""
    return PAGE * sum(int(words[5]) * int(words[14])
                      for words in map(str.split, text.splitlines()[2:]))


def callers(text):
    """How many objects each function has allocated, from alloc_traces of a cache: a line for
    each stack, which follows, indented."""
    found = Counter()
    for count, function in re.findall(r"^ {0,6}(\d+) (\w[\w.]*)\+0x", text, re.MULTILINE):
        found[re.sub(r"\..*", "", function)] += int(count)
    return found


def slabs(sizes, traces):
    """Bytes of each cache, and of each function in those whose alloc_traces there are. The
    kernel's own leaks are in the functions only."""
    found = {f"slab {name}": count * size for name, (count, size) in sizes.items()}
    by_function = Counter()
    for cache, text in traces.items():
        for function, count in callers(text).items():
            size = count * sizes[cache][1]
            by_function[function] += size
            if function in LEAKS:
                found[f"slab {cache}"] -= size
    return {**found, **{f"allocated by {name}": size for name, size in by_function.items()}}


def sockets(text):
    """Of /proc/net/sockstat; the pages that TCP's sockets have charged in bytes. The number
    of sockets is that of the machine, times a KiB, so that one for each sample counts."""
    values = dict(re.findall(r"(?<=[ ])(alloc|orphan|mem) (\d+)",
                             re.search(r"^TCP:.*", text, re.MULTILINE)[0]))
    return {"sockets TCP": int(values["alloc"]) * 1024,
            "sockets TCP pages": int(values["mem"]) * PAGE}


# Parts of all memory: what is left are pages that were allocated directly, by sockets and
# drivers for example.
PARTS = ("MemFree", "Buffers", "Cached", "Slab", "AnonPages", "PageTables", "KernelStack",
         "Percpu", "VmallocUsed", "SwapCached", "SecPageTables")
SHOWN = ("KernelStack", "PageTables", "Percpu", "VmallocUsed")


def memory(text, in_caches):
    """Of /proc/meminfo. "Slab" has what is too large for a cache, too."""
    values = {name: int(value) * 1024
              for name, value in re.findall(r"^(\w+): +(\d+) kB", text, re.MULTILINE)}
    found = {f"memory {name}": values[name] for name in SHOWN}
    found["memory too large for slabs"] = values["Slab"] - in_caches
    found["memory unaccounted"] = values["MemTotal"] - sum(
        values.get(name, 0) for name in PARTS)
    return found


def areas(text, modules=("mpa", "mpa_rnic")):
    """Bytes in /proc/vmallocinfo of callers in our modules, and of all."""
    found = {f"vmalloc {name}": 0 for name in modules}
    total = 0
    for size, rest in re.findall(r"^\S+ +(\d+) (.*)$", text, re.MULTILINE):
        total += int(size)
        caller = re.search(r"\[(\w+)\]", rest)
        if caller and f"vmalloc {caller[1]}" in found:
            found[f"vmalloc {caller[1]}"] += int(size)
    return {**found, "vmalloc all": total}


def settle():
    """Gives back what is only cached: of files, and free objects of slabs."""
    Path("/proc/sys/vm/drop_caches").write_text("3", "ascii")
    Path("/proc/sys/vm/compact_memory").write_text("1", "ascii")
    # What each processor has counted for itself.
    Path("/proc/sys/vm/stat_refresh").write_text("1", "ascii")
    for cache in Path("/sys/kernel/slab").iterdir():
        if not cache.is_symlink():
            (cache / "shrink").write_text("1", "ascii")


def sample():
    settle()
    read = [Path("/proc", name).read_text("ascii")
            for name in ("slabinfo", "net/sockstat", "meminfo", "vmallocinfo")]
    traces = {path.parent.name: path.read_text("ascii")
              for path in Path("/sys/kernel/debug/slab").glob("*/alloc_traces")}
    return {**slabs(slab_sizes(read[0]), traces), **sockets(read[1]),
            **memory(read[2], slab_pages(read[0])), **areas(read[3])}


# --- the table ----------------------------------------------------------------------


def series_of(samples):
    """{name: values}; a cache that did not exist yet has none."""
    names = sorted({name for one in samples for name in one})
    return {name: settled([one.get(name, 0) for one in samples]) for name in names}


def table(samples):
    """The lines of a table, and the names of what grows. Only series that change are in it."""
    found = []
    lines = [f"{'bytes of':42} {'first':>11} {'last':>11} {'for each sample':>24} "
             f"{'t':>8}"]
    constant = 0
    freedom = len(settled(samples)) - 2
    for name, values in series_of(samples).items():
        if min(values) == max(values):
            constant += 1
            continue
        line = fit(values)
        more = grows(values, floor_of(name, len(values)))
        if more:
            found.append(name)
        lines.append(f"{name:42} {values[0]:11} {values[-1]:11} {line.slope:12.1f} "
                     f"+- {line.error:8.1f} {line.t:8.2f}{'  GROWS' if more else ''}")
    lines.append(f"{constant} more do not change; {freedom + 2} samples, t of a slope may be "
                 f"{bound(ALPHA, freedom):.2f} from {FLOOR} bytes on")
    return lines, found


def main():
    command, path = sys.argv[1:3]
    if command == "sample":
        with open(path, "a", encoding="ascii") as sink:
            sink.write(json.dumps(sample()) + "\n")
        return 0
    with open(path, encoding="ascii") as source:
        samples = [json.loads(line) for line in source]
    if len(settled(samples)) < LEAST:
        print(f"{len(samples)} samples are too few")
        return 2
    lines, found = table(samples)
    print("\n".join(lines))
    print("grows: " + (", ".join(found) or "nothing"))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
