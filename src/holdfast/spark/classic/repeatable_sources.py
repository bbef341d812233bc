"""The sources that are proven to give the same rows for the same offsets.

- Files of text, CSV, JSON and Parquet. A batch is a list of files, and Spark's file source requires
  that a file does not change. CSV and JSON read timestamps in the session's time zone, so a schema
  that has one is not proven; nor are partition columns, whose types Spark infers at every start.
- Kafka: offsets name records. A compacted topic is the exception that a plan does not show.
- Delta: offsets name a version of the table's log and a file in it, and neither ever changes.

None may be told to go on without data that is gone. Every other source is not proven: `socket`
keeps nothing, `rate` is for tests, and Python data sources are code of the user.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.spark.classic.jvm import Java
from holdfast.spark.classic.plan import each, kind_of, options_of
from holdfast.spark.classic.repeatable_expressions import PLAIN, type_of, types_in

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FORMATS = "org.apache.spark.sql.execution.datasources."
_TEXT = f"{_FORMATS}text.TextFileFormat"
_TYPES = {
    _TEXT: PLAIN,
    f"{_FORMATS}csv.CSVFileFormat": PLAIN,
    f"{_FORMATS}json.JsonFileFormat": PLAIN,
    f"{_FORMATS}parquet.ParquetFileFormat": PLAIN | {"date", "timestamp", "timestamp_ntz"},
}
"""What each format reads in the same way everywhere."""
_DELTA = "org.apache.spark.sql.delta.sources.DeltaDataSource"
_DELTA_OPTIONS = frozenset(
    (
        *("path", "maxfilespertrigger", "maxbytespertrigger"),
        *("startingversion", "startingtimestamp", "ignoredeletes", "skipchangecommits"),
    )
)
_KAFKA = "org.apache.spark.sql.kafka010.KafkaSourceProvider$KafkaTable"
_LENIENT = ("ignoreMissingFiles", "ignoreCorruptFiles")


def is_proven_source(node: Java, spark: SparkSession) -> bool:
    """Return whether a streaming source always gives the same rows for the same offsets."""
    if any(column.metadata().contains("__metadata_col") for column in each(node.output())):
        return False  # `_metadata` holds how a file was split, which depends on the cluster
    if kind_of(node) == "StreamingRelationV2":
        is_kafka = str(node.table().getClass().getName()) == _KAFKA
        return is_kafka and _is_true(options_of(node).get("failOnDataLoss"), default=True)
    source = node.dataSource()
    options = {str(pair._1()).lower(): str(pair._2()) for pair in each(source.options())}
    if _is_lenient(options, spark):
        return False
    provider = str(source.providingClass().getName())
    if provider == _DELTA:
        return _is_proven_delta(node, options, spark)
    return provider in _TYPES and _are_proven_files(node, provider)


def _are_proven_files(node: Java, provider: str) -> bool:
    source = node.dataSource()
    has_schema = provider == _TEXT or source.userSpecifiedSchema().isDefined()
    if not has_schema or not source.sourceInfo().partitionColumns().isEmpty():
        return False
    return all(types_in(column.dataType()) <= _TYPES[provider] for column in each(node.output()))


def _is_proven_delta(node: Java, options: dict[str, str], spark: SparkSession) -> bool:
    """Return whether a Delta table is read as it is; its log has partition values as text."""
    if any(name not in _DELTA_OPTIONS and not name.startswith("fs.") for name in options):
        return False
    columns = each(node.output())
    times = {str(column.name()) for column in columns if type_of(column) == "timestamp"}
    if not times:
        return True
    partitions = _partition_columns(options.get("path", ""), spark)
    return partitions is not None and times.isdisjoint(partitions)


def _partition_columns(path: str, spark: SparkSession) -> list[str] | None:
    """Return the columns that a table is partitioned by; None if Delta does not say."""
    from pyspark.errors import PySparkException

    quoted = path.replace("`", "``")
    try:
        (row,) = spark.sql(f"DESCRIBE DETAIL delta.`{quoted}`").collect()
    except PySparkException:
        return None
    return list(row.partitionColumns)


def _is_lenient(options: dict[str, str], spark: SparkSession) -> bool:
    """Return whether files that are gone or cannot be read are left out without an error."""
    return any(
        _is_true(options.get(name.lower()) or spark.conf.get(f"spark.sql.files.{name}"))
        for name in _LENIENT
    )


def _is_true(text: str | None, *, default: bool = False) -> bool:
    return default if text is None else text.strip().lower() == "true"
