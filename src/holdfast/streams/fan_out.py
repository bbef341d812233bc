"""One batch for several sinks: the same rows for each, also when it is run again.

A plan that is proven to give the same rows every time (`repeatable`) is only kept in memory for its
sinks, and computed again after a kill. Any other batch is materialised to Parquet in the record
first, and every sink gets the materialised rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec

from holdfast.errors import HoldfastError
from holdfast.events import emit
from holdfast.events.batches import Spooled, fields_of
from holdfast.record.batches import (
    JournalledBatch,
    forget_before,
    keep_journalled,
    read_journalled,
    rows_path,
)
from holdfast.spark.exact_parquet import read_exactly, write_exactly
from holdfast.storage.location import spark_location

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from holdfast.ledger.row import Attempt
    from holdfast.storage.write import Writer


class Rows(msgspec.Struct, frozen=True, kw_only=True):
    """The rows of a batch, as every sink gets them."""

    frame: DataFrame
    was_run: bool
    """Whether the batch itself has been run for them; else its state has not been written."""


class OtherColumnsError(HoldfastError):
    """A batch was materialised by a query with other columns; no sink got anything of it now."""

    code = "OTHER_COLUMNS"

    def __init__(self, stream: str, batch_id: int, *, kept: str, brought: str) -> None:
        super().__init__(
            what=f"Batch {batch_id} of {stream} was not written.",
            why=f"An earlier run materialised it with the columns {kept}; this one has {brought}.",
            how="Start the query as it was until this batch is done, and then the changed one.",
        )


class BatchSpool(msgspec.Struct, frozen=True, kw_only=True):
    """Gives the rows of a batch to several sinks."""

    record: Writer
    is_needed: bool
    """Whether every batch is materialised first."""
    first_batch: int
    """The first batch of this run: an earlier run may have materialised it."""

    @contextmanager
    def rows(self, batch: DataFrame, attempt: Attempt) -> Iterator[Rows]:
        """Give the rows of a batch, the same as when it was run before."""
        is_first = attempt.batch_id == self.first_batch
        found: JournalledBatch | None = None
        if self.is_needed or is_first:
            forget_before(self.record, attempt.generation, attempt.batch_id)
            found = self._read(attempt)
        was_run = found is None
        if found is None and self.is_needed:
            found = self._write(batch, attempt)
        if found is None:
            batch.persist()
            try:
                yield Rows(frame=batch, was_run=True)
            finally:
                batch.unpersist()
            return
        where = spark_location(self.record.location.join(found.rows))
        if not was_run:
            _check_columns(batch, where, attempt)
        frame = read_exactly(batch.sparkSession, where, batch.schema)
        yield Rows(frame=frame, was_run=was_run)

    def _read(self, attempt: Attempt) -> JournalledBatch | None:
        return read_journalled(
            self.record,
            attempt.generation,
            attempt.batch_id,
            digest=attempt.digest,
            epoch=attempt.epoch,
        )

    def _write(self, batch: DataFrame, attempt: Attempt) -> JournalledBatch:
        path = rows_path(attempt.generation, attempt.batch_id, epoch=attempt.epoch)
        where = spark_location(self.record.location.join(path))
        write_exactly(batch, where)
        mine = JournalledBatch(
            generation=attempt.generation,
            batch=attempt.batch_id,
            digest=attempt.digest,
            rows=path,
        )
        is_mine = keep_journalled(self.record, mine)
        emit(Spooled(**fields_of(attempt)))
        found = mine if is_mine else self._read(attempt)
        assert found is not None
        return found


def _check_columns(batch: DataFrame, where: str, attempt: Attempt) -> None:
    """Refuse rows of another query: a column that they lack would be read as NULL."""
    kept = read_exactly(batch.sparkSession, where).schema
    before, now = (
        {field.name: field.dataType.simpleString() for field in schema}
        for schema in (kept, batch.schema)
    )
    if before != now:
        shown = [
            ", ".join(f"{name} {kind}" for name, kind in each.items()) for each in (before, now)
        ]
        raise OtherColumnsError(attempt.stream, attempt.batch_id, kept=shown[0], brought=shown[1])
