"""What the history of a plain stream tells of its batches, where its checkpoint is gone.

Spark posts the progress of a batch after its commit entry is written, so a batch with progress was
committed. Its end is where the next one begins. What cannot be continued from a log is refused by
name: state, and sources that keep more in the checkpoint than an offset.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

import msgspec

from holdfast.checkpoint.offsets import PARTITIONS, OffsetEntry, OffsetMetadata
from holdfast.checkpoint.read import Checkpoint
from holdfast.checkpoint.text import parse_json
from holdfast.evidence.event_log import compare_offsets
from holdfast.formats.event_log.events import BatchProgress
from holdfast.formats.event_log.history import EventLogHistory
from holdfast.ids import BatchId
from holdfast.plan.entries import offset_file
from holdfast.plan.plan_file import NoPlan
from holdfast.sources.kind import Offset
from holdfast.sources.registry import parse_offset
from holdfast.wording import batch_range, count

_EVOLUTION = "spark.sql.streaming.queryEvolution.enableSourceEvolution"


class KnownBatches(msgspec.Struct, frozen=True, kw_only=True):
    """The batches of a query whose ranges are known."""

    history: EventLogHistory
    by_number: Mapping[int, BatchProgress]
    """Each as its newest run had it."""
    settings: Mapping[str, str] = msgspec.field(default_factory=dict)
    """What an offset entry says of the session."""

    @property
    def query_id(self) -> str:
        """Of the query."""
        assert self.history.query_id is not None
        return self.history.query_id

    @property
    def newest(self) -> BatchProgress:
        """The newest batch."""
        return self.by_number[max(self.by_number)]


def know_batches(
    history: EventLogHistory, checkpoint: Checkpoint, stream: str
) -> KnownBatches | NoPlan:
    """Return the batches that a query can be continued from, or why it cannot.

    Args:
        history: Of the query.
        checkpoint: What is left of it.
        stream: Its name, for messages.
    """
    if not history.batches:
        return NoPlan(reason=f"{_say_no_batch(history)} Where {stream} stopped is not known.")
    twice = _find_two_ranges(history)
    if twice is not None:
        return NoPlan(
            reason=f"Batch {twice} of {stream} ran twice, over different ranges, in the event log: "
            "which of them the sink holds is not known."
        )
    newest = {each.batch_id: each for each in history.batches}
    last = history.batches[-1]
    if last.batch_id != max(newest):
        return NoPlan(
            reason=f"The newest run of {stream} in the event log ended with batch {last.batch_id}, "
            f"an older one with batch {max(newest)}: its checkpoint went back in between."
        )
    refused = _refuse_query(history, checkpoint, stream) or _refuse_entries(
        history, checkpoint, stream
    )
    settings = _settings(history, checkpoint)
    return refused or KnownBatches(history=history, by_number=newest, settings=settings)


def _settings(history: EventLogHistory, checkpoint: Checkpoint) -> Mapping[str, str]:
    """Return the settings of an entry that is left, else what the event log has of them."""
    left = checkpoint.newest_readable
    if left is not None and left.metadata is not None:
        return left.metadata.conf
    known = {} if history.newest is None else history.newest.settings
    return {PARTITIONS: known[PARTITIONS]} if PARTITIONS in known else {}


def _say_no_batch(history: EventLogHistory) -> str:
    at = f"The event log at {history.location}"
    if not history.runs:
        return f"{at} does not have query {history.query_id}."
    why = f"{at} has {count(history.count, 'start')} of the query, and no batch."
    if history.compacted:
        why += " The history server has compacted it, which removes batches for good."
    return why


def _find_two_ranges(history: EventLogHistory) -> int | None:
    """Return a batch that two runs had with different ends; a repeated batch has the same."""
    ends: dict[int, list[object]] = {}
    for each in history.batches:
        end = [_value(source.end) for source in each.sources]
        if ends.setdefault(each.batch_id, end) != end:
            return each.batch_id
    return None


def _value(text: str | None) -> object:
    parsed = None if text is None else parse_json(text)
    return text if parsed is None else parsed


def _refuse_query(history: EventLogHistory, checkpoint: Checkpoint, stream: str) -> NoPlan | None:
    """Refuse a query that its offsets alone do not continue."""
    operators = sorted({each.operator for batch in history.batches for each in batch.states})
    if operators or checkpoint.state:
        named = f" ({', '.join(operators)})" if operators else ""
        return NoPlan(
            reason=f"{stream} keeps state{named}, and the state is in no log. Restore the "
            "checkpoint from a backup, or compute the output again from the beginning."
        )
    run = history.newest
    if run is not None and run.settings.get(_EVOLUTION) == "true":
        return NoPlan(
            reason=f"{stream} runs with {_EVOLUTION}: the event log does not have the names of "
            "its sources, which its offset entries need."
        )
    reasons = _unfit_sources(history.batches[-1], checkpoint)
    return next((NoPlan(reason=f"{stream} reads {each}") for each in reasons), None)


def _unfit_sources(batch: BatchProgress, checkpoint: Checkpoint) -> Iterator[str]:
    """Yield why a source cannot be continued by its offset."""
    if not batch.sources:
        yield "no source that the event log names."
    for place, source in enumerate(batch.sources):
        offset = None if source.end is None else parse_offset(source.end)
        if offset is None:
            yield f"{source.description}, which has no offset in the event log yet."
        elif offset.log_index is not None:
            if not _has_file_log(checkpoint, str(place), offset):
                yield (
                    f"{source.description}. Which files it has read is only in the checkpoint, "
                    f"and sources/{place} is gone: Spark would read every file again."
                )
        elif not offset.kind.continues_by_offset:
            yield (
                f"{source.description}, which keeps more in the checkpoint than the offset that "
                "the event log has."
            )


def _has_file_log(checkpoint: Checkpoint, source: str, offset: Offset) -> bool:
    """Return whether the list of files that a source has read is still there, without a gap."""
    log = next((each for each in checkpoint.sources if each.name == source), None)
    newest = offset.log_index
    if log is None or newest is None:
        return False
    base = max((each for each in log.compacts if each <= newest), default=-1)
    return set(log.entries) >= set(range(base + 1, newest + 1)) and not any(
        each.path.startswith(f"sources/{source}/") for each in checkpoint.unparsed
    )


def _refuse_entries(history: EventLogHistory, checkpoint: Checkpoint, stream: str) -> NoPlan | None:
    """Refuse entries that are left and are not those of this query."""
    wanted = len(history.batches[-1].sources)
    for number, entry in checkpoint.offsets.items():
        if isinstance(entry, OffsetEntry) and (entry.version, len(entry.offsets)) != (1, wanted):
            return NoPlan(
                reason=f"offsets/{number} of {stream} has {count(len(entry.offsets), 'source')} in "
                f"form v{entry.version}, the event log has {wanted}: Spark's own order is not "
                "known."
            )
    different = compare_offsets(history, checkpoint).different
    if not different:
        return None
    numbers = sorted(each.batch_id for each in different)
    named = batch_range(numbers[0], numbers[-1])
    return NoPlan(
        reason=f"What is left of the checkpoint is not of query {history.query_id}: {named} of "
        f"{stream} ended elsewhere by the event log."
    )


def moment_ms(at: str) -> int | None:
    """Return a time of the event log in milliseconds; None for what is none."""
    try:
        found = datetime.fromisoformat(at)
    except ValueError:
        return None
    return None if found.tzinfo is None else int(found.timestamp() * 1000)


def entry_of(offsets: tuple[str | None, ...], number: int, known: KnownBatches) -> str:
    """Return an offset entry.

    Args:
        offsets: Of each source, in the order of the query.
        number: Of the batch that ends there.
        known: Whose times, watermarks and settings it gets.
    """
    older = [at for at in known.by_number if at <= number]
    batch = known.by_number[max(older)] if older else None
    watermark = None if batch is None or not batch.watermark else moment_ms(batch.watermark)
    line = OffsetMetadata(
        batch_watermark_ms=max(0, watermark or 0),
        # Not later than the batch itself: it would look like one that was planned again.
        batch_timestamp_ms=0 if batch is None else moment_ms(batch.at) or 0,
        conf=known.settings,
    )
    values = {str(at): _value(each) for at, each in enumerate(offsets) if each is not None}
    return offset_file(values, line, sources=len(offsets))


def left_entry(checkpoint: Checkpoint, batch: int) -> OffsetEntry | None:
    """Return an offset entry that is left and can be read; None if it is not."""
    found = checkpoint.offsets.get(BatchId(batch))
    return found if isinstance(found, OffsetEntry) else None
