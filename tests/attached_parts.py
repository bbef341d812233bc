"""A table to which batches are attached, and tasks that copy into it without Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec
import psycopg
import pyarrow as pa

from holdfast.ledger import Decision
from holdfast.sinks.postgres.attach import AttachedParts, NewPart, drop_waiting
from holdfast.sinks.postgres.ledger_rows import replace_row
from holdfast.sinks.postgres.ledger_tables import ensure_tables
from holdfast.sinks.postgres.part_task import PartTask
from holdfast.sinks.postgres.table import check_attached
from holdfast.sinks.postgres.target import Target
from holdfast.sinks.postgres.task import raise_answered
from holdfast.sinks.postgres.write import write_batch
from tests.ledger_rows import ROW, attempt

SCHEMA = pa.schema([("id", pa.int64())])
CREATE = (
    "CREATE TABLE readings (id bigint, holdfast_part bigint NOT NULL)"
    " PARTITION BY LIST (holdfast_part)"
)
WAITING = "SELECT relname FROM pg_class WHERE relname LIKE 'hf_new_%' AND relkind = 'r' ORDER BY 1"
PARTITIONS = (
    "SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid"
    " WHERE i.inhparent = 'readings'::regclass ORDER BY 1"
)


def record_batch(ids: Iterable[int]) -> Any:
    return pa.record_batch([pa.array(list(ids), pa.int64())], schema=SCHEMA)


class Parted:
    """A table with an open ledger row, one connection, and a target that was checked."""

    def __init__(self, dsn: str, *, create: str = CREATE) -> None:
        self.dsn = dsn
        self.connection: psycopg.Connection[Any] = psycopg.connect(dsn, autocommit=True)
        ensure_tables(self.connection)
        self.connection.execute(create.encode())
        assert replace_row(self.connection, None, ROW, target="readings")
        self.target: Target = check_attached(self.connection, "readings", SCHEMA)

    def copy(self, *ids: int, number: int = 0, **changes: Any) -> NewPart:
        """Be one attempt of a task."""
        batches = iter([record_batch(ids)])
        return run_task(self.task(number, **changes), batches)

    def task(self, number: int = 0, **changes: Any) -> PartTask:
        of_batch = attempt(number, **changes)
        return PartTask(dsn=lambda: self.dsn, target=self.target, attempt=of_batch)

    def write(self, *parts: NewPart, number: int = 0, **changes: Any) -> Decision:
        """Be the driver, with the answers of the tasks."""
        of_batch = attempt(number, **changes)
        given = AttachedParts(parts)
        decision = write_batch(self.connection, self.target, of_batch, batches=given).decision
        drop_waiting(self.connection, self.target, of_batch)
        return decision

    def names(self, query: str) -> list[str]:
        return [name for (name,) in self.connection.execute(query.encode())]

    @property
    def ids(self) -> Counter[int]:
        return Counter(one for (one,) in self.connection.execute("SELECT id FROM readings"))


def run_task(task: PartTask, batches: Any) -> NewPart:
    """Run a task, and return what it answers."""
    (answer,) = task(batches)
    said = str(answer["said"][0].as_py())
    raise_answered(said)
    return msgspec.json.decode(said, type=NewPart)


def stage_here(batch: Any, task: PartTask, *, parallel: int, dsn: str) -> list[NewPart]:
    """Stand for Spark: run a task for each record batch, over a way of its own to the server."""
    del parallel
    there = msgspec.structs.replace(task, dsn=lambda: dsn)
    return [run_task(there, iter([each])) for each in batch]
