"""Puts rows that were kept aside back into their table, as they were.

The table may have changed since. Columns that were added get their default. A column that is gone,
or has another type, would change what comes back: then nothing does. The table's own triggers are
off meanwhile: they ran when the rows were first written, and would alter them now.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec

from holdfast.ledger.output import CannotSettleError
from holdfast.sinks.postgres.target import quote

if TYPE_CHECKING:
    import psycopg

    from holdfast.sinks.postgres.target import Table

_COLUMNS = """\
SELECT a.attname, format_type(a.atttypid, a.atttypmod), a.attgenerated <> '',
    a.attnotnull AND NOT a.atthasdef AND a.attidentity = ''
FROM pg_attribute a WHERE a.attrelid = to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum"""
_TREE = (
    "SELECT to_regclass(%s)::oid UNION SELECT relid::oid FROM pg_partition_tree(to_regclass(%s))"
)
_TRIGGERS = f"""\
SELECT c.oid::regclass::text, t.tgname, t.tgenabled = 'A',
    pg_has_role(c.relowner, 'USAGE') OR (SELECT rolsuper FROM pg_roles WHERE rolname = current_user)
FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
WHERE c.oid IN ({_TREE}) AND NOT t.tgisinternal AND t.tgenabled IN ('O', 'A')
ORDER BY t.tgparentid <> 0, c.oid, t.tgname"""  # noqa: S608 - no value in it


class _Column(msgspec.Struct, frozen=True, kw_only=True):
    """One column of a table, or of a copy."""

    kind: str
    is_generated: bool
    must_be_given: bool


class Fit(msgspec.Struct, frozen=True, kw_only=True):
    """How a copy fits its table as it is now."""

    columns: tuple[str, ...] = ()
    """Those that are put back."""
    added: tuple[str, ...] = ()
    """Columns that the table got since; they have their default in the rows that come back."""
    why_not: str = ""
    """Why the rows cannot come back as they were; empty if they can."""


def fit(connection: psycopg.Connection, table: Table, kept: str) -> Fit:
    """Hold a copy against its table.

    Args:
        connection: To the database.
        table: Where the rows come from.
        kept: The copy, quoted.
    """
    theirs, now = _read_columns(connection, kept), _read_columns(connection, table.name)
    if not theirs:
        return Fit(why_not=f"the copy {kept} is gone")
    for name, column in theirs.items():
        if name not in now:
            return Fit(why_not=f"its column {name} is gone, and the kept rows have values for it")
        if now[name].kind != column.kind:
            changed = f"{column.kind}, and is {now[name].kind} now"
            return Fit(why_not=f"its column {name} was {changed}")
    added = tuple(name for name in now if name not in theirs)
    for name in added:
        if now[name].must_be_given:
            return Fit(why_not=f"its new column {name} takes no NULL and has no default")
    columns = tuple(name for name in theirs if not now[name].is_generated)
    return Fit(columns=columns, added=added)


def put_back(connection: psycopg.Connection, table: Table, kept: str) -> int:
    """Insert the rows of a copy, within the transaction there is; return how many.

    Args:
        connection: In a transaction that has locked the table.
        table: Where they go.
        kept: The copy, quoted.

    Raises:
        CannotSettleError: The rows would not be as they were.
    """
    found = fit(connection, table, kept)
    if found.why_not:
        raise CannotSettleError(
            table.display_name, f"Its rows cannot be put back: {found.why_not}."
        )
    columns = ", ".join(map(quote, found.columns))
    expected = connection.execute(f"SELECT count(*) FROM {kept}".encode()).fetchone()  # noqa: S608 - quoted
    with triggers_off(connection, table):
        back = connection.execute(
            f"INSERT INTO {table.name} ({columns}) OVERRIDING SYSTEM VALUE"  # noqa: S608 - quoted
            f" SELECT {columns} FROM {kept}".encode()
        ).rowcount
    if expected is None or back != expected[0]:
        raise CannotSettleError(
            table.display_name, "It took another number of rows than the copy has."
        )
    return back


@contextmanager
def triggers_off(connection: psycopg.Connection, table: Table) -> Iterator[None]:
    """Have the table's own triggers not fire within; those of foreign keys still do.

    Raises:
        CannotSettleError: This role may not switch them off.
    """
    found = find_triggers(connection, table)
    barred = [name for _, name, _, may in found if not may]
    if barred:
        raise CannotSettleError(table.display_name, say_barred(barred[0]))
    for relation, name, _, _ in found:
        connection.execute(f"ALTER TABLE ONLY {relation} DISABLE TRIGGER {quote(name)}".encode())
    yield
    if found:
        # A check that is deferred to the commit would not let the table be altered.
        connection.execute("SET CONSTRAINTS ALL IMMEDIATE")
    for relation, name, is_always, _ in found:
        mode = "ENABLE ALWAYS" if is_always else "ENABLE"
        connection.execute(f"ALTER TABLE ONLY {relation} {mode} TRIGGER {quote(name)}".encode())


def find_triggers(
    connection: psycopg.Connection, table: Table
) -> list[tuple[str, str, bool, bool]]:
    """Return the triggers that would fire: table, name, whether always, whether ours to switch."""
    return connection.execute(_TRIGGERS.encode(), (table.name, table.name)).fetchall()


def say_barred(trigger: str) -> str:
    """Say why a trigger stands in the way."""
    return (
        f"Its trigger {trigger} would alter the rows that come back, and only the table's owner "
        "may switch it off."
    )


def _read_columns(connection: psycopg.Connection, name: str) -> dict[str, _Column]:
    found = connection.execute(_COLUMNS, (name,)).fetchall()
    return {
        column: _Column(kind=kind, is_generated=is_generated, must_be_given=must_be_given)
        for column, kind, is_generated, must_be_given in found
    }
