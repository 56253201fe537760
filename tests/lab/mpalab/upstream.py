# SPDX-License-Identifier: GPL-2.0-only
"""The newest sources of Linux that the mirror has, as a git repository."""

import shutil

from .archive import Archive
from .common import BUILD, LabError, locked, output_of, say
from .sources import MirrorSources, series_of


def git(tree, *words):
    """Standard output of git in a repository."""
    return output_of("git", "-C", str(tree), *words)


def committed(tree):
    try:
        return (tree / ".git").exists() and bool(git(tree, "rev-parse", "HEAD"))
    except LabError:
        return False


def newest_tree():
    """The sources, committed if they are not yet."""
    sources = MirrorSources(series_of(Archive())[-1])
    tree = sources.unpacked()
    with locked(tree.with_name(f"{tree.name}.lock")):
        if not committed(tree):
            say(f"committing the sources of Linux {sources.version}")
            shutil.rmtree(tree / ".git", ignore_errors=True)
            git(tree, "init", "-q", "-b", "master")
            git(tree, "config", "gc.auto", "0")
            git(tree, "add", "--force", "--all")
            git(tree, "-c", "user.name=Debian", "-c", "user.email=linux-source@localhost",
                "commit", "-q", "--no-verify", "-m",
                f"{sources.package} {sources.version}")
    return tree


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
