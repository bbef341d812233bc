"""The batch that the next start runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from holdfast.evidence.case import Case
from holdfast.evidence.outcomes import Reread, Resumes, RunsAgain, StartsFresh
from holdfast.evidence.outputs.output import NotRead
from holdfast.evidence.progress import SourceRange, find_ranges, has_only_begun, has_run
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.ids import BatchId
from holdfast.rules.commands import (
    OFFSETS,
    backfilling,
    position_of,
    reset_advice,
    resume_advice,
    without_backup,
)
from holdfast.rules.delta_holdings import delta_holdings, lacks_trace_of_query
from holdfast.rules.entry_figures import amount_text, batches_text, total_of
from holdfast.rules.rule import Finding, rule


@rule("HF210", Severity.RISK, Confidence.LIKELY, Effect.REPEATS, Goal.RESUME)
def pending_batch(case: Case) -> Iterator[Finding]:
    """A batch was planned and not committed, and Spark runs it again."""
    start = case.next_start
    if not isinstance(start, RunsAgain) or start.then is not None or case.overview is None:
        return
    if _is_sink_known(case):
        return
    amount = total_of(case.overview.progress.sources)
    yield pending_batch.find(
        what=(
            f"Spark will run batch {start.batch_id} again with the same range"
            f"{amount_text(amount)}, because it was planned and not committed. Rows that already "
            "reached the sink are duplicated, unless the sink recognises the batch."
        ),
        how=(
            "Nothing, if the sink is idempotent. Otherwise check whether the sink holds rows of "
            f"batch {start.batch_id}, and remove them before you start the query."
        ),
        follows_from=start.follows_from,
        is_predicted=True,
        amount=amount,
    )


def _is_sink_known(case: Case) -> bool:
    strange = [each.output for each in delta_holdings(case) if lacks_trace_of_query(case, each)]
    unknown = [each for each in case.outputs if isinstance(each, NotRead) or each in strange]
    is_told = bool(case.outputs) and not unknown
    return case.stream is not None or case.is_recognised or is_told


@rule("HF211", Severity.DATA_AT_RISK, Confidence.LIKELY, Effect.LOSES, Goal.BACKFILL)
def batches_passed_over(case: Case) -> Iterator[Finding]:
    """Several batches are not committed, and Spark runs only the newest again."""
    start = case.next_start
    if not isinstance(start, RunsAgain) or not start.passed_over:
        return
    passed = start.passed_over
    ranges = [each for batch in passed for each in find_ranges(case.checkpoint, batch)]
    amount = total_of(ranges)
    yield batches_passed_over.find(
        what=(
            f"Spark will run only batch {start.batch_id} again and will never run "
            f"{batches_text(passed)}{amount_text(amount)}, planned and never committed. "
            "Rows that are not in the sink yet are lost."
        ),
        how=(
            f"Check that the sink holds {batches_text(passed)}, then restore the commit entries. "
            f"To load what is missing, {_load(case, ranges)}."
        ),
        accepting=f"{batches_text(passed)} are never run; what the sink lacks of them is lost",
        follows_from=(*start.follows_from, *(f"offsets/{batch}" for batch in passed)),
        is_predicted=True,
        amount=amount,
    )


def _load(case: Case, ranges: Sequence[SourceRange]) -> str:
    start = end = OFFSETS
    if len({each.source for each in ranges}) == 1:
        start, end = position_of(ranges[0].start), position_of(ranges[-1].end)
    return backfilling(case, start=start, end=end, otherwise="use a bounded job")


@rule("HF212", Severity.DATA_AT_RISK, Confidence.CERTAIN, Effect.REPEATS, Goal.RESUME)
def starts_over(case: Case) -> Iterator[Finding]:
    """Spark begins with batch 0 over what an earlier run left."""
    start, checkpoint = case.next_start, case.checkpoint
    if not isinstance(start, StartsFresh) or not has_run(checkpoint):
        return
    if has_only_begun(checkpoint):
        return
    parts = {
        "commits": checkpoint.commits,
        "sources": checkpoint.sources,
        "state": checkpoint.state,
    }
    there = [f"{name}/" for name, found in parts.items() if found]
    yield starts_over.find(
        what=(
            f"Spark will begin with batch 0 and read its sources again, although "
            f"{' and '.join(there)} show that the query has run. The sink keeps what it has: rows "
            "are duplicated."
        ),
        how=resume_advice(
            case,
            otherwise=f"Restore `offsets/` and `commits/`. To begin again, {reset_advice(case)}.",
        ),
        accepting="everything that the sources still have is read again into the same sink",
        follows_from=(*start.follows_from, *there),
        is_predicted=True,
    )


@rule("HF213", Severity.DATA_AT_RISK, Confidence.CERTAIN, Effect.REPEATS, Goal.RESUME)
def source_reads_again(case: Case) -> Iterator[Finding]:
    """The offset of a source is gone from an entry, and Spark reads it again."""
    start = case.next_start
    if not isinstance(start, Resumes | RunsAgain):
        return
    newest = case.newest_planned
    for each in start.rereads:
        yield source_reads_again.find(
            what=(
                f"Spark will read source {each.source} again {_from(each)}, because offsets/"
                f"{newest} or the entry before it has no offset for it. The rows are duplicated."
            ),
            how=(f"Restore offsets/{newest} with the line of every source.{without_backup(case)}"),
            accepting=f"source {each.source} is read again {_from(each)} into the same sink",
            follows_from=start.follows_from,
            is_predicted=True,
        )


def _from(each: Reread) -> str:
    return "from its beginning" if each.after is None else f"from the end of batch {each.after}"


_TIMES, _COMPARED, _LEAST = 10, 10, 3
"""How much larger, than how many batches at most, and of how many at least."""


@rule("HF214", Severity.RISK, Confidence.LIKELY, Effect.FAILS, Goal.RESUME)
def pending_batch_is_large(case: Case) -> Iterator[Finding]:
    """The batch that Spark runs again is far larger than those before it."""
    start = case.next_start
    if not isinstance(start, RunsAgain):
        return
    amount = total_of(find_ranges(case.checkpoint, start.batch_id))
    if amount is None:
        return
    before = [
        found.number
        for batch in range(start.batch_id - _COMPARED, start.batch_id)
        if (found := total_of(find_ranges(case.checkpoint, BatchId(batch))))
        and found.unit == amount.unit
    ]
    if len(before) < _LEAST or amount.number < _TIMES * max(median(before), 1):
        return
    yield pending_batch_is_large.find(
        what=(
            f"Spark will run batch {start.batch_id} again with its complete range"
            f"{amount_text(amount)}; the {len(before)} batches before it have {median(before):g} "
            "at the median. Limits on the size of a batch do not apply to it."
        ),
        how="If it fails again, give one start more memory; set a limit for the batches after it.",
        follows_from=start.follows_from,
        amount=amount,
    )


@rule("HF227", Severity.RISK, Confidence.LIKELY, Effect.REPEATS, Goal.RESUME)
def first_batch_not_planned(case: Case) -> Iterator[Finding]:
    """A source has begun, and batch 0 was never planned, or its entries were deleted."""
    start = case.next_start
    if not isinstance(start, StartsFresh) or not has_only_begun(case.checkpoint):
        return
    yield first_batch_not_planned.find(
        what=(
            "Spark will begin with batch 0. That is right if the first start was killed before it "
            "planned a batch; if offsets/ and commits/ were deleted, everything is read again and "
            "rows are duplicated."
        ),
        how="Check that the sink has no rows of this query; if it has, restore offsets/ first.",
        follows_from=(*start.follows_from, "sources/"),
        is_predicted=True,
    )
