#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Counters of queue pairs and of memory regions, as rdma(8) shows them: queue pairs are
bound to counters by their process or by hand, while rping runs over them. What the device
and all of its counters show together is what mpactl shows for the device, at any time.

    counter_cases.py NAME | --list PREFIX | --serve SECONDS
"""

import contextlib
import json
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "lib"))

# pylint: disable=wrong-import-position
from cmlab import H2, MPACTL, PATIENCE, case, check, counters, main
from rdmacm import host

DEVICE = "mpa1"
SERVER = "mpa2"
LINK = f"{DEVICE}/1"
SIZE = 4096
UNKNOWN = 0xffffff


def rdma(*words):
    """What rdma(8) prints, as JSON."""
    text = subprocess.run(["rdma", "-j", *map(str, words)], check=True,
                          capture_output=True, text=True).stdout
    return json.loads(text) if text.strip() else []


def change(*words, fails=False):
    """A change that the kernel makes, or refuses."""
    done = subprocess.run(["rdma", "statistic", "qp", *map(str, words)], check=False,
                          capture_output=True, text=True)
    check(f"{' '.join(map(str, words))}: {done.stderr}", done.returncode != 0, fails)


def automatic(what):
    change("set", "link", LINK, "auto", *what.split())


def bound():
    """The counters of the device that queue pairs are bound to."""
    return [one for one in rdma("statistic", "qp", "show", "link", LINK)
            if one.get("ifname") == DEVICE]


def numbers(pid=None):
    """Queue pairs of the device, of a process."""
    return {one["lqpn"] for one in rdma("resource", "show", "qp")
            if one["ifname"] == DEVICE and one.get("pid") == pid}


def until(condition, what):
    deadline = time.monotonic() + PATIENCE
    while not (result := condition()):
        assert time.monotonic() < deadline, what
        time.sleep(0.05)
    return result


def settled(read):
    """What is read twice, half a second apart."""
    before = None
    while (now := read()) != before:
        before = now
        time.sleep(0.5)
    return now


def in_all():
    """What mpactl shows."""
    with host("h1"):
        text = subprocess.run([MPACTL, "-j", "stat", "dev", DEVICE], check=True,
                              capture_output=True, text=True).stdout
    return json.loads(text)[0]["counters"]


def sums_agree():
    """The core keeps what it has read for a moment, so this may take two looks."""
    def agree():
        shown, known = counters(DEVICE), in_all()
        return known and all(shown[name] == value for name, value in known.items())
    until(agree, f"core: {counters(DEVICE)}, mpactl: {in_all()}")


def rping(where, *words):
    with host(where):
        return subprocess.Popen(["rping", *words, "-a", H2, "-S", str(SIZE)],
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


@contextlib.contextmanager
def ended(process):
    """Is killed at the end of the block."""
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def another_client():
    """A client whose connection the server has accepted.

    rping's server keeps the latest request in one variable: of two at once it loses one.
    """
    before = counters(SERVER)["conn_passive"]
    with ended(rping("h1", "-c", "-C", str(10 ** 9))) as client:
        until(lambda: counters(SERVER)["conn_passive"] > before, "not accepted")
        yield client


def listens():
    with host("h2"):
        return b":7174" in subprocess.run(["ss", "-Hltn"], check=True,
                                          capture_output=True).stdout


@contextlib.contextmanager
def pings():
    """A client of rping on the device, and its server, which takes others as well."""
    with ended(rping("h2", "-s", "-P")):
        until(listens, "no server")
        with another_client() as client:
            yield client


def more(read, name, count=20):
    """The counter grows by so much."""
    before = read()[name]
    until(lambda: read()[name] >= before + count, f"no more {name}")


@contextlib.contextmanager
def by_process():
    automatic("type,pid on")
    try:
        yield
    finally:
        automatic("off")


@case
def statistic_by_process():
    before = counters(DEVICE)
    with by_process():
        with pings() as first, another_client() as second:
            until(lambda: len(bound()) == 2, "not two counters")
            shown = {one["pid"]: one for one in bound()}
            check("processes", set(shown), {first.pid, second.pid})
            for client in (first, second):
                one = shown[client.pid]
                check("comm", one["comm"], "rping")
                check("QPs", set(one["lqpn"]), numbers(client.pid))
                more(lambda pid=client.pid:
                     next(one for one in bound() if one["pid"] == pid), "rx_write")
            # Later versions of iproute2 add whether there are optional counters.
            mode = rdma("statistic", "qp", "mode", "link", LINK)[0]["mode"]
            assert mode.startswith("qp auto type,pid on"), mode
        until(lambda: not bound(), "counters are left over")
    after = counters(DEVICE)
    assert after["rx_write"] >= before["rx_write"] + 40, (before, after)
    sums_agree()


@case
def statistic_by_hand():
    with pings() as client:
        number = until(lambda: numbers(client.pid), "no queue pair").pop()
        change("bind", "link", LINK, "lqpn", number)
        [one] = bound()
        check("QPs", one["lqpn"], [number])
        more(lambda: bound()[0], "tx_read_resp")
        change("bind", "link", LINK, "lqpn", number, fails=True)
        change("bind", "link", LINK, "lqpn", UNKNOWN, fails=True)
        change("set", "link", LINK, "auto", "pid", "on", fails=True)
        change("unbind", "link", LINK, "cntn", one["cntn"], "lqpn", UNKNOWN, fails=True)
        change("unbind", "link", LINK, "cntn", one["cntn"], "lqpn", number)
        check("counters", bound(), [])
        change("unbind", "link", LINK, "cntn", one["cntn"], "lqpn", number, fails=True)
        more(lambda: counters(DEVICE), "tx_read_resp")
    sums_agree()


@case
def statistic_of_two():
    """One counter for the queue pairs of two processes: it ends with the second."""
    with pings() as first, another_client() as second:
        one, other = (until(lambda pid=client.pid: numbers(pid), "no queue pair").pop()
                      for client in (first, second))
        change("bind", "link", LINK, "lqpn", one)
        number = bound()[0]["cntn"]
        change("bind", "link", LINK, "lqpn", other, "cntn", number)
        check("QPs", set(bound()[0]["lqpn"]), {one, other})
        first.kill()
        until(lambda: bound()[0]["lqpn"] == [other], "still bound")
        more(lambda: bound()[0], "tx_send")
        sums_while_bound = bound()[0]["tx_send"]
        assert counters(DEVICE)["tx_send"] >= sums_while_bound, sums_while_bound
    until(lambda: not bound(), "the counter is left over")
    sums_agree()


@case
def statistic_of_regions():
    """A ping is a Read of the client's first buffer and a Write to the second."""
    with pings() as client:
        def traffic():
            regions = [one for one in rdma("statistic", "show", "mr")
                       if one["ifname"] == DEVICE and one["mrn"] in mine]
            return {name: sum(one[name] for one in regions)
                    for name in ("remote_read_bytes", "remote_write_bytes",
                                 "remote_atomics")}
        mine = until(lambda: {one["mrn"] for one in rdma("resource", "show", "mr")
                              if one["ifname"] == DEVICE
                              and one.get("pid") == client.pid}, "no region")
        more(traffic, "remote_write_bytes", 10 * SIZE)
        # It may have stopped within a ping, but the packets of it arrive, and are whole.
        client.send_signal(signal.SIGSTOP)
        now = settled(traffic)
        for name in ("remote_read_bytes", "remote_write_bytes"):
            check(f"{name}, whole pings", now[name] % SIZE, 0)
        check("ahead", 0 <= now["remote_read_bytes"] - now["remote_write_bytes"]
              <= 2 * SIZE, True)
        check("atomics", now["remote_atomics"], 0)


@case
def race_bind():
    """Binding, unbinding and reading by several processes under traffic.

    One process unbinds, and none while the queue pair goes: the core does not keep a
    counter while it unbinds, so two at once would be one too many.
    """
    stop = threading.Event()
    succeeded = set()

    def once(*words):
        done = subprocess.run(["rdma", "statistic", *map(str, words)], check=False,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if not done.returncode:
            succeeded.add(words[1])

    def again(*words):
        while not stop.is_set():
            once(*words)

    def unbind_again(number):
        while not stop.is_set():
            for one in bound():
                once("qp", "unbind", "link", LINK, "cntn", one["cntn"], "lqpn", number)

    for _ in range(3):
        with pings() as client:
            number = until(lambda pid=client.pid: numbers(pid), "no queue pair").pop()
            stop.clear()
            succeeded.clear()
            threads = [threading.Thread(target=again, args=words) for words in (
                ("qp", "bind", "link", LINK, "lqpn", number),
                ("qp", "bind", "link", LINK, "lqpn", number),
                ("qp", "show", "link", LINK))]
            threads.append(threading.Thread(target=unbind_again, args=(number,)))
            for one in threads:
                one.start()
            try:
                time.sleep(2)
                until(lambda: succeeded == {"bind", "unbind", "show"}, succeeded)
            finally:
                stop.set()
                for one in threads:
                    one.join()
        until(lambda: not bound(), "the counter is left over")
        sums_agree()


@case
def race_release():
    """Counters are read while the core releases them, one after the other."""
    stop = threading.Event()
    values = [Path(f"/sys/class/infiniband/{DEVICE}/ports/1/hw_counters/{name}")
              for name in ("tx_send", "rx_send", "tx_write", "rx_write")]
    seen = set()

    def read_again():
        while not stop.is_set():
            for value in values:
                value.read_text("utf-8")

    readers = [threading.Thread(target=read_again) for _ in range(2)]
    with by_process():
        for one in readers:
            one.start()
        for _ in range(8):
            with pings():
                seen |= {one["cntn"] for one in until(bound, "no counter")}
            until(lambda: not bound(), "the counter is left over")
        stop.set()
        for one in readers:
            one.join()
    check("a number is not used again at once", len(seen), 8)
    sums_agree()


if __name__ == "__main__":
    sys.exit(main(sys.argv, __doc__))
