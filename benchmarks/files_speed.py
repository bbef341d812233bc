"""What a batch into files takes, beside Spark's own Parquet stream.

    python -m benchmarks.files_speed [--rows ROWS] [--pairs N]

Both streams run side by side in one session and get the same files in turns; a batch is timed by
Spark itself (triggerExecution). Ends with 1 above the aim.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click
from pyspark.sql import DataFrame, SparkSession

import holdfast as hf
from benchmarks.delta_speed import POLLING, batches_of, judge, write_parquet
from benchmarks.delta_streams import CHECKPOINT, add_up, open_stream
from benchmarks.measuring import exit_when_missed
from benchmarks.pairs import measure_in_turns, show_percentiles
from benchmarks.postgres_speed import make_rows
from lab.scratch import scratch_directory
from lab.spark import environment

AIM = 1.15
NATIVE, GUARDED = "Spark's own Parquet stream", "Holdfast"


def appended_natively(frame: DataFrame, home: Path) -> Any:
    """Spark's own file sink."""
    writer = frame.writeStream.format("parquet")
    return writer.option("checkpointLocation", str(home / CHECKPOINT)).start(str(home / "out"))


def appended_guarded(frame: DataFrame, home: Path) -> Any:
    """Holdfast."""
    return hf.start(frame, stream=CHECKPOINT, into=hf.Files(str(home / "out")), root=str(home))


@click.command(help=__doc__)
@click.option("--rows", default=1_000_000, show_default=True)
@click.option("--pairs", default=40, show_default=True)
def main(*, rows: int, pairs: int) -> None:
    """Measure appends, and fail when the aim is missed."""
    print(f"Append of {rows:,} rows of six columns, {pairs} turns")
    with scratch_directory() as directory:
        os.environ.update(environment(directory, POLLING, jvm=("-Xmx3g",), log_level="error"))
        spark = SparkSession.builder.getOrCreate()
        frame = make_rows(spark, rows, partitions=1)
        file = write_parquet(frame, directory / "input")
        frame.unpersist()
        streams = [
            open_stream(spark, name, directory / str(number), start=start, schema=frame.schema)
            for number, (name, start) in enumerate(
                ((NATIVE, appended_natively), (GUARDED, appended_guarded))
            )
        ]
        ways = {each.name: batches_of(each, lambda _: file) for each in streams}
        found = measure_in_turns(ways, turns=pairs)
        for each in streams:
            each.query.stop()
            show_percentiles(each.name, found[each.name])
        columns = frame.columns
        sums = [
            add_up(spark.read.parquet(str(each.home / "out")).select(*columns)) for each in streams
        ]
        assert sums[0] == sums[1], f"directories differ: {sums}"
        missed = judge(found, NATIVE, what=f"an append of {rows:,} rows", aim=AIM)
        spark.stop()
    exit_when_missed(missed)


if __name__ == "__main__":
    main()
