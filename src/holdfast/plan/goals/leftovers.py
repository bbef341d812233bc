"""What killed writers leave in a checkpoint, and what keeps Spark from writing an entry again."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from holdfast.checkpoint.layout import COMMITS, OFFSETS, SOURCES
from holdfast.plan.entries import remove_file, remove_file_alone
from holdfast.plan.goals.rebuild import Rebuilt
from holdfast.plan.plan_file import Need
from holdfast.plan.steps import Permission, Step
from holdfast.plan.world import StreamNow


def blocking_checksums(now: StreamNow) -> Rebuilt:
    """Take away checksums whose entry is gone: Hadoop does not write that entry beside them."""
    checkpoint = now.case.checkpoint
    newest = {OFFSETS: now.case.newest_planned, COMMITS: now.case.newest_committed}
    lone = list(checkpoint.lone_sidecars)
    for log in checkpoint.sources:
        newest[f"{SOURCES}/{log.name}"] = max((*log.entries, *log.compacts), default=-1)
        lone += log.lone_sidecars
    steps: list[Step] = []
    needs: tuple[Need, ...] = ()
    for path in lone:
        directory, _, name = path.rpartition("/")
        number = name.removeprefix(".").removesuffix(".crc")
        if not number.isdecimal() or int(number) <= newest.get(directory, -1):
            continue  # Spark does not write this entry again
        why = f"{directory}/{number} is gone, and cannot be written beside its old checksum."
        steps += remove_file_alone(now, path, why=why)
        if directory == OFFSETS:
            needs = unless_known(now, f"A sink without a ledger may hold rows of batch {number}.")
    return Rebuilt(steps=tuple(steps), position="", needs=needs)


def orphans(now: StreamNow) -> Iterator[Step]:
    """Take away what a killed first batch left."""
    for path in now.case.checkpoint.leftovers:
        if posixpath.dirname(path) in (OFFSETS, COMMITS):
            why = "A killed first batch left it, and Spark 4.1 and later refuse to start beside it."
            yield from remove_file(now, path, why=why)


def unless_known(now: StreamNow, why: str) -> tuple[Need, ...]:
    """Return the permission that a stream needs whose sinks cannot tell a batch again."""
    is_known = now.guard is not None and now.guard.has_ledgers
    need = Need(permission=Permission.REPEATS_DATA, stream=now.stream, why=why)
    return () if is_known else (need,)
