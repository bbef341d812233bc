"""A ledger row before its first batch, and attempts that follow one another."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from holdfast.ids import BatchId, QueryId
from holdfast.ledger import NO_BATCH, Attempt, Binding, LedgerRow

HERE = Binding(query_id=QueryId("6f0c"), checkpoint="s3://lake/streams/readings")
ROW = LedgerRow(
    stream="readings",
    sink="readings",
    generation=1,
    epoch=1,
    nonce="n1",
    binding=HERE,
    last_batch=NO_BATCH,
    digest=None,
    end_offsets="{}",
)


def attempt(number: int, **changes: Any) -> Attempt:
    found = Attempt(
        stream="readings",
        sink="readings",
        generation=1,
        epoch=1,
        nonce="n1",
        binding=HERE,
        batch_id=BatchId(number),
        digest=f"d{number}",
        start_offsets="{}" if number == 0 else f"e{number - 1}",
        end_offsets=f"e{number}",
    )
    return replace(found, **changes)
