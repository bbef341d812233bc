"""A few rows that a table held, remembered in its ledger row: TRUNCATE takes all of them at once.

A table that was emptied and filled by another writer can have as many rows as before. VACUUM FULL,
CLUSTER, ALTER TABLE and a restore rewrite a table too, and keep its rows. What tells them apart is
whether rows that were there are still there. So hashes of up to eight rows are remembered, of a
partitioned table two of each partition, by the columns of a unique index if there is one: a merge
does not change those. They are taken at a start and now and then with a batch, from the first and
last pages, and read only when the storage of the table has changed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from holdfast.sinks.postgres.storage import find_emptied
from holdfast.sinks.postgres.target import quote

if TYPE_CHECKING:
    import psycopg

    from holdfast.ledger.row import LedgerRow
    from holdfast.sinks.postgres.target import Table

ROWS_OF_A_TABLE, ROWS_OF_A_PARTITION, MOST_ROWS = 8, 2, 400
BATCHES_BETWEEN = 256
"""A batch with such a number takes the rows anew: the old ones may have been deleted since."""
_AS_TEXT = (
    "SET LOCAL TimeZone = 'UTC'; SET LOCAL DateStyle = 'ISO, YMD'; SET LOCAL bytea_output = 'hex';"
    " SET LOCAL extra_float_digits = 1; SET LOCAL IntervalStyle = 'postgres'"
)
"""What the text of a value depends on."""
_COLUMNS = """\
WITH c AS (SELECT a.attname::text AS name, format_type(a.atttypid, a.atttypmod) AS kind, a.attnum
    FROM pg_attribute a WHERE a.attrelid = to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped
    AND has_table_privilege(a.attrelid, 'SELECT'))
SELECT coalesce((SELECT jsonb_object_agg(c.name, c.kind)
    FROM pg_index i CROSS JOIN LATERAL generate_series(0, i.indnkeyatts - 1) AS p(place)
    LEFT JOIN c ON c.attnum = i.indkey[p.place]
    WHERE i.indrelid = to_regclass(%s) AND i.indisunique AND i.indisvalid
        AND i.indpred IS NULL AND i.indexprs IS NULL
    GROUP BY i.indexrelid, i.indisprimary HAVING bool_and(c.name IS NOT NULL)
    ORDER BY i.indisprimary DESC, i.indexrelid LIMIT 1),
    (SELECT jsonb_object_agg(c.name, c.kind) FROM c)),
    (SELECT jsonb_object_agg(c.name, c.kind) FROM c),
    pg_relation_size(to_regclass(%s)) / current_setting('block_size')::bigint"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Witness:
    """Rows that a table held."""

    storage: str
    """Of the table at that moment."""
    columns: Mapping[str, str]
    """The columns that were hashed, each with its type."""
    rows: Mapping[str, Sequence[str]]
    """Hashes, by the oid of the table or partition that the row was in."""


def read_witness(text: str | None) -> Witness | None:
    """Return what a ledger row remembers; None if it remembers nothing that is understood."""
    try:
        found = json.loads(text or "null")
        return Witness(
            storage=str(found["storage"]),
            columns={str(name): str(kind) for name, kind in found["columns"].items()},
            rows={str(oid): tuple(map(str, rows)) for oid, rows in found["rows"].items()},
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def keep_witness(
    connection: psycopg.Connection,
    row: LedgerRow,
    table: Table,
    *,
    storage: str,
    parts: Sequence[str] = (),
) -> None:
    """Remember rows that the table holds now; a table without rows leaves what was remembered.

    Args:
        connection: Inside a transaction.
        row: The ledger row.
        table: The table.
        storage: Of the table.
        parts: Partitions, quoted, whose rows are remembered beside the others; without any, those
            of all are taken anew.
    """
    hashed, _, pages = _find_columns(connection, table)
    if not hashed:
        return
    connection.execute(_AS_TEXT)
    sample = _sample_of(parts, tuple(hashed)) or _sample(table, tuple(hashed), pages=pages)
    found = connection.execute(sample.encode()).fetchall()
    rows: dict[str, list[str]] = {}
    for oid, digest in found:
        rows.setdefault(str(oid), []).append(digest)
    if rows:
        earlier = _read_rows(connection, row, columns=hashed) if parts else {}
        text = json.dumps(
            {"storage": storage, "columns": hashed, "rows": _newest({**earlier, **rows})}
        )
        connection.execute(
            "UPDATE holdfast.ledger SET witness = %s WHERE stream = %s AND sink = %s",
            (text, row.stream, row.sink),
        )


def _read_rows(
    connection: psycopg.Connection, row: LedgerRow, *, columns: Mapping[str, str]
) -> Mapping[str, Sequence[str]]:
    """Return what is remembered of the same columns."""
    found = connection.execute(
        "SELECT witness FROM holdfast.ledger WHERE stream = %s AND sink = %s",
        (row.stream, row.sink),
    ).fetchone()
    known = read_witness(found[0] if found else None)
    return known.rows if known is not None and known.columns == columns else {}


def _newest(rows: Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[str]]:
    """Return the rows of as many partitions as are remembered, those that came last."""
    return dict(list(rows.items())[-(MOST_ROWS // ROWS_OF_A_PARTITION) :])


def find_missing(
    connection: psycopg.Connection, table: Table, witness: Witness | None, *, storage: str
) -> str | None:
    """Say that rows of an emptied table are gone; None if some are there, or it is not known.

    Args:
        connection: Inside a transaction.
        table: The table as it is now.
        witness: What is remembered of it.
        storage: Of the table now.
    """
    if witness is None:
        return None
    _, there, _ = _find_columns(connection, table)
    if not witness.columns or any(
        there.get(name) != kind for name, kind in witness.columns.items()
    ):
        return None
    emptied = find_emptied(witness.storage, storage, tuple(witness.rows))
    wanted = {oid: set(witness.rows[oid]) for oid in emptied}
    hashes = sorted(set().union(*wanted.values()))
    if not hashes:
        return None
    connection.execute(_AS_TEXT)
    row = _hashed(tuple(witness.columns))
    row, rows = (part.replace("%", "%%") for part in (row, table.own_rows))
    statement = f"SELECT DISTINCT {row} FROM {rows} WHERE {row} = ANY (%s)"  # noqa: S608 - quoted
    found = {each for (each,) in connection.execute(statement.encode(), (hashes,)).fetchall()}
    gone = [oid for oid, rows in wanted.items() if not rows & found]
    is_same = not found if table.oid != _oid(witness) else bool(gone)
    return "none of the rows that Holdfast remembers of it is there now" if is_same else None


def _oid(witness: Witness) -> int:
    oid = witness.storage.partition("/")[0]
    return int(oid) if oid.isdecimal() else 0


def _find_columns(
    connection: psycopg.Connection, table: Table
) -> tuple[dict[str, str], dict[str, str], int]:
    """Return the columns to hash, all that can be read, and how many pages the table has."""
    found = connection.execute(_COLUMNS.encode(), (table.name,) * 3).fetchone()
    hashed, there, pages = found or (None, None, None)
    return hashed or {}, there or {}, int(pages or 0)


def _sample(table: Table, columns: tuple[str, ...], *, pages: int) -> str:
    """Return the query for some rows, in time that does not grow with the table."""
    each = f"SELECT tableoid::bigint AS oid, {_hashed(columns)} AS digest FROM {table.own_rows}"  # noqa: S608 - quoted
    if table.is_partitioned:
        return (
            "SELECT oid, digest FROM (SELECT *, row_number() OVER (PARTITION BY oid) AS n"  # noqa: S608 - quoted
            f" FROM ({each} WHERE ctid < '(2,0)') r) r WHERE n <= {ROWS_OF_A_PARTITION}"
            f" LIMIT {MOST_ROWS}"
        )
    half = ROWS_OF_A_TABLE // 2
    return (
        f"({each} WHERE ctid < '(2,0)' LIMIT {half}) UNION ALL"
        f" ({each} WHERE ctid >= '({max(pages - 2, 0)},0)' LIMIT {half})"
    )


def _sample_of(parts: Sequence[str], columns: tuple[str, ...]) -> str:
    """Return the query for some rows of these partitions; empty without any."""
    each = f"SELECT tableoid::bigint AS oid, {_hashed(columns)} AS digest FROM ONLY"  # noqa: S608 - quoted
    some = f"WHERE ctid < '(2,0)' LIMIT {ROWS_OF_A_PARTITION}"
    return " UNION ALL ".join(f"({each} {part} {some})" for part in parts)


def _hashed(columns: tuple[str, ...]) -> str:
    row = f"ROW({', '.join(map(quote, sorted(columns)))})::text"
    # Not md5, which servers in FIPS mode refuse.
    return f'hashtextextended({row} COLLATE "C", 0)::text'
