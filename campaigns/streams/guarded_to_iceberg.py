"""A stream of files into Iceberg; the driver of `iceberg_kills`.

    python guarded_to_iceberg.py FILES TABLE ROOT SHAPE

As a user of Holdfast writes it, or by Iceberg's own sink (`native`) or plain `foreachBatch`
(`plain`), neither of them guarded.
"""

from __future__ import annotations

import sys
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import holdfast as hf
from campaigns.streams.guarded_to_delta import read
from holdfast.drills.programs import builtin

STREAM = "readings"
NATIVE, PLAIN = "native", "plain"


def begin(spark: SparkSession, files: str, *, table: str, root: str, shape: str) -> Any:
    """Start the stream over all there is."""
    rows = read(spark, files)
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {table.rpartition('.')[0]}")
    if shape in (NATIVE, PLAIN):
        return _begin_plain(rows, table=table, root=root, is_native=shape == NATIVE)
    return hf.start(
        builtin.SHAPES[shape](lambda: rows),
        stream=STREAM,
        into=hf.Iceberg(table=table, **builtin.KEYED.get(shape, {})),
        root=root,
        outputMode=builtin.MODES[shape],
        trigger={"availableNow": True},
    )


def _begin_plain(rows: DataFrame, *, table: str, root: str, is_native: bool) -> Any:
    rows.sparkSession.sql(f"CREATE TABLE IF NOT EXISTS {table} (id bigint) USING iceberg")
    writer = rows.writeStream.option("checkpointLocation", f"{root}/{STREAM}")
    writer = writer.trigger(availableNow=True)
    if is_native:
        return writer.toTable(table)

    def write(batch: DataFrame, _: int) -> None:
        batch.writeTo(table).append()

    return writer.foreachBatch(write).start()


def main(arguments: list[str]) -> None:
    """Run the stream to its end."""
    files, table, root, shape = arguments
    spark = SparkSession.builder.getOrCreate()
    begin(spark, files, table=table, root=root, shape=shape).awaitTermination()


if __name__ == "__main__":
    main(sys.argv[1:])
