"""Record batches as a task gets them: with a last column that is true in one row after all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa


def with_end(*batches: Any) -> Iterator[Any]:
    """Yield record batches with the row that says that nothing is missing."""
    for each in batches:
        yield marked(each, [False] * each.num_rows)
    nothing = pa.record_batch(
        [pa.nulls(1, field.type) for field in batches[0].schema], names=batches[0].schema.names
    )
    yield marked(nothing, [True])


def marked(batch: Any, ends: list[bool]) -> Any:
    """Return a record batch with the last column."""
    return pa.record_batch([*batch.columns, pa.array(ends)], names=[*batch.schema.names, "ends"])
