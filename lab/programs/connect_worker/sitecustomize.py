"""Imported by every Python that the lab's server starts: has a worker die or halt at a point."""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter
from pathlib import Path

_STRIKE = Path(os.environ.get("HOLDFAST_LAB_STRIKE", "/nonexistent"))


def _listen() -> None:
    from holdfast import points  # noqa: PLC0415 - most processes import this file for nothing

    seen: Counter[str] = Counter()

    def hear(point: str) -> None:
        seen[point] += 1
        try:
            wanted, nth, victim, name = _STRIKE.read_text().split()
        except (OSError, ValueError):
            return
        if (point, seen[point]) != (wanted, int(nth)):
            return
        _STRIKE.unlink(missing_ok=True)
        draft = _STRIKE.with_name("struck.draft")
        draft.write_text(str(os.getpid()))
        draft.rename(_STRIKE.with_name("struck"))
        if victim == "server":  # and its orphan goes on when it is told to
            server = os.getppid()
            os.kill(server, getattr(signal, f"SIG{name}"))
            while os.getppid() == server:  # its memory is given back first
                pass
            os.kill(os.getpid(), signal.SIGSTOP)
        else:
            os.kill(os.getpid(), getattr(signal, f"SIG{name}"))

    points.listen(hear)


if "pyspark.sql.connect.streaming.worker.foreach_batch_worker" in sys.orig_argv:
    _listen()
