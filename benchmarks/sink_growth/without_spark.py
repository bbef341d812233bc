"""Batches that come from no Spark: their rows are made before, and handed to the writer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pyarrow as pa
from pyspark.sql.types import StructType

from benchmarks.sink_growth.growing import ROWS, GrowingSink
from holdfast.sinks import collect
from holdfast.sinks.postgres import large
from holdfast.sinks.sink import SinkSpec

VALUES = [(number, f"row {number}") for number in range(ROWS)]
_BUDGET = 1 << 30


@contextmanager
def handed_over() -> Iterator[None]:
    """Have writers take the rows of a batch as they are, instead of collecting them by Spark."""
    with ExitStack() as patched:
        for module, name, instead in (
            (collect, "collected", lambda batch, **_: nullcontext(iter(batch.batches))),
            (collect, "budget_of", lambda _: _BUDGET),
            (large, "is_large", lambda _: False),
        ):
            patched.enter_context(patch.object(module, name, instead))
        yield


class WithoutSpark(GrowingSink):
    """A sink whose writer needs no Spark: its history is written by that writer."""

    def __init__(self, sink: SinkSpec, schema: StructType, rows: pa.Table) -> None:
        """Open the ledger row of a stream.

        Args:
            sink: As a user writes it.
            schema: Of the stream.
            rows: Of each batch.
        """
        self._rows = rows
        self.behind = 0
        super().__init__(sink, SimpleNamespace(schema=schema, sparkSession=None))

    def batch(self) -> Any:
        """Return the rows of a batch, as Spark would send them."""
        schema = self._frame.schema
        return SimpleNamespace(batches=self._rows.to_batches(), sparkSession=None, schema=schema)

    def write(self) -> float:
        """Write one batch with its ledger row; return the seconds."""
        self.behind += 1
        return super().write()

    def grow(self, size: int) -> None:
        """Write batches until there are so many."""
        while self.behind < size:
            self.write()
