#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Runs rdma-core's own Python tests on one device and checks each result.

A list names the tests that cannot pass here, one a line: a pattern of test names, then
the reason. Anything else must pass. Listed tests run, too, and must not pass: a list
that is longer than necessary is an error, and so is a pattern that matches no test, unless
it begins with `+`: only some releases of the suite have such a test.

Queue pairs that the tests join by an InfiniBand path are connected by rdma_cm: see
connected_qp.py.

Output is a result line for each test; exit status 0 means that all results agree with
the list.
"""

import argparse
import fnmatch
import gzip
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import connected_qp

SUITE = Path("/usr/share/doc/rdma-core/tests")
# Tests of vendors' own interfaces or hardware do not apply.
FOREIGN = ("test_mlx5_", "test_efa", "test_cuda_")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dev", required=True)
    parser.add_argument("--netdev", required=True,
                        help="network device below it, for its addresses")
    parser.add_argument("--port", default="1")
    parser.add_argument("--gid", default="0")
    parser.add_argument("--list", type=Path, required=True,
                        help="the tests that cannot pass, and why")
    parser.add_argument("--seed", type=int, default=0,
                        help="the suite draws capacities and the like at random")
    parser.add_argument("--only", default="*", metavar="PATTERN",
                        help="run only tests of such names")
    parser.add_argument("--names", action="store_true",
                        help="print the names of all tests and end")
    return parser.parse_args()


def unpack(target):
    """A copy of the suite that Python can import."""
    package = target / "tests"
    package.mkdir()
    for source in SUITE.iterdir():
        if source.suffix == ".gz":
            with gzip.open(source) as packed:
                (package / source.stem).write_bytes(packed.read())
        elif source.suffix == ".py" and source.name != "__init__.py":
            shutil.copy(source, package)
    # The suite's own __init__ imports every vendor's modules.
    (package / "__init__.py").touch()
    sys.path[:0] = [str(target), str(package)]
    return sorted(
        path.stem for path in package.glob("test_*.py")
        if not path.name.startswith(FOREIGN)
    )


def load(modules):
    """{name: test} of every test in the modules."""
    found = {}

    def walk(suite):
        for entry in suite:
            if isinstance(entry, unittest.TestSuite):
                walk(entry)
            else:
                found[entry.id().removeprefix("tests.")] = entry

    for module in modules:
        walk(unittest.defaultTestLoader.loadTestsFromName(f"tests.{module}"))
    return found


def read_list(path):
    """[(pattern, reason, whether it must match)] of the list."""
    entries = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            pattern, _, reason = line.partition(" ")
            if not reason.strip():
                sys.exit(f"{path}: {pattern} has no reason")
            entries.append((pattern.lstrip("+"), reason.strip(), pattern[0] != "+"))
    return entries


def addresses(netdev):
    """(IP address, MAC address) of the network device."""
    known = json.loads(
        subprocess.check_output(["ip", "-j", "addr", "show", netdev])
    )[0]
    return known["addr_info"][0]["local"], known["address"]


def tell_addresses(address, mac):
    """Tells the suite the network device's addresses.

    The suite looks for it in the RDMA device's parent in sysfs, and a device over a
    virtual interface has no parent.
    """
    from tests.base import RDMATestCase

    def get(self, dev, port, index):
        self.args.append([dev, port, index, address, mac])

    RDMATestCase._get_ip_mac = get


def outcome(test):
    """(passed, output) of one test."""
    result = unittest.TestResult()
    test.run(result)
    connected_qp.pairs.close()
    bad = result.errors + result.failures + result.unexpectedSuccesses
    if bad:
        return False, str(bad[0][1]).strip()
    if result.skipped:
        return False, "skipped: " + result.skipped[0][1]
    if result.testsRun != 1:
        return False, "did not run"
    return True, ""


class Report:
    """Counts result lines."""

    def __init__(self):
        self.count = 0
        self.bad = 0

    def line(self, good, name, note=""):
        self.count += 1
        self.bad += not good
        print(f"{'' if good else 'not '}ok {self.count} - {name}")
        for text in note.splitlines()[-12:]:
            print(f"#   {text}")
        sys.stdout.flush()


def run_one(report, name, test, reason, seed):
    # Seeded for each test, so that it does the same when it runs alone.
    random.seed(f"{seed} {name}")
    started = time.monotonic()
    passed, words = outcome(test)
    took = f"{time.monotonic() - started:.1f} s"
    last = words.splitlines()[-1] if words else ""
    if reason is None:
        report.line(passed, f"{name} ({took})", words)
    elif passed:
        report.line(False, f"{name} passes, though listed", f"listed: {reason}")
    else:
        report.line(True, f"{name} cannot pass ({took})", f"{reason}\n{last}")


def reason_for(name, entries):
    """Why the test cannot pass; None when it must."""
    for pattern, reason, _ in entries:
        if fnmatch.fnmatchcase(name, pattern):
            return reason
    return None


def main():
    args = arguments()
    report = Report()
    with tempfile.TemporaryDirectory() as place:
        modules = unpack(Path(place))
        sys.argv[1:] = ["--dev", args.dev, "--port", args.port, "--gid", args.gid]
        from args_parser import parser

        parser.parse_args()
        address, mac = addresses(args.netdev)
        tests = load(modules)
        connected_qp.install(address)
        if args.names:
            print("\n".join(tests))
            return 0
        tell_addresses(address, mac)
        entries = read_list(args.list)
        for pattern, _, needed in entries:
            if needed and not fnmatch.filter(tests, pattern):
                report.line(False, f"{args.list.name}: {pattern} fits a test")
        for name, test in tests.items():
            if fnmatch.fnmatchcase(name, args.only):
                run_one(report, name, test, reason_for(name, entries), args.seed)
    print(f"# {report.count} results, {report.bad} bad")
    return 1 if report.bad or not report.count else 0


if __name__ == "__main__":
    sys.exit(main())
