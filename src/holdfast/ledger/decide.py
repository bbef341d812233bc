"""Whether a sink may take a batch: one pure function for all sinks, inside their atomic step.

The lines are asked in order and the first that answers wins. A fenced driver is one that has been
replaced: it must stop. Every other refusal says that checkpoint and sink no longer belong together,
and that somebody has to look before anything is written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

from holdfast.ledger.row import Attempt, LedgerRow


class Reason(Enum):
    """Why a batch is refused."""

    NO_ROW = "the sink has no ledger row for this stream"
    GENERATION_FENCED = "a later generation of this stream has taken over"
    GENERATION_AHEAD = "the sink is of an earlier generation than this driver"
    EPOCH_FENCED = "a later driver has taken over"
    EPOCH_AHEAD = "the sink was never fenced by this driver, or was restored since"
    OTHER_BINDING = "the sink belongs to another checkpoint"
    OTHER_CONTENT = "the sink holds a batch of this number with other content"
    SINK_AHEAD = "the sink already holds later batches than this one"
    GAP = "batches between the sink's last one and this one never arrived"
    BROKEN_CHAIN = "this batch does not begin where the sink's last one ended"

    @property
    def is_fenced(self) -> bool:
        """Whether the driver was replaced, rather than something being wrong."""
        return self in (Reason.GENERATION_FENCED, Reason.EPOCH_FENCED)


@dataclass(frozen=True, slots=True)
class Apply:
    """Write it."""

    word: ClassVar = "apply"


@dataclass(frozen=True, slots=True)
class Skip:
    """The sink holds it already."""

    word: ClassVar = "skip"


@dataclass(frozen=True, slots=True)
class Refuse:
    """Write nothing."""

    reason: Reason
    word: ClassVar = "refuse"


Decision = Apply | Skip | Refuse
Line = Callable[[LedgerRow, Attempt], Decision | None]


def _generation(row: LedgerRow, attempt: Attempt) -> Decision | None:
    if attempt.generation < row.generation:
        return Refuse(Reason.GENERATION_FENCED)
    return Refuse(Reason.GENERATION_AHEAD) if attempt.generation > row.generation else None


def _epoch(row: LedgerRow, attempt: Attempt) -> Decision | None:
    if attempt.epoch < row.epoch:
        return Refuse(Reason.EPOCH_FENCED)
    is_mine = attempt.epoch == row.epoch and attempt.nonce == row.nonce
    return None if is_mine else Refuse(Reason.EPOCH_AHEAD)


def _binding(row: LedgerRow, attempt: Attempt) -> Decision | None:
    return Refuse(Reason.OTHER_BINDING) if attempt.binding != row.binding else None


def _same_batch(row: LedgerRow, attempt: Attempt) -> Decision | None:
    if attempt.batch_id != row.last_batch:
        return None
    return Skip() if attempt.digest == row.digest else Refuse(Reason.OTHER_CONTENT)


def _older_batch(row: LedgerRow, attempt: Attempt) -> Decision | None:
    return Refuse(Reason.SINK_AHEAD) if attempt.batch_id < row.last_batch else None


def _gap(row: LedgerRow, attempt: Attempt) -> Decision | None:
    return Refuse(Reason.GAP) if attempt.batch_id > row.last_batch + 1 else None


def _chain(row: LedgerRow, attempt: Attempt) -> Decision | None:
    is_next = attempt.start_offsets == row.end_offsets
    return None if is_next else Refuse(Reason.BROKEN_CHAIN)


LINES: tuple[Line, ...] = (
    _generation,
    _epoch,
    _binding,
    _same_batch,
    _older_batch,
    _gap,
    _chain,
)
"""Lines 2 to 8 of the table; line 1 is the missing row, line 9 to apply."""


def decide(row: LedgerRow | None, attempt: Attempt, *, lines: Sequence[Line] = LINES) -> Decision:
    """Say what a sink does with a batch.

    Args:
        row: The ledger row of (stream, sink), read inside the step that would write.
        attempt: The batch.
        lines: The table; another one is for the tests that take a line out.
    """
    if row is None:
        return Refuse(Reason.NO_ROW)
    for line in lines:
        decision = line(row, attempt)
        if decision is not None:
            return decision
    return Apply()
