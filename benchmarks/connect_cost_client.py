"""The client of `benchmarks.connect_cost`: runs the same files in each way, in turns.

python connect_cost_client.py ADDRESS DIRECTORY ROWS TURNS    (DSN in the environment, on both ends)
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
from pyarrow import csv
from pyspark.sql import SparkSession

import holdfast as hf

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

WARM = 2
"""Batches of each run that are not measured: the worker starts with the first."""
BARE = "bare foreachBatch"


def _through_start(df: DataFrame, table: str, root: str) -> StreamingQuery:
    sink = hf.Postgres("env:DSN", table=table)
    name = table.replace("_", "-")
    return hf.start(df, stream=name, into=sink, root=root, trigger={"availableNow": True})


def _through_data_source(df: DataFrame, table: str, root: str) -> StreamingQuery:
    sink = hf.Postgres("env:DSN", table=table)
    options = hf.guard_options(stream=table.replace("_", "-"), into=sink, root=root)
    writer = df.writeStream.format("holdfast").options(**options)
    return writer.trigger(availableNow=True).start()


def _bare(df: DataFrame, table: str, root: str) -> StreamingQuery:
    """Write each batch with one COPY of the CSV that Arrow makes of it."""

    def write(batch: DataFrame, _: int) -> None:
        text = io.BytesIO()
        csv.write_csv(batch.toArrow(), text, csv.WriteOptions(include_header=False))
        statement = f"COPY {table} FROM STDIN (FORMAT csv)".encode()
        with (
            psycopg.connect(os.environ["DSN"]) as connection,
            connection.cursor() as cursor,
            cursor.copy(statement) as copy,
        ):
            copy.write(text.getvalue())

    writer = df.writeStream.foreachBatch(write).option("checkpointLocation", f"{root}/{table}-bare")
    return writer.trigger(availableNow=True).start()


WAYS: dict[str, Callable[[DataFrame, str, str], StreamingQuery]] = {
    BARE: _bare,
    "hf.start": _through_start,
    'format("holdfast")': _through_data_source,
}


def main(address: str, directory: str, rows: str, *, turns: int) -> None:
    """Run all turns; write what each batch took."""
    spark = SparkSession.builder.remote(address).getOrCreate()
    home = Path(directory)
    source = spark.readStream.schema("id long, k string, v long").option("maxFilesPerTrigger", 1)
    found: dict[str, list[list[int]]] = {way: [] for way in WAYS}
    for turn in range(turns):
        numbered = list(enumerate(WAYS.items()))
        for number, (way, run) in numbered if turn % 2 == 0 else reversed(numbered):
            table = f"t_{rows}_{turn}_{number}"
            df = source.parquet(str(home / "in" / rows))
            query = run(df, table, str(home / "streams"))
            query.awaitTermination()
            told = [json.loads(each.json)["durationMs"] for each in query.recentProgress]
            took = [int(each["addBatch"]) for each in told if "addBatch" in each]
            found[way].append(took[WARM:])
            files = len(list((home / "in" / rows).iterdir()))
            assert len(took) == files, (way, turn, took)
            assert _count(table) == files * int(rows), (way, turn)
    (home / f"took-{rows}").write_text(json.dumps(found))


def _count(table: str) -> int:
    with psycopg.connect(os.environ["DSN"]) as connection:
        found = connection.execute(f"select count(*) from {table}".encode()).fetchone()  # noqa: S608
    assert found is not None
    return int(found[0])


if __name__ == "__main__":
    main(*sys.argv[1:4], turns=int(sys.argv[4]))
