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
from .common import BUILD, LabError, copy_sources, group_sources, run_logged
from .roots import COMPILERS, CROSS_COMPILERS, Root

HEADERS = re.compile(
    r"linux-headers-(?P<release>(?P<series>\d+\.\d+)\.(?P<patch>\d+)"
    # Debian 12 counts its own versions of 6.1.
    r"(?:-(?P<count>\d+)|\+deb(?P<debian>\d+)(?:\.\d+)?)"
    r"-(?P<flavour>(?:rt-|cloud-)?(?P<architecture>amd64|arm64)))")
# Nothing reads debug information here, and it takes a third of the time of a build.
WITHOUT_DEBUG_INFO = ("KCFLAGS=-g0", "CONFIG_DEBUG_INFO_BTF_MODULES=")
# Lines of a build that say nothing about our code.
HARMLESS = re.compile(r"(pahole version|the compiler) differs from the one")
SUITE = "trixie"
CROSS = "aarch64-linux-gnu-"


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
    def architecture(self):
        return self.flavour.rpartition("-")[2]

    @property
    def cloud(self):
        """Without RDMA."""
        return self.flavour.startswith("cloud-")

    @property
    def realtime(self):
        return self.flavour.startswith("rt-")

    @property
    def ordinary(self):
        return self.flavour == self.architecture

    @property
    def package(self):
        return f"linux-headers-{self.release}"

    def __str__(self):
        return self.release


def find(archive, name):
    """The kernel called name: a release, or a series such as 7.3 for its newest kernel of
    the ordinary flavour, of the newest Debian."""
    found = kernels(archive)
    for kernel in sorted(found, key=lambda one: one.debian, reverse=True):
        series = ".".join(map(str, kernel.version[:2]))
        if kernel.release == name or (series == name and kernel.ordinary):
            return kernel
    raise LabError(f"the mirror has no kernel {name}, only "
                   + ", ".join(map(str, found)))


def kernels(archive):
    """The newest kernel of each series, release and flavour. Of those for clouds, only
    the newest series."""
    newest = {}
    for name in archive.names(HEADERS.pattern):
        found = HEADERS.fullmatch(name)
        last = found["count"] if found["count"] else found["patch"]
        kernel = Kernel((*map(int, found["series"].split(".")), int(last)),
                        int(found["debian"] or 12), found["flavour"], found["release"])
        key = found["series"], kernel.debian, kernel.flavour
        newest[key] = max(kernel, newest.get(key, kernel))
    if not newest:
        raise LabError("the mirror offers no kernel headers of other releases")
    latest = max(kernel.version for kernel in newest.values())
    return sorted(kernel for kernel in newest.values()
                  if not kernel.cloud or kernel.version == latest)


class Builder:
    """Builds modules for Debian's kernels, for amd64 or across for arm64."""

    def __init__(self, architecture="amd64"):
        self.archive = Archive(architecture)
        # The programs that build run here.
        self.tools = Archive()
        self.root = Root(SUITE, [*COMPILERS[SUITE],
                                 *CROSS_COMPILERS.get(architecture, ())])

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
                archive = self.tools if "kbuild" in package else self.archive
                archive.unpack(package, root)
                stamp.touch()

    def unpack_image(self, kernel, target):
        """Unpacks the image of a kernel and its modules."""
        for package in self.archive.closure(f"linux-image-{kernel.release}",
                                            r"linux-(base|binary|modules)-\d"):
            self.archive.unpack(package, target)

    @staticmethod
    def variables(kernel):
        host = f"HOSTCC={kernel.compiler}"
        if kernel.architecture == "amd64":
            return [f"CC={kernel.compiler}", host]
        return ["ARCH=arm64", f"CROSS_COMPILE={CROSS}", f"CC={CROSS}{kernel.compiler}", host]

    @staticmethod
    def directory(kernel):
        """Where the modules for a kernel are built."""
        return BUILD / "kernels" / kernel.release

    @staticmethod
    def log(kernel):
        return BUILD / "lab" / f"modules-{kernel.release}.log"

    def build(self, kernel, grouped=False):
        """Builds the modules for a kernel; returns the warnings of the compiler.

        grouped: see group_sources(). These modules are not for use."""
        self.headers(kernel)
        home = self.directory(kernel)
        if grouped:
            home = home.with_name(f"{home.name}-grouped")
        copy_sources(home)
        if grouped:
            group_sources(home)
        run_logged(
            self.root.command(
                ["make", "-C", f"/usr/src/{kernel.package}", "M=/mnt", "-j2",
                 *self.variables(kernel), *WITHOUT_DEBUG_INFO, "modules"],
                [(home, "/mnt")]),
            self.log(kernel), f"modules for {kernel}", unit="  CC")
        return [line for line in self.log(kernel).read_text("utf-8").splitlines()
                if "warning:" in line.lower() and not HARMLESS.search(line)]
