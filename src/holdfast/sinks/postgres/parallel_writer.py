"""Writes the batches of one start into a PostgreSQL table by several tasks at once."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

from holdfast.ledger.decide import Decision, Refuse
from holdfast.sinks.postgres.writer import PostgresWriter, find_target

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from holdfast.ledger.row import Attempt
    from holdfast.sinks.postgres.sink import Postgres
    from holdfast.sinks.sink import BeforeCommit


def resolve_writer(sink: Postgres, df: DataFrame, stream: str) -> ParallelWriter:
    """Do as `writer.resolve_writer`, and look on the executors for what tasks need there.

    Raises:
        HoldfastError: The table does not take the rows, the database cannot be used, or executors
            lack something.
    """
    from holdfast.sinks.arrow_columns import find_schema

    found = find_target(sink, find_schema(df, sink.table), stream)

    from holdfast.sinks.postgres.large import check_executors

    with found.ledger.session.closing_on_error():
        check_executors(df.sparkSession, sink.dsn, found.ledger.display_name)
    return ParallelWriter(sink, found=found, spark=None, stream=stream)


class ParallelWriter(PostgresWriter):
    """One start's connection to one table, to which batches are attached as partitions."""

    def _write_new(
        self, attempt: Attempt, batch: DataFrame, before_commit: BeforeCommit
    ) -> Decision:
        from holdfast.sinks.postgres.attach import AttachedParts, drop_waiting
        from holdfast.sinks.postgres.part_task import PartTask, stage_in_tasks

        before_commit(0)
        task = PartTask(dsn=self._sink.dsn, target=self.target, attempt=attempt)
        parts = stage_in_tasks(batch, task, parallel=self._sink.parallel or 1)
        session = self._ledger.session
        # It was idle meanwhile, and may be gone: that is no reason to copy again.
        session.ask(lambda connection: connection.execute("SELECT 1"))
        connection = session.connection()
        decision = self._commit(attempt, nullcontext(AttachedParts(parts)), before_commit)
        if not isinstance(decision, Refuse):
            drop_waiting(connection, self.target, attempt)
        return decision
