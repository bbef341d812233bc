"""One trial: a damaged copy is diagnosed, and Spark is started on it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from campaigns.damages.damage import Damage
from campaigns.damages.streams import Restarted, Row
from holdfast.judgement.case import DiagnoseRequest, collect_case
from holdfast.judgement.judge import Verdict, judge
from holdfast.proof.multiset import compare

SAME, FAILED = "same", "failed"
_WARNS = {
    Verdict.LOSES,
    Verdict.REPEATS,
    Verdict.ALTERS,
    Verdict.FAILS,
}


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """What `diagnose` said."""

    verdict: Verdict
    codes: tuple[str, ...]
    """Of the findings above a note."""


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """What was said of one damage, and what Spark did."""

    stream: str
    damage: str
    area: str
    how: str
    checksum: str
    did: str
    """`same`, `failed`, `lost`, `duplicated` or `altered`."""
    seen: str
    """Words of the error, or the counts."""
    plain: Said
    deep: Said

    @property
    def name(self) -> str:
        """Tells it apart from all others."""
        return f"{self.stream}|{self.damage}"

    def judge(self, said: Said) -> str:
        """Return how what was said compares with what Spark did."""
        is_same = self.did == SAME
        if said.verdict in _WARNS:
            return "warned, although healthy" if is_same else "warned and right"
        if said.verdict is Verdict.SAFE:
            return "safe and right" if is_same else "safe and WRONG"
        return "not known"


JUDGEMENTS = (
    "safe and right",
    "safe and WRONG",
    "warned and right",
    "warned, although healthy",
    "not known",
)


def say(checkpoint: Path, *, deep: bool) -> Said:
    """Diagnose a checkpoint, as the command does."""
    found = judge(collect_case(DiagnoseRequest(location=str(checkpoint), deep=deep)))
    codes = [each.code for each in found.findings if each.severity.value != "note"]
    return Said(verdict=found.verdict, codes=tuple(dict.fromkeys(codes)))


def try_damage(
    stream: str,
    damage: Damage,
    *,
    copy: Path,
    expected: Sequence[Row],
    start: Callable[[Path], Restarted],
) -> Trial:
    """Diagnose a copy that is damaged already, start Spark on it, and compare."""
    plain, deep = say(copy, deep=False), say(copy, deep=True)
    did, seen = _compare(start(copy), expected)
    return Trial(
        stream=stream,
        damage=damage.name,
        area=damage.area,
        how=damage.how,
        checksum=damage.checksum.value,
        did=did,
        seen=seen,
        plain=plain,
        deep=deep,
    )


def _compare(found: Restarted, expected: Sequence[Row]) -> tuple[str, str]:
    if found.error:
        return FAILED, found.error[:300]
    difference = compare(expected, found.rows)
    seen = (
        f"{difference.missing} lost, {difference.duplicated} duplicated, {difference.foreign} other"
    )
    if difference.exact:
        return SAME, ""
    if difference.foreign:
        return "altered", seen
    return ("lost" if difference.missing else "duplicated"), seen


def damaged_copy(checkpoint: Path, damage: Damage, copy: Path) -> bool:
    """Make a damaged copy; return whether it differs from the original."""
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(checkpoint, copy)
    return damage.apply(copy)
