"""Where a plain stream goes on after its checkpoint was lost: history and sink held together.

If both end with the same batch, that is the proof. If the sink has more, Spark would plan those
batches again with other ranges, and the sink would skip them: rows are lost without an error. Then
their ranges come from what is left of the checkpoint or from the files of the table, or the batches
are taken out of the table and their numbers are passed over.
"""

from __future__ import annotations

import json

import msgspec
from msgspec.structs import replace

from holdfast.checkpoint.read import Checkpoint
from holdfast.evidence.outputs.delta import DeltaOutput, OutputCommit
from holdfast.evidence.outputs.files import FileOutput
from holdfast.formats.event_log.events import BatchProgress
from holdfast.plan.goals.file_statistics import KnownRange, NoRange, read_ends
from holdfast.plan.goals.plain_history import KnownBatches, left_entry
from holdfast.plan.goals.plain_sink import Reached
from holdfast.plan.plan_file import NoPlan
from holdfast.sources.kind import Offset
from holdfast.sources.registry import parse_offset
from holdfast.storage.read import Reader
from holdfast.wording import batch_range

Offsets = tuple[str | None, ...]
"""Of each source, in the order of the query; None for one that had none yet."""


class ResumePoint(msgspec.Struct, frozen=True, kw_only=True):
    """Where a stream goes on: after a batch that counts as committed."""

    number: int
    """Of that batch."""
    before: Offsets
    """Where the batch before it ended; empty for batch 0."""
    end: Offsets
    batch: BatchProgress
    """The newest one of the history up to it: its time and watermark are used."""
    last: str = ""
    """Which batch is the last one in the event log and in the sink, for people."""
    story: str = ""
    """Why this is where the rows end, if the two do not agree; sentences without the last stop."""
    takes_out: bool = False
    """Whether the sink must be taken back to that batch of the history first."""


def find_position(
    reached: Reached,
    known: KnownBatches,
    checkpoint: Checkpoint,
    *,
    output: DeltaOutput | FileOutput,
    table: Reader,
) -> ResumePoint | NoPlan:
    """Return where a stream goes on, or why that is not known.

    Args:
        reached: How far its sink has got.
        known: The batches of its history.
        checkpoint: What is left of it.
        output: The sink.
        table: Reads the sink.

    Raises:
        ReadError: The store did not let us read the table's log.
    """
    log = "Delta's log" if isinstance(output, DeltaOutput) else "the log of the file sink"
    if reached.is_explained:
        return _explained(reached, known, log)
    last = _say_last(reached, known, log)
    found: ResumePoint | NoRange | NoPlan | None
    if isinstance(output, FileOutput):
        found = _cut(reached, output)
    else:
        found = _from_entry(reached, checkpoint)
        found = found or _from_files(reached, known, output, table=table)
        if isinstance(found, NoRange):
            found = _take_out(reached, known, output, why=found.why)
    return found if isinstance(found, NoPlan) else replace(found, last=last)


def _ends(batch: BatchProgress) -> Offsets:
    return tuple(each.end for each in batch.sources)


def _starts(batch: BatchProgress) -> Offsets:
    return tuple(each.start for each in batch.sources)


def _explained(reached: Reached, known: KnownBatches, log: str) -> ResumePoint:
    base, newest = reached.base, known.newest.batch_id
    is_renumbered = reached.number > base.batch_id
    story = ""
    if reached.restored is not None and is_renumbered:
        story = (
            f"Version {reached.restored.version} (RESTORE) took "
            f"{batch_range(base.batch_id + 1, reached.number)} out of the table, which leaves what "
            "the event log has"
        )
    elif newest > base.batch_id:
        story = (
            f"The sink is older than the event log: {batch_range(base.batch_id + 1, newest)} "
            f"{'is' if newest == base.batch_id + 1 else 'are'} read again"
        )
    return ResumePoint(
        number=reached.number,
        before=_ends(base) if is_renumbered else _starts(base),
        end=_ends(base),
        batch=base,
        last=_say_last(reached, known, log),
        story=story,
    )


def _say_last(reached: Reached, known: KnownBatches, log: str) -> str:
    """Return which batch is the last one, by both."""
    newest = known.newest.batch_id
    if reached.rows_to == reached.number == newest:
        return f"{newest} in the event log and in {log}: they agree"
    return f"{reached.number} in {log}, {newest} in the event log: they do not agree"


def _from_entry(reached: Reached, checkpoint: Checkpoint) -> ResumePoint | None:
    """Return the position that an offset entry tells which is left; None without one."""
    entry = left_entry(checkpoint, reached.rows_to)
    if entry is None or entry.metadata is None or reached.restored is not None:
        return None
    written = reached.unexplained[-1].written_ms
    if written is None or written < entry.metadata.batch_timestamp_ms:
        return None  # it was planned again after the table had the batch
    before = left_entry(checkpoint, reached.rows_to - 1)
    if before is not None:
        earlier: Offsets = tuple(each.text for each in before.offsets)
    elif reached.base.batch_id == reached.rows_to - 1:
        earlier = _ends(reached.base)
    else:
        return None
    return ResumePoint(
        number=reached.number,
        before=earlier,
        end=tuple(each.text for each in entry.offsets),
        batch=reached.base,
        story=f"{_say_ahead(reached, 'the table')}. Its range is in offsets/{reached.rows_to}, "
        "which is left",
    )


def _from_files(
    reached: Reached, known: KnownBatches, output: DeltaOutput, *, table: Reader
) -> ResumePoint | NoRange:
    """Return the position that the statistics of the table's files tell."""
    base = _partitioned(_ends(reached.base))
    if base is None:
        return NoRange(why="only batches of a single Kafka source leave their range in the files")
    ranges = [
        KnownRange(version=commit.version, start=_partitioned(_starts(batch)), end=end)
        for number, batch in sorted(known.by_number.items())
        if number <= reached.base.batch_id
        and (commit := output.commit_of(known.query_id, number)) is not None
        and (end := _partitioned(_ends(batch))) is not None
    ]
    versions = [each.version for each in reached.unexplained]
    ends = read_ends(table, ranges, versions, start=base)
    if isinstance(ends, NoRange):
        return ends
    texts = [_ends(reached.base), *((_text(each),) for each in ends)]
    is_renumbered = reached.number > reached.rows_to
    is_one = reached.rows_to == reached.base.batch_id + 1
    was = "Its range was" if is_one else "Their ranges were"
    return ResumePoint(
        number=reached.number,
        before=texts[-1] if is_renumbered else texts[-2],
        end=texts[-1],
        batch=reached.base,
        story=f"{_say_ahead(reached, 'the table')}. {was} found in the table's own files",
    )


def _partitioned(offsets: Offsets) -> Offset | None:
    """Return the offset of a query whose only source counts its partitions; None of any other."""
    if len(offsets) != 1 or offsets[0] is None:
        return None
    found = parse_offset(offsets[0])
    return found if found.parts() else None


def _text(offset: Offset) -> str:
    return json.dumps(offset.to_json(), separators=(",", ":"))


def _take_out(
    reached: Reached, known: KnownBatches, output: DeltaOutput, *, why: str
) -> ResumePoint | NoPlan:
    """Return the position before the batches whose range nothing tells; they are read again."""
    base = output.commit_of(known.query_id, reached.base.batch_id)
    ahead = f"{_say_ahead(reached, output.display_name)}. {_say_unknown(reached)}: {why}"
    other = None if base is None else _find_other(output, base, known.query_id)
    if base is None or other is not None or reached.restored is not None:
        between = (
            f"version {other.version} ({other.operation}) was committed by another writer"
            if other is not None
            else "the version before them is not known"
        )
        return NoPlan(
            reason=f"{ahead}. The table cannot be taken back to before them either: {between}. "
            f"Started from batch {reached.base.batch_id}, Spark would plan them again with other "
            "ranges, and Delta would skip those."
        )
    return ResumePoint(
        number=reached.number,
        before=_ends(reached.base),
        end=_ends(reached.base),
        batch=reached.base,
        story=f"{ahead}. The table is taken back to version {base.version}, and "
        f"{_say_again(reached)}",
        takes_out=True,
    )


def _cut(reached: Reached, output: FileOutput) -> ResumePoint:
    """Return the position before the batches of a file sink that the history does not have."""
    base = reached.base
    return ResumePoint(
        number=base.batch_id,
        before=_starts(base),
        end=_ends(base),
        batch=base,
        story=f"{_say_ahead(reached, output.display_name)}. {_say_unknown(reached)}. The output is "
        "taken back to batch "
        f"{base.batch_id}, and {_say_again(reached)}",
        takes_out=True,
    )


def _say_ahead(reached: Reached, shown: str) -> str:
    """Say which batches only the sink has."""
    first, last = reached.base.batch_id + 1, reached.rows_to
    ahead = batch_range(first, last).capitalize()
    return f"{ahead} {'is' if first == last else 'are'} in {shown} and not in the event log"


def _say_unknown(reached: Reached) -> str:
    is_one = reached.rows_to == reached.base.batch_id + 1
    return f"{'Its range' if is_one else 'Their ranges'} cannot be known"


def _say_again(reached: Reached) -> str:
    first, last = reached.base.batch_id + 1, reached.rows_to
    return f"{batch_range(first, last)} {'is' if first == last else 'are'} read again"


def _find_other(output: DeltaOutput, base: OutputCommit, query_id: str) -> OutputCommit | None:
    """Return a commit after a version that is not of the query; None without one."""
    later = (each for each in output.commits if each.version > base.version)
    return next((each for each in later if query_id not in each.transactions), None)
