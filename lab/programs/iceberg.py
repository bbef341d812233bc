"""A session of Spark with Iceberg that does what it is asked, one line of JSON at a time.

Runs in the environment of another Spark version, so it imports nothing but the standard library and
pyspark.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession


def main() -> None:
    """Answer until the input ends."""
    spark = SparkSession.builder.getOrCreate()
    for line in sys.stdin:
        print(json.dumps(_answer(spark, json.loads(line))), flush=True)
    spark.stop()


def _answer(spark: SparkSession, asked: dict[str, Any]) -> dict[str, Any]:
    error = ""
    rows: list[str] = []
    try:
        if "sql" in asked:
            spark.sql(asked["sql"])
        elif "rows" in asked:
            rows = [row[0] for row in spark.table(asked["rows"]).collect()]
        else:
            _run(spark, asked)
    except PySparkException as raised:
        error = str(raised).partition("\n")[0] or type(raised).__name__
    return {"error": error, "rows": rows}


def _run(spark: SparkSession, asked: dict[str, Any]) -> None:
    frame = spark.readStream.format("iceberg").load(asked["run"])
    writer = frame.writeStream.format("iceberg").trigger(availableNow=True)
    writer = writer.option("checkpointLocation", asked["checkpoint"])
    writer.toTable(asked["target"]).awaitTermination()


if __name__ == "__main__":
    main()
