"""The verdict on the next start, in one word: what `--check` decides and a table shows."""

from __future__ import annotations

from enum import StrEnum, unique

from holdfast.checkpoint.read import Checkpoint
from holdfast.evidence.outcomes import (
    NextStart,
    Refuses,
    Resumes,
    RunsAgain,
    StartsFresh,
    Unknown,
)


@unique
class Verdict(StrEnum):
    """What the next start does to the data, as far as the checkpoint and the record tell."""

    FAILS = "fails"
    """Spark refuses to start, or fails in or after its first batch."""
    UNKNOWN = "unknown"
    REPEATS = "repeats"
    """A batch or a source is read again, and nothing shows that the sink recognises it."""
    NOTHING = "nothing"
    """There is no checkpoint."""
    RECOGNISED = "recognised"
    """A batch runs again, and the ledger in every sink of the guarded stream recognises it."""
    BEGINS = "begins"
    """Batch 0, and nothing shows that a batch ever ran."""
    RESUMES = "resumes"
    """A new batch, after the last committed one."""

    @property
    def passes(self) -> bool:
        """Whether `--check` lets it pass."""
        return self in (Verdict.RECOGNISED, Verdict.BEGINS, Verdict.RESUMES)


def judge_start(checkpoint: Checkpoint, found: NextStart, *, has_ledgers: bool = False) -> Verdict:
    """Return the verdict on a predicted start.

    Args:
        checkpoint: The one that it was predicted for.
        found: The prediction.
        has_ledgers: Whether Holdfast's record says that every sink of the query has a ledger.
    """
    match found:
        case Refuses() | Resumes(then=str()) | RunsAgain(then=str()) | StartsFresh(then=str()):
            verdict = Verdict.FAILS
        case Unknown():
            verdict = Verdict.UNKNOWN
        case Resumes(rereads=()):
            verdict = Verdict.RESUMES
        case RunsAgain(rereads=(), passed_over=()) if has_ledgers:
            verdict = Verdict.RECOGNISED
        case Resumes() | RunsAgain():
            verdict = Verdict.REPEATS
        case StartsFresh() if checkpoint.is_empty:
            verdict = Verdict.NOTHING
        case StartsFresh():
            verdict = Verdict.REPEATS if has_run(checkpoint) else Verdict.BEGINS
    return verdict


def has_only_begun(checkpoint: Checkpoint) -> bool:
    """Return whether all that is left is what a start writes before it plans batch 0."""
    numbers = (each for log in checkpoint.sources for each in (*log.entries, *log.compacts))
    is_begun = bool(checkpoint.sources) and max(numbers, default=0) == 0
    return is_begun and not checkpoint.commits and not checkpoint.state


def has_run(checkpoint: Checkpoint) -> bool:
    """Return whether anything in a checkpoint without offset entries shows an earlier run."""
    return bool(checkpoint.commits or checkpoint.state or checkpoint.sources)
