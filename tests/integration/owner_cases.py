#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Ownership of QPs: user space names a QP by a number when it connects or accepts, and
gets it only if the same process has created it. Cases as in cm_cases.py.

The victim has an idle QP on mpa1; the thief gets its number, which "rdma resource show"
would print. The victim must still be able to connect.
"""

import contextlib
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "lib"))

# pylint: disable=wrong-import-position
from cmlab import H1, H2, PORT, case, check, counting, main
from party import Party, container, other_user

KERNEL_PORT = 7301
CONSUMER = Path("/sys/module/mpa_consumer/parameters")


@contextlib.contextmanager
def parties(*become, port=PORT):
    """A server on h2, and on h1 a process for each set of privileges."""
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(Party("h2"))
        others = [stack.enter_context(Party("h1", one)) for one in become]
        server.ask("listen", H2, port)
        yield server, *others


def plain():
    pass


def connects(server, victim):
    """The victim's QP works like a new one."""
    server.tell("accept")
    check("victim", victim.ask("connect"), "ESTABLISHED")
    check("server", server.result(), "ESTABLISHED")


def stolen_from(become):
    with parties(plain, become) as (server, victim, thief):
        number = victim.ask("make", H2, PORT)
        with counting("mpa1", conn_qp_denied=1, conn_active=0):
            check("theft", thief.ask("steal", H2, PORT, number), "EPERM")
        server.ask("quiet")
        victim.ask("quiet")
        with counting("mpa1", conn_qp_denied=0, conn_active=1):
            connects(server, victim)


@case
def owner_other_process():
    stolen_from(plain)


@case
def owner_other_user():
    stolen_from(other_user)


@case
def owner_container():
    stolen_from(container)


@case
def owner_root_is_no_exception():
    """The victim is another user, and root wants its QP."""
    with parties(other_user, plain) as (server, victim, thief):
        check("victim's user", victim.ask("uid") != thief.ask("uid"), True)
        number = victim.ask("make", H2, PORT)
        check("theft", thief.ask("steal", H2, PORT, number), "EPERM")
        connects(server, victim)


@case
def owner_accepts_with_it():
    """The thief is connected to, by an accomplice on h2."""
    with parties(plain, other_user) as (server, victim, thief), \
            Party("h2") as accomplice:
        number = victim.ask("make", H2, PORT)
        thief.ask("listen", H1, PORT)
        accomplice.ask("make", H1, PORT)
        accomplice.tell("connect")
        with counting("mpa1", conn_qp_denied=1, conn_passive=0):
            check("theft", thief.ask("accept_with", number), "EPERM")
        check("accomplice", accomplice.result(), "REJECTED")
        connects(server, victim)


@case
def owner_no_such_number():
    """The error for a QP that does not exist is different."""
    with parties(plain) as (_, thief):
        with counting("mpa1", conn_qp_denied=0):
            check("theft", thief.ask("steal", H2, PORT, 1), "EINVAL")


@case
def owner_kernel():
    """The victim is a consumer in the kernel."""
    with parties(plain, other_user, port=KERNEL_PORT) as (server, thief, other):
        subprocess.run(["ip", "netns", "exec", "h1", "modprobe",
                        "mpa_consumer", f"address={H2}",
                        f"port={KERNEL_PORT}"], check=True)
        try:
            number = int((CONSUMER / "qpn").read_text("ascii"))
            with counting("mpa1", conn_qp_denied=2, conn_active=0):
                for one in thief, other:
                    check("theft", one.ask("steal", H2, KERNEL_PORT, number),
                          "EPERM")
            server.ask("quiet")
            server.tell("accept")
            (CONSUMER / "connect").write_text("1", "ascii")
            check("server", server.result(), "ESTABLISHED")
            # RDMA_CM_EVENT_ESTABLISHED
            check("consumer", (CONSUMER / "outcome").read_text("ascii"), "9\n")
            # Consumers read what a pointer leads to without a look at the length.
            check("private data", (CONSUMER / "data").read_text("ascii"), "N\n")
            # Its inbound depth first, as other iWARP devices have it: SMB Direct corrects that.
            check("depths", (CONSUMER / "depths").read_text("ascii"), "3,1\n")
        finally:
            subprocess.run(["modprobe", "-r", "mpa_consumer"], check=True)


@case
def owner_of_another_thread():
    """A process is all of its threads, including those that have ended."""
    with parties(plain) as (server, victim):
        victim.ask("make_in_thread", H2, PORT)
        with counting("mpa1", conn_qp_denied=0, conn_active=1):
            connects(server, victim)


@case
def owner_numbers():
    """A number does not predict the next one, and none is reused soon."""
    with parties(plain) as (_, user):
        kept = user.ask("numbers", H2, PORT, 24, False)
        dropped = user.ask("numbers", H2, PORT, 200, True)
    numbers = kept + dropped
    check("different ones", len(set(numbers)), len(numbers))
    check("24 bits", all(2 <= n < 1 << 24 for n in numbers), True)
    steps = [abs(b - a) for a, b in zip(numbers, numbers[1:])]
    # 223 steps; at random, one in 8000 is that short.
    check("in turn", sum(step < 1024 for step in steps) < 5, True)
    check("all over", max(numbers) - min(numbers) > 1 << 22, True)


if __name__ == "__main__":
    sys.exit(main(sys.argv, __doc__))
