"""What a checkpoint costs a batch: time, requests and bytes, on disk and on S3, way by way.

    python -m benchmarks.checkpoint_cost [--rounds N] [--batches N] [--only disk|s3] [--where]

Every way is a query on Spark 4.2 that differs from another in one setting (`benchmarks.
checkpoint_ways`). In each round every way is started on its own checkpoint, on disk and on S3 in
turns, runs some batches and is stopped; the first batch after a start is not counted. A proxy in
front of the S3 server counts the requests and the bytes that Spark sends. The time is Spark's own:
`triggerExecution` for the batch; `walCommit`, `commitOffsets` and the commits of the state for the
checkpoint. Commits of the state run side by side on 2 cores, so half of their sum is taken.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import click
import obstore
from pyspark.sql import SparkSession

from benchmarks.checkpoint_ways import FILES, FILES_BEFORE, WAYS, Way, read_files_before
from benchmarks.measuring import spread
from benchmarks.pairs import compare_medians
from holdfast.drills.kill.waiting import wait_until
from lab import S3
from lab.faults.s3_proxy import S3Proxy, SeenRequest
from lab.scratch import scratch_directory
from lab.spark import environment

DISK, ON_S3 = "disk", "S3"
CORES = 2
SECONDS = 180.0
MAINTENANCE = "5s"
"""Of the state; Spark's default is a minute, in which a small batch runs hundreds of times."""
HEADS = {
    DISK: ("way", "batch, ms", "times", "checkpoint's share", "kept files", "kept kB"),
    ON_S3: (
        *("way", "batch, ms", "times", "checkpoint's share", "writes", "reads", "deletes"),
        *("kB sent", "kept files", "kept kB"),
    ),
}
"""Of the table of each store, as the page has them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What one batch took."""

    total_ms: float
    checkpoint_ms: float


@dataclass(slots=True, kw_only=True)
class Measured:
    """One way on one store."""

    way: Way
    store: str
    batches: list[Batch] = field(default_factory=list)
    requests: list[dict[str, float]] = field(default_factory=list)
    """Of each round, by kind and place, per batch."""
    sent_bytes: list[float] = field(default_factory=list)
    kept_files: int = 0
    kept_bytes: int = 0

    @property
    def times_ms(self) -> list[float]:
        """Of every batch."""
        return [each.total_ms for each in self.batches]

    def per_batch(self, *kinds: str) -> list[float]:
        """Return the requests of some kinds, round by round."""
        return [
            sum(count for name, count in found.items() if name.partition(" ")[0] in kinds)
            for found in self.requests
        ]


def kind_of(request: SeenRequest) -> str:
    """Return what a store charges for: PUT, COPY, LIST and POST write; GET and HEAD read."""
    if request.is_copy:
        return "COPY"
    return "LIST" if "list-type" in parse_qs(request.query) else request.method


def place_of(request: SeenRequest) -> str:
    """Return which part of a checkpoint a request is about."""
    asked = parse_qs(request.query)
    path = asked["prefix"][0] if "prefix" in asked else request.path
    parts = ("offsets", "commits", "state", "sources")
    return next((part for part in parts if f"/{part}" in path), "else")


def read_batch(progress: Any) -> Batch:
    """Return what Spark says that a batch took."""
    took = progress["durationMs"]
    logs = took.get("walCommit", 0) + took.get("commitOffsets", 0)
    state = sum(each["commitTimeMs"] for each in progress["stateOperators"])
    return Batch(total_ms=took["triggerExecution"], checkpoint_ms=logs + state / CORES)


def run_round(query: Any, batches: int, proxy: S3Proxy) -> tuple[list[Batch], list[SeenRequest]]:
    """Let a query run so many batches after its first one; return them and their requests."""

    def reached(last: int) -> bool:
        assert query.exception() is None, query.exception()
        newest = query.lastProgress
        return newest is not None and newest["batchId"] >= last

    assert wait_until(lambda: reached(0), seconds=SECONDS)
    first, before = query.lastProgress["batchId"], len(proxy.requests)
    assert wait_until(lambda: reached(first + batches), seconds=SECONDS)
    last, requests = query.lastProgress["batchId"], proxy.requests[before:]
    done = [each for each in query.recentProgress if first < each["batchId"] <= last]
    query.stop()
    return [read_batch(each) for each in done], requests


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """Everything that runs."""

    spark: SparkSession
    s3: S3
    proxy: S3Proxy
    home: Path

    def take_turn(self, measured: Measured, *, batches: int, counts: bool) -> None:
        """Run one way once on one store."""
        number = WAYS.index(measured.way)
        files, checkpoint = self.home / f"in-{measured.store}-{number}", self._place(measured)
        if measured.way.query == FILES:
            self._add_files(files, checkpoint, batches + 10)
        query = measured.way.start(self.spark, files, checkpoint)
        found, requests = run_round(query, batches, self.proxy)
        if not counts:
            return
        measured.batches += found
        if measured.store == ON_S3:
            asked = Counter(f"{kind_of(each)} {place_of(each)}" for each in requests)
            measured.requests.append({name: n / len(found) for name, n in asked.items()})
            measured.sent_bytes.append(sum(each.size_bytes for each in requests) / len(found))

    def keep(self, measured: Measured) -> None:
        """Count what is there in the end."""
        sizes = list(self._sizes(measured))
        measured.kept_files, measured.kept_bytes = len(sizes), sum(sizes)

    def _sizes(self, measured: Measured) -> Iterable[int]:
        number = WAYS.index(measured.way)
        if measured.store == DISK:
            found = (self.home / f"checkpoint-{number}").rglob("*")
            return [path.stat().st_size for path in found if path.is_file()]
        pages = obstore.list(self.s3.store(), prefix=f"cost/{number}/")
        return [each["size"] for page in pages for each in page if each["size"]]

    def _place(self, measured: Measured) -> str:
        number = WAYS.index(measured.way)
        if measured.store == DISK:
            return str(self.home / f"checkpoint-{number}")
        return f"s3a://lake/cost/{number}"

    def _add_files(self, files: Path, checkpoint: str, more: int) -> None:
        is_new = not files.exists()
        files.mkdir(exist_ok=True)
        there = len(list(files.iterdir()))
        for number in range(there, there + (FILES_BEFORE if is_new else more)):
            (files / f"f{number:06d}.txt").write_text("row\n")
        if is_new:
            read_files_before(self.spark, files, checkpoint)
            self._add_files(files, checkpoint, more)


def row(measured: Measured, base: Measured | None) -> tuple[str, ...]:
    """Return the cells of one way."""
    share = spread([each.checkpoint_ms / each.total_ms for each in measured.batches])
    times = "1" if base is None else str(compare_medians(*_even(measured, base)))
    kept = (f"{measured.kept_files:,}", f"{measured.kept_bytes / 1e3:,.0f}")
    cells = (
        measured.way.name,
        spread(measured.times_ms).show(0),
        times.replace(" times", ""),
        f"{share.show(0, times=100)} %",
    )
    if measured.store == DISK:
        return (*cells, *kept)
    counted = (("PUT", "COPY", "LIST", "POST"), ("GET", "HEAD"), ("DELETE",))
    asked = (spread(measured.per_batch(*kinds)).show(1) for kinds in counted)
    return (*cells, *asked, spread(measured.sent_bytes).show(1, times=1e-3), *kept)


def _even(measured: Measured, base: Measured) -> tuple[list[float], list[float]]:
    least = min(len(measured.batches), len(base.batches))
    return measured.times_ms[:least], base.times_ms[:least]


def table(store: str, found: Sequence[Measured]) -> list[str]:
    """Return the lines of a Markdown table, as they stand on the page."""
    by_name = {each.way.name: each for each in found}
    rows = [row(each, by_name.get(each.way.base)) for each in found]
    marks = ("---", *("--:" for _ in HEADS[store][1:]))
    return [f"| {' | '.join(cells)} |" for cells in (HEADS[store], marks, *rows)]


def show_where(found: Sequence[Measured]) -> None:
    """Print the requests of one batch on S3 by kind and place."""
    for each in found:
        names = sorted({name for found in each.requests for name in found})
        mean = {
            name: sum(found.get(name, 0) for found in each.requests) / len(each.requests)
            for name in names
        }
        print(f"  {each.way.name}: {', '.join(f'{mean[name]:.1f} {name}' for name in names)}")


def measure(
    bench: Bench, stores: Sequence[str], *, rounds: int, batches: int, warm: int
) -> list[Measured]:
    """Run all ways in turns: once to warm up, then as often as asked."""
    found = [Measured(way=way, store=store) for way in WAYS for store in stores]
    for number in range(rounds + 1):
        for each in found if number % 2 else reversed(found):
            bench.take_turn(each, batches=batches if number else warm, counts=number > 0)
        print(f"round {number} of {rounds} is done", flush=True)
    for each in found:
        bench.keep(each)
    return found


@click.command(help=__doc__)
@click.option("--rounds", default=3, show_default=True)
@click.option("--batches", default=8, show_default=True, help="Of each way in each round.")
@click.option("--warm", default=12, show_default=True, help="Batches of each way before that.")
@click.option("--only", type=click.Choice([DISK, ON_S3]))
@click.option("--where", is_flag=True, help="Also say which part of the checkpoint is asked for.")
def main(*, rounds: int, batches: int, warm: int, only: str | None, where: bool) -> None:
    """Measure all ways, and print a table for each store."""
    stores = [only] if only else [DISK, ON_S3]
    with S3() as s3, S3Proxy(s3.port) as proxy, scratch_directory() as home:
        settings = {
            **s3.spark_settings(port=proxy.port),
            "spark.sql.streaming.stateStore.maintenanceInterval": MAINTENANCE,
        }
        os.environ.update(environment(home / "spark", settings, jvm=(), log_level="off"))
        spark = SparkSession.builder.getOrCreate()
        bench = Bench(spark=spark, s3=s3, proxy=proxy, home=home)
        found = measure(bench, stores, rounds=rounds, batches=batches, warm=warm)
        print(f"Spark {spark.version}; {rounds} rounds of {batches} batches; median (low to high)")
        spark.stop()
    for store in stores:
        own = [each for each in found if each.store == store]
        print("", f"{store}:", *table(store, own), sep="\n")
        if where and store == ON_S3:
            show_where(own)


if __name__ == "__main__":
    main()
