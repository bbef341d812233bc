"""The Delta table of the streams: its rows and its ledger row, in whatever commits they are.

An `apply` that was killed behind its fence fences the table again, so it leaves one commit more.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import holdfast as hf
from campaigns.repair_kills.ledger_row import ledger_row


@dataclass(frozen=True, slots=True, kw_only=True)
class Lake:
    """One Delta table, and the session that reads it."""

    path: Path
    stream: str
    spark: SparkSession

    def forget(self) -> None:
        """Have Spark forget what the table was: a new process does not know it."""
        jvm: Any = self.spark._jvm  # noqa: SLF001
        jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()

    def rows(self) -> Counter[tuple[Any, ...]]:
        """Return every row of the table, as a new process reads it."""
        self.forget()
        table = self.spark.read.format("delta").load(str(self.path))
        return Counter(tuple(row.asDict().items()) for row in table.collect())

    def ledger(self) -> Counter[tuple[Any, ...]]:
        """Return the ledger row, without what each run has of its own."""
        return ledger_row(hf.Delta(path=str(self.path)), self.stream)
