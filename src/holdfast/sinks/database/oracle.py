"""Oracle Database, by python-oracledb in its thin mode: no client library. Never run."""

from __future__ import annotations

from decimal import Decimal
from itertools import count
from typing import TYPE_CHECKING, ClassVar

from holdfast.errors import ConfigError
from holdfast.sinks.database import oracle_errors, oracle_tables, oracle_types
from holdfast.sinks.database.bound_values import values_of
from holdfast.sinks.database.dialect import BATCH, NEWEST, Connection, Cursor
from holdfast.sinks.database.unrun import (
    CONNECT_TIMEOUT_S,
    READ_TIMEOUT_S,
    ROWS_AT_ONCE,
    UnrunDialect,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from holdfast.sinks.database.failures import Trouble
    from holdfast.sinks.database.target import Column, Field, Found, Target
    from holdfast.sinks.database.url import Address

PORT = 1521
LOCK_WAIT_S = 50
_SETTINGS = (
    "ALTER SESSION SET NLS_COMP = BINARY NLS_SORT = BINARY NLS_NUMERIC_CHARACTERS = '.,'"
    " TIME_ZONE = '+00:00'"
)
_EXCLUSIVE = 6
_TAKEN = (0, 4)
"""What DBMS_LOCK.REQUEST returns: the lock was taken, or this session has it already."""
_ID_BITS = 30
_HOLDERS = """\
SELECT s.sid, s.serial#, s.inst_id FROM gv$lock l
JOIN gv$session s ON s.inst_id = l.inst_id AND s.sid = l.sid
WHERE l.type = 'UL' AND l.id1 = ? AND l.lmode = 6 AND s.client_identifier = ?"""
_DROP = """\
BEGIN
    EXECUTE IMMEDIATE 'DROP TABLE {table}';
EXCEPTION WHEN OTHERS THEN
    IF SQLCODE <> -942 THEN RAISE; END IF;
END;"""
"""Of a temporary table that an earlier batch of the session may have made."""


class Oracle(UnrunDialect):
    """Oracle Database 18c and later."""

    product: ClassVar[str] = "Oracle"
    extra: ClassVar[str] = "oracle"
    module: ClassVar[str] = "oracledb"
    mark: ClassVar[str] = ":1"
    isolation: ClassVar[str] = (
        "READ COMMITTED: the ledger row is read FOR UPDATE, which sees the newest commit, and the "
        "table is locked before"
    )
    locked_row: ClassVar[str] = f"{{table}} {{where}} FOR UPDATE WAIT {LOCK_WAIT_S}"
    of_nothing: ClassVar[str] = " FROM dual"
    copies_rows: ClassVar[str] = "CREATE TABLE {kept} AS SELECT * FROM {name} WHERE 1 = 0"
    short_text: ClassVar[str] = "varchar2({} CHAR)"
    long_text: ClassVar[str] = "clob"
    whole_number: ClassVar[str] = "number(19)"
    batch: ClassVar[str] = f"ORA$PTT_{BATCH}"
    newest: ClassVar[str] = f"ORA$PTT_{NEWEST}"
    staged: ClassVar[Sequence[str]] = (
        _DROP,
        "CREATE PRIVATE TEMPORARY TABLE {table} ({columns}) ON COMMIT PRESERVE DEFINITION",
    )

    def connect(self, address: Address) -> Connection:
        """Connect, and have the session read and compare values as they are."""
        import oracledb

        connection = oracledb.connect(
            user=address.user,
            password=address.password,
            host=address.host,
            port=address.port or PORT,
            service_name=address.database,
            protocol="tcps" if address.is_on("tls") else "tcp",
            wallet_location=address.options.get("wallet_location"),
            tcp_connect_timeout=address.seconds("connect_timeout", CONNECT_TIMEOUT_S),
        )
        connection.call_timeout = address.seconds("read_timeout", READ_TIMEOUT_S) * 1_000
        connection.outputtypehandler = _fetched
        self.run(connection, _SETTINGS)
        return connection

    @property
    def driver_error(self) -> type[Exception]:
        """What python-oracledb raises."""
        import oracledb

        found: type[Exception] = oracledb.Error
        return found

    def trouble_of_driver(self, error: Exception) -> Trouble | None:
        """Return what an error of python-oracledb means."""
        return oracle_errors.trouble_of(error)

    def why_not_connected(self, error: Exception) -> tuple[str, bool]:
        """Say it by the server's code."""
        return oracle_errors.why_not_connected(error)

    def quote(self, name: str) -> str:
        """Quote a name as it is written: without quotes Oracle would take it in capitals."""
        if '"' in name or "\0" in name:
            raise ConfigError("Oracle has no names with a double quote or a NUL in them.")
        return f'"{name}"'

    def own_name(self, name: str) -> str:
        """Return it in capitals: our statements have it without quotes."""
        return name.upper()

    def begin(self, connection: Connection, *, is_reading: bool = False) -> None:
        """Begin; a reader sees the moment of its beginning."""
        connection.rollback()  # SET TRANSACTION must be the first statement
        what = "READ ONLY" if is_reading else "ISOLATION LEVEL READ COMMITTED"
        self.run(connection, f"SET TRANSACTION {what}")

    def commit(self, connection: Connection) -> None:
        """Commit, and wait until it is on disk, also where the database would not."""
        self.run(connection, "COMMIT WRITE IMMEDIATE WAIT")

    def marked(self, statement: str, values: tuple[object, ...]) -> tuple[object, ...]:
        """Number what stands for values: each place is bound by itself."""
        if not values:
            return (statement,)
        return _numbered(statement), values

    def take_lock(self, connection: Connection, name: str, *, wait_s: int) -> bool:
        """Take a user lock, and tell the server whose session it is."""
        with connection.cursor() as cursor:
            cursor.callproc("DBMS_SESSION.SET_IDENTIFIER", [name])
            given = [_lock_id(name), _EXCLUSIVE, wait_s]
            return int(cursor.callfunc("DBMS_LOCK.REQUEST", int, given)) in _TAKEN

    def release_lock(self, connection: Connection, name: str) -> None:
        """Give the user lock back."""
        with connection.cursor() as cursor:
            cursor.callfunc("DBMS_LOCK.RELEASE", int, [_lock_id(name)])

    def end_holder(self, connection: Connection, name: str) -> None:
        """Kill the session that has the user lock, if it is one of this stream."""
        for session in self.ask(connection, _HOLDERS, (_lock_id(name), name)):
            sid, serial, instance = map(int, session)
            try:
                self.run(
                    connection,
                    f"ALTER SYSTEM KILL SESSION '{sid},{serial},@{instance}' IMMEDIATE",
                )
            except self.driver_error as error:
                if not oracle_errors.says_gone(error):
                    raise

    def touch(self, name: str) -> str:
        """Lock the table until the end: others can neither write to it nor alter it."""
        return f"LOCK TABLE {name} IN EXCLUSIVE MODE WAIT {LOCK_WAIT_S}"

    def find(self, connection: Connection, table: str) -> Found | None:
        """Read the data dictionary."""
        return oracle_tables.find(self, connection, table)

    def find_effect(self, connection: Connection, table: str, *, deletes: bool) -> str | None:
        """Read foreign keys, triggers and identity columns from the data dictionary."""
        return oracle_tables.find_effect(self, connection, table, deletes=deletes)

    def find_field(self, name: str, kind: pa.DataType, column: Column) -> Field | None:
        """Find it by the column's type and its limits."""
        return oracle_types.find_field(name, kind, column)

    def suggest_type(self, kind: pa.DataType) -> str | None:
        """Suggest a type that holds every value, and of texts and bytes the longest."""
        return oracle_types.suggest_type(kind)

    def exact_key(self, column: Column) -> str:
        """Return nothing: a collation that does not compare bytes is refused for any column."""
        del column
        return ""

    def identify(self, connection: Connection, address: Address) -> str:
        """Name the database by itself, whatever address led to it."""
        del address
        ((database, domain, container),) = self.ask(
            connection,
            "SELECT SYS_CONTEXT('USERENV', 'DB_UNIQUE_NAME'), SYS_CONTEXT('USERENV', 'DB_DOMAIN'),"
            " SYS_CONTEXT('USERENV', 'CON_NAME') FROM dual",
        )
        return f"oracle:{database}.{domain or ''}/{container}"

    def send(
        self, connection: Connection, batch: pa.RecordBatch, *, target: Target, into: str
    ) -> int:
        """Insert rows as arrays, bound as the columns' types."""
        import oracledb

        rows = list(zip(*values_of(target.fields, batch), strict=True))
        head, row = self.inserted(target, into)
        statement = head + _numbered(row)
        kinds = [getattr(oracledb, each.bound) for each in target.fields]
        taken = 0
        with connection.cursor() as cursor:
            for start in range(0, len(rows), ROWS_AT_ONCE):
                cursor.setinputsizes(*kinds)
                cursor.executemany(statement, rows[start : start + ROWS_AT_ONCE])
                taken += int(cursor.rowcount)
        return taken

    def update(self, target: Target, *, newest: str, same: str, newer: str) -> str:
        """Update by MERGE: an UPDATE has no joins before 23ai."""
        changed = self.changed_columns(target)
        return (
            f"MERGE INTO {target.name} t USING {newest} s ON ({same})"
            f" WHEN MATCHED THEN UPDATE SET {changed} WHERE {newer}"
        )

    def selected(self, column: Column) -> str:
        """Read a DATE with its time if it has one, and an instant in UTC: as texts."""
        return oracle_types.selected(self.quote(column.name), column)


def _numbered(statement: str) -> str:
    parts, numbers = statement.split("?"), count(1)
    return parts[0] + "".join(f":{next(numbers)}{part}" for part in parts[1:])


def _lock_id(name: str) -> int:
    """Return a number of the range that DBMS_LOCK leaves to users, from a name's hash."""
    return int(name[-32:], 16) % (1 << _ID_BITS)


def _fetched(cursor: Cursor, metadata: object) -> object:
    """Have numbers read with all their digits, and texts of any length as texts."""
    import oracledb

    kinds = {
        oracledb.DB_TYPE_NUMBER: Decimal,
        oracledb.DB_TYPE_CLOB: oracledb.DB_TYPE_LONG,
        oracledb.DB_TYPE_BLOB: oracledb.DB_TYPE_LONG_RAW,
    }
    kind = kinds.get(getattr(metadata, "type_code", None))
    return None if kind is None else cursor.var(kind, arraysize=cursor.arraysize)


DIALECT = Oracle()
