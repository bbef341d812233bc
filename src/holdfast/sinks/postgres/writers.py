"""Which rows of a table one generation of a stream wrote, and what other writers did since.

PostgreSQL keeps with each row the id of the transaction that wrote it (`xmin`), and the ledger
keeps the id of the transaction of each batch. So the rows of a generation are found exactly,
whoever else writes to the table. Where that does not add up, because another session has updated or
deleted such a row, or a dump was restored, the rows cannot be told apart, and none is taken away.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from holdfast.ledger.store import Since
from holdfast.sinks.postgres.attach_check import takes_parts

if TYPE_CHECKING:
    import psycopg
    import pyarrow as pa

    from holdfast.sinks.postgres.target import Table

_XIDS = 1 << 32
"""A row has the lower half of its transaction's id only."""
_OLDEST = 1 << 31
"""Transactions further apart than this cannot be ordered by it."""
XID = "(t.xmin::text)::bigint"
"""The transaction that wrote a row of `t`, as a number."""

_SETTLED = """\
SELECT s.last_batch, s.put_back, s.brought, s.xid, l.brought, l.last_batch,
    pg_snapshot_xmax(pg_current_snapshot())::text::bigint
FROM holdfast.settled s JOIN holdfast.ledger l USING (stream, sink)
WHERE s.stream = %s AND s.sink = %s AND s.generation = %s ORDER BY s.epoch"""
_BATCHES = """\
SELECT batch, rows, xid FROM holdfast.history
WHERE stream = %s AND sink = %s AND generation = %s ORDER BY batch"""
_OTHERS = """\
SELECT h.stream, h.xid FROM holdfast.history h JOIN holdfast.ledger l USING (stream, sink)
WHERE split_part(l.target, '/', 1) = %s AND h.stream <> %s AND h.xid > %s"""


class Life(NamedTuple):
    """One generation of a stream in a sink."""

    stream: str
    sink: str
    generation: int


class Writers(msgspec.Struct, frozen=True, kw_only=True):
    """The transactions of one generation in a table, and what is known since its opening."""

    own: tuple[int, ...] = ()
    """As rows have them: the lower half of each id."""
    since: Since


class _Opening(msgspec.Struct, frozen=True, kw_only=True):
    """How a generation was opened in a table, and what the ledger counts since."""

    last_batch: int
    """The last batch that the ledger row held then."""
    xids: tuple[int, ...]
    """Of the transactions that opened it, and put rows back."""
    first_xid: int
    own_rows: int
    """Which it must have now, if nobody else has touched them."""
    newest_batch: int
    is_old: bool
    """Whether so many transactions have run since that their ids do not tell any more."""


def find_writers(
    connection: psycopg.Connection, table: Table, life: Life, *, is_keyed: bool
) -> Writers:
    """Return which transactions wrote the rows of a generation, and what others did since."""
    if table.is_partitioned and takes_parts(connection, table.name):
        why = "its batches are attached partitions (parallel=), written by transactions of tasks"
        return Writers(since=Since(unclear=why))
    opening = _find_opening(connection, life)
    if opening is None:
        why = "the ledger does not say how this generation was opened in the table"
        return Writers(since=Since(unclear=why))
    batches = connection.execute(_BATCHES, life).fetchall()
    unclear = _find_gap(opening, batches)
    if unclear:
        return Writers(since=Since(unclear=unclear))
    others = connection.execute(
        _OTHERS, (str(table.oid), life.stream, opening.first_xid)
    ).fetchall()
    own = {xid % _XIDS for _, _, xid in batches} | {xid % _XIDS for xid in opening.xids}
    names = {xid % _XIDS: name for name, xid in others} | dict.fromkeys(own, "")
    counted = _count(connection, table, names, since=opening.first_xid % _XIDS)
    expected = None if is_keyed else {xid % _XIDS: rows for _, rows, xid in batches}
    unclear = _find_touched(counted, own, opening, expected=expected)
    rows = sum(counted[xid, name] for xid, name in counted if name == "")
    told = tuple(_say_others(counted))
    return Writers(own=tuple(own), since=Since(own_rows=rows, others=told, unclear=unclear))


def _find_opening(connection: psycopg.Connection, life: Life) -> _Opening | None:
    found = connection.execute(_SETTLED, life).fetchall()
    if not found:
        return None
    first, last = found[0], found[-1]
    put_back = sum(each[1] for each in found)
    return _Opening(
        last_batch=first[0],
        xids=tuple(each[3] for each in found if each[1]),
        first_xid=first[3],
        own_rows=put_back + last[4] - last[2],
        newest_batch=last[5],
        is_old=last[6] - first[3] >= _OLDEST,
    )


def _find_gap(opening: _Opening, batches: list[pa.RecordBatch]) -> str:
    """Say why the transactions of a generation are not all known; empty if they are."""
    if opening.is_old:
        return "more than two billion transactions have run since"
    there = {batch for batch, _, xid in batches if xid is not None}
    missing = set(range(opening.last_batch + 1, opening.newest_batch + 1)) - there
    missing |= {batch for batch, _, xid in batches if xid is None}
    if not missing:
        return ""
    return f"holdfast.history does not have the transaction of batch {min(missing)}"


def _count(
    connection: psycopg.Connection, table: Table, names: dict[int, str], *, since: int
) -> Counter[tuple[int, str | None]]:
    """Count the rows by transaction: those of known streams, and those of others since then.

    A row of nobody who is known counts under None, when it was written after the opening.
    """
    newer = f"({XID} - %s + {_XIDS}) %% {_XIDS} BETWEEN 1 AND {_OLDEST - 1}"
    statement = (
        f"SELECT w.x, w.name, count(*) FROM {_escaped(table.own_rows)} t"  # noqa: S608 - quoted
        f" LEFT JOIN unnest(%s::bigint[], %s::text[]) AS w (x, name) ON {XID} = w.x"
        f" WHERE w.x IS NOT NULL OR {newer} GROUP BY 1, 2"
    )
    values = (list(names), list(names.values()), since)
    found = connection.execute(statement.encode(), values).fetchall()
    return Counter({(xid or -1, name): rows for xid, name, rows in found})


def _find_touched(
    counted: Counter[tuple[int, str | None]],
    own: set[int],
    opening: _Opening,
    *,
    expected: dict[int, int] | None,
) -> str:
    """Say why the rows of a generation are not as it left them; empty if they are."""
    there = sum(counted[xid, ""] for xid in own)
    lacking = opening.own_rows - there
    if expected is not None:
        lacking = max((expected[xid] - counted[xid, ""] for xid in expected), default=0) or lacking
    if lacking > 0:
        return f"{lacking:,} rows of this generation were updated or deleted by another session"
    if lacking < 0:
        return f"{-lacking:,} rows of other writers were overwritten by this generation"
    return ""


def _say_others(counted: Counter[tuple[int, str | None]]) -> list[str]:
    rows: Counter[str | None] = Counter()
    for (_, name), count in counted.items():
        rows[name] += count
    told = [f"{name} wrote {count:,} {_rows(count)}" for name, count in sorted_names(rows) if count]
    if rows[None]:
        verb = "was" if rows[None] == 1 else "were"
        told.append(f"{rows[None]:,} {_rows(rows[None])} {verb} written by other sessions")
    return told


def sorted_names(rows: Counter[str | None]) -> list[tuple[str, int]]:
    """Return the other streams and their rows, by name."""
    return sorted((name, count) for name, count in rows.items() if name)


def _rows(count: int) -> str:
    return "row" if count == 1 else "rows"


def _escaped(name: str) -> str:
    """Return a name for a statement with values, in which a % stands for one."""
    return name.replace("%", "%%")
