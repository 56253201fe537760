# SPDX-License-Identifier: GPL-2.0-only
"""Decides whether a run was good, from the files the guest left behind.

Pure functions on text; tests/lab/selftest tests them with tables.
"""

import re
from collections import Counter
from dataclasses import dataclass, field

# A healthy kernel prints none of these, and no program of ours makes it print one. Those of
# perftest may crash in librdmacm (consumers.sh).
ALARMS = re.compile(
    # The second form is that of kernels from 6.19, perhaps with the condition.
    r"WARNING: (?:CPU|(?:(?:\[.*\] )?\S+:\d+ )?at \S+\+0x|possible|suspicious|"
    r"inconsistent|bad unlock|"
    r"bad contention|lock held|held lock|.* still has locks held|Nested lock|"
    r"\S+-safe -> |chain_key|stack|kernel stack)"
    r"|\bBUG: "
    r"|kernel BUG at"
    r"|\bOops\b"
    r"|Kernel panic"
    r"|general protection fault(?! ip:\w+ sp:\w+ error:0 in librdmacm\.so)"
    r"|unable to handle (?:kernel|page)"
    r"|\bKASAN: "
    r"|\bUBSAN: "
    r"|\bINFO: (?:possible|suspicious|trying to register|task .* blocked|lockdep|rcu)"
    r"|\bsuspicious RCU usage"
    r"|rcu: INFO: rcu"
    r"|\brcu_\w+ kthread starved"
    r"|soft lockup|hard LOCKUP"
    r"|ODEBUG: "
    r"|refcount_t: "
    r"|ref_tracker: "
    r"|unregister_netdevice: waiting for"
    r"|\bBUG [\w-]+ \((?:Not t|T)ainted"
    r"|Slab cache still has objects|Objects remaining in "
    r"|restrack: .*(?:leak|still)"
    r"|Out of memory: "
    r"|disagrees about version of symbol|Unknown symbol"
    r"|list_(?:add|del) corruption"
    # Without memory, kobject_add_internal() may fail.
    r"|cannot create duplicate filename|kobject_add_internal failed for .* with -EEXIST"
    r"|DEAD000000000"
)
# Bits of /proc/sys/kernel/tainted: something was reported, perhaps not where we have seen it.
TAINTS = {32: "a bad page", 128: "an oops", 512: "a warning", 16384: "a soft lockup"}
# Lines that begin one report and so end another; maximum length of a report on RCU.
REPORT_BEGINS = re.compile(r"={20,}$|cut here")
RCU_REPORT = 80
# In a KCSAN report: an access, whose function is in the next line; and a function of a
# module of this repository in such a line.
KCSAN_BEGINS = "BUG: KCSAN: "
KCSAN_ACCESS = re.compile(r"to 0x[0-9a-f]+ of \d+ bytes by .* on cpu \d+:$")
OWN_FUNCTION = re.compile(r"\S\+0x[0-9a-f]+/0x[0-9a-f]+ \[mpa\w*\]$")
# In a report of kmemleak: bytes of an object, and the line before them.
LEAK_BYTES = re.compile(r"^\s+(?:hex dump|(?:[0-9a-f]{2} ){4,})")
# What the kernel leaks (Documentation/verbs.rst): private data of events that iw_cm drops; tasks
# whose command UVERBS_METHOD_GET_CONTEXT was refused.
FOREIGN_LEAK = re.compile(r"\] cm_event_handler\+0x")
LEAKED_TASK = re.compile(r"\] kmem_cache_alloc_node\+\S+\n[^\n]*\] copy_process\+0x")
OF_A_TASK = re.compile(r"\] copy_process\+0x")
TAP_LINE = re.compile(r"^(not )?ok\b(?: (\d+))?(?: - )?(.*)$")
SKIP = re.compile(r"#\s*SKIP\b", re.IGNORECASE)
PLAN = re.compile(r"^1\.\.(\d+)\s*$")


@dataclass
class Totals:
    """Result lines of a script."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    planned: int | None = None
    failures: list = field(default_factory=list)

    @property
    def seen(self):
        return self.passed + self.failed + self.skipped

    def __str__(self):
        text = f"{self.passed} passed, {self.failed} failed"
        return text + (f", {self.skipped} skipped" if self.skipped else "")


def read_tap(text):
    """Totals of the `ok` and `not ok` lines in text."""
    totals = Totals()
    for line in text.splitlines():
        plan = PLAN.match(line)
        if plan:
            totals.planned = (totals.planned or 0) + int(plan.group(1))
            continue
        found = TAP_LINE.match(line)
        if not found:
            continue
        if found.group(1):
            totals.failed += 1
            totals.failures.append(found.group(3))
        elif SKIP.search(line):
            totals.skipped += 1
        else:
            totals.passed += 1
    return totals


def read_evidence(text, before=20, after=8):
    """The lines that a script printed around its failures: a list of lists of lines.

    before: how many of the lines since the last result; after: how many of the notes
    that follow.
    """
    evidence = []
    since = []
    notes = None
    for line in text.splitlines():
        found = TAP_LINE.match(line)
        if notes is not None and line.startswith("#") and len(notes) < after:
            notes.append(line)
            evidence[-1].append(line)
            continue
        notes = None
        if not found:
            since.append(line)
            continue
        if found.group(1):
            evidence.append(since[-before:] + [line])
            notes = []
        since = []
    return evidence


def read_alarms(kernel_log, expected=()):
    """Kernel messages that fail a run; expected: regular expressions of allowed ones.
    """
    return [line for line, *_ in alarms_with_context(kernel_log, expected, 1)]


def alarms_with_context(kernel_log, expected=(), count=30, foreign=()):
    """Each message that fails a run, with the lines after it: lists of up to count
    lines.

    foreign: functions of the kernel; a lockdep report on RCU whose trace has one of
    them is not about our modules.
    """
    allowed = [re.compile(pattern) for pattern in expected]
    lines = [line.strip() for line in kernel_log.splitlines()]
    return [
        lines[at:at + count]
        for at, line in enumerate(lines)
        if ALARMS.search(line) and not any(one.search(line) for one in allowed)
        and not is_foreign(lines, at, foreign)
    ]


def is_foreign(lines, at, functions):
    """Whether a message that begins in line at is about the kernel's own code only: a
    KCSAN race with neither access in our modules, or a lockdep report on RCU with one
    of the functions in its trace."""
    if KCSAN_BEGINS in lines[at]:
        return not is_own_race(lines, at)
    if "suspicious RCU usage" not in lines[at]:
        return False
    for line in lines[at:at + RCU_REPORT]:
        if REPORT_BEGINS.search(line):
            return False
        # Skip entries marked as stale addresses on the stack.
        if any(f" {function}+" in line and "?" not in line for function in functions):
            return True
    return False


def lines_of_race(lines, at):
    """Those of the report that begins in line at, without this."""
    end = next((number for number, line in enumerate(lines[at + 1:], at + 1)
                if REPORT_BEGINS.search(line)), len(lines))
    return lines[at + 1:end]


def is_own_race(lines, at):
    """Whether our modules make an access of the race that KCSAN reports in line at. A
    report without any access, cut off or garbled, counts as one."""
    report = lines_of_race(lines, at)
    functions = [after for line, after in zip(report, [*report[1:], ""])
                 if KCSAN_ACCESS.search(line)]
    return not functions or any(OWN_FUNCTION.search(line) for line in functions)


def foreign_races(kernel_log):
    """The races that do not fail a run: how many reports there are for each text, which
    has the functions of the two accesses, and says if our modules are among the callers."""
    lines = [line.strip() for line in kernel_log.splitlines()]
    found = Counter()
    for at, line in enumerate(lines):
        if KCSAN_BEGINS in line and not is_own_race(lines, at):
            text = line.partition(KCSAN_BEGINS)[2].removeprefix("data-race in ")
            if any(OWN_FUNCTION.search(one) for one in lines_of_race(lines, at)):
                text += ", called by modules of ours"
            found[text] += 1
    return found


def all_leaks(report):
    """The leaked objects in a report of kmemleak, without their bytes: a list of lists of
    lines."""
    leaks = []
    for line in report.splitlines():
        if line.startswith("unreferenced object"):
            leaks.append([])
        if leaks and not LEAK_BYTES.match(line):
            leaks[-1].append(line.strip())
    return leaks


def own_leaks(leaks):
    """Those of them that the kernel itself is not known for."""
    texts = ["\n".join(lines) for lines in leaks]
    # Of a task that was leaked, more than its structure is.
    task = any(LEAKED_TASK.search(text) for text in texts)
    return [lines for lines, text in zip(leaks, texts)
            if not (FOREIGN_LEAK.search(text) or task and OF_A_TASK.search(text))]


def read_words(text):
    """The messages of the guest on the result port: {word: value}."""
    words = {}
    for line in text.splitlines():
        word, _, value = line.strip().partition(" ")
        words[word] = value
    return words


def tainted_by(words):
    """What has tainted the kernel that a healthy one does not do; None: not known."""
    value = words.get("tainted", "")
    if not value.isdecimal():
        return None
    return [what for bit, what in TAINTS.items() if int(value) & bit]


def reasons(words, totals, alarms, kmemleak=False, leaks=(), expected=()):
    """Reasons why a run failed; an empty list means success.

    kmemleak: whether the guest had to look for leaked memory.
    leaks: what it has found, from all_leaks().
    expected: kernel messages that are allowed; a warning among them taints the kernel.
    """
    found = []
    if "boot" not in words:
        found.append("the guest did not start")
    elif "end" not in words:
        found.append("the guest stopped before its end")
    status = words.get("exit")
    if "boot" in words and status != "0":
        found.append(
            "the script did not end" if status is None
            else f"the script ended with status {status}"
        )
    if kmemleak and "end" in words and not words.get("kmemleak"):
        found.append("kmemleak could not look for leaks")
    own = own_leaks(leaks)
    if own:
        found.append(f"kmemleak reports {len(own)} object(s), see out/kmemleak")
    counted = int(words.get("kmemleak") or 0)
    if counted != len(leaks):
        found.append(f"kmemleak counts {counted} object(s) and lists {len(leaks)}")
    if totals.failed:
        found.append(f"{totals.failed} check(s) failed")
    if totals.planned is not None and totals.planned != totals.seen:
        found.append(f"{totals.planned} checks planned, {totals.seen} seen")
    elif status == "0" and totals.planned is None:
        found.append("the script has no plan")
    elif status == "0" and not totals.seen:
        found.append("the script has checked nothing")
    if alarms:
        found.append(f"the kernel complained: {alarms[0]}")
    taints = tainted_by(words)
    if taints is None and "end" in words:
        found.append("the guest did not say whether its kernel is tainted")
    # An allowed message may be a warning; nothing else.
    taints = [what for what in taints or () if not expected or what != TAINTS[512]]
    if taints:
        found.append(f"the kernel is tainted by {', '.join(taints)}")
    return found
