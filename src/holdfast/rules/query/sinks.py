"""Queries that write elsewhere, or in another way, than before."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.query_to_start import THE_LAST_CONTRACT
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.record.contracts import SinkContract
from holdfast.rules.changed_query import both_contracts
from holdfast.rules.commands import EARLIEST, NEW_TABLE, backfilling, reset_advice
from holdfast.rules.rule import Finding, rule


@rule("HF407", Severity.NOTE, Confidence.CERTAIN, Effect.NONE, Goal.NONE)
def sinks_changed(case: Case) -> Iterator[Finding]:
    """The stream has more or fewer sinks than in its last run."""
    found = both_contracts(case)
    if found is None or not found[0].spark:  # version 1 of contracts has no places
        return
    before, now = ({sink.place for sink in each.sink_places} for each in found)
    if not before & now:
        return
    load = backfilling(case, start=EARLIEST, otherwise="load them with a bounded job")
    for place in sorted(now - before):
        yield sinks_changed.find(
            what=(
                f"The sink {place} is new. It gets the batches after {case.newest_committed}, and "
                "none of those before."
            ),
            how=f"If it needs the rows of before, {load}; declare it alone for that.",
            follows_from=(THE_LAST_CONTRACT,),
        )
    for place in sorted(before - now):
        yield sinks_changed.find(
            what=f"The sink {place} is not in the code any more. It gets no more batches.",
            how="If it must stay complete, put it back before the next start.",
            follows_from=(THE_LAST_CONTRACT,),
        )


@rule("HF408", Severity.RISK, Confidence.LIKELY, Effect.LOSES, Goal.RESET)
def sink_replaced(case: Case) -> Iterator[Finding]:
    """The stream writes to other places than in its last run."""
    found = both_contracts(case)
    if found is None:
        return
    before, now = ([sink.place for sink in each.sink_places] for each in found)
    if not before or not now or set(before) & set(now):
        return
    yield sink_replaced.find(
        what=(
            f"The stream wrote to {', '.join(before)} and writes to {', '.join(now)} now. Batches "
            f"up to {case.newest_committed} are not in the new place, and Spark does not read "
            "them again."
        ),
        how=f"Copy {_what_to_copy(case)}, or {reset_advice(case, output=NEW_TABLE)}.",
        follows_from=(f"commits/{case.newest_committed}", THE_LAST_CONTRACT),
    )


def _what_to_copy(case: Case) -> str:
    is_plain = case.query is not None and case.query.unknown is not None
    return "what the old place holds" if is_plain else "the table with its ledger"


@rule("HF409", Severity.RISK, Confidence.LIKELY, Effect.ALTERS, Goal.RESET)
def merge_keys_changed(case: Case) -> Iterator[Finding]:
    """A sink merges by other keys, or by another order column, than before."""
    found = both_contracts(case)
    if found is None:
        return
    before = {sink.place: sink for sink in found[0].sink_places}
    for sink in found[1].sink_places:
        old = before.get(sink.place)
        if old is None or (old.keys, old.sequence_by) == (sink.keys, sink.sequence_by):
            continue
        yield merge_keys_changed.find(
            what=(
                f"The sink {sink.place} merged by {_shown(old)} and merges by {_shown(sink)} now. "
                "Rows that it holds were merged in the old way."
            ),
            how=f"Restore the keys. For a new table, {reset_advice(case, output=NEW_TABLE)}.",
            follows_from=(THE_LAST_CONTRACT,),
            sink=sink.label,
        )


def _shown(sink: SinkContract) -> str:
    keys = ", ".join(sink.keys) or "no key"
    return keys if sink.sequence_by is None else f"{keys} in the order of {sink.sequence_by}"


@rule("HF410", Severity.RISK, Confidence.LIKELY, Effect.ALTERS, Goal.RESUME)
def output_mode_changed(case: Case) -> Iterator[Finding]:
    """The query has another output mode than in its last run."""
    found = both_contracts(case)
    if found is None or found[0].output_mode == found[1].output_mode:
        return
    yield output_mode_changed.find(
        what=(
            f"The output mode was {found[0].output_mode} and is {found[1].output_mode} now. The "
            "state stays, and other rows of it are written from the next batch on."
        ),
        how="Check that every sink of the stream expects the new mode.",
        follows_from=(THE_LAST_CONTRACT,),
    )
