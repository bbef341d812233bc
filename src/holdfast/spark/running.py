"""What the running query itself says of the batch it is in: the entry on disk may be another's."""

from __future__ import annotations

from typing import Any

from holdfast.checkpoint.text import parse_json
from holdfast.ledger.coverage import canonical, canonical_offset
from holdfast.spark.plan import iterate


class RunningQuery:
    """The query of one start. It is looked up once: every call into the JVM costs each batch time.

    A query that is started again is another object with the same id, and is not meant here.
    """

    def __init__(self, spark: Any, query_id: str) -> None:
        """Look for nothing yet: the query begins after the function that it calls was made."""
        self._spark = spark
        self._query_id = query_id
        self._query: Any = None

    def end_offsets(self) -> set[str] | None:
        """Return the end offsets of the batch that it is in, in canonical form.

        None when it does not run: it is being stopped.
        """
        if not self.is_active():
            return None
        offsets = self._query.availableOffsets().valuesIterator()
        return {canonical_offset(offset.json()) for offset in iterate(offsets)}

    def is_active(self) -> bool:
        """Return whether it runs and nobody has begun to stop it."""
        if self._query is None:
            found = self._spark._jsparkSession.streams().get(self._query_id)
            self._query = None if found is None else found.streamingQuery()
        return self._query is not None and bool(self._query.isActive())


def same_offsets(running: set[str], end_offsets: str) -> bool:
    """Return whether the entry on disk says what the running query does.

    A source that a plan names twice, as a join with itself does, is one source that has two lines
    in the entry: compared are the offsets that there are, not how often.
    """
    entry = parse_json(end_offsets)
    return isinstance(entry, dict) and set(map(canonical, entry.values())) == running
