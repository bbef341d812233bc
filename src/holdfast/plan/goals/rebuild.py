"""Gives a checkpoint back from the ledger rows of its sinks, up to where the data ends.

A ledger row says which batch has arrived last, and where it ended. That is all that Spark needs of
a query without state: the two newest offset entries, a commit entry if every sink has the batch,
and of a file source the list of files that were read, which the record keeps beside the ledger.
What the rows say of the batch is set anew in the same plan: the batch was planned at another time
now, so its digest is another.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from holdfast.checkpoint.commits import CommitEntry
from holdfast.checkpoint.layout import COMMITS, OFFSETS, SOURCES
from holdfast.checkpoint.offsets import OffsetEntry, OffsetMetadata
from holdfast.checkpoint.text import parse_json, parse_json_object
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.ids import BatchId
from holdfast.ledger.coverage import Coverage, canonical_offset, read_coverage
from holdfast.ledger.row import LedgerRow
from holdfast.plan.draft import settle_sink
from holdfast.plan.entries import (
    commit_file,
    file_log_files,
    offset_file,
    put_file,
    remove_file,
    remove_file_alone,
)
from holdfast.plan.goals.kept_state import metadata_line, refuse_without_state
from holdfast.plan.goals.nearest import go_on_instead
from holdfast.plan.goals.old_batches import forget_state, rename_materialised
from holdfast.plan.goals.read_log import has_log, is_as_recorded, read_source_files
from holdfast.plan.plan_file import Need, NoPlan
from holdfast.plan.steps import SettleSink, Step
from holdfast.plan.world import SinkNow, StreamNow
from holdfast.storage.overlay import OverlayWriter


class Rebuilt(msgspec.Struct, frozen=True, kw_only=True):
    """What puts a checkpoint right, and where the stream then goes on."""

    steps: tuple[Step, ...]
    position: str
    needs: tuple[Need, ...] = ()
    outputs: tuple[str, ...] = ()


def rebuild(now: StreamNow, rows: tuple[LedgerRow, ...]) -> Rebuilt | NoPlan:
    """Return the steps that bring a checkpoint to where its sinks stand.

    Args:
        now: The stream, as it is now.
        rows: The ledger rows of its sinks; one at least has a batch.
    """
    newest = max(row.last_batch for row in rows)
    ends = {row.last_batch: row for row in rows}
    if len(rows) < len(now.sinks):
        missing = next(sink for sink in now.sinks if sink.row is None)
        return NoPlan(
            reason=f"{missing.display_name} has no ledger row: what it holds is unknown.",
            nearest=go_on_instead(now),
        )
    refused = _refuse_apart(now, rows, ends)
    line = refused or metadata_line(now, newest, is_pending=len(ends) > 1)
    if isinstance(line, NoPlan):
        return line
    files = _entries(now, ends, newest, line=line)
    if isinstance(files, NoPlan):
        return files
    files |= _commits(now, ends, newest)
    steps = [*_stale(now, newest, files), *_made_up(now, ends, files), *_puts(now, files, newest)]
    steps += forget_state(now, newest + 1) if now.is_stateful else ()
    settled = _settle(now, files, newest)
    if isinstance(settled, NoPlan):
        return settled
    position = (
        f"with batch {newest + 1}, exactly where the sinks end"
        if len(ends) == 1
        else f"with batch {newest} again, the same range: one sink has it and another does not"
    )
    outputs = tuple(f"{sink.display_name} is kept as it is" for sink in now.sinks)
    refused = refuse_without_state(now, steps, newest) if now.is_stateful else None
    return refused or Rebuilt(steps=(*steps, *settled), position=position, outputs=outputs)


def _commits(now: StreamNow, ends: dict[BatchId, LedgerRow], newest: BatchId) -> dict[str, str]:
    """Return the commit entry of the newest batch that every sink holds.

    Of a query with state the entry that is there stays: it names the versions of the state.
    """
    held = min(ends)
    is_there = isinstance(now.case.checkpoint.commits.get(held), CommitEntry)
    if is_there and (now.is_stateful or held < newest):
        return {}
    return {f"{COMMITS}/{held}": commit_file()} if held >= 0 else {}


def _refuse_apart(
    now: StreamNow, rows: tuple[LedgerRow, ...], ends: dict[BatchId, LedgerRow]
) -> NoPlan | None:
    """Refuse ledger rows that cannot all be of one checkpoint."""
    nearest = go_on_instead(now)
    behind, newest = ends[min(ends)], max(ends)
    if behind.last_batch < newest - 1:
        return NoPlan(
            reason=f"The sinks are further apart than one batch: {behind.sink} holds batch "
            f"{behind.last_batch}, another one batch {newest}.",
            nearest=nearest,
        )
    for row in rows:
        other = ends[row.last_batch]
        if row.end_offsets != other.end_offsets:
            return NoPlan(
                reason=f"The sinks {row.sink} and {other.sink} say of batch {row.last_batch} that "
                "it ended at different offsets: one of them is wrong.",
                nearest=nearest,
            )
    return None


def _entries(
    now: StreamNow, ends: dict[BatchId, LedgerRow], newest: BatchId, *, line: OffsetMetadata
) -> dict[str, str] | NoPlan:
    """Return the offset entries and the logs of file sources, by path."""
    end = parse_json_object(ends[newest].end_offsets)
    if end is None:
        return NoPlan(reason=f"The ledger row of {ends[newest].sink} has no end offsets.")
    files: dict[str, str] = {}
    previous = BatchId(newest - 1)
    is_there = isinstance(now.case.checkpoint.offsets.get(previous), OffsetEntry)
    if newest > 0 and (previous in ends or not is_there):
        before = ends.get(previous)
        start = end if before is None else parse_json_object(before.end_offsets) or {}
        files[f"{OFFSETS}/{previous}"] = offset_file(
            start, _earlier(line), sources=now.source_count
        )
    files[f"{OFFSETS}/{newest}"] = offset_file(end, line, sources=now.source_count)
    for source, offset in end.items():
        if isinstance(offset, dict) and "logOffset" in offset:
            log = _file_source(now, source, int(offset["logOffset"]))
            if isinstance(log, NoPlan):
                return log
            files |= log
    return files


def _earlier(line: OffsetMetadata) -> OffsetMetadata:
    return replace(line, batch_timestamp_ms=line.batch_timestamp_ms - 1)


def _file_source(now: StreamNow, source: str, newest: int) -> dict[str, str] | NoPlan:
    """Return the log of a file source, from the list of its files that the record keeps."""
    if has_log(now, source, newest) and is_as_recorded(now, source, newest):
        return {}  # it is still there
    entries = read_source_files(now, source, newest)
    if isinstance(entries, NoPlan):
        return entries
    logs = file_log_files(entries, newest)
    return {f"{SOURCES}/{source}/{name}": text for name, text in logs.items()}


def _stale(now: StreamNow, newest: BatchId, files: dict[str, str]) -> Iterator[Step]:
    """Yield the removal of what would contradict the entries: later ones, and old checksums."""
    checkpoint = now.case.checkpoint
    later = [f"{OFFSETS}/{at}" for at in checkpoint.offsets if at > newest]
    first = newest + 1 if now.is_stateful else newest
    later += [f"{COMMITS}/{at}" for at in checkpoint.commits if at >= first]
    for path in dict.fromkeys((*later, *files)):
        directory, _, name = path.rpartition("/")
        sidecar = f"{directory}/.{name}.crc"
        for each in (path, sidecar) if path in later and path not in files else (sidecar,):
            yield from remove_file_alone(now, each, why="It contradicts what the sinks hold.")


def _made_up(
    now: StreamNow, ends: dict[BatchId, LedgerRow], files: dict[str, str]
) -> Iterator[Step]:
    """Yield the removal of the commit of an entry whose own range nothing tells any more.

    Spark asks for the entry and does not use it; going back to its batch would lose rows.
    """
    previous = BatchId(max(ends) - 1)
    if f"{OFFSETS}/{previous}" in files and previous not in ends:
        why = "Where its batch ended is not known any more: nothing may go back to it."
        yield from remove_file(now, f"{COMMITS}/{previous}", why=why)


def _puts(now: StreamNow, files: dict[str, str], newest: BatchId) -> Iterator[Step]:
    for path, content in files.items():
        old = now.checkpoint.read(path)
        if old is not None and _says_the_same(now, path, content):
            continue
        yield put_file(now, path, content, why=f"The ledger rows say where batch {newest} ended.")


def _says_the_same(now: StreamNow, path: str, content: str) -> bool:
    """Return whether an entry that is there ends where the ledger says: then it stays."""
    directory, _, name = path.rpartition("/")
    there = now.case.checkpoint.offsets.get(BatchId(int(name))) if directory == OFFSETS else None
    if not isinstance(there, OffsetEntry):
        return False
    lines = content.split("\n")[2:]
    found = [each.text or "-" for each in there.offsets]
    return [canonical_offset(line) for line in lines] == [canonical_offset(x) for x in found]


def _settle(now: StreamNow, files: dict[str, str], newest: BatchId) -> tuple[Step, ...] | NoPlan:
    """Return the steps that set every row to the digest that its batch has now.

    Materialised rows of a batch that one sink lacks are found by that digest.
    """
    overlay = OverlayWriter(now.checkpoint)
    for path, content in files.items():
        if not _says_the_same(now, path, content):
            overlay.put(path, content.encode())
    covered = read_coverage(overlay, newest)
    if isinstance(covered, Unparsed):
        return NoPlan(reason=f"{covered.path}: {covered.reason}.")
    steps: list[Step] = []
    for sink in now.sinks:
        row = sink.row
        assert row is not None
        is_newest = row.last_batch == newest
        # Of the batch before, the entry that says where it began may be gone: no rule asks then.
        own = covered if is_newest or row.last_batch < 0 else read_coverage(overlay, row.last_batch)
        if is_newest:
            steps += rename_materialised(now, row.digest, covered)
        if row.last_batch >= 0 and isinstance(own, Coverage) and row.digest != own.digest:
            if parse_json(own.end_offsets) != parse_json(row.end_offsets):
                return NoPlan(reason=_other_end(now, row.last_batch))
            steps.append(_set_digest(now, sink, own))
    return tuple(dict.fromkeys(steps))


def _other_end(now: StreamNow, batch: int) -> str:
    return (
        f"offsets/{batch} does not end where the ledger says that batch {batch} of {now.stream} "
        "ended, and it could not be written anew from it."
    )


def _set_digest(now: StreamNow, sink: SinkNow, covered: Coverage) -> SettleSink:
    row = sink.row
    assert row is not None
    new = dataclasses.replace(row, digest=covered.digest, end_offsets=covered.end_offsets)
    why = "The same batch, with the time at which its entry was written again."
    return settle_sink(now, sink, new, why=why)
