"""Which files a file source has read: from the log in its checkpoint, or from the record."""

from __future__ import annotations

from holdfast.checkpoint.layout import SOURCES
from holdfast.checkpoint.sources.files import FileEntry, parse_file_log
from holdfast.plan.plan_file import NoPlan
from holdfast.plan.world import StreamNow
from holdfast.record.generations import read_generations
from holdfast.record.read_files import read_input_files
from holdfast.storage.read import read_chunks


def read_source_files(now: StreamNow, source: str, newest: int) -> list[FileEntry] | NoPlan:
    """Return every file that a source has read up to a number of its log, in the log's order."""
    for entries in (_from_checkpoint(now, source), _from_record(now, source)):
        known = {each.log_offset for each in entries}
        if known >= set(range(newest + 1)):
            wanted = (each for each in entries if each.log_offset <= newest)
            return sorted(wanted, key=lambda each: (each.log_offset, each.path))
    return NoPlan(
        reason=f"Which files source {source} of {now.stream} has read is not known: neither the "
        f"checkpoint nor the record lists all {newest + 1} entries of its log.",
        nearest=f"holdfast plan reset {now.stream} --root {now.root} --from earliest "
        "--output truncate",
    )


def has_log(now: StreamNow, source: str, newest: int) -> bool:
    """Return whether a checkpoint has the log of a file source up to a number, without a gap."""
    known = {each.log_offset for each in _from_checkpoint(now, source)}
    return known >= set(range(newest + 1))


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
    """Return what was kept by every generation on this checkpoint: an undone one goes on there."""
    current = None if now.guard is None else now.guard.generation.checkpoint
    lives = [each.number for each in read_generations(now.record) if each.checkpoint == current]
    entries: list[FileEntry] = []
    for number in reversed(lives):
        known = {each.log_offset for each in entries}
        entries += [
            FileEntry(path=each.path, timestamp_ms=each.timestamp_ms, log_offset=each.log_offset)
            for each in read_input_files(now.record, generation=number, source=source)
            if each.log_offset not in known
        ]
    return entries
