"""What a kind of database does in its own way; everything else of the sink is the same for all."""

from __future__ import annotations

import importlib
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from holdfast.complete import StrictABC

if TYPE_CHECKING:
    import pyarrow as pa

    from holdfast.sinks.database.failures import Trouble
    from holdfast.sinks.database.target import Column, Field, Found, Row, Target
    from holdfast.sinks.database.url import Address

Connection = Any
"""Of DB-API 2, that commits each statement by itself unless BEGIN was said."""
Cursor = Any
"""Of such a connection."""
BATCH, NEWEST = "holdfast_batch", "holdfast_newest"
"""Temporary tables of a merge: the rows of a batch, and those of them that are the newest."""


class Dialect(StrictABC, abstract=True):
    """A kind of database. Has no state: connections are handed in."""

    product: ClassVar[str]
    """As people know it."""
    extra: ClassVar[str]
    """The extra that brings its driver."""
    module: ClassVar[str]
    """Its driver."""
    mark: ClassVar[str]
    """What stands for a value in a statement."""
    isolation: ClassVar[str]
    """Which isolation the protocol needs of it, and why that suffices."""
    copies_rows: ClassVar[str] = "CREATE TABLE {kept} LIKE {name}"
    """Makes an empty table for rows of another."""
    long_text: ClassVar[str] = "text"
    """The type of a text of any length."""
    table_options: ClassVar[str] = ""
    """What follows the definition of a table of ours."""
    creates: ClassVar[str] = "CREATE TABLE IF NOT EXISTS"
    """Begins the definition of a table of ours."""
    short_text: ClassVar[str] = "varchar({})"
    """The type of a text of so many characters."""
    whole_number: ClassVar[str] = "bigint"
    """The type of a number of rows."""
    locked_row: ClassVar[str] = "{table} {where} FOR UPDATE"
    """Reads a row that nobody else changes until the transaction ends."""
    locks_copied: ClassVar[str] = " FOR UPDATE"
    """What keeps rows as they are while they are copied; empty where `touch` does."""
    of_nothing: ClassVar[str] = ""
    """What follows a SELECT of no table."""
    adds: ClassVar[str] = "ALTER TABLE {table} ADD COLUMN {column} {kind};"
    retypes: ClassVar[str] = "ALTER TABLE {table} MODIFY {column} {kind};"
    batch: ClassVar[str] = BATCH
    newest: ClassVar[str] = NEWEST
    """The temporary tables of a merge, as this database names them."""
    never_run: ClassVar[bool] = False
    """Whether it was written from documentation, and no server has ever seen it."""

    longest_sorted: ClassVar[int | None] = None
    """How many bytes of a value are sorted by; None: all of them."""

    @abstractmethod
    def connect(self, address: Address) -> Connection:
        """Return a new connection, set up so that values are exact or refused."""

    @abstractmethod
    def trouble_of(self, error: Exception) -> Trouble | None:
        """Return what an error of the driver means; None if it is none of the driver's."""

    @property
    @abstractmethod
    def errors(self) -> tuple[type[Exception], ...]:
        """What the driver raises, and what breaks below it."""

    @abstractmethod
    def why_not_connected(self, error: Exception) -> tuple[str, bool]:
        """Say why there is no connection, in words that hold nothing of the URL.

        The second value is whether it may be there later.
        """

    @abstractmethod
    def quote(self, name: str) -> str:
        """Return an identifier that can be nothing else."""

    def quote_table(self, table: str) -> str:
        """Return a table's name, quoted part by part."""
        return ".".join(map(self.quote, table.split(".", 1)))

    def own_name(self, name: str) -> str:
        """Return how the catalogue has a name of ours, which statements have without quotes."""
        return name

    @abstractmethod
    def begin(self, connection: Connection, *, is_reading: bool = False) -> None:
        """Begin a transaction; one that reads sees one moment of the database throughout."""

    @abstractmethod
    def held(
        self, connection: Connection, name: str, *, ends_others: bool
    ) -> AbstractContextManager[None]:
        """Be the only session that writes a stream into a sink, as long as the context lasts.

        Args:
            connection: Not in a transaction.
            name: Of the stream in the sink.
            ends_others: Whether a session that keeps it for too long is ended.
        """

    def find_replaced(self, connection: Connection) -> str:
        """Say that a connection leads to another database than its address by now; empty if not."""
        del connection
        return ""

    @abstractmethod
    def touch(self, name: str) -> str:
        """Return the statement after which a table stays as it is until the transaction ends."""

    @abstractmethod
    def find(self, connection: Connection, table: str) -> Found | None:
        """Return what there is to know of a table; None when there is none of this name."""

    @abstractmethod
    def find_effect(self, connection: Connection, table: str, *, deletes: bool) -> str | None:
        """Say what else happens to rows when some of a table are moved; None if nothing does.

        Args:
            connection: To look with.
            table: As the user has named it.
            deletes: Whether rows are deleted too, and not only inserted.
        """

    @abstractmethod
    def find_field(self, name: str, kind: pa.DataType, column: Column) -> Field | None:
        """Return how values of an Arrow type are written into a column; None when not."""

    @abstractmethod
    def suggest_type(self, kind: pa.DataType) -> str | None:
        """Return the type that a column of this Arrow type wants; None for none."""

    @abstractmethod
    def identify(self, connection: Connection, address: Address) -> str:
        """Return what is the same through every address that leads to the database."""

    def warnings(self, connection: Connection) -> tuple[str, ...]:
        """Return what people should know of the server."""
        del connection
        return ()

    @abstractmethod
    def send(
        self, connection: Connection, batch: pa.RecordBatch, *, target: Target, into: str
    ) -> int:
        """Write the rows of a record batch into a table; return how many it has taken.

        Raises:
            InexactError: A value cannot be written as it is.
            InexactRowsError: The server has changed something, by its own count of warnings.
        """

    def is_same_type(self, column: Column, other: Column) -> bool:
        """Return whether a column holds just the values of another."""
        return column.shown == other.shown

    def exact_key(self, column: Column) -> str:
        """Return the type of a text that compares bytes, for one that does not; empty for none."""
        if not column.collation:
            return ""
        return f"{column.shown} CHARACTER SET {column.charset} COLLATE {column.charset}_bin"

    @abstractmethod
    def stage(self, target: Target) -> Sequence[str]:
        """Return the statements that make the temporary tables of a merge, empty."""

    @abstractmethod
    def update(self, target: Target, *, newest: str, same: str, newer: str) -> str:
        """Return the statement that updates the rows `t` from the newest ones `s`."""

    def changed_columns(self, target: Target) -> str:
        """Return what an UPDATE of `t` from `s` sets: every column that is no key."""
        return ", ".join(
            f"t.{self.quote(each)} = s.{self.quote(each)}"
            for each in target.columns
            if each not in target.keys
        )

    def is_same_key(self, column: str) -> str:
        """Return whether keys of `s` and `t` are equal, as the unique index compares them."""
        return f"t.{column} = s.{column}"

    @abstractmethod
    def version(self, connection: Connection, name: str) -> str:
        """Return what tells a table's content apart; reads the whole table."""

    @abstractmethod
    def selected(self, column: Column) -> str:
        """Return the expression that reads a column exactly."""

    @abstractmethod
    def rows(self, connection: Connection, statement: str) -> Iterator[list[Row]]:
        """Yield the rows of a SELECT, many at a time, without holding all of them."""

    def ask(
        self, connection: Connection, statement: str, values: Iterable[object] = ()
    ) -> list[Row]:
        """Run a statement, and return what it gives."""
        cursor = connection.cursor()
        try:
            cursor.execute(*self.marked(statement, tuple(values)))
            found = list(cursor.fetchall()) if cursor.description else []
            self.drain(cursor)
            return found
        finally:
            cursor.close()

    def run(self, connection: Connection, statement: str, values: Iterable[object] = ()) -> int:
        """Run a statement, and return how many rows it has changed."""
        return self.run_marked(connection, *self.marked(statement, tuple(values)))

    def run_marked(self, connection: Connection, *marked: object) -> int:
        """Run a statement that has the driver's own marks, with its values."""
        cursor = connection.cursor()
        try:
            cursor.execute(*marked)
            changed = int(cursor.rowcount)
            self.drain(cursor)
            return changed
        finally:
            cursor.close()

    def drain(self, cursor: Cursor) -> None:
        """Read what else the server has answered, where the driver does not by itself."""
        del cursor

    def marked(self, statement: str, values: tuple[object, ...]) -> tuple[object, ...]:
        """Return what is run; without values a driver takes it as it is, with a % in a name."""
        if not values:
            return (statement,)
        if self.mark != "?":
            statement = statement.replace("%", "%%").replace("?", self.mark)
        return statement, values

    @contextmanager
    def transaction(self, connection: Connection, *, is_reading: bool = False) -> Iterator[None]:
        """Run a transaction; what is raised inside, or by COMMIT itself, takes everything back.

        A transaction whose COMMIT has failed can still be open (SQLite, while somebody reads): the
        ledger would be read in it, and say that the batch is there.
        """
        self.begin(connection, is_reading=is_reading)
        try:
            yield
            self.commit(connection)
        except BaseException:
            self._take_back(connection)
            raise

    def commit(self, connection: Connection) -> None:
        """Commit the transaction."""
        self.run(connection, "COMMIT")

    def roll_back(self, connection: Connection) -> None:
        """Take the transaction back; nothing if there is none any more."""
        self.run(connection, "ROLLBACK")

    def _take_back(self, connection: Connection) -> None:
        try:
            self.roll_back(connection)
        except self.errors as error:
            if self.trouble_of(error) is None:
                raise
            connection.close()  # the server takes it back when the session is gone


def dialect_of(address: Address) -> Dialect:
    """Return the dialect of an address."""
    module = importlib.import_module(f"holdfast.sinks.database.{address.dialect}")
    found: Dialect = module.DIALECT
    return found
