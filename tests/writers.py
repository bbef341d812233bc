"""A sink as one start has it, for tests that write batches without a query."""

from __future__ import annotations

from typing import Any

import psycopg

from holdfast.sinks.postgres.ledger import PostgresLedgerStore
from holdfast.sinks.postgres.sink import Postgres
from holdfast.sinks.postgres.table import check_table
from holdfast.sinks.postgres.writer import Found, PostgresWriter
from holdfast.sinks.sink import SinkSpec


def open_writer(
    sink: SinkSpec, df: Any, *, stream: str = "readings", output_mode: str = "append"
) -> Any:
    """Resolve a sink and create what it lacks."""
    writer = sink.writer_for(df, stream=stream, output_mode=output_mode)
    writer.create()
    return writer


def postgres_writer(sink: Postgres, schema: Any, *, dsn: str) -> PostgresWriter:
    """Make a writer without Spark, and without using the sink's own connection."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        target = check_table(connection, sink.table, schema)
    ledger = PostgresLedgerStore(sink)
    ledger.table = target
    found = Found(ledger=ledger, target=target, identity="")
    return PostgresWriter(sink, found=found, spark=None, stream="readings")
