"""Entries of the offset and commit logs that are missing, damaged or blocked."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.checkpoint.offsets import OffsetEntry
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.evidence.case import Case
from holdfast.evidence.needed_entries import NO_SETTINGS
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.ids import BatchId
from holdfast.rules.commands import can_rebuild, plan_command, resume_advice, without_backup
from holdfast.rules.predicted import find_failure_after, find_refusal, refusal
from holdfast.rules.rule import Finding, rule
from holdfast.sources.kind import Behind, Offset
from holdfast.sources.registry import parse_offset

_HOW_OFFSET_LOG_EMPTY = "Restore `offsets/`; do not delete `commits/`."


@refusal("HF201", Goal.RESUME)
def offset_log_empty(case: Case) -> str:
    """`offsets/` is empty, but `commits/` is not."""
    return resume_advice(case, otherwise=f"{_HOW_OFFSET_LOG_EMPTY}{without_backup(case)}")


_HOW_ENTRY_UNREADABLE = "Restore the entry from a backup or an object version."


@refusal("HF202", Goal.RESUME)
def entry_unreadable(case: Case) -> str:
    """A log entry that Spark reads at every start is damaged."""
    checkpoint, planned = case.checkpoint, case.newest_planned
    is_offset = isinstance(checkpoint.offsets.get(BatchId(planned)), Unparsed)
    command = plan_command(case, Goal.RESUME)
    if case.newest_committed > planned or (is_offset and case.newest_committed == planned):
        return resume_advice(case, otherwise=f"{_HOW_ENTRY_UNREADABLE}{without_backup(case)}")
    if is_offset:
        return (
            f"Restore offsets/{planned}. If the sink holds nothing of batch {planned}, run "
            f"{command}: Spark then plans the batch again."
        )
    if isinstance(checkpoint.offsets.get(BatchId(planned - 1)), Unparsed):
        is_used = case.newest_committed < planned
        written = f"Run {command}: it writes offsets/{planned - 1} again."
        return (
            resume_advice(case, otherwise=f"{_HOW_ENTRY_UNREADABLE}{without_backup(case)}")
            if is_used
            else written
        )
    return f"Run {command}: it removes the commit entry, and Spark runs the batch again."


_HOW_PREVIOUS_OFFSET_ENTRY_MISSING = "Restore the missing entry; do not delete the newest one."


@refusal("HF203", Goal.RESUME)
def previous_offset_entry_missing(case: Case) -> str:
    """The offset entry before the newest one is missing."""
    if case.newest_committed < case.newest_planned:
        return resume_advice(
            case, otherwise=f"{_HOW_PREVIOUS_OFFSET_ENTRY_MISSING}{without_backup(case)}"
        )
    command = plan_command(case, Goal.RESUME)
    return f"Run {command}: it writes the missing entry again. Do not delete the newest one."


@refusal("HF204", Goal.RESUME)
def entry_with_other_sources(_case: Case) -> str:
    """The newest offset entry lists another number of sources."""
    return "Restore the entry with one line for each source."


_HOW_ENTRY_WITHOUT_SETTINGS = "Restore the entry with its second line."


@rule("HF205", Severity.BLOCKS_RESTART, Confidence.CERTAIN, Effect.FAILS, Goal.RESUME)
def entry_without_settings(case: Case) -> Iterator[Finding]:
    """The newest offset entry has no settings."""
    yield from find_refusal(entry_without_settings, case, how=_HOW_ENTRY_WITHOUT_SETTINGS)
    yield from find_failure_after(
        entry_without_settings, case, error=NO_SETTINGS, how=_HOW_ENTRY_WITHOUT_SETTINGS
    )


@rule("HF206", Severity.BLOCKS_RESTART, Confidence.CERTAIN, Effect.FAILS, Goal.RESUME)
def entry_blocked_by_checksum(case: Case) -> Iterator[Finding]:
    """A checksum without its entry blocks the next offset entry."""
    how = (
        "Check that no query runs. If the sink holds the batch, restore its offset entry: planned "
        "anew, the batch has another range. Only if the sink does not hold it, run "
        f"{plan_command(case, Goal.RESUME)}: it takes the `.crc` file away."
    )
    return find_refusal(entry_blocked_by_checksum, case, how=how)


_HOW_COMMIT_AHEAD_OF_OFFSETS = (
    "Stop the restarts, and restore the offset entries that were deleted."
)


def _how_commit_ahead_of_offsets(case: Case) -> str:
    if can_rebuild(case):
        return f"Stop the restarts. {resume_advice(case, otherwise='')}"
    if case.is_stateful or case.newest_planned < 0:
        return f"{_HOW_COMMIT_AHEAD_OF_OFFSETS}{without_backup(case)}"
    command = plan_command(case, Goal.RESUME)
    return (
        f"{_HOW_COMMIT_AHEAD_OF_OFFSETS} If they are lost, run {command}: Spark runs the batches "
        "again, and a sink without a ledger gets their rows again."
    )


@rule("HF207", Severity.BLOCKS_RESTART, Confidence.CERTAIN, Effect.REPEATS, Goal.RESUME)
def commit_ahead_of_offsets(case: Case) -> Iterator[Finding]:
    """A newer commit entry is there, and every start repeats a batch and fails."""
    if case.newest_committed <= case.newest_planned:
        return iter(())  # something else is in the place of the commit entry
    return find_failure_after(
        commit_ahead_of_offsets,
        case,
        error="CONCURRENT_STREAM_LOG_UPDATE",
        how=_how_commit_ahead_of_offsets(case),
    )


_ERROR = "Multiple streaming queries are concurrently using"


@rule("HF208", Severity.BLOCKS_RESTART, Confidence.CERTAIN, Effect.REPEATS, Goal.RESUME)
def commit_blocked_by_checksum(case: Case) -> Iterator[Finding]:
    """A checksum without its entry blocks the next commit entry."""
    how = (
        f"Check that no query runs, then run {plan_command(case, Goal.RESUME)}: it takes the "
        "`.crc` file of the missing commit entry away. Spark runs the batch once more: if the sink "
        "does not recognise it, remove its rows first."
    )
    return find_failure_after(commit_blocked_by_checksum, case, error=_ERROR, how=how)


@rule("HF226", Severity.BLOCKS_RESTART, Confidence.LIKELY, Effect.FAILS, Goal.RESUME)
def offset_damaged(case: Case) -> Iterator[Finding]:
    """An offset in the newest entry is damaged: its form is another, or it went back."""
    newest = case.newest_planned
    before, after = _offsets(case, newest - 1), _offsets(case, newest)
    for source, offset in after.items():
        known = before.get(source)
        if offset.kind.behind is Behind.FAILS and offset.is_lower(known):
            yield _find(case, newest, f"is behind the one in offsets/{newest - 1}", source=source)
            continue
        if offset.log_index is not None and known is not None and not known.kind.is_known:
            form = f"has not the form that it has in offsets/{newest}"
            yield _find(case, newest - 1, form, source=source)
            continue
        if offset.kind.is_known or known is None or not known.kind.is_known:
            continue
        form = f"has not the form that it has in offsets/{newest - 1}"
        yield _find(case, newest, form, source=source)


def _find(case: Case, batch: int, what: str, *, source: str) -> Finding:
    newest = case.newest_planned
    return offset_damaged.find(
        what=(
            f"The offset of source {source} in offsets/{batch} {what}. The source cannot use it, "
            "and every start fails."
        ),
        how=(
            f"Restore offsets/{batch} from a backup, or take the offset from the progress event "
            f"of batch {batch}. Do not delete the entry."
        ),
        accepting="Spark decides; the source cannot use its offset, and the query fails",
        follows_from=(f"offsets/{newest}", f"offsets/{newest - 1}"),
    )


def _offsets(case: Case, batch: int) -> dict[str, Offset]:
    """Return what an entry says of its sources; nothing where it cannot be read."""
    entry = case.checkpoint.offsets.get(BatchId(batch))
    if not isinstance(entry, OffsetEntry):
        return {}
    return {each.source: parse_offset(each.text) for each in entry.offsets if each.text}
