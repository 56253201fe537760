# SPDX-License-Identifier: GPL-2.0-only
"""Starts a User Mode Linux kernel, and keeps what it says on its lines.

The kernel is a program of the machine. Its root file system is the machine's,
through hostfs; its console and two serial lines are sockets, read here, because it
waits for both directions of a line, and cannot do so with files.
"""

import os
import signal
import socket
import subprocess
import threading

# Line of the kernel, and the log that gets what is written to it. The guest knows
# the serial lines as ttyS1 and ttyS2, see guest/init.
LINES = (("con0", "console"), ("ssl1", "out"), ("ssl2", "result"))
# Without it the kernel would look for a place among the user's own files.
STATE = "uml"


def one_processor(place):
    """What makes a command keep to one processor of the machine's, another one at
    each place.

    The guest has one as well, but its programs are processes of the machine's
    beside its kernel's. Elsewhere, each system call of theirs wakes a processor
    and waits for it: four times as many small messages went through without that.
    """
    processors = sorted(os.sched_getaffinity(0), reverse=True)
    return ["taskset", "-c", str(processors[place % len(processors)])]


def command_line(config, directory, memory, cmdline, lines, spread=False, place=0):
    """The command; lines: (name of the line, UML's channel); spread: on whatever
    processors the machine likes, not on that of its place."""
    return [
        *([] if spread else one_processor(place)),
        str(config.image()), f"mem={memory or config.memory}M",
        f"initrd={config.initramfs()}", f"uml_dir={directory / STATE}/", "umid=lab",
        "noreboot", "con=null", "ssl=null",
        *(f"{name}={channel}" for name, channel in lines),
        "panic=-1", "oops=panic", f"LAB_RUN={directory}",
        *config.cmdline.split(), *cmdline.split(),
    ]


def copy(line, path):
    """What the kernel says on a line, into a file, at once and to its end."""
    with line, open(path, "ab", 0) as sink:
        while data := line.recv(65536):
            sink.write(data)


class Machine:
    """The running kernel, as much of a Popen as the lab needs."""

    def __init__(self, process, copiers):
        self._process = process
        self._copiers = copiers

    @property
    def pid(self):
        """Of the kernel's own process, which leads the session of the others."""
        return self._process.pid

    def poll(self):
        return self._process.poll()

    def stop(self):
        """Ends the kernel and the processes it keeps for those of the guest."""
        if self.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(5)
            except subprocess.TimeoutExpired:
                pass
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._process.wait()
        for copier in self._copiers:
            copier.join()


def start(command_with, directory, environment, log):
    """command_with(lines): the command, once the lines are known."""
    lines, copiers, ends = [], [], []
    for name, path in LINES:
        line, end = socket.socketpair()
        lines.append((name, f"fd:{end.fileno()}"))
        ends.append(end)
        copiers.append(threading.Thread(
            target=copy, args=(line, directory / f"{path}.log"), daemon=True))
    command = command_with(lines)
    process = subprocess.Popen(
        command, env=environment, start_new_session=True,
        pass_fds=[end.fileno() for end in ends],
        stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    for end in ends:
        end.close()
    for copier in copiers:
        copier.start()
    return Machine(process, copiers)
