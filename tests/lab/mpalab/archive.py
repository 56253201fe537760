# SPDX-License-Identifier: GPL-2.0-only
"""Packages of other Debian releases and architectures, by name, from the machine's own mirror.

apt runs with directories of ours (in build/cache/apt), its own list of sources and an
empty list of installed packages: the machine's configuration is read, never changed.
Packages are unpacked with dpkg -x, not installed.
"""

import os
import platform
import re
import shutil
import time
from functools import cached_property
from pathlib import Path

from .common import CACHE, LabError, as_root, locked, output_of, say

# The suites of the mirror that are used, by the suite of the machine's sources whose
# address they share.
SUITES = {
    "main": ("bookworm", "bookworm-backports", "trixie", "trixie-backports"),
    "security": ("bookworm-security", "trixie-security"),
}
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
# Seconds after which the lists are fetched again.
FRESH = 24 * 3600


def mirrors():
    """The addresses of the Debian mirror: {"main": ..., "security": ...}."""
    text = output_of("apt-get", "--print-uris", "update")
    codename = platform.freedesktop_os_release().get("VERSION_CODENAME", "")
    kinds = {codename: "main", f"{codename}-security": "security"}
    found = {}
    for address, release in re.findall(r"^'(\S+/)dists/(\S+)/InRelease' ", text, re.M):
        if release in kinds:
            found.setdefault(kinds[release], address)
    if "main" not in found:
        raise LabError("apt has no source of Debian's packages")
    return found


class Archive:
    """An apt of ours for one architecture."""

    def __init__(self, architecture="amd64"):
        self.architecture = architecture
        # The directory, and the locks.
        self.name = architecture
        self.home = CACHE / "apt" / self.name

    def _apt(self, program, *arguments):
        options = {
            "Dir": self.home,
            "Dir::State::status": self.home / "status",
            "Dir::Etc::trusted": KEYRING,
            "APT::Architecture": self.architecture,
            "APT::Architectures": self.architecture,
            "APT::Get::AllowUnauthenticated": "false",
            "APT::Install-Recommends": "false",
            "Acquire::Languages": "none",
            "APT::Sandbox::User": "root",
        }
        return output_of(program, "-q", *(word for name, value in options.items()
                                          for word in ("-o", f"{name}={value}")),
                         *arguments, cwd=self.home)

    @cached_property
    def ready(self):
        """Fetches the lists of packages if they are old."""
        stamp = self.home / "updated"
        with locked(CACHE / "apt" / f"{self.name}.lock"):
            sources = self._sources()
            if (stamp.exists() and stamp.read_text("utf-8") == sources
                    and stamp.stat().st_mtime > time.time() - FRESH):
                return True
            for directory in ("etc/apt/apt.conf.d", "etc/apt/preferences.d",
                              "etc/apt/sources.list.d", "var/lib/apt/lists/partial",
                              "var/cache/apt/archives/partial", "debs"):
                (self.home / directory).mkdir(parents=True, exist_ok=True)
            (self.home / "status").touch()
            (self.home / "etc/apt/sources.list").write_text(sources, "utf-8")
            say(f"fetching lists of Debian packages ({self.name})")
            self._apt("apt-get", "update")
            stamp.write_text(sources, "utf-8")
        return True

    @staticmethod
    def _sources():
        return "".join(f"deb [signed-by={KEYRING}] {address} {suite} main\n"
                       for kind, address in mirrors().items()
                       for suite in SUITES[kind])

    def versions(self, package, release=""):
        """Versions of a package, the newest first; release: only those of that release and
        its backports."""
        assert self.ready
        rows = [[column.strip() for column in line.split("|")]
                for line in self._apt("apt-cache", "madison", package).splitlines()]
        return [version for _, version, source in rows if f" {release}" in source]

    def names(self, pattern):
        """Names of packages that match a regular expression."""
        assert self.ready
        return [name for name in self._apt("apt-cache", "pkgnames").split()
                if re.fullmatch(pattern, name)]

    def depends(self, package):
        """What a package depends on, by name."""
        assert self.ready
        text = self._apt("apt-cache", "depends", package)
        return re.findall(r"^\s+Depends: ([^<\s]\S*)$", text, re.MULTILINE)

    def closure(self, package, pattern):
        """A package and what it depends on, as far as names match the pattern."""
        found, wanted = [], [package]
        while wanted:
            one = wanted.pop()
            if one not in found:
                found.append(one)
                wanted += [name for name in self.depends(one)
                           if re.match(pattern, name)]
        return found

    def fetch(self, package, version=None):
        """The file of a package."""
        assert self.ready
        version = version or (self.versions(package) or [None])[0]
        if version is None:
            raise LabError(f"the mirror has no package {package} "
                           f"({self.architecture})")
        directory = self.home / "debs" / f"{package}_{version.replace(':', '%3a')}"
        with locked(CACHE / "apt" / f"fetch-{self.architecture}.lock"):
            if not list(directory.glob("*.deb")):
                shutil.rmtree(directory, ignore_errors=True)
                part = directory.with_name(f"{directory.name}.part")
                shutil.rmtree(part, ignore_errors=True)
                part.mkdir()
                say(f"fetching {package} {version} ({self.architecture})")
                self._apt("apt-get", "download", f"{package}={version}")
                for file in self.home.glob("*.deb"):
                    file.rename(part / file.name)
                part.rename(directory)
        return next(directory.glob("*.deb"))

    def unpack(self, package, target, version=None):
        """Unpacks a package into a directory, with the rights of its owner."""
        target.mkdir(parents=True, exist_ok=True)
        words = ["dpkg", "-x", str(self.fetch(package, version)), str(target)]
        output_of(*(words if os.access(target, os.W_OK) else as_root(words)))

    def unpack_all(self, packages, target):
        """Unpacks packages, ?essential among them, and all that they depend on."""
        assert self.ready
        files = self.home / "closure"
        with locked(CACHE / "apt" / f"closure-{self.architecture}.lock"):
            shutil.rmtree(files, ignore_errors=True)
            (files / "partial").mkdir(parents=True)
            say(f"fetching packages for {self.architecture} with what they need")
            self._apt("apt-get", "-y", "--download-only", "-o",
                      f"Dir::Cache::archives={files}", "install", *packages)
            for deb in sorted(files.glob("*.deb")):
                output_of(*as_root(["dpkg", "-x", str(deb), str(target)]))
            shutil.rmtree(files)


class SourceArchive(Archive):
    """An apt of ours for the source packages of the machine's own release."""

    def __init__(self):
        super().__init__()
        self.name = "source"
        self.home = CACHE / "apt" / self.name

    @staticmethod
    def _sources():
        codename = platform.freedesktop_os_release().get("VERSION_CODENAME", "")
        return f"deb-src [signed-by={KEYRING}] {mirrors()['main']} {codename} main\n"

    def unpack_source(self, package, target):
        """Unpacks a source package, with Debian's patches, into a directory that does not
        exist."""
        assert self.ready
        with locked(CACHE / "apt" / f"fetch-{self.name}.lock"):
            for old in self.home.glob(f"{package}_*"):
                old.unlink()
            say(f"fetching the source package {package}")
            self._apt("apt-get", "source", "--download-only", package)
            found = next(self.home.glob(f"{package}_*.dsc"))
            target.parent.mkdir(parents=True, exist_ok=True)
            output_of("dpkg-source", "-x", str(found), str(target))
