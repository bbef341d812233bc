"""What the rules about files share: the looks at sources and outputs of that kind."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.checkpoint.offsets import OffsetEntry
from holdfast.evidence.case import Case
from holdfast.evidence.outputs.files import FileOutput
from holdfast.evidence.progress import find_ranges
from holdfast.ids import BatchId
from holdfast.rules.delta_holdings import delta_holdings
from holdfast.sources.files.found import FileSource
from holdfast.sources.kind import Amount

LARGE_LOG = 100 << 20
"""Bytes of a compact file from which on writing it anew takes seconds, and the driver's memory."""
CLOCKS_DIFFER_MS = 60_000
"""A driver's clock and a store's clock differ by less."""


def file_sources(case: Case) -> Iterator[tuple[str, FileSource]]:
    """Yield the sources of files that were looked at, each with its place in the query."""
    for each in case.sources:
        if isinstance(each.found, FileSource):
            yield each.source, each.found


def file_outputs(case: Case) -> Iterator[FileOutput]:
    """Yield the outputs of Spark's file sink that were looked at."""
    yield from (each for each in case.outputs if isinstance(each, FileOutput))


def holds_batch(case: Case, batch: int) -> bool:
    """Return whether every sink that was looked at holds a batch; False when none was."""
    ledgers = [] if case.stream is None else [each.last_batch for each in case.stream.sinks]
    tables = [each.batch for each in delta_holdings(case)]
    newest = [*ledgers, *tables, *(each.newest for each in file_outputs(case))]
    is_each_known = len(newest) == len(ledgers) + len(case.outputs)
    return bool(newest) and is_each_known and all((each or -1) >= batch for each in newest)


def split_writers(case: Case, output: FileOutput) -> tuple[list[int], list[int]]:
    """Return the batches in an output that this checkpoint wrote, and those it cannot have written.

    Spark plans a batch before it writes it. Files of a batch that are older than its plan are of
    another checkpoint, or of an earlier plan.
    """
    own, others = [], []
    for each in output.batches:
        entry = case.checkpoint.offsets.get(BatchId(each.batch))
        if not isinstance(entry, OffsetEntry) or entry.metadata is None or not each.written_ms:
            continue
        planned_ms = entry.metadata.batch_timestamp_ms
        if each.written_ms >= planned_ms:
            own.append(each.batch)
        elif each.written_ms < planned_ms - CLOCKS_DIFFER_MS:
            others.append(each.batch)
    return own, others


def count_rows(case: Case, batches: list[int]) -> Amount | None:
    """Return how many records batches cover; None when the offsets do not tell."""
    total = 0
    for batch in batches:
        for each in find_ranges(case.checkpoint, BatchId(batch)):
            if each.amount is None or each.amount.unit not in ("record", "row"):
                return None
            total += each.amount.number
    return Amount(number=total, unit="record")


def when_compacted(output: FileOutput, after: int) -> str:
    """Return when Spark next compacts the log: `at batch 19`, or `by default at batch 19`."""
    batch = f"at batch {output.next_compaction(after)}"
    return f"by default {batch}" if output.compact is None else batch
