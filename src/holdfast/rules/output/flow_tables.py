"""Tables of Spark Declarative Pipelines."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.rule import Finding, rule
from holdfast.wording import batch_range


@rule("HF901", Severity.DATA_AT_RISK, Confidence.CERTAIN, Effect.LOSES, Goal.RESET)
def flows_share_file_table(case: Case) -> Iterator[Finding]:
    """Several flows of a pipeline append to one table of files, and lose each other's rows."""
    place = case.flow
    if place is None or place.table.newest_listed is None or len(place.table.running) < 2:
        return
    table, listed = place.table, place.table.newest_listed
    flows = ", ".join(f"{each.name} ({each.current.newest_planned})" for each in table.running)
    committed = sum(each.current.newest_committed + 1 for each in table.running)
    yield flows_share_file_table.find(
        what=(
            f"{len(table.running)} flows append to {table.name}, whose log lists one batch per "
            f"number. They committed {committed} batches, and the log lists {listed + 1}. Spark "
            f"skips a batch whose number is listed. Newest batch per flow: {flows}."
        ),
        how=(
            "Give each flow its own table, or store this one in a format that accepts several "
            f"writers; then run the pipeline with --full-refresh {table.name.rpartition('.')[2]}."
        ),
        accepting="the table lists one flow's batch per number, and the other flows' rows are lost",
        follows_from=(
            f"_spark_metadata/{listed}",
            *(f"{each.name}/{each.current.number}/offsets" for each in table.running),
        ),
    )


@rule("HF903", Severity.DATA_AT_RISK, Confidence.CERTAIN, Effect.LOSES, Goal.RESET)
def refresh_not_truncated(case: Case) -> Iterator[Finding]:
    """A full refresh began a new checkpoint, and the table still lists the old batches."""
    place = case.flow
    if place is None or place.table.newest_listed is None or len(place.table.flows) > 1:
        return
    current, listed = place.looked_at.current, place.table.newest_listed
    if current.number == 0 or listed <= current.newest_planned:
        return
    first = current.newest_planned + 1
    skipped = batch_range(first, listed)
    yield refresh_not_truncated.find(
        what=(
            f"A full refresh of {place.table.name} began generation {current.number} of the "
            f"checkpoint, and the table still lists batches up to {listed} of an earlier one. "
            f"Spark skips {skipped} of the new generation without an error."
        ),
        how=(
            f"Run the pipeline with --full-refresh {place.table.name.rpartition('.')[2]} again, "
            "and let it end."
        ),
        accepting=f"the rows of {skipped} do not reach the table, unless it holds them already",
        follows_from=(f"_spark_metadata/{listed}", f"{place.flow}/{current.number}"),
    )


@rule("HF906", Severity.DATA_AT_RISK, Confidence.CERTAIN, Effect.LOSES, Goal.RESET)
def flow_behind_file_table(case: Case) -> Iterator[Finding]:
    """The table of files lists batches that its only flow has not planned: a new checkpoint."""
    place = case.flow
    if place is None or place.table.newest_listed is None or not place.is_current:
        return
    flow, listed = place.looked_at, place.table.newest_listed
    current = flow.current
    if place.table.running != (flow,) or current.number or listed <= current.newest_planned:
        return
    first = current.newest_planned + 1
    skipped = batch_range(first, listed)
    ended = [each.name for each in place.table.flows if each.name != flow.name]
    wrote = f", which flow {' or '.join(ended)} wrote" if ended else ""
    yield flow_behind_file_table.find(
        what=(
            f"{place.table.name} lists batches up to {listed}{wrote}. Flow {flow.name} has planned "
            f"batches up to {current.newest_planned}. Spark skips its {skipped} without an error."
        ),
        how=(
            "Give the flow its old name and the pipeline its old storage root back, or run the "
            f"pipeline with --full-refresh {place.table.name.rpartition('.')[2]}."
        ),
        accepting=f"the rows of {skipped} do not reach the table, unless it holds them already",
        follows_from=(
            f"_spark_metadata/{listed}",
            f"{flow.name}/{current.number}/offsets/{current.newest_planned}",
        ),
    )
