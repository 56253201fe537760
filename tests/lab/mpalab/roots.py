# SPDX-License-Identifier: GPL-2.0-only
"""Root directories of other Debian releases, made by debootstrap.

Programs run in them with chroot, in a mount namespace of their own. They are cached in
build/cache/roots by release and packages.
"""

import os
import shlex

from .archive import KEYRING, mirrors
from .common import BUILD, CACHE, as_root, digest, locked, output_of, run_logged, say

# What building modules takes. Kernels are built by the compilers of their releases.
COMPILERS = {"trixie": ("gcc-12", "gcc-14", "libelf1t64", "make", "pahole")}


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
                run_logged(
                    as_root(["debootstrap", "--variant=minbase",
                             f"--keyring={KEYRING}",
                             f"--include={','.join(self.packages)}", self.suite,
                             str(part), mirrors()["main"]]),
                    BUILD / "lab" / f"root-{self.suite}.log", f"root of {self.suite}")
                output_of(*as_root(["mv", str(part), str(self.path)]))
        return self.path

    def command(self, words, binds=()):
        """The command that runs words inside as the user who calls; binds: (directory
        outside, inside)."""
        root = self.prepare()
        steps = [f"mount -t proc proc {root}/proc", f"mount --bind /dev {root}/dev"]
        for outside, inside in binds:
            target = root / str(inside).lstrip("/")
            steps += [shlex.join(["mkdir", "-p", str(target)]),
                      shlex.join(["mount", "--bind", str(outside), str(target)])]
        inner = shlex.join(["chroot", f"--userspec=+{os.getuid()}:+{os.getgid()}",
                            str(root), *map(str, words)])
        return as_root(["unshare", "--mount", "--propagation", "private", "sh", "-ec",
                        "\n".join([*steps, f"exec {inner}"])])
