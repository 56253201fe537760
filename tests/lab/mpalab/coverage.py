# SPDX-License-Identifier: GPL-2.0-only
"""Line and branch coverage of the modules, from the counters of runs in the lab.

A guest of the coverage configuration stores the kernel's gcov counters in out/gcov of
its run, one file for each object. gcov reads them together with the notes that the
compiler left next to the objects; the counts of all runs are added up here.
"""

import gzip
import json
import subprocess
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from .common import LabError


@dataclass
class Source:
    """What was executed of a source file: how often each line, and each branch as
    (line, its number on that line)."""

    lines: Counter = field(default_factory=Counter)
    branches: Counter = field(default_factory=Counter)

    def add(self, report):
        for line in report["lines"]:
            number = line["line_number"]
            self.lines[number] += line["count"]
            for index, branch in enumerate(line["branches"]):
                self.branches[number, index] += branch["count"]

    def missed(self):
        """Numbers of the lines that were not executed."""
        return sorted(line for line, count in self.lines.items() if not count)


@dataclass
class Row:
    """The coverage of a file, a directory, or everything."""

    name: str
    lines_hit: int = 0
    lines: int = 0
    branches_hit: int = 0
    branches: int = 0

    def add(self, source):
        for kind in ("lines", "branches"):
            counts = getattr(source, kind).values()
            setattr(self, kind, getattr(self, kind) + len(counts))
            hit = f"{kind}_hit"
            setattr(self, hit, getattr(self, hit) + sum(map(bool, counts)))
        return self

    def __str__(self):
        return (f"{self.name:28} {self.lines:6} {percent(self.lines_hit, self.lines)} "
                f"{self.branches:8} {percent(self.branches_hit, self.branches)}")


def percent(part, whole):
    return f"{100 * part / whole:6.1f}" if whole else "     -"


def read_object(counters, notes):
    """gcov's reports of the sources of one object."""
    with tempfile.TemporaryDirectory() as place:
        for file in (counters, notes):
            (Path(place) / file.name).symlink_to(file)
        done = subprocess.run(
            ["gcov", "--json-format", "--branch-probabilities", counters.name],
            cwd=place, capture_output=True, text=True, check=False)
        reports = list(Path(place).glob("*.gcov.json.gz"))
        if done.returncode or not reports:
            raise LabError(f"gcov cannot read {counters}: {done.stderr.strip()}")
        return [source for report in reports
                for source in json.loads(gzip.decompress(report.read_bytes()))["files"]]


def collect(runs, tree):
    """{path below kernel/: Source} from the directories of runs; tree: the copy of this
    repository in which the modules were built."""
    pairs = [(counters, ("/" / counters.relative_to(run / "out/gcov"))
              .with_suffix(".gcno"))
             for run in runs for counters in sorted((run / "out/gcov").rglob("*.gcda"))]
    if not pairs:
        raise LabError("no run left counters")
    found = {}
    with ThreadPoolExecutor() as pool:
        for sources in pool.map(lambda pair: read_object(*pair), pairs):
            for report in sources:
                _, below, name = report["file"].rpartition("/kernel/")
                if below and (tree / "kernel" / name).exists():
                    found.setdefault(name, Source()).add(report)
    return {name: source for name, source in sorted(found.items()) if source.lines}


def rows(found):
    """A Row for each file, for each directory, and for everything."""
    directories, everything = {}, Row("all")
    files = []
    for name, source in found.items():
        directory = f"{name.split('/')[0]}/"
        files.append(Row(name).add(source))
        directories.setdefault(directory, Row(directory)).add(source)
        everything.add(source)
    return [*files, *directories.values(), everything]


def table(found):
    return "\n".join([f"{'':28} {'lines':>6} {'%':>6} {'branches':>8} {'%':>6}",
                      *map(str, rows(found))])
