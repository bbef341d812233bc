"""Compares two tables as multisets of rows, as Spark jobs, and finds the rows that differ.

Rows are compared by a 128-bit hash of all their columns. The first job scans both sides once and
adds up the hashes per bucket, without moving rows between executors; when all sums are equal, so
are the tables. Only the rows of buckets that differ are then grouped by their hash and counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from holdfast.errors import ConfigError
from holdfast.proof.examples import MOST_EXAMPLES, Copies, make_examples
from holdfast.proof.row_hash import SALTS, quoted, row_hash, unhashable
from holdfast.proof.settings import with_settings
from holdfast.proof.values import Comparison, CounterExample

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructField

BUCKETS = 4096
_FAULTS = ("altered", "lost", "duplicated", "unexpected")
_LOW_HALF = 0xFFFFFFFF
_QUICK = {"spark.sql.constraintPropagation.enabled": "false"}
"""Spark derives what holds of every column from every other one: minutes for wide rows."""
COORDINATES = ("topic", "partition", "offset")
"""The columns of Kafka's source that name a record."""


def prove_tables(expected: DataFrame, found: DataFrame, *, keys: Sequence[str] = ()) -> Comparison:
    """Compare what a table must hold with what it holds, row by row, duplicates counted.

    Args:
        expected: The rows that must be there.
        found: The rows that are there; columns that `expected` does not have are ignored.
        keys: Columns that name a row, so that a row with other values is one altered row, and not
            one that is lost and one that is unexpected. A second row of the same keys is a
            duplicate, whatever its other values. By default Kafka's coordinates, where the rows
            have `partition` and `offset`; several rows may come from one record.

    Raises:
        ConfigError: The columns are not the same, or cannot be compared.
    """
    _check_columns(expected, found, keys)
    sides = _Sides(
        expected=expected,
        found=found.select(*map(quoted, expected.columns)),
        by=tuple(keys) or coordinates(expected.columns),
        is_unique=bool(keys),
    )
    with with_settings(expected.sparkSession, _QUICK):
        return sides.compare()


def coordinates(columns: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that say where in a topic a row came from; none without them."""
    names = tuple(name for name in COORDINATES if name in columns)
    return names if {"partition", "offset"} <= set(names) else ()


def _check_columns(expected: DataFrame, found: DataFrame, keys: Sequence[str]) -> None:
    there = {field.name: field.dataType for field in found.schema}
    for field_ in expected.schema:
        kind = there.get(field_.name)
        if kind is None:
            raise ConfigError(f"The table has no column {field_.name}.")
        if kind != field_.dataType and kind.simpleString() != field_.dataType.simpleString():
            shown = f"{kind.simpleString()}, and must be {field_.dataType.simpleString()}"
            raise ConfigError(f"The column {field_.name} of the table is {shown}.")
    if names := unhashable(expected):
        raise ConfigError(f"Values of the column {names[0]} cannot be compared: drop it first.")
    if unknown := [key for key in keys if key not in there]:
        raise ConfigError(f"The table has no column {unknown[0]}.")


class _Sides(msgspec.Struct, frozen=True, kw_only=True):
    expected: DataFrame
    found: DataFrame
    """With the columns of the other, in its order."""
    by: tuple[str, ...]
    """The columns that name a row; none when only the whole row does."""
    is_unique: bool
    """Whether a second row of one name is a duplicate, whatever its other columns hold."""

    def compare(self) -> Comparison:
        from pyspark.sql import functions as F

        sums = self._sums().collect()
        expected, found = (sum(row[name] for row in sums) for name in ("wanted", "there"))
        differing = [row.bucket for row in sums if not row.is_same]
        if not differing:
            return Comparison(expected=expected, found=found)
        counted = self._counted(differing).persist()
        try:
            total = counted.agg(*(F.sum(name).alias(name) for name in _FAULTS)).collect()[0]
            some = counted.orderBy(*(F.desc(name) for name in _FAULTS), "id").limit(MOST_EXAMPLES)
            identities = [row.id for row in some.collect()]
        finally:
            counted.unpersist()
        return Comparison(
            expected=expected,
            found=found,
            examples=self._examples(identities),
            **{name: int(total[name]) for name in _FAULTS},
        )

    def _sums(self) -> DataFrame:
        """Return, per bucket, how many rows each side has and whether their hashes add up."""
        from pyspark.sql import functions as F

        halves = [
            (_half(f"hash{number}", half) * F.col("side")).alias(f"{half}{number}")
            for number in range(len(SALTS))
            for half in ("low", "high")
        ]
        names = [f"{half}{number}" for number in range(len(SALTS)) for half in ("low", "high")]
        grouped = self._hashed().select("bucket", "side", *halves).groupBy("bucket")
        sums = grouped.agg(*_counts(), *(F.sum(name).alias(name) for name in names))
        same = F.col("wanted") == F.col("there")
        for name in names:
            same &= F.col(name) == 0
        return sums.select("bucket", "wanted", "there", same.alias("is_same"))

    def _counted(self, buckets: list[int]) -> DataFrame:
        """Return the faults per row, that is per identity, of those that have any."""
        from pyspark.sql import functions as F

        rows = self._hashed()
        if len(buckets) < BUCKETS // 4:
            rows = rows.where(F.col("bucket").isin(buckets))
        counts = rows.groupBy("hash0", "hash1").agg(*_counts(), F.first("id").alias("id"))
        return _faults(counts, is_unique=self.is_unique)

    def _hashed(self) -> DataFrame:
        """Return the hash, bucket and identity of every row, and its side as 1 or -1."""
        from pyspark.sql import functions as F

        sides = []
        for df, side in ((self.expected, 1), (self.found, -1)):
            hashes = (hashed.alias(f"hash{at}") for at, hashed in enumerate(self._hashes(df)))
            rows = df.select(*hashes, self._identity(df).alias("id"))
            # By the identity: all rows of one are in one bucket.
            bucket = F.col("id").bitwiseAND(BUCKETS - 1).cast("int").alias("bucket")
            sides.append(rows.select("*", bucket, F.lit(side).cast("long").alias("side")))
        return sides[0].union(sides[1])

    def _hashes(self, df: DataFrame) -> list[Column]:
        return [row_hash(df, self.expected.columns, salt=salt) for salt in SALTS]

    def _identity(self, df: DataFrame) -> Column:
        return row_hash(df, self.by or self.expected.columns, salt=SALTS[0])

    def _examples(self, identities: list[int]) -> tuple[CounterExample, ...]:
        """Return what is wrong with the rows of some identities."""
        found = [self._copies(df, identities) for df in (self.expected, self.found)]
        return make_examples(*found, is_unique=self.is_unique)

    def _copies(self, df: DataFrame, identities: list[int]) -> list[Copies]:
        """Return the rows of some identities, and how often each is there."""
        from pyspark.sql import functions as F

        hashes = F.concat_ws(" ", *(hashed.cast("string") for hashed in self._hashes(df)))
        named = df.select(
            self._identity(df).alias("id"),
            hashes.alias("hash"),
            F.struct(*map(_showable, df.schema)).alias("row"),
        ).where(F.col("id").isin(identities))
        counted = named.groupBy("id", "hash").agg(F.first("row"), F.count("*"))
        return [
            Copies(identity=of, hash=hashed, row=row.asDict(recursive=True), count=count)
            for of, hashed, row, count in counted.collect()
        ]


def _showable(field: StructField) -> Column:
    """Return a column for people; dates and times as text, because Python has not all of them."""
    from pyspark.sql import functions as F

    column, kind = F.col(quoted(field.name)), field.dataType.simpleString()
    has_time = "date" in kind or "timestamp" in kind
    return (column.cast("string") if has_time else column).alias(field.name)


def _counts() -> tuple[Column, Column]:
    from pyspark.sql import functions as F

    is_expected = F.col("side") > 0
    return (
        F.sum(F.when(is_expected, 1).otherwise(0)).alias("wanted"),
        F.sum(F.when(is_expected, 0).otherwise(1)).alias("there"),
    )


def _faults(counts: DataFrame, *, is_unique: bool) -> DataFrame:
    """Return the faults per identity that has any, from the counts per hash."""
    from pyspark.sql import functions as F

    missing = F.greatest(F.col("wanted") - F.col("there"), F.lit(0))
    surplus = F.greatest(F.col("there") - F.col("wanted"), F.lit(0))
    belongs = F.col("wanted") > 0
    grouped = counts.groupBy("id").agg(
        F.sum("wanted").alias("named"),
        F.sum(missing).alias("missing"),
        F.sum(F.when(belongs, surplus).otherwise(0)).alias("repeated"),
        F.sum(F.when(belongs, 0).otherwise(surplus)).alias("foreign"),
    )
    altered = F.least("missing", "foreign")
    more = F.col("foreign") - altered
    is_second = (F.col("named") > 0) if is_unique else F.lit(False)
    found = grouped.select(
        "id",
        altered.alias("altered"),
        (F.col("missing") - altered).alias("lost"),
        (F.col("repeated") + F.when(is_second, more).otherwise(0)).alias("duplicated"),
        F.when(is_second, 0).otherwise(more).alias("unexpected"),
    )
    return found.where(" + ".join(_FAULTS) + " > 0")


def _half(name: str, half: str) -> Column:
    """Return 32 of 64 bits as a number, so that 2,000 million of them can be added up."""
    from pyspark.sql import functions as F

    column = F.col(name)
    return column.bitwiseAND(F.lit(_LOW_HALF)) if half == "low" else F.shiftright(column, 32)
