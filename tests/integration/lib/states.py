#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""What the machine waits for, for a log: why has a program not ended in its time?

Prints the load, each thread with what it waits for (its stack in the kernel), RDMA objects,
and the connections of each network namespace.
"""

import subprocess
import sys
from pathlib import Path

MPACTL = Path(__file__).resolve().parents[3] / "build/bin/mpactl"
OBJECTS = ("link", "resource show qp", "resource show cm_id", "resource show cq")


def text(path):
    """Of a file of a process, which may end meanwhile."""
    try:
        return path.read_text("utf-8", "replace").rstrip()
    except OSError as error:
        return f"({error.strerror})"


def state(task):
    """The letter of a task's state; its name may contain anything."""
    return text(task / "stat").rpartition(") ")[2][:1]


def threads():
    """Those of programs, and those of the kernel that run or cannot be interrupted."""
    for process in sorted(Path("/proc").glob("[0-9]*"), key=lambda path: int(path.name)):
        command = text(process / "cmdline").replace("\0", " ")
        for task in sorted(process.glob("task/[0-9]*")):
            if command or state(task) in "RD":
                yield task, command


def show_threads():
    for task, command in threads():
        print(f"--- {task.parts[2]} {task.name} {text(task / 'comm')} {state(task)} "
              f"{text(task / 'wchan')}: {command[:150]}")
        print(text(task / "stack"))


def show(*command):
    print("+", *command)
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    print(done.stdout + done.stderr, flush=True)


def main():
    print("load:", text(Path("/proc/loadavg")))
    show_threads()
    for name in OBJECTS:
        show("rdma", *name.split())
    names = subprocess.run(["ip", "netns"], capture_output=True, text=True, check=True)
    for words in [[], *(line.split()[:1] for line in names.stdout.splitlines())]:
        within = ["ip", "netns", "exec", *words] if words else []
        show(*within, "ss", "-tanoiep")
        show(*within, str(MPACTL), "conn")


sys.exit(main())
