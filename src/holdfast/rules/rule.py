"""What a rule is: evidence in, findings out, and everything that is decided about them.

A rule is one module named `hf<code>_<name>.py` with a `RULE` in it, one page
`docs/reference/rules/HF<code>.md` and one file of cases. Rules and findings are values: they can be
pickled, and judging neither reads nor writes anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from holdfast.evidence.stream import SinkEvidence, StreamEvidence
from holdfast.ledger.coverage import Coverage


class Severity(StrEnum):
    """What a finding does to a start."""

    REFUSE = "refuse"
    """The start is refused until the finding is repaired or accepted."""
    WARN = "warn"
    """The stream starts, and the finding is logged as a warning."""
    NOTE = "note"
    """The stream starts, and the finding is logged."""


class Confidence(StrEnum):
    """How sure a rule is that data would be lost or duplicated."""

    CERTAIN = "certain"
    """It follows from what was read."""
    LIKELY = "likely"
    """It follows if an assumption holds, which the finding names."""
    UNKNOWN = "unknown"
    """Nothing that can be read tells; the finding asks."""


class Goal(StrEnum):
    """What repairs a finding."""

    RESUME = "resume"
    """Go on with the same batch and the same range, from a checkpoint that is put right."""
    REPLAY = "replay"
    """Run a known range of batches again."""
    BACKFILL = "backfill"
    """Fill a gap with a bounded job beside the stream."""
    RESET = "reset"
    """Begin a new generation, from a named position and into a named output."""
    NONE = "none"
    """Nothing in checkpoint or sink needs a repair."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What one rule found."""

    code: str
    name: str
    severity: Severity
    confidence: Confidence
    goal: Goal
    what: str
    """What was found, with the figures and the files."""
    how: str
    """What to do, as a command where there is one."""
    accepting: str
    """What starting anyway does to the data."""
    follows_from: tuple[str, ...]
    """The files and rows it was read from."""
    sink: str | None = None
    """The sink it is about; None when it is about the query."""
    accepted_batch: int | None = None
    """The last batch in the sink's ledger row once this is accepted; None leaves the row alone."""
    question: str | None = None
    """What it answers, where findings are alternatives: exactly one of them must be accepted."""

    def __str__(self) -> str:
        return f"{self.code} {self.name}: {self.what} {self.how}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule of the catalogue."""

    code: str
    name: str
    severity: Severity
    confidence: Confidence
    goal: Goal
    judge: Callable[[StreamEvidence], Iterator[Finding]]

    def find(  # noqa: PLR0913 - what a finding says, each by name
        self,
        *,
        what: str,
        how: str,
        accepting: str,
        follows_from: tuple[str, ...],
        sink: str | None = None,
        accepted_batch: int | None = None,
        question: str | None = None,
    ) -> Finding:
        """Return a finding of this rule."""
        return Finding(
            code=self.code,
            name=self.name,
            severity=self.severity,
            confidence=self.confidence,
            goal=self.goal,
            what=what,
            how=how,
            accepting=accepting,
            follows_from=follows_from,
            sink=sink,
            accepted_batch=accepted_batch,
            question=question,
        )


def proven_batch(evidence: StreamEvidence, sink: SinkEvidence) -> int:
    """Return the last batch that checkpoint and ledger agree on.

    That is the newest committed batch, or the pending one where the sink's row shows that exactly
    this batch has arrived. Most rules put it into the ledger row when they are accepted.
    """
    row, held = sink.row, sink.held
    if row is not None and isinstance(held, Coverage) and held.digest == row.digest:
        return max(row.last_batch, evidence.newest_committed)
    return evidence.newest_committed
