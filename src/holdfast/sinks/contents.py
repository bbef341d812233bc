"""What a sink holds at one moment: its ledger row, and its rows as of the same moment."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from holdfast.ledger.row import LedgerRow
from holdfast.proof.row_hash import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

Change = Callable[[Any], Any]
"""From a DataFrame to another."""
BEYOND = "__holdfast_beyond"
"""A column that `rows` may have more: values that no column of the stream can hold, as JSON by the
name of their column. NULL in every row that the stream has given."""


def no_row(_: str) -> LedgerRow | None:
    """Return that the ledger has no row of any other stream."""
    return None


class SinkContents(msgspec.Struct, frozen=True, kw_only=True):
    """What a sink holds of a stream; to be compared with what it must hold."""

    row: LedgerRow | None
    """None when the ledger has none."""
    rows: DataFrame
    """A DataFrame of all rows of the table, with the columns that `comparable` gives."""
    newest: Change
    """From all rows that the stream has given to those that the sink keeps of them."""
    comparable: Change
    """From these to columns of the types that `rows` has."""
    ties: str = ""
    """Why the sink may keep another row than `newest` gives where two have one key and one order
    value; empty when it keeps the same."""
    row_of: Callable[[str], LedgerRow | None] = no_row
    """The ledger row of another stream, as of the same moment: a backfill of this one."""
    others: tuple[str, ...] = ()
    """Other streams that have written into the table, backfills among them."""


def newest_by_key(
    given: DataFrame,
    keys: Sequence[str],
    sequence_by: str,
    *,
    columns: Sequence[str],
    is_loose: bool = False,
) -> DataFrame:
    """Return one row per key: the newest; of several, the largest, column by column.

    Args:
        given: A DataFrame.
        keys: Its keys.
        sequence_by: The column that orders the rows of a key; NULL is the oldest.
        columns: In the order in which they are compared; NULL is the largest.
        is_loose: Whether columns compare equal that differ, so that the text of the row decides.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    largest = [F.col(quoted(column)).desc_nulls_first() for column in columns]
    if is_loose:
        largest.append(F.to_json(F.struct(*map(quoted, columns))).desc())
    newest_first = F.col(quoted(sequence_by)).desc_nulls_last()
    by_key = Window.partitionBy(*map(quoted, keys)).orderBy(newest_first, *largest)
    ranked = given.withColumn("__holdfast_rank", F.row_number().over(by_key))
    return ranked.where("__holdfast_rank = 1").drop("__holdfast_rank")


def nullable(schema: StructType) -> StructType:
    """Return a schema whose columns and elements may be NULL: in the table they can be."""
    text = schema.json().replace('"nullable":false', '"nullable":true')
    return type(schema).fromJson(json.loads(text.replace('Null":false', 'Null":true')))
