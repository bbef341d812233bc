"""Delta tables after a reset of their checkpoint."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.outcomes import Resumes, RunsAgain, StartsFresh
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.printable import printable
from holdfast.rules.commands import OFFSETS, backfilling, position_of
from holdfast.rules.delta_holdings import at, delta_holdings, earlier_queries, is_fresh, planned_ms
from holdfast.rules.rule import Finding, rule
from holdfast.sources.registry import began_of, beginnings
from holdfast.wording import batch_range


@rule("HF706", Severity.DATA_AT_RISK, Confidence.LIKELY, Effect.LOSES, Goal.RESET)
def fixed_application_id(case: Case) -> Iterator[Finding]:
    """The table counts more batches for an application id than the checkpoint has."""
    start = case.next_start
    if not isinstance(start, Resumes | RunsAgain | StartsFresh):
        return
    first = case.newest_planned + 1
    for holding in delta_holdings(case):
        held = holding.batch
        if holding.application is None or holding.is_native or held is None or held < first:
            continue
        yield fixed_application_id.find(
            what=(
                f"{holding.output.display_name} counts batch {held} for the application id "
                f"{printable(holding.application)}, but the checkpoint plans batch {first} next. "
                f"If the query still uses that id, Delta skips {batch_range(first, held)}, and "
                "their rows are lost."
            ),
            how=(
                "Change txnAppId in the query's code before you start it: put the query id or a "
                "reset number into it."
            ),
            follows_from=(
                *start.follows_from,
                *holding.files(*(each.version for each in (holding.newest_commit,) if each)),
            ),
        )


@rule("HF707", Severity.DATA_AT_RISK, Confidence.LIKELY, Effect.REPEATS, Goal.RESET)
def reset_repeats(case: Case) -> Iterator[Finding]:
    """A new checkpoint on a table that an earlier query filled: everything is read again."""
    if not is_fresh(case):
        return
    for holding in delta_holdings(case):
        for query_id, commit in earlier_queries(holding).items():
            if commit.output_mode == "Complete" or holding.batch is not None:
                continue
            yield reset_repeats.find(
                what=(
                    f"The checkpoint is new, and {holding.output.display_name} holds batches of "
                    "query "
                    f"{query_id}, the last at {at(commit.written_ms)}. If this query replaces that "
                    "one and reads its source from the beginning, Spark writes all rows again."
                ),
                how=(
                    "Restore the old checkpoint, or start the new one after what the table holds: "
                    "with startingOffsets (Kafka), with startingVersion (Delta), or without the "
                    "files that were read."
                ),
                follows_from=("offsets", *holding.files(commit.version)),
            )


@rule("HF708", Severity.RISK, Confidence.LIKELY, Effect.LOSES, Goal.BACKFILL)
def reset_gap(case: Case) -> Iterator[Finding]:
    """A new checkpoint began past the start of its topics, on a table of an earlier query."""
    past = {
        name: sum(began.numbers().values()) for name, began in beginnings(case.checkpoint).items()
    }
    first = planned_ms(case, 0)
    if first is None or not any(past.values()):
        return
    for holding in delta_holdings(case):
        for query_id, commit in earlier_queries(holding).items():
            if commit.written_ms is None or commit.written_ms >= first:
                continue
            source = next(name for name, offset in past.items() if offset)
            yield reset_gap.find(
                what=(
                    f"This checkpoint began at {at(first)} past the beginning of its Kafka topics, "
                    f"and {holding.output.display_name} holds batches of query {query_id} until "
                    f"{at(commit.written_ms)}. If this query replaces that one, records that "
                    "arrived between the two were never read."
                ),
                how=(
                    f"Compare sources/{source}/0 with the last offsets of the old checkpoint. To "
                    f"write what lies between, {_load(case)}."
                ),
                follows_from=(f"sources/{source}/0", "offsets/0", *holding.files(commit.version)),
            )


def _load(case: Case) -> str:
    began = [began_of(each) for each in case.checkpoint.sources]
    end = position_of(began[0]) if len(began) == 1 else OFFSETS
    return backfilling(case, end=end, otherwise="use a batch job")


@rule("HF711", Severity.DATA_AT_RISK, Confidence.LIKELY, Effect.ALTERS, Goal.RESET)
def complete_result_replaced(case: Case) -> Iterator[Finding]:
    """A new checkpoint in complete mode replaces the table with what it has read so far."""
    if not is_fresh(case):
        return
    for holding in delta_holdings(case):
        for query_id, commit in earlier_queries(holding).items():
            if commit.output_mode != "Complete":
                continue
            yield complete_result_replaced.find(
                what=(
                    f"The checkpoint is new, and query {query_id} wrote "
                    f"{holding.output.display_name} in "
                    "complete mode. If this query replaces that one, its first batch removes the "
                    "table's rows and writes totals of what it has read so far."
                ),
                how=(
                    "Restore the old checkpoint, or fill a new table from the beginning of the "
                    "source and switch over when it has caught up."
                ),
                follows_from=("offsets", *holding.files(commit.version)),
            )


@rule("HF712", Severity.DATA_AT_RISK, Confidence.LIKELY, Effect.ALTERS, Goal.RESET)
def totals_merged_after_reset(case: Case) -> Iterator[Finding]:
    """A new checkpoint merges totals that begin at zero into a table with history."""
    if not is_fresh(case):
        return
    began = planned_ms(case, 0)
    for holding in delta_holdings(case):
        merges = [
            each
            for each in holding.output.commits
            # The query's own first batch can be there, if it is pending.
            if each.operation == "MERGE" and not (began and (each.written_ms or 0) >= began)
        ]
        if not merges:
            continue
        newest = merges[0]
        yield totals_merged_after_reset.find(
            what=(
                f"The checkpoint is new, and {holding.output.display_name} was written with MERGE "
                "until "
                f"{at(newest.written_ms)}. If this query merges totals, they begin at zero, and "
                "Spark replaces the totals in the table with them."
            ),
            how=(
                "Restore the old checkpoint with its state/, or read the source from its beginning."
            ),
            follows_from=("offsets", *holding.files(newest.version)),
        )
