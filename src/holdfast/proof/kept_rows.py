"""What a table may rightly hold where rows do not decide it: which duplicate, which digits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from holdfast.proof.row_hash import SALTS, quoted, row_hash

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

CLOSE = 1e-9
"""Floats that differ by less than this part of them count as equal where their order matters."""
_RANK, _FOUND = "__holdfast_rank", "__holdfast_found"


def choose_kept(candidates: DataFrame, found: DataFrame, *, keys: Sequence[str]) -> DataFrame:
    """Return one row per key: the one that the table holds, if it is one of the candidates.

    Args:
        candidates: Every row of which one is kept per key.
        found: What the table holds; columns that `candidates` does not have are ignored.
        keys: The columns that name a row.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    names = [f"__holdfast_hash{at}" for at in range(len(SALTS))]

    def hashed(df: DataFrame) -> list[Column]:
        columns = candidates.columns
        return [
            row_hash(df, columns, salt=salt).alias(name)
            for name, salt in zip(names, SALTS, strict=True)
        ]

    there = found.select(*hashed(found)).distinct().withColumn(_FOUND, F.lit(1))
    marked = candidates.select("*", *hashed(candidates)).join(there, names, "left")
    order = [F.col(_FOUND).desc_nulls_last(), *map(F.col, names)]
    by_key = Window.partitionBy(*map(quoted, keys)).orderBy(*order)
    first = marked.withColumn(_RANK, F.row_number().over(by_key)).where(F.col(_RANK) == 1)
    return first.select(*map(quoted, candidates.columns))


def with_keys(df: DataFrame, others: DataFrame, *, keys: Sequence[str]) -> DataFrame:
    """Return the rows whose keys are among others; NULL is a key like any other."""
    return _by_keys(df, others, keys=keys, how="left_semi")


def without_keys(df: DataFrame, others: DataFrame, *, keys: Sequence[str]) -> DataFrame:
    """Return the rows whose keys are not among others; NULL is a key like any other."""
    return _by_keys(df, others, keys=keys, how="left_anti")


def _by_keys(df: DataFrame, others: DataFrame, *, keys: Sequence[str], how: str) -> DataFrame:
    names = [f"__holdfast_key{at}" for at in range(len(keys))]
    known = others.select(*map(quoted, keys)).toDF(*names).distinct()
    same = [df[quoted(key)].eqNullSafe(known[name]) for key, name in zip(keys, names, strict=True)]
    return df.join(known, same, how)


def as_found_where_close(
    expected: DataFrame, found: DataFrame, *, keys: Sequence[str], columns: dict[str, float]
) -> DataFrame:
    """Return expected rows with the table's own floats where they differ by their order alone.

    Args:
        expected: One row per key.
        found: What the table holds.
        keys: The columns that name a row.
        columns: Floats, and by which part of them they may differ; 0 where only the sign of zero
            may be another.
    """
    from pyspark.sql import functions as F

    if not columns:
        return expected
    names = {name: f"__holdfast_there{at}" for at, name in enumerate(columns)}
    ids = [f"__holdfast_key{at}" for at in range(len(keys))]
    there = found.select(
        *(F.col(quoted(key)).alias(of) for key, of in zip(keys, ids, strict=True)),
        *(F.col(quoted(name)).alias(of) for name, of in names.items()),
    ).dropDuplicates(ids)
    same = [expected[quoted(key)].eqNullSafe(there[of]) for key, of in zip(keys, ids, strict=True)]
    joined = expected.join(there, same, "left")

    def value(name: str) -> Any:
        wanted = expected[quoted(name)]
        if name not in columns:
            return wanted
        other = there[names[name]]
        largest = F.greatest(F.abs(wanted), F.abs(other))
        is_close = (wanted == other) | (F.abs(wanted - other) <= largest * columns[name])
        return F.when(is_close, other).otherwise(wanted).alias(name)

    return joined.select(*map(value, expected.columns))
