"""The ledger row of a stream, as two runs of one plan must have it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec

from holdfast.ledger.row import LedgerRow
from holdfast.plan.steps import row_value
from holdfast.sinks.sink import SinkSpec

OF_ONE_RUN = ("epoch", "nonce")


def ledger_row(sink: SinkSpec, stream: str) -> Counter[tuple[Any, ...]]:
    """Return the row without what each run has of its own."""
    ledger = sink.open_ledger(None, options={})
    assert ledger is not None
    found = ledger.read(stream)
    ledger.close()
    assert isinstance(found, LedgerRow), found
    value = {"stream": stream, **msgspec.structs.asdict(row_value(found))}
    return Counter([tuple(each for each in value.items() if each[0] not in OF_ONE_RUN)])
