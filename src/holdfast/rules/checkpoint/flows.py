"""Flows of Spark Declarative Pipelines."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.rule import Finding, rule


@rule("HF902", Severity.NOTE, Confidence.LIKELY, Effect.NONE, Goal.NONE)
def flows_share_table(case: Case) -> Iterator[Finding]:
    """Several flows of a pipeline append to one table, whose format is not known."""
    place = case.flow
    if place is None or case.outputs or place.table.newest_listed is not None:
        return
    running = place.table.running
    if len(running) < 2:
        return
    names = " and ".join(each.name for each in running)
    yield flows_share_table.find(
        what=(
            f"The flows {names} append to {place.table.name}. If that is a table of files, which "
            "is the default format, Spark loses rows of these flows without an error."
        ),
        how="Name the table's directory with --sink, and diagnose again.",
        follows_from=tuple(f"{each.name}/{each.current.number}/offsets" for each in running),
    )


@rule("HF904", Severity.DATA_AT_RISK, Confidence.LIKELY, Effect.REPEATS, Goal.RESET)
def flow_renamed(case: Case) -> Iterator[Finding]:
    """A flow began at batch 0 on a source that another flow of the table had read: a new name."""
    place = case.flow
    if place is None or not place.is_current or place.table.newest_listed is not None:
        return
    new = place.looked_at
    if new.current.number != 0 or new.current.oldest_planned != 0:
        return
    for old in place.table.flows:
        if not old.is_replaced_by(new):
            continue
        shared = sorted(set(old.current.reads) & set(new.current.reads))
        yield flow_renamed.find(
            what=(
                f"Flow {new.name} of {place.table.name} began at batch 0 after flow {old.name} had "
                f"ended at batch {old.current.newest_planned}. Both read {', '.join(shared)}. If "
                "the flow was renamed, Spark appends everything that the source still has again."
            ),
            how=(
                f"Give the flow its name {old.name} back, or run the pipeline with --full-refresh "
                f"{place.table.name.rpartition('.')[2]}."
            ),
            follows_from=(
                f"{old.name}/{old.current.number}/offsets/{old.current.newest_planned}",
                f"{new.name}/{new.current.number}/offsets/0",
            ),
        )


@rule("HF905", Severity.NOTE, Confidence.CERTAIN, Effect.NONE, Goal.NONE)
def older_flow_generation(case: Case) -> Iterator[Finding]:
    """The checkpoint is an older generation of its flow: the next run does not use it."""
    place = case.flow
    if place is None or place.is_current:
        return
    current = place.looked_at.current.number
    yield older_flow_generation.find(
        what=(
            f"This is generation {place.generation} of flow {place.flow}. The next run continues "
            f"with generation {current}."
        ),
        how=f"Diagnose generation {current} instead.",
        follows_from=(f"{place.flow}/{current}",),
    )
