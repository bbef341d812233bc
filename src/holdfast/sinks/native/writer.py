"""One start of a stream into one of Spark's own sinks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.errors import ConfigError
from holdfast.sinks.session import place_of, reader_of
from holdfast.sinks.sink import SinkWriter
from holdfast.spark.errors import spark_errors
from holdfast.storage.location import Location, parse_location, spark_location

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from holdfast.ledger.decide import Decision
    from holdfast.ledger.row import Attempt
    from holdfast.sinks.native.sink import Native
    from holdfast.sinks.sink import BeforeCommit, WriteBatch
    from holdfast.storage.read import Reader


def resolve_writer(sink: Native, df: DataFrame, stream: str) -> NativeWriter:
    """Return what sets the sink on Spark's writer.

    Raises:
        ConfigError: Spark would write elsewhere than where Holdfast looks.
    """
    del stream
    spark = df.sparkSession
    location = None if sink.path is None else place_of(spark, sink.path)
    if sink.table is not None:
        location = _location_of(spark, sink.table)
    for column in sink.partition_by:
        if column not in df.columns:
            raise ConfigError(f"The stream has no column {column} to partition by.")
    reader = None if location is None else reader_of(spark, location)
    return NativeWriter(sink, reader)


def _location_of(spark: SparkSession, table: str) -> Location | None:
    """Return where a table is; None while there is none."""
    if not spark.catalog.tableExists(table):
        return None
    try:
        return parse_location(spark.sql(f"DESCRIBE DETAIL {table}").collect()[0].location)
    except spark_errors():
        raise ConfigError(f"{table} is no Delta table; hf.Native writes to no other.") from None


class NativeWriter(SinkWriter):
    """Has Spark write the batches by itself."""

    _sink: Native
    is_native = True

    def __init__(self, sink: Native, reader: Reader | None) -> None:
        """Write nothing yet."""
        super().__init__(sink)
        self._reader = reader
        self._query: StreamingQuery | None = None

    @property
    def identity(self) -> str:
        """Where its rows are, as far as it is known."""
        return self.place if self._reader is None else str(self._reader.location)

    @property
    def recorded_place(self) -> str:
        """Its location; of a sink without one, its topic or its format."""
        return self.identity

    @property
    def ledger(self) -> None:
        """There is none."""
        return

    @property
    def output(self) -> Reader | None:
        """Reads where it leaves which batches it has; None where it leaves nothing."""
        return self._reader

    @property
    def delivery(self) -> str:
        """What is not guaranteed."""
        return f"is not exactly-once: {self._sink.spark_sink.not_guaranteed}"

    def create(self) -> None:
        """Do nothing: Spark makes what it needs."""

    def begin(self, writer: DataStreamWriter, write: WriteBatch) -> StreamingQuery:
        """Set the sink on Spark's writer, and start the query."""
        del write
        sink = self._sink
        writer = writer.format(sink.format).options(**sink.options)
        if sink.partition_by:
            writer = writer.partitionBy(*sink.partition_by)
        if sink.table is not None:
            self._query = writer.toTable(sink.table)
        elif self._reader is not None:
            self._query = writer.start(spark_location(self._reader.location))
        else:
            self._query = writer.start()
        return self._query

    def newest_batch(self) -> int | None:
        """Return the last batch that Spark says it has written in this run."""
        if self._query is None:
            return None
        try:
            told = list(self._query.recentProgress)
        except spark_errors():
            return None
        written = [each["batchId"] for each in told if "addBatch" in each.get("durationMs", {})]
        return max(written, default=None)

    def write(
        self, attempt: Attempt, batch: DataFrame, *, before_commit: BeforeCommit = lambda _: None
    ) -> Decision:
        """Fail: no batch comes here."""
        del attempt, batch, before_commit
        raise AssertionError(f"{self.display_name} is written by Spark itself")

    def close(self) -> None:
        """Do nothing: nothing is held open."""
