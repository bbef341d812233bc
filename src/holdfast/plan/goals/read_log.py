"""Which files a file source has read: from the log in its checkpoint, or from the record."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.checkpoint.layout import SOURCES
from holdfast.checkpoint.sources.files import FileEntry, parse_file_log
from holdfast.plan.goals.refusals import say_reset
from holdfast.plan.plan_file import NoPlan
from holdfast.plan.world import StreamNow
from holdfast.record.generations import REWOUND, read_generations
from holdfast.record.input_files import read_input_files
from holdfast.storage.read import read_chunks


def read_source_files(now: StreamNow, source: str, newest: int) -> list[FileEntry] | NoPlan:
    """Return every file that a source has read up to a number of its log, in the log's order."""
    found = (_from_checkpoint(now, source), _from_record(now, source))
    for entries in found if is_as_recorded(now, source, newest) else found[::-1]:
        known = {each.log_offset for each in entries}
        if known >= set(range(newest + 1)):
            wanted = (each for each in entries if each.log_offset <= newest)
            return sorted(wanted, key=lambda each: (each.log_offset, each.path))
    return NoPlan(
        reason=f"Which files source {source} of {now.stream} has read is not known: neither the "
        f"checkpoint nor the record lists all {newest + 1} entries of its log.",
        nearest=say_reset(now),
    )


def has_log(now: StreamNow, source: str, newest: int) -> bool:
    """Return whether a checkpoint has the log of a file source up to a number, without a gap."""
    known = {each.log_offset for each in _from_checkpoint(now, source)}
    return known >= set(range(newest + 1))


def is_as_recorded(now: StreamNow, source: str, newest: int) -> bool:
    """Return whether the log in a checkpoint names the files that the record says were read.

    Numbers of which the record keeps nothing are not compared.
    """
    recorded = _by_number(_from_record(now, source), newest)
    there = _by_number(_from_checkpoint(now, source), newest)
    return all(there.get(number) == paths for number, paths in recorded.items())


def _by_number(entries: list[FileEntry], newest: int) -> dict[int, set[str]]:
    found: dict[int, set[str]] = {}
    for each in entries:
        if each.log_offset <= newest:
            found.setdefault(each.log_offset, set()).add(each.path)
    return found


def _from_checkpoint(now: StreamNow, source: str) -> list[FileEntry]:
    log = next((each for each in now.case.checkpoint.sources if each.name == source), None)
    if log is None:
        return []
    base = max(log.compacts, default=-1)
    names = [f"{base}.compact"] if base >= 0 else []
    names += [str(each) for each in log.entries if each > base]
    found = (
        entry
        for name in names
        for entry in parse_file_log(name, read_chunks(now.checkpoint, f"{SOURCES}/{source}/{name}"))
    )
    return [each for each in found if isinstance(each, FileEntry)]


def _from_record(now: StreamNow, source: str) -> list[FileEntry]:
    """Return what was kept by every generation whose log goes on in this one."""
    entries: list[FileEntry] = []
    for number in _lives(now):
        # What an earlier generation has read from there on was taken back, and read again.
        first = min((each.log_offset for each in entries), default=None)
        entries += [
            FileEntry(path=each.path, timestamp_ms=each.timestamp_ms, log_offset=each.log_offset)
            for each in read_input_files(now.record, generation=number, source=source)
            if first is None or each.log_offset < first
        ]
    return entries


def _lives(now: StreamNow) -> Iterator[int]:
    """Yield the generations whose log goes on in the current one, the newest first.

    A rewound one goes on with a copy of the log before it; an undone one is on an older checkpoint.
    """
    place = None if now.guard is None else now.guard.generation.checkpoint
    generations = list(read_generations(now.record))
    while generations:
        each = generations.pop()
        if each.checkpoint != place:
            continue
        yield each.number
        if each.why == REWOUND and generations:
            place = generations[-1].checkpoint
