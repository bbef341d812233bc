"""What is in the state: rows by operator and partition, how they grew, and the rows asked for."""

from __future__ import annotations

from collections import Counter

import msgspec

from holdfast.checkpoint.state import Operator, Store
from holdfast.checkpoint.state.live_rows import LiveRow
from holdfast.checkpoint.state.row_codec import RowCodec
from holdfast.checkpoint.state.scan import StoreScan
from holdfast.checkpoint.state.unsafe_row import Fields, NotDecoded
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.evidence.state_keys import KeyCondition

_SKEWED, _SKEWED_OF_FEW = 2.0, 0.8
_FEWEST_ROWS = 100
"""Of fewer rows, how they are spread says nothing."""


class StateQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of the state."""

    operator: int | None = None
    partition: int | None = None
    conditions: tuple[KeyCondition, ...] = ()
    """All must hold for a key."""
    most: int = 5
    """So many rows of each store are decoded."""


class PartitionRows(msgspec.Struct, frozen=True, kw_only=True):
    """One store in one partition."""

    store: Store
    scan: StoreScan


class Growth(msgspec.Struct, frozen=True, kw_only=True):
    """One version of all partitions together."""

    version: int
    rows: int | None
    """None when the rows of a partition are not known at this version."""
    size_bytes: int


class OperatorRows(msgspec.Struct, frozen=True, kw_only=True):
    """One store of an operator, in all partitions."""

    operator: Operator
    store: str
    codec: RowCodec | NotDecoded
    partitions: tuple[PartitionRows, ...]
    unknown_keys: int = 0
    """Keys that were not decoded, so that it is not known whether they are the ones asked for."""

    @property
    def counted(self) -> dict[int, int]:
        """The rows of each partition that could be counted."""
        found = {each.store.partition: each.scan.rows for each in self.partitions}
        return {number: rows for number, rows in found.items() if isinstance(rows, int)}

    @property
    def is_counted(self) -> bool:
        """Whether every partition could be counted."""
        return len(self.counted) == len(self.partitions)

    @property
    def rows(self) -> int:
        """Rows that were counted."""
        return sum(self.counted.values())

    @property
    def size_bytes(self) -> int:
        """Of all files, of every version that is kept."""
        return sum(each.store.size_bytes for each in self.partitions)

    @property
    def largest(self) -> tuple[int, float] | None:
        """The partition with the most rows and its share; None without rows."""
        if not self.rows:
            return None
        number = max(self.counted, key=lambda each: (self.counted[each], -each))
        return number, self.counted[number] / self.rows

    @property
    def is_skewed(self) -> bool:
        """Whether one partition has far more rows than its share."""
        found = self.largest
        if found is None or len(self.counted) < 2 or self.rows < _FEWEST_ROWS:
            return False
        return found[1] >= min(_SKEWED / len(self.counted), _SKEWED_OF_FEW)

    @property
    def growth(self) -> tuple[Growth, ...]:
        """Every version that a partition still has, oldest first."""
        rows: Counter[int] = Counter()
        sizes: Counter[int] = Counter()
        known: Counter[int] = Counter()
        for each in self.partitions:
            for found in each.scan.versions:
                sizes[found.version] += found.size_bytes
                rows[found.version] += found.rows or 0
                known[found.version] += found.rows is not None
        return tuple(
            Growth(
                version=version,
                rows=rows[version] if known[version] == len(self.partitions) else None,
                size_bytes=sizes[version],
            )
            for version in sorted(sizes)
        )


class FoundRow(msgspec.Struct, frozen=True, kw_only=True):
    """One row, decoded."""

    operator_id: int
    operator: str | None
    store: str
    partition: int
    key: Fields | NotDecoded
    value: Fields | NotDecoded
    since: int | None
    """The version from which on it has been there; None of an example."""
    is_older: bool
    """Whether it may have been there before that."""
    key_bytes: int
    value_bytes: int


class StateRows(msgspec.Struct, frozen=True, kw_only=True):
    """What is in the state."""

    version: int
    question: StateQuestion
    stores: tuple[OperatorRows, ...]
    """By operator and name of the store."""
    absent: tuple[str, ...]
    """Directories of stores that must be there and are not."""

    @property
    def rows(self) -> int:
        """Rows that were counted."""
        return sum(each.rows for each in self.stores)

    @property
    def uncounted(self) -> tuple[PartitionRows, ...]:
        """Where the rows are not known."""
        parts = (part for each in self.stores for part in each.partitions)
        return tuple(part for part in parts if not isinstance(part.scan.rows, int))

    @property
    def matching(self) -> int:
        """Rows that have the key."""
        searched = (each for each in self.stores if not isinstance(each.codec, NotDecoded))
        return sum(part.scan.matching for each in searched for part in each.partitions)

    @property
    def unsearched(self) -> tuple[PartitionRows, ...]:
        """Where the key was not looked for."""
        return tuple(
            part
            for each in self.stores
            for part in each.partitions
            if isinstance(each.codec, NotDecoded) or each.unknown_keys or not part.scan.is_searched
        )

    @property
    def damaged(self) -> tuple[Unparsed, ...]:
        """Files that could not be used."""
        parts = (part for each in self.stores for part in each.partitions)
        return tuple(found for part in parts for found in part.scan.damaged)

    @property
    def found(self) -> tuple[FoundRow, ...]:
        """The rows that were asked for, or examples."""
        return tuple(
            _decode(each, part, row, is_asked=bool(self.question.conditions))
            for each in self.stores
            for part in each.partitions
            for row in part.scan.kept
        )


def _decode(of: OperatorRows, part: PartitionRows, row: LiveRow, *, is_asked: bool) -> FoundRow:
    codec = of.codec
    nothing = NotDecoded("a part of a value")
    return FoundRow(
        operator_id=of.operator.operator_id,
        operator=of.operator.name,
        store=of.store,
        partition=part.store.partition,
        key=codec if isinstance(codec, NotDecoded) else codec.key(row.key),
        value=nothing
        if row.value is None or isinstance(codec, NotDecoded)
        else codec.value(row.value),
        since=row.since if is_asked else None,
        is_older=row.is_older,
        key_bytes=len(row.key),
        value_bytes=len(row.value or b""),
    )
