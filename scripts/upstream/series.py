# SPDX-License-Identifier: GPL-2.0-only
"""The series of patches: what each contains, and commits of it in a git repository.

A file of patches/ is a commit message and, after "Files:", what the patch adds. A line
there is a pattern of paths of this repository, or

    skeleton PATH	the file with nothing but what makes a module
    change PATH	a file that the kernel has: see CHANGES

Files of tree/ have no source in this repository. They come with the first patch that
they fit, and grow: see Series.grown().
"""

import os
import posixpath
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from edits import EDITS
from rewrite import TEST_HEADERS, Rewriter, place

HERE = Path(__file__).resolve().parent
REPO = HERE.parents[1]
FEATURES = """
src := {repo}
srctree := {tree}
include $(src)/kernel/compat/Kbuild.features
all: ; @echo $(ccflags-y)
"""

# (local name, name of a public header)
OUR_INCLUDES = re.compile(
    r'#include (?:"([^"]+)"|<((?:net/mpa/|linux/mpa|linux/tcp_framing|rdma/mpa)[^>]*)>)')


class SeriesError(Exception):
    """The series cannot be made; the text is the reason."""


def run(*command, text=None, env=None, cwd=None):
    """Standard output of a program that must succeed."""
    done = subprocess.run(command, input=text, text=True, capture_output=True, check=False,
                          cwd=cwd, env={**os.environ, **(env or {})})
    if done.returncode:
        raise SeriesError(f"`{' '.join(map(str, command))}` failed: {done.stderr.strip()}")
    return done.stdout


@dataclass
class Patch:
    """A commit: its message, and what it adds."""

    name: str
    message: str
    sources: list
    skeletons: list
    changes: list

    @property
    def subject(self):
        return self.message.split("\n", 1)[0]


def read_patch(path):
    """The patch that a file describes."""
    message, _, listed = path.read_text("utf-8").partition("\nFiles:\n")
    patch = Patch(path.name, message.strip() + "\n", [], [], [])
    kinds = {"skeleton": patch.skeletons, "change": patch.changes}
    for line in listed.split("\n"):
        kind, _, rest = line.partition(" ")
        if rest:
            kinds[kind].append(rest)
        elif line:
            found = sorted(str(one.relative_to(REPO)) for one in REPO.glob(line)
                           if one.suffix in (".c", ".h", ".rst", ".yaml")
                           and not one.name.endswith(".mod.c"))
            if not found:
                raise SeriesError(f"{path.name}: there is no {line}")
            patch.sources += found
    return patch


def patches():
    return [read_patch(path) for path in sorted((HERE / "patches").iterdir())]


# ---- Changes to files of the kernel ----

def after(pattern, line):
    """A change: a line after the last one that matches."""
    def change(text, _):
        found = list(re.finditer(rf"^(?:{pattern})\n", text, re.MULTILINE))
        if not found:
            raise SeriesError(f"no line {pattern}")
        end = found[-1].end()
        return text[:end] + line + "\n" + text[end:]
    return change


def next_level(text, _):
    """The next number of a level of socket options."""
    last = max(int(number) for number in re.findall(r"^#define SOL_\w+\t+(\d+)$", text,
                                                    re.MULTILINE))
    return after(rf"#define SOL_\w+\t+{last}", f"#define SOL_MPA\t\t{last + 1}")(text, _)


def next_options(text, _):
    """The next numbers of options of TCP, in the order of tcp_framing.h."""
    numbers, end = text.split("#define TCP_REPAIR_ON", 1)
    last = max(int(number) for number in re.findall(r"^#define TCP_\w+\s+(\d+)\b", numbers,
                                                    re.MULTILINE))
    names = re.findall(r"^#define (TCP_\w+)\t+5044\d\d$",
                       (REPO / "uapi/linux/tcp_framing.h").read_text("utf-8"), re.MULTILINE)
    defines = [f"#define {name}" for name in names]
    lines = "".join(define + "\t" * max(1, (39 - len(define)) // 8) + f"{last + n}\n"
                    for n, define in enumerate(defines, 1))
    return f"{numbers.rstrip()}\n{lines}\n#define TCP_REPAIR_ON{end}"


def maintained(section):
    """A change: a section of tree/MAINTAINERS at its place."""
    def change(text, author):
        ours = (HERE / "tree" / "MAINTAINERS").read_text("utf-8").split("\n\n")[section]
        ours = ours.strip().replace("@MAINTAINER@", author) + "\n\n"
        titles = list(re.finditer(r"(?<=\n\n)([^\s:].*)\n[A-Z]:\t", text))
        # The order is not exact everywhere.
        at = next(following.start() for one, following in zip(titles, titles[1:])
                  if one[1].upper() < ours.upper() < following[1].upper())
        return text[:at] + ours + text[at:]
    return change


CHANGES = {
    "MAINTAINERS": [maintained(0), maintained(1)],
    "include/linux/socket.h": [next_level],
    "include/uapi/linux/tcp.h": [next_options],
    "include/uapi/linux/inet_diag.h": [after(r"\tINET_ULP_INFO_MPTCP,",
                                             "\tINET_ULP_INFO_MPA,")],
    "include/uapi/rdma/ib_user_ioctl_verbs.h": [after(r"\tRDMA_DRIVER_\w+,",
                                                      "\tRDMA_DRIVER_MPA,")],
    "net/Kconfig": [after(r'source "net/mptcp/Kconfig"', 'source "net/mpa/Kconfig"')],
    "net/Makefile": [after(r"obj-\$\(CONFIG_MPTCP\)\t+\+= mptcp/",
                           "obj-$(CONFIG_MPA)\t\t+= mpa/")],
    "drivers/infiniband/Kconfig": [after(r'source "drivers/infiniband/sw/[^"]*"',
                                         'source "drivers/infiniband/sw/mpa/Kconfig"')],
    "drivers/infiniband/sw/Makefile": [after(r"obj-\$\(CONFIG_RDMA_SIW\)\t+\+= siw/",
                                             "obj-$(CONFIG_RDMA_MPA)\t\t\t+= mpa/")],
    "Documentation/networking/index.rst": [after(r"   mctp", "   mpa/index")],
}


# ---- Files ----

def skeleton(text):
    """A module without functions: the first comment, the licence, the description."""
    head = re.match(r"(//[^\n]*\n/\*.*?\*/\n)", text, re.DOTALL)[1]
    lines = re.findall(r"^MODULE_(?:DESCRIPTION|LICENSE|IMPORT_NS)\(.*\);\n", text, re.MULTILINE)
    return f"{head}#include <linux/module.h>\n\n{''.join(lines)}"


def features(tree):
    """What Kbuild.features finds in the headers of a kernel tree."""
    flags = run("make", "-s", "-f", "-", "all",
                text=FEATURES.format(repo=REPO, tree=tree)).split()
    return {flag.removeprefix("-D") for flag in flags}


def placed(patch, source):
    """The path in the kernel's tree of a source of a patch."""
    path = place(source)
    if path is None:
        raise SeriesError(f"{patch.name}: {source} has no place in the tree")
    return path


class Series:
    """The files of the kernel's tree after each patch."""

    def __init__(self, kernel, author):
        self.kernel = kernel
        self.author = author
        self.files = {}
        self.changed = {}
        self.templates = {
            str(path.relative_to(HERE / "tree")): path.read_text("utf-8")
            for path in (HERE / "tree").rglob("*/*") if path.is_file()}
        with tempfile.TemporaryDirectory() as headers:
            self._export_headers(headers)
            self.rewriter = Rewriter(REPO, features(headers), EDITS)

    def _export_headers(self, directory):
        names = run("git", "-C", self.kernel, "archive", "--format=tar", "HEAD", "include",
                    "-o", f"{directory}/headers.tar")
        assert not names
        run("tar", "-xf", f"{directory}/headers.tar", "-C", directory)

    def original(self, path):
        return run("git", "-C", self.kernel, "show", f"HEAD:{path}")

    def apply(self, patch):
        """{path: text} of what a patch changes."""
        new = {}
        for source in patch.skeletons:
            new[place(source)] = skeleton(self.rewriter.rewritten(source))
        for source in patch.sources:
            new[placed(patch, source)] = self.rewriter.rewritten(source)
        for path in patch.changes:
            todo = self.changed.setdefault(path, list(CHANGES[path]))
            text = self.files.get(path) or self.original(path)
            new[path] = todo.pop(0)(text, self.author)
        self.files.update(new)
        for path, text in self.templates.items():
            text = self.grown(path, text)
            if text and text != self.files.get(path):
                new[path] = self.files[path] = text
        check_includes(patch, new, self.files)
        return new

    def grown(self, path, text):
        """A file of tree/ as far as the series has come: lines of Makefiles with objects
        that exist, options for tests that exist, pages that exist."""
        here = posixpath.dirname(path)
        below = [name for name in self.files if name.startswith(f"{here}/")]
        if not set(below) - {path}:
            return ""
        if path.endswith("/Makefile"):
            text = "".join(line for line in text.splitlines(keepends=True)
                           if self._has_objects(here, line))
            # Comments on lines that are not there yet.
            text = re.sub(r"(?:^# .*\n)+(?=\n|\Z)", "", text, flags=re.MULTILINE)
            text = re.sub(r"\n{3,}", "\n\n", text)
        elif path.endswith("/Kconfig") and not any("/tests/" in one for one in below):
            text = re.sub(r"config \w+_KUNIT_TEST\n(?:\t.*\n|\n)+", "", text)
        elif path.endswith(".rst"):
            text = "".join(
                line for line in text.splitlines(keepends=True)
                if not re.fullmatch(r"   \w+\n", line) or f"{here}/{line.strip()}.rst" in below)
        return text.rstrip("\n") + "\n"

    def _has_objects(self, here, line):
        objects = re.findall(r"(?:CFLAGS_|\s)([\w/]+)\.o\b", line)
        return line.startswith("obj-") or all(f"{here}/{one}.c" in self.files
                                              for one in objects)

    def forgotten(self):
        """Sources that no patch has."""
        listed = run("git", "-C", REPO, "ls-files", "kernel", "uapi").split()
        return [one for one in listed if place(one) and place(one) not in self.files]


def check_includes(patch, new, files):
    """Every include of ours must exist when the patch is applied: among the paths in files."""
    for path, text in new.items():
        if not path.endswith((".c", ".h")):
            continue
        here = posixpath.dirname(path)
        for local, name in OUR_INCLUDES.findall(text):
            places = ([posixpath.normpath(f"{here}/{local}"), f"{TEST_HEADERS}/{local}"]
                      if local else [f"include/{name}", f"include/uapi/{name}"])
            if not any(one in files for one in places):
                raise SeriesError(f"{patch.name}: {path}: {local or name} comes later")


def not_built(sources):
    """Those of the sources in C that no Makefile of the series names."""
    named = {word for path in (HERE / "tree").rglob("Makefile")
             for word in path.read_text("utf-8").split()}
    built = {posixpath.basename(word) for word in named}
    return [one for one in sources
            if one.endswith(".c") and posixpath.basename(one[:-2]) + ".o" not in built]


def check_texts():
    """Rewrites all sources as for a kernel without any of the newer interfaces, and looks
    whether each is in a patch, comes after what it includes and is built: what can be checked
    without a kernel's tree."""
    rewriter = Rewriter(REPO, set(), EDITS)
    seen, files = set(), set()
    for patch in patches():
        new = {placed(patch, source): rewriter.rewritten(source)
               for source in patch.sources}
        seen.update(patch.sources)
        files.update(new)
        check_includes(patch, new, files)
    listed = run("git", "-C", REPO, "ls-files", "kernel", "uapi").split()
    missing = [one for one in listed if place(one) and one not in seen]
    unused = [one for one in EDITS if one not in seen]
    if missing or unused:
        raise SeriesError("in no patch: " + ", ".join(missing + unused))
    if forgotten := not_built(one for one in listed if place(one)):
        raise SeriesError("in no Makefile: " + ", ".join(forgotten))


# ---- Commits ----

class Commits:
    """Commits on top of HEAD of a repository, made without its work tree."""

    def __init__(self, kernel):
        self.kernel = kernel
        self.base = run("git", "-C", kernel, "rev-parse", "HEAD").strip()
        self.last = self.base

    def _git(self, *words, text=None, env=None):
        return run("git", "-C", self.kernel, *words, text=text, env=env)

    def identity(self):
        """Name and address of the committer, from git's configuration."""
        try:
            name, mail = (self._git("config", f"user.{one}").strip()
                          for one in ("name", "email"))
        except SeriesError as error:
            raise SeriesError("git has no user.name and user.email, which sign the "
                              "patches: set them with git config") from error
        return f"{name} <{mail}>"

    def add(self, message, files):
        """A commit that changes files; returns it."""
        with tempfile.TemporaryDirectory() as directory:
            env = {"GIT_INDEX_FILE": f"{directory}/index"}
            self._git("read-tree", self.last, env=env)
            lines = []
            for path, text in files.items():
                blob = self._git("hash-object", "-w", "--stdin", text=text).strip()
                lines.append(f"100644 {blob}\t{path}\n")
            self._git("update-index", "--add", "--index-info", text="".join(lines), env=env)
            tree = self._git("write-tree", env=env).strip()
        self.last = self._git("commit-tree", tree, "-p", self.last, "-F", "-",
                              text=message).strip()
        return self.last


def make(kernel):
    """Commits the series on top of HEAD; returns HEAD and [(patch, commit)]."""
    commits = Commits(kernel)
    author = commits.identity()
    series = Series(kernel, author)
    made = []
    for patch in patches():
        message = f"{patch.message}\nSigned-off-by: {author}\n"
        made.append((patch, commits.add(message, series.apply(patch))))
    if series.forgotten():
        raise SeriesError("in no patch: " + ", ".join(series.forgotten()))
    return commits.base, made
