"""The sink of a plain query, as Spark describes it in the progress of a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.evidence.logged_run import sink_text
from holdfast.record.contracts import SinkContract
from holdfast.spark.errors import spark_errors
from holdfast.spark.plans import WriterOptions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LABEL = "sink"
_FILES = ("avro", "csv", "json", "orc", "parquet", "text", "xml")
_DESCRIBED = {
    "console": "ConsoleTable",
    "foreach": "ForeachWriterTable",
    "foreachbatch": "ForeachBatchSink",
    "kafka": "KafkaTable",
    "memory": "MemorySink",
    "noop": "NoopTable",
}
"""Of formats without a path."""


def describe_sink(told: WriterOptions, table: str | None) -> tuple[SinkContract, ...]:
    """Return the sink of a query as a contract has it; nothing when it is not known.

    Args:
        told: What the query's chain has set.
        table: The name of the table that it writes to; None without one.
    """
    kind, path = told.format.lower(), told.path
    if table is not None:
        found = _find_table(told.df.sparkSession, table)
        if found is None:
            return ()
        kind, path = found
    if kind in _DESCRIBED:
        text = _DESCRIBED[kind]
    elif path is not None and (kind == "delta" or kind in _FILES):
        text = f"{'DeltaSink' if kind == 'delta' else 'FileSink'}[{path}]"
    else:
        return ()
    return (SinkContract(kind=kind, place=sink_text(text), label=LABEL),)


def _find_table(spark: SparkSession, name: str) -> tuple[str, str] | None:
    """Return the format and the location of a table; None where the catalog does not tell them."""
    try:
        if not spark.catalog.tableExists(name):
            return None
        rows = spark.sql(f"DESCRIBE TABLE EXTENDED {name}").collect()
    except spark_errors():
        return None
    told = {row["col_name"]: row["data_type"] for row in rows}
    kind, place = told.get("Provider"), told.get("Location")
    return None if kind is None or place is None else (kind.lower(), place)
