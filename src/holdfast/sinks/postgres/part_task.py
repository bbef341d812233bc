"""The task that copies its rows of a batch into a table of its own (P1, P2 of `attach`).

What it has committed counts only by its answer, which Spark passes on when the whole task has
succeeded: a task whose input has failed, or that was given up, has none. So every attempt has a
table with a name that nobody else has, and one that commits late leaves a table that is dropped.

On the executors this needs pyarrow, psycopg and Holdfast itself, and the DSN where it is said to
be; nothing else is imported here.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

import msgspec

from holdfast.sinks.postgres.attach import NewPart, table_for
from holdfast.sinks.postgres.failures import DroppedRowsError, is_gone, refusal_of
from holdfast.sinks.postgres.fence import session_name
from holdfast.sinks.postgres.task import answer_of, raise_answered
from holdfast.sinks.postgres.write import (
    IDLE_TIMEOUT_MS,
    LOCK_TIMEOUT_MS,
    copy_rows,
    encode_rows,
)
from holdfast.sinks.secrets import Secret, shown_name

if TYPE_CHECKING:
    import psycopg
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from holdfast.ledger.row import Attempt
    from holdfast.sinks.postgres.target import Target

_HIGHEST = 2**63 - 1
_FILE = "SELECT oid || '/' || relfilenode FROM pg_class WHERE oid = to_regclass(%s)"


def stage_in_tasks(batch: DataFrame, task: PartTask, *, parallel: int) -> list[NewPart]:
    """Copy a batch by so many tasks at most; return what each has made of its rows.

    Raises:
        PySparkException: A task failed; nothing of the batch is in the table.
        HoldfastError: What a task raised.
    """
    answers = batch.coalesce(parallel).mapInArrow(task, "said string").collect()
    for answer in answers:
        raise_answered(answer.said)
    return [msgspec.json.decode(answer.said, type=NewPart) for answer in answers]


class PartTask(msgspec.Struct, frozen=True, kw_only=True):
    """What a task needs to copy its rows; sent to the executor."""

    dsn: Secret
    target: Target
    attempt: Attempt

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Copy the rows, and give back one row: where they are."""
        import pyarrow as pa

        given = iter(batches)
        said = answer_of(lambda: msgspec.json.encode(self._stage(given)).decode(), by_driver=True)
        for _ in given:  # Spark computes a batch to its end, whoever writes it
            pass
        yield pa.RecordBatch.from_pydict({"said": [said]})

    def _stage(self, batches: Iterator[pa.RecordBatch]) -> NewPart:
        first = next((each for each in batches if each.num_rows), None)
        if first is None:
            return NewPart(rows=0)

        from psycopg import Error

        from holdfast.sinks.postgres.connect import CLOSED, ConnectError, connect

        # Two batches with one value would overlap, which ATTACH refuses: nothing is lost by it.
        value = 1 + secrets.randbelow(_HIGHEST)
        with connect(self.dsn) as connection:
            try:
                with connection.transaction():
                    return self._copy(connection, chain([first], batches), value=value)
            except Error as error:
                if is_gone(connection, error):  # whatever it has committed is not in an answer
                    raise ConnectError(shown_name(self.dsn), CLOSED) from None
                shown = self.target.display_name
                raise refusal_of(error, shown, self.attempt.batch_id) from error

    def _copy(
        self, connection: psycopg.Connection, batches: Iterable[pa.RecordBatch], *, value: int
    ) -> NewPart:
        name = session_name(self.attempt.stream, self.attempt.sink)
        table, create = table_for(self.target, self.attempt, value)
        connection.execute(
            "SET LOCAL transaction_isolation = 'read committed';"
            " SET LOCAL client_encoding = 'UTF8';"
            f" SET LOCAL lock_timeout = {LOCK_TIMEOUT_MS};"
            f" SET LOCAL idle_in_transaction_session_timeout = {IDLE_TIMEOUT_MS};"
            f" SET LOCAL application_name = '{name}'; {create}".encode()
        )
        number = self.attempt.batch_id
        pieces = ((encode_rows(self.target, each, number), each.num_rows) for each in batches)
        with connection.cursor() as cursor:
            rows = copy_rows(cursor, self.target, pieces, into=table)
            if cursor.rowcount != rows:
                raise DroppedRowsError(self.target.display_name, rows - cursor.rowcount)
        (file,) = connection.execute(_FILE, (table,)).fetchone() or ("",)
        return NewPart(rows=rows, value=value, file=file)
