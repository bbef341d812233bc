"""Has Spark write a batch where no reader looks, with values that come back as they were."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from holdfast.proof.settings import with_settings
from holdfast.spark.exact_parquet import writing_exactly

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from holdfast.sinks.files.sink import Files

_COMMITTING = {
    "spark.sql.sources.commitProtocolClass": "org.apache.spark.sql.execution.datasources."
    "SQLHadoopMapReduceCommitProtocol",
    "spark.sql.legacy.nullValueWrittenAsQuotedEmptyStringCsv": "false",
}
"""A session can name a committer for buckets, which leaves the files elsewhere. And it can ask for
CSV in which NULL is an empty text."""
_ANY = {
    # A task's files get their names together, so that a repeated task leaves none twice.
    "mapreduce.fileoutputcommitter.algorithm.version": "1",
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    "maxRecordsPerFile": "0",
}
_TIMES = {
    "timeZone": "UTC",
    "dateFormat": "yyyy-MM-dd",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
TEXT_OPTIONS: Mapping[str, Mapping[str, str]] = {
    "parquet": {},
    "json": {**_TIMES, "ignoreNullFields": "false"},
    "csv": {
        **_TIMES,
        "header": "true",
        # Quotes are doubled, as everybody else reads them, and nothing is trimmed.
        "quote": '"',
        "escape": '"',
        "ignoreLeadingWhiteSpace": "false",
        "ignoreTrailingWhiteSpace": "false",
        "lineSep": "\n",
    },
}
"""Options of the writer; a reader with the same ones gets the same values."""
_NO_PARTITION = "__HIVE_DEFAULT_PARTITION__"
"""What Spark calls the directory of NULL, and of the empty text too."""


def stage(batch: DataFrame, sink: Files, where: str) -> None:
    """Write a batch as files into a new directory; it has all of them, or Spark raises.

    Raises:
        PySparkException, Py4JError: Spark could not compute or write it.
    """
    rows = _spread(batch, sink)
    session = batch.sparkSession
    options = {**_ANY, **TEXT_OPTIONS[sink.format]}
    with writing_exactly(session), with_settings(session, _COMMITTING):
        writer = rows.write.format(sink.format).mode("error").options(**options)
        writer.partitionBy(*sink.partition_by).save(where)


def _spread(batch: DataFrame, sink: Files) -> DataFrame:
    """Return the rows so that few tasks write them: one for each value of the columns."""
    from pyspark.sql import functions as F

    from holdfast.proof.row_hash import quoted

    if not sink.partition_by:
        return batch.coalesce(sink.max_files)
    texts = [
        name for name in sink.partition_by if batch.schema[name].dataType.typeName() == "string"
    ]
    for name in texts:
        column = F.col(quoted(name))
        text = f"{name} is empty or {_NO_PARTITION} in a row: its directory would mean NULL"
        refused = F.raise_error(F.lit(text)).cast("string")
        batch = batch.withColumn(
            name, F.when(column.isin("", _NO_PARTITION), refused).otherwise(column)
        )
    tasks = min(sink.max_files, batch.sparkSession.sparkContext.defaultParallelism)
    return batch.repartition(max(tasks, 1), *(quoted(name) for name in sink.partition_by))
