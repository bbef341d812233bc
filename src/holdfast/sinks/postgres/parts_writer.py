"""Writes the batches of one start into a PostgreSQL table, when tasks bring them in parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, cast

from holdfast.ledger.decide import Decision
from holdfast.sinks.failures import TableError
from holdfast.sinks.parts import PartsWriter, StagedPart
from holdfast.sinks.postgres.failures import naming_refusals
from holdfast.sinks.postgres.ledger import PostgresLedgerStore
from holdfast.sinks.postgres.parts import (
    Parts,
    Stage,
    drop_tables,
    ensure_schema,
    find_dead,
)
from holdfast.sinks.postgres.writer import Found, PostgresWriter, find_target

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from holdfast.ledger.row import Attempt
    from holdfast.sinks.postgres.sink import Postgres
    from holdfast.sinks.sink import BeforeCommit

_RULES = """\
SELECT EXISTS (SELECT FROM pg_rewrite w WHERE w.ev_class = to_regclass(%s) AND w.ev_type = '3')"""


@contextmanager
def open_parts(sink: Postgres, schema: pa.Schema, stream: str) -> Iterator[PostgresPartsWriter]:
    """Give what writes batches of this schema, once the table takes them.

    Raises:
        HoldfastError: On entering, when the table does not take the rows, or cannot be reached.
    """
    found = find_target(sink, schema, stream)
    writer = PostgresPartsWriter(sink, found=found, spark=None, stream=stream)
    try:
        yield writer
    finally:
        writer.close()


@contextmanager
def reopen_parts(sink: Postgres, stage: Stage) -> Iterator[PostgresPartsWriter]:
    """Give what writes a batch that was staged: for the table as it was when it was staged.

    Nothing is asked here: whether the table is still that one is seen under its lock.
    """
    ledger = PostgresLedgerStore(sink, labels={stage.stream: stage.sink})
    ledger.table = stage.target
    found = Found(ledger=ledger, target=stage.target, identity="")
    writer = PostgresPartsWriter(sink, found=found, spark=None, stream=stage.stream)
    try:
        yield writer
    finally:
        writer.close()


class PostgresPartsWriter(PostgresWriter, PartsWriter):
    """One start's connection to one table, which tasks stage rows for."""

    def create(self) -> None:
        """Create what is missing: the ledger's tables, and the schema for staged rows.

        Raises:
            TableError: The table has rules, which staged rows would go through.
        """
        super().create()
        connection = self._ledger.session.connection()
        with naming_refusals(self.display_name):
            ensure_schema(connection, self.display_name)
            found = connection.execute(_RULES, (self.target.name,)).fetchone()
        if found and found[0]:
            why = "It has rules on INSERT, which change what staged rows become."
            sql = "-- drop the rules (see pg_rules), or start the stream with hf.start"
            raise TableError(self.target.display_name, why=why, sql=sql)

    def stage(self, stream: str, *, epoch: int) -> Stage:
        """Return what the tasks of one start stage their rows with."""
        return Stage(
            dsn=self._sink.dsn, target=self.target, stream=stream, sink=self.name, epoch=epoch
        )

    def drop_stages(self, names: Iterable[str]) -> None:
        """Drop staged tables by their names."""
        drop_tables(self._ledger.session.connection(), names)

    def drop_dead(self, stream: str, *, epoch: int, batch: int = -1) -> None:
        """Drop what no transaction can take any more: see `find_dead`."""
        connection = self._ledger.session.connection()
        dead = find_dead(connection, stream, self.name, epoch=epoch, batch=batch)
        drop_tables(connection, dead)

    def write_parts(
        self, attempt: Attempt, parts: Sequence[StagedPart], *, before_commit: BeforeCommit
    ) -> Decision:
        """Decide about a batch, and write its parts when it is to be applied.

        Tried again, and settled by the ledger, as a batch of `write` is.
        """
        return self.write(attempt, cast("DataFrame", Parts(parts)), before_commit=before_commit)

    def _write_new(
        self, attempt: Attempt, batch: DataFrame, before_commit: BeforeCommit
    ) -> Decision:
        return self._commit(attempt, nullcontext(cast("Parts", batch)), before_commit)
