"""MariaDB and MySQL, by PyMySQL: a driver in pure Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar

from holdfast.sinks.database import mariadb_errors, mariadb_send, mariadb_tables, mariadb_types
from holdfast.sinks.database.dialect import BATCH, NEWEST, Connection, Dialect

if TYPE_CHECKING:
    import pyarrow as pa

    from holdfast.sinks.database.failures import Trouble
    from holdfast.sinks.database.target import Column, Field, Found, Row, Target
    from holdfast.sinks.database.url import Address

PORT = 3306
CONNECT_TIMEOUT_S, READ_TIMEOUT_S = 10, 300
HOLD_S = 2
"""How long a fence waits for a session before it ends it."""
WAIT_S = 60
TRIES = 15
ROWS_AT_ONCE = 10_000
_SETTINGS = {
    "sql_mode": "'STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,"
    "NO_ENGINE_SUBSTITUTION,NO_AUTO_VALUE_ON_ZERO'",
    "time_zone": "'+00:00'",
    "innodb_lock_wait_timeout": "50",
    "lock_wait_timeout": "50",
    "completion_type": "'NO_CHAIN'",
    "foreign_key_checks": "1",
    "unique_checks": "1",
    "sql_notes": "1",
    "sql_safe_updates": "0",
    "sql_auto_is_null": "0",
    "sql_select_limit": "18446744073709551615",
    "max_sort_length": "65536",  # 1,024 otherwise, and what is longer counts for equal
    "sort_buffer_size": "33554432",  # or error 1038, with long values
}
"""Of a session: what the server's or the user's own settings would decide otherwise."""


class MariaDb(Dialect):
    """MariaDB and MySQL."""

    product: ClassVar[str] = "MariaDB"
    extra: ClassVar[str] = "mysql"
    module: ClassVar[str] = "pymysql"
    mark: ClassVar[str] = "%s"
    isolation: ClassVar[str] = (
        "READ COMMITTED: the ledger row is read FOR UPDATE, which sees the newest commit, and a "
        "session of the stream holds a lock of its name until its transaction has ended"
    )
    long_text: ClassVar[str] = "longtext"
    longest_sorted: ClassVar[int | None] = 16_384  # up to four bytes for one, by a collation
    table_options: ClassVar[str] = "ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin"

    def connect(self, address: Address) -> Connection:
        """Connect, and have the session refuse what it would otherwise change."""
        import pymysql
        from pymysql.constants import CLIENT

        given = address.options
        files = ("ssl_ca", "ssl_cert", "ssl_key")
        tls: dict[str, object] = {name: given[name] for name in files if name in given}
        if address.is_on("ssl_verify_identity"):
            tls["ssl_verify_identity"] = True
        connect: Callable[..., Connection] = pymysql.connect  # with values that are known only here
        connection = connect(
            host=address.host,
            port=address.port or PORT,
            user=address.user,
            password=address.password,
            database=address.database,
            unix_socket=given.get("unix_socket"),
            charset="utf8mb4",
            autocommit=True,
            client_flag=CLIENT.FOUND_ROWS,
            local_infile=address.is_on("local_infile"),
            connect_timeout=address.seconds("connect_timeout", CONNECT_TIMEOUT_S),
            read_timeout=address.seconds("read_timeout", READ_TIMEOUT_S),
            write_timeout=address.seconds("read_timeout", READ_TIMEOUT_S),
            **tls,
        )
        settings = ", ".join(f"SESSION {name} = {value}" for name, value in _SETTINGS.items())
        self.run(connection, f"SET {settings}")
        self.run(connection, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE")
        return connection

    def trouble_of(self, error: Exception) -> Trouble | None:
        """Return what an error of PyMySQL means."""
        return mariadb_errors.trouble_of(error)

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """What PyMySQL raises, and what its socket does."""
        from pymysql.err import Error

        return Error, OSError, EOFError

    def why_not_connected(self, error: Exception) -> tuple[str, bool]:
        """Say it by the server's number."""
        return mariadb_errors.why_not_connected(error)

    def quote(self, name: str) -> str:
        """Quote with backticks."""
        return "`" + name.replace("`", "``") + "`"

    def begin(self, connection: Connection, *, is_reading: bool = False) -> None:
        """Begin; a snapshot is taken at once."""
        if is_reading:
            self.run(connection, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            self.run(connection, "START TRANSACTION WITH CONSISTENT SNAPSHOT")
        else:
            self.run(connection, "START TRANSACTION")

    @contextmanager
    def held(self, connection: Connection, name: str, *, ends_others: bool) -> Iterator[None]:
        """Hold the lock of a name, which ends with the session.

        The ledger row alone does not say whose session has locked it, and a driver that is paused
        inside its transaction keeps it for ever. Who holds a lock of a name is told to anybody,
        and a user may end sessions of the same user.
        """
        self._hold(connection, name, ends_others=ends_others)
        try:
            yield
        finally:
            self._let_go(connection, name)

    def _hold(self, connection: Connection, name: str, *, ends_others: bool) -> None:
        from pymysql.err import OperationalError

        for _ in range(TRIES):
            wait = HOLD_S if ends_others else WAIT_S
            ((got, holder),) = self.ask(
                connection, "SELECT GET_LOCK(?, ?), IS_USED_LOCK(?)", (name, wait, name)
            )
            if got == 1:
                return
            if not ends_others:
                break
            if holder is not None:
                mariadb_errors.end_session(connection, int(holder))
        raise OperationalError(mariadb_errors.LOCK_WAIT, "")

    def _let_go(self, connection: Connection, name: str) -> None:
        try:
            self.ask(connection, "SELECT RELEASE_LOCK(?)", (name,))
        except self.errors as error:
            if self.trouble_of(error) is None:
                raise
            connection.close()  # with the session its locks end

    def touch(self, name: str) -> str:
        """Read nothing of it: from then on no statement alters, empties or drops it."""
        return f"SELECT 1 FROM {name} LIMIT 0"  # noqa: S608 - quoted

    def find(self, connection: Connection, table: str) -> Found | None:
        """Read the server's catalogue."""
        return mariadb_tables.find(self, connection, table)

    def find_effect(self, connection: Connection, table: str, *, deletes: bool) -> str | None:
        """Read foreign keys and triggers from the server's catalogue."""
        return mariadb_tables.find_effect(self, connection, table, deletes=deletes)

    def find_field(self, name: str, kind: pa.DataType, column: Column) -> Field | None:
        """Find it by the column's type and its limits."""
        return mariadb_types.find_field(name, kind, column)

    def suggest_type(self, kind: pa.DataType) -> str | None:
        """Suggest a type that holds every value."""
        return mariadb_types.suggest_type(kind)

    def identify(self, connection: Connection, address: Address) -> str:
        """Name the server by itself, whatever address led to it."""
        del address
        ((host, port, data),) = self.ask(connection, "SELECT @@hostname, @@port, @@datadir")
        return f"mariadb:{host}:{port}{data}"

    def warnings(self, connection: Connection) -> tuple[str, ...]:
        """Say what a crash of the server can take."""
        ((flushes,),) = self.ask(connection, "SELECT @@innodb_flush_log_at_trx_commit")
        if int(flushes) == 1:
            return ()
        return (
            f"innodb_flush_log_at_trx_commit is {flushes}: a crash of the server can take the last "
            "batches, together with their ledger rows; the next start says so",
        )

    def send(
        self, connection: Connection, batch: pa.RecordBatch, *, target: Target, into: str
    ) -> int:
        """Send it by LOAD DATA where both sides allow it, else by INSERT."""
        return mariadb_send.send(self, connection, batch, target=target, into=into)

    def stage(self, target: Target) -> Sequence[str]:
        """Make them before BEGIN: what creates a table ends a transaction."""
        columns = ", ".join(map(self.quote, target.columns))
        made = f"AS SELECT {columns} FROM {target.name} LIMIT 0"  # noqa: S608 - quoted
        return [
            statement
            for each in (BATCH, NEWEST)
            for statement in (
                f"DROP TEMPORARY TABLE IF EXISTS {each}",
                f"CREATE TEMPORARY TABLE {each} ENGINE=InnoDB {made}",
            )
        ]

    def update(self, target: Target, *, newest: str, same: str, newer: str) -> str:
        """Update by a join: the condition is read before anything is assigned."""
        changed = self.changed_columns(target)
        return f"UPDATE {newest} s JOIN {target.name} t ON {same} SET {changed} WHERE {newer}"  # noqa: S608 - quoted

    def version(self, connection: Connection, name: str) -> str:
        """Have the server read all rows."""
        ((rows,),) = self.ask(connection, f"SELECT count(*) FROM {name}")  # noqa: S608 - quoted
        ((_, checksum),) = self.ask(connection, f"CHECKSUM TABLE {name}")
        return f"{rows} rows {checksum}"

    def selected(self, column: Column) -> str:
        """Read a FLOAT as a DOUBLE: as it is, the server rounds it to six digits."""
        name = self.quote(column.name)
        return f"CAST({name} AS DOUBLE)" if column.kind == "float" else name

    def rows(self, connection: Connection, statement: str) -> Iterator[list[Row]]:
        """Read them as the server sends them."""
        from pymysql.cursors import SSCursor

        with connection.cursor(SSCursor) as cursor:
            cursor.execute(statement)
            while found := cursor.fetchmany(ROWS_AT_ONCE):
                yield list(found)


DIALECT = MariaDb()
