"""The ledger in a database: one small table, written in the transaction that writes the data.

    holdfast_ledger     one row per (stream, sink): what has arrived, where, and who may write

A start creates it where its user may; otherwise the database's owner does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from holdfast.checkpoint.text import parse_json_object
from holdfast.ledger.row import NO_BATCH, LedgerRow
from holdfast.ledger.row_json import row_from, row_values
from holdfast.sinks.database.failures import LedgerTableError

if TYPE_CHECKING:
    from holdfast.sinks.database.dialect import Connection, Dialect

TABLE = "holdfast_ledger"
VERSION = 1
_DDL = """\
{creates} {table} (
    stream {short[63]} NOT NULL,
    sink {short[190]} NOT NULL,
    version integer NOT NULL,
    state {text} NOT NULL,
    place {short[255]} NOT NULL,
    pin {short[255]} NOT NULL,
    brought {whole} NOT NULL,
    opening {text} NOT NULL,
    PRIMARY KEY (stream, sink)
) {options}"""
_ROW, _BY_KEY = "{table} {where}", "WHERE stream = ? AND sink = ?"


class Opening(msgspec.Struct, frozen=True, kw_only=True):
    """How a generation was opened in the sink: by it an undo knows what came since."""

    generation: int
    opened_at: int | None
    """The last batch of the row that opened it; None if that is not known."""
    puts_rows: bool = False
    """Whether its opening has put rows into the table."""
    version: str | None = None
    """What told the table's content apart when it was opened; None if that was not asked."""


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """What the ledger keeps of a stream in a sink."""

    row: LedgerRow
    place: str
    pin: str
    brought: int
    """How many rows were brought into the table and must be there."""
    opening: Opening | None


def ddl(dialect: Dialect) -> str:
    """Return the statement that makes the ledger's table; it can be run again."""
    return _DDL.format(
        creates=dialect.creates,
        table=TABLE,
        short={length: dialect.short_text.format(length) for length in (63, 190, 255)},
        whole=dialect.whole_number,
        text=dialect.long_text,
        options=dialect.table_options,
    ).rstrip()


def has_table(dialect: Dialect, connection: Connection) -> bool:
    """Return whether the ledger's table is there.

    Raises:
        LedgerTableError: It is there, and cannot be used.
    """
    found = dialect.find(connection, dialect.own_name(TABLE))
    if found is None:
        return False
    wanted = {"stream", "sink", "version", "state", "place", "pin", "brought", "opening"}
    if found.problem or set(found.columns) != set(map(dialect.own_name, wanted)):
        problem = found.problem or "It has other columns."
        raise LedgerTableError(
            why=f"The table {TABLE} is not the ledger of this version. {problem}",
            how="Use the Holdfast that created it, or a newer one; or rename the table that has "
            "its name.",
        )
    return True


def create_table(dialect: Dialect, connection: Connection) -> None:
    """Make the ledger's table where it is missing; outside a transaction, which it would end."""
    if not has_table(dialect, connection):
        dialect.run(connection, ddl(dialect))


def read(
    dialect: Dialect, connection: Connection, stream: str, *, sink: str, lock: bool = False
) -> Kept | None:
    """Read what is kept of a stream in a sink; with a lock, until the transaction ends.

    Raises:
        LedgerTableError: What is there is not a row, or is of a newer version.
    """
    rows = (dialect.locked_row if lock else _ROW).format(table=TABLE, where=_BY_KEY)
    found = dialect.ask(
        connection,
        f"SELECT version, state, place, pin, brought, opening FROM {rows}",  # noqa: S608
        (stream, sink),
    )
    if not found:
        return None
    version, state, place, pin, brought, opening = found[0]
    row = row_from(parse_json_object(state) or {}) if version == VERSION else None
    if row is None or (row.stream, row.sink) != (stream, sink):
        raise LedgerTableError(
            why=f"What {TABLE} keeps of {stream} in {sink} is not a ledger row of this version.",
            how="Use the Holdfast that wrote it, or restore it from a backup of the database.",
        )
    return Kept(row=row, place=place, pin=pin, brought=int(brought), opening=_opening(opening))


def _opening(text: str) -> Opening | None:
    try:
        return msgspec.json.decode(text, type=Opening)
    except msgspec.DecodeError:  # damaged: how it was opened is not known
        return None


def write(dialect: Dialect, connection: Connection, kept: Kept, *, is_new: bool) -> None:
    """Write what is kept, within the transaction that has locked it.

    Raises:
        LedgerTableError: The row has gone meanwhile.
    """
    values = (
        VERSION,
        _text(row_values(kept.row)),
        kept.place,
        kept.pin,
        kept.brought,
        _text(kept.opening),
        kept.row.stream,
        kept.row.sink,
    )
    statement = (
        f"INSERT INTO {TABLE} (version, state, place, pin, brought, opening, stream, sink)"  # noqa: S608
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
        if is_new
        else f"UPDATE {TABLE} SET version = ?, state = ?, place = ?, pin = ?, brought = ?,"  # noqa: S608
        f" opening = ? {_BY_KEY}"
    )
    if dialect.run(connection, statement, values) != 1:
        raise LedgerTableError(
            why=f"The row of {kept.row.stream} has gone from {TABLE} while it was written.",
            how="Start the stream again: the start says what the ledger has.",
        )


def _text(value: object) -> str:
    return msgspec.json.encode(value).decode()


def find_label(
    dialect: Dialect, connection: Connection, stream: str, *, place: str, name: str
) -> str | None:
    """Return the label under which a stream's rows in a table are kept; None if there is none.

    A sink is its table: one that is named differently in the code is still the same sink.
    """
    found = dialect.ask(
        connection,
        f"SELECT sink FROM {TABLE} WHERE stream = ? AND place = ?"  # noqa: S608
        " ORDER BY CASE WHEN sink = ? THEN 0 ELSE 1 END, sink",
        (stream, place, name),
    )
    return str(found[0][0]) if found else None


def find_other_streams(
    dialect: Dialect, connection: Connection, stream: str, *, place: str
) -> tuple[str, ...]:
    """Return the other streams that have a row for a table."""
    found = dialect.ask(
        connection,
        f"SELECT DISTINCT stream FROM {TABLE} WHERE stream <> ? AND place = ? ORDER BY stream",  # noqa: S608
        (stream, place),
    )
    return tuple(str(name) for (name,) in found)


def opened(row: LedgerRow, before: Kept | None, *, puts_rows: bool, version: str | None) -> Opening:
    """Return how a row opens its generation.

    In the same generation it is another batch for the same rows: how it began is not known then.
    """
    is_new = before is None or before.row.generation != row.generation
    return Opening(
        generation=row.generation,
        opened_at=row.last_batch if is_new else None,
        puts_rows=puts_rows,
        version=version if is_new else None,
    )


def counts_rows(row: LedgerRow) -> bool:
    """Return whether a new row says that what the table holds was brought."""
    return row.last_batch > NO_BATCH
