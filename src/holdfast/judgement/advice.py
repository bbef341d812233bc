"""What to do next, in a sentence or two: the remedy of the finding that decides.

A remedy has one home, its finding. Here is only what is left to do where no rule has found one.
"""

from __future__ import annotations

from holdfast.evidence.outcomes import Resumes, RunsAgain, StartsFresh, Unknown, UnknownCause
from holdfast.judgement.judge import Judgement, Verdict
from holdfast.rules.commands import WITHOUT_BACKUP
from holdfast.rules.rule import Finding

_UNSEEN: dict[UnknownCause, str] = {
    UnknownCause.UNREAD: "Run this command as an account that may read {path}.",
    UnknownCause.NOT_A_DIRECTORY: "If {path} is a link, copy the directory to its place. If it is "
    "a file, restore the directory from a backup.",
    UnknownCause.STATE_UNCHECKED: "Run `holdfast inspect` on this checkpoint alone: it checks all "
    "of state/.",
}


def advise(found: Judgement) -> str:
    """Return the next action; it names only commands and pages that exist."""
    finding, start = _asking(found), found.next_start
    if nothing := _why_nothing(found):
        said = f"Nothing: {nothing}."
    elif found.verdict is Verdict.NOTHING:
        said = _begin(found)
    elif finding is not None:
        said = finding.how
    elif isinstance(start, Unknown) and start.cause in _UNSEEN:
        said = _UNSEEN[start.cause].format(path=start.follows_from[0])
    elif found.verdict is Verdict.SAFE:
        said = _start(found)
    elif found.not_judged:
        said = f"Check this before you start the query: {found.not_judged[0]}."
    else:
        said = f"Run `holdfast diagnose {found.case.checkpoint.location}`: it says what is wrong."
    return said


def _why_nothing(found: Judgement) -> str | None:
    """Say why the record leaves nothing to do; None when the checkpoint decides."""
    record = found.case.record
    if record is None:
        return None
    if record.is_replaced:
        newest = f"generation {record.newest_generation} of {record.stream}"
        return f"{newest} replaced this checkpoint"
    match found.next_start:
        case Resumes(rereads=(), then=None) | RunsAgain(rereads=(), then=None):
            return f"{record.stream} is running" if record.is_running else None
        case _:
            return None


def _asking(found: Judgement) -> Finding | None:
    """Return the finding whose remedy comes first; one that was not judged asks too."""
    if found.decided_by is not None:
        return found.decided_by
    asks = (each for each in found.findings if each.is_predicted or not each.is_judged)
    return next(asks, None)


def _begin(found: Judgement) -> str:
    record = found.case.record
    if record is not None and record.run is not None:
        return (
            f"Restore the checkpoint from a backup: {record.stream} has run, and its checkpoint is "
            f"gone.{WITHOUT_BACKUP} hf.start refuses it until then."
        )
    return "Check the path. If the query has never run, start it."


def _start(found: Judgement) -> str:
    start, record = found.next_start, found.case.record
    if isinstance(start, StartsFresh):
        return "Nothing, if the query has never run. Start it."
    if isinstance(start, RunsAgain) and record is not None:
        return (
            f"Nothing. Start {record.stream} with hf.start: the ledger in its sink prevents "
            "duplicates. Plain Spark would ignore the ledger."
        )
    is_open = isinstance(start, Resumes | RunsAgain) and start.unless is not None
    return (
        f"Nothing. Start the query{'; if it is stateful, restore state/ first' if is_open else ''}."
    )
