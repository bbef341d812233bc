"""What `--check` decided, in one line."""

from __future__ import annotations

from holdfast.cli.inspect_directory import DirectoryInspection
from holdfast.cli.inspection import Inspection
from holdfast.evidence.verdict import Verdict
from holdfast.evidence.wording import count

_WHY: dict[Verdict, str] = {
    Verdict.FAILS: "the query will not start, or will fail",
    Verdict.UNKNOWN: "what the next start does is unknown",
    Verdict.REPEATS: "the next start repeats data",
    Verdict.NOTHING: "there is no checkpoint",
}


def say_check(found: Inspection | DirectoryInspection) -> str:
    """Say whether the next start is safe, or how many are not."""
    if isinstance(found, Inspection):
        why = _WHY.get(found.verdict)
        if why is None and found.unanswered is not None:
            return f"Not judged: a source could not be asked: {found.unanswered}."
        return "Check passed." if why is None else f"Check failed: {why}."
    if found.passes:
        return "Check passed."
    counted = [row for row in found.rows if row.replaced_by is None]
    unsafe = len(found.unread) + sum(not each.verdict.passes for each in found.judged)
    return f"Check failed: {unsafe:,} of {count(len(counted), 'checkpoint')} cannot pass."
