# SPDX-License-Identifier: GPL-2.0-only
"""Root directories of other Debian releases, made by debootstrap, and of other
architectures, unpacked from packages.

Programs run in those of this architecture with chroot, in a mount namespace of their own.
Roots are cached in build/cache/roots by release and packages.
"""

import os
import shlex

from .archive import KEYRING, Archive, mirrors
from .common import BUILD, CACHE, REPO, as_root, digest, locked, output_of, run_logged
from .common import say

# What building modules takes. Kernels are built by the compilers of their releases.
COMPILERS = {"trixie": ("gcc-12", "gcc-14", "libelf1t64", "make", "pahole")}
CROSS_COMPILERS = {"arm64": ("gcc-12-aarch64-linux-gnu", "gcc-14-aarch64-linux-gnu")}
# What building the programs for another architecture takes, and its variables.
CROSS_LIBRARIES = ("libfmt-dev", "libibverbs-dev", "libnl-3-dev", "libnl-genl-3-dev",
                   "librdmacm-dev", "liburing-dev")
CROSS_PROGRAMS = {"arm64": (
    ["g++-aarch64-linux-gnu", "libcli11-dev", "make", "nlohmann-json3-dev", "pkgconf",
     "python3-minimal", *(f"{library}:arm64" for library in CROSS_LIBRARIES)],
    ["CC=aarch64-linux-gnu-gcc", "CXX=aarch64-linux-gnu-g++",
     "READELF=aarch64-linux-gnu-readelf",
     "PKG_CONFIG=env PKG_CONFIG_LIBDIR=/usr/lib/aarch64-linux-gnu/pkgconfig pkg-config"],
)}
# What runs in VMs of another architecture.
FOREIGN = ("?essential", "busybox-static", "ethtool", "ibverbs-providers", "ibverbs-utils",
           "iproute2", "iputils-ping", "kmod", "libfmt10", "libnl-genl-3-200", "perftest",
           "procps", "python3", "rdma-core", "rdmacm-utils", "wireshark-common")

# Packages of scripts/deps that another release does not have, or that only builds on the
# host and their VMs take.
HOST_ONLY = {"clang-14", "libclang-rt-14-dev", "linux-source-6.1", "linux-headers-amd64",
             "qemu-system-x86", "debootstrap", "pylint", "shellcheck", "sparse", "mandoc"}


class Root:
    """The root directory of a release with some packages."""

    def __init__(self, suite, packages):
        self.suite = suite
        self.packages = sorted(packages)
        self.path = CACHE / "roots" / f"{suite}-{digest(*self.packages)}"

    def prepare(self):
        """Makes it if it is not there; returns its path."""
        with locked(CACHE / "roots" / f"{self.path.name}.lock"):
            if not self.path.exists():
                part = self.path.with_name(f"{self.path.name}.part")
                output_of(*as_root(["rm", "-rf", str(part)]))
                say(f"making a root of Debian's {self.suite} (a minute, then cached)")
                self._install(part)
                output_of(*as_root(["mv", str(part), str(self.path)]))
        return self.path

    def _install(self, path):
        # The rest with apt: debootstrap knows little of the order of packages.
        others = {name.partition(":")[2] for name in self.packages} - {""}
        foreign = [command for one in sorted(others) for command in (
            ["chroot", str(path), "dpkg", "--add-architecture", one],
            ["chroot", str(path), "apt-get", "-q", "update"])]
        steps = [
            ["debootstrap", "--variant=minbase", f"--keyring={KEYRING}", self.suite,
             str(path), mirrors()["main"]],
            ["mount", "-t", "proc", "proc", f"{path}/proc"],
            *foreign,
            ["chroot", str(path), "env", "DEBIAN_FRONTEND=noninteractive", "apt-get",
             "-qy", "-o", "Dpkg::Options::=--force-unsafe-io",
             "--no-install-recommends", "install", *self.packages],
            ["rm", "-rf", f"{path}/var/cache/apt/archives"],
        ]
        run_logged(
            as_root(["unshare", "--mount", "--propagation", "private", "sh", "-ec",
                     "\n".join(map(shlex.join, steps))]),
            BUILD / "lab" / f"root-{self.suite}.log", f"root of {self.suite}")

    def mounts(self):
        """The commands that mount it, and the path where it is then."""
        return [], self.prepare()

    def outside(self, words, binds=()):
        """The command that runs words, not inside but where it is mounted. binds:
        (directory outside, inside)."""
        steps, root = self.mounts()
        for outer, inner in binds:
            target = root / str(inner).lstrip("/")
            steps += [shlex.join(["mkdir", "-p", str(target)]),
                      shlex.join(["mount", "--bind", str(outer), str(target)])]
        return as_root(["unshare", "--mount", "--propagation", "private", "sh", "-ec",
                        "\n".join([*steps, f"exec {shlex.join(map(str, words))}"])])

    def command(self, words, binds=(), user=None):
        """The command that runs words inside as user, uid:gid, or as who calls."""
        root = self.mounts()[1]
        user = user or f"+{os.getuid()}:+{os.getgid()}"
        prepared = [f"mount -t proc proc {root}/proc",
                    f"mount --bind /dev {root}/dev",
                    shlex.join(["exec", "chroot", f"--userspec={user}", str(root),
                                *map(str, words)])]
        return self.outside(["sh", "-ec", "\n".join(prepared)], binds)


class Foreign(Root):
    """A root of another architecture, whose programs do not run here. So its packages are
    unpacked, not installed, and what their scripts would do is done here as far as VMs
    need it."""

    LINKS = {"usr/bin/awk": "mawk", "usr/bin/which": "which.debianutils",
             "etc/resolv.conf": "/dev/null", "var/run": "/run", "var/lock": "/run/lock"}

    def __init__(self, suite, architecture, packages=FOREIGN):
        super().__init__(suite, packages)
        self.architecture = architecture
        key = digest(*self.packages, *self.LINKS.items())
        self.path = self.path.with_name(f"{suite}-{architecture}-{key}")

    def _install(self, path):
        output_of(*as_root(["mkdir", "-p", str(path)]))
        Archive(self.architecture).unpack_all(self.packages, path)
        for name in ("passwd", "group"):
            output_of(*as_root(["cp", f"{path}/usr/share/base-passwd/{name}.master",
                                f"{path}/etc/{name}"]))
        for link, target in self.LINKS.items():
            output_of(*as_root(["rm", "-rf", f"{path}/{link}"]))
            output_of(*as_root(["ln", "-s", target, f"{path}/{link}"]))


class System(Root):
    """A copy of a root that can be changed: an overlay in a directory of the caller."""

    def __init__(self, root, home):
        super().__init__(root.suite, root.packages)
        self.home = home
        self.upper = home / "upper"

    def reset(self):
        """Makes it equal to the root."""
        output_of(*as_root(["rm", "-rf", str(self.home)]))
        for name in ("upper", "work", "root"):
            (self.home / name).mkdir(parents=True)

    def mounts(self):
        options = (f"lowerdir={self.prepare()},upperdir={self.upper},"
                   f"workdir={self.home}/work")
        merged = self.home / "root"
        return [f"mount -t overlay -o {options} overlay {merged}"], merged

    def find(self, name):
        """A file of it, by its path inside, as the host sees it."""
        changed = self.upper / name.lstrip("/")
        return changed if changed.exists() else self.prepare() / name.lstrip("/")


def foreign_user_space(architecture):
    """The root of another architecture in which scripts run in VMs."""
    return Foreign("trixie", architecture)


def cross_root(architecture):
    """The root in which programs for another architecture are built, and the variables of
    their build."""
    packages, variables = CROSS_PROGRAMS[architecture]
    return Root("trixie", packages), variables


def user_space(suite):
    """The root of a release in which programs are built, and scripts run in VMs."""
    names = output_of(REPO / "scripts" / "deps", "--list", "check").split()
    return Root(suite, set(names) - HOST_ONLY)
