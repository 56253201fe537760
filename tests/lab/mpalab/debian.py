# SPDX-License-Identifier: GPL-2.0-only
"""Kernels of Debian's releases and backports: what the mirror offers, and modules of this
repository built for them.

The headers are unpacked into the root of a release that has the compilers, where modules
are built. Of each series (6.12 of Debian 12, 7.3 of Debian 13 ...) the newest kernel is
used, with and without PREEMPT_RT.
"""

import re
from dataclasses import dataclass

from .archive import Archive
from .common import BUILD, LabError, copy_sources, run_logged
from .roots import COMPILERS, Root

HEADERS = re.compile(
    r"linux-headers-(?P<release>(?P<series>\d+\.\d+)\.(?P<patch>\d+)\+deb(?P<debian>\d+)"
    r"(?:\.\d+)?-(?P<flavour>(?:rt-)?(?:amd64|arm64)))")
# Lines of a build that say nothing about our code.
HARMLESS = re.compile(r"(pahole version|the compiler) differs from the one")
SUITE = "trixie"


@dataclass(frozen=True, order=True)
class Kernel:
    """A kernel of Debian for which headers can be had."""

    version: tuple
    debian: int
    flavour: str
    release: str

    @property
    def compiler(self):
        return "gcc-12" if self.debian == 12 else "gcc-14"

    @property
    def realtime(self):
        return self.flavour.startswith("rt-")

    @property
    def package(self):
        return f"linux-headers-{self.release}"

    def __str__(self):
        return self.release


def find(archive, name):
    """The kernel called name: a release, or a series such as 7.3 for its newest kernel
    without PREEMPT_RT, of the newest Debian."""
    found = kernels(archive)
    for kernel in sorted(found, key=lambda one: one.debian, reverse=True):
        series = ".".join(map(str, kernel.version[:2]))
        if kernel.release == name or (series == name and not kernel.realtime):
            return kernel
    raise LabError(f"the mirror has no kernel {name}, only "
                   + ", ".join(map(str, found)))


def kernels(archive):
    """The newest kernel of each series, release and flavour."""
    newest = {}
    for name in archive.names(HEADERS.pattern):
        found = HEADERS.fullmatch(name)
        kernel = Kernel((*map(int, found["series"].split(".")), int(found["patch"])),
                        int(found["debian"]), found["flavour"], found["release"])
        key = found["series"], kernel.debian, kernel.flavour
        newest[key] = max(kernel, newest.get(key, kernel))
    if not newest:
        raise LabError("the mirror offers no kernel headers of other releases")
    return sorted(newest.values())


class Builder:
    """Builds modules for Debian's kernels."""

    def __init__(self, architecture="amd64"):
        self.archive = Archive(architecture)
        self.root = Root(SUITE, COMPILERS[SUITE])

    def kernels(self):
        return kernels(self.archive)

    def headers(self, kernel):
        """Unpacks the headers of a kernel and what they consist of."""
        root = self.root.prepare()
        stamps = root.with_name(f"{root.name}.unpacked")
        stamps.mkdir(exist_ok=True)
        for package in self.archive.closure(kernel.package,
                                            r"linux-(headers|kbuild)-\d"):
            stamp = stamps / package
            if not stamp.exists():
                self.archive.unpack(package, root)
                stamp.touch()

    def unpack_image(self, kernel, target):
        """Unpacks the image of a kernel and its modules."""
        for package in self.archive.closure(f"linux-image-{kernel.release}",
                                            r"linux-(base|binary|modules)-\d"):
            self.archive.unpack(package, target)

    @staticmethod
    def directory(kernel):
        """Where the modules for a kernel are built."""
        return BUILD / "kernels" / kernel.release

    @staticmethod
    def log(kernel):
        return BUILD / "lab" / f"modules-{kernel.release}.log"

    def build(self, kernel):
        """Builds the modules for a kernel; returns the warnings of the compiler."""
        self.headers(kernel)
        home = self.directory(kernel)
        copy_sources(home)
        run_logged(
            self.root.command(
                ["make", "-C", f"/usr/src/{kernel.package}", "M=/mnt", "-j2",
                 f"CC={kernel.compiler}", f"HOSTCC={kernel.compiler}", "modules"],
                [(home, "/mnt")]),
            self.log(kernel), f"modules for {kernel}", unit="  CC")
        return [line for line in self.log(kernel).read_text("utf-8").splitlines()
                if "warning:" in line.lower() and not HARMLESS.search(line)]
