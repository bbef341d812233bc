"""What changed between two scans of a fleet: what got worse comes first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum, unique

import msgspec

from holdfast.fleet.rows import FleetRow
from holdfast.judgement.judge import ATTENTION, Verdict
from holdfast.wording import size

_GROWS = 2.0
_LEAST_GROWTH = 1_000_000
"""Bytes: what is smaller does not matter, however fast it grows."""
_UNSAFE = frozenset({Verdict.LOSES, Verdict.FAILS, Verdict.ALTERS, Verdict.REPEATS})


@unique
class ChangeKind(StrEnum):
    """How a checkpoint differs from the earlier scan; what to look at first comes first."""

    UNSAFE = "newly-unsafe"
    """Its next restart loses, repeats or alters data or fails, and did not before."""
    BACK = "went-back"
    """Its newest batch is lower: it was restored from a copy, or replaced."""
    STUCK = "stuck"
    """The same batch was unfinished in both scans."""
    UNKNOWN = "no-longer-known"
    """Its verdict was known before."""
    GONE = "gone"
    GROWING = "growing"
    """Its listed files have at least twice the size."""
    NEW = "new"
    RECOVERED = "recovered"
    """It was unsafe before, and is safe now."""


class FleetChange(msgspec.Struct, frozen=True, kw_only=True):
    """One difference."""

    change: ChangeKind
    location: str
    owner: str | None
    verdict: Verdict
    """Now; of what is gone, as it was."""
    sentence: str


class FleetDiff(msgspec.Struct, frozen=True, kw_only=True):
    """What changed between two scans."""

    before_ms: int | None
    """When the earlier scan ended; None if it has no rows."""
    after_ms: int | None
    totals: dict[str, int]
    """How many of each change."""
    unchanged: int
    """How many checkpoints are as before, or only went on."""
    changes: tuple[FleetChange, ...]
    """Those to look at first come first."""


def compare_scans(before: Iterable[FleetRow], after: Iterable[FleetRow]) -> FleetDiff:
    """Say what changed.

    Args:
        before: The rows of the earlier scan; kept in memory.
        after: The rows of the later one.
    """
    known = {row.location: row for row in before}
    before_ms = max((row.seen_ms for row in known.values()), default=None)
    changes: list[FleetChange] = []
    after_ms, unchanged = None, 0
    for row in after:
        after_ms = max(after_ms or 0, row.seen_ms)
        found = list(_changes(known.pop(row.location, None), row))
        changes += found
        unchanged += not found
    changes += [_change(ChangeKind.GONE, row, "it was there before") for row in known.values()]
    order = list(ChangeKind)
    changes.sort(key=lambda each: (order.index(each.change), each.location))
    totals = {kind.value: sum(each.change is kind for each in changes) for kind in ChangeKind}
    return FleetDiff(
        before_ms=before_ms,
        after_ms=after_ms,
        totals={kind: number for kind, number in totals.items() if number},
        unchanged=unchanged,
        changes=tuple(changes),
    )


def is_worse(found: FleetDiff) -> bool:
    """Return whether something got worse: not where checkpoints are only new or recovered."""
    harmless = {ChangeKind.NEW, ChangeKind.RECOVERED, ChangeKind.GROWING}
    return any(each.change not in harmless for each in found.changes)


def _changes(old: FleetRow | None, new: FleetRow) -> Iterator[FleetChange]:
    if old is None:
        yield _change(ChangeKind.NEW, new, new.sentence)
        if _verdict(new) in _UNSAFE and new.is_current:
            yield _change(ChangeKind.UNSAFE, new, new.sentence)
        return
    if not new.is_current:
        return
    yield from _changed_verdict(old, new)
    yield from _changed_progress(old, new)
    growth = new.size_bytes - old.size_bytes
    if growth >= _LEAST_GROWTH and new.size_bytes >= _GROWS * old.size_bytes:
        said = f"{size(old.size_bytes)} before, {size(new.size_bytes)} now"
        yield _change(ChangeKind.GROWING, new, said)


def _changed_verdict(old: FleetRow, new: FleetRow) -> Iterator[FleetChange]:
    was, is_now = _verdict(old), _verdict(new)
    if is_now in _UNSAFE and (was not in _UNSAFE or _rank(is_now) < _rank(was)):
        yield _change(ChangeKind.UNSAFE, new, f"{new.sentence} (before: {was.value})")
    elif is_now is Verdict.UNKNOWN and was is not Verdict.UNKNOWN:
        yield _change(ChangeKind.UNKNOWN, new, f"{new.sentence} (before: {was.value})")
    elif was in _UNSAFE and is_now is Verdict.SAFE:
        yield _change(ChangeKind.RECOVERED, new, f"{new.sentence} (before: {was.value})")


def _changed_progress(old: FleetRow, new: FleetRow) -> Iterator[FleetChange]:
    before, now = old.newest_batch, new.newest_batch
    if before is None or now is None:
        return
    if now < before:
        yield _change(ChangeKind.BACK, new, f"newest batch {before} before, {now} now")
    elif now == before and old.is_pending and new.is_pending:
        yield _change(ChangeKind.STUCK, new, f"batch {now} was unfinished in both scans")


def _verdict(row: FleetRow) -> Verdict:
    return row.so_far or row.verdict


def _rank(verdict: Verdict) -> int:
    return ATTENTION.index(verdict)


def _change(change: ChangeKind, row: FleetRow, sentence: str) -> FleetChange:
    return FleetChange(
        change=change,
        location=row.location,
        owner=row.owner,
        verdict=_verdict(row),
        sentence=sentence,
    )
