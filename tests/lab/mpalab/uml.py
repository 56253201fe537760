# SPDX-License-Identifier: GPL-2.0-only
"""Starts a User Mode Linux kernel, and stores the output of its lines.

The kernel is a program on the host. Its root file system is the host's, through hostfs.
Its console and two serial lines are sockets that are read here, because the kernel
waits for both directions of a line, which does not work with files.
"""

import os
import signal
import socket
import subprocess
import threading

# Line of the kernel, and the log for its output. In the guest the serial lines are
# ttyS1 and ttyS2, see guest/init.
LINES = (("con0", "console"), ("ssl1", "out"), ("ssl2", "result"))
# Without it the kernel would choose a directory of the user.
STATE = "uml"


def one_processor(place):
    """Prefix of a command that keeps it on one processor of the host, a different one
    for each place.

    The guest has one processor as well, but its programs are separate processes of the
    host. On other processors, each of their system calls would wake a processor and
    wait for it: four times as many small messages were transferred on one.
    """
    processors = sorted(os.sched_getaffinity(0), reverse=True)
    return ["taskset", "-c", str(processors[place % len(processors)])]


def command_line(config, directory, memory, cmdline, lines, spread=False, place=0):
    """The command. lines: (name of the line, UML's channel); spread: on any processor
    of the host, not only on that of its place."""
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
    """Copies the output of a line into a file, without delay, until it ends."""
    with line, open(path, "ab", 0) as sink:
        while data := line.recv(65536):
            sink.write(data)


class Machine:
    """The running kernel, with the methods of Popen that the lab needs."""

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
        """Ends the kernel and the processes that it runs guest programs in."""
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
    """command_with(lines): returns the command for these lines."""
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
