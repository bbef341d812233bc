"""What the next start will do, in a few words: one cell of a table."""

from __future__ import annotations

from holdfast.evidence.outcomes import Refuses, Resumes, RunsAgain, StartsFresh, Unknown
from holdfast.evidence.overview import Overview
from holdfast.evidence.progress import has_run
from holdfast.evidence.wording import amount
from holdfast.judgement.judge import Judgement, Verdict
from holdfast.wording import batches


def say_briefly(overview: Overview, *, has_ledgers: bool = False) -> str:
    """Say what the next start will do in a few words.

    Args:
        overview: With the prediction.
        has_ledgers: Whether Holdfast's record says that every sink of the query has a ledger.
    """
    match found := overview.next_start:
        case Refuses(code=code, because=because, in_batch=batch):
            first = "will not start" if batch is None else f"batch {batch} fails"
            said = f"{first} ({code}): {because}"
        case Unknown(because=because):
            said = f"unknown: {because}"
        case StartsFresh(then=str(error)):
            said = f"writes batch 0, then fails: {error}"
        case StartsFresh():
            said = f"begins {'again ' if has_run(overview.checkpoint) else ''}with batch 0"
        case Resumes() | RunsAgain():
            said = _say_batch(overview, found)
            said += "; its ledger recognises it" if has_ledgers else ""
            said += "" if found.unless is None else ", if stateless"
    return said


def _say_batch(overview: Overview, found: Resumes | RunsAgain) -> str:
    batch = found.batch_id
    if found.then is not None:
        return f"writes batch {batch}, then fails: {found.then}"
    if found.rereads:
        return f"reads source {found.rereads[0].source} again in batch {batch}"
    if isinstance(found, Resumes):
        return f"continues with batch {batch}"
    amounts = ", ".join(amount(each.amount) for each in overview.progress.sources)
    skipped = f", skips {batches(found.passed_over)}" if found.passed_over else ""
    return f"repeats batch {batch} ({amounts}){skipped}"


def say_in_short(found: Judgement) -> str:
    """Say what the next start does, and the finding that decides where that is another."""
    is_recognised = found.verdict is Verdict.SAFE and isinstance(found.next_start, RunsAgain)
    said = say_briefly(found.overview, has_ledgers=is_recognised)
    finding = found.decided_by
    return (
        said
        if finding is None or finding.is_predicted
        else f"{said}; {finding.code} {finding.name}"
    )
