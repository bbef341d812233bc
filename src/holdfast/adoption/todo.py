"""What is to be done before the first batch of the guarded stream."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.adoption.first_start import FirstStart
from holdfast.adoption.into_sink import NoSink
from holdfast.adoption.look import PlainStream
from holdfast.adoption.model import BatchHolding, PendingBatch, ToDo
from holdfast.adoption.program import ProgramOfStream
from holdfast.adoption.questions import ALL_THERE, NOT_THERE, OLD_WRITER
from holdfast.evidence.case import Case
from holdfast.evidence.outcomes import Refuses
from holdfast.evidence.outputs.delta import DeltaOutput
from holdfast.judgement.event_log_facts import output_mode_in_log
from holdfast.judgement.sink_facts import ask_sinks
from holdfast.rules.rule import Finding

_ANSWERS = {BatchHolding.HELD: ALL_THERE, BatchHolding.NOT_HELD: NOT_THERE}
_RETENTION = "delta.setTransactionRetentionDuration"
_KEYS = (
    "Output mode complete writes the whole result with every batch, which cannot be appended. Give "
    "the sink the columns of the grouping, as keys=[…], and write the call by hand."
)


def find_todo(
    found: PlainStream, pending: PendingBatch, others: tuple[Finding, ...]
) -> tuple[ToDo, ...]:
    """Return what comes before the first batch of the guarded stream, in its order."""
    stops = []
    if found.moves is not None:
        what = f"Stop the old query, and whatever restarts it. {found.moves}"
        stops.append(ToDo(short="stop the old query", what=what))
    return (
        *stops,
        *_of_code(found),
        *_repairs(others, found.case),
        *_for_sink(found),
        *_answers(found.start, pending),
        *_for_function(found, pending),
    )


def _repairs(others: tuple[Finding, ...], case: Case) -> Iterator[ToDo]:
    refusing = [each for each in others if each.refuses_start]
    for each in refusing:
        what = f"{each.code} {each.name}: {each.what} {each.how}"
        yield ToDo(short=f"repair {each.code}", what=what, code=each.code)
    if isinstance(case.next_start, Refuses) and not refusing:
        why = case.next_start.because
        yield ToDo(short="repair the checkpoint", what=f"Spark refuses to start it: {why}.")


def _of_code(found: PlainStream) -> Iterator[ToDo]:
    """Yield what the program itself needs."""
    if isinstance(found.into, NoSink) and found.into.is_certain:
        yield ToDo(short="choose another sink", what=found.into.how)
    said = found.program.said if isinstance(found.program, ProgramOfStream) else None
    if said is not None and said.is_other:
        what = f"The program names the checkpoint {said.checkpoint.value}, not this one"
        what = f"{what} ({said.checkpoint.place}). Run `holdfast adopt` on the one that is used."
        yield ToDo(short="check which checkpoint the program uses", what=what)


def _for_sink(found: PlainStream) -> Iterator[ToDo]:
    """Yield what the sink refuses, as far as that is known without Spark."""
    tables = [each for each in found.case.outputs if isinstance(each, DeltaOutput)]
    is_delta = found.sink is not None and found.sink.kind == "delta"
    if is_delta and any(each.transaction_retention is not None for each in tables):
        what = f"Unset the table's property {_RETENTION}: with it, Delta forgets batches."
        yield ToDo(short=f"unset {_RETENTION}", what=what)
    if is_complete(found):
        yield ToDo(short="give the sink keys", what=_KEYS)


def is_complete(found: PlainStream) -> bool:
    """Return whether the query writes its whole result with every batch, to a table."""
    if found.sink is None or found.sink.kind == "foreach-batch":
        return False
    modes = {each.mode for each in ask_sinks(found.case)}
    if (logged := output_mode_in_log(found.case)) is not None:
        modes.add(logged[0].lower())
    if isinstance(found.program, ProgramOfStream):
        modes = {found.program.found.query.output_mode}
    return "complete" in modes


def _answers(start: FirstStart | None, pending: PendingBatch) -> Iterator[ToDo]:
    """Yield what the first start asks, with the answer where it is known."""
    refusing = () if start is None else start.refusing
    for each in refusing:
        if each.code == OLD_WRITER:
            what = f"The first start is refused: {each.what} {each.how}"
            yield ToDo(short=f"accept {OLD_WRITER}", what=what, code=each.code)
    asked = next((each.question for each in refusing if each.question), None)
    if asked is None:
        return
    code = _ANSWERS.get(pending.holding)
    short = f"say whether batch {pending.batch} arrived ({NOT_THERE} or {ALL_THERE})"
    if pending.holding is BatchHolding.PARTLY:
        short = f"delete the rows of batch {pending.batch} that are there, and accept {NOT_THERE}"
    elif code is not None:
        short = f"accept {code}"
    yield ToDo(short=short, what=f"The first start asks: {asked} {pending.then}", code=code)


def _for_function(found: PlainStream, pending: PendingBatch) -> Iterator[ToDo]:
    """Yield what to look at where a function gets a batch that it may have written."""
    if pending.batch is None or found.sink is None or found.sink.kind != "foreach-batch":
        return
    if pending.holding is not BatchHolding.NOT_HELD:
        what = f"{pending.then} Delete its rows first, unless the function recognises them."
        short = f"look for the rows of batch {pending.batch}"
        yield ToDo(short=short, what=what)
