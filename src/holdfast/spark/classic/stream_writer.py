"""What a `DataStreamWriter` was told: its fields have no public way to read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.spark.classic.jvm import Java
from holdfast.spark.plans import WriterOptions

if TYPE_CHECKING:
    from pyspark.sql.streaming.readwriter import DataStreamWriter

_CHECKPOINT = "checkpointLocation"


def read_writer(writer: DataStreamWriter) -> WriterOptions:
    """Read what a writer was told.

    Raises:
        AttributeError: It is not the writer of a classic session.
    """
    java = writer._jwrite
    options = _field(java, "extraOptions")
    functions = (_field(java, name) for name in ("foreachBatchWriter", "foreachWriter"))
    return WriterOptions(
        df=writer._df,
        output_mode=str(_field(java, "outputMode").toString()).lower(),
        checkpoint=_option(options, _CHECKPOINT),
        has_function=any(each is not None for each in functions),
        format=str(_field(java, "source")),
        path=_option(options, "path"),
        query_name=_option(options, "queryName"),
        trigger=str(_field(java, "trigger").toString()),
    )


def _option(options: Java, name: str) -> str | None:
    found = options.get(name)
    return str(found.get()) if found.isDefined() else None


def _field(java: Java, name: str) -> Java:
    """Return a private field of a Java object; its class is the same from Spark 3.5 to 4.3."""
    field = java.getClass().getDeclaredField(name)
    field.setAccessible(True)
    return field.get(java)
