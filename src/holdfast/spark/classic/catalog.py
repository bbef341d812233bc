"""What Spark's own catalog tells of a table, without a job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.spark.classic.jvm import jvm_of
from holdfast.spark.errors import unplanned

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OWN = "spark_catalog"
_SETTING = "spark.sql.catalog.spark_catalog"
_OF_DELTA = "org.apache.spark.sql.delta."
_MOST_PARTS = 2


def catalog_location(spark: SparkSession, name: str) -> str | None:
    """Return where Spark's own catalog has a table, as Delta writes it; None if it cannot tell."""
    try:
        return _location(spark, name)
    except unplanned():
        return None


def _location(spark: SparkSession, name: str) -> str | None:
    state, jvm = spark._jsparkSession.sessionState(), jvm_of(spark)
    found = state.sqlParser().parseMultipartIdentifier(name)
    parts = [str(found.apply(place)) for place in range(int(found.size()))]
    if len(parts) > 1 and parts[0] == _OWN:
        del parts[0]
    elif spark.catalog.currentCatalog() != _OWN or _is_catalog(spark, parts[0]):
        return None
    is_of_delta = str(spark.conf.get(_SETTING, "")).startswith(_OF_DELTA)
    if len(parts) > _MOST_PARTS or not is_of_delta:
        return None  # another class can have its tables elsewhere
    quoted = ".".join(f"`{part.replace('`', '``')}`" for part in parts)
    table = state.sqlParser().parseTableIdentifier(quoted)
    path = jvm.org.apache.hadoop.fs.Path(state.catalog().getTableMetadata(table).location())
    return str(path.getFileSystem(state.newHadoopConf()).makeQualified(path).toString())


def _is_catalog(spark: SparkSession, name: str) -> bool:
    return spark.conf.get(_SETTING.replace(_OWN, name), None) is not None
