"""Makes many histories run in one process: nothing waits, and a killed process counts as dead."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import msgspec

from holdfast.ledger import delta_log
from holdfast.plan import graph
from holdfast.record import owner
from holdfast.record.owner import Owner

_THIS = owner.this_process()


def dead_process() -> Owner:
    """Return an owner that had this process's number, and is gone: its leases can be taken."""
    return msgspec.structs.replace(_THIS, pid_started="1")


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
    logging.getLogger("holdfast").setLevel(logging.CRITICAL)
    named = [
        module
        for name, module in list(sys.modules.items())
        if name.startswith(("holdfast", "campaigns.histories"))
        and getattr(module, "this_process", None) is owner.this_process
    ]
    patches: list[Any] = [patch.object(each, "this_process", dead_process) for each in named]
    patches += [patch.object(each, "ThreadPoolExecutor", _Serial) for each in (delta_log, graph)]
    patches.append(patch.object(os, "fsync", lambda _: None))
    for each in patches:
        each.start()
    try:
        yield
    finally:
        for each in patches:
            each.stop()
