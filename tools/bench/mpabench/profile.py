# SPDX-License-Identifier: GPL-2.0-only
"""Profiles in the speed configuration.

Its kernel is a program of this machine, so the machine's own perf can sample it. The
kernel's functions, including those of modules, are known from the /proc/kallsyms that
the guest stores; programs of the guest count as one function.

A sample belongs to the first part in PARTS that contains one of its functions, searched
from the innermost function outwards: a copy that placement called for is placement.
"""

import bisect
import os
import re
import subprocess
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from .measure import aligned

# Seconds for perf to write its last samples.
PATIENCE = 30
# Samples per second; the processor has no counters that perf could use here.
FREQUENCY = 2500
# Seconds between two readings of the processor time.
METER_SECONDS = 0.04
# Parts below this share of the samples are not printed.
WORTH = 0.005

HOST, PROGRAMS, LIBRARIES = "[host]", "[programs]", "[libraries of the kernel]"
SAMPLE = re.compile(r"(\d+) \S+ \[\S+\]: PERF_RECORD_SAMPLE\(.*\): (\d+)/")
FIRST_MARKER = (1 << 64) - 4095
OTHER = "other"
PARTS = tuple((name, re.compile(f"(?:{'|'.join(names.split())})$")) for name, names in (
    ("host's kernel", re.escape(HOST)),
    ("programs", re.escape(PROGRAMS)),
    ("clock", r"ktime_get\w* timer_read os_nsecs tcp_mstamp_refresh"),
    ("CRC", r"crc32c?\w* chksum_\w+ mpa_crc\w* siw_csum\w*"),
    # For the sender; must precede placement, which matches the rest of mr_*.c.
    ("work requests", "rnic_mr_get mr_hold mr_list"),
    ("placement", r"rnic_mr_place mr_\w+ rnic_mr_write mpa_rx_held_read mpa_pos_\w+"
                  r" mpa_rx_read mpa_strip_run"
                  r" siw_rx_umem\S* siw_rx_kva\S* siw_rx_pbl\S*"),
    ("zero copy undone", r"skb_copy_ubufs skb_orphan_frags\w*"),
    ("copy for sending", r"_copy_from_iter\w* copy_page_from_iter\w*"
                         r" rnic_mr_view skb_do_copy_data_nocache tcp_copy_to_skb"
                         r" mpa_fpdu_write fpdu_write_bytes fpdu_copy"
                         # A series is copied in one loop, including headers.
                         r" mpa_fpdu_write_series mpa_tx_add_series fpdu_write_next"
                         r" fpdu_write_\w+"),
    ("copy of recv()", r"_copy_to_iter simple_copy_to_iter __skb_datagram_iter"
                       r" skb_copy_datagram_iter"),
    ("segmentation", r"rnic_tx_segment rnic_tx_next rnic_tx_add_out mpa_tx_add ddp_build\w*"
                     r" mpa_seg_plan segment_batch_max fpdu_add\w* mpa_fpdu_\w+"
                     r" mpa_tx_room\w* rnic_tx_ulpdu_len mpa_ulpdu_fit mpa_frag_\w+"
                     r" rnic_out_take"
                     r" mpa_frame_build siw_tx_hdt siw_prepare_fpdu siw_qp_prepare_tx\S*"),
    ("work requests", r"rnic_tx_doorbell rnic_tx_run rnic_sq_\w+ rnic_rq_\w+ rnic_ring\w* rnic_post_\w+"
                      r" siw_post_\w+ siw_sq_start\S* siw_qp_sq_process\S* siw_run_sq"
                      r" siw_activate_tx\S* siw_read_to_orq rnic_tx_work rnic_qp_kick ib_uverbs_post_send"),
    ("completions", r"rnic_cq_\w+ rnic_wr_finish rnic_sq_retire rnic_response_done"
                    r" siw_\wqe_complete siw_rdmap_complete\S* siw_reap_cqe"
                    r" rnic_poll_cq rnic_req_notify_cq"),
    ("receive walk", r"(?:mpa_|rnic_)?rx_\w+ conn_data_ready conn_run_work mpa_reader_\w+"
                     r" mpa_strip_run rnic_ep_op_ulpdu mpa_conn_kick"
                     r" ddp_check\w* ddp_decode usock_op_ulpdu __tcp_read_sock tcp_read_sock"
                     r" tcp_recv_skb tcp_read_done skb_copy_bits siw_tcp_rx_data\S*"
                     r" siw_qp_llp_data_ready siw_proc_\S+ ksock_recv"),
    ("link", r"veth_\w+ dev_\w+ __dev_\w+ sch_\w+ __netif_\w+ netif_\w+"
             r" process_backlog net_rx_action napi_\w+ __napi_\w+ eth_\w+"
             r" validate_xmit_\w+ skb_network_protocol enqueue_to_backlog"),
    ("IP", r"ip_\w+(?:\.\S+)? __ip_\w+ ipv4_\w+ nf_\w+ dst_\w+ neigh_\w+ __inet_lookup\w*"
           r" inet_\w+ fib_\w+"),
    ("TCP, receiving", r"tcp_v4_\w+ tcp_rcv_\w+(?:\.\S+)? tcp_ack\S* tcp_data_\w+"
                       r" tcp_queue_rcv\S* tcp_event_data_recv tcp_clean_rtx\S*"
                       r" __tcp_ack_\w+ tcp_recvmsg\w* sock_def_readable"
                       r" tcp_cleanup_rbuf __tcp_cleanup_rbuf tcp_try_\w+"
                       r" __tcp_select_window tcp_rearm_rto tcp_validate_incoming"),
    ("TCP, sending", r"tcp_write_xmit __tcp_transmit_skb tcp_\w*push\w* __tcp_push\w*"
                     r" tcp_options_write\S* tcp_established_options tcp_schedule_\S+"
                     r" tcp_send_\w+ __tcp_send_\w+ tcp_tso\w* tcp_fragment tcp_wfree"
                     r" tcp_event_new_data_sent tcp_rate_\w+ tcp_update_\w+"
                     r" tcp_current_mss tcp_init_tso_segs\S* tcp_pacing\w*"),
    ("socket call", r"tcp_sendmsg\w* sock_sendmsg inet_sendmsg tcp_stream_alloc_skb"
                    r" sk_stream_\w+ tcp_send_mss (?:mpa_|rnic_)?tx_\w+ usock_send_ready usock_writable"
                    r" do_tcp_sendpages tcp_sendpage_locked tcp_build_frag"
                    r" sock_recvmsg release_sock lock_sock_nested __release_sock"),
    ("timers", r"\w*timer\w* hrtimer_\w+ tick_\w+"),
    ("scheduling", r"schedule\w* __schedule __switch_to\w* try_to_wake_up\S* wake_up\w*"
                   r" __wake_up\w* ep_\w+ pick_next\w* dequeue_\w+ enqueue_\w+"
                   r" worker_thread process_one_work kthread\w* update_curr\S*"),
    ("interrupts and system calls",
     r"handle_syscall userspace\S* do_syscall\w* interrupt_end handle_\w+"
     r" sig_handler\S* timer_handler \w*block_signals\w* um_set_signals\w*"
     r" set_signals\w* fault_in_\w+ segv\w* wait_stub_done\S*"),
))


@dataclass
class Found:
    """The samples of one measurement."""

    samples: int = 0
    seconds: float = 0
    functions: Counter = field(default_factory=Counter)
    parts: Counter = field(default_factory=Counter)
    stacks: Counter = field(default_factory=Counter)


class Symbols:
    """Names of addresses, from the text of /proc/kallsyms."""

    def __init__(self, text):
        found = []
        for line in text.splitlines():
            address, kind, name = line.split()[:3]
            if kind in "tTwW":
                found.append((int(address, 16), name))
        found.sort()
        self._addresses = [one[0] for one in found]
        self._names = [one[1] for one in found]

    def name(self, address):
        """The name of the function an address is in, or None."""
        at = bisect.bisect_right(self._addresses, address) - 1
        if at < 0 or address - self._addresses[at] > 1 << 16:
            return None
        return self._names[at]


def part_of(frames):
    """frames: function names, the innermost first."""
    for frame in frames:
        for name, known in PARTS:
            if known.match(frame):
                return name
    return OTHER


def name_of(address, kernel, symbols):
    """The function's name; kernel: whether the guest's kernel is running."""
    if address >= 1 << 63:
        return HOST
    if not kernel:
        return PROGRAMS
    return symbols.name(address) or LIBRARIES


def frames_of(chain, kernel, symbols):
    """Names of the functions of one sample; chain: addresses, the innermost first."""
    frames = []
    for address in chain:
        # None, or the marker for the kind of addresses that follows.
        if address == 0 or address >= FIRST_MARKER:
            continue
        name = name_of(address, kernel, symbols)
        # Code that is not resolved to functions is named once.
        if not frames or name != frames[-1] or not name.startswith("["):
            frames.append(name)
    return frames


def read_samples(text):
    """(process, seconds, chain) of each sample in the output of `perf script -D`.

    Without -D it does not print true addresses of code it does not know.
    """
    pid, when, chain = None, None, []
    for line in text:
        if line.startswith("....."):
            chain.append(int(line.rpartition(":")[2], 16))
        elif found := SAMPLE.match(line):
            if pid is not None:
                yield pid, when, chain
            when, pid, chain = int(found.group(1)) / 1e9, int(found.group(2)), []
    if pid is not None:
        yield pid, when, chain


def read(samples, kernel_pid, symbols, begin, end):
    """The samples between begin and end, in seconds since 1970."""
    found = Found(seconds=end - begin)
    for pid, when, chain in samples:
        if not begin <= when < end:
            continue
        frames = frames_of(chain, pid == kernel_pid, symbols)
        if not frames:
            continue
        found.samples += 1
        found.functions[frames[0]] += 1
        found.parts[part_of(frames)] += 1
        found.stacks[";".join(reversed(frames))] += 1
    return found


def pids_of(session):
    """Processes of the kernel, which leads the session, and those in which it runs
    programs."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(words[3]) == session and words[0] != "Z":
            found.append(stat.parent.name)
    return found


class Meter(threading.Thread):
    """Records how much processor time the guest has used so far.

    Other work of the machine takes time from the guest, but is not counted here.
    """

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid = pid
        # (seconds since 1970, seconds of processor time)
        self.times, self.used = [], []

    def run(self):
        known, total, round_ = {}, 0, 0
        while os.path.exists(f"/proc/{self.pid}"):
            # Searching for new processes is expensive.
            if round_ % 8 == 0:
                pids = pids_of(self.pid)
            round_ += 1
            now = {pid: spent(pid) for pid in pids}
            # The time of a process that has ended still counts.
            total += sum(max(0, used - known.get(pid, 0)) for pid, used in now.items())
            known = now
            self.times.append(time.time())
            self.used.append(total / 1e9)
            time.sleep(METER_SECONDS)

    def between(self, begin, end):
        """Seconds of processor time from begin to end, or None."""
        first = bisect.bisect_left(self.times, begin)
        last = bisect.bisect_right(self.times, end) - 1
        if last <= first:
            return None
        return ((self.used[last] - self.used[first]) * (end - begin) /
                (self.times[last] - self.times[first]))


def spent(pid, proc="/proc"):
    """Nanoseconds that the process's threads have run; threads that end meanwhile count
    with their last reading."""
    total = 0
    try:
        threads = os.listdir(Path(proc, pid, "task"))
    except OSError:
        return 0
    for thread in threads:
        try:
            total += int(Path(proc, pid, "task", thread, "schedstat").read_text()
                         .split()[0])
        except (OSError, IndexError):
            pass
    return total


class Recorder:
    """Runs perf on the guest's kernel, and on all its descendants."""

    def __init__(self, pid, directory):
        self.pid, self.directory = pid, directory
        self.file = directory / "perf.data"
        self._perf = subprocess.Popen(
            ["perf", "record", "-q", "-g", "-k", "CLOCK_REALTIME", "-e", "cpu-clock",
             "-F", str(FREQUENCY), "-o", str(self.file), "-p", str(pid)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True)

    def finish(self):
        """Called after the guest has ended; returns perf's error messages."""
        try:
            return self._perf.communicate(timeout=PATIENCE)[0].strip()
        except subprocess.TimeoutExpired:
            self._perf.kill()
            return "perf did not end"

    def samples(self):
        """All samples, as read() expects them."""
        with subprocess.Popen(["perf", "script", "-D", "-i", str(self.file)], text=True,
                              errors="replace", stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as perf:
            return list(read_samples(perf.stdout))


def rows_of(counter, found, cost, limit):
    rows = []
    for name, count in counter.most_common(limit):
        share = count / found.samples
        if share < WORTH:
            break
        rows.append((name, f"{100 * share:.1f}", f"{cost * share:.1f}"))
    return rows


def text(title, found, per_second, unit, limit=30):
    """The table for people. per_second: amount of work per second, in unit."""
    if not found.samples:
        return f"{title}: no samples"
    busy = found.samples / FREQUENCY / found.seconds
    cost = 1e9 * min(busy, 1) / per_second
    head = (f"{title}: busy {100 * busy:.0f} % of the time, "
            f"{cost:.1f} ns of processor time to a {unit}")
    return "\n".join((
        head, "",
        aligned([("part", "%", f"ns/{unit}"), *rows_of(found.parts, found, cost, None)]),
        "",
        aligned([("function", "%", f"ns/{unit}"),
                 *rows_of(found.functions, found, cost, limit)]), ""))


def folded(found):
    """Stacks in the format of flamegraph programs."""
    return "".join(f"{stack} {count}\n" for stack, count in sorted(found.stacks.items()))
