"""The process of Spark's driver, as a Python worker of it finds it: who owns a lease.

The worker itself is started for a batch and may end after it. The JVM lives as long as the query.
"""

from __future__ import annotations

import os
from pathlib import Path

from holdfast.record.owner import Owner, process_here

_MOST_PARENTS = 8
_PROC = Path("/proc")


def driver_process() -> Owner:
    """Return the JVM that this worker belongs to; where the system hides it, this one's parent."""
    pid = os.getppid()
    for _ in range(_MOST_PARENTS):
        if _is_java(pid):
            return process_here(pid)
        pid = _parent_of(pid)
        if pid <= 1:
            break
    return process_here(os.getppid())


def started_ms(owner: Owner) -> int | None:
    """Return when a process of this machine began, in milliseconds since 1970; None: not known."""
    try:
        lines = (_PROC / "stat").read_text().splitlines()
        booted = next(int(line.split()[1]) for line in lines if line.startswith("btime "))
        return booted * 1000 + int(owner.pid_started) * 1000 // os.sysconf("SC_CLK_TCK")
    except (OSError, StopIteration, ValueError, IndexError):
        return None


def _is_java(pid: int) -> bool:
    try:
        words = (_PROC / str(pid) / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return words[0].rpartition(b"/")[2] == b"java"


def _parent_of(pid: int) -> int:
    try:
        text = (_PROC / str(pid) / "stat").read_text()
        return int(text.rpartition(")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0
