"""Rows by key: the newest one stays, whatever order they come in.

As for PostgreSQL, so that two sinks of one stream keep the same row: `sequence_by` is made a total
order (NULL is older than anything; of two rows with the same value the larger one stays, column by
column, NULL the largest; of `-0.0` and `0.0`, which are equal, the latter; where a column has no
order, a hash decides), a NULL key is refused, and without `sequence_by` so is a key that comes
twice in one batch. All of it happens inside the one job that the MERGE runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


class MergeTarget(Protocol):
    """A table that rows are merged into by SQL."""

    @property
    def name(self) -> str:
        """As SQL takes it."""

    @property
    def keys(self) -> tuple[str, ...]:
        """By which rows are merged."""

    @property
    def sequence_by(self) -> str | None:
        """The column that says which of two rows is newer."""

    @property
    def is_ordered(self) -> bool:
        """Whether Spark can compare values of every column."""

    @property
    def is_loose(self) -> bool:
        """Whether rows with different bytes can be equal column by column."""

    @property
    def is_evolving(self) -> bool:
        """Whether columns are added that the table lacks."""


VIEW = "holdfast_batch"
_RANK = "__holdfast_rank"


def merge_source(batch: DataFrame, target: MergeTarget) -> DataFrame:
    """Return one row per key; running it fails on keys that cannot be merged."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    checked = batch
    for key in target.keys:
        fails = F.raise_error(F.lit(f"a row has a NULL in its key {key}"))
        known = F.when(F.col(_quote(key)).isNull(), fails).otherwise(F.col(_quote(key)))
        checked = checked.withColumn(key, known)
    by_key = Window.partitionBy(*(F.col(_quote(key)) for key in target.keys))
    if target.sequence_by is None:
        twice = F.raise_error(
            F.lit("a key comes twice in one batch, and without sequence_by nothing orders its rows")
        )
        count = F.count(F.lit(1)).over(by_key)
        ranked = checked.withColumn(_RANK, F.when(count > 1, twice).otherwise(F.lit(1)))
    else:
        newest = F.col(_quote(target.sequence_by)).desc_nulls_last()
        order = by_key.orderBy(newest, *_largest_first(batch, target))
        ranked = checked.withColumn(_RANK, F.row_number().over(order))
    return ranked.where(F.col(_RANK) == 1).drop(_RANK)


def merge_statement(columns: list[str], target: MergeTarget, *, view: str = VIEW) -> str:
    """Return the statement that merges the rows of the view."""
    same = " AND ".join(f"t.{_quote(key)} = s.{_quote(key)}" for key in target.keys)
    newer = ""
    if target.sequence_by is not None:
        mine, theirs = (f"{side}.{_quote(target.sequence_by)}" for side in "st")
        tie = (
            _is_larger(columns, is_loose=target.is_loose)
            if target.is_ordered
            else f"{_hash(columns, 's')} > {_hash(columns, 't')}"
        )
        newer = f" AND (({theirs} IS NULL AND {mine} IS NOT NULL) OR {mine} > {theirs}"
        newer += f" OR ({mine} <=> {theirs} AND {tie}))"
    changes, inserted = "*", "*"  # which adds columns that the table lacks, where that is asked for
    if not target.is_evolving:
        quoted = [_quote(column) for column in columns]
        changes = ", ".join(f"t.{column} = s.{column}" for column in quoted)
        values = ", ".join(f"s.{column}" for column in quoted)
        inserted = f"({', '.join(quoted)}) VALUES ({values})"
    return (
        f"MERGE INTO {target.name} t USING {view} s ON {same}"
        f" WHEN MATCHED{newer} THEN UPDATE SET {changes}"
        f" WHEN NOT MATCHED THEN INSERT {inserted}"
    )


def _largest_first(batch: DataFrame, target: MergeTarget) -> list[Column]:
    from pyspark.sql import functions as F

    if not target.is_ordered:
        return [F.expr(_hash(batch.columns)).desc()]
    order = [F.col(_quote(column)).desc_nulls_first() for column in batch.columns]
    return [*order, F.expr(_text(batch.columns)).desc()] if target.is_loose else order


def _is_larger(columns: list[str], *, is_loose: bool) -> str:
    """Return whether the row that comes is larger than the one there, by its first difference."""
    condition = f"{_text(columns, 's')} > {_text(columns, 't')}" if is_loose else "false"
    for column in reversed(columns):
        mine, theirs = f"s.{_quote(column)}", f"t.{_quote(column)}"
        larger = f"({mine} IS NULL AND {theirs} IS NOT NULL) OR {mine} > {theirs}"
        condition = f"(coalesce({larger}, false) OR ({mine} <=> {theirs} AND {condition}))"
    return condition


def _hash(columns: list[str], side: str | None = None) -> str:
    return f"md5({_text(columns, side)})"


def _text(columns: list[str], side: str | None = None) -> str:
    """Return the text of a row: `-0.0` and `0.0`, which are equal, differ in it."""
    prefix = f"{side}." if side else ""
    named = ", ".join(f"{prefix}{_quote(column)}" for column in columns)
    return f"to_json(struct({named}))"


def _quote(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
