"""Rows by key: the newest one stays, whatever order they come in.

`sequence_by` says which of two rows with one key is newer. It is made a total order, so that the
outcome does not depend on how rows fall into batches: NULL is older than anything, and of two rows
with the same value the larger one stays, column by column, text by its bytes and NULL the largest;
Delta's sink compares the same way. Rows that are equal and yet differ in their bytes (`-0.0` and
`0.0`) are ordered by their text. Where a column is json, which has no order, a hash of the row's
text decides. Which keys are equal is said by the unique index, inside a batch as across batches;
where equal keys can differ in their bytes, the row that stays brings its key along. A NULL key is
refused: PostgreSQL would keep every such row. Without `sequence_by` the later batch stays, and a
key that comes twice in one batch is refused, because nothing says which one is later.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.sinks.failures import UnmergeableRowsError
from holdfast.sinks.postgres.failures import DroppedRowsError
from holdfast.sinks.postgres.target import quote

if TYPE_CHECKING:
    import psycopg

    from holdfast.sinks.postgres.target import Target

_BATCH = "holdfast_batch"
STAGING = f"pg_temp.{_BATCH}"
"""With its schema: a table of that name elsewhere in the `search_path` is another."""
_DROPPING_TRIGGERS = """\
SELECT count(*) FROM pg_trigger g WHERE NOT g.tgisinternal AND g.tgenabled <> 'D'
    AND g.tgtype & 3 = 3 AND g.tgrelid IN (SELECT to_regclass(%s)
        UNION ALL SELECT relid FROM pg_partition_tree(to_regclass(%s)))"""
"""BEFORE triggers that see each row."""


def stage(connection: psycopg.Connection, target: Target) -> None:
    """Make a table of this transaction's own, which the batch is copied into."""
    connection.execute(
        f"CREATE TEMP TABLE {_BATCH} ON COMMIT DROP AS"  # noqa: S608 - identifiers are quoted
        f" SELECT {target.column_list} FROM {target.name} WITH NO DATA".encode()
    )


def merge(connection: psycopg.Connection, target: Target, *, has_triggers: bool) -> int:
    """Bring the staged rows into the table; return how many of them it did not have before.

    Args:
        connection: Inside the transaction that has staged them.
        target: The table.
        has_triggers: Whether triggers of the table can drop rows, so that it is looked for them.

    Raises:
        UnmergeableRowsError: A key is NULL, or comes twice and nothing orders its rows.
        DroppedRowsError: A trigger dropped rows.
    """
    _refuse_null_keys(connection, target)
    if target.sequence_by is None:
        _refuse_duplicate_keys(connection, target)
    can_drop = has_triggers and _count(connection, _DROPPING_TRIGGERS, target.name)
    # A partition is locked only from the merge on: it can get a trigger until then.
    due = _count_due(connection, target) if can_drop or target.is_partitioned else 0
    added, changed = _merge(connection, target)
    if changed < due:
        raise DroppedRowsError(target.display_name, due - changed)
    return added


def _merge(connection: psycopg.Connection, target: Target) -> tuple[int, int]:
    """Return how many rows were inserted, and how many inserted or updated."""
    statement = merge_statement(target)
    if target.is_partitioned:
        # PostgreSQL does not tell there which rows of the statement were new ones.
        added = _count_new_keys(connection, target)
        return added, connection.execute(statement.encode()).rowcount
    found = connection.execute(
        f"WITH merged AS ({statement} RETURNING xmax = 0 AS is_new)"  # noqa: S608 - quoted
        " SELECT count(*) FILTER (WHERE is_new), count(*) FROM merged".encode()
    ).fetchone()
    return (int(found[0]), int(found[1])) if found else (0, 0)


def merge_statement(target: Target) -> str:
    """Return the statement that merges the staged rows."""
    equal = ", ".join(key.equal() for key in target.merged_by)
    conflict = ", ".join(key.conflict for key in target.merged_by)
    # Of two values that are equal and differ in their bytes, the newer row's is kept.
    exact = {key.name for key in target.merged_by if not key.is_loose}
    changes = ", ".join(
        f"{quote(column)} = excluded.{quote(column)}"
        for column in target.columns
        if column not in exact
    )
    action = f"DO UPDATE SET {changes}{_newer(target)}" if changes else "DO NOTHING"
    return (
        f"INSERT INTO {target.name} AS target ({target.column_list})"  # noqa: S608 - quoted
        f" SELECT DISTINCT ON ({equal}) {target.column_list} FROM {STAGING} AS {_BATCH}"
        f" ORDER BY {equal}{_newest_first(target)} ON CONFLICT ({conflict}) {action}"
    )


def _newest_first(target: Target) -> str:
    """Return how the staged rows of one key are ordered."""
    if target.sequence_by is None:
        return ""
    newest = target.ordered(target.sequence_by, f"{_BATCH}.{quote(target.sequence_by)}")
    order = f", {newest} DESC NULLS LAST, {_whole(_BATCH, target)} DESC"
    return f"{order}, {_text(_BATCH, target)} DESC" if target.is_loose else order


def _newer(target: Target) -> str:
    """Return the condition under which a row replaces the one that is there."""
    if target.sequence_by is None:
        return ""
    mine, theirs = (
        target.ordered(target.sequence_by, f"{side}.{quote(target.sequence_by)}")
        for side in ("excluded", "target")
    )
    pair = f"{_whole('excluded', target)}, {_whole('target', target)}"
    tie = f"record_gt({pair})" if target.is_ordered else f"text_gt({pair})"
    if target.is_loose and target.is_ordered:
        texts = f"{_text('excluded', target)} > {_text('target', target)}"
        tie = f"({tie} OR (record_eq({pair}) AND {texts}))"
    return (
        f" WHERE ({theirs} IS NULL AND {mine} IS NOT NULL) OR {mine} > {theirs}"
        f" OR ({mine} IS NOT DISTINCT FROM {theirs} AND {tie})"
    )


def _whole(side: str, target: Target) -> str:
    """Return an expression of the whole row that has an order, NULLs and all."""
    if not target.is_ordered:
        return f"md5({_row(side, target)}::text)"
    ordered = (target.ordered(column, f"{side}.{quote(column)}") for column in target.columns)
    return f"ROW({', '.join(ordered)})"


def _text(side: str, target: Target) -> str:
    """Return the text of a row: different wherever one of its values is."""
    return f'{_row(side, target)}::text COLLATE "C"'


def _row(side: str, target: Target) -> str:
    return f"ROW({', '.join(f'{side}.{quote(column)}' for column in target.columns)})"


def _refuse_null_keys(connection: psycopg.Connection, target: Target) -> None:
    condition = " OR ".join(f"{quote(key)} IS NULL" for key in target.keys)
    found = _count(connection, f"SELECT count(*) FROM {STAGING} WHERE {condition}")  # noqa: S608
    if found:
        why = f"{found:,} rows have a NULL in {', '.join(target.keys)}."
        raise UnmergeableRowsError(target.display_name, why=why)


def _refuse_duplicate_keys(connection: psycopg.Connection, target: Target) -> None:
    equal = ", ".join(key.equal() for key in target.merged_by)
    found = connection.execute(
        f"SELECT count(*) FROM (SELECT FROM {STAGING} GROUP BY {equal} HAVING count(*) > 1) d".encode()  # noqa: S608, E501 - quoted
    ).fetchone()
    if found and found[0]:
        why = f"{found[0]:,} keys come twice in one batch, and without sequence_by no row is later."
        raise UnmergeableRowsError(target.display_name, why=why)


def _count_due(connection: psycopg.Connection, target: Target) -> int:
    """Return how many keys of the batch must be inserted or updated, however ties are broken."""
    if set(target.keys) >= set(target.columns):
        return _count_new_keys(connection, target)
    if target.sequence_by is None:
        return _count(connection, f"SELECT count(*) FROM {STAGING}")  # noqa: S608
    keys, equal = _keys(target)
    order, first = quote(target.sequence_by), quote(target.keys[0])
    newest, mine, theirs = (
        target.ordered(target.sequence_by, value) for value in (order, "s.newest", f"t.{order}")
    )
    statement = (
        f"SELECT count(*) FROM (SELECT DISTINCT ON ({equal}) {keys}, {order} AS newest"  # noqa: S608
        f" FROM {STAGING} ORDER BY {equal}, {newest} DESC NULLS LAST) s"
        f" LEFT JOIN {target.own_rows} t ON {_same(target)} WHERE t.{first} IS NULL"
        f" OR {mine} > {theirs} OR ({theirs} IS NULL AND {mine} IS NOT NULL)"
    )
    return _count(connection, statement)


def _count_new_keys(connection: psycopg.Connection, target: Target) -> int:
    """Return how many keys of the batch the table does not have."""
    keys, equal = _keys(target)
    statement = (
        f"SELECT count(*) FROM (SELECT DISTINCT ON ({equal}) {keys} FROM {STAGING}) s"  # noqa: S608
        f" WHERE NOT EXISTS (SELECT FROM {target.own_rows} t WHERE {_same(target)})"
    )
    return _count(connection, statement)


def _keys(target: Target) -> tuple[str, str]:
    """Return the keys, and the expressions that are equal for equal ones."""
    equal = (key.equal() for key in target.merged_by)
    return ", ".join(map(quote, target.keys)), ", ".join(equal)


def _same(target: Target) -> str:
    """Return whether rows `t` and `s` have one key."""
    return " AND ".join(f"{key.equal('t.')} = {key.equal('s.')}" for key in target.merged_by)


def _count(connection: psycopg.Connection, statement: str, name: str | None = None) -> int:
    found = connection.execute(statement.encode(), (name, name) if name else None).fetchone()
    return int(found[0]) if found else 0
