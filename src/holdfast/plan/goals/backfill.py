"""backfill: a range of a stream's sources, written into its sinks while the stream goes on.

Each chunk of the range is one batch of a stream of its own in the ledgers, with a record of its own
below that of the stream. The stream's checkpoint, lease and ledger row are not touched.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from shlex import quote
from typing import TYPE_CHECKING, Required, TypedDict

from holdfast import clock
from holdfast.errors import refuse_unknown
from holdfast.plan.draft import new_plan_id
from holdfast.plan.goal import GOALS, CodeCase, Option, goal
from holdfast.plan.plan_file import Change, Impact, Need, NoPlan, Plan
from holdfast.plan.preconditions import GenerationIs
from holdfast.plan.requests import Request
from holdfast.plan.steps import Permission, PutFile, Step, WriteRange
from holdfast.record.backfills import read_backfill
from holdfast.record.documents import encode
from holdfast.record.repairs import unfinished_repair
from holdfast.version import __version__
from holdfast.wording import count

if TYPE_CHECKING:
    from holdfast.sinks.sink import SinkSpec
    from holdfast.streams.backfill.parts import SourcePart
    from holdfast.streams.backfill.prepare import Prepared

_MOST_SHOWN = 20
"""Partitions of one topic; the others are counted."""


class Range(TypedDict, total=False):
    """A range of the sources of a stream."""

    start: Required[str | int | Mapping[str, object]]
    """`earliest`, Kafka offsets, or a version of a Delta table."""
    end: Required[str | int | Mapping[str, object]]
    """Where it ends; not part of it."""
    chunk: int | None
    """How much of each source a chunk has at most."""


@goal(
    "backfill",
    "Write a range of its sources into its sinks, while the stream goes on.",
    Option(
        flag="--from",
        field="start",
        metavar="OFFSETS|VERSION|earliest",
        is_required=True,
        help="Where the range begins: Kafka offsets as JSON, a version of a Delta table, or "
        "earliest.",
    ),
    Option(
        flag="--to",
        field="end",
        metavar="OFFSETS|VERSION",
        is_required=True,
        help="Where the range ends; this offset or version is not part of it.",
    ),
    Option(
        flag="--chunk",
        field="chunk",
        metavar="N",
        least=1,
        help="At most so many offsets or versions in one chunk.  [default: 100,000 offsets, or 100 "
        "versions]",
    ),
    runs_code=True,
)
def plan_backfill(asked: CodeCase) -> Plan | NoPlan:
    """Write a range of a stream's sources into its sinks, while the stream goes on.

    The range runs through the stream's own function, chunk by chunk; each chunk is written exactly
    once. The stream's checkpoint, lease and ledger row are not touched.
    """
    with ExitStack() as undone:
        return plan_of(prepare_for(asked, undone))


def range_request(wanted: Range) -> Request:
    """Return what asks for a range.

    Raises:
        TypeError: A keyword is missing, or is none of them.
        ConfigError: The chunk is none.
    """
    from holdfast.streams.backfill.positions import as_text  # noqa: PLC0415 - it reads with Spark

    refuse_unknown(wanted, Range.__annotations__)
    missing = {"start", "end"} - set(wanted)
    if missing:
        raise TypeError(f"a range needs {' and '.join(sorted(missing))}")
    request = Request(
        goal="backfill",
        start=as_text(wanted["start"]),
        end=as_text(wanted["end"]),
        chunk=wanted.get("chunk"),
    )
    GOALS["backfill"].check_numbers(request)
    return request


def prepare_for(asked: CodeCase, undone: ExitStack) -> Prepared:
    """Find out what a backfill would do; nothing is created or changed.

    Args:
        asked: The range.
        undone: Closes what was opened.

    Raises:
        BackfillRefusedError: The stream, its sinks or the range cannot be backfilled.
        HoldfastError: The range is not one, or something cannot be read.
    """
    from holdfast.streams.backfill.prepare import BackfillRequest, prepare  # noqa: PLC0415 - it reads with Spark

    request, pipeline = asked.request, asked.code.pipeline
    given = BackfillRequest(
        start=request.start, end=request.end, chunk=request.chunk, root=pipeline.root
    )
    declared = pipeline.declared(asked.stream)
    return prepare(asked.code.spark, declared, given, undone=undone)


def plan_of(found: Prepared) -> Plan | NoPlan:
    """Return the plan of a backfill; none if it was begun, or is done."""
    stream = found.known.name
    if (begun := unfinished_repair(found.record)) is not None:
        return NoPlan(
            reason=f"The backfill {found.name} was begun and has not ended. Go on with it.",
            nearest=f"holdfast apply {quote(begun.journal)} --continue --pipeline MODULE:PIPELINE",
        )
    done = min(found.held())
    if done == found.chunks.count:
        return NoPlan(
            reason=f"{stream}: this range is in its sinks already ({found.name}).", is_fine=True
        )
    sources = found.left(done)
    root = found.known.place.record.location.parent
    assert root is not None
    assert root.parent is not None
    return Plan(
        id=new_plan_id(),
        goal="backfill",
        stream=found.name,
        root=str(root.parent),
        beside=stream,
        made_at=clock.now().isoformat(timespec="seconds"),
        made_by=f"Holdfast {__version__}",
        summary=f"Backfill of {stream}, as {found.name}.",
        impact=(_impact(found, sources, done=done),),
        needs=tuple(find_needs(found, done=done)),
        undo="Before its first chunk. Rows of it are not told apart from those of the stream.",
        preconditions=(GenerationIs(stream=stream, number=found.known.generation),),
        steps=tuple(_steps(found)),
    )


def _steps(found: Prepared) -> Iterator[Step]:
    if read_backfill(found.record) is None:
        yield PutFile(
            stream=found.name,
            place=str(found.record.location),
            path=found.kept.path,
            content=encode(found.kept).decode(),
            why="The range is kept: `earliest` is another offset tomorrow.",
        )
    yield WriteRange(
        stream=found.name,
        start=found.kept.start,
        end=found.kept.end,
        chunks=found.chunks.count,
        sinks=tuple(sink.describe() for sink in found.sinks),
        why="Each chunk is one batch in the ledgers, so it is written exactly once.",
    )


def _impact(found: Prepared, sources: tuple[SourcePart, ...], *, done: int) -> Impact:
    from holdfast.streams.backfill.prepare import find_doubts  # noqa: PLC0415 - it reads with Spark

    left = f"writes {count(found.chunks.count - done, 'chunk')}, each exactly once"
    if done:
        left += f"; {done:,} of {found.chunks.count:,} are done"
    sinks = zip(found.known.declared.sinks, found.sinks, found.held(), strict=True)
    outputs = [
        f"{writer.display_name} {_effect(sink)}{_ahead(held, done)}" for sink, writer, held in sinks
    ]
    for doubt in find_doubts(found, done=done):
        outputs.append(f"the rows can differ from those of the stream: {doubt}")
    changes = tuple(each for source in sources for each in _changes(source))
    return Impact(stream=found.name, position=left, outputs=tuple(outputs), changes=changes)


def _effect(sink: SinkSpec) -> str:
    """Say what a sink does with a row that it already has."""
    if sink.keys:
        return f"merges by {', '.join(sink.keys)}: a row with a newer {sink.sequence_by} stays"
    return "appends: a row that it already has would be there twice"


def _ahead(held: int, done: int) -> str:
    return f" (it has chunk {held:,} already, and skips it)" if held > done else ""


def _changes(source: SourcePart) -> Iterator[Change]:
    what = f"source {source.source}: {source.size:,} {source.unit}"
    yield Change(kind="reads", what=what, amount=source.size, unit=source.unit)
    for part in source.parts[:_MOST_SHOWN]:
        gone = f", {part.expired:,} expired" if part.expired else ""
        yield Change(
            kind="reads", what=f"  {part.display_name}: {part.start:,} up to {part.end:,}{gone}"
        )
    if len(source.parts) > _MOST_SHOWN:
        more = len(source.parts) - _MOST_SHOWN
        yield Change(kind="reads", what=f"  and {more:,} more partitions")
    if source.expired:
        what = f"{source.expired:,} of them have expired for good"
        yield Change(kind="loses", what=what, amount=source.expired)


def find_needs(found: Prepared, *, done: int) -> Iterator[Need]:
    """Yield what must be allowed to write what is left when so many chunks are done."""
    from holdfast.streams.backfill.prepare import find_repeats  # noqa: PLC0415 - it reads with Spark

    stream, repeats = found.known.name, find_repeats(found)
    expired = sum(each.expired for each in found.left(done))
    if repeats is not None:
        why = f"{repeats[:1].upper()}{repeats[1:]}."
        yield Need(permission=Permission.REPEATS_DATA, stream=stream, why=why)
    if expired:
        why = f"{expired:,} offsets of the range have expired: the sinks never get those records."
        yield Need(permission=Permission.SKIPS_DATA, stream=stream, why=why)
