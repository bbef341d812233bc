"""A ledger row as JSON has it: in the commits of a Delta table, and in users' own sinks."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.checkpoint.text import whole_number
from holdfast.ids import BatchId, QueryId
from holdfast.ledger.row import Binding, LedgerRow

_TEXTS = ("stream", "sink", "nonce", "query_id", "checkpoint", "end_offsets")


def row_values(row: LedgerRow) -> dict[str, object]:
    """Return a row as JSON has it."""
    return {
        "stream": row.stream,
        "sink": row.sink,
        "generation": row.generation,
        "epoch": row.epoch,
        "nonce": row.nonce,
        "query_id": row.binding.query_id,
        "checkpoint": row.binding.checkpoint,
        "last_batch": row.last_batch,
        "digest": row.digest,
        "end_offsets": row.end_offsets,
    }


def row_from(values: Mapping[str, object]) -> LedgerRow | None:
    """Return the row that JSON has; None when it is not one."""
    numbers = [whole_number(values.get(name)) for name in ("generation", "epoch", "last_batch")]
    texts = [values.get(name) for name in _TEXTS]
    digest = values.get("digest")
    is_row = None not in numbers and all(isinstance(text, str) for text in texts)
    if not is_row or not isinstance(digest, str | None):
        return None
    generation, epoch, last_batch = (number or 0 for number in numbers)
    stream, sink, nonce, query_id, checkpoint, end_offsets = map(str, texts)
    return LedgerRow(
        stream=stream,
        sink=sink,
        generation=generation,
        epoch=epoch,
        nonce=nonce,
        binding=Binding(query_id=QueryId(query_id), checkpoint=checkpoint),
        last_batch=BatchId(last_batch),
        digest=digest,
        end_offsets=end_offsets,
    )
