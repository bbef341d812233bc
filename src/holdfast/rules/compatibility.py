"""What `holdfast check` answers: whether new code can continue on the checkpoint of a stream."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

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


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamCheck:
    """What was found of one stream."""

    stream: str
    findings: tuple[Finding, ...] = ()
    unknown: tuple[str, ...] = ()
    """What could not be compared, one sentence each."""
    newest_batch: int | None = None
    """The newest batch in the checkpoint; None when it has none: then any code is compatible."""

    @property
    def verdict(self) -> Compatibility:
        """The answer."""
        grave = [each for each in self.findings if each.severity in _GRAVE]
        if any(each.confidence is not Confidence.UNKNOWN for each in grave):
            return Compatibility.INCOMPATIBLE
        if self.unknown or grave:
            return Compatibility.UNKNOWN
        return Compatibility.WITH_NOTES if self.findings else Compatibility.COMPATIBLE
