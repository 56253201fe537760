#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Holds /proc/lock_stat against the rule that messages take locks of their own objects
only: of all other locks of the modules, none is taken more often than once in a hundred
messages. An array of the modules whose lock has no class of its own is an error: the
statistics would add its lock to those of the kernel's arrays.

	lock_stat.py SOURCE MESSAGES < /proc/lock_stat
"""
import pathlib
import re
import sys

# Locks of which each connection has its own, and its application's objects.
OWN = {"&qp->lock", "&cq->lock", "&mr->lock", "&srq->lock", "&ep->lock", "&bell->lock"}
# A lock may be taken once in so many messages: connections are made and ended, too.
SELDOM = 100

INIT = re.compile(r"\b(?:spin_lock_init|rwlock_init|mutex_init)\(([^,)]+)\)|"
                  r"\bDEFINE_(?:SPINLOCK|MUTEX|RWLOCK)\((\w+)\)|"
                  r"\bDEFINE_XARRAY\w*\((\w+)[,)]")
# An array, and the class of a lock.
ARRAY = re.compile(r"\bxa_init(?:_flags)?\(&?([^,)]+)")
CLASS = re.compile(r"\blockdep_set_class\(&([^,]+),\s*(&\w+)\)")
# Name, contentions and acquisitions. A class may have a number, readers and writers.
LINE = re.compile(r"^\s*(\S+?)(?:#\d+)?(?:/\d+)?(?:-[RW])?:"
                  r"\s+\d+\s+(\d+)(?:\s+[\d.]+){4}\s+\d+\s+(\d+)\s")


def locks_in(text):
    """Names of the classes that the locks of a source have, and the arrays whose locks
    have none of their own."""
    names = {init or plain or f"{array}.xa_lock" for init, plain, array in INIT.findall(text)}
    classes = dict(CLASS.findall(text))
    bare = {array for array in ARRAY.findall(text) if f"{array}.xa_lock" not in classes}
    return names | set(classes.values()), bare


def locks_of(source):
    """The same of the modules; arrays with the names of their files."""
    names, bare = set(), set()
    for path in sorted(pathlib.Path(source).rglob("*.[ch]")):
        some, arrays = locks_in(path.read_text(encoding="utf-8"))
        names |= some
        bare |= {f"{path.name}: {array}" for array in arrays}
    return names, bare


def statistics(lines):
    """Contentions and acquisitions by name."""
    found = {}
    for line in lines:
        match = LINE.match(line)
        if match:
            before = found.get(match[1], (0, 0))
            found[match[1]] = (before[0] + int(match[2]), before[1] + int(match[3]))
    return found


def main():
    source, messages = sys.argv[1], int(sys.argv[2])
    names, bare = locks_of(source)
    found = statistics(sys.stdin)
    bad = [] if OWN <= names else [f"no such locks: {OWN - names}"]
    bad += [f"the lock of an array has no class: {one}" for one in sorted(bare)]
    # Without these, nothing was measured.
    if sum(found.get(name, (0, 0))[1] for name in OWN) < messages:
        bad.append("the locks of the connections were hardly taken")
    print(f"{'lock':32} {'contentions':>12} {'acquisitions':>12}")
    for name, (contentions, taken) in sorted(found.items(), key=lambda one: -one[1][1]):
        if contentions or name in names:
            print(f"{name:32} {contentions:12} {taken:12}"
                  f"{'' if name in names else '  (not of the modules)'}")
        if name in names - OWN and taken * SELDOM > messages:
            bad.append(f"{name} was taken {taken} times for {messages} messages")
    for one in bad:
        print(one)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
