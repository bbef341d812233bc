"""Whether a Delta table holds the batch that runs again."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.delta_holdings import (
    Holding,
    delta_holdings,
    earlier_queries,
    is_forgotten,
    is_planned_later,
    lacks_trace_of_query,
    pending_batch,
    planned_ms,
    reaches,
    unmarked_write,
    written_since,
)
from holdfast.rules.rule import Finding, rule
from holdfast.sources.kind import Amount
from holdfast.wording import count


@rule("HF709", Severity.DATA_AT_RISK, Confidence.CERTAIN, Effect.REPEATS, Goal.RESUME)
def pending_batch_under_another_id(case: Case) -> Iterator[Finding]:
    """The table holds the pending batch under an earlier query id: it is written twice."""
    batch = pending_batch(case)
    if batch is None or case.newest_committed < 0:
        return
    for holding in delta_holdings(case):
        if holding.application == holding.query_id:
            continue
        for query_id in earlier_queries(holding):
            commit = holding.output.commit_of(query_id, batch)
            if commit is None or not _is_of_checkpoint(case, holding, query_id):
                continue
            rows = commit.rows
            yield pending_batch_under_another_id.find(
                what=(
                    f"{holding.output.display_name} holds the pending batch {batch} under query id "
                    f"{query_id}, and the file metadata now has {holding.query_id}. Spark runs the "
                    "batch again, and Delta writes "
                    f"{'its rows' if rows is None else 'its ' + count(rows, 'row')} twice."
                ),
                how=f"Put the id {query_id} back into the file metadata before you start.",
                accepting=f"the rows of batch {batch} are duplicated",
                follows_from=("metadata", f"offsets/{batch}", *holding.files(commit.version)),
                amount=None if rows is None else Amount(number=rows, unit="record"),
            )


def _is_of_checkpoint(case: Case, holding: Holding, query_id: str) -> bool:
    """Return whether a query wrote the newest batches of this checkpoint, each when planned."""
    newest = case.newest_planned
    for batch in (newest - 1, newest):
        commit = holding.output.commit_of(query_id, batch)
        began, ended = planned_ms(case, batch), planned_ms(case, batch + 1)
        if commit is None or commit.written_ms is None or began is None:
            return False
        if commit.written_ms < began or (ended is not None and commit.written_ms > ended):
            return False
    return True


@rule("HF710", Severity.DATA_AT_RISK, Confidence.LIKELY, Effect.REPEATS, Goal.RESUME)
def pending_batch_not_marked(case: Case) -> Iterator[Finding]:
    """The pending batch is likely in the table, in a commit that names no batch."""
    batch = pending_batch(case)
    since = None if batch is None else planned_ms(case, batch)
    if batch is None or since is None:
        return
    for holding in delta_holdings(case):
        if holding.application is not None:
            continue
        commit = unmarked_write(holding.output, since)
        if commit is None or earlier_queries(holding):
            continue
        rows = "its rows" if commit.rows is None else count(commit.rows, "row")
        yield pending_batch_not_marked.find(
            what=(
                f"Batch {batch} is pending, and version {commit.version} of "
                f"{holding.output.display_name} "
                f"was written after it was planned, with {rows} and no batch number. If that is "
                "the batch, Spark writes its rows a second time."
            ),
            how=(
                f"Compare version {commit.version} with the source. If it is batch {batch}, "
                f"restore the table to version {commit.version - 1} before you start."
            ),
            follows_from=(f"offsets/{batch}", *holding.files(commit.version)),
        )


@rule("HF717", Severity.NOTE, Confidence.CERTAIN, Effect.NONE, Goal.NONE)
def pending_batch_in_some_tables(case: Case) -> Iterator[Finding]:
    """The pending batch is in one Delta table and not in another."""
    batch = pending_batch(case)
    if batch is None:
        return
    known = [
        each
        for each in delta_holdings(case)
        if each.batch is not None and not is_forgotten(case, each.output, each.newest_commit)
    ]
    having = [each.output.display_name for each in known if each.batch == batch]
    lacking = [each.output.display_name for each in known if each.batch == batch - 1]
    if having and lacking:
        yield pending_batch_in_some_tables.find(
            what=(
                f"Batch {batch} is pending. It is in {', '.join(having)} and not in "
                f"{', '.join(lacking)}. Spark runs it again: tables that hold it skip it."
            ),
            how="Start the query, and compare the tables only after that batch.",
            follows_from=(f"offsets/{batch}", *having, *lacking),
        )


@rule("HF718", Severity.NOTE, Confidence.CERTAIN, Effect.NONE, Goal.RESUME)
def pending_batch_in_table(case: Case) -> Iterator[Finding]:
    """The Delta table holds the pending batch and skips it."""
    batch = pending_batch(case)
    if batch is None:
        return
    for holding in delta_holdings(case):
        commit = holding.newest_commit
        if holding.batch != batch or is_forgotten(case, holding.output, commit):
            continue
        if is_planned_later(case, batch, commit):
            continue
        yield pending_batch_in_table.find(
            what=(
                f"Batch {batch} is pending, and {holding.output.display_name} holds it. Spark runs "
                "it again with the same range, and Delta skips it: nothing is duplicated."
            ),
            how=f"Start the query, and leave offsets/{batch} where it is.",
            follows_from=(
                f"offsets/{batch}",
                *holding.files(*(each.version for each in (commit,) if each)),
            ),
        )


@rule("HF719", Severity.NOTE, Confidence.CERTAIN, Effect.NONE, Goal.RESUME)
def pending_batch_not_in_table(case: Case) -> Iterator[Finding]:
    """The Delta table does not hold the pending batch, and takes it."""
    batch = pending_batch(case)
    if batch is None:
        return
    for holding in delta_holdings(case):
        output, since = holding.output, planned_ms(case, batch)
        if holding.batch is None:
            is_known = since is not None and reaches(output, since)
            is_absent = is_known and written_since(output, since or 0) is None
        else:
            is_absent = holding.batch == batch - 1
        if not is_absent or output.newest < 0 or lacks_trace_of_query(case, holding):
            continue
        yield pending_batch_not_in_table.find(
            what=(
                f"Batch {batch} is pending, and {output.display_name} does not hold it. Spark runs "
                "it again with the same range, and the table takes it once."
            ),
            how="Start the query.",
            follows_from=(f"offsets/{batch}", *holding.files(output.newest)),
        )
