"""A checkpoint up to a batch: which files are left out, and what its ledger rows then say."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from holdfast.checkpoint.layout import COMMITS, METADATA, OFFSETS, SOURCES
from holdfast.checkpoint.offsets import OffsetEntry
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.evidence.collect import collect
from holdfast.evidence.outcomes import Refuses, Resumes
from holdfast.evidence.overview import overview_of
from holdfast.ids import BatchId
from holdfast.ledger.coverage import Coverage, read_coverage
from holdfast.plan.entries import file_log_files, metadata_file
from holdfast.plan.goals.old_batches import find_later_state
from holdfast.plan.goals.read_log import read_source_files
from holdfast.plan.plan_file import NoPlan
from holdfast.plan.world import StreamNow
from holdfast.sources.registry import parse_offset
from holdfast.storage.overlay import OverlayWriter
from holdfast.storage.read import Reader


class Cut(msgspec.Struct, frozen=True, kw_only=True):
    """A checkpoint up to a batch."""

    batch: BatchId
    leaves_out: tuple[str, ...]
    """Files that the copy does not have as they are."""
    files: dict[str, str]
    """Files that it has instead."""
    covered: Coverage
    """What the batch covers in the copy."""


def cut_at(now: StreamNow, batch: int, *, query_id: str) -> Cut | NoPlan:
    """Return a checkpoint up to a batch, if Spark can go on from there.

    Args:
        now: The stream, as it is now; its checkpoint is what is cut.
        batch: The last batch that stays.
        query_id: Of the copy.
    """
    checkpoint = now.case.checkpoint
    entry = checkpoint.offsets.get(BatchId(batch))
    before = checkpoint.offsets.get(BatchId(batch - 1))
    kept = [at for at in checkpoint.commits if at in checkpoint.offsets]
    if not isinstance(entry, OffsetEntry) or BatchId(batch) not in checkpoint.commits:
        there = f"{min(kept)} to {max(kept)}" if kept else "none"
        return NoPlan(reason=f"Batch {batch} is not in the checkpoint; these are: {there}.")
    if batch > 0 and not isinstance(before, OffsetEntry):
        return NoPlan(reason=f"offsets/{batch - 1} is gone, and Spark asks for it.")
    logs = _source_logs(now, entry)
    if isinstance(logs, NoPlan):
        return logs
    files = {METADATA: metadata_file(query_id), **logs}
    later = (*_later(now.checkpoint, batch), *_old_logs(now, logs))
    left_out = tuple(dict.fromkeys((*later, *_sidecars(files), *files)))
    overlay = OverlayWriter(now.checkpoint)
    for path in left_out:
        overlay.delete(path)
    for path, content in files.items():
        overlay.put(path, content.encode())
    overview = overview_of(collect(overlay, verify=True))
    start = overview.next_start
    if not isinstance(start, Resumes) or start.batch_id != batch + 1:
        why = start.because if isinstance(start, Refuses) else "what is needed of it is gone"
        return NoPlan(reason=f"Spark cannot go on after batch {batch}: {why}.")
    covered = read_coverage(overlay, BatchId(batch))
    if isinstance(covered, Unparsed):
        return NoPlan(reason=f"{covered.path}: {covered.reason}.")
    return Cut(batch=BatchId(batch), leaves_out=left_out, files=files, covered=covered)


def _later(reader: Reader, batch: int) -> Iterator[str]:
    """Yield the files of later batches: log entries, versions of state, temp files of them."""
    for directory in (OFFSETS, COMMITS):
        for info in reader.list(directory).files:
            digits = re.match(r"\.?([0-9]+)", info.path.rpartition("/")[2])
            if digits and int(digits[1]) > batch:
                yield info.path
    yield from find_later_state(reader, batch)


def _source_logs(now: StreamNow, entry: OffsetEntry) -> dict[str, str] | NoPlan:
    """Return the logs of file sources up to an entry, which would else name later files as read."""
    files: dict[str, str] = {}
    for each in entry.offsets:
        offset = None if each.text is None else parse_offset(each.text)
        if offset is None or offset.log_index is None:
            continue
        entries = read_source_files(now, each.source, offset.log_index)
        if isinstance(entries, NoPlan):
            return entries
        home = f"{SOURCES}/{each.source}"
        logs = file_log_files(entries, offset.log_index)
        files |= {f"{home}/{name}": text for name, text in logs.items()}
    return files


def _old_logs(now: StreamNow, logs: dict[str, str]) -> Iterator[str]:
    """Yield every file of the logs that are written anew."""
    for home in {path.rpartition("/")[0] for path in logs}:
        yield from (info.path for info in now.checkpoint.walk(home))


def _sidecars(files: dict[str, str]) -> Iterator[str]:
    for path in files:
        directory, _, name = path.rpartition("/")
        yield f"{directory}/.{name}.crc" if directory else f".{name}.crc"
