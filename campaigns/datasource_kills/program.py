"""A stream of files into PostgreSQL through `format("holdfast")`: one run, to the end of the files.

python program.py FILES ROOT    (READINGS_DSN in the environment)
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import holdfast as hf
from campaigns.datasource_kills.struck_source import DIRECTORY, GROUP, StruckSource


def main(arguments: list[str]) -> None:
    """Run the stream to its end."""
    files, root, *more = arguments
    (Path(os.environ[DIRECTORY]) / GROUP).write_text(str(os.getpgid(0)))
    spark = SparkSession.builder.getOrCreate()  # of Spark Connect where SPARK_REMOTE says so
    spark.dataSource.register(StruckSource)
    lines = spark.readStream.format("text").option("maxFilesPerTrigger", 1).load(files)
    number = F.split_part("value", F.lit(" "), F.lit(1)).cast("long")
    rows = lines.select(number.alias("id"), "value").repartition(2, "id")
    given = json.loads(more[0]) if more else {}
    keys = given.pop("keys", [])
    options = hf.guard_options(
        stream="readings",
        into=hf.Postgres("env:READINGS_DSN", table="readings", keys=keys),
        root=root,
        **given,
    )
    query = (
        rows.writeStream.format(StruckSource.name())
        .options(**options)
        .trigger(availableNow=True)
        .queryName("readings")
        .start()
    )
    query.awaitTermination()


if __name__ == "__main__":
    main(sys.argv[1:])
