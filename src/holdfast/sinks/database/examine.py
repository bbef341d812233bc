"""Whether a table can still hold what its ledger row says: emptied or replaced, it cannot.

Data and ledger are written in one transaction, and go back together when a whole database is
restored. A table that was emptied or restored alone leaves the ledger behind, and Spark would never
run those batches again. Deleting some rows is the right of whoever owns the table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.sinks.database.dialect import Connection, Dialect
    from holdfast.sinks.database.ledger_rows import Kept
    from holdfast.sinks.database.target import Found, Target


def find_change(
    dialect: Dialect, connection: Connection, kept: Kept, *, name: str, found: Found | None
) -> str | None:
    """Say what shows that a table lacks what was brought into it; None if nothing does.

    Rows are counted only when the table was altered or created again since the last look.

    Args:
        dialect: Of the database.
        connection: In a transaction, where the answer must still hold afterwards.
        kept: What the ledger says.
        name: The table, quoted.
        found: The table; None when there is none.
    """
    if found is None:
        return "it was dropped or renamed" if kept.brought else None
    if found.problem is not None:
        return found.problem
    if kept.place != found.place:
        return f"its rows went into {kept.place}, and {found.place} is another table"
    return _find_lack(dialect, connection, kept, name=name, found=found) if kept.brought else None


def _find_lack(
    dialect: Dialect, connection: Connection, kept: Kept, *, name: str, found: Found
) -> str | None:
    if kept.pin == found.pin:
        has_any = f"CASE WHEN EXISTS (SELECT 1 FROM {name}) THEN 1 ELSE 0 END"  # noqa: S608 - quoted
        ((has_rows,),) = dialect.ask(connection, f"SELECT {has_any}{dialect.of_nothing}")
        return None if has_rows else f"it is empty, and {kept.brought:,} rows were written into it"
    there = count_rows(dialect, connection, name)
    if there >= kept.brought:
        return None
    return (
        "it was altered, emptied or created again: it holds "
        f"{there:,} rows, and {kept.brought:,} were written into it"
    )


def find_other_shape(target: Target, found: Found | None) -> str | None:
    """Say how the columns differ from those that a start has checked; None if they do not."""
    if found is None:
        return "it was dropped or renamed"
    for column in target.shape:
        now = found.columns.get(column.name)
        if now is None:
            return f"its column {column.name} is gone"
        if now != column:
            return f"its column {column.name} was {column.shown}, and was changed to {now.shown}"
    for name, now in found.columns.items():
        if not now.has_default and name not in target.columns:
            return f"its new column {name} must be given, and the stream has none"
    if target.keys and frozenset(target.keys) not in found.uniques:
        return f"it has no unique index over {', '.join(target.keys)} any more"
    return None


def count_rows(dialect: Dialect, connection: Connection, name: str) -> int:
    """Return how many rows a table has."""
    ((rows,),) = dialect.ask(connection, f"SELECT count(*) FROM {name}")  # noqa: S608 - quoted
    return int(rows)
