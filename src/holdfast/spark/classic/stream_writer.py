"""What a `DataStreamWriter` was told: its fields have no public way to read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.spark.classic.jvm import Java

if TYPE_CHECKING:
    from pyspark.sql.streaming.readwriter import DataStreamWriter
from holdfast.spark.plans import WriterOptions

_CHECKPOINT = "checkpointLocation"


def read_writer(writer: DataStreamWriter) -> WriterOptions:
    """Read what a writer was told.

    Raises:
        AttributeError: It is not the writer of a classic session.
    """
    java = writer._jwrite
    options = _field(java, "extraOptions")
    checkpoint = options.get(_CHECKPOINT)
    functions = (_field(java, name) for name in ("foreachBatchWriter", "foreachWriter"))
    return WriterOptions(
        df=writer._df,
        output_mode=str(_field(java, "outputMode").toString()).lower(),
        checkpoint=str(checkpoint.get()) if checkpoint.isDefined() else None,
        has_function=any(each is not None for each in functions),
    )


def _field(java: Java, name: str) -> Java:
    """Return a private field of a Java object; its class is the same from Spark 3.5 to 4.3."""
    field = java.getClass().getDeclaredField(name)
    field.setAccessible(True)
    return field.get(java)
