"""Makes many histories run in one process: nothing waits, and a killed process counts as dead."""

from __future__ import annotations

import gc
import logging
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any
from unittest.mock import patch

import msgspec

from campaigns.histories.quick_files import QuickFiles
from holdfast import clock
from holdfast.formats import delta_log
from holdfast.plan import graph
from holdfast.record import owner
from holdfast.record.owner import Owner
from holdfast.storage import local, write_local

_THIS = owner.this_process()


def dead_process() -> Owner:
    """Return an owner that had this process's number, and is gone: its leases can be taken."""
    return msgspec.structs.replace(_THIS, pid_started="1")


class _Ticking:
    """A clock that goes on by a second whenever it is looked at: no two plans have one time."""

    def __init__(self) -> None:
        self._now = clock.now()

    def __call__(self) -> datetime:
        self._now += timedelta(seconds=1)
        return self._now


class _Serial:
    """A pool of no threads: what it is given is a few small files in memory."""

    def __init__(self, workers: int) -> None:
        del workers

    def __enter__(self) -> _Serial:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def map(self, call: Callable[[Any], Any], values: Iterable[Any]) -> Iterator[Any]:
        return map(call, values)


@contextmanager
def one_process() -> Iterator[None]:
    """Have everything within done by processes that are gone once they have ended."""
    log = logging.getLogger("holdfast")
    level = log.level
    log.setLevel(logging.CRITICAL)
    named = [
        module
        for name, module in list(sys.modules.items())
        if name.startswith(("holdfast", "campaigns.histories"))
        and getattr(module, "this_process", None) is owner.this_process
    ]
    patches: list[Any] = [patch.object(each, "this_process", dead_process) for each in named]
    patches += [patch.object(each, "ThreadPoolExecutor", _Serial) for each in (delta_log, graph)]
    patches.append(patch.object(os, "fsync", lambda _: None))
    patches.append(patch.object(local, "LocalReader", QuickFiles))
    patches.append(patch.object(write_local, "LocalWriter", QuickFiles))
    patches.append(patch.object(clock, "now", _Ticking()))
    for each in patches:
        each.start()
    gc.freeze()  # what is imported is never garbage: a fifth of the time goes into looking at it
    try:
        yield
    finally:
        log.setLevel(level)
        gc.unfreeze()
        for each in patches:
            each.stop()
