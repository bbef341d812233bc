"""What `hf.record_queries` costs a query: the same batches with it and without it, in turns.

python -m benchmarks.record_cost [--batches N] [--turns N]
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import click
from pyspark.sql import SparkSession

import holdfast as hf
from benchmarks.guard_cost import read_files, run_bare, write_files
from benchmarks.measuring import exit_when_missed, in_turns, ratios, spread
from lab.scratch import scratch_directory
from lab.spark import environment

MOST_MS, MOST_SHARE = 5.0, 0.01


def measure(spark: SparkSession, work: Path, *, batches: int, turns: int) -> list[str]:
    """Measure, and return the aim if it was missed."""
    frame = read_files(spark, write_files(work / "in", batches))
    runs = iter(range(1_000))

    def run() -> None:
        run_bare(frame, f"{work}/checkpoint-{next(runs)}").awaitTermination()

    def run_recorded() -> None:
        recording = hf.record_queries(spark, root=f"{work}/root-{next(runs)}")
        run()
        assert recording.stop(), (recording.lost, recording.failed)

    actions: dict[str, Callable[[], object]] = {"bare": run, "recorded": run_recorded}
    in_turns(actions, 1)
    times = in_turns(actions, turns)
    more = spread(
        [
            (mine - other) / batches * 1e3
            for mine, other in zip(times["recorded"], times["bare"], strict=True)
        ]
    )
    for name, seconds in times.items():
        print(f"  {name:<10}{spread(seconds).show(2)} s for {batches} batches")
    print(
        f"  more per batch: {more.show(2)} ms; {ratios(times['recorded'], times['bare']).show(3)}"
    )
    share = more.median * batches / 1e3 / spread(times["bare"]).median
    is_missed = more.median > MOST_MS and share > MOST_SHARE
    return [f"{more.median:.1f} ms of a batch"] if is_missed else []


@click.command(help=__doc__)
@click.option("--batches", default=200, show_default=True)
@click.option("--turns", default=5, show_default=True)
def main(*, batches: int, turns: int) -> None:
    """Measure what recording costs, and fail when the aim is missed."""
    with scratch_directory() as directory:
        os.environ.update(environment(directory, {}, jvm=(), log_level="error"))
        spark = SparkSession.builder.getOrCreate()
        missed = measure(spark, directory, batches=batches, turns=turns)
        spark.stop()
    exit_when_missed(missed)


if __name__ == "__main__":
    main()
