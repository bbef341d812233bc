"""The batches of a stream that never ran, as the guard would hand them to a sink."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from holdfast.ids import BatchId, QueryId
from holdfast.ledger import NO_BATCH, Attempt, Binding, LedgerRow

NONCE = "n1"
FORGET_TABLE = "UPDATE holdfast.ledger SET target = NULL"
"""After TRUNCATE between two turns: the table counts as new, and takes the next batch."""


def new_row(stream: str, sink: str) -> LedgerRow:
    """Return the ledger row of a stream before its first batch, not fenced yet."""
    return LedgerRow(
        stream=stream,
        sink=sink,
        generation=1,
        epoch=0,
        nonce="",
        binding=Binding(query_id=QueryId(f"id of {stream}"), checkpoint=f"s3://lake/{stream}"),
        last_batch=NO_BATCH,
        digest=None,
        end_offsets="{}",
    )


def attempts(row: LedgerRow) -> Iterator[Attempt]:
    """Yield batches that follow one another, of the first driver that fenced the row."""
    for number in itertools.count():
        yield Attempt(
            stream=row.stream,
            sink=row.sink,
            generation=row.generation,
            epoch=1,
            nonce=NONCE,
            binding=row.binding,
            batch_id=BatchId(number),
            digest=f"{number:064x}",
            start_offsets="{}" if number == 0 else f'{{"0":{number}}}',
            end_offsets=f'{{"0":{number + 1}}}',
        )
