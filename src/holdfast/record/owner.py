"""Who holds a lease: a process, told apart from every other that had its number before."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import msgspec

from holdfast.printable import printable
from holdfast.record.bounds import Line, ProcessNumber

_PROC = Path("/proc")


class Owner(msgspec.Struct, frozen=True, kw_only=True):
    """A process on a machine."""

    host: Line
    pid: ProcessNumber
    machine: Line = ""
    """This boot of this machine, in this pid namespace; empty where the system does not tell."""
    pid_started: Line = ""
    """When the process began, as the system counts; a number is used again, this is not."""

    def __str__(self) -> str:
        return f"{self.host}/{self.pid}"


def this_process() -> Owner:
    """Return the owner that this process is."""
    return process_here(os.getpid())


def process_here(pid: int) -> Owner:
    """Return the owner that a process of this machine is."""
    host = printable(socket.gethostname())[:255]
    return Owner(host=host, pid=pid, machine=_machine(), pid_started=_started(pid) or "")


def is_certainly_dead(owner: Owner) -> bool:
    """Return whether a process is known to be gone: only one of this machine can be."""
    here = _machine()
    if not here or owner.machine != here or not owner.pid_started:
        return False
    started = _started(owner.pid)
    # A system can hide the processes of others (hidepid): they are not listed, and they live.
    return not _exists(owner.pid) if started is None else started != owner.pid_started


def is_ending(pid: int) -> bool:
    """Return whether a process has been killed and is not gone yet, as far as the system shows.

    The memory of a large one takes a while to be given back; until then its children have it.
    """
    return _started(pid) == ""


def _machine() -> str:
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
        namespace = (_PROC / "self/ns/pid").readlink()
    except OSError:
        return ""
    return f"{boot} {namespace}"


def _started(pid: int) -> str | None:
    """Return when a process began; empty when it has ended and is not reaped, None if not shown."""
    try:
        text = (_PROC / str(pid) / "stat").read_text()
    except OSError:
        return None
    # The name in parentheses may hold anything; the fields after it may not.
    fields = text.rpartition(")")[2].split()
    state, started = fields[0], fields[19]
    return "" if state in ("Z", "X") else started


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return True
