# SPDX-License-Identifier: GPL-2.0-only
"""Writes the VM's initramfs: busybox, an init script and a few modules.

The archive is the "newc" cpio format and depends on its inputs only, so no
privileges and no device nodes are needed (the kernel brings /dev/console).
"""

import lzma
import os

S_IFDIR = 0o040000
S_IFREG = 0o100000


class Archive:
    """A cpio archive under construction."""

    def __init__(self, sink):
        self._sink = sink
        self._inode = 0

    def _entry(self, name, mode, data=b""):
        self._inode += 1
        encoded = name.encode() + b"\0"
        fields = (self._inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0,
                  len(encoded), 0)
        header = b"070701" + b"".join(b"%08X" % field for field in fields)
        self._sink.write(self._padded(header + encoded))
        self._sink.write(self._padded(data))

    @staticmethod
    def _padded(data):
        return data + b"\0" * (-len(data) % 4)

    def directory(self, name):
        self._entry(name, S_IFDIR | 0o755)

    def file(self, name, data, mode=0o644):
        self._entry(name, S_IFREG | mode, data)

    def close(self):
        self._entry("TRAILER!!!", 0)


def unpacked(module):
    """Name and contents of a module. busybox does not read compressed ones."""
    data = module.read_bytes()
    if module.suffix == ".xz":
        return module.stem, lzma.decompress(data)
    return module.name, data


def write_initramfs(target, init, busybox, modules):
    """modules: files in the order in which they must be loaded."""
    partial = target.with_suffix(".part")
    with open(partial, "wb") as sink:
        archive = Archive(sink)
        for directory in ("bin", "modules"):
            archive.directory(directory)
        archive.file("bin/busybox", busybox.read_bytes(), 0o755)
        archive.file("init", init.read_bytes(), 0o755)
        order = ""
        for module in modules:
            name, data = unpacked(module)
            archive.file(f"modules/{name}", data)
            order += f"{name}\n"
        archive.file("modules/order", order.encode())
        archive.close()
    os.replace(partial, target)
