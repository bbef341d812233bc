"""One batch for several sinks: the same rows for each, also when it is run again.

A plan that only picks and filters rows gives the same ones every time; such a batch is kept in
memory for its sinks, and computed again after a kill. Any other may come out differently: a lookup
in a table that changed, a random number, an order that nobody promised. That one is written down
first, and every sink gets what was written down.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from holdfast.points import reached
from holdfast.record.batches import (
    JournalledBatch,
    forget_before,
    keep_journalled,
    read_journalled,
    rows_path,
)
from holdfast.storage.location import spark_location
from holdfast.streams.plan import SOURCES, analysed, each, kind_of

if TYPE_CHECKING:
    from holdfast.ledger.row import Attempt
    from holdfast.storage.write import Writer

_PICKING = ("Project", "Filter", "EventTimeWatermark", "SubqueryAlias", "Union", "Generate")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """The rows of a batch, as every sink gets them."""

    frame: Any
    was_run: bool
    """Whether the batch itself has been run for them; else its state has not been written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Journal:
    """Gives the rows of a batch to several sinks."""

    record: Writer
    is_needed: bool
    """Whether rows have to be written down first."""

    @contextmanager
    def rows(self, batch: Any, attempt: Attempt) -> Iterator[Rows]:
        """Give the rows of a batch, the same as when it was run before."""
        if not self.is_needed:
            batch.persist()
            try:
                yield Rows(frame=batch, was_run=True)
            finally:
                batch.unpersist()
            return
        forget_before(self.record, attempt.generation, attempt.batch_id)
        found = self._read(attempt)
        was_run = found is None
        if found is None:
            found = self._write(batch, attempt)
        where = spark_location(self.record.location.join(found.rows))
        frame = batch.sparkSession.read.schema(batch.schema).parquet(where)
        yield Rows(frame=frame, was_run=was_run)

    def _read(self, attempt: Attempt) -> JournalledBatch | None:
        return read_journalled(
            self.record, attempt.generation, attempt.batch_id, digest=attempt.digest
        )

    def _write(self, batch: Any, attempt: Attempt) -> JournalledBatch:
        path = rows_path(attempt.generation, attempt.batch_id, epoch=attempt.epoch)
        where = spark_location(self.record.location.join(path))
        batch.write.mode("overwrite").parquet(where)
        mine = JournalledBatch(
            generation=attempt.generation,
            batch=attempt.batch_id,
            digest=attempt.digest,
            rows=path,
        )
        is_mine = keep_journalled(self.record, mine)
        reached("journalled")
        found = mine if is_mine else self._read(attempt)
        assert found is not None
        return found


def is_repeatable(df: Any) -> bool:
    """Return whether a streaming query gives the same rows whenever a batch is run again.

    Proven only for plans that pick and filter what their streams bring, without functions of the
    user's own: everything else may depend on order, on a table that changes, or on chance.
    """
    return _is_repeatable(analysed(df))


def _is_repeatable(node: Any) -> bool:
    kind = kind_of(node)
    if kind in SOURCES:
        return True
    if kind not in _PICKING or not node.deterministic():
        return False
    if any(_has_udf(expression) for expression in each(node.expressions())):
        return False
    return all(_is_repeatable(child) for child in each(node.children()))


def _has_udf(expression: Any) -> bool:
    return "UDF" in kind_of(expression) or any(map(_has_udf, each(expression.children())))
