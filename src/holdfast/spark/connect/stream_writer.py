"""What a `DataStreamWriter` of Spark Connect was told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from holdfast.spark.connect.untyped import untyped
from holdfast.spark.plans import WriterOptions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter


def read_writer(writer: DataStreamWriter) -> WriterOptions:
    """Read what a writer was told.

    Raises:
        AttributeError: It is not the writer of a session of Spark Connect.
    """
    from pyspark.sql.connect import dataframe

    given = untyped(writer)
    told = given._write_proto
    options = {str(name).lower(): str(value) for name, value in told.options.items()}
    is_batch = bool(told.HasField("foreach_batch"))
    df: DataFrame = cast("Any", dataframe).DataFrame(given._write_stream._child, given._session)
    return WriterOptions(
        df=df,
        output_mode=(str(told.output_mode) or "append").lower(),
        checkpoint=options.get("checkpointlocation"),
        has_function=is_batch or bool(told.HasField("foreach_writer")),
        format="foreachBatch" if is_batch else str(told.format),
        path=str(told.path) or options.get("path"),
        query_name=str(told.query_name) or None,
        trigger=str(told.WhichOneof("trigger") or ""),
    )
