"""What the running query itself says of the batch it is in: the entry on disk may be another's."""

from __future__ import annotations

from typing import Any

from holdfast.checkpoint.text import parse_json
from holdfast.ledger.coverage import canonical, canonical_offset
from holdfast.spark.plan import each


def running_offsets(spark: Any, query_id: str) -> set[str] | None:
    """Return the end offsets of the batch that a query is in, in canonical form.

    None when the query is not found: it is being stopped.
    """
    query = spark._jsparkSession.streams().get(query_id)
    if query is None:
        return None
    offsets = query.streamingQuery().availableOffsets().values()
    return {canonical_offset(offset.json()) for offset in each(offsets)}


def is_running(spark: Any, query_id: str) -> bool:
    """Return whether a query runs and nobody has begun to stop it."""
    query = spark._jsparkSession.streams().get(query_id)
    return query is not None and bool(query.isActive())


def same_offsets(running: set[str], end_offsets: str) -> bool:
    """Return whether the entry on disk says what the running query does.

    A source that a plan names twice, as a join with itself does, is one source that has two lines
    in the entry: compared are the offsets that there are, not how often.
    """
    entry = parse_json(end_offsets)
    return isinstance(entry, dict) and set(map(canonical, entry.values())) == running
