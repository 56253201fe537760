# SPDX-License-Identifier: GPL-2.0-only
"""Checks a series patch by patch: it builds as a module, built in and off, and the tree's
own tools have nothing to say.

Everything is built from one work tree, in a directory for each setting, so that a patch
compiles only what it changes. Objects of a whole kernel are compiled once: without our
options a kernel does not differ, so other settings begin with a copy. What is built in is
linked into a kernel, modules are linked with its symbols.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

from series import HERE, REPO, run

NET = "net/mpa"
DRIVER = "drivers/infiniband/sw/mpa"
OURS = re.compile(r"net/mpa|infiniband/sw/mpa|uapi/linux/(?:mpa|tcp_framing)|mpa-abi|modpost")
OPTIONS = ("MPA", "RDMA_MPA")
TESTS = ("MPA_KUNIT_TEST", "RDMA_MPA_KUNIT_TEST")

# Setting: its value of the options, what is built of the tree.
SETTINGS = {
    "off": ("n", ("vmlinux",)),
    "module": ("m", ("vmlinux", "modules")),
    "built in": ("y", ("vmlinux",)),
}
# With these options off, our code has fewer parts.
PARTS = ("IPV6", "INET_DIAG", "MEMCG", "MEMCG_V1", "CGROUPS", "NET_NS", "NAMESPACES", "FTRACE",
         "ENABLE_DEFAULT_TRACERS", "PROC_FS", "SYSFS", "KUNIT", "SMP")

# What checkpatch may say: the type, the lines, the reason.
ACCEPTED = (
    ("CONST_STRUCT", r"struct proto_ops (?:ops;|\*ops = &copy->ops;)",
     "operations derived from those of TCP are not constant"),
)
# MAINTAINERS is checked as a whole: see maintained().
IGNORED = "FILE_PATH_CHANGES"
# The tree's tools find Debian's Python and its modules.
DEBIANS = {**os.environ, "PATH": f"/usr/bin:{os.environ['PATH']}"}
# ACCEL as in the lab: KVM within a virtual machine may lack instructions.
QEMU = ("qemu-system-x86_64", "-accel", os.environ.get("ACCEL", "tcg"), "-m", "1024",
        "-smp", "2", "-no-reboot", "-display", "none", "-serial", "stdio", "-nodefaults")
# Both are options that are off with everything else.
BOOT_WORDS = ("console=ttyS0 kunit.enable=1 kunit.autorun=1 kunit_shutdown=reboot panic=-1 "
              "panic_on_warn=1")
BOOT_SECONDS = 1800


class Results:
    """Prints a line for each check and counts."""

    def __init__(self):
        self.passed = self.failed = 0

    def add(self, title, problems):
        print(f"{'not ok' if problems else 'ok'} - {title}", flush=True)
        for line in problems[:20]:
            print(f"# {line}", flush=True)
        if problems:
            self.failed += 1
        else:
            self.passed += 1

    def finish(self):
        print(f"{self.passed} passed, {self.failed} failed")
        return 1 if self.failed else 0


class Build:
    """A directory in which a kernel with some options is built."""

    def __init__(self, tree, directory, jobs, values, without=(), variables=()):
        self.tree = tree
        self.directory = directory
        self.jobs = jobs
        self.values = values
        self.without = without
        self.variables = variables

    def make(self, log, *words):
        """Runs make; returns what it says about our files, or its end if it fails."""
        self.directory.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(
            ["make", "-C", str(self.tree), f"O={self.directory}", f"-j{self.jobs}",
             *self.variables, *words],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            check=False)
        (self.directory / f"{log}.log").write_text(done.stdout, "utf-8")
        lines = done.stdout.splitlines()
        said = [line for line in lines if OURS.search(line)
                and re.search(r"\bwarning\b|\berror\b|undefined!", line, re.IGNORECASE)]
        if done.returncode and not said:
            said = lines[-15:]
        return said

    def begin_with(self, other):
        """Copies what another build has, if there is nothing yet."""
        if other is not self and not self.directory.exists():
            part = self.directory.with_name(f"{self.directory.name}.part")
            shutil.rmtree(part, ignore_errors=True)
            run("cp", "-a", other.directory, part)
            part.rename(self.directory)

    def configure(self):
        """Makes the configuration; returns options of ours without effect."""
        wanted = [line for line in (HERE / "config").read_text("utf-8").splitlines()
                  if not any(f"CONFIG_{one}=" in line for one in self.without)]
        wanted += [f"CONFIG_{option}={value}" if value != "n"
                   else f"# CONFIG_{option} is not set"
                   for option, value in self.values.items() if self._exists(option)]
        joined = self.directory / "wanted.config"
        self.directory.mkdir(parents=True, exist_ok=True)
        joined.write_text("\n".join(wanted) + "\n", "utf-8")
        problems = self.make("config", "-s", f"KCONFIG_ALLCONFIG={joined}", "allnoconfig")
        if not problems:
            result = (self.directory / ".config").read_text("utf-8").splitlines()
            problems = [f"without effect: {line}" for line in wanted
                        if re.match(r"(# )?CONFIG_", line) and line not in result
                        and not self._is_off(line, result)]
        return problems

    @staticmethod
    def _is_off(line, result):
        """Whether a line turns an option off that is not even offered."""
        off = re.fullmatch(r"# (CONFIG_\w+) is not set", line)
        return off and not any(one.startswith(f"{off[1]}=") for one in result)

    def _exists(self, option):
        return any(f"config {option}\n" in path.read_text("utf-8")
                   for where in (NET, DRIVER) if (path := self.tree / where / "Kconfig").exists())

    def _objects(self):
        return [path for where in (NET, DRIVER)
                for path in (self.directory / where).rglob("*.o")]

    def objects(self):
        """Objects of our sources that were built."""
        return {str(path.relative_to(self.directory))[:-2] for path in self._objects()}

    def forget_objects(self):
        """Removes the objects of our sources."""
        for path in self._objects():
            path.unlink()


class Check:
    """The checks of one series."""

    def __init__(self, kernel, directory, jobs):
        self.kernel = kernel
        self.directory = directory
        self.tree = directory / "tree"
        self.results = Results()
        self.patches = directory / "patches"
        everything = {**dict.fromkeys(OPTIONS, "y"), **dict.fromkeys(TESTS, "y")}
        self.settings = {
            name: Build(self.tree, directory / name.replace(" ", "-"), jobs,
                        {**dict.fromkeys(OPTIONS, value),
                         **({} if value == "n" else dict.fromkeys(TESTS, "y"))})
            for name, (value, _) in SETTINGS.items()}
        self.warnings = Build(self.tree, directory / "warnings", jobs, everything)
        self.small = Build(self.tree, directory / "small", jobs,
                           dict.fromkeys(OPTIONS, "m"), PARTS)
        self.verbless = Build(self.tree, directory / "without-verbs", jobs,
                              dict.fromkeys(OPTIONS, "m"), ("INFINIBAND_USER_ACCESS",))
        self.narrow = Build(self.tree, directory / "32-bit", jobs, everything, ("64BIT",),
                            ("ARCH=i386",))

    def checkout(self, commit):
        if not (self.tree / ".git").exists():
            shutil.rmtree(self.tree, ignore_errors=True)
            run("git", "-C", self.kernel, "worktree", "prune")
            run("git", "-C", self.kernel, "worktree", "add", "-q", "-f", "--detach",
                self.tree, commit)
        run("git", "-C", self.tree, "checkout", "-q", "-f", "--detach", commit)
        run("git", "-C", self.tree, "clean", "-q", "-f", "-d", NET, DRIVER)

    def run(self, made):
        """Checks every patch, and then the whole; made: [(patch, commit)]."""
        files = sorted(self.patches.glob("*.patch"))
        for (patch, commit), file in zip(made, files, strict=True):
            self.checkout(commit)
            name = f"{file.name[:4]} {patch.subject}"
            self.results.add(f"{name}: checkpatch", self.checkpatch(file))
            for setting, build in self.settings.items():
                self.results.add(f"{name}: {setting}", self.built(setting, build))
            self.results.add(f"{name}: no warning with W=1",
                             self.compiled(self.warnings, "W=1"))
        self.whole()
        return self.results.finish()

    def checkpatch(self, file):
        done = subprocess.run(
            ["perl", str(self.tree / "scripts/checkpatch.pl"), "--strict", "--show-types",
             "--no-summary", f"--ignore={IGNORED}", str(file)],
            cwd=self.tree, env=DEBIANS, capture_output=True, text=True, check=False)
        reports = re.split(r"\n\n+", done.stdout.strip())
        return [line for report in reports if re.match(r"(ERROR|WARNING|CHECK):", report)
                and not any(f":{kind}:" in report and re.search(lines, report)
                            for kind, lines, _ in ACCEPTED)
                for line in report.splitlines()[:4]] + done.stderr.splitlines()

    def sources(self):
        """Our sources that are compiled by themselves."""
        text = {path: path.read_text("utf-8") for where in (NET, DRIVER)
                for path in (self.tree / where).rglob("*.c")}
        included = {(path.parent / name).resolve() for path, one in text.items()
                    for name in re.findall(r'#include "(.*\.c)"', one)}
        return {str(path.relative_to(self.tree))[:-2] for path in text
                if path.resolve() not in included}

    def built(self, setting, build):
        """Builds with a setting; everything of ours must be compiled, or nothing."""
        build.begin_with(self.settings["off"])
        # Those of earlier runs.
        build.forget_objects()
        problems = build.configure() or build.make("build", *SETTINGS[setting][1])
        if problems:
            return problems
        if setting == "off":
            return [f"{one}.o was built" for one in sorted(build.objects())]
        return [f"{one}.c was not compiled"
                for one in sorted(self.sources() - build.objects())]

    def compiled(self, build, *words):
        """Compiles our sources, without linking them."""
        there = [f"{where}/" for where in (NET, DRIVER) if (self.tree / where).exists()]
        problems = build.configure() or build.make("prepare", "-s", "modules_prepare")
        return problems or (build.make("build", *words, *there) if there else [])

    # ---- The whole series ----

    def whole(self):
        checks = (
            ("kernel-doc of the headers", self.kernel_doc),
            ("the specification fits the kernel's schema", self.specification),
            ("headers for user space stand alone", self.user_headers),
            ("MAINTAINERS names every file", self.maintained),
            ("the driver is not offered without verbs of user space", self.without_verbs),
            ("pages are readable", self.pages),
        )
        self.results.add("modules without optional parts of the kernel",
                         self.compiled(self.small, "W=1"))
        self.results.add("32-bit processors", self.compiled(self.narrow, "W=1"))
        for title, check in checks:
            self.results.add(title, check())
        self.boot()

    def added(self):
        """Files that the series adds."""
        base = run("git", "-C", self.kernel, "rev-parse", "HEAD").strip()
        return [self.tree / name for name in
                run("git", "-C", self.tree, "diff", "--name-only", "--diff-filter=A", base,
                    "HEAD").splitlines()]

    def without_verbs(self):
        problems = self.verbless.configure()
        if problems == ["without effect: CONFIG_RDMA_MPA=m"]:
            return []
        return problems or ["Kconfig offers it without INFINIBAND_USER_ACCESS"]

    def kernel_doc(self):
        headers = [str(path) for path in self.added() if path.suffix == ".h"]
        done = subprocess.run(
            [str(self.tree / "scripts/kernel-doc"), "-none", *headers],
            env=DEBIANS, capture_output=True, text=True, check=False)
        return (done.stdout + done.stderr).splitlines()

    def specification(self):
        tools = self.tree / "tools/net/ynl/pyynl"
        spec = self.tree / "Documentation/netlink/specs/mpa.yaml"
        done = subprocess.run(
            ["python3", "-c",
             "import sys; from lib import SpecFamily; print(len(SpecFamily(sys.argv[1]).ops))",
             str(spec)],
            cwd=tools, env=DEBIANS, capture_output=True, text=True, check=False)
        return [] if done.stdout.strip().isdigit() else done.stderr.splitlines()[-10:]

    def user_headers(self):
        """Compiled as C and C++ after their installation."""
        build = self.settings["built in"]
        problems = build.make("headers", "headers")
        for name in ("linux/mpa.h", "linux/mpa_netlink.h", "linux/tcp_framing.h",
                     "rdma/mpa-abi.h"):
            for language in ("c", "c++"):
                done = subprocess.run(
                    ["gcc", f"-x{language}", "-Wall", "-Wextra", "-fsyntax-only",
                     f"-I{build.directory}/usr/include", "-include", name, "/dev/null"],
                    capture_output=True, text=True, check=False)
                problems += done.stderr.splitlines()
        return problems

    def maintained(self):
        text = (self.tree / "MAINTAINERS").read_text("utf-8")
        sections = re.findall(r"^MPA .*\n(?:[A-Z]:\t.*\n)+", text, re.MULTILINE)
        names = re.findall(r"^F:\t(.*)$", "".join(sections), re.MULTILINE)
        paths = [str(path.relative_to(self.tree)) for path in self.added()]
        return [f"{path}: nobody" for path in paths
                if not any(path.startswith(name) for name in names)] + \
            [f"{name}: no such file" for name in names
             if not (self.tree / name).exists()]

    def pages(self):
        pages = [str(path) for path in self.added() if path.suffix == ".rst"]
        done = subprocess.run([str(REPO / "scripts/check-pages"), *pages],
                              capture_output=True, text=True, check=False)
        return (done.stdout + done.stderr).splitlines()

    def boot(self):
        """Boots the kernel in which everything is built in; its tests run, then it
        reboots."""
        build = self.settings["built in"]
        problems = build.make("image", "bzImage")
        if problems:
            self.results.add("a kernel with its tests", problems)
            return
        image = build.directory / "arch/x86/boot/bzImage"
        log = self.directory / "boot.log"
        with open(log, "wb") as sink:
            try:
                subprocess.run(
                    [*QEMU, "-kernel", str(image), "-append", BOOT_WORDS],
                    stdin=subprocess.DEVNULL, stdout=sink, stderr=subprocess.STDOUT,
                    timeout=BOOT_SECONDS, check=False)
            except (FileNotFoundError, subprocess.TimeoutExpired) as error:
                self.results.add("a kernel with its tests", [str(error)])
                return
        self.suites(log.read_text("utf-8", "replace").replace("\r", ""))

    def suites(self, text):
        lines = [re.sub(r"^\[ *[\d.]+\] ", "", line) for line in text.splitlines()]
        found = [match.groups() for line in lines
                 if (match := re.fullmatch(r"(not )?ok \d+ (mpa\w*)", line))]
        for bad, suite in found:
            self.results.add(f"KUnit suite {suite} in the booted kernel",
                             [line for line in lines if "not ok " in line] if bad else [])
        named = {name for path in self.added() if path.suffix == ".c"
                 for name in re.findall(r'\.name = "(mpa\w*)",\n\t\.(?:suite_init|init|test_cases)',
                                        path.read_text("utf-8"))}
        self.results.add("every KUnit suite ran, without a warning of the kernel",
                         sorted(named - {suite for _, suite in found}) or
                         [line for line in lines if re.match(r"WARNING|BUG|Kernel panic", line)])


