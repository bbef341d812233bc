"""Why a table could not be brought to a named state, found without changing anything.

What the server would refuse half-way is found before a plan begins: rights, foreign keys, rules, a
copy that no longer fits its table, rows that break a constraint. Rows are tried on a temporary
table with the constraints of the real one, in a transaction that is rolled back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from holdfast.ledger.output import EmptyOutput, ExchangeOutput, RestoreOutput
from holdfast.sinks.postgres.attach_check import takes_parts
from holdfast.sinks.postgres.put_back import find_triggers, fit, say_barred
from holdfast.sinks.postgres.target import PART, quote, quote_table
from holdfast.sinks.postgres.writers import XID, Writers

if TYPE_CHECKING:
    import psycopg

    from holdfast.sinks.postgres.target import Table

_RIGHTS = """\
SELECT row_security_active(c.oid),
    coalesce((SELECT has_schema_privilege(n.oid, 'CREATE') FROM pg_namespace n
        WHERE n.nspname = 'holdfast'), has_database_privilege(current_database(), 'CREATE')),
    has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'TRUNCATE'),
    has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'DELETE')
        AND has_table_privilege(c.oid, 'INSERT'),
    (SELECT min(k.conrelid::regclass::text) FROM pg_constraint k
        WHERE k.contype = 'f' AND k.confrelid = c.oid AND k.conrelid <> c.oid),
    (SELECT min(r.rulename::text) FROM pg_rewrite r
        WHERE r.ev_class = c.oid AND r.ev_type IN ('3', '4') AND r.ev_enabled IN ('O', 'A'))
FROM pg_class c WHERE c.oid = to_regclass(%s)"""
_FOREIGN_KEYS = """\
SELECT k.confrelid::regclass::text,
    (SELECT array_agg(a.attname ORDER BY x.at) FROM unnest(k.conkey) WITH ORDINALITY x(number, at)
        JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = x.number),
    (SELECT array_agg(a.attname ORDER BY x.at) FROM unnest(k.confkey) WITH ORDINALITY x(number, at)
        JOIN pg_attribute a ON a.attrelid = k.confrelid AND a.attnum = x.number)
FROM pg_constraint k WHERE k.contype = 'f' AND k.conrelid = to_regclass(%s)"""

_WITHOUT_PARTITION = f"""\
SELECT count(*) FROM (SELECT DISTINCT {PART} AS part FROM {{kept}}) k WHERE NOT EXISTS (
    SELECT FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = to_regclass(%s)
    AND strpos(pg_get_expr(c.relpartbound, c.oid), quote_literal(k.part::text)) > 0)"""  # noqa: S608 - quoted

_LEDGER = """\
SELECT has_table_privilege('holdfast.ledger', 'SELECT')
    AND has_table_privilege('holdfast.ledger', 'UPDATE')
    AND has_table_privilege('holdfast.ledger', 'INSERT')
    AND has_table_privilege('holdfast.settled', 'INSERT')"""


def find_ledger_obstacle(connection: psycopg.Connection) -> str | None:
    """Say why this role could not set a ledger row by a plan; None if it could.

    Tables of an older version are upgraded by the step itself, if this role may.
    """
    from holdfast.sinks.postgres.ledger_tables import (
        VERSION,
        LedgerTablesError,
        check_tables,
        find_version,
    )

    try:
        check_tables(connection)
    except LedgerTablesError as error:
        return f"{error.why} {error.how}"
    if find_version(connection) != VERSION:
        return None
    found = connection.execute(_LEDGER).fetchone()
    if found and found[0]:
        return None
    return (
        "This role may not write down a repair: it needs SELECT, INSERT and UPDATE on "
        "holdfast.ledger and INSERT on holdfast.settled."
    )


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """One way to settle a table that is tried."""

    connection: psycopg.Connection
    """Not in a transaction."""
    table: Table
    output: EmptyOutput | RestoreOutput | ExchangeOutput
    writers: Writers | None = None
    """Whose rows are whose, for an exchange."""

    def find_obstacle(self) -> str | None:
        """Say why the table could not be settled; None if nothing speaks against it."""
        rights = self.connection.execute(_RIGHTS, (self.table.name,)).fetchone()
        if rights is None:
            return f"{self.table.display_name} is gone."
        found = next(iter((*self._find_unclear(), *self._find_barred(rights))), None)
        kept = None if isinstance(self.output, EmptyOutput) else self.output.kept
        if found is not None or kept is None:
            return found
        return self._find_misfit(quote_table(kept))

    @property
    def _empties(self) -> bool:
        """Whether every row is taken away, and not only those of one generation."""
        return not isinstance(self.output, ExchangeOutput)

    def _find_unclear(self) -> list[str]:
        if self.writers is None or not isinstance(self.output, ExchangeOutput):
            return []
        found = self.writers.since
        if found.unclear:
            return [f"The rows of {self.table.display_name} cannot be told apart: {found.unclear}."]
        if self.output.rows not in (None, found.own_rows):
            changed = f"The stream's own rows in {self.table.display_name} have changed"
            return [f"{changed} since the plan was made."]
        return []

    def _find_barred(self, rights: tuple[Any, ...]) -> list[str]:
        """Return what this role may not do, and what the table does not let happen."""
        secured, may_create, may_empty, may_exchange, referenced, rule = rights
        shown, found = self.table.display_name, []
        takes = self._empties or bool(getattr(self.output, "rows", None))
        if secured:
            found.append(f"Row security hides rows of {shown} from this role.")
        if not may_create:
            found.append("This role lacks CREATE on the schema holdfast, for the copy.")
        if not (may_empty if self._empties else may_exchange):
            needed = "SELECT and TRUNCATE" if self._empties else "SELECT, INSERT and DELETE"
            found.append(f"This role needs {needed} on {shown}.")
        if takes and referenced is not None:
            found.append(f"{referenced} refers to {shown} by a foreign key: no row can be taken.")
        if rule is not None and not self._empties:
            found.append(f"The rule {rule} of {shown} would do something else with the rows.")
        return found

    def _find_misfit(self, kept: str) -> str | None:
        """Say why the rows of a copy could not come back as they were."""
        fits = fit(self.connection, self.table, kept)
        if fits.why_not:
            return f"The rows of {self.table.display_name} cannot be put back: {fits.why_not}."
        triggers = find_triggers(self.connection, self.table)
        barred = [name for _, name, _, may in triggers if not may]
        if barred:
            return f"{self.table.display_name}: {say_barred(barred[0])}"
        lacking = self._find_missing_parent(kept) or self._find_missing_partition(kept)
        return lacking or self._try(kept, fits.columns)

    def _find_missing_partition(self, kept: str) -> str | None:
        """Say that kept rows belong to attached partitions that are gone."""
        if not (self.table.is_partitioned and takes_parts(self.connection, self.table.name)):
            return None
        found = self.connection.execute(
            _WITHOUT_PARTITION.format(kept=kept).encode(), (self.table.name,)
        ).fetchone()
        if not found or not found[0]:
            return None
        shown = self.table.display_name
        return f"{found[0]:,} partitions of {shown}, to which kept rows belong, are gone."

    def _find_missing_parent(self, kept: str) -> str | None:
        """Say which kept rows refer to rows that are gone."""
        keys = self.connection.execute(_FOREIGN_KEYS, (self.table.name,)).fetchall()
        for parent, ours, theirs in keys:
            pairs = [(quote(one), quote(other)) for one, other in zip(ours, theirs, strict=True)]
            given = " AND ".join(f"k.{one} IS NOT NULL" for one, _ in pairs)
            same = " AND ".join(f"p.{other} = k.{one}" for one, other in pairs)
            found = self.connection.execute(
                f"SELECT count(*) FROM {kept} k WHERE {given}"  # noqa: S608 - quoted
                f" AND NOT EXISTS (SELECT FROM {parent} p WHERE {same})".encode()
            ).fetchone()
            if found and found[0]:
                rows = f"{found[0]:,} kept rows of {self.table.display_name}"
                return f"{rows} refer to rows of {parent} that are gone."
        return None

    def _try(self, kept: str, columns: tuple[str, ...]) -> str | None:
        """Say which constraint the kept rows would break, beside the rows that stay."""
        from psycopg import Error

        names = ", ".join(map(quote, columns))
        into = f"INSERT INTO holdfast_trial ({names}) OVERRIDING SYSTEM VALUE SELECT {names} FROM"
        make = f"CREATE TEMP TABLE holdfast_trial (LIKE {self.table.name} INCLUDING ALL)"
        own = ",".join(map(str, self.writers.own if self.writers else ()))
        stays = f"{into} {self.table.own_rows} t WHERE {XID} <> ALL ('{{{own}}}'::bigint[])"
        statements = (make, *(() if self._empties else (stays,)), f"{into} {kept}")
        try:
            with self.connection.transaction(force_rollback=True):
                for statement in statements:
                    self.connection.execute(statement.encode())
        except Error as error:
            said = error.diag.message_primary or type(error).__name__
            return f"The rows of {self.table.display_name} cannot be put back: {said}."
        return None
