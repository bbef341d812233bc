"""Run one command and report how its whole process tree ended and what CPU time it took.

Started as a script of its own between a drill and a driver, because only a parent is told the CPU
time of a killed process, and a killed driver's JVM and Python workers lose theirs. As subreaper
this process inherits them, so it also knows when the last one is gone.

    python supervise.py REPORT COMMAND...

The first line on stdout is the pid of the command, which leads a process group of its own. The
report is one JSON object: `status` (exit code, or minus the signal), `cpu_seconds`, `wall_seconds`.
Imports only the standard library: it must start in milliseconds.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_STRAGGLER_SECONDS = 30


def main(report: Path, command: list[str]) -> None:
    """Run the command, wait for every descendant, write the report."""
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1)
    drill, first = os.getppid(), 0
    signal.signal(signal.SIGTERM, lambda *_: _kill_group(first))
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != drill:
        return  # the drill was gone before we asked to be told
    began = time.monotonic()
    # Stdout is the line to the drill; what the command prints belongs into the log.
    first = subprocess.Popen(command, process_group=0, stdout=sys.stderr).pid
    sys.stdout.write(f"{first}\n")
    sys.stdout.flush()
    # The point is the driver's: the report is renamed too.
    os.environ.pop("HOLDFAST_DRILL_FILE", None)
    status = _wait_for_all(first)
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    values = {
        "status": status,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "wall_seconds": time.monotonic() - began,
    }
    half_written = report.with_suffix(".tmp")
    half_written.write_text(json.dumps(values))
    half_written.rename(report)


def _wait_for_all(first: int) -> int:
    status = 0
    while True:
        try:
            pid, raw = os.wait()
        except ChildProcessError:
            return status
        if pid == first:
            status = os.waitstatus_to_exitcode(raw)
            # Python workers leave the group and end when their JVM is gone; give up on them late.
            signal.signal(signal.SIGALRM, lambda *_: _kill_stragglers())
            signal.setitimer(signal.ITIMER_REAL, _STRAGGLER_SECONDS, 1)


def _kill_stragglers() -> None:
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    for pid in children:
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)


def _kill_group(first: int) -> None:
    if not first:
        sys.exit(1)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(first, signal.SIGKILL)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
