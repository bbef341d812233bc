"""One micro-batch (G7), by the numbers of the sink protocol (S1 to S7)."""

from __future__ import annotations

import logging
from typing import Protocol, TypedDict

from holdfast.events.event import Event
from holdfast.events.starts import StreamEvent


class BatchFields(TypedDict):
    """What names a batch on its way into one sink."""

    stream: str
    sink: str
    generation: int
    epoch: int
    batch: int


class Attempted(Protocol):
    """What a sink is asked: `holdfast.ledger.row.Attempt`."""

    @property
    def stream(self) -> str:
        """The stream."""

    @property
    def sink(self) -> str:
        """The sink's label in the ledger."""

    @property
    def generation(self) -> int:
        """The stream's generation."""

    @property
    def epoch(self) -> int:
        """That of the driver."""

    @property
    def batch_id(self) -> int:
        """Spark's number of the batch."""


def fields_of(attempt: Attempted) -> BatchFields:
    """Return the fields of a sink's event: `emit(Committed(**fields_of(attempt)))`."""
    return {
        "stream": attempt.stream,
        "sink": attempt.sink,
        "generation": attempt.generation,
        "epoch": attempt.epoch,
        "batch": attempt.batch_id,
    }


class SinkEvent(StreamEvent):
    """A step of one sink in one batch."""

    sink: str
    generation: int
    epoch: int
    batch: int


class BatchPlanned(SinkEvent):
    """It is known what the batch covers."""

    point = "S1"
    text = "{stream} batch {batch} S1: generation {generation} epoch {epoch}"

    def points(self) -> tuple[str, ...]:
        """Return the batch as a fact, and the number."""
        return f"batch={self.batch}", self.point


class Spooled(SinkEvent):
    """A batch for several sinks is materialised beside the checkpoint; no sink has it."""

    point = "journalled"
    text = "{stream} batch {batch} is materialised for its sinks"


class StepOpened(SinkEvent):
    """The sink's atomic step is open."""

    point = "S2"
    text = "{stream} batch {batch} into {sink} S2: the atomic step is open"


class Decided(SinkEvent):
    """The sink has read its ledger, and decided."""

    point = "S3"
    text = "{stream} batch {batch} into {sink} S3: {decision}"
    decision: str
    """`apply`, `skip` or `refuse`."""


class RowsSent(SinkEvent):
    """Some of the rows are sent."""

    point = "copying"
    text = "{stream} batch {batch} into {sink}: {rows} rows are sent so far"
    rows: int


class RowsWritten(SinkEvent):
    """All rows are sent, the ledger is not."""

    point = "S4"
    text = "{stream} batch {batch} into {sink} S4: the rows are written"


class LedgerAdvanced(SinkEvent):
    """Rows and ledger are sent, not committed."""

    point = "S5"
    text = "{stream} batch {batch} into {sink} S5: the ledger is advanced"


class Committed(SinkEvent):
    """The sink has committed; Spark does not know it."""

    point = "S6"
    text = "{stream} batch {batch} into {sink} S6: committed"


class SinkWritten(SinkEvent):
    """One sink is done with the batch; others may follow."""

    point = "sink-written"
    text = "{stream} batch {batch}: {sink} is done"


class BatchEvent(StreamEvent):
    """Something that has happened to a whole batch."""

    batch: int


class BatchWritten(BatchEvent):
    """Every sink has the batch."""

    level = logging.INFO
    text = "{stream} batch {batch} is written to {sinks} ({seconds:.1f} s)"
    sinks: str
    seconds: float


class BatchSkipped(BatchEvent):
    """Every sink had the batch already."""

    level = logging.INFO
    text = "{stream} batch {batch} is in {sinks} already: skipped{drained}"
    is_always_shown = True
    sinks: str
    drained: str
    """` and drained` if it is executed for the state, else empty."""

    def points(self) -> tuple[str, ...]:
        """Return the batch as a fact."""
        return (f"skipped={self.batch}",)


class BatchReturned(BatchEvent):
    """The batch goes back to Spark, which commits it."""

    point = "S7"
    text = "{stream} batch {batch} S7: returned to Spark"


class BatchCompared(BatchEvent):
    """Its range in the ledger was compared with what Spark says it has read."""

    point = "compared"
    text = "{stream} batch {batch}: the ledger has the range that Spark has read"


class BatchRefused(BatchEvent):
    """A batch was not written, or not into every sink."""

    level = logging.ERROR
    text = "{code} {what} {why} {how}"
    code: str
    what: str
    why: str
    how: str


class BatchWaits(Event):
    """The server of a sink is away, and the batch is tried again."""

    level = logging.WARNING
    text = "batch {batch} for {sink} waits, {seconds:.0f} s at most: {why}"
    sink: str
    batch: int
    seconds: float
    why: str
