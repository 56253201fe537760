# SPDX-License-Identifier: GPL-2.0-only
"""Plans measurements, reads the output of the programs, and summarizes it.

Pure functions; tests/lab/selftest tests them. The contestants alternate: one
measurement of each, then the next repetition, in another order. A ratio is that of two
measurements of the same repetition, so that what slows the whole machine for a while
slows both.
"""

import re
import statistics
from dataclasses import asdict, dataclass, field, replace

from mpalab.common import LabError

CONTESTANTS = ("tcp", "siw", "mpa")
# mpa with a feature switched on that the base measurement has off; slow: with every
# fast path off; early: with early-placement, and what it needs; timer: that with
# rto-min.
VARIANTS = {"crc": "mpa-crc", "markers": "mpa-markers", "slow": "mpa-slow",
            "early": "mpa-early", "timer": "mpa-timer"}
# TCP in another way: with NVMe's digests; with a segment for each message; through
# KCM; without the receiver's copy, without the sender's, without both.
TCP_VARIANTS = {"digest": "tcp-digest", "record": "tcp-record", "kcm": "tcp-kcm",
                "trunc": "tcp-trunc", "splice": "tcp-splice",
                "zerocopy": "tcp-zerocopy", "pages": "tcp-pages"}
# The kernel's bare CRC32c, measured together with mpa-crc; and the bytes of a packet
# that an FPDU's CRC does not cover.
BARE_CRC = "crc"
AROUND_FPDU = 60
# All contestants, in the order of tables.
KNOWN = ("tcp", *TCP_VARIANTS.values(), "siw", "mpa", *VARIANTS.values(), BARE_CRC)
# Server addresses by contestant, which select the link; see ../guest.
ADDRESSES = {"tcp": "10.77.0.2", "mpa": "10.77.0.2", "siw": "10.78.0.2",
             BARE_CRC: ""}
FIRST_PORT = 20000
# The setting rto-min of mpa-timer: two ticks of the lab's kernels.
RTO_MIN = "20ms"
UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def base_of(contestant):
    """The contestant of which it is a variant."""
    return contestant.partition("-")[0]


@dataclass(frozen=True)
class Case:
    """What is measured, for any contestant; size is that of a message, in bytes."""

    mtu: int
    operation: str
    size: int


@dataclass(frozen=True)
class Measurement:
    """One run of one contestant."""

    case: Case
    contestant: str
    repeat: int

    @property
    def base(self):
        """The contestant whose device and link it uses."""
        return base_of(self.contestant)

    @property
    def name(self):
        case = self.case
        return (f"{case.mtu}-{case.operation}-{case.size}-{self.contestant}"
                f"-{self.repeat}")


@dataclass
class Series:
    """All results of one contestant in one case, in the order of repetitions."""

    case: Case
    contestant: str
    values: dict = field(default_factory=dict)
    # Nanoseconds of processor time per KiB, message or other unit of the tool.
    costs: dict = field(default_factory=dict)
    details: dict = field(default_factory=dict)

    def summary(self):
        return {**asdict(self.case), "contestant": self.contestant,
                **spread(list(self.values.values())),
                "values": list(self.values.values()),
                "costs": list(self.costs.values()),
                "details": list(self.details.values())}


def parse_size(text):
    """Bytes of "64", "64k", "1M"."""
    found = re.fullmatch(r"(\d+)([kmg]?)i?b?", text.strip().lower())
    if not found or not int(found.group(1)):
        raise ValueError(f"{text!r} is not a size")
    return int(found.group(1)) * UNITS[found.group(2)]


def size_text(size):
    """In the largest unit that leaves a whole number."""
    for unit, factor in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size % factor == 0:
            return f"{size // factor} {unit}"
    return f"{size} B"


def spread(values):
    """Median, extremes, and the range relative to the median."""
    if not values:
        return {"median": None, "min": None, "max": None, "spread": None}
    median = statistics.median(values)
    return {"median": median, "min": min(values), "max": max(values),
            "spread": (max(values) - min(values)) / median if median else None}


def rotated(items, by):
    by %= max(len(items), 1)
    return items[by:] + items[:by]


def plan(mtus, verbs, tcp, contestants, repeats):
    """All measurements in the order in which they are to be taken.

    verbs, tcp: pairs of operation and size that RNICs and TCP are measured with in each
    repetition; those of both one after the other.
    """
    todo = []
    of_tcp = [who for who in contestants if base_of(who) == "tcp"]
    others = [who for who in contestants if who not in (*of_tcp, BARE_CRC)]
    for mtu in mtus:
        groups = [[(Case(mtu, *one), who)
                   for who in (of_tcp if one in tcp else []) + others]
                  for one in verbs]
        groups += [[(Case(mtu, *one), who) for who in of_tcp]
                   for one in tcp if one not in verbs]
        if BARE_CRC in contestants:
            groups.append([(Case(mtu, "crc32c", mtu - AROUND_FPDU), BARE_CRC)])
        for repeat in range(repeats):
            todo += [Measurement(case, who, repeat)
                     for group in rotated(groups, repeat)
                     for case, who in rotated(group, repeat)]
    return todo


EARLY = (VARIANTS["early"], VARIANTS["timer"])


def need(setting):
    """The variants that have a setting on."""
    return VARIANTS[setting], *EARLY


def plan_text(measurements, tool, crc, markers):
    """The plan in the format of ../guest; crc, markers: settings of mpa."""
    lines = []
    for number, one in enumerate(measurements):
        port = FIRST_PORT + number
        address = ADDRESSES[one.base]
        lines.append("\t".join((
            one.name, str(one.case.mtu),
            "required" if one.contestant in need("crc") else crc,
            "on" if one.contestant in need("markers") else markers,
            "slow" if one.contestant == VARIANTS["slow"] else "fast",
            "on" if one.contestant in EARLY else "off",
            RTO_MIN if one.contestant == VARIANTS["timer"] else "0", str(port),
            tool.server(one, address, port) or "-", tool.client(one, address, port))))
    return "".join(f"{line}\n" for line in lines)


def collect(measurements, directory, tool):
    """Returns (series, names of measurements without a result)."""
    series, missing = {}, []
    for one in measurements:
        try:
            text = (directory / f"{one.name}.client.log").read_text("utf-8", "replace")
            value, details = tool.read(one, text)
        except (OSError, LabError) as error:
            missing.append(f"{one.name}: {error}")
            continue
        found = series.setdefault((one.case, one.contestant),
                                  Series(one.case, one.contestant))
        found.values[one.repeat] = value
        found.details[one.repeat] = details
    return list(series.values()), missing


def add_costs(series, tool, meter):
    """Adds the processor time of each measurement, from a profile.Meter."""
    for one in series:
        for repeat, run in one.details.items():
            used = meter.between(run["ended"] - run["seconds"], run["ended"])
            if used is not None:
                one.costs[repeat] = 1e9 * used / run["seconds"] / tool.work(run)[0]


def best_tcp(series, mtu, who="tcp"):
    """The series of the write size at which TCP streams fastest, or None."""
    of_tcp = [one for one in series if one.contestant == who
              and (one.case.mtu, one.case.operation) == (mtu, "stream")]
    return max(of_tcp, default=None,
               key=lambda one: statistics.median(one.values.values()))


def paired(one, other, smaller_is_better=False):
    """Ratios of the repetitions that both have; above 1: `one` is better."""
    pairs = [(one.values[repeat], other.values[repeat])
             for repeat in sorted(one.values.keys() & other.values.keys())]
    if smaller_is_better:
        pairs = [(second, first) for first, second in pairs]
    return [first / second for first, second in pairs if second]


def cost_ratio(one, other):
    """Median of pairs; above 1: `one` is cheaper. None if unknown."""
    values = [other.costs[repeat] / one.costs[repeat]
              for repeat in one.costs.keys() & other.costs.keys() if one.costs[repeat]]
    return statistics.median(values) if values else None


def ratios(series, smaller_is_better=False, base_operation=None, versus=()):
    """How mpa and siw compare in each case, and each of them with TCP's best; and each
    variant with what it is a variant of.

    base_operation: each contestant's other operations are compared with that one.
    versus: further pairs of contestants that are compared.
    """
    table = {(one.case, one.contestant): one for one in series}
    found = []

    def add(one, other, name=None):
        values = paired(one, other, smaller_is_better)
        if values:
            found.append({**asdict(one.case), "of": one.contestant,
                          "to": name or other.contestant, **spread(values),
                          "values": values, "cost": cost_ratio(one, other)})

    for (case, who), one in table.items():
        base = table.get((replace(case, operation=base_operation), who))
        if base and base is not one:
            add(one, base, base_operation)
        if who == "mpa":
            others = ["siw", "tcp"]
        else:
            others = [] if who in ("tcp", BARE_CRC) else \
                ["tcp"] if who == "siw" else [base_of(who)]
        for name in others + [second for first, second in versus if first == who]:
            other = table.get((case, name)) or best_tcp(series, case.mtu, name)
            if other:
                add(one, other)
    return found


def crc_costs(series):
    """Processor time that CRCs add to mpa, relative to the time of the bare function
    for the same bytes on both sides; below 1 only because of noise."""
    table = {(one.case, one.contestant): one for one in series}
    bare = {one.case.mtu: one.costs for one in series if one.contestant == BARE_CRC}
    found = []
    for (case, who), one in table.items():
        off = table.get((case, "mpa"))
        if who != VARIANTS["crc"] or not off or case.mtu not in bare:
            continue
        of_crc = bare[case.mtu]
        repeats = sorted(one.costs.keys() & off.costs.keys() & of_crc.keys())
        values = [(one.costs[repeat] - off.costs[repeat]) / (2 * of_crc[repeat])
                  for repeat in repeats]
        if values:
            found.append({**asdict(case), **spread(values), "values": values})
    return found


def crc_text(found):
    """The result of crc_costs() as a table."""
    rows = [("MTU", "operation", "size", "CRC, to the bare function: median (range)")]
    rows += [(str(one["mtu"]), one["operation"], size_text(one["size"]),
              spread_text(one)) for one in found]
    return aligned(rows)


def number(value, digits=2):
    return "-" if value is None else f"{value:.{digits}f}"


def spread_text(found, digits=2):
    """"9.51 (9.40 .. 9.60)"."""
    if found["median"] is None:
        return "-"
    return (f"{number(found['median'], digits)} "
            f"({number(found['min'], digits)} .. {number(found['max'], digits)})")


def aligned(rows):
    """Formats rows of texts in columns; the first row is the head."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
             for row in rows]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)


def table_text(series, compared, unit, digits=2, cost_unit=""):
    """The table for people: the figures, then the ratios.

    cost_unit: the unit of costs; empty: there are none.
    """
    cut = None if cost_unit else -1
    rows = [("MTU", "operation", "size", "contestant", f"{unit}: median (range)",
             f"CPU ns/{cost_unit}")]
    rows += [(str(one.case.mtu), one.case.operation, size_text(one.case.size),
              one.contestant, spread_text(one.summary(), digits),
              number(spread(list(one.costs.values()))["median"], 1))
             for one in sorted(series, key=lambda one: (
                 one.case.mtu, one.case.operation, one.case.size,
                 KNOWN.index(one.contestant)))]
    text = aligned([row[:cut] for row in rows])
    if compared:
        rows = [("MTU", "operation", "size", "ratio", "of pairs: median (range)",
                 "by CPU")]
        rows += [(str(one["mtu"]), one["operation"], size_text(one["size"]),
                  f"{one['of']} / {one['to']}", spread_text(one), number(one["cost"]))
                 for one in compared]
        text += "\n\n" + aligned([row[:cut] for row in rows])
    return text
