# SPDX-License-Identifier: GPL-2.0-only
"""The kernels of the test configurations, their modules and their initramfs."""

import re
import shutil
import subprocess
import time
from pathlib import Path

from . import debian
from .common import BUILD, CACHE, LAB, REPO, LabError
from .common import copy_sources, copy_tracked, digest, group_sources, locked, output_of
from .common import package_version, run_logged, say
from .initramfs import write_initramfs
from .roots import cross_root, foreign_user_space, user_space
from .sources import MirrorSources, Sources, numbers

CONFIGS = ("stock", "debug", "coverage", "random", "smp", "kasan", "kcsan", "plain", "speed")
HEADERS = Path("/lib/modules")
# The series whose sources this machine has.
SERIES = "6.1"

# Loaded by the initramfs; the guest loads everything else that it needs.
BOOT_MODULES = ("virtio_pci", "virtio_console", "9pnet_virtio", "9p", "overlay")

# Parts of the stock kernel for which no VM of the lab has a device.
UNUSED = ("sound", "drivers/gpu", "drivers/media", "drivers/staging",
          "drivers/iio", "drivers/usb", "drivers/net/wireless",
          "drivers/net/ethernet", "drivers/infiniband/hw")

# Longer than any run can take, with its waiting.
UNUSED_SECONDS = 4 * 3600


def test_config(name):
    """The test configuration with this name. A series or release of other kernels of
    Debian is one, too; 7.3@trixie has the user space of that release, debug-7.3, random-7.3 and
    smb-7.3 are built from the sources of that series."""
    known = {one.name: one for one in
             (Stock, Debug, Coverage, Random, Smp, Kasan, Kcsan, Plain, Speed)}
    if name in known:
        return known[name]()
    for one in (Debug, Random, Smb):
        if name.startswith(f"{one.name}-"):
            return one(MirrorSources(name.removeprefix(f"{one.name}-")))
    kernel, _, suite = name.partition("@")
    if suite:
        return OtherUserSpace(kernel, suite)
    return Arm64(kernel) if kernel.endswith("arm64") else OtherDebian(kernel)


def newest_headers():
    """Release of the newest Debian kernel whose headers are installed."""
    def key(release):
        return [int(number) for number in re.findall(r"\d+", release)]

    found = [
        path.parent.name
        for path in HEADERS.glob("*/build")
        if (path / "Module.symvers").exists()
        and Path(f"/usr/share/doc/linux-headers-{path.parent.name}").exists()
    ]
    if not found:
        raise LabError(
            "no Debian kernel headers: run scripts/deps (package linux-headers-amd64)"
        )
    return max(found, key=key)


def image_in(boot, modules):
    """The image of a kernel of Debian: since 7.3 it is among the modules."""
    old = boot / f"vmlinuz-{modules.name}"
    return old if old.exists() else modules / "vmlinuz"


def link_tree(source, target):
    """A copy of source whose files are hard links."""
    target.parent.mkdir(parents=True, exist_ok=True)
    output_of("cp", "--archive", "--link", str(source), str(target))


def forget_unused(directory, keep):
    """Removes module trees that no run has used in the last hours."""
    for tree in directory.glob("*"):
        stamp = tree / "complete"
        used = stamp.stat().st_mtime if stamp.exists() else 0
        if tree != keep and used < time.time() - UNUSED_SECONDS:
            shutil.rmtree(tree, ignore_errors=True)


class TestConfig:
    """What the test configurations have in common.

    Each has a `base` directory in the cache: boot image and pristine module
    tree. modules() adds the modules of this repository in extra/.
    """

    name = ""
    memory = 2048
    cmdline = ""
    # What runs the kernel: "qemu", or "uml" if the kernel is a program.
    machine = "qemu"
    # QEMU's program, its options for the machine, and the name of the console.
    emulator = ("qemu-system-x86_64", "-machine", "pc,usb=off")
    processor = "max,la57=off"
    console = "ttyS0"
    boot_modules = BOOT_MODULES
    # Functions of the kernel itself about which lockdep complains: see results.py.
    foreign = ()
    # The root directory that the guest sees.
    root = Path("/")

    def __init__(self):
        self._prepared = None

    def cache_name(self):
        """Name of the directory in the cache."""
        return self.name

    def machine_command(self, command):
        """The command that runs the machine, so that it has access to `root`."""
        return command

    def suites(self):
        """The configuration whose suites it runs: a directory in tests/integration,
        and what scripts see as LAB_CONFIG."""
        return self.name

    def prepare(self):
        """Makes the kernel available; returns (release, base directory)."""
        if self._prepared is None:
            with locked(CACHE / f"{self.cache_name()}.lock"):
                self._prepared = self._prepare()
        return self._prepared

    def _prepare(self):
        raise NotImplementedError

    def image(self):
        raise NotImplementedError

    def build_dir(self):
        raise NotImplementedError

    def module_sources(self):
        """The module files of this repository, built for this configuration."""
        raise NotImplementedError

    def build_modules(self):
        """Builds the modules of this repository for this configuration."""
        raise NotImplementedError

    def release(self):
        return self.prepare()[0]

    def base_modules(self):
        release, base = self.prepare()
        return base / "lib" / "modules" / release

    def modules(self):
        """Module tree for the guest: the kernel's own modules and ours."""
        ours = self.module_sources()
        release, base = self.prepare()
        for module in ours:
            self._check_vermagic(module)
        key = digest(base / "complete", *ours)
        home = CACHE / "modules" / self.name / key
        with locked(CACHE / f"modules-{self.name}.lock"):
            forget_unused(home.parent, keep=home)
            if not (home / "complete").exists():
                shutil.rmtree(home, ignore_errors=True)
                tree = home / "lib" / "modules" / release
                link_tree(self.base_modules(), tree)
                for file in tree.glob("modules.*"):
                    if file.name not in ("modules.order", "modules.builtin",
                                         "modules.builtin.modinfo"):
                        file.unlink()
                (tree / "extra").mkdir()
                for module in ours:
                    shutil.copy2(module, tree / "extra")
                output_of("depmod", "-b", str(home), release)
            (home / "complete").touch()
        return home / "lib" / "modules" / release

    def _check_vermagic(self, module):
        magic = output_of("modinfo", "-F", "vermagic", str(module)).split()[0]
        if magic != self.release():
            raise LabError(
                f"{module} was built for {magic}, but the {self.name} configuration "
                f"runs {self.release()}"
            )

    def initramfs(self):
        """Path of the initramfs for this configuration's kernel."""
        release = self.release()
        init = LAB / "guest" / "initramfs-init"
        busybox = self.busybox()
        modules = self._boot_modules()
        key = digest(init, busybox, release, *modules)
        target = CACHE / "initramfs" / f"{self.name}-{key}.cpio"
        with locked(CACHE / f"initramfs-{self.name}.lock"):
            target.parent.mkdir(exist_ok=True)
            if not target.exists():
                write_initramfs(target, init, busybox, modules)
        return target

    def busybox(self):
        """The shell of the initramfs."""
        return Path(shutil.which("busybox"))

    def _boot_modules(self):
        """Files of boot_modules and their dependencies, in loading order."""
        release, base = self.prepare()
        files = []
        for module in self.boot_modules:
            lines = output_of(
                "modprobe", "-d", str(base), "-S", release,
                "--show-depends", module,
            ).splitlines()
            for line in lines:
                words = line.split()
                if words[0] == "insmod" and Path(words[1]) not in files:
                    files.append(Path(words[1]))
        return files


class Stock(TestConfig):
    """Debian's own kernel, unpacked from its package."""

    name = "stock"
    cmdline = "mitigations=off"

    def _prepare(self):
        release = newest_headers()
        version = package_version(f"linux-headers-{release}")
        base = CACHE / "stock" / f"{release}_{version}"
        if not (base / "complete").exists():
            shutil.rmtree(base, ignore_errors=True)
            base.mkdir(parents=True)
            self._unpack(self._download(release, version, base), base)
            output_of("depmod", "-b", str(base), release)
            (base / "complete").write_text(version, encoding="utf-8")
        return release, base

    @staticmethod
    def _download(release, version, base):
        package = f"linux-image-{release}"
        say(f"downloading Debian's {package} {version} (70 MB)")
        try:
            output_of("apt-get", "-q", "download", f"{package}={version}", cwd=base)
        except LabError as error:
            raise LabError(
                f"{error}\nThe image must match the installed headers. Without a "
                "network nothing can be done; if the archive has moved on, "
                "`apt-get update` and scripts/deps bring newer headers."
            ) from error
        return next(base.glob("*.deb"))

    @staticmethod
    def _unpack(deb, base):
        say("unpacking the stock kernel")
        exclude = [f"--exclude=./lib/modules/*/kernel/{part}" for part in UNUSED]
        with subprocess.Popen(
            ["dpkg-deb", "--fsys-tarfile", str(deb)], stdout=subprocess.PIPE
        ) as tar:
            subprocess.run(
                ["tar", "-x", "-C", str(base), *exclude, "./boot", "./lib"],
                stdin=tar.stdout, check=True,
            )
        if tar.returncode:
            raise LabError(f"cannot unpack {deb}")
        deb.unlink()

    def image(self):
        release, base = self.prepare()
        return base / "boot" / f"vmlinuz-{release}"

    def build_dir(self):
        return HEADERS / self.release() / "build"

    def module_sources(self):
        return sorted(REPO.glob("*.ko"))

    def build_modules(self):
        run_logged(
            ["make", "modules", f"KDIR={self.build_dir()}"],
            BUILD / "lab" / "modules-stock.log",
            "modules for the stock kernel",
            cwd=REPO,
            unit="  CC",
        )


class OtherDebian(TestConfig):
    """A kernel of another release of Debian or of its backports, unpacked from packages.

    It runs with this machine's user space.
    """

    cmdline = "mitigations=off"
    architecture = "amd64"

    def __init__(self, name):
        super().__init__()
        self.builder = debian.Builder(self.architecture)
        self.kernel = debian.find(self.builder.archive, name)
        self.name = self.kernel.release

    def suites(self):
        return Stock.name

    def _prepare(self):
        release = self.kernel.release
        base = CACHE / "kernels" / release
        if not (base / "complete").exists():
            shutil.rmtree(base, ignore_errors=True)
            self.builder.unpack_image(self.kernel, base)
            say(f"unpacking the modules of {release}")
            # Debian 13 has them below usr; in 12, images for arm64 have device trees there.
            if not (base / "lib").exists():
                (base / "usr" / "lib").rename(base / "lib")
            for part in UNUSED:
                shutil.rmtree(base / "lib/modules" / release / "kernel" / part,
                              ignore_errors=True)
            output_of("depmod", "-b", str(base), release)
            (base / "complete").touch()
        return release, base

    def image(self):
        return image_in(self.prepare()[1] / "boot", self.base_modules())

    def build_modules(self):
        self.builder.build(self.kernel)

    def module_sources(self):
        return sorted(self.builder.directory(self.kernel).glob("*.ko"))


class OwnUserSpace(OtherDebian):
    """A kernel with a user space of its own, for which the programs of this repository are
    built, too, from a copy of the tree."""

    def __init__(self, kernel, suffix, system):
        super().__init__(kernel)
        self.system = system
        self.root = system.path
        self.tree = BUILD / suffix / "tree"

    def cache_name(self):
        return self.kernel.release

    def machine_command(self, command):
        return self.system.outside(command, [(self.tree, REPO), (CACHE, CACHE)])

    def builds_programs(self):
        """The root in which programs are built, and variables of the build."""
        return self.system, []

    def build_modules(self):
        super().build_modules()
        copy_tracked(self.tree)
        root, variables = self.builds_programs()
        for words in (["userspace"], ["-C", "tests/integration"]):
            run_logged(
                root.command(["make", "-C", REPO, "-j2", *variables, *words],
                             [(self.tree, REPO)]),
                BUILD / "lab" / f"programs-{self.tree.parent.name}.log",
                f"programs for {self.tree.parent.name}", unit="  C")


class OtherUserSpace(OwnUserSpace):
    """A kernel with the user space of another release."""

    def __init__(self, kernel, suite):
        super().__init__(kernel, suite, user_space(suite))
        self.name = f"{self.kernel.release}@{suite}"


class Arm64(OwnUserSpace):
    """A kernel for arm64, on an emulated machine of that architecture."""

    architecture = "arm64"
    emulator = ("qemu-system-aarch64", "-machine", "virt")
    processor = "cortex-a72"
    console = "ttyAMA0"

    def __init__(self, kernel):
        super().__init__(kernel, self.architecture, foreign_user_space(self.architecture))

    def builds_programs(self):
        return cross_root(self.architecture)

    def busybox(self):
        return self.system.prepare() / "usr" / "bin" / "busybox"


class Installed(TestConfig):
    """A kernel, modules and programs that are installed in a system of their own."""

    cmdline = Stock.cmdline

    def __init__(self, system, release):
        super().__init__()
        self.name = f"{system.suite}-{release}"
        self.system = system
        self.root = system.mounts()[1]
        self._release = release

    def suites(self):
        return Stock.name

    def machine_command(self, command):
        return self.system.outside(command, [(REPO, REPO)])

    def _prepare(self):
        # Modules of DKMS can be in a copy of the directory, those of the kernel are not.
        kernel = self.system.find(f"/usr/lib/modules/{self._release}/kernel")
        return self._release, kernel.parents[3]

    def image(self):
        name = f"/boot/vmlinuz-{self._release}"
        return image_in(self.system.find(name).parent, self.base_modules())

    def modules(self):
        return Path("/usr/lib/modules") / self._release


class Built(TestConfig):
    """A kernel built from sources of Linux, configured by the lab."""

    # Fragments of the kernel configuration, tests/lab/kernel-NAME.config. If empty,
    # NAME is that of the test configuration.
    parts = ()
    # Variables of the kernel's build and of our modules' build; targets; path of the
    # boot image among the objects.
    variables = ()
    module_variables = ()
    grouped = False
    # Whether the modules of tests/lab/module are built too.
    lab_modules = False
    targets = ("bzImage", "modules")
    boot_image = "arch/x86/boot/bzImage"
    duration = ""

    def __init__(self, sources=None):
        super().__init__()
        self.fragments = [LAB / f"kernel-{part}.config"
                          for part in self.parts or (self.name,)]
        self.sources = sources or Sources(SERIES)
        if sources:
            self.name = f"{self.name}-{sources.series}"
        self.base = CACHE / self.cache_name()
        self.objects = self.base / "obj"
        self.module_tree = BUILD / self.name / "mod"

    def _prepare(self):
        version = self.sources.version
        inputs = digest(*self.fragments, version, output_of("gcc", "--version"),
                        *self.variables)
        stamp = self.base / "complete"
        if not stamp.exists() or stamp.read_text(encoding="utf-8") != inputs:
            stamp.unlink(missing_ok=True)
            self._configure(self.sources.unpacked(), version)
            self._build()
            stamp.write_text(inputs, encoding="utf-8")
        release = (self.objects / "include/config/kernel.release").read_text("utf-8")
        return release.strip(), self.base

    def _configure(self, tree, version):
        # Objects of other sources: the files' timestamps do not show the difference.
        origin = self.base / "source-version"
        if not origin.exists() or origin.read_text(encoding="utf-8") != version:
            shutil.rmtree(self.objects, ignore_errors=True)
        self.objects.mkdir(parents=True, exist_ok=True)
        origin.write_text(version, encoding="utf-8")
        wanted = [line for fragment in self.fragments
                  for line in fragment.read_text("utf-8").splitlines()]
        joined = self.base / "fragments.config"
        joined.write_text("\n".join(wanted) + "\n", encoding="utf-8")
        output_of(
            "make", "-s", "-C", str(tree), f"O={self.objects}",
            *self.variables, f"KCONFIG_ALLCONFIG={joined}", "allnoconfig",
        )
        result = set(self._dot_config().read_text("utf-8").splitlines())
        lost = [
            line for line in wanted
            if ("CONFIG_" in line and ("=" in line or "is not set" in line))
            and line not in result and self._has_option(line)
        ]
        if lost:
            raise LabError(f"{joined}: without effect: " + ", ".join(lost))

    def _has_option(self, line):
        """The fragments are written for one series; another may lack an option."""
        return (self.sources.series == SERIES or
                re.search(r"CONFIG_\w+", line).group() in self.sources.options)

    def _dot_config(self):
        return self.objects / ".config"

    def kconfig_hash(self):
        """Hash of the whole kernel configuration."""
        self.prepare()
        return digest(self._dot_config())

    def _build(self):
        say(f"building the {self.name} kernel ({self.duration}, then cached)")
        run_logged(
            ["make", "-C", str(self.objects), *self.variables, "-j2", *self.targets],
            BUILD / "lab" / f"kernel-{self.name}.log",
            f"{self.name} kernel",
            unit="  CC",
        )
        shutil.rmtree(self.base / "lib", ignore_errors=True)
        output_of(
            "make", "-s", "-C", str(self.objects), *self.variables,
            f"INSTALL_MOD_PATH={self.base}", "modules_install",
        )

    def image(self):
        self.prepare()
        return self.objects / self.boot_image

    def build_dir(self):
        self.prepare()
        return self.objects

    def build_modules(self):
        """Builds in a copy of the sources, so that the stock build stays as it is."""
        self.prepare()
        if not (REPO / "Kbuild").exists():
            return
        with locked(CACHE / f"modules-{self.name}-build.lock"):
            copy_sources(self.module_tree)
            if self.grouped:
                group_sources(self.module_tree)
            self._make_all_modules()

    def _make_all_modules(self):
        self._make_modules(self.module_tree, f"modules-{self.name}")
        if self.lab_modules:
            self._make_modules(self.module_tree / "tests" / "lab" / "module",
                               f"modules-lab-{self.name}")

    def _make_modules(self, directory, log, *variables):
        run_logged(
            ["make", "-C", str(self.objects), f"M={directory}", *self.variables,
             *self.module_variables, *variables, "-j2", "modules"],
            BUILD / "lab" / f"{log}.log",
            f"{log} of the {self.name} kernel",
            unit="  CC",
        )

    def module_sources(self):
        return sorted(self.module_tree.rglob("*.ko"))


def only_in(variable, *parts):
    """A variable of a kernel's build that is set only in these parts of the tree. Modules
    have to set it themselves: where their objects are depends on the release."""
    return f"{variable}=$(if $(filter {' '.join(parts)},$(obj)/),y,n)"


# Instrument the code that works on objects of our modules and could use one after it was
# freed. Anything more would only be slower.
ONLY_NEAR_US = only_in("KASAN_SANITIZE", "net/%", "drivers/infiniband/%", "lib/", "kernel/",
                       "kernel/rcu/", "kernel/sched/", "kernel/time/")


class UserMode(Built):
    """User Mode Linux: a kernel that is a program and runs at nearly full speed."""

    machine = "uml"
    boot_modules = ()
    variables = ("ARCH=um", "SUBARCH=x86_64")
    targets = ("linux", "modules")
    boot_image = "linux"
    # Walks a process's memory areas without a lock when a process forks.
    foreign = ("force_flush_all",)

    def __init__(self, sources=None):
        super().__init__(sources)
        # Processes stop with less work for the host than with ptrace(), if it can do that.
        if numbers(self.sources.series) >= (6, 16):
            self.cmdline += " seccomp=auto"


class Debug(UserMode):
    """A kernel with sanitizers and lock checks."""

    name = "debug"
    memory = 1536
    lab_modules = True
    # Later kernels run the suites of a module only with autorun.
    cmdline = "panic_on_warn=1 hung_task_panic=1 kunit.enable=1 kunit.autorun=1"
    # KASAN does not watch stacks: this architecture reads other tasks' stacks in ways
    # that KASAN does not know of, and with GCC the configuration offers no choice.
    variables = (*UserMode.variables, "stack_enable=0", ONLY_NEAR_US)
    # UBSAN is not in the kernel itself: modules request it one by one.
    module_variables = ("KASAN_SANITIZE=y", "UBSAN_SANITIZE=y")
    grouped = True
    duration = "5 to 10 minutes on two cores"

    def suites(self):
        return Debug.name

    def _make_all_modules(self):
        super()._make_all_modules()
        self._make_modules(
            self.module_tree / "tests" / "kunit", f"modules-kunit-{self.name}",
            f"KBUILD_EXTRA_SYMBOLS={self.module_tree}/Module.symvers",
        )


class Coverage(Debug):
    """The debug configuration with modules that count what they execute.

    The modules have no sanitizers: their checks would count as branches.
    """

    name = "coverage"
    parts = ("debug",)
    module_variables = ("GCOV_PROFILE=y", "KASAN_SANITIZE=n")
    grouped = False

    def cache_name(self):
        return Debug.name


class Random(Debug):
    """The debug configuration with modules that report which blocks they execute."""

    name = "random"
    parts = ("debug",)

    def cache_name(self):
        return self.name.replace(Random.name, Debug.name)

    def _make_all_modules(self):
        recorder = self.module_tree / "tests" / "random" / "module"
        self._make_modules(recorder, f"modules-reached-{self.name}")
        self._make_modules(
            self.module_tree, f"modules-{self.name}",
            "KCFLAGS=-fsanitize-coverage=trace-pc -g1",
            f"KBUILD_EXTRA_SYMBOLS={recorder}/Module.symvers")


class Smp(Built):
    """Several processors that preempt, checked by lockdep and similar tools."""

    name = "smp"
    parts = ("pc", "lockdep", "smp")
    memory = 1536
    lab_modules = True
    cmdline = (
        "panic_on_warn=1 rcupdate.rcu_cpu_stall_timeout=120 slub_debug=FZP "
        "hung_task_panic=1 watchdog_thresh=60 reboot=t sysctl.kernel.lock_stat=0"
    )
    duration = "5 to 10 minutes on two cores"


class Smb(Smp):
    """As the smp configuration, from newer sources, with SMB Direct: the server of 6.1.192
    fails whenever a client opens a directory (opinfo_put() of NULL)."""

    name = "smb"
    parts = (*Smp.parts, "smb")
    lab_modules = False

    def suites(self):
        return Smb.name


class Kasan(Built):
    """As the smp configuration, with KASAN."""

    name = "kasan"
    parts = ("pc", "lockdep", "suites", "kasan")
    lab_modules = True
    variables = (ONLY_NEAR_US,)
    module_variables = ("KASAN_SANITIZE=y",)
    cmdline = (
        "panic_on_warn=1 rcupdate.rcu_cpu_stall_timeout=120 hung_task_panic=1 "
        "watchdog_thresh=60 reboot=t"
    )
    duration = "10 minutes on two cores"


class Kcsan(Built):
    """Several processors that preempt, checked by KCSAN."""

    name = "kcsan"
    parts = ("pc", "suites", "kcsan")
    lab_modules = True
    # KCSAN watches one of every skip_watch accesses of a processor, for some
    # microseconds: more than by default, since few things happen at the same time on
    # emulated processors. A report does not stop the kernel: see results.py.
    cmdline = (
        "kcsan.skip_watch=400 kcsan.udelay_task=200 kcsan.udelay_interrupt=60 "
        "rcupdate.rcu_cpu_stall_timeout=120 hung_task_panic=1 watchdog_thresh=60 "
        "reboot=t"
    )
    # Instrument the code that works on the same memory as our modules. Anything more
    # would only be slower.
    variables = (only_in("KCSAN_SANITIZE", "net/", "net/core/%", "net/ipv4/%",
                         "net/ipv6/%", "net/netlink/%", "drivers/infiniband/%",
                         "lib/%"),)
    module_variables = ("KCSAN_SANITIZE=y",)
    duration = "10 minutes on two cores"


class Plain(Built):
    """The smp configuration's kernel without its checks, for counting instructions."""

    name = "plain"
    cmdline = "mitigations=off reboot=t"
    duration = "6 minutes on two cores"


class Speed(UserMode):
    """The kernel for measurements."""

    name = "speed"
    lab_modules = True
    duration = "4 minutes on two cores"

    def cache_name(self):
        """Trees that share a cache may differ in this kernel configuration."""
        return f"{self.name}-{digest(*self.fragments)}"
