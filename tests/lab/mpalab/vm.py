# SPDX-License-Identifier: GPL-2.0-only
"""Boots a VM, follows it, and creates a result from what it left behind."""

import contextlib
import fcntl
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from . import results, uml
from .common import BUILD, REPO, SEARCH_PATH, LabError, say
from .kernel import TestConfig

RUNS = BUILD / "lab"
# Time that the guest has to finish once the script was stopped; the scans for leaks are
# part of it.
CLOSING_TIME = 45
LEAK_SCAN_TIME = 240
# Limit for a kernel to boot, longer than a good boot takes on a busy machine, and the
# number of attempts.
BOOT_TIME = 180
BOOTS = 3
EVIDENCE = 8  # failures of a run that are shown with the lines around them
PROVIDER = BUILD / "lib" / "libmpa"
# On a busy machine a guest's processor may stop for longer than a kernel expects: raise
# the limits for stall reports to two minutes (defaults: 21 and 20 s); a real hang lasts
# longer. The check of the timer fails there because of a race.
PATIENT = "no_timer_check rcupdate.rcu_cpu_stall_timeout=120 watchdog_thresh=60"
# QEMU translates a program again whenever it finds it at another address. At fixed
# addresses most programs start in half the time.
AT_REST = "norandmaps"


@dataclass
class Job:
    """One script to run."""

    config: TestConfig
    script: str
    args: list
    env: dict = field(default_factory=dict)
    timeout: int = 600
    smp: int = 2
    memory: int | None = None
    cmdline: str = ""
    # The guest's time counts instructions (QEMU only).
    icount: bool = False
    # The guest's processes may run on any processor (User Mode Linux only).
    spread: bool = False
    kmemleak: bool = False
    name: str | None = None
    quiet: bool = False
    expect: list = field(default_factory=list)
    # Texts by file name; the script finds them in /lab.
    files: dict = field(default_factory=dict)
    # Called with the machine's process id and the run's directory.
    started: Callable | None = None


@dataclass
class Outcome:
    """The result of a run, and the directory of its files."""

    good: bool
    directory: Path


def new_run_directory(name):
    """build/lab/<time>-<name>/, also reachable as build/lab/last."""
    stamp = time.strftime("%m%d-%H%M%S")
    RUNS.mkdir(parents=True, exist_ok=True)
    for suffix in ("", *(f".{n}" for n in range(1, 100))):
        path = RUNS / f"{stamp}-{name}{suffix}"
        try:
            path.mkdir()
        except FileExistsError:
            continue
        (path / "out").mkdir()
        link = RUNS / f".last-{os.getpid()}"
        link.symlink_to(path.name)
        link.replace(RUNS / "last")
        return path
    raise LabError(f"cannot create {path}")


def shell_words(name, value):
    """An assignment bash and busybox can both read."""
    return f"{name}={shlex.quote(str(value))}\n"


def write_job(directory, config, mode, env, guest_timeout, script="", args=()):
    text = "".join(
        shell_words(key, value)
        for key, value in {
            "MPA_REPO": REPO,
            "LAB_MODULES": config.modules(),
            "LAB_CONFIG": config.suites(),
            "LAB_MACHINE": config.machine,
            "LAB_MODE": mode,
            "LAB_SCRIPT": script,
            "LAB_GUEST_TIMEOUT": guest_timeout,
            "IBV_DRIVERS": PROVIDER,
            **env,
        }.items()
    )
    # One string for the boot shell, which has no arrays; bash splits it.
    quoted = " ".join(shlex.quote(str(arg)) for arg in args)
    text += shell_words("LAB_ARGLINE", quoted)
    (directory / "job").write_text(text, encoding="utf-8")


def guest_script(script, directory):
    """The path of the script in the guest, where /tmp and other directories are
    separate."""
    if script.is_relative_to(REPO):
        return script
    shutil.copy(script, directory / "script")
    return "/lab/script"


def cpu_options(processor, icount):
    if icount:
        # One nanosecond per instruction. While all processors are idle, time passes as
        # on the host: with sleep=off it would leap to the next timer, and what waits
        # for a file of a busy host would find its limits over. The processors take
        # turns, and yield with `pause` and `hlt`.
        return ["-accel", "tcg,thread=single", "-cpu", processor,
                "-icount", "shift=0,sleep=on"]
    accelerator = os.environ.get("ACCEL", "tcg")
    if accelerator == "tcg":
        return ["-accel", "tcg,thread=multi", "-cpu", processor]
    return ["-accel", accelerator, "-cpu", "host"]


def command_line(config, directory, console, smp, memory, cmdline, icount=False):
    """The whole QEMU command."""
    def port(name):
        return ["-chardev", f"file,id={name},path={directory}/{name}.log",
                "-device", f"virtserialport,chardev={name},name=lab.{name}"]

    def share(name, path, options):
        return ["-fsdev", f"local,id={name},path={path},security_model=none"
                          f",multidevs=remap{options}",
                "-device", f"virtio-9p-pci,fsdev={name},mount_tag=lab-{name}"]

    return config.machine_command([
        *config.emulator, "-nodefaults", "-no-user-config", "-no-reboot",
        "-display", "none", *cpu_options(config.processor, icount),
        "-smp", f"{smp},sockets={smp}", "-m", str(memory or config.memory),
        "-kernel", str(config.image()), "-initrd", str(config.initramfs()),
        "-append", f"console={config.console} {PATIENT} {AT_REST} panic=-1 oops=panic "
                   f"{config.cmdline} {cmdline}",
        *console,
        *share("root", config.root, ",readonly=on"),
        *share("run", directory, ""),
        "-device", "virtio-serial-pci", *port("out"), *port("result"),
    ])


class Follower:
    """Copies what is appended to a file to standard output."""

    def __init__(self, path, enabled):
        self._path = path
        self._enabled = enabled
        self._offset = 0

    def copy(self):
        if not self._enabled or not self._path.exists():
            return
        with open(self._path, "rb") as source:
            source.seek(self._offset)
            data = source.read()
        self._offset += len(data)
        sys.stdout.buffer.write(data)
        sys.stdout.flush()


def follow(process, directory, timeout, quiet):
    """Waits for the VM; returns False when it had to be stopped."""
    follower = Follower(directory / "out.log", not quiet)
    deadline = time.monotonic() + timeout
    try:
        while process.poll() is None:
            follower.copy()
            if time.monotonic() > deadline:
                return False
            time.sleep(0.1)
        return True
    finally:
        stop(process)
        follower.copy()


def stop(process):
    """Ends the VM in any state."""
    if isinstance(process, uml.Machine):
        process.stop()
        return
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def read(path):
    return path.read_text("utf-8", errors="replace") if path.exists() else ""


def keep_command(command, directory):
    (directory / "command").write_text(shlex.join(command) + "\n", "utf-8")
    return command


def start(command, directory, **options):
    return subprocess.Popen(
        keep_command(command, directory),
        env={**os.environ, "PATH": SEARCH_PATH}, **options
    )


def start_job(job, directory, log, number):
    """Starts the machine of a job; returns a process as follow() expects it. number: of
    its place."""
    cmdline = job.cmdline if job.kmemleak else f"kmemleak=off {job.cmdline}"
    if job.config.machine == "uml":
        return uml.start(
            lambda lines: keep_command(uml.command_line(
                job.config, directory, job.memory, cmdline, lines, job.spread, number),
                directory),
            directory, {**os.environ, "PATH": SEARCH_PATH}, log)
    return start(command_line(
        job.config, directory,
        ["-chardev", f"file,id=console,path={directory}/console.log",
         "-serial", "chardev:console"],
        job.smp, job.memory, cmdline, job.icount,
    ), directory, stdin=subprocess.DEVNULL, stdout=log, stderr=log)


def came_up(process, directory, limit):
    """Waits for a guest's first message, or its end. False: neither came in time."""
    deadline = time.monotonic() + limit
    while process.poll() is None and not read(directory / "result.log"):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def boot(start_one, directory, limit=BOOT_TIME):
    """Calls start_one() until a machine has booted, and returns it.

    Sometimes an emulated machine hangs in the first second of its kernel, before any of
    our modules is loaded, and is started again. A machine that ends is not; its result
    shows the failure.
    """
    for number in range(1, BOOTS):
        process = start_one()
        up = False
        try:
            up = came_up(process, directory, limit)
        finally:
            if not up:
                stop(process)
        if up:
            return process
        say(f"the kernel did not come up within {limit} s: starting the machine "
            "again")
        console = directory / "console.log"
        if console.exists():
            console.rename(directory / f"console-{number}.log")
    return start_one()


def newer_sources():
    """A source of the stock modules that is newer than they are, or None."""
    modules = [path.stat().st_mtime for path in REPO.glob("*.ko")]
    if not modules:
        return None
    for directory in ("kernel", "uapi"):
        for path in (REPO / directory).rglob("*.[ch]"):
            if path.stat().st_mtime > min(modules) and ".mod." not in path.name:
                return path.relative_to(REPO)
    return None


def warn_if_stale(config):
    newer = newer_sources() if config.name == "stock" else None
    if newer:
        say(f"note: {newer} is newer than the modules, `make` would rebuild them")


def take_any(locks):
    """Number of the lock file that could be taken, or None."""
    for number, lock in enumerate(locks):
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return number
    return None


def places(machine):
    """How many VMs of a kind may run at the same time.

    Emulated ones that share a processor run into timeouts. User Mode Linux waits a good
    part of its time: one more fills the gaps.
    """
    return (os.cpu_count() or 1) + int(machine == "uml")


@contextlib.contextmanager
def place(machine):
    """Waits until one more VM of a kind may run; yields the number of its place."""
    RUNS.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        locks = [
            stack.enter_context(open(RUNS / f".place-{machine}-{n}", "w",
                                     encoding="utf-8"))
            for n in range(places(machine))
        ]
        waited = 0
        while (number := take_any(locks)) is None:
            if waited % 60 == 0:
                say("waiting for another VM to end")
            time.sleep(1)
            waited += 1
        yield number


def run(job):
    """Runs one script; prints and stores the result, returns the Outcome."""
    # Not resolve(): a script may look at the name of the link to it.
    script = Path(job.script).absolute()
    if not script.is_file():
        raise LabError(f"no such script: {job.script}")
    closing = CLOSING_TIME + (LEAK_SCAN_TIME if job.kmemleak else 0)
    if job.timeout <= closing:
        raise LabError(f"the timeout of this run must exceed {closing} s")
    warn_if_stale(job.config)
    name = job.name or f"{script.stem}-{job.config.name}"
    directory = new_run_directory(name)
    write_job(directory, job.config, "run", job.env, job.timeout - closing,
              guest_script(script, directory), job.args)
    for file, text in job.files.items():
        (directory / file).write_text(text, encoding="utf-8")
    say(f"{name}: booting {job.config.release()}, "
        f"everything goes to {directory.relative_to(REPO)}/")
    with place(job.config.machine) as number, open(directory / "qemu.log", "wb") as log:
        started = time.monotonic()

        def start_one():
            process = start_job(job, directory, log, number)
            if job.started:
                job.started(process.pid, directory)
            return process

        process = boot(start_one, directory)
        in_time = follow(process, directory, job.timeout, job.quiet)
        seconds = time.monotonic() - started
    return conclude(job, name, directory, in_time, seconds, process.poll())


def conclude(job, name, directory, in_time, seconds, status):
    said = read(directory / "out.log")
    totals = results.read_tap(said)
    alarms = results.alarms_with_context(
        read(directory / "console.log") + read(directory / "dmesg"), job.expect,
        foreign=job.config.foreign
    )
    # The console and the kernel's log have most of them both.
    races = (results.foreign_races(read(directory / "console.log"))
             | results.foreign_races(read(directory / "dmesg")))
    words = results.read_words(read(directory / "result.log"))
    leaks = results.all_leaks(read(directory / "out" / "kmemleak"))
    reasons = results.reasons(words, totals, [lines[0] for lines in alarms],
                            job.kmemleak, leaks, job.expect)
    if not in_time:
        reasons.insert(0, f"stopped after {job.timeout} s")
    if in_time and "end" not in words:
        reasons.append(f"{job.config.machine} ended with status {status}")
    if "boot" not in words:
        reasons += read(directory / "qemu.log").strip().splitlines()[:3]
    (directory / "result.json").write_text(json.dumps({
        "name": name, "config": job.config.name, "seconds": round(seconds, 1),
        "passed": totals.passed, "failed": totals.failed,
        "skipped": totals.skipped, "good": not reasons, "reasons": reasons,
        "failures": totals.failures, "foreign_races": races, "directory": str(directory),
    }, indent=1) + "\n", encoding="utf-8")
    say(f"{name}: {totals}, {seconds:.0f} s: {'GOOD' if not reasons else 'FAILED'}")
    for reason in reasons:
        say(f"  {reason}")
    for text, count in races.most_common():
        say(f"  not counted: {count} KCSAN report(s) on {text}")
    evidence = results.read_evidence(said)[:EVIDENCE] + alarms[:1] + results.own_leaks(leaks)[:EVIDENCE]
    for lines in evidence:
        for line in lines:
            say(f"  | {line}")
    if reasons and "end" not in words:
        tail = read(directory / "console.log").splitlines()[-20:]
        say("last lines of the console:")
        sys.stderr.writelines(f"  {line}\n" for line in tail)
    return Outcome(not reasons, directory)


def shell(config, smp, memory):
    """Connects the caller's terminal to the console of a VM."""
    if not sys.stdin.isatty():
        raise LabError("a shell needs a terminal")
    if config.machine != "qemu":
        raise LabError(f"the {config.name} configuration has no shell, it only "
                       "runs scripts")
    warn_if_stale(config)
    directory = new_run_directory(f"shell-{config.name}")
    size = shutil.get_terminal_size()
    write_job(directory, config, "shell", {
        "LAB_TERM": os.environ.get("TERM", "vt100"),
        "LAB_ROWS": size.lines, "LAB_COLUMNS": size.columns,
    }, 0)
    command = command_line(
        config, directory,
        ["-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console"],
        smp, memory, "quiet loglevel=4",
    )
    say("booting; `exit` ends the VM, files left in /lab/out stay in "
        f"{directory.relative_to(REPO)}/out")
    stop_on_exit = start(command, directory)
    try:
        stop_on_exit.wait()
    finally:
        stop(stop_on_exit)
