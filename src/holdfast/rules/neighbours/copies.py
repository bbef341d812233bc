"""What other checkpoints tell: copies, and one checkpoint per run."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from holdfast.checkpoint.metadata import QueryMetadata
from holdfast.evidence.case import Case, Neighbour
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.entry_figures import DAY_MS, span_text
from holdfast.rules.place_names import changing_part
from holdfast.rules.predicted import spark_will
from holdfast.rules.rule import Finding, rule


@rule("HF115", Severity.DATA_AT_RISK, Confidence.LIKELY, Effect.LOSES, Goal.RESUME)
def query_id_shared(case: Case) -> Iterator[Finding]:
    """Another checkpoint has the same query id: one is a copy of the other."""
    metadata = case.checkpoint.metadata
    if not isinstance(metadata, QueryMetadata):
        return
    for each in case.neighbours:
        if each.query_id == metadata.query_id:
            yield query_id_shared.find(
                what=(
                    f"{each.location} has the same query id, and its newest batch is "
                    f"{each.newest_planned}; here it is {case.newest_planned}. If both run into "
                    "one sink, it will skip the batches of the one that comes second."
                ),
                how="Start one of them, and give the other a new query id and a sink of its own.",
                accepting="the sink skips batches whose numbers the other checkpoint has used",
                follows_from=("metadata", each.location),
            )


_LEAST = 2


@rule("HF116", Severity.RISK, Confidence.LIKELY, Effect.LOSES, Goal.RESUME)
def one_checkpoint_per_run(case: Case) -> Iterator[Finding]:
    """Each run of the query seems to begin a checkpoint of its own."""
    place = case.checkpoint.location
    beside = [
        each
        for each in case.neighbours
        if changing_part(each.location) and each.location.rpartition("/")[0] == str(place.parent)
    ]
    if changing_part(place.path) is None or len(beside) < _LEAST or not _is_in_turn(beside):
        return
    yield one_checkpoint_per_run.find(
        what=(
            f"{len(beside)} checkpoints beside this one have names that change too, and each ended "
            "before the next began. The next run will begin with batch 0, if its name is new."
        ),
        how="Give the query one fixed checkpointLocation, and continue the newest one.",
        follows_from=tuple(each.location for each in beside[:20]),
    )


def _is_in_turn(found: list[Neighbour]) -> bool:
    lives = sorted(
        (each.began_ms, each.newest_ms)
        for each in found
        if each.began_ms is not None and each.newest_ms is not None
    )
    return len(lives) == len(found) and all(
        ended <= began for (_, ended), (began, _) in pairwise(lives)
    )


@rule("HF117", Severity.RISK, Confidence.LIKELY, Effect.NONE, Goal.RESUME)
def query_stopped(case: Case) -> Iterator[Finding]:
    """The query has not run for a day, and those beside it have."""
    newest = None if case.overview is None else case.overview.progress.newest_ms
    now = case.now.timestamp() * 1_000
    live = [each for each in case.neighbours if each.newest_ms and each.newest_ms > now - DAY_MS]
    if newest is None or len(live) < _LEAST or newest > now - 2 * DAY_MS:
        return
    yield query_stopped.find(
        what=(
            f"The newest batch began {span_text(now - newest)} ago, while {len(live)} checkpoints "
            f"that were compared are current. {spark_will(case)} continue there, if the "
            "source still has "
            "what arrived since."
        ),
        how="Find out why the query stopped before you start it, and probe its source.",
        follows_from=(f"offsets/{case.newest_planned}", *(each.location for each in live[:20])),
    )
