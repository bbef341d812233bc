"""The ledger of a PostgreSQL table, opened from its spec: reads, fences and replaces a row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from holdfast.errors import HoldfastError
from holdfast.ledger.output import ExchangeOutput, KeepOutput
from holdfast.ledger.store import LedgerStore, Since, Unreadable
from holdfast.sinks.postgres.failures import NO_TABLE, ServerRefusedError, naming_refusals
from holdfast.sinks.postgres.session import Session
from holdfast.sinks.postgres.target import Table, quote_table

if TYPE_CHECKING:
    import psycopg
    from pyspark.sql import SparkSession

    from holdfast.ledger.output import Output
    from holdfast.ledger.row import LedgerRow
    from holdfast.sinks.postgres.sink import Postgres
    from holdfast.sinks.postgres.writers import Writers


def open_ledger(
    sink: Postgres, spark: SparkSession | None = None, *, options: Mapping[str, str] | None = None
) -> PostgresLedgerStore:
    """Open the ledger of a table; no session is needed."""
    del spark, options
    return PostgresLedgerStore(sink)


class PostgresLedgerStore(LedgerStore):
    """The ledger of one table. A row is found by the table's oid, whatever name it has."""

    def __init__(self, sink: Postgres, *, labels: Mapping[str, str] | None = None) -> None:
        """Connect to nothing yet.

        Args:
            sink: The table.
            labels: Names of rows that are known already, by stream.
        """
        self._sink = sink
        self.session = Session(sink.dsn)
        self.table: Table | None = None
        """As a start has found it, which then stays this one; None: looked up every time."""
        self._labels: dict[str, str] = dict(labels or {})

    @property
    def display_name(self) -> str:
        """The table as people know it; once a start has found it, with its schema."""
        return (
            f"the PostgreSQL table {self.table.display_name}"
            if self.table
            else self._sink.display_name
        )

    def label(self, stream: str) -> str:
        """Return the name of the row that the ledger has for this table."""
        return self._labels.get(stream) or self._sink.label

    def find_label(self, stream: str) -> str:
        """Ask the ledger for the name of its row; from then on it is the same."""
        from holdfast.sinks.postgres.ledger_rows import find_label

        if stream not in self._labels:
            table = self._find_table()
            found = table and self.session.ask(
                lambda connection: find_label(connection, stream, table.oid, name=self._sink.label)
            )
            if found:
                self._labels[stream] = found
        return self.label(stream)

    def read(self, stream: str) -> LedgerRow | Unreadable | None:
        """Return the row of a stream; None without one, also where the ledger has no tables yet."""
        try:
            with naming_refusals(self.display_name):
                self.find_label(stream)
                return self.read_row(stream)
        except HoldfastError as error:
            return None if has_no_tables(error) else Unreadable.by(error)

    def read_row(self, stream: str) -> LedgerRow | None:
        """Return the row of a stream.

        Raises:
            psycopg.Error: The server did not answer, or refused.
        """
        from holdfast.sinks.postgres.ledger_rows import read_row

        label = self.label(stream)
        return self.session.ask(lambda connection: read_row(connection, stream, label))

    def last_epoch(self, stream: str) -> int:
        """Return the highest epoch in the history of the stream and this table; 0 without one."""
        from holdfast.sinks.postgres.ledger_rows import last_epoch

        label = self.label(stream)
        try:
            with naming_refusals(self.display_name):
                return self.session.ask(lambda connection: last_epoch(connection, stream, label))
        except HoldfastError as error:
            if not has_no_tables(error):
                raise
            return 0

    def examine(self, row: LedgerRow) -> str | None:
        """Say what shows that the table was emptied or replaced; None if nothing does."""
        from holdfast.sinks.postgres.examine import examine

        with naming_refusals(self.display_name):
            table = self._named_table()
            return self.session.ask(lambda connection: examine(connection, row, table))

    def replace(self, old: LedgerRow | None, new: LedgerRow) -> bool:
        """Put a row in the place of another, or of none, and so fence the sink with its epoch."""
        from holdfast.sinks.postgres.examine import pin
        from holdfast.sinks.postgres.fence import take
        from holdfast.sinks.postgres.ledger_rows import replace_row

        with naming_refusals(self.display_name):
            connection, table = self.session.connection(), self._named_table()

            def replace_and_pin() -> bool:
                is_done = replace_row(connection, old, new, target=table.name)
                if is_done:
                    pin(connection, new, table)
                return is_done

            return take(connection, new, replace_and_pin)

    def correct(self, old: LedgerRow, new: LedgerRow) -> bool:
        """Set where the last batch ended, in a row of this driver's own."""
        from holdfast.sinks.postgres.examine import LOCK_TIMEOUT_MS
        from holdfast.sinks.postgres.ledger_rows import correct_row

        def correct(connection: psycopg.Connection) -> bool:
            with connection.transaction():
                connection.execute(f"SET LOCAL lock_timeout = {LOCK_TIMEOUT_MS}".encode())
                return correct_row(connection, old, new)

        with naming_refusals(self.display_name):
            return self.session.ask(correct)

    def settle(
        self, old: LedgerRow | None, new: LedgerRow, output: Output, *, seen: str | None = None
    ) -> bool:
        """Empty, exchange or keep the rows of the table, and set its row, in one transaction."""
        from holdfast.sinks.postgres.fence import take
        from holdfast.sinks.postgres.ledger_tables import ensure_tables
        from holdfast.sinks.postgres.settle import LedgerRowChangedError, Settling

        with naming_refusals(self.display_name):
            connection, table = self.session.connection(), self._named_table()
            ensure_tables(connection)
            settling = Settling(
                connection=connection, table=table, is_keyed=bool(self._sink.keys), seen=seen
            )
            try:
                take(connection, new, lambda: settling.settle(old, new, output))
            except LedgerRowChangedError:
                return False
        return True

    def since(self, stream: str, *, generation: int) -> Since:
        """Tell the rows of a generation from those of other writers, by their transactions."""
        with naming_refusals(self.display_name):
            self.find_label(stream)
            return self._find_writers(stream, generation).since

    def find_obstacle(self, new: LedgerRow, output: Output) -> str | None:
        """Say why the table could not be settled; what is tried is rolled back."""
        from holdfast.sinks.postgres.obstacles import Trial, find_ledger_obstacle

        with naming_refusals(self.display_name):
            barred = self.session.ask(find_ledger_obstacle)
            if barred is not None or isinstance(output, KeepOutput):
                return barred
            table, writers = self._find_table(), None
            if table is None:
                return f"{self.display_name} is gone."
            if isinstance(output, ExchangeOutput):
                self.find_label(new.stream)
                writers = self._find_writers(new.stream, output.generation)

            def look(connection: psycopg.Connection) -> str | None:
                trial = Trial(connection=connection, table=table, output=output, writers=writers)
                return trial.find_obstacle()

            return self.session.ask(look)

    def _find_writers(self, stream: str, generation: int) -> Writers:
        from holdfast.sinks.postgres.ledger_tables import VERSION, find_version
        from holdfast.sinks.postgres.writers import Life, Writers, find_writers

        table, label = self._named_table(), self.label(stream)
        keyed = bool(self._sink.keys)

        def find(connection: psycopg.Connection) -> Writers:
            if find_version(connection) != VERSION:
                why = "the ledger's tables are of an older version"
                return Writers(since=Since(unclear=why))
            life = Life(stream, label, generation)
            return find_writers(connection, table, life, is_keyed=keyed)

        return self.session.ask(find)

    def table_version(self, stream: str) -> str | None:
        """Return the table's storage and how many rows it has; None when there is no table."""
        del stream
        found = self._describe()
        return None if found is None else found[0]

    def count_rows(self) -> int | None:
        """Return how many rows the table has; None when there is no table."""
        found = self._describe()
        return None if found is None else found[1]

    def other_streams(self, stream: str) -> tuple[str, ...]:
        """Return the other streams that have a row for this table."""
        from holdfast.sinks.postgres.ledger_rows import find_other_streams

        with naming_refusals(self.display_name):
            table = self._find_table()
            if table is None:
                return ()
            return self.session.ask(
                lambda connection: find_other_streams(connection, stream, table.oid)
            )

    def _describe(self) -> tuple[str, int] | None:
        from holdfast.sinks.postgres.examine import LOCK_TIMEOUT_MS
        from holdfast.sinks.postgres.settle import describe_table

        with naming_refusals(self.display_name):
            table = self._find_table()
            if table is None:
                return None

            def describe(connection: psycopg.Connection) -> tuple[str, int]:
                with connection.transaction():  # a session can hold a lock on the table for ever
                    connection.execute(f"SET LOCAL lock_timeout = {LOCK_TIMEOUT_MS}".encode())
                    return describe_table(connection, table)

            return self.session.ask(describe)

    def fence(self, row: LedgerRow, *, epoch: int, nonce: str) -> LedgerRow | None:
        """Let only this epoch write from now on; None if the row is not this start's to take."""
        from holdfast.sinks.postgres.examine import pin
        from holdfast.sinks.postgres.fence import take
        from holdfast.sinks.postgres.ledger_rows import fence

        with naming_refusals(self.display_name):
            connection, table = self.session.connection(), self._named_table()

            def fence_and_pin() -> LedgerRow | None:
                fenced = fence(connection, row, epoch=epoch, nonce=nonce)
                if fenced is not None:
                    pin(connection, fenced, table)
                return fenced

            return take(connection, row, fence_and_pin)

    def close(self) -> None:
        """Close the connection; the next use makes a new one."""
        self.session.close()

    def _find_table(self) -> Table | None:
        """Return the table; None when there is none of this name."""
        return self.table or self.session.ask(self._look_up)

    def _look_up(self, connection: psycopg.Connection) -> Table | None:
        from holdfast.sinks.postgres.table import find_table

        return find_table(connection, self._sink.table)

    def _named_table(self) -> Table:
        """Return the table, or just its name when there is none."""
        name = quote_table(self._sink.table)
        return self._find_table() or Table(name=name, display_name=self._sink.table, storage="0/0")


def has_no_tables(error: HoldfastError) -> bool:
    """Return whether the ledger's tables were never created."""
    return isinstance(error, ServerRefusedError) and error.sqlstate in NO_TABLE
