"""What rules about Delta sources share: what was found of each."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.checkpoint.offsets import OffsetEntry
from holdfast.evidence.case import Case
from holdfast.ids import BatchId
from holdfast.printable import printable
from holdfast.sources.delta.found import DeltaSource, SourceCommit
from holdfast.sources.delta.kind import DeltaOffset
from holdfast.sources.probe import SourceProbe
from holdfast.sources.registry import offsets_of


def delta_sources(case: Case) -> Iterator[tuple[SourceProbe, DeltaSource]]:
    """Yield every Delta source that was looked at, where the checkpoint has an offset of it."""
    for probe in case.sources:
        if isinstance(probe.found, DeltaSource) and case.checkpoint.offsets:
            yield probe, probe.found


def oldest_offset(case: Case, source: str) -> DeltaOffset | None:
    """Return the oldest offset of a Delta source that the checkpoint has."""
    found = (offset_after(case, batch, source) for batch in case.checkpoint.offsets)
    return next((each for each in found if each is not None), None)


def offset_after(case: Case, batch: int, source: str) -> DeltaOffset | None:
    """Return where a Delta source stands after a batch; None when no entry says it."""
    entry = case.checkpoint.offsets.get(BatchId(batch))
    return offsets_of(entry, DeltaOffset).get(source) if isinstance(entry, OffsetEntry) else None


def log_files(found: DeltaSource, *versions: int) -> tuple[str, ...]:
    """Name commits of a source."""
    return tuple(f"{found.display_name}, version {version}" for version in versions)


def named(commits: list[SourceCommit], *, most: int = 4) -> str:
    """Name commits by version and operation, the first few of them."""
    shown = ", ".join(f"{each.version} ({printable(each.operation)})" for each in commits[:most])
    more = len(commits) - most
    word = "version" if len(commits) == 1 else "versions"
    return f"{word} {shown}" if more <= 0 else f"{word} {shown} and {more} more"


def newest_entry(case: Case) -> str:
    """Name the offset entry that the next start reads."""
    return f"offsets/{case.newest_planned}"
