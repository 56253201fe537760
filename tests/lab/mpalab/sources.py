# SPDX-License-Identifier: GPL-2.0-only
"""Sources of Linux, from Debian's packages linux-source-*, with Debian's patches: those of
this machine's package, and those of other series from the mirror, with what ../patches
adds. They are unpacked in the cache and never changed there.
"""

import re
import shutil
from functools import cached_property
from pathlib import Path

from .archive import Archive
from .common import (CACHE, LabError, digest, locked, output_of, package_version,
                     say)

# Patches without which the kernels of the lab do not run everywhere, or much slower, and the
# series that need them.
PATCHES = {"uml-xstate.patch": ("6.1", "6.12"), "uml-processes.patch": ("6.1",),
           "uml-stacktrace.patch": ("6.1", "6.12", "7.3")}
DIRECTORY = Path(__file__).resolve().parents[1] / "patches"
PACKAGE = re.compile(r"linux-source-(\d+)\.(\d+)")
# Headers of graphics cards, a third of all lines, and of no use here.
UNUSED = "drivers/gpu/drm/amd/include"


def numbers(series):
    return tuple(int(number) for number in series.split("."))


def series_of(archive):
    """Series of which the mirror has sources, the oldest first."""
    names = archive.names(PACKAGE.pattern)
    if not names:
        raise LabError("the mirror offers no sources of Linux")
    return sorted((name.removeprefix("linux-source-") for name in names), key=numbers)


class Sources:
    """The sources of a series, such as 6.1."""

    def __init__(self, series):
        self.series = series
        self.package = f"linux-source-{series}"

    @cached_property
    def patches(self):
        return [DIRECTORY / name for name, series in PATCHES.items()
                if self.series in series]

    @cached_property
    def package_version(self):
        return package_version(self.package)

    @property
    def version(self):
        """Of the package, and of the patches."""
        if not self.patches:
            return self.package_version
        return f"{self.package_version}+{digest(*self.patches)[:8]}"

    @property
    def tree(self):
        """Where they are unpacked."""
        return CACHE / "source" / f"linux-{self.version.replace('~', '-')}"

    def unpacked(self):
        """Unpacks them if that was not done yet; returns the directory."""
        with locked(CACHE / "source" / f"{self.series}.lock"):
            if not self.tree.exists():
                for old in self.tree.parent.glob(f"linux-{self.series}.*/"):
                    shutil.rmtree(old)
                part = self.tree.with_name(f"{self.tree.name}.part")
                part.mkdir(parents=True)
                say(f"unpacking the sources of Linux {self.version}")
                self.unpack(part)
                for patch in self.patches:
                    output_of("patch", "-s", "--no-backup-if-mismatch", "-p1", "-d",
                              str(part), "-i", str(patch))
                part.rename(self.tree)
        return self.tree

    def unpack(self, target):
        self.untar(Path("/usr/src"), target)

    def untar(self, directory, target):
        file = directory / f"{self.package}.tar.xz"
        if not file.exists():
            raise LabError(f"{file} is missing: run scripts/deps")
        output_of("tar", "-xJf", str(file), "-C", str(target), "--strip-components=1",
                  f"--exclude=*/{UNUSED}/*")

    @cached_property
    def options(self):
        """The options of the kernel's configuration in this series."""
        text = output_of("grep", "-rhoE", r"^\s*(menu)?config \w+", "--include=Kconfig*",
                         str(self.unpacked()))
        return {f"CONFIG_{line.split()[1]}" for line in text.splitlines()}


class MirrorSources(Sources):
    """Sources that the machine has not installed."""

    def __init__(self, series):
        super().__init__(series)
        self.archive = Archive()

    @cached_property
    def package_version(self):
        versions = self.archive.versions(self.package)
        if not versions:
            raise LabError(f"the mirror has no sources of Linux {self.series}, only of "
                           + ", ".join(series_of(self.archive)))
        return versions[0]

    def unpack(self, target):
        package = target / "package"
        self.archive.unpack(self.package, package, self.package_version)
        self.untar(package / "usr" / "src", target)
        shutil.rmtree(package)
