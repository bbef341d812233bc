"""A driver that appends one row to a Delta table for each line it reads, and says what it was told.

    python writing_driver.py TABLE NAME

A line is `RACE APPLICATION`. The answer is a line of JSON: whether Delta said that the row was
committed, skipped, or why it was not. The driver knows nothing of Holdfast.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from pyspark.sql import SparkSession

_NEWEST = "spark.databricks.delta.lastCommitVersionInSession"


def append(spark: SparkSession, row: tuple[int, str], *, table: str, application: str) -> Any:
    """Append a row, the number of the race and the driver; return what Delta said."""
    spark.conf.unset(_NEWEST)
    race, name = row
    rows = spark.range(0, 1, 1, 1).selectExpr(f"{race} AS race", f"'{name}' AS driver")
    writer = rows.write.format("delta").mode("append")
    try:
        writer.option("txnAppId", application).option("txnVersion", race).save(table)
    except Exception as error:  # noqa: BLE001 - whatever Delta says is the answer
        return {"told": "failed", "error": str(error)}
    version = spark.conf.get(_NEWEST, None)
    return {"told": "skipped"} if version is None else {"told": "won", "version": int(version)}


def main(table: str, name: str) -> None:
    """Answer line by line until there are no more."""
    spark = SparkSession.builder.getOrCreate()
    print("ready", flush=True)
    for line in sys.stdin:
        race, application = line.split()
        told = append(spark, (int(race), name), table=table, application=application)
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
