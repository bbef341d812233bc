"""Whether the sink holds the pending batch, and what the first guarded start does with it."""

from __future__ import annotations

from msgspec.structs import replace

from holdfast.adoption.first_start import FirstStart
from holdfast.adoption.into_sink import IntoSink
from holdfast.adoption.model import BatchHolding, PendingBatch
from holdfast.adoption.questions import ALL_THERE, NOT_THERE
from holdfast.evidence.case import Case
from holdfast.evidence.outputs.delta import DeltaOutput
from holdfast.evidence.progress import SourceRange
from holdfast.evidence.wording import describe_range
from holdfast.rules.delta_holdings import (
    CLOCK_STEP_MS,
    Holding,
    delta_holdings,
    planned_ms,
    reaches,
    written_since,
)

_SHOWN_PARTS = 8
_NOT_LOOKED = "no ledger was written with its rows"


def find_pending(case: Case, into: IntoSink | None, start: FirstStart | None) -> PendingBatch:
    """Return the pending batch of a checkpoint, and whether the sink holds it.

    Args:
        case: What is known.
        into: The sink; None if it is not known.
        start: What the first guarded start finds; None if that is not known.
    """
    batch = case.newest_planned
    if batch <= case.newest_committed:
        return PendingBatch(batch=None, holding=BatchHolding.NONE_PENDING)
    sources = () if case.overview is None else case.overview.progress.sources
    found = PendingBatch(
        batch=batch,
        holding=BatchHolding.NOT_KNOWN,
        covers=tuple(map(_say_covered, sources)),
        where=_NOT_LOOKED,
    )
    if start is not None and into is not None:
        holding, where = _by_sink(case, batch, start)
        if where is None:
            holding, where = _by_logs(case, batch)
        found = replace(found, holding=holding, where=where or _NOT_LOOKED)
    is_seen = start is not None and not start.is_unseen
    then = (
        ""
        if into is None or not is_seen
        else _say_then(case, found, into, is_asked=_is_asked(start))
    )
    return replace(found, then=then)


def _say_covered(found: SourceRange) -> str:
    """Say what a source gives to the batch, so that its rows can be looked for."""
    said = f"source {found.source}: {describe_range(found)}"
    ends = () if found.end is None else found.end.parts()
    starts = dict(() if found.start is None else found.start.parts())
    if ends and len(ends) <= _SHOWN_PARTS:
        ranges = (_say_part(name, starts.get(name), end) for name, end in ends)
        return f"{said} ({', '.join(filter(None, ranges))})"
    log = None if found.end is None else found.end.log_index
    return said if log is None else f"{said} (listed in sources/{found.source}/{log})"


def _say_part(name: tuple[str, int], start: int | None, end: int) -> str:
    """Return `orders 0: 18 … 19`; nothing for a partition that the batch does not read."""
    topic, part = name
    if start == end:
        return ""
    first = "its first offset" if start is None else f"{start:,}"
    return f"{topic} {part}: {first} … {end - 1:,}"


def _is_asked(start: FirstStart | None) -> bool:
    return start is not None and any(each.question for each in start.refusing)


def _by_sink(case: Case, batch: int, start: FirstStart) -> tuple[BatchHolding, str | None]:
    """Return what the sink itself tells, as the guarded start reads it."""
    sink = start.sink
    if sink is None or sink.last_batch is None:
        return BatchHolding.NOT_KNOWN, None
    holding = BatchHolding.HELD if sink.last_batch >= batch else BatchHolding.NOT_HELD
    by = "the ledger" if sink.row is not None else f"the log of {sink.display_name}"
    query = start.evidence.binding.query_id
    of = f"batch {sink.last_batch} of query {query}" if sink.row is None else "of the stream"
    del case
    return holding, f"{by}: the newest is {of}"


def _by_logs(case: Case, batch: int) -> tuple[BatchHolding, str | None]:
    """Return what the logs of Delta tables tell of a function that wrote them."""
    held = [(each, _holds(case, each, batch)) for each in delta_holdings(case)]
    known = {holding for _, holding in held}
    if not held or known == {None}:
        return BatchHolding.NOT_KNOWN, _unmarked(case, held[0][0], batch) if held else None
    where = "; ".join(
        f"{each.output.display_name} "
        f"{'is not known' if holding is None else 'holds it' if holding else 'does not'}"
        for each, holding in held
    )
    if known == {True}:
        return BatchHolding.HELD, where
    if known == {False}:
        return BatchHolding.NOT_HELD, where
    return (BatchHolding.PARTLY if {True, False} <= known else BatchHolding.NOT_KNOWN), where


def _holds(case: Case, held: Holding, batch: int) -> bool | None:
    """Return whether a table holds a batch; None if its log does not tell."""
    if held.application is not None and held.batch is not None:
        return held.batch >= batch
    planned = planned_ms(case, batch)
    if planned is None or not reaches(held.output, planned - CLOCK_STEP_MS):
        return None
    return None if written_since(held.output, planned - CLOCK_STEP_MS) else False


def _unmarked(case: Case, held: Holding, batch: int) -> str | None:
    """Name the commit that may have brought a batch without saying so."""
    planned = planned_ms(case, batch)
    output: DeltaOutput = held.output
    commit = None if planned is None else written_since(output, planned - CLOCK_STEP_MS)
    if commit is None:
        return None
    rows = "" if commit.rows is None else f" with {commit.rows:,} rows"
    return (
        f"version {commit.version} of {output.display_name} was written{rows} after batch {batch} "
        "was planned, and names no batch"
    )


def _say_then(case: Case, found: PendingBatch, into: IntoSink, *, is_asked: bool) -> str:
    batch = found.batch
    if into.kind == "foreach-batch":
        return f"The function gets batch {batch} again, whether or not it has written it."
    drained = " and drains it, so that its state is updated" if case.is_stateful else ""
    skipped = f"Spark runs batch {batch} again. Holdfast skips it{drained}."
    written = f"Spark runs batch {batch} again, and Holdfast writes it."
    match found.holding:
        case BatchHolding.HELD:
            return f"Accept {ALL_THERE} at the first start. {skipped}" if is_asked else skipped
        case BatchHolding.NOT_HELD:
            return f"Accept {NOT_THERE} at the first start. {written}" if is_asked else written
        case BatchHolding.PARTLY:
            return f"Delete its rows that are there, then accept {NOT_THERE}. {written}"
        case _:
            return (
                f"Look for the rows of batch {batch}. If none is there, accept {NOT_THERE}: it is "
                f"written. If all are there, accept {ALL_THERE}: it is skipped. If some are there, "
                f"delete those, then accept {NOT_THERE}."
            )
