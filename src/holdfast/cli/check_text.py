"""What `--check` decided, in one line."""

from __future__ import annotations

from holdfast.cli.inspect_directory import DirectoryInspection
from holdfast.cli.inspection import Inspection
from holdfast.judgement.judge import Judgement, Verdict
from holdfast.wording import count

_WHY: dict[Verdict, tuple[str, str]] = {
    Verdict.LOSES: ("the next start loses data", "the next start may lose data"),
    Verdict.REPEATS: ("the next start repeats data", "the next start may repeat data"),
    Verdict.ALTERS: ("the next start gives wrong results", "the next start may give wrong results"),
    Verdict.FAILS: ("the query will not start, or will fail", "the query may not start"),
    Verdict.UNKNOWN: ("whether the next start is safe is unknown",) * 2,
    Verdict.NOTHING: ("there is no checkpoint",) * 2,
}


def say_check(found: Inspection | DirectoryInspection) -> str:
    """Say whether the next start is safe, or how many are not."""
    if isinstance(found, Inspection):
        return _say_one(found.judgement, found.unanswered)
    if found.passes:
        return "Check passed."
    counted = [row for row in found.rows if row.replaced_by is None]
    unsafe = len(found.unread) + sum(each.verdict is not Verdict.SAFE for each in found.judged)
    return f"Check failed: {unsafe:,} of {count(len(counted), 'checkpoint')} cannot pass."


def _say_one(found: Judgement, unanswered: str | None) -> str:
    if unanswered is not None and found.verdict in (Verdict.UNKNOWN, Verdict.SAFE):
        return f"Not judged: a source could not be asked: {unanswered}."
    if found.verdict is Verdict.SAFE:
        return "Check passed."
    code = "" if found.decided_by is None else f" ({found.decided_by.code})"
    return f"Check failed: {_WHY[found.verdict][not found.is_certain]}{code}."
