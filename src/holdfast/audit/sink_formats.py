"""What is known of sinks by their format: as the sink of a query, and written to in foreachBatch.

A format that is not listed is not known, and never called safe.
"""

from __future__ import annotations

from typing import NamedTuple

from holdfast.audit.sink_judgement import KnownBy
from holdfast.grades import Effect, Recognises
from holdfast.lint.queries import FILE_FORMATS

USE_BATCH_IDENTITY = (
    "Use hf.start with hf.Delta or hf.Postgres, a MERGE on a unique key, or Delta's txnAppId and "
    "txnVersion."
)
_KAFKA = (
    "Let consumers drop duplicates by an id that is part of the message, or write to Delta or "
    "PostgreSQL with hf.start."
)
_BY_KEY = "The rows are written by key: a repeated batch replaces them, if"


class Known(NamedTuple):
    """What one format does with a batch that is written again."""

    recognises: Recognises
    why: str
    known_by: KnownBy = KnownBy.NOTHING
    effect: Effect | None = None
    change: str | None = None


_DELTA = Known(
    Recognises.YES,
    "Delta's log holds the query id and the batch number of each commit.",
    KnownBy.QUERY,
)
_FILES = Known(
    Recognises.YES,
    "The file sink's log, _spark_metadata, holds the batch number; readers must use that log.",
    KnownBy.NUMBER,
)
_MESSAGES = Known(
    Recognises.NO,
    "Messages that were sent stay: a repeated batch is sent a second time.",
    change=_KAFKA,
)
_ICEBERG = Known(
    Recognises.YES,
    "Iceberg's snapshots hold the query id and the epoch, until the snapshot expires.",
    KnownBy.QUERY,
)
_CASSANDRA = Known(
    Recognises.DEPENDS,
    f"{_BY_KEY} the primary key of the table has no generated column.",
    KnownBy.KEY,
)
_MONGO = Known(
    Recognises.DEPENDS,
    f"{_BY_KEY} _id or idFieldList names columns that are the same in every attempt.",
    KnownBy.KEY,
)
_ELASTIC = Known(
    Recognises.DEPENDS,
    f"{_BY_KEY} es.mapping.id names a column that is the same in every attempt.",
    KnownBy.KEY,
)
_HUDI = Known(
    Recognises.DEPENDS,
    f"{_BY_KEY} the operation is an upsert and the record key is unique.",
    KnownBy.KEY,
)
_REDIS = Known(
    Recognises.DEPENDS, f"{_BY_KEY} key.column names a column that is unique.", KnownBy.KEY
)
_COSMOS = Known(Recognises.DEPENDS, f"{_BY_KEY} id is the same in every attempt.", KnownBy.KEY)
_BIGQUERY = Known(
    Recognises.NO,
    "The connector remembers the last batch in memory only: after a kill it appends it again.",
    change=USE_BATCH_IDENTITY,
)
_NOT_STREAMED = Known(
    Recognises.NOT_KNOWN,
    "Spark's JDBC source does not support streaming writes: the query does not start.",
    effect=Effect.FAILS,
    change="Write to it in hf.start with hf.Postgres, or in foreachBatch with an upsert.",
)
_OF_TABLE = Known(
    Recognises.DEPENDS,
    "The format is that of the table: Delta, Iceberg and file tables recognise a batch.",
    KnownBy.QUERY,
)
NATIVE: dict[str, Known] = {
    "delta": _DELTA,
    **dict.fromkeys(FILE_FORMATS, _FILES),
    **dict.fromkeys(
        ("kafka", "eventhubs", "kinesis", "aws-kinesis", "pulsar", "pubsub", "eventgrid"), _MESSAGES
    ),
    "iceberg": _ICEBERG,
    "org.apache.spark.sql.cassandra": _CASSANDRA,
    **dict.fromkeys(("mongodb", "mongo", "com.mongodb.spark.sql.defaultsource"), _MONGO),
    **dict.fromkeys(("es", "org.elasticsearch.spark.sql", "elasticsearch"), _ELASTIC),
    **dict.fromkeys(("hudi", "org.apache.hudi"), _HUDI),
    **dict.fromkeys(("redis", "org.apache.spark.sql.redis"), _REDIS),
    "cosmos.oltp": _COSMOS,
    **dict.fromkeys(("bigquery", "com.google.cloud.spark.bigquery"), _BIGQUERY),
    "jdbc": _NOT_STREAMED,
    "table": _OF_TABLE,
}
"""Sinks of a query itself."""
_APPENDED = Known(
    Recognises.NO,
    "The batch is appended, and nothing recognises one that is already there.",
    change=USE_BATCH_IDENTITY,
)
IN_BATCH: dict[str, Known] = {
    **dict.fromkeys(
        (
            *(
                "delta",
                "iceberg",
                "table",
                "jdbc",
                "sql",
                "com.databricks.spark.csv",
                *FILE_FORMATS,
            ),
            *("snowflake", "net.snowflake.spark.snowflake", "bigquery", "redshift", "clickhouse"),
            *(
                "com.google.cloud.spark.bigquery",
                "io.github.spark_redshift_community.spark.redshift",
            ),
        ),
        _APPENDED,
    ),
    **{
        name: known
        for name, known in NATIVE.items()
        if known in (_MESSAGES, _CASSANDRA, _MONGO, _ELASTIC, _HUDI, _REDIS, _COSMOS)
    },
}
"""What a function of foreachBatch appends to."""
TAKES_TRANSACTION_ID = frozenset({"delta", "table"})
"""Formats for which an option can name the batch: of others no option does."""
