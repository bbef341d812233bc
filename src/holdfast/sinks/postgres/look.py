"""A look at the target table inside the transaction that writes a batch (S3).

Encoders are made once, at the start, for the columns that the table had then; the ledger row says
which table its batches went into. Both can stop being true while a stream runs: somebody truncates
the table, replaces it, changes a type. So every batch locks the table, reads the ledger row and
compares, in two round trips; what is compared does not grow with the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from holdfast.sinks.postgres.ledger_rows import COLUMNS, PARTITIONS, make_row
from holdfast.sinks.postgres.storage import find_change, table_oid

if TYPE_CHECKING:
    import psycopg

    from holdfast.ledger.row import Attempt, LedgerRow
    from holdfast.sinks.postgres.target import Target

SHAPE = """(SELECT string_agg(concat_ws(' ', a.attname, a.atttypid, a.atttypmod, a.attcollation,
        a.attgenerated, a.attidentity), E'\\n' ORDER BY a.attname)
    FROM pg_attribute a
    WHERE a.attrelid = c.oid AND a.attname = ANY (%s) AND a.attnum > 0 AND NOT a.attisdropped)"""
"""The columns that a stream writes, with what their encoders were made for."""

UNSAFE = """CASE
    WHEN c.relpersistence <> 'p' THEN 'it is UNLOGGED or temporary, so a crash empties it'
    WHEN row_security_active(c.oid) THEN 'row-level security applies to this role'
    WHEN c.relkind = 'p' AND EXISTS (
        SELECT FROM pg_partition_tree(c.oid) t JOIN pg_class p ON p.oid = t.relid
        WHERE p.relkind = 'f' OR p.relpersistence <> 'p')
    THEN 'one of its partitions is foreign, UNLOGGED or temporary' END"""
"""Why data in the table `c` would not be atomic with the ledger, or not visible; NULL if it is."""

_ROW = ", ".join(f"l.{name}" for name in COLUMNS.split(", "))
_PLAIN = f"""\
SELECT {_ROW}, l.target, c.oid::bigint, c.oid || '/' || c.relfilenode, {SHAPE},
    CASE WHEN c.relpersistence <> 'p' THEN 'it is UNLOGGED now, so a crash empties it'
        WHEN row_security_active(c.oid) THEN 'row-level security applies to this role' END,
    c.relhastriggers, l.witness IS NULL
FROM holdfast.ledger l LEFT JOIN pg_class c ON c.oid = to_regclass(%s)
WHERE l.stream = %s AND l.sink = %s FOR UPDATE OF l"""  # noqa: S608 - no value in it
"""Planned anew for every batch, so it is kept small: most tables have no partitions."""

_PARTITIONED = f"""\
SELECT {_ROW}, l.target, c.oid::bigint, x.storage, {SHAPE},
    CASE WHEN row_security_active(c.oid) THEN 'row-level security applies to this role'
        WHEN x.is_unsafe THEN 'one of its partitions is foreign, UNLOGGED or temporary' END,
    x.has_triggers, l.witness IS NULL
FROM holdfast.ledger l LEFT JOIN pg_class c ON c.oid = to_regclass(%s) LEFT JOIN LATERAL (
    SELECT {PARTITIONS} AS storage, bool_or(p.relhastriggers) AS has_triggers,
        bool_or(p.relkind = 'f' OR p.relpersistence <> 'p') AS is_unsafe
    FROM pg_partition_tree(c.oid) t JOIN pg_class p ON p.oid = t.relid) x ON true
WHERE l.stream = %s AND l.sink = %s FOR UPDATE OF l"""  # noqa: S608 - no value in it


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """The ledger row, locked, and the table as it is now."""

    row: LedgerRow | None
    changed: str | None
    """Why the table must not take the batch; None if nothing forbids it."""
    new_storage: str | None
    """The table's storage, where it differs harmlessly from what the ledger row says."""
    has_triggers: bool
    """Whether there may be triggers, which can drop rows."""
    storage: str | None = None
    """Of the table."""
    has_no_witness: bool = False
    """Whether no rows of the table are remembered yet."""


def look_under_lock(connection: psycopg.Connection, target: Target, attempt: Attempt) -> Look:
    """Lock the ledger row and compare the table, which the transaction has locked already."""
    look = _PARTITIONED if target.is_partitioned else _PLAIN
    found = connection.execute(
        look.encode(), (list(target.columns), target.name, attempt.stream, attempt.sink)
    ).fetchone()
    if found is None:
        return Look(row=None, changed=None, new_storage=None, has_triggers=False)
    *values, pinned, oid, storage, shape, unsafe, has_triggers, has_no_witness = found
    changed = _find_change(target, oid=oid, shape=shape, unsafe=unsafe)
    is_other = storage != pinned
    if changed is None and is_other and pinned is not None:
        changed = find_change(pinned, storage)
    return Look(
        row=make_row(tuple(values)),
        changed=changed,
        new_storage=storage if is_other else None,
        has_triggers=bool(has_triggers),
        storage=storage,
        has_no_witness=has_no_witness,
    )


def _find_change(
    target: Target, *, oid: int | None, shape: str | None, unsafe: str | None
) -> str | None:
    if oid != table_oid(target.storage):
        return "its name now stands for another table"
    if unsafe is not None:
        return unsafe
    if shape == target.shape:
        return None
    before, now = (_columns(each) for each in (target.shape, shape or ""))
    names = sorted(name for name in before if before[name] != now.get(name))
    return f"its columns {', '.join(names)} were dropped, renamed or given another type"


def _columns(shape: str) -> dict[str, str]:
    return {line.rsplit(" ", 5)[0]: line for line in shape.split("\n")}
