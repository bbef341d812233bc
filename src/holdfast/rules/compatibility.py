"""What `holdfast check` answers: whether new code can continue on the checkpoint of a stream."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from holdfast.grades import Confidence, Severity
from holdfast.rules.rule import Finding

_GRAVE = (Severity.BLOCKS_RESTART, Severity.DATA_AT_RISK)


class Compatibility(StrEnum):
    """Whether new code can continue on a checkpoint; the worst last."""

    COMPATIBLE = "compatible"
    """Nothing that was compared differs."""
    WITH_NOTES = "compatible with notes"
    """Spark starts. Something differs that you should know."""
    UNKNOWN = "unknown"
    """Something could not be compared."""
    INCOMPATIBLE = "incompatible"
    """Spark refuses the code, or loses, duplicates or alters data."""


class RecordedQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A query that a program would have started."""

    sources: tuple[str, ...]
    """Each as Spark names it, in the order of the query."""
    operators: tuple[str, ...]
    """Those with state, in the order of their ids."""
    sink: str
    output_mode: str
    trigger: str
    """As Spark prints it."""
    checkpoint: str | None
    """None when the program names none."""
    where: str | None = None
    """The line of the program that would have started it; None when it was not run."""


class StreamCheck(msgspec.Struct, frozen=True, kw_only=True):
    """What was found of one stream."""

    stream: str
    findings: tuple[Finding, ...] = ()
    unknown: tuple[str, ...] = ()
    """What could not be compared, one sentence each."""
    newest_batch: int | None = None
    """The newest batch in the checkpoint; None when it has none: then any code is compatible."""
    query: RecordedQuery | None = None
    """The query of a program that is not guarded; None of a guarded stream."""

    @property
    def verdict(self) -> Compatibility:
        """The answer."""
        grave = [each for each in self.findings if each.severity in _GRAVE]
        if any(each.confidence is not Confidence.UNKNOWN for each in grave):
            return Compatibility.INCOMPATIBLE
        if self.unknown or grave:
            return Compatibility.UNKNOWN
        return Compatibility.WITH_NOTES if self.findings else Compatibility.COMPATIBLE


class CodeCheck(msgspec.Struct, frozen=True, kw_only=True):
    """What was found of a pipeline or of a program."""

    name: str
    """Of the pipeline; of a program, its file."""
    checks: tuple[StreamCheck, ...]
    """In the order in which they are, or would have been, started."""
    unknown: tuple[str, ...] = ()
    """Why a program may have more queries, one sentence each; empty when it was run to its end."""

    @property
    def verdict(self) -> Compatibility:
        """The worst of all."""
        order = list(Compatibility)
        unseen = (Compatibility.UNKNOWN,) if self.unknown else ()
        found = (*(each.verdict for each in self.checks), *unseen)
        return max(found, key=order.index, default=order[0])
