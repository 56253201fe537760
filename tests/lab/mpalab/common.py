# SPDX-License-Identifier: GPL-2.0-only
"""Helpers for every part of the lab: paths, messages, running a program."""

import contextlib
import fcntl
import hashlib
import os
import re
import subprocess
import sys
import time
from pathlib import Path

REPO = Path(__file__).resolve().parents[3]
LAB = REPO / "tests" / "lab"
BUILD = REPO / "build"
# The guest sees the target of a link, not the link itself.
CACHE = (BUILD / "cache").resolve()
# Files that group_sources() puts together, and a list of objects in Kbuild.
GROUP = 12
MODULE = re.compile(r"^(\w+)-y := ((?:.*\\\n)*.*\n)", re.MULTILINE)
SEARCH_PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"


class LabError(Exception):
    """The lab cannot do what was asked; the text is the reason."""


def say(text):
    print(f"lab: {text}", file=sys.stderr, flush=True)


def as_root(words):
    """The command that runs words with the rights of root."""
    return [*([] if os.geteuid() == 0 else ["sudo", "-n"]), *words]


def output_of(*command, cwd=None):
    """Runs a program that must succeed; returns its standard output."""
    try:
        return subprocess.run(
            command,
            cwd=cwd,
            check=True,
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PATH": SEARCH_PATH},
        ).stdout
    except FileNotFoundError as error:
        raise LabError(f"{command[0]} is missing: run scripts/deps") from error
    except subprocess.CalledProcessError as error:
        raise LabError(
            f"`{' '.join(map(str, command))}` failed: {error.stderr.strip()}"
        ) from error


def package_version(package):
    """Version of a package of this machine."""
    try:
        return output_of("dpkg-query", "-W", "-f", "${Version}", package)
    except LabError as error:
        raise LabError(f"package {package} is missing: run scripts/deps") from error


def run_logged(command, log, title, cwd=None, unit=None):
    """Runs a long command into a log file and reports its progress.

    unit: prefix of the output lines that count as one step, e.g. "  CC".
    """
    started = last = time.monotonic()
    steps = 0
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(log, "w", encoding="utf-8") as sink, subprocess.Popen(
        command,
        cwd=cwd,
        text=True,
        errors="replace",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "PATH": SEARCH_PATH},
    ) as process:
        for line in process.stdout:
            sink.write(line)
            steps += bool(unit and line.startswith(unit))
            now = time.monotonic()
            if now - last >= 15:
                last = now
                sink.flush()
                done = f", {steps} files compiled" if unit else ""
                say(f"{title}: {now - started:.0f} s{done}")
    if process.returncode:
        with open(log, encoding="utf-8", errors="replace") as source:
            tail = source.readlines()[-25:]
        sys.stderr.writelines(tail)
        raise LabError(f"{title} failed, the whole log is {log}")


def copy_sources(target):
    """Updates a copy of what modules are built from; keeps what was built there."""
    built = ("*.o", "*.ko", "*.mod", "*.mod.c", ".*.cmd", ".*.d", "*.gcno",
             "Module.symvers", "modules.order", "grouped-*.c")
    sources = ("*/", "*.[chS]", "Kbuild", "Kbuild.*", "Makefile", "VERSION")
    target.mkdir(parents=True, exist_ok=True)
    output_of(
        "rsync", "-a", "--delete", "--prune-empty-dirs",
        *(f"--filter=P {name}" for name in built),
        "--exclude=/build", "--exclude=/.git", "--exclude=/userspace",
        "--exclude=*.mod.c", *(f"--include={name}" for name in sources),
        "--exclude=*", f"{REPO}/", f"{target}/",
    )


def group_sources(target):
    """Makes Kbuild in a copy of the sources compile several files of a directory as one:
    most of the time of a compilation goes into the kernel's headers. It hides that a file
    lacks an include which another one has."""
    def objects(match):
        module, names = match[1], match[2].replace("\\\n", " ").split()
        # This one includes the kernel's headers in another way.
        made = [name for name in names if name.endswith("/trace.o")]
        directories = {}
        for name in (name for name in names if name not in made):
            directories.setdefault(Path(name).parent, []).append(Path(name))
        for directory, files in directories.items():
            for first in range(0, len(files), GROUP):
                group = target / f"grouped-{module}-{directory.name}-{first}.c"
                text = "".join(f'#include "{one.with_suffix(".c")}"\n'
                               for one in files[first:first + GROUP])
                if not group.exists() or group.read_text("utf-8") != text:
                    group.write_text(text, "utf-8")
                made.append(f"{group.stem}.o")
        return f"{module}-y := {' '.join(made)}\n"

    kbuild = target / "Kbuild"
    kbuild.write_text(MODULE.sub(objects, kbuild.read_text("utf-8")), "utf-8")


def copy_tracked(target):
    """Updates a copy of the tracked files; keeps what was built there."""
    target.mkdir(parents=True, exist_ok=True)
    names = subprocess.run(["git", "ls-files", "-z"], cwd=REPO, check=True,
                           stdout=subprocess.PIPE).stdout
    # Makefiles find sources by their names: those that are gone must not stay.
    record = target / ".tracked"
    before = record.read_bytes().split(b"\0") if record.exists() else []
    for name in set(before) - set(names.split(b"\0")):
        (target / os.fsdecode(name)).unlink(missing_ok=True)
    record.write_bytes(names)
    subprocess.run(["rsync", "-a", "--from0", "--files-from=-", f"{REPO}/", f"{target}/"],
                   input=names, check=True)


@contextlib.contextmanager
def locked(path):
    """Lets one process at a time in; others wait and print that they do."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another lab that prepares {path.stem}")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def digest(*parts):
    """Short hash of files (Path) and texts."""
    total = hashlib.sha256()
    for part in parts:
        data = part.read_bytes() if isinstance(part, Path) else str(part).encode()
        total.update(hashlib.sha256(data).digest())
    return total.hexdigest()[:16]
