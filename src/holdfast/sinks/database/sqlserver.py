"""SQL Server, by pytds (the package python-tds): a driver in pure Python. Never run."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from holdfast.sinks.database import sqlserver_errors, sqlserver_tables, sqlserver_types
from holdfast.sinks.database.bound_values import values_of
from holdfast.sinks.database.dialect import BATCH, NEWEST, Connection, Cursor
from holdfast.sinks.database.unrun import CONNECT_TIMEOUT_S, READ_TIMEOUT_S, UnrunDialect

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from holdfast.sinks.database.failures import Trouble
    from holdfast.sinks.database.target import Column, Field, Found, Target
    from holdfast.sinks.database.url import Address

PORT = 1433
MOST_ROWS, MOST_VALUES = 1_000, 2_000
"""Of one INSERT: the server takes 1,000 rows in VALUES, and 2,100 parameters."""
_SETTINGS = (
    *(
        f"SET {name} ON"
        for name in (
            "ANSI_NULLS",
            "ANSI_PADDING",
            "ANSI_WARNINGS",  # or a text that is too long is cut
            "ARITHABORT",
            "CONCAT_NULL_YIELDS_NULL",
            "QUOTED_IDENTIFIER",
        )
    ),
    *(
        f"SET {name} OFF"
        for name in (
            "IMPLICIT_TRANSACTIONS",
            "NOCOUNT",
            "NUMERIC_ROUNDABORT",
            # A driver that cancels what it has not read would end the transaction without a word.
            "XACT_ABORT",
        )
    ),
    "SET ROWCOUNT 0",
    "SET TEXTSIZE 2147483647",
    "SET LOCK_TIMEOUT 50000",
)
"""Of a session: what the server's, the database's or the user's settings would decide otherwise."""
_TAKE = """\
SET NOCOUNT ON;
DECLARE @got int;
EXEC @got = sp_getapplock @Resource = ?, @LockMode = N'Exclusive', @LockOwner = N'Session',
    @LockTimeout = ?;
SELECT @got;
SET NOCOUNT OFF;"""
_RELEASE = "EXEC sp_releaseapplock @Resource = ?, @LockOwner = N'Session';"
_END = """\
DECLARE @held int, @end nvarchar(20);
SELECT @held = request_session_id FROM sys.dm_tran_locks
WHERE resource_type = N'APPLICATION' AND resource_database_id = DB_ID()
    AND request_status = N'GRANT' AND request_mode = N'X'
    AND CHARINDEX(?, resource_description) > 0;
IF @held IS NOT NULL BEGIN
    SET @end = N'KILL ' + CAST(@held AS nvarchar(10));
    EXEC (@end);
END"""
"""In one step: the number of a session that has ended is given to another."""
_TAKES_PART = 32
"""Characters of a lock's name that the server shows."""


class SqlServer(UnrunDialect):
    """SQL Server 2016 and later, and Azure SQL."""

    product: ClassVar[str] = "SQL Server"
    extra: ClassVar[str] = "sqlserver"
    module: ClassVar[str] = "pytds"
    mark: ClassVar[str] = "%s"
    isolation: ClassVar[str] = (
        "READ COMMITTED, with row versions or without: the ledger row is read with UPDLOCK and "
        "HOLDLOCK, which read the newest commit and hold it, and the table is locked before"
    )
    locked_row: ClassVar[str] = "{table} WITH (UPDLOCK, HOLDLOCK) {where}"
    copies_rows: ClassVar[str] = "SELECT * INTO {kept} FROM {name} WHERE 1 = 0"
    retypes: ClassVar[str] = "ALTER TABLE {table} ALTER COLUMN {column} {kind};"
    short_text: ClassVar[str] = f"nvarchar({{}}) COLLATE {sqlserver_types.EXACT}"
    long_text: ClassVar[str] = f"nvarchar(max) COLLATE {sqlserver_types.EXACT}"
    batch: ClassVar[str] = f"#{BATCH}"
    newest: ClassVar[str] = f"#{NEWEST}"
    staged: ClassVar[Sequence[str]] = (
        "DROP TABLE IF EXISTS {table}",
        "CREATE TABLE {table} ({columns})",
    )

    def connect(self, address: Address) -> Connection:
        """Connect, and have the session refuse what it would otherwise change."""
        import pytds

        connection = pytds.connect(
            dsn=address.host,
            port=address.port or PORT,
            user=address.user,
            password=address.password,
            database=address.database,
            cafile=address.options.get("ssl_ca"),
            login_timeout=address.seconds("connect_timeout", CONNECT_TIMEOUT_S),
            timeout=address.seconds("read_timeout", READ_TIMEOUT_S),
            autocommit=True,
            disable_connect_retry=True,
        )
        self.run(connection, "; ".join(_SETTINGS))
        return connection

    @property
    def driver_error(self) -> type[Exception]:
        """What pytds raises."""
        import pytds

        found: type[Exception] = pytds.Error
        return found

    def trouble_of_driver(self, error: Exception) -> Trouble | None:
        """Return what an error of pytds means."""
        return sqlserver_errors.trouble_of(error)

    def why_not_connected(self, error: Exception) -> tuple[str, bool]:
        """Say it by the server's number."""
        return sqlserver_errors.why_not_connected(error)

    def quote(self, name: str) -> str:
        """Quote with brackets, whatever QUOTED_IDENTIFIER is."""
        return "[" + name.replace("]", "]]") + "]"

    def begin(self, connection: Connection, *, is_reading: bool = False) -> None:
        """Begin; a reader holds what it has read, and is the one that gives way.

        SNAPSHOT would hold nobody up, and not every database allows it.
        """
        level = "SERIALIZABLE" if is_reading else "READ COMMITTED"
        priority = "LOW" if is_reading else "NORMAL"
        self.run(
            connection,
            f"SET TRANSACTION ISOLATION LEVEL {level}; SET DEADLOCK_PRIORITY {priority}; "
            "BEGIN TRANSACTION",
        )

    def commit(self, connection: Connection) -> None:
        """Commit, and wait until it is on disk, also where the database would not."""
        self.run(connection, "COMMIT TRANSACTION WITH (DELAYED_DURABILITY = OFF)")

    def roll_back(self, connection: Connection) -> None:
        """Take it back, unless an error has done so."""
        self.run(connection, "IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION")

    def drain(self, cursor: Cursor) -> None:
        """Read every answer: pytds stops at the first count, and cancels what is left unread."""
        while cursor.nextset():
            pass

    def take_lock(self, connection: Connection, name: str, *, wait_s: int) -> bool:
        """Take an application lock of the session."""
        ((got,),) = self.ask(connection, _TAKE, (_resource(name), wait_s * 1_000))
        return int(got) >= 0

    def release_lock(self, connection: Connection, name: str) -> None:
        """Give the application lock back."""
        self.run(connection, _RELEASE, (_resource(name),))

    def end_holder(self, connection: Connection, name: str) -> None:
        """KILL the session that has the application lock."""
        try:
            self.run(connection, _END, (_resource(name),))
        except self.driver_error as error:
            if not sqlserver_errors.says_gone(error):
                raise

    def touch(self, name: str) -> str:
        """Lock the table until the end: others can neither write to it nor alter it."""
        return f"SELECT TOP (1) 1 FROM {name} WITH (TABLOCKX, HOLDLOCK)"  # noqa: S608 - quoted

    def find(self, connection: Connection, table: str) -> Found | None:
        """Read the database's catalogue."""
        return sqlserver_tables.find(self, connection, table)

    def find_effect(self, connection: Connection, table: str, *, deletes: bool) -> str | None:
        """Read foreign keys, triggers and identity columns from the database's catalogue."""
        return sqlserver_tables.find_effect(self, connection, table, deletes=deletes)

    def find_field(self, name: str, kind: pa.DataType, column: Column) -> Field | None:
        """Find it by the column's type and its limits."""
        return sqlserver_types.find_field(name, kind, column)

    def suggest_type(self, kind: pa.DataType) -> str | None:
        """Suggest a type that holds every value."""
        return sqlserver_types.suggest_type(kind)

    def exact_key(self, column: Column) -> str:
        """Return the text's type with a collation that compares code units."""
        plain, collates, _ = column.shown.partition(" COLLATE ")
        return f"{plain} COLLATE {sqlserver_types.EXACT}" if collates else ""

    def identify(self, connection: Connection, address: Address) -> str:
        """Name server and database by themselves, whatever address led to them."""
        del address
        ((server, database),) = self.ask(
            connection,
            "SELECT CAST(SERVERPROPERTY(N'ServerName') AS nvarchar(256)), DB_NAME()",
        )
        return f"sqlserver:{server}/{database}"

    def send(
        self, connection: Connection, batch: pa.RecordBatch, *, target: Target, into: str
    ) -> int:
        """Insert many rows by each statement, with parameters of the columns' types."""
        rows = list(zip(*values_of(target.fields, batch), strict=True))
        most = max(1, min(MOST_ROWS, MOST_VALUES // len(target.fields)))
        kinds = [_type_of(each.bound) for each in target.fields]
        head, row = self.inserted(target, into)
        head, row = head.replace("%", "%%"), row.replace("?", self.mark)
        taken = 0
        for start in range(0, len(rows), most):
            part = rows[start : start + most]
            given = [_param(*each) for one in part for each in zip(kinds, one, strict=True)]
            statement = head + ", ".join([row] * len(part))
            taken += self.run_marked(connection, statement, tuple(given))
        return taken

    def update(self, target: Target, *, newest: str, same: str, newer: str) -> str:
        """Update by a join, and not by MERGE, which needs HOLDLOCK and fires triggers otherwise."""
        changed = self.changed_columns(target)
        return (
            f"UPDATE t SET {changed} FROM {newest} s JOIN {target.name} t ON {same} WHERE {newer}"  # noqa: S608 - quoted
        )


def _resource(name: str) -> str:
    """Return as much of a lock's name as the server shows of it: its hash."""
    return name[-_TAKES_PART:]


def _type_of(declared: str) -> object:
    from pytds.tds_types import sql_type_by_declaration

    return sql_type_by_declaration(declared)


def _param(kind: object, value: object) -> object:
    from pytds.tds_base import Param

    return Param(type=kind, value=value)


DIALECT = SqlServer()
