#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Holds what `mpa-bench --json` wrote against mpa-bench(1).

    bench_json.py FILE [PATH=VALUE]... [-- FILE [PATH=VALUE]...]...

Members must be those of the manual page, no more and no fewer, and of the right
type; numbers must fit together. PATH names a member through objects and arrays,
as results.0.runs.1.messages; VALUE is JSON, or text if it is none. The size of a
figure is not checked.
"""

import json
import math
import sys

PARAMETERS = {
    "size": int, "test": str, "op": str, "wait": str, "depth": int, "list": int,
    "moderation": int, "solicit": int, "connections": int, "slots": int, "inline": int,
    "chunk": int, "send_by": str, "discard": bool, "bidirectional": bool, "verify": bool, "runs": list, "summary": dict,
}
TOP = {
    "mpa-bench": int, "command": str, "transport": str, "same_machine": bool,
    "client": dict, "server": dict, "results": list,
}
USAGE = {"process_user", "process_system", "machine_busy", "machine_softirq"}
TIMES = {"min", "median", "p99", "p999", "max", "mean"}
RUNS = {
    "stream": {"seconds", "ended", "messages", "messages_per_second", "bytes",
               "bits_per_second", "cpu", "cpu_seconds_per_gigabyte"},
    "latency": {"seconds", "ended", "messages", "messages_per_second", "cpu",
                "nanoseconds"},
    "connect": {"seconds", "ended", "messages", "messages_per_second", "cpu",
                "nanoseconds"},
    "memory": {"connections", "kernel_bytes", "slab_bytes",
               "client_process_bytes", "server_process_bytes"},
}
BESIDE_TCP = {"tcp_kernel_bytes", "above_tcp_bytes"}

bad = []


def need(condition, what):
    if not condition:
        bad.append(what)


def members(what, value, names):
    need(set(value) == set(names), f"{what}: members {sorted(value)}, not {sorted(names)}")


def types(what, value, wanted):
    members(what, value, wanted)
    for name, kind in wanted.items():
        need(type(value.get(name)) is kind, f"{what}.{name}: not {kind.__name__}")


def close(one, other):
    return math.isclose(one, other, rel_tol=1e-6)


def check_times(what, times):
    members(what, times, TIMES)
    order = [times[name] for name in ("min", "median", "p99", "p999", "max")]
    need(order == sorted(order) and order[0] > 0, f"{what}: {order} do not rise")
    need(times["min"] <= times["mean"] <= times["max"], f"{what}: mean is outside")


def check_stream(what, run, size):
    need(run["bytes"] == run["messages"] * size, f"{what}: bytes")
    need(close(run["bits_per_second"], run["bytes"] * 8 / run["seconds"]),
         f"{what}: bits_per_second")
    members(f"{what}.cpu_seconds_per_gigabyte", run["cpu_seconds_per_gigabyte"],
            {"client_process", "server_process", "machine"})


def check_run(what, run, result, transport):
    test = result["test"]
    wanted = set(RUNS[test])
    if test == "memory" and transport == "verbs":
        wanted |= BESIDE_TCP
    members(what, run, wanted)
    if test == "memory":
        need(run["connections"] == result["connections"], f"{what}: connections")
        return
    need(run["seconds"] > 0 and run["messages"] > 0, f"{what}: nothing was done")
    need(close(run["messages_per_second"], run["messages"] / run["seconds"]),
         f"{what}: messages_per_second")
    members(f"{what}.cpu", run["cpu"], {"client", "server"})
    for side, usage in run["cpu"].items():
        members(f"{what}.cpu.{side}", usage, USAGE)
        need(all(value >= 0 for value in usage.values()), f"{what}.cpu.{side}: negative")
    if test == "stream":
        check_stream(what, run, result["size"])
    else:
        check_times(f"{what}.nanoseconds", run["nanoseconds"])


def check_summary(what, summary, runs):
    """The same members as the runs, down to the numbers."""
    if isinstance(runs[0], dict):
        members(what, summary, runs[0])
        for name in runs[0]:
            check_summary(f"{what}.{name}", summary[name], [run[name] for run in runs])
        return
    members(what, summary, {"median", "min", "max", "spread"})
    need(close(summary["min"], min(runs)) and close(summary["max"], max(runs)),
         f"{what}: limits")
    middle = sorted(runs)[(len(runs) - 1) // 2:len(runs) // 2 + 1]
    need(close(summary["median"], sum(middle) / len(middle)), f"{what}: median")


def check(report):
    types("report", report, TOP)
    need(report["mpa-bench"] == 1, "version")
    for side in ("client", "server"):
        types(side, report[side], {"device": str})
        need(bool(report[side]["device"]) == (report["transport"] == "verbs"),
             f"{side}: device")
    need(report["results"], "no results")
    for at, result in enumerate(report["results"]):
        types(f"results.{at}", result, PARAMETERS)
        need(result["runs"], f"results.{at}: no runs")
        for number, run in enumerate(result["runs"]):
            check_run(f"results.{at}.runs.{number}", run, result, report["transport"])
        check_summary(f"results.{at}.summary", result["summary"], result["runs"])


def look_up(value, path):
    for name in path.split("."):
        value = value[int(name)] if isinstance(value, list) else value[name]
    return value


def expect(report, wish):
    path, _, text = wish.partition("=")
    try:
        wanted = json.loads(text)
    except ValueError:
        wanted = text
    got = look_up(report, path)
    need(got == wanted, f"{path} is {got}, not {wanted}")


def check_file(path, wishes):
    """Prints what is bad; whether nothing is."""
    bad.clear()
    try:
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
        check(report)
        for wish in wishes:
            expect(report, wish)
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        need(False, repr(error))
    for line in bad:
        print(f"{path}: {line}")
    return not bad


def main():
    orders, words = [], [*sys.argv[1:], "--"]
    while words:
        end = words.index("--")
        orders.append(words[:end])
        words = words[end + 1:]
    if not all(orders):
        sys.exit(__doc__)
    return 0 if all([check_file(path, wishes) for path, *wishes in orders]) else 1


if __name__ == "__main__":
    sys.exit(main())
