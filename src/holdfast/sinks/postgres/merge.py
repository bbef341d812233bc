"""Rows by key: the newest one stays, whatever order they come in.

`sequence_by` says which of two rows with one key is newer. It is made a total order, so that the
outcome does not depend on how rows fall into batches: NULL is older than anything, and of two rows
with the same value the larger one stays, column by column, text by its bytes and NULL the largest;
Delta's sink compares the same way. Where a column is json, which has no order, a hash of the row's
text decides. A NULL key is refused:
PostgreSQL would keep every such row. Without `sequence_by` the later batch stays, and a key that
comes twice in one batch is refused, because nothing says which one is later.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.sinks.postgres.table import quote

if TYPE_CHECKING:
    import psycopg

    from holdfast.sinks.postgres.table import Target

STAGING = "holdfast_batch"


class UnmergeableRowsError(Exception):
    """Rows of a batch cannot be merged by their keys; nothing was committed."""


def stage(connection: psycopg.Connection[Any], target: Target) -> None:
    """Make a table of this transaction's own, which the batch is copied into."""
    connection.execute(
        f"CREATE TEMP TABLE {STAGING} ON COMMIT DROP AS"  # noqa: S608 - identifiers are quoted
        f" SELECT {target.column_list} FROM {target.name} WITH NO DATA".encode()
    )


def merge(connection: psycopg.Connection[Any], target: Target) -> None:
    """Bring the staged rows into the table.

    Raises:
        UnmergeableRowsError: A key is NULL, or comes twice and nothing orders its rows.
    """
    _refuse_null_keys(connection, target)
    if target.sequence_by is None:
        _refuse_doubled_keys(connection, target)
    connection.execute(merge_statement(target).encode())


def merge_statement(target: Target) -> str:
    """Return the statement that merges the staged rows."""
    keys = ", ".join(map(quote, target.keys))
    others = [column for column in target.columns if column not in target.keys]
    order = ""
    if target.sequence_by is not None:
        order = f", {quote(target.sequence_by)} DESC NULLS LAST, {_whole(STAGING, target)} DESC"
    changes = ", ".join(f"{quote(column)} = excluded.{quote(column)}" for column in others)
    action = f"DO UPDATE SET {changes}{_newer(target)}" if others else "DO NOTHING"
    return (
        f"INSERT INTO {target.name} AS target ({target.column_list})"  # noqa: S608 - quoted
        f" SELECT DISTINCT ON ({keys}) {target.column_list} FROM {STAGING}"
        f" ORDER BY {keys}{order} ON CONFLICT ({keys}) {action}"
    )


def _newer(target: Target) -> str:
    """Return the condition under which a row replaces the one that is there."""
    if target.sequence_by is None:
        return ""
    mine, theirs = (f"{side}.{quote(target.sequence_by)}" for side in ("excluded", "target"))
    pair = f"{_whole('excluded', target)}, {_whole('target', target)}"
    tie = f"record_gt({pair})" if target.is_ordered else f"text_gt({pair})"
    return (
        f" WHERE ({theirs} IS NULL AND {mine} IS NOT NULL) OR {mine} > {theirs}"
        f" OR ({mine} IS NOT DISTINCT FROM {theirs} AND {tie})"
    )


def _whole(side: str, target: Target) -> str:
    """Return an expression of the whole row that has an order, NULLs and all."""
    named = {column: f"{side}.{quote(column)}" for column in target.columns}
    if not target.is_ordered:
        return f"md5(ROW({', '.join(named.values())})::text)"
    ordered = (
        f'{name} COLLATE "C"' if column in target.texts else name for column, name in named.items()
    )
    return f"ROW({', '.join(ordered)})"


def _refuse_null_keys(connection: psycopg.Connection[Any], target: Target) -> None:
    condition = " OR ".join(f"{quote(key)} IS NULL" for key in target.keys)
    found = connection.execute(
        f"SELECT count(*) FROM {STAGING} WHERE {condition}".encode()  # noqa: S608 - quoted
    ).fetchone()
    if found and found[0]:
        raise UnmergeableRowsError(f"{found[0]:,} rows have a NULL in {', '.join(target.keys)}")


def _refuse_doubled_keys(connection: psycopg.Connection[Any], target: Target) -> None:
    keys = ", ".join(map(quote, target.keys))
    found = connection.execute(
        f"SELECT count(*) FROM (SELECT FROM {STAGING} GROUP BY {keys} HAVING count(*) > 1) d".encode()  # noqa: S608, E501 - quoted
    ).fetchone()
    if found and found[0]:
        raise UnmergeableRowsError(
            f"{found[0]:,} keys come twice in one batch, and without sequence_by nothing says"
            " which row is later"
        )
