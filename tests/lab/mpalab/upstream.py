# SPDX-License-Identifier: GPL-2.0-only
"""The newest sources of Linux that the mirror has, as a git repository.

They are those of the newest package linux-source-* of all releases of Debian that
archive.py knows, with the patches of Debian.
"""

import re
import shutil

from .archive import Archive
from .common import BUILD, CACHE, LabError, locked, output_of, say

PACKAGE = re.compile(r"linux-source-(\d+)\.(\d+)")
# Headers of graphics cards, a third of all lines, and of no use here.
UNUSED = "drivers/gpu/drm/amd/include"


def newest_package(archive):
    """Name and version of the package."""
    names = archive.names(PACKAGE.pattern)
    if not names:
        raise LabError("the mirror offers no sources of Linux")
    name = max(names, key=lambda one: [int(n) for n in PACKAGE.fullmatch(one).groups()])
    return name, archive.versions(name)[0]


def git(tree, *words, **options):
    """Standard output of git in a repository."""
    return output_of("git", "-C", str(tree), *words, **options)


def newest_tree():
    """The sources, unpacked and committed if they are not in the cache yet."""
    archive = Archive()
    package, version = newest_package(archive)
    tree = CACHE / "upstream" / version.replace("~", "-")
    with locked(CACHE / "upstream" / f"{tree.name}.lock"):
        if not tree.exists():
            part = tree.with_name(f"{tree.name}.part")
            shutil.rmtree(part, ignore_errors=True)
            archive.unpack(package, part / "package", version)
            _unpack(part, next((part / "package/usr/src").glob("linux-source-*.tar.xz")))
            _commit(part / "linux", f"{package} {version}")
            shutil.rmtree(part / "package")
            (part / "linux").rename(tree)
            part.rmdir()
    return tree


def _unpack(part, tar):
    say(f"unpacking {tar.name}")
    (part / "linux").mkdir()
    output_of("tar", "-xJf", str(tar), "-C", str(part / "linux"),
              "--strip-components=1", f"--exclude=*/{UNUSED}/*")


def _commit(tree, title):
    say(f"committing {title}")
    git(tree, "init", "-q", "-b", "master")
    git(tree, "config", "gc.auto", "0")
    git(tree, "add", "--force", "--all")
    git(tree, "-c", "user.name=Debian", "-c", "user.email=linux-source@localhost",
        "commit", "-q", "--no-verify", "-m", title)


def private_tree():
    """A clone of newest_tree() for this tree alone, without a work tree: its branches are
    not seen by others that share the cache."""
    origin = newest_tree()
    clone = BUILD / "upstream" / "linux"
    shared = clone / ".git" / "objects" / "info" / "alternates"
    if not shared.exists() or shared.read_text("utf-8").strip() != f"{origin}/.git/objects":
        shutil.rmtree(clone.parent, ignore_errors=True)
        output_of("git", "clone", "--quiet", "--shared", "--no-checkout", str(origin),
                  str(clone))
    return clone
