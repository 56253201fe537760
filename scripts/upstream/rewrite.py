# SPDX-License-Identifier: GPL-2.0-only
"""Sources of this repository as they would be in a kernel tree.

Files get the paths of PLACES, includes follow them. What kernel/compat offers is
replaced by what the tree has: its headers are resolved for the features of the tree, in
the way Kbuild.features finds them; then macros and functions of one line are expanded
where they are used (EXPANDED), and others move into the one file that uses them.
"""

import posixpath
import re
from fnmatch import fnmatch
from pathlib import Path

NET = "net/mpa"
HEADERS = "include/net/mpa"
DRIVER = "drivers/infiniband/sw/mpa"

# Paths here, paths in the kernel's tree; the first that fits counts. A name in the tree
# that ends with / is a directory.
PLACES = (
    ("uapi/*", "include/uapi/"),
    # What modules other than mpa.ko include.
    ("kernel/ulp/mpa.h", f"{HEADERS}/"),
    ("kernel/ulp/node.h", f"{HEADERS}/"),
    ("kernel/ulp/config.h", f"{HEADERS}/"),
    ("kernel/framing/copy.h", f"{HEADERS}/"),
    ("kernel/framing/startup.h", f"{HEADERS}/"),
    ("kernel/framing/wire.h", f"{HEADERS}/"),
    ("kernel/ulp/*", f"{NET}/"),
    ("kernel/framing/*", f"{NET}/framing/"),
    ("kernel/netlink/*", f"{NET}/netlink/"),
    ("kernel/rnic/*", f"{DRIVER}/"),
    ("kernel/ddp/*", f"{DRIVER}/ddp/"),
    ("kernel/compat/memcg.h", f"{DRIVER}/"),
    ("tests/vectors/ddp.*", f"{DRIVER}/tests/"),
    ("tests/vectors/*", f"{NET}/tests/"),
    ("tests/kunit/ulp/*", f"{NET}/tests/ulp/"),
    ("tests/kunit/*", f"{NET}/tests/"),
    ("Documentation/netlink/specs/mpa.yaml", "Documentation/netlink/specs/"),
    ("Documentation/*.rst", "Documentation/networking/mpa/"),
)
# Directories in which an include is looked up, in addition to that of the file.
INCLUDE_PATH = ("kernel", "uapi")
# Where the headers of this directory are included by name, with -I.
TEST_HEADERS = f"{NET}/tests"

# Names of kernel/compat that do not stay.
EXPANDED = {
    "MPA_ACCEPT_OP", "MPA_COUNTER_INIT_OP", "MPA_COUNTER_QP_OPS", "MPA_CREATE_CQ_OP",
    "MPA_DIAG_OPS", "MPA_DMA_BUF_MOVED", "MPA_DMA_BUF_NS", "MPA_FILL_RES_SRQ_OP",
    "MPA_KUNIT_GENERATOR", "MPA_MSG_SPLICE", "MPA_NS", "MPA_REG_DMABUF_OP",
    "MPA_REG_USER_MR_OP", "MPA_REPORT_PORT_EVENT_OP", "MPA_RESIZE_CQ_OP",
    "MPA_SENDPAGE_OP", "MPA_SET_RESIZE_CQ_OP", "MPA_SET_SENDPAGE", "MPA_TCP_FRAG_MAX",
    "MPA_WQ_PERCPU",
    "mpa_assign_str", "mpa_dma_buf_lock", "mpa_dma_buf_unlock", "mpa_dma_buf_vmap",
    "mpa_dma_buf_vunmap", "mpa_dump_attrs",
    "mpa_netdev_link", "mpa_netdev_lock", "mpa_netdev_unlock",
    "mpa_sockaddr", "mpa_umem_get", "mpa_vm_flags_clear", "mpa_vm_flags_set",
}
# Nothing of this may be left.
LEFT = re.compile(r"\bMPA_HAVE_\w+|\bcompat/|\bLINUX_VERSION_CODE\b|\bMPA_VERSION\b|\b(?:"
                  + "|".join(sorted(EXPANDED)) + r")\b")

# In every C file: expression, replacement.
EVERYWHERE = (
    (r"^MODULE_VERSION\(.*\);\n", ""),
    (r"^#define TRACE_INCLUDE_PATH (?:ulp|rnic)$", "#define TRACE_INCLUDE_PATH ."),
    # Headers that user space includes.
    (r"^(/\* SPDX-License-Identifier: )\(GPL-2.0-only OR BSD-2-Clause\) \*/$",
     r"\1((GPL-2.0-only WITH Linux-syscall-note) OR BSD-2-Clause) */"),
    (r"\bkernel/ulp\b", NET),
    (r"\bkernel/(framing|netlink)\b", rf"{NET}/\1"),
    (r"\bkernel/ddp\b", f"{DRIVER}/ddp"),
    (r"\bkzalloc\(sizeof\((\*[\w>-]+)\), GFP_KERNEL\)", r"kzalloc_obj(\1)"),
    (r"\bkzalloc\(sizeof\((\*[\w>-]+)\), (\w+)\)", r"kzalloc_obj(\1, \2)"),
)

INCLUDE = re.compile(r'^#include (?:"([^"]+)"|<([^>]+)>)\n', re.MULTILINE)
ITEM = re.compile(
    r"(?P<doc>/\*(?:(?!\*/).)*\*/\n)?"
    r"(?P<code>(?:#define (?:[^\n]*\\\n)*[^\n]*\n)+|static inline (?:(?!\n\}).)*\n\}\n)",
    re.DOTALL)
MACRO = re.compile(r"#define (\w+)(?:\(([^)]*)\))?((?:[^\n]*\\\n)*[^\n]*)\n")
FUNCTION = re.compile(r"static inline [^{]*?(\w+)\(([^{]*)\)\n\{\n(.*)\}\n", re.DOTALL)
CONDITION = re.compile(r"#\s*(ifdef|ifndef|if|elif|else|endif)\b\s*(\w*)")
WIDTH = 8


class RewriteError(Exception):
    """A source does not have the form that is expected here."""


def place(source):
    """The path in the kernel's tree of a path here; None: it has none."""
    for pattern, target in PLACES:
        if fnmatch(source, pattern):
            if pattern == "uapi/*":
                return target + source.removeprefix("uapi/")
            return target + posixpath.basename(source)
    return None


def resolve(text, features):
    """The text without conditions on MPA_HAVE_*; features: those that are defined."""
    out, stack = [], []
    for line in text.splitlines(keepends=True):
        found = CONDITION.match(line)
        word, name = found.groups() if found else (None, "")
        if word in ("if", "ifdef", "ifndef"):
            ours = name.startswith("MPA_HAVE_") and word != "if"
            stack.append([ours, not ours or (name in features) == (word == "ifdef")])
            if ours:
                continue
        elif word == "else" and stack[-1][0]:
            stack[-1][1] = not stack[-1][1]
            continue
        elif word == "endif" and stack.pop()[0]:
            continue
        if all(kept for _, kept in stack):
            out.append(line)
    return re.sub(r"\n{3,}", "\n\n", "".join(out))


def arguments(text, start):
    """The arguments in parentheses that begin at start, and where they end."""
    depth, last, found = 0, start + 1, []
    for at in range(start, len(text)):
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if text[at] == "," and depth == 1 or not depth:
            found.append(" ".join(text[last:at].split()))
            last = at + 1
        if not depth:
            return found, at + 1
    raise RewriteError(f"no end of the arguments in {text[start:start + 40]!r}")


def columns(text):
    return len(text.expandtabs(WIDTH))


def aligned(text):
    """Lines that continue a parenthesis begin below what follows it."""
    out, opened = [], []
    for line in text.splitlines():
        if opened:
            tabs, blanks = divmod(opened[-1], WIDTH)
            line = "\t" * tabs + " " * blanks + line.lstrip()
        for at, char in enumerate(line):
            if char == "(":
                opened.append(columns(line[:at + 1]))
            elif char == ")" and opened:
                opened.pop()
        out.append(line)
    return "\n".join(out)


class Compat:
    """What a header of kernel/compat defines in a tree with these features."""

    def __init__(self, text, features):
        text = resolve(text, features)
        self.includes = [one[1] for one in INCLUDE.findall(text)
                         if one[1] != "linux/version.h"]
        self.expanded = {}
        # (names, text) in the order of the header
        self.items = []
        for item in ITEM.finditer(text):
            self._read(item["doc"] or "", item["code"])

    def _read(self, doc, code):
        macros = [one for one in MACRO.findall(code) if not one[0].endswith("_H")]
        function = FUNCTION.fullmatch(code)
        names = [name for name, _, _ in macros] or ([function[1]] if function else [])
        if not names:
            return
        if not EXPANDED.issuperset(names):
            head, brace, body = code.replace("static inline ", "static ", 1).partition("\n{")
            self.items.append((names, doc + aligned(head) + brace + body))
            return
        for name, parameters, body in macros:
            self.expanded[name] = (parameters, re.sub(r"[\t ]*\\\n", "\n", body).strip())
        if function:
            body = re.sub(r"^\treturn ", "\t", function[3]).strip().removesuffix(";")
            if "\n" in body or ";" in body:
                raise RewriteError(f"{function[1]}() has more than one line")
            self.expanded[function[1]] = (
                ", ".join(one.split()[-1].lstrip("*") for one in function[2].split(",")),
                body)

    def expand(self, text):
        """The text with the expanded names replaced."""
        for name, (parameters, body) in self.expanded.items():
            if not parameters:
                text = re.sub(rf"\b{name}\b", body, text)
                continue
            while found := re.search(rf"^\t*{name}\(|\b{name}\(", text, re.MULTILINE):
                values, end = arguments(text, found.end() - 1)
                new = self._filled(parameters, body, values)
                start = found.end() - len(name) - 1
                if new in ("", "do { } while (0)"):
                    # The whole statement, or a definition and the line after it.
                    text = text[:found.start()] + text[text.index("\n", end) + 1:]
                    text = re.sub(r"\n{3,}", "\n\n", text)
                else:
                    text = text[:start] + new + text[end:]
        return text

    @staticmethod
    def _filled(parameters, body, values):
        names = [one.strip() for one in parameters.split(",")]
        if len(names) != len(values):
            raise RewriteError(f"({', '.join(values)}) for ({parameters})")
        for name, value in zip(names, values):
            body = re.sub(rf"\b{name}\b(?:##)?|##{name}\b", lambda _, v=value: v, body)
        # A macro has a name in parentheses where checkpatch wants that.
        body = re.sub(r"^(static [\w *]*)\((\w+)\)\(", r"\1\2(", body, flags=re.MULTILINE)
        return aligned(body) if "\n" in body else body

    def moved(self, text):
        """The items that the text uses, and the items that these use."""
        chosen = []
        for names, code in reversed(self.items):
            if any(re.search(rf"\b{name}\b", text) for name in names):
                chosen.insert(0, code)
                text += code
        return chosen


class Includes:
    """The includes of a file, changed one by one and then written back."""

    def __init__(self, text):
        self.text = text
        self.added = set()

    def add(self, names):
        self.added.update(names)

    def written(self):
        """The text with the added names in the first block of <includes>."""
        present = {found[2] for found in INCLUDE.finditer(self.text)}
        added = {name for name in self.added if name not in present}
        block = re.search(r"(?:^#include <(?!asm/)[^>]+>\n)+", self.text, re.MULTILINE)
        if not added:
            return self.text
        if block:
            lines = sorted({*block[0].splitlines(), *map(self._line, added)})
            return "\n".join([self.text[:block.start()] + lines[0], *lines[1:],
                              self.text[block.end():]])
        first = INCLUDE.search(self.text)
        if not first:
            raise RewriteError(f"no place for includes of {', '.join(added)}")
        rest = self.text[first.start():]
        gap = "\n" if rest.startswith("#include") else ""
        lines = "".join(f"{line}\n" for line in sorted(map(self._line, added)))
        return self.text[:first.start()] + lines + gap + rest

    @staticmethod
    def _line(name):
        return f"#include <{name}>"

    def append(self, items):
        """Puts definitions after the includes."""
        if items:
            end = list(INCLUDE.finditer(self.text))[-1].end()
            self.text = self.text[:end] + "\n" + "\n".join(items) + self.text[end:]


class Rewriter:
    """Sources of a repository for a tree with these features; edits: {path: [(old,
    new)]}, each of which must fit once."""

    def __init__(self, repo, features, edits):
        self.repo = Path(repo)
        self.features = features
        self.edits = edits
        self.owners = {}
        self.driver_words = {
            word for directory in ("kernel/rnic", "kernel/ddp")
            for path in (self.repo / directory).glob("*.[ch]")
            for word in re.findall(r"\w+", path.read_text("utf-8"))}
        self.compat = {
            header: Compat(self.read(header), features)
            for path in sorted((self.repo / "kernel/compat").glob("*.h"))
            if not place(header := str(path.relative_to(self.repo)))}

    def read(self, source):
        text = (self.repo / source).read_text("utf-8")
        for old, new in self.edits.get(source, ()):
            if text.count(old) != 1:
                raise RewriteError(f"{source}: {text.count(old)} times: {old!r}")
            text = text.replace(old, new)
        return text

    def rewritten(self, source):
        """The text of a file in the tree."""
        text = self.read(source)
        if source.endswith(".rst"):
            # In a table, the columns stay where they are.
            text = re.sub(r"\buserspace/provider/(\S+ *)",
                          lambda one: f"providers/mpa/{one[1]}".ljust(len(one[0])), text)
        elif source.endswith((".c", ".h")):
            text = self._code(source, text)
            left = LEFT.search(text)
            if left:
                raise RewriteError(f"{source}: {left[0]} is left")
        return text

    def _code(self, source, text):
        if source.startswith("kernel/compat/"):
            text = resolve(text, self.features)
        includes = Includes(text)
        for name in [found[1] for found in INCLUDE.finditer(text) if found[1]]:
            self._include(source, name, includes)
        for expression, new in EVERYWHERE:
            includes.text = re.sub(expression, new, includes.text, flags=re.MULTILINE)
        # Here test modules use some, there tests are parts of the module.
        includes.text = re.sub(r"^EXPORT_SYMBOL_NS_GPL\((\w+), MPA_NS\);\n",
                               lambda one: one[0] if one[1] in self.driver_words else "",
                               includes.text, flags=re.MULTILINE)
        for compat in self.compat.values():
            includes.text = compat.expand(includes.text)
        if "EXPORT_SYMBOL" in includes.text:
            includes.add(["linux/export.h"])
        else:
            includes.added.discard("linux/export.h")
        return self._guarded(source, includes.written())

    def _include(self, source, name, includes):
        """Replaces an include of a file of the repository."""
        header = self.find(source, name)
        line = f'#include "{name}"\n'
        target = place(header)
        if target is None and header.startswith("kernel/compat/"):
            compat = self.compat[header]
            moved = compat.moved(compat.expand(includes.text))
            for item in moved:
                if self.owners.setdefault(item, source) != source:
                    raise RewriteError(f"{source} and {self.owners[item]} both use of "
                                       f"{header}: {item}")
            includes.append(moved)
            if moved or not compat.items:
                includes.add(compat.includes)
            includes.text = includes.text.replace(line, "")
        elif target is None:
            raise RewriteError(f"{source}: {header} has no place in the tree")
        elif target.startswith("include/"):
            includes.add([target.removeprefix("include/")])
            includes.text = includes.text.replace(line, "")
        else:
            includes.text = includes.text.replace(
                line, f'#include "{self._relative(place(source), target)}"\n')
        # Of a block that is empty now, a blank line is left.
        includes.text = re.sub(r"\n{3,}", "\n\n", includes.text)

    @staticmethod
    def _relative(source, target):
        if posixpath.dirname(target) == TEST_HEADERS and source.startswith(DRIVER):
            return posixpath.basename(target)
        return posixpath.relpath(target, posixpath.dirname(source))

    def find(self, source, name):
        """The file of the repository that an include names."""
        for directory in (posixpath.dirname(source), *INCLUDE_PATH):
            path = posixpath.normpath(posixpath.join(directory, name))
            if (self.repo / path).is_file():
                return path
        raise RewriteError(f"{source}: no file {name}")

    @staticmethod
    def _guarded(source, text):
        """Headers that have changed their directory have another guard."""
        target = place(source)
        stem = posixpath.basename(target).upper().replace(".", "_")
        old = "MPA_{}_" + stem
        if target.startswith(f"{HEADERS}/"):
            return re.sub(r"\bMPA_(ULP|FRAMING)_" + stem + r"\b", f"_NET_MPA_{stem}", text)
        return text.replace(old.format("COMPAT"), old.format("RNIC"))
