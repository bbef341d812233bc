"""What a sink's ledger holds, and what a driver brings to it: values, the same in every sink."""

from __future__ import annotations

from dataclasses import dataclass, replace

from holdfast.ids import BatchId, QueryId

NO_BATCH = BatchId(-1)
"""`last_batch` of a row before its first batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """Which checkpoint a ledger row belongs to."""

    query_id: QueryId
    checkpoint: str
    """Its location, normalised: `s3://` and `s3a://` are one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerRow:
    """What has really arrived of one stream in one sink; written with the data in one step."""

    stream: str
    sink: str
    generation: int
    epoch: int
    """Fencing token of the driver that may write."""
    nonce: str
    """That driver's, so that a row brought back from a backup is told apart."""
    binding: Binding
    last_batch: BatchId
    digest: str | None
    """Of the last batch; None before the first."""
    end_offsets: str
    """Where the last batch ended, as canonical JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One batch that a driver wants to write."""

    stream: str
    sink: str
    generation: int
    epoch: int
    nonce: str
    binding: Binding
    batch_id: BatchId
    digest: str
    start_offsets: str
    end_offsets: str


def advance(row: LedgerRow, attempt: Attempt) -> LedgerRow:
    """Return the row after the attempt has been applied."""
    return replace(
        row,
        last_batch=attempt.batch_id,
        digest=attempt.digest,
        end_offsets=attempt.end_offsets,
    )
