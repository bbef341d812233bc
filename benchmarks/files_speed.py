"""What a batch into files takes, beside Spark's own Parquet stream.

    python -m benchmarks.files_speed [--rows ROWS] [--pairs N] [--hdfs]

Both streams run side by side in one session and get the same files in turns; a batch is timed by
Spark itself (triggerExecution). Ends with 1 above the aim. With `--hdfs` the directories are on a
real HDFS with one DataNode; checkpoints stay on the disk.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from functools import partial
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
from lab.hdfs import Hdfs
from lab.scratch import scratch_directory
from lab.spark import environment

AIM = 1.15
NATIVE, GUARDED = "Spark's own Parquet stream", "Holdfast"


def natively(frame: DataFrame, home: Path, *, out: str) -> Any:
    """Start Spark's own file sink."""
    writer = frame.writeStream.format("parquet")
    return writer.option("checkpointLocation", str(home / CHECKPOINT)).start(out)


def guarded(frame: DataFrame, home: Path, *, out: str) -> Any:
    """Start Holdfast."""
    return hf.start(frame, stream=CHECKPOINT, into=hf.Files(out), root=str(home))


@click.command(help=__doc__)
@click.option("--rows", default=1_000_000, show_default=True)
@click.option("--pairs", default=40, show_default=True)
@click.option("--hdfs", "on_hdfs", is_flag=True, help="Write onto a real HDFS.")
def main(*, rows: int, pairs: int, on_hdfs: bool) -> None:
    """Measure appends, and fail when the aim is missed."""
    print(f"Append of {rows:,} rows of six columns, {pairs} turns{' on HDFS' * on_hdfs}")
    with ExitStack() as stack:
        directory = stack.enter_context(scratch_directory())
        hdfs = stack.enter_context(Hdfs()) if on_hdfs else None
        lake = str(directory / "lake") if hdfs is None else f"{hdfs.address}/lake"
        settings = POLLING if hdfs is None else {**POLLING, **hdfs.spark_settings()}
        os.environ.update(environment(directory, settings, jvm=("-Xmx3g",), log_level="error"))
        spark = SparkSession.builder.getOrCreate()
        frame = make_rows(spark, rows, partitions=1)
        file = write_parquet(frame, directory / "input")
        frame.unpersist()
        outs = {NATIVE: f"{lake}/native", GUARDED: f"{lake}/guarded"}
        streams = [
            open_stream(
                spark,
                name,
                directory / Path(outs[name]).name,
                start=partial(start, out=outs[name]),
                schema=frame.schema,
            )
            for name, start in ((NATIVE, natively), (GUARDED, guarded))
        ]
        ways = {each.name: batches_of(each, lambda _: file) for each in streams}
        found = measure_in_turns(ways, turns=pairs)
        for each in streams:
            each.query.stop()
            show_percentiles(each.name, found[each.name])
        columns = frame.columns
        sums = [add_up(spark.read.parquet(out).select(*columns)) for out in outs.values()]
        assert sums[0] == sums[1], f"directories differ: {sums}"
        missed = judge(found, NATIVE, what=f"an append of {rows:,} rows", aim=AIM)
        spark.stop()
    exit_when_missed(missed)


if __name__ == "__main__":
    main()
